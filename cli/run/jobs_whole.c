/* SPDX-License-Identifier: BSD-3-Clause */
/* run.json of a run of many jobs: its nodes, what was planned, how it ended. */
#include "cli/run/jobs_merge.h"

#include <errno.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"

#define MOST_NAMED 8

static json_t *nodes_json(const struct merge *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct jobs_whole_node *w = &m->nodes[i];

		json_array_append_new(list, w->json ? json_copy(w->json) :
			json_pack("{s:s, s:i}", "name", w->name, "gpus",
				  w->gpus));
	}
	return list;
}

/** The NIC of GPU @g, as readers of run.json have it. */
static int nic_of(const struct jobs_whole_node *w, int g)
{
	const json_t *used = json_object_get(w->json, "nic_used");
	const json_t *of = json_array_get(
		used ? used : json_object_get(w->json, "nic_of"), (size_t)g);
	int64_t nics = 0;

	json_opt_int(w->json, "nics", 0, SPEC_MAX_GPUS, &nics, NULL);
	return json_is_integer(of)	     ? (int)json_integer_value(of) :
	       nics > 0 && w->gpus > 0 ? (int)(g * nics / w->gpus) : g;
}

/** Ordered cells between two nodes, or inside one. */
static int64_t cells_between(const struct jobs_whole_node *a,
			     const struct jobs_whole_node *b, bool rail)
{
	int64_t n = 0;

	for (int i = 0; i < a->gpus; i++) {
		for (int k = 0; k < b->gpus; k++) {
			n += a == b ? i != k :
			     !rail || nic_of(a, i) == nic_of(b, k);
		}
	}
	return n;
}

static json_t *planned_json(const struct merge *m)
{
	const char *kind = json_member(json_object_get(m->j->left.run, "jobs"),
				       "kind");
	const json_t *first = json_object_get(m->tries[0].run, "planned");
	const json_t *apart = json_object_get(first, "rails_apart");
	const bool rail = strcmp(kind, "rail") == 0 || json_is_true(apart);
	int64_t cells = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		for (size_t k = 0; k < m->n_nodes; k++) {
			cells += i == k && strcmp(kind, "all") != 0 ?
				 0 : cells_between(&m->nodes[i], &m->nodes[k],
						   rail);
		}
	}
	return json_pack("{s:s, s:b, s:o*, s:I, s:i}", "kind", kind,
			 "rails_apart", json_is_true(apart), "rails_by",
			 json_copy(json_object_get(first, "rails_by")), "cells",
			 (json_int_t)cells, "passes", 1);
}

/** Has a pair of node @w no row? */
static bool lacks_pairs(const struct merge *m, const struct jobs_whole_node *w)
{
	for (int i = 0; i < w->gpus; i++) {
		for (int other = 0; other < m->n_ranks; other++) {
			const int rank = w->first_rank + i;
			const size_t n = (size_t)m->n_ranks;

			if (rank != other &&
			    (!m->cells[(size_t)rank * n +
				       (size_t)other].owner ||
			     !m->cells[(size_t)other * n +
				       (size_t)rank].owner)) {
				return true;
			}
		}
	}
	return false;
}

/** Why there are pairs without a row, where that is because of nodes that were
 *  seen and then went out of use; "" else. */
static void say_why(const struct merge *m, struct str *out)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		const struct jobs_whole_node *w = &m->nodes[i];

		if (w->json && w->out_of_use && lacks_pairs(m, w) &&
		    ++n <= MOST_NAMED) {
			str_add(out, n == 1 ? "Slurm has out of use: " : ", ");
			str_add(out, w->name);
		}
	}
	if (n > MOST_NAMED) {
		str_addf(out, " and %zu more", n - MOST_NAMED);
	}
}

int merge_run(const struct merge *m, const json_t *now, struct err *e)
{
	static const char *const of_first[] = {
		"transport", "schedule", "sizes", "size_B", "settings",
		"environment", "shared_cores", "strict", "slow_percent",
		"libraries",
	};
	json_t *run = json_deep_copy(now);
	struct str why = STR_INIT;
	char utc[CLOCK_UTC_SIZE];
	int rc = -1;

	for (size_t i = 0; m->n_tries > 0 &&
			   i < sizeof(of_first) / sizeof(*of_first); i++) {
		json_t *value = json_object_get(m->tries[0].run, of_first[i]);

		if (value) {
			json_object_set(run, of_first[i], value);
		}
	}
	if (m->n_tries > 0) {
		json_object_set_new(run, "nodes", nodes_json(m));
		json_object_set_new(run, "planned", planned_json(m));
	}
	if (m->ended) {
		/* once more of what has ended: when that was, it has */
		if (!json_member(run, "ended_utc")[0]) {
			json_object_set_new(run, "ended_utc",
					    json_string(clock_utc(utc)));
		}
		say_why(m, &why);
		json_object_set_new(run, "stop_reason",
				    json_string(str_text(&why)));
	} else {
		json_object_del(run, "ended_utc");
	}
	if (run) {
		rc = rundir_write_json(m->j->left.dir, RUN_JSON, run, e);
	} else {
		err_set(e, ENOMEM, "no memory for run.json");
	}
	str_release(&why);
	json_decref(run);
	return rc;
}
