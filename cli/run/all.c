/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of "gpucheck all".  Each probe depends on those before it, so the
 * first that fails is nearest to the cause.
 */
#include "cli/run/probe_run.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/ahead.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"
#include "probes/probe.h"
#include "report/judge/findings.h"
#include "sbatch/slurm.h"

/** With --quick a step waits this long for agents, plus NODE_BOOT_NS per
 *  node. */
#define QUICK_BOOT_NS (10 * NS_PER_S)
#define NODE_BOOT_NS  (10 * NS_PER_MS)
#define MAX_EXPECT  8		/* sentences passed to a step */

/** Percent of --time-budget that the step with the smallest share is given. */
#define LEAST_PERCENT 15

struct layer {
	const char *probe;
	const char *const *full;	/* options; NULL = none */
	const char *const *quick;	/* with --quick these instead */
	bool goes_on;		/* these two as struct step has them */
	int share_percent;
	const char *model_lacks;	/* reason why sim cannot run it;
					 * NULL: it can */
	bool group;		/* a collective */
	bool gpus;		/* tests each GPU by itself ... */
	bool deepens;		/* ... and without @full more with --deep */
};

/** Switches spread flows over equal links: one flow does not see all. */
static const char *const flows[] = { "--flows=4", NULL };

/* --quick tests one size with half the timeout; faults still show. */
static const char *const quick_ping[] = {
	"--count=2", "--interval=20ms", NULL
};
static const char *const quick_pairs[] = { "--iters=5", NULL };
/* From the latency to the bandwidth in five layers instead of 24. */
static const char *const quick_group[] = {
	"--minbytes=64", "--maxbytes=64M", "--stepfactor=32", "--iters=5", NULL
};

static const char *const diagnosed[] = { "--diagnose", NULL };
static const char *const gpu_links[] = { "--quick", NULL };

static const struct layer layers[] = {
	{ .probe = "memlock", .model_lacks = "a simulated cluster has no limits" },
	{ .probe = "ping", .full = flows, .quick = quick_ping,
	  .model_lacks = "a simulated cluster has no addresses" },
	{ .probe = "ib", .full = flows, .quick = quick_pairs,
	  .share_percent = 25 },
	/* a faulty GPU must not be reported as a faulty link */
	{ .probe = "gpu", .full = gpu_links, .gpus = true, .deepens = true },
	{ .probe = "p2p", .full = diagnosed, .goes_on = true,
	  .quick = quick_pairs, .share_percent = 40 },
	{ .probe = "allreduce", .quick = quick_group, .group = true,
	  .share_percent = LEAST_PERCENT },
	{ 0 }
};
#define N_LAYERS (sizeof(layers) / sizeof(layers[0]) - 1)

/** State carried from step to step. */
struct all_run {
	struct step_place place;
	struct spec spec;	/* options of the whole run that are passed
				 * on */
	struct rundir_table rows;
	struct str expect;	/* "NAME=" and lines, for the steps to come */
	int n_expect;
	const char *env[2];	/* that */
	/** Rows of the run that is resumed; rung "" = none of this layer. */
	struct step_row before[N_LAYERS];
};

/** Why @layer is not for this run, or NULL. */
static const char *unfit(const struct layer *layer, const struct all_run *l)
{
	static char lacks[64];
	const struct spec *s = &l->spec;
	const struct xport_ops *ops = xport_find(s->transport);
	const struct launcher_ops *by = launcher_find(l->place.launcher);
	struct hosts h = { 0 };
	bool none = by && by->hosts && s->exclude[0] &&
		    launcher_hosts(by, s, &h, NULL) < 0;

	hosts_release(&h);
	if (none) {
		return "no node started";
	}

	snprintf(lacks, sizeof(lacks), "--transport=%s cannot run collectives",
		 s->transport);
	if (layer->gpus && spec_is_shared(s)) {
		return "the nodes of --local share the same GPUs";
	}
	if (layer->gpus && spec_transport_is(s->transport, XPORT_SOCKETS)) {
		return "--transport=tcp touches no GPU";
	}
	return !ops			  ? NULL :
	       xport_is(ops, XPORT_MODEL) ? layer->model_lacks :
	       layer->group && !ops->collective ? lacks :
						  NULL;
}

/** Keep the row of a step that began; a resumed run writes the others. */
static int take_before(void *arg, const void *data, struct err *e)
{
	const struct step_row *row = data;
	struct all_run *l = arg;

	(void)e;
	if (row->outcome == OUTCOME_NOT_RUN) {
		return RUNDIR_DROP;
	}
	for (size_t i = 0; i < N_LAYERS; i++) {
		if (strcmp(layers[i].probe, row->rung) == 0) {
			l->before[i] = *row;
		}
	}
	return RUNDIR_KEEP;
}

/** @l->rows is not open yet, and is not to be unless @starts.  Returns 0, or -1
 *  with @e. */
static int open_all(struct all_run *l, const struct step_place *place,
		    bool starts, struct err *e)
{
	const char *job_nodes = getenv("SLURM_JOB_NUM_NODES");
	struct spec *s = &l->spec;
	int64_t nodes, boot_ns;

	*l = (struct all_run){ .place = *place, .spec = *place->spec };
	l->place.spec = s;
	if (s->quick) {
		nodes = s->local ? s->local_nodes : s->nodes;
		if (!s->local && !nodes && job_nodes) {
			units_parse_int(job_nodes, 1, SPEC_MAX_NODES, &nodes,
					NULL);
		}
		/* wait for agents no longer than their number needs, once one
		 * has come from elsewhere: a step of Slurm's may have to import
		 * an image before */
		if (spec_launcher_is(place->launcher, LAUNCHER_SLURM)) {
			s->start_timeout_ns = spec_boot_first_ns(s, true);
		}
		boot_ns = QUICK_BOOT_NS + nodes * NODE_BOOT_NS;
		s->boot_timeout_ns = boot_ns < spec_boot_ns(s) ?
					     boot_ns : spec_boot_ns(s);
	}
	return rundir_table_walk(place->dir, &schema_step, starts, take_before,
				 l, NULL, e);
}

static enum left_step now(const struct all_run *l, const struct layer *layer)
{
	return left_step(l->place.dir, &l->before[layer - layers]);
}

static struct step make_step(struct all_run *l, const struct layer *layer)
{
	l->env[0] = l->n_expect ? str_text(&l->expect) : NULL;
	return (struct step){ .command = layer->probe, .name = layer->probe,
			      .options = l->spec.quick ? layer->quick :
					 l->spec.deep && layer->deepens ?
							 NULL : layer->full,
			      .env = l->env, .goes_on = layer->goes_on,
			      .resumes = now(l, layer) == LEFT_CUT,
			      .share_percent = layer->share_percent };
}

static void each(const struct step_place *place,
		 void (*see)(void *arg, const char *probe,
			     const struct args *line, const char *why_not),
		 void *arg)
{
	struct all_run l;

	open_all(&l, place, false, NULL);
	for (const struct layer *layer = layers; layer->probe; layer++) {
		const char *why = now(&l, layer) == LEFT_KEPT ?
					  "it has ended, and is kept" :
					  unfit(layer, &l);
		struct step step = make_step(&l, layer);
		struct args line = { 0 };

		step_args(&l.place, &step, l.spec.max_time_ns, &line);
		see(arg, layer->probe, why ? NULL : &line, why);
		args_release(&line);
	}
}

/** Fill in outcome, code and detail, and the counts of the verdict, whose
 *  columns have the same names. */
static void add_outcome(const struct layer *layer, const struct step_end *end,
			struct step_row *row)
{
	const struct verdict_file v = verdict_file(end->verdict);
	size_t n = 0;

	/* count the findings that report that there is no GPU */
	while (n < json_array_size(v.findings) &&
	       strcmp(run_entry(v.findings, n).code, "gpu_missing") == 0) {
		n++;
	}
	snprintf(row->detail, sizeof(row->detail), "%s%s%s", end->why.text,
		 end->why.hint[0] ? "; " : "", end->why.hint);
	if (end->absent) {
		row->outcome = OUTCOME_SKIPPED;
		STR_COPY(row->code, STEP_ABSENT);
	} else if (layer->gpus && n > 0 && n == json_array_size(v.findings) &&
		   strcmp(v.status, "unknown") == 0) {
		row->outcome = OUTCOME_SKIPPED;
		STR_COPY(row->code, STEP_ABSENT);
		STR_COPY(row->detail, "no node has a GPU that can be used");
	} else if (end->code == CODE_PARTIAL &&
		   (!end->ran || !end->verdict)) {
		row->outcome = OUTCOME_NOT_RUN;
		STR_COPY(row->code, STEP_STOPPED);
	} else if (end->code == CODE_USAGE || end->code == CODE_UNABLE) {
		row->outcome = OUTCOME_ERROR;
		STR_COPY(row->code, STEP_FAILED);
	} else {
		row->outcome = OUTCOME_OK;
		row->detail[0] = '\0';
		STR_COPY(row->status, v.status);
		row->findings = (int64_t)json_array_size(v.findings);
	}
	for (const struct column *c = schema_step.columns;
	     row->outcome == OUTCOME_OK && c->name; c++) {
		const json_t *count = json_object_get(v.cells, c->name);

		if (json_is_integer(count) && c->type == COLUMN_INT) {
			*(int64_t *)((char *)row + c->offset) =
				json_integer_value(count);
		}
	}
}

/** One line a step on stderr, as it ends. */
static void say(const struct layer *layer, const struct step_row *row)
{
	switch (row->outcome) {
	case OUTCOME_OK:
		talk("%s: %s, %lld finding%s, %.1f s", layer->probe,
		     row->status[0] ? row->status : "no verdict",
		     (long long)(row->findings > 0 ? row->findings : 0),
		     row->findings == 1 ? "" : "s", row->wall_s);
		break;
	case OUTCOME_SKIPPED:
		talk("%s: skipped: %s", layer->probe, row->detail);
		break;
	default:
		talk("%s: %s: %s", layer->probe, outcome_name(row->outcome),
		     row->detail);
	}
}

/** Take what @verdict says of @layer: nodes that did not start are left out of
 *  the layers above, and other failures are to be expected there. */
static void learn_all(struct all_run *l, const struct layer *layer,
		      const json_t *verdict)
{
	const json_t *findings = verdict_file(verdict).findings;
	struct spec *s = &l->spec;

	for (size_t i = 0; i < json_array_size(findings); i++) {
		const struct run_entry f = run_entry(findings, i);
		const size_t len = strlen(s->exclude);

		if (!f.fail) {
			continue;
		}
		/* each other layer would lose the time to wait for the node; it
		 * was one of -N, unless those were chosen among more */
		if (gone_code(f.code)->unstarted && f.node[0] &&
		    len + strlen(f.node) + 2 <= sizeof(s->exclude) &&
		    !hostlist_has(s->exclude, f.node)) {
			snprintf(s->exclude + len, sizeof(s->exclude) - len,
				 "%s%s", len > 0 ? "," : "", f.node);
			s->nodes -= s->nodes > 1;
		}
		if (l->n_expect < MAX_EXPECT) {
			str_addf(&l->expect, "%s%s: %.300s",
				 l->n_expect ? "\n" : STEP_EXPECT_ENV "=",
				 layer->probe, f.says);
			l->n_expect++;
		}
	}
}

/** A layer that is measured again has an empty place; what it had, if anything,
 *  is in @aside then.  Unless @aside is new, it is given back. */
static void move_aside(const char *dir, const char *name, char aside[NAME_MAX])
{
	const int at = rundir_at(dir);
	const bool back = aside[0] != '\0';
	char path[PATH_MAX];

	for (int n = 1; !back && (n == 1 || rundir_has(dir, aside)); n++) {
		snprintf(aside, NAME_MAX, "%s-%d", name, n);
	}
	if (back && rundir_path(dir, name, path, NULL) == 0) {
		rundir_discard(path, true);
	}
	renameat(at, back ? aside : name, at, back ? name : aside);
	rundir_shut(at);
}

/** Returns true if @row is to be added: it tells more than what was known. */
static bool take_layer(struct all_run *l, const struct layer *layer,
		      struct step_row *row)
{
	const struct step_row *before = &l->before[layer - layers];
	const bool anew = before->outcome == OUTCOME_OK && before->rung[0];
	const char *job = getenv("SLURM_JOB_ID");
	struct step step = make_step(l, layer);
	char aside[NAME_MAX] = "";
	struct step_end end;

	if (!step.resumes && !l->place.stopped &&
	    rundir_has(l->place.dir, layer->probe)) {
		move_aside(l->place.dir, layer->probe, aside);
	}
	step_run(&l->place, &step, &end);
	if (aside[0] && anew && !end.verdict) {
		move_aside(l->place.dir, layer->probe, aside);
	}
	row->exit_code = end.ran ? end.code : RECORD_NONE;
	row->wall_s = end.ran ? end.wall_s : NAN;
	add_outcome(layer, &end, row);
	if (row->outcome != OUTCOME_SKIPPED) {
		learn_all(l, layer, end.verdict);
	}
	/* the job of the allocation that the steps run in has ended */
	if (row->outcome == OUTCOME_ERROR && job &&
	    spec_launcher_is(l->place.launcher, LAUNCHER_SLURM) &&
	    slurm_job_standing(job) >= SLURM_JOB_ENDS) {
		l->place.stopped = true;
		row->outcome = OUTCOME_NOT_RUN;
		STR_COPY(row->code, STEP_STOPPED);
	}
	json_decref(end.verdict);
	return !anew || row->outcome == OUTCOME_OK;
}

static int run_layers(struct all_run *l, struct err *e)
{
	for (const struct layer *layer = layers; layer->probe; layer++) {
		const char *why = unfit(layer, l);
		struct step_row row;
		char dir[PATH_MAX];
		json_t *verdict;
		bool add = true;

		if (now(l, layer) == LEFT_KEPT) {
			/* the layers above know what it found */
			verdict = rundir_path(l->place.dir, layer->probe, dir,
					      NULL) < 0 ? NULL :
				  rundir_read_json(dir, RUN_VERDICT, NULL);
			learn_all(l, layer, verdict);
			json_decref(verdict);
			continue;
		}
		record_init(&schema_step, &row);
		STR_COPY(row.rung, layer->probe);
		clock_utc(row.start_utc);
		if (why) {
			row.outcome = OUTCOME_SKIPPED;
			STR_COPY(row.code, STEP_UNFIT);
			STR_COPY(row.detail, why);
		} else {
			add = take_layer(l, layer, &row);
		}
		say(layer, &row);
		if (add && rundir_table_add(&l->rows, &row, e) < 0) {
			return -1;
		}
	}
	return 0;
}

static int run(struct step_place *place, struct err *e)
{
	char utc[CLOCK_UTC_SIZE];
	struct all_run l;
	json_t *steps;
	int rc;

	if (step_prepare(place, e) < 0) {
		return -1;
	}
	if (open_all(&l, place, true, e) < 0 ||
	    rundir_table_open(&l.rows, place->dir, &schema_step, e) < 0) {
		return -1;
	}
	rc = rundir_hold(l.rows.fd, e);
	if (rc == 0) {
		steps = json_array();
		for (const struct layer *x = layers; x->probe; x++) {
			json_array_append_new(steps, json_string(x->probe));
		}
		rc = run_json_note(place->dir, &(struct run_file){
			.planned = { .given = true, .cells = N_LAYERS,
				     .rungs = steps } }, e);
		json_decref(steps);
	}
	if (rc == 0) {
		rc = run_layers(&l, e);
	}
	if (rc == 0) {
		rc = run_json_note(l.place.dir, &(struct run_file){
			.ended_utc = clock_utc(utc), .stop_reason =
			l.place.stopped ? "interrupted" : "" }, e);
	}
	rundir_table_close(&l.rows);
	str_release(&l.expect);
	return rc;
}

const struct conductor conductor_all = {
	.name = "all",
	.takes = SPEC_CMD_ALL,
	.least_percent = LEAST_PERCENT,
	.run = run,
	.each = each,
};
