/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that a run which ended early has left. */
#include "cli/run/probe_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/talk.h"
#include "lib/base/err.h"
#include "lib/data/json.h"
#include "lib/data/record.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"
#include "probes/plan/plan.h"
#include "probes/probe.h"
#include "report/judge/tell.h"
#include "sbatch/launcher.h"

static bool can_resume(const char *probe)
{
	const struct probe *p = probe_find(probe);

	return p && p->kind == PROBE_PAIRS;
}

static bool can_retest(const char *probe)
{
	return can_resume(probe) || collective_parse(probe) != COLLECTIVES;
}

static int check_probe(const struct left *l, const char *wanted,
		       const char *word, struct err *e)
{
	const char *probe = run_file(l->run).probe;
	const bool retest = strcmp(word, "retest") == 0;
	char part[sizeof(l->dir) + 64], quoted[240];

	if (run_file(l->run).imported) {
		err_set(e, 0, "'%s' was imported: gpucheck did not measure it",
			l->dir);
		return err_hint(e, "measure it first: gpucheck %s", wanted);
	}
	if (strcmp(probe, wanted) == 0) {
		return 0;
	}
	err_set(e, 0, "'%s' is a run of '%.40s', not of %s", l->dir, probe,
		wanted);
	if (strcmp(probe, "all") == 0) {
		snprintf(part, sizeof(part), "%s/%s", l->dir, wanted);
		return err_hint(e, "%s its part: gpucheck %s --%s %s", word,
				wanted, word,
				str_quoted_dir(part, quoted, sizeof(quoted)));
	}
	if (retest ? can_retest(probe) : can_resume(probe)) {
		return err_hint(e, "gpucheck %s --%s %s", probe, word,
				str_quoted_dir(l->dir, quoted,
					       sizeof(quoted)));
	}
	return err_hint(e, retest ? "only runs of p2p, ib and collectives can "
				    "be retested" :
				    "only runs of p2p and ib can be resumed");
}

bool left_of_all(const struct left *l)
{
	return strcmp(run_file(l->run).probe, "all") == 0;
}

/** run.json of a step of the run in @dir; NULL: it has none. */
static json_t *read_step(const char *dir, const struct step_row *row)
{
	char path[PATH_MAX];

	return row->rung[0] && !strchr(row->rung, '/') &&
	       rundir_path(dir, row->rung, path, NULL) == 0 ?
		       rundir_read_json(path, RUN_JSON, NULL) : NULL;
}

enum left_step left_step(const char *dir, const struct step_row *row)
{
	json_t *run = read_step(dir, row);
	const struct run_file f = run_file(run);
	enum left_step is = LEFT_ANEW;

	if (row->rung[0] &&
	    (row->outcome == OUTCOME_SKIPPED ||
	     (row->outcome == OUTCOME_OK && f.complete))) {
		is = LEFT_KEPT;
	} else if (f.planned.cells > 0 && can_resume(f.probe)) {
		is = LEFT_CUT;
	}
	json_decref(run);
	return is;
}

/** The nodes of the run @run, of @l or of one of its steps. */
static void read_nodes(struct left *l, const json_t *run)
{
	const struct run_file f = run_file(run);

	/* it may have failed with nothing to plan */
	for (; f.planned.cells > 0 && l->n_nodes < json_array_size(f.nodes);
	     l->n_nodes++) {
		str_addf(&l->nodelist, "%s%s", l->n_nodes ? "," : "",
			 run_entry(f.nodes, l->n_nodes).name);
	}
}

int left_read(struct left *l, const char *probe, const char *word,
	      struct err *e)
{
	const struct launcher_ops *ops;
	struct run_file f;
	const json_t *argv, *word_of;
	bool behind = false;
	size_t i, n = 0;

	/* first, so that the checked directory is the one that is read */
	l->foreign = rundir_check_trust(l->dir, NULL) < 0;
	l->run = rundir_read_json(l->dir, RUN_JSON, e);
	if (!l->run) {
		return -1;
	}
	if (check_probe(l, probe, word, e) < 0) {
		return -1;
	}
	f = run_file(l->run);
	if (!f.options) {
		err_set(e, 0, "run.json of '%s' does not contain the options "
			"of the run", l->dir);
		return err_hint(e, "an imported run cannot be resumed");
	}
	if (spec_from_json(&l->spec, f.options, e) < 0 ||
	    json_opt_text(l->run, "launcher", l->launcher,
			  sizeof(l->launcher), e) < 0) {
		return err_hint(e, "run.json is damaged");
	}
	/* makes a step of a job, which used srun, a job of its own outside
	 * of an allocation, submitted like the whole run */
	ops = launcher_find(l->launcher);
	if (ops == &launcher_srun && launcher_usable(ops, NULL) < 0) {
		STR_COPY(l->launcher, launcher_sbatch.name);
		l->spec.launcher[0] = '\0';
	}
	read_nodes(l, l->run);
	/* the words after "--" of the first command */
	argv = f.whole.given ? f.whole.argv : f.argv;
	l->extra = calloc(json_array_size(argv) + 1, sizeof(*l->extra));
	if (!l->extra) {
		return err_set(e, ENOMEM, "no memory for a run");
	}
	json_array_foreach(argv, i, word_of) {
		const char *text = json_string_value(word_of);

		if (behind && text) {
			l->extra[n++] = (char *)text;
		}
		behind = behind || (text && strcmp(text, "--") == 0);
	}
	return 0;
}

static int take_row(void *arg, const void *row, struct err *e)
{
	(void)e;
	resume_row(arg, row);
	return RUNDIR_KEEP;
}

/** A step of all: a cell.  Its nodes are those of the run unless an earlier
 *  step, which lost none, has named them. */
static int take_step(void *arg, const void *data, struct err *e)
{
	const struct step_row *row = data;
	struct left *l = arg;
	json_t *run;

	(void)e;
	l->done += left_step(l->dir, row) == LEFT_KEPT;
	if (l->n_nodes == 0) {
		run = read_step(l->dir, row);
		read_nodes(l, run);
		json_decref(run);
	}
	return RUNDIR_KEEP;
}

int left_count(struct left *l, struct err *e)
{
	const struct run_file f = run_file(l->run);
	const json_t *planned = json_object_get(l->run, "planned");
	const json_t *nodes, *node;
	const char *names[PASS_MAX] = { f.schedule, f.contrast.pass };
	int64_t cells = 0, passes = 1, size_B = 0, gpus, ranks = 0;
	struct grid_pair *pairs;
	struct grid grid;
	struct resume r;
	size_t i, n;
	int rc;

	if (left_of_all(l)) {
		l->cells = (size_t)f.planned.cells;
		l->done = 0;
		return rundir_table_walk(l->dir, &schema_step, false,
					 take_step, l, NULL, e);
	}
	if (l->n_nodes == 0) {
		return 0;
	}
	nodes = json_get_array(l->run, "nodes", SPEC_MAX_NODES, e);
	json_array_foreach(nodes, i, node) {
		if (json_get_int(node, "gpus", 0, SPEC_MAX_GPUS, &gpus, e) <
		    0) {
			return err_hint(e, "'nodes' of run.json is damaged");
		}
		ranks += gpus;
	}
	if (!nodes ||
	    json_opt_int(planned, "cells", 0, INT64_MAX / PASS_MAX, &cells,
			 e) < 0 ||
	    json_opt_int(planned, "passes", 1, PASS_MAX, &passes, e) < 0 ||
	    json_opt_int(l->run, "size_B", 0, INT64_MAX, &size_B, e) < 0) {
		return err_hint(e, "run.json is damaged");
	}
	grid = grid_square((int)ranks);
	if (strcmp(f.planned.kind, "list") == 0 && f.planned.pairs) {
		pairs = grid_listed(f.planned.pairs, (int)ranks, &n, e);
		rc = pairs ? grid_of(&grid, (int)ranks, pairs, n) : -1;
		free(pairs);
		if (rc < 0) {
			return err_hint(e, "'planned' of run.json is damaged");
		}
	} else if (ranks > SPEC_MAX_SQUARE) {
		return err_set(e, 0, "run.json: all pairs of %" PRId64 " ranks",
			       ranks);
	}
	if (resume_init(&r, &grid, (int)passes, names, size_B) < 0) {
		grid_release(&grid);
		return err_set(e, ENOMEM, "no memory for the rows");
	}
	rc = rundir_table_walk(l->dir, &schema_p2p, false, take_row, &r, NULL,
			       e);
	l->cells = (size_t)(cells * passes);
	l->done = r.done;
	resume_release(&r);
	grid_release(&grid);
	return rc;
}

bool left_is_whole(const struct left *l)
{
	return l->n_nodes > 0 && l->done >= l->cells &&
	       (left_of_all(l) || run_file(l->run).complete);
}

void left_release(struct left *l)
{
	json_decref(l->run);
	str_release(&l->nodelist);
	free(l->extra);
}

/** Name the run @f in @dir, or the run that it tests again. */
static void say_retest(const struct run_file *f, const char *dir,
		       const char *when)
{
	const bool by_others = spec_launcher_is(f->launcher, LAUNCHER_ONCE);
	char word[2 * PATH_MAX];

	talk_hint("%s%s: \"%s %s --retest %s\"", when,
		  by_others ? TELL_LEGEND : "",
		  by_others ? TELL_BY_OTHERS : "gpucheck", f->probe,
		  str_quoted_dir(f->retest.dir[0] ? f->retest.dir : dir, word,
				 sizeof(word)));
}

void resume_say_how(const char *dir, int code)
{
	json_t *run = code == CODE_PARTIAL || code == CODE_FAULT ?
			      rundir_read_json(dir, RUN_JSON, NULL) : NULL;
	const struct run_file f = run_file(run);
	const char *probe = f.probe;
	struct left *l = NULL;
	char word[2 * PATH_MAX];
	bool is_left = false;

	if (f.options && code == CODE_PARTIAL &&
	    (can_resume(probe) || strcmp(probe, "all") == 0)) {
		l = calloc(1, sizeof(*l));
	}
	if (l) {
		STR_COPY(l->dir, dir);
		is_left = left_read(l, probe, "resume", NULL) == 0 &&
			  left_count(l, NULL) == 0 && !left_is_whole(l);
		left_release(l);
		free(l);
	}
	if (!f.options || f.imported) {
		;	/* gpucheck did not measure it */
	} else if (is_left) {
		talk_hint("to run the missing tests: \"gpucheck %s --resume "
			  "%s\"", probe,
			  str_quoted_dir(dir, word, sizeof(word)));
	} else if (code == CODE_PARTIAL && f.retest.dir[0]) {
		say_retest(&f, dir, "to test it again");
	} else if (code == CODE_FAULT && can_retest(probe)) {
		say_retest(&f, dir, "after a repair");
	}
	json_decref(run);
}
