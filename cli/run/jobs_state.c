/* SPDX-License-Identifier: BSD-3-Clause */
/* State of the jobs of a run, from the files of their parts and the queue. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/jobs.h"
#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/data/json.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"
#include "lib/data/schema.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

/* ---- jobs tries ---------------------------------------------------------- */

/* The tries of the parts as they were read: which there are, which nodes and
 * ranks the whole has, and their rows one by one. */

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
			if (!run_file(try.run).planned.given) {
				json_decref(try.run);
				continue;
			}
			snprintf(path, sizeof(path), "%s/" RUN_JSON, try.dir);
			try.ended_ns = stat(path, &st) < 0 ? 0 :
				st.st_mtim.tv_sec * NS_PER_S +
					st.st_mtim.tv_nsec;
			try.orderly = run_file(try.run).complete;
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

/** Finds the nodes in their last tries; a node that was never seen gets the
 *  number of GPUs of the others. */
static int find_nodes(struct merge *m, struct err *e)
{
	const json_t *names = run_file(m->j->left.run).jobs.nodes, *name;
	struct jobs_whole_node *w;
	json_t *json;
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
		const json_t *list = run_file(m->tries[t].run).nodes;

		json_array_foreach(list, i, json) {
			const struct run_entry node = run_entry(list, i);

			w = merge_node(m, node.name);
			if (w && node.gpus > 0) {
				w->json = json;
				w->gpus = node.gpus;
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
			const struct slurm_node *n = &m->j->nodes.list[k];

			if (strcmp(n->name, w->name) == 0 &&
			    slurm_lane_is_down(n->state)) {
				w->down = n;
			}
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

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);

		if (strcmp(json_member(one, "name"), node) == 0) {
			return w && rank >= first && rank - first < w->gpus ?
				       w->first_rank + (int)(rank - first) : -1;
		}
		first += run_entry_of(one).gpus;
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

/* ---- jobs state ---------------------------------------------------------- */

/** Longer than submitting a job takes: sbatch has 10 s, and the queries before
 *  it as much. */
#define SUBMIT_S 120

void jobs_try_name(size_t i, int t, char buf[32])
{
	snprintf(buf, 32, JOBS_PARTS "/%04zu-%u", i + 1, (uint8_t)t);
}

static const struct job usual_job = { .nodes = "", .pairs = "", .lane = 1 };

#define JOB(member, type, from, to) \
	FIELD(job, member, #member, type, from, to, "", \
	      .optional = FIELD_OMITTED)

const struct field job_fields[] = {
	JOB(nodes, LINK, 0, 0), JOB(pairs, LINK, 0, 0), JOB(lane, INT, 1, 64),
	{ 0 }
};

static const struct field plan_fields[] = {
	FIELD_ROWS(jobs, list, n, "parts", job_fields, JOBS_MAX, "",
		   .usual = &usual_job), { 0 }
};

/** Tests that a part has measured. */
struct measured {
	uint8_t *cells;		/* ranks x ranks */
	int ranks;
	int64_t n;
};

static int take_row(void *arg, const void *data, struct err *e)
{
	const struct p2p_row *row = data;
	struct measured *m = arg;
	const int64_t ranks = m->ranks;

	(void)e;
	if (row->outcome != OUTCOME_NOT_RUN &&
	    row->outcome != OUTCOME_SKIPPED && row->src_rank >= 0 &&
	    row->src_rank < ranks && row->dst_rank >= 0 &&
	    row->dst_rank < ranks) {
		uint8_t *cell = &m->cells[row->src_rank * ranks +
					  row->dst_rank];

		m->n += !*cell;
		*cell = 1;
	}
	return RUNDIR_KEEP;
}

/** Returns true if each test of @run, the part in @dir, has a result.  A test
 *  that was skipped because its node was lost has none. */
static bool is_whole(const char *dir, const json_t *run)
{
	const struct run_file f = run_file(run);
	struct measured m = { 0 };

	for (size_t i = 0; i < json_array_size(f.nodes); i++) {
		m.ranks += m.ranks < SPEC_MAX_SQUARE ?
				   run_entry(f.nodes, i).gpus : 0;
	}
	m.cells = calloc((size_t)m.ranks * (size_t)m.ranks + 1, 1);
	if (m.cells) {
		rundir_table_walk(dir, &schema_p2p, false, take_row, &m, NULL,
				  NULL);
	}
	free(m.cells);
	return f.planned.cells > 0 && m.n >= f.planned.cells;
}

/** Returns true if try @name of a part is complete, and leaves a mark beside it
 *  so that it is not read again: not in the run of another user, where it may
 *  be a link to a file of ours.  Sets @partial if the part ended in order, but
 *  without a node that was down or without all results. */
static bool is_done(const struct left *l, const char *name, bool *partial)
{
	char mark[40], dir[PATH_MAX];
	json_t *run;
	bool done;
	int fd;

	snprintf(mark, sizeof(mark), "%s.done", name);
	if (rundir_has(l->dir, mark)) {
		return true;
	}
	if (rundir_path(l->dir, name, dir, NULL) < 0) {
		return false;
	}
	run = rundir_read_json(dir, RUN_JSON, NULL);
	*partial = run_file(run).complete;
	done = *partial && is_whole(dir, run) &&
	       !run_file(run).typed.exclude[0];
	json_decref(run);
	fd = done && !l->foreign ?
		     rundir_open_fd(l->dir, mark, O_WRONLY | O_CREAT, NULL) :
		     -1;
	rundir_shut(fd);
	return done;
}

/** Returns true if @dir is so new that its submission may still be under
 *  way. */
static bool is_young(const char *dir)
{
	struct stat st;
	int64_t age_s;

	if (stat(dir, &st) < 0) {
		return false;
	}
	/* the clock of a file server may be ahead */
	age_s = (int64_t)time(NULL) - (int64_t)st.st_mtim.tv_sec;
	return age_s < SUBMIT_S && age_s > -SUBMIT_S;
}

/** Returns true if the try in @dir has or had a job.  The process that
 *  submitted it leaves a mark beside it; the job writes its output there. */
static bool is_submitted(const char *dir)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s.job", dir);
	if (access(path, F_OK) == 0) {
		return true;
	}
	snprintf(path, sizeof(path), "%s/" RUN_JOB_OUT, dir);
	return access(path, F_OK) == 0;
}

/** How many tries of part @i there are, and whether the last is being
 *  submitted: then that Slurm does not know it says nothing. */
static void count_tries(struct jobs *j, size_t i)
{
	struct job *job = &j->list[i];
	char name[32], path[PATH_MAX];

	for (int t = 1; t <= JOBS_MOST_TRIES; t++) {
		jobs_try_name(i, t, name);
		if (rundir_path(j->left.dir, name, path, NULL) < 0 ||
		    access(path, F_OK) < 0) {
			break;
		}
		job->tries = t;
		/* the mark may come between two looks, age only grows */
		job->submitting = is_young(path) && !is_submitted(path);
	}
}

/** Sets the state of part @i from the files of its last try.  They count more
 *  than the state of its job, which ends later. */
static void look_at_part(struct jobs *j, size_t i)
{
	struct job *job = &j->list[i];
	char name[32];

	if (job->tries == 0) {
		return;
	}
	jobs_try_name(i, job->tries, name);
	if (is_done(&j->left, name, &job->partial)) {
		job->state = JOB_DONE;
	} else if (job->state == JOB_NONE) {
		job->state = job->submitting ? JOB_WAITS : JOB_LOST;
	}
}

/** Number and try of "DIR/parts/0001-2/job.sbatch"; false: of another run. */
static bool read_script(const struct jobs *j, const char *script, size_t *i,
			int *t)
{
	const size_t len = strlen(j->left.dir);
	unsigned part, try;
	char end;

	if (strncmp(script, j->left.dir, len) != 0 ||
	    sscanf(script + len, "/" JOBS_PARTS "/%6u-%2u/job.sbatc%c", &part,
		   &try, &end) != 3 || end != 'h' || part == 0 ||
	    part > j->n) {
		return false;
	}
	*i = part - 1;
	*t = (int)try;
	return true;
}

static int look_at_queue(struct jobs *j, struct err *e)
{
	struct args a = { 0 };
	struct str names = STR_INIT, out = STR_INIT;
	struct slurm_queued q;
	const char *at;
	size_t i;
	const char *own = getenv("SLURM_JOB_ID");
	int rc, t, lanes = 1;

	for (size_t k = 0; k < j->n; k++) {
		lanes = j->list[k].lane > lanes ? j->list[k].lane : lanes;
	}
	for (int lane = 1; lane <= lanes; lane++) {
		str_addf(&names, "%s", lane > 1 ? "," : "");
		jobs_lane_name(j->left.run, lane, &names);
	}
	args_words(&a, SLURM_QUEUE_SQUEUE);
	args_add(&a, str_text(&names));
	rc = slurm_ask(&a, &out, e);
	at = str_text(&out);
	while (rc == 0 && slurm_parse_queued(&at, &q)) {
		if (!read_script(j, q.script, &i, &t) ||
		    t != j->list[i].tries ||
		    (own && strcmp(q.id, own) == 0)) {
			continue;	/* our own job has done its part */
		}
		STR_COPY(j->list[i].id, q.id);
		j->list[i].state = slurm_queued_waits(&q) ? JOB_WAITS :
							    JOB_RUNS;
		j->list[i].in_line = slurm_queued_in_line(&q);
	}
	str_release(&names);
	str_release(&out);
	return rc;
}

int jobs_look(struct jobs *j, const char *dir, struct err *e)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, e);
	char probe[32];

	*j = (struct jobs){ 0 };
	STR_COPY(probe, run_file(run).probe);
	json_decref(run);
	if (!run || !str_copy(j->left.dir, sizeof(j->left.dir), dir) ||
	    left_read(&j->left, probe, "resume", e) < 0 ||
	    spawn_self(j->self, sizeof(j->self), e) < 0) {
		return -1;
	}
	if (schema_read(plan_fields, j, json_object_get(j->left.run, "jobs"),
			e) < 0) {
		return err_hint(e, "'jobs' of run.json is damaged");
	}
	for (size_t i = 0; i < j->n; i++) {
		count_tries(j, i);
	}
	/* the queue first: a job that is no longer in it writes nothing more */
	if (look_at_queue(j, e) < 0) {
		return -1;
	}
	for (size_t i = 0; i < j->n; i++) {
		look_at_part(j, i);
		j->count[j->list[i].state]++;
	}
	return 0;
}

void jobs_release(struct jobs *j)
{
	left_release(&j->left);
	free(j->list);
	free(j->nodes.list);
	*j = (struct jobs){ 0 };
}

bool jobs_owes(const struct jobs *j)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct job *job = &j->list[i];

		if (job->state == JOB_NONE ||
		    (job->state == JOB_LOST && job->tries < JOBS_TRIES)) {
			return true;
		}
	}
	return false;
}

bool jobs_go_on(const struct jobs *j)
{
	return j->count[JOB_WAITS] + j->count[JOB_RUNS] > 0;
}

const char *jobs_text(const struct jobs *j, char *buf, size_t size)
{
	static const char *const words[] = {
		[JOB_DONE] = "done", [JOB_RUNS] = "running",
		[JOB_WAITS] = "waiting", [JOB_LOST] = "lost",
		[JOB_NONE] = "not submitted",
	};
	static const enum job_state order[] = { JOB_DONE, JOB_RUNS, JOB_WAITS,
						JOB_LOST, JOB_NONE };
	struct str out = STR_INIT;
	const char *comma = ": ";

	str_addf(&out, "%zu job%s", j->n, j->n == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (j->count[order[i]] > 0) {
			str_addf(&out, "%s%zu %s", comma, j->count[order[i]],
				 words[order[i]]);
			comma = ", ";
		}
	}
	str_copy(buf, size, str_text(&out));
	str_release(&out);
	return buf;
}

void jobs_lane_name(const json_t *run, int lane, struct str *out)
{
	str_addf(out, lane > 0 ? "gpucheck-%s-%d" : "gpucheck-%s-keeper",
		 run_file(run).jobs.id, lane);
}
