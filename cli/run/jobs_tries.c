/* SPDX-License-Identifier: BSD-3-Clause */
/* The tries of the parts as they were read: which there are, which nodes and
 * ranks the whole has, and their rows one by one. */
#include "cli/run/jobs_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"

#define WRITE_BYTES 65536
#define MAX_TRIES   60000

static int by_end(const void *a, const void *b)
{
	const struct jobs_try *x = a, *y = b;

	return (x->ended_ns > y->ended_ns) - (x->ended_ns < y->ended_ns);
}

static int find_tries(struct merge *m, struct err *e)
{
	for (size_t i = 0; i < m->j->n; i++) {
		for (int t = 1; t <= m->j->list[i].tries; t++) {
			struct jobs_try try = { .run = NULL }, *more;
			char name[32], path[PATH_MAX + 32];
			struct stat st;

			jobs_try_name(i, t, name);
			if (rundir_path(m->j->left.dir, name, try.dir,
					NULL) < 0 ||
			    m->n_tries >= MAX_TRIES) {
				continue;
			}
			try.run = rundir_read_json(try.dir, RUN_JSON, NULL);
			if (!json_object_get(try.run, "planned")) {
				json_decref(try.run);
				continue;
			}
			snprintf(path, sizeof(path), "%s/" RUN_JSON, try.dir);
			try.ended_ns = stat(path, &st) < 0 ? 0 :
				st.st_mtim.tv_sec * NS_PER_S +
					st.st_mtim.tv_nsec;
			try.orderly = jobs_ended_in_order(try.run);
			more = realloc(m->tries, (m->n_tries + 1) *
						 sizeof(*more));
			if (!more) {
				json_decref(try.run);
				return err_set(e, ENOMEM, "no memory for a "
					       "part");
			}
			m->tries = more;
			m->tries[m->n_tries++] = try;
		}
	}
	if (m->n_tries > 0) {
		qsort(m->tries, m->n_tries, sizeof(*m->tries), by_end);
	}
	return 0;
}

struct jobs_whole_node *merge_node(const struct merge *m, const char *name)
{
	for (size_t i = 0; i < m->n_nodes; i++) {
		if (strcmp(m->nodes[i].name, name) == 0) {
			return &m->nodes[i];
		}
	}
	return NULL;
}

static int gpus_of(const json_t *node)
{
	int64_t gpus = 0;

	json_opt_int(node, "gpus", 0, SPEC_MAX_GPUS, &gpus, NULL);
	return (int)gpus;
}

/** Nodes as the last of their tries has them; one that was never seen has as
 *  many GPUs as any other. */
static int find_nodes(struct merge *m, struct err *e)
{
	const json_t *jobs = json_object_get(m->j->left.run, "jobs");
	const json_t *names = json_object_get(jobs, "nodes"), *name;
	struct jobs_whole_node *w;
	json_t *node;
	int most = 0;
	size_t i;

	m->nodes = calloc(json_array_size(names) + 1, sizeof(*m->nodes));
	if (!m->nodes) {
		return err_set(e, ENOMEM, "no memory for the nodes");
	}
	json_array_foreach(names, i, name) {
		if (json_is_string(name) && m->n_nodes < SPEC_MAX_NODES) {
			m->nodes[m->n_nodes++].name = json_string_value(name);
		}
	}
	for (size_t t = 0; t < m->n_tries; t++) {
		const json_t *list = json_object_get(m->tries[t].run, "nodes");

		json_array_foreach(list, i, node) {
			w = merge_node(m, json_member(node, "name"));
			if (w && gpus_of(node) > 0) {
				w->json = node;
				w->gpus = gpus_of(node);
				w->try = t + 1;
				most = w->gpus > most ? w->gpus : most;
			}
		}
	}
	for (i = 0; i < m->n_nodes; i++) {
		w = &m->nodes[i];
		w->gpus = w->gpus ? w->gpus : most;
		w->first_rank = m->n_ranks;
		m->n_ranks += w->gpus;
		for (size_t k = 0; k < m->j->nodes.n; k++) {
			const struct slurm_lane_node *n = &m->j->nodes.list[k];

			w->out_of_use |= strcmp(n->name, w->name) == 0 &&
					 slurm_lane_is_down(n->state);
		}
	}
	return m->n_ranks <= SPEC_MAX_SQUARE ? 0 :
	       err_set(e, 0, "all pairs of %d ranks are too many", m->n_ranks);
}

int merge_find(struct merge *m, struct err *e)
{
	return find_tries(m, e) < 0 || find_nodes(m, e) < 0 ? -1 : 0;
}

int merge_rank(const struct merge *m, const char *node, int64_t rank)
{
	const json_t *list = json_object_get(m->tries[m->at].run, "nodes");
	const struct jobs_whole_node *w = merge_node(m, node);
	int first = 0;
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		if (strcmp(json_member(one, "name"), node) == 0) {
			return w && rank >= first && rank - first < w->gpus ?
				       w->first_rank + (int)(rank - first) : -1;
		}
		first += gpus_of(one);
	}
	return -1;
}

int merge_flush(struct merge *m, bool all, struct err *e)
{
	int rc = 0;

	if (m->lines.len > (all ? 0 : WRITE_BYTES)) {
		rc = m->lines.failed ? err_set(e, ENOMEM, "no memory") :
		     fwrite(str_text(&m->lines), 1, m->lines.len, m->out) ==
				     m->lines.len ?
			     0 : err_set(e, errno, "cannot write '%s'",
					 m->schema->name);
		str_reset(&m->lines);
	}
	return rc;
}

int merge_walk(struct merge *m, size_t at, const struct schema *schema,
	       int (*take)(void *arg, const void *row, struct err *e),
	       struct err *e)
{
	m->at = at;
	return rundir_table_walk(m->tries[at].dir, schema, false, take, m,
				 NULL, e);
}
