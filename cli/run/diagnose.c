/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --diagnose: test failed and slow pairs again, layer by layer and setting by
 * setting.
 * Each step is a small run of its own below DIR/diagnose;
 * report/judge/diagnose.h lists the steps and their meaning.
 */
#include "cli/run/probe_run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/data/rundir.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/judge/verdict.h"
#include "report/judge/diagnose.h"
#include "report/model/part.h"

#define FOLDER	"diagnose"

struct diagnosis {
	struct run run;
	struct verdict verdict;
	struct diagnose_pairs pairs;
	struct step_place place;	/* DIR/diagnose */
	char dir[PATH_MAX];
	int64_t deadline_ns;
	struct rundir_table table;
	/** The work of a step. */
	const struct diagnose_step *step;
	char name[NAME_MAX];	/* of its directory */
	struct diagnose_row rows[DIAGNOSE_MAX_PAIRS];
	size_t n;
};

static int open_run(const char *dir, struct diagnosis *d, struct err *e)
{
	*d = (struct diagnosis){ 0 };
	if (levels_read(dir, &d->run, e) < 0) {
		return -1;
	}
	if (verdict_compute(&d->run, &d->verdict) < 0) {
		run_release(&d->run);
		return err_set(e, ENOMEM, "cannot judge the run");
	}
	if (!d->run.stop_reason[0]) {
		diagnose_choose(&d->run, &d->verdict, &d->pairs);
	}
	return 0;
}

static void close_run(struct diagnosis *d)
{
	rundir_table_close(&d->table);
	verdict_release(&d->verdict);
	run_release(&d->run);
}

bool diagnose_wanted(const char *dir)
{
	struct diagnosis d;
	bool wanted = open_run(dir, &d, NULL) == 0;

	if (wanted) {
		wanted = d.pairs.n > 0;
		close_run(&d);
	}
	return wanted;
}

static int keep_row(struct diagnosis *d, const struct diagnose_row *row,
		    struct err *e)
{
	return run_add_diagnose(&d->run, row) < 0 ?
		       err_set(e, ENOMEM, "no memory for a row") :
		       rundir_table_add(&d->table, row, e);
}

static void set_untried(struct diagnose_row *row, enum outcome outcome,
			const char *code, const char *detail)
{
	row->outcome = outcome;
	STR_COPY(row->code, code);
	STR_COPY(row->detail, detail);
}

/** "--pairs=n0:1-n1:1,...": each once, though two may share their ports. */
static void add_pairs(const struct diagnosis *d, struct str *out)
{
	char pairs[DIAGNOSE_MAX_PAIRS][200];

	str_add(out, "--pairs=");
	for (size_t i = 0; i < d->n; i++) {
		const struct diagnose_row *r = &d->rows[i];
		bool twice = false;
		const int src = diagnose_index(&d->run, d->step,
					       (int)r->src_rank);
		const int dst = diagnose_index(&d->run, d->step,
					       (int)r->dst_rank);

		snprintf(pairs[i], sizeof(pairs[i]), "%s-%s",
			 CLUSTER_GPU(r->src_node, src),
			 CLUSTER_GPU(r->dst_node, dst));
		for (size_t k = 0; k < i; k++) {
			twice = twice || strcmp(pairs[k], pairs[i]) == 0;
		}
		if (!twice) {
			str_addf(out, "%s%s", i ? "," : "", pairs[i]);
		}
	}
}

/** Record the pairs that were not measured, and why. */
static void take_end(struct diagnose_row *row, const struct step_end *end,
		     bool stopped)
{
	if (stopped) {
		set_untried(row, OUTCOME_NOT_RUN, "stopped",
			    "the run was stopped");
		return;
	}
	set_untried(row, end->ran ? OUTCOME_SKIPPED : OUTCOME_NOT_RUN,
		    end->absent ? "absent" : end->ran ? "unable" : "no_time",
		    end->why.text[0] ? end->why.text : "it measured nothing");
}

/** Options of the run that are not passed to the tests of the other layers. */
static const char *const not_theirs[] = {
	"transport", "pairs", "sample", "compare", "diagnose", "test-timeout",
	"minbytes", "maxbytes", "stepfactor", "iters", "warmup-iters", "bidi",
	"schedule", "nccl-lib", "pxn", "force-net", "production-settings",
	"reference", "layer", NULL
};
/** The same again but for the pairs, and one at a time. */
static const char *const not_again[] = {
	"pairs", "sample", "compare", "diagnose", "transport", "schedule",
	"reference", NULL
};

/** How each pair came out, from @end and the files of the test. */
static void take_results(struct diagnosis *d, const struct step_end *end)
{
	const struct diagnose_step *s = d->step;
	bool stopped = d->place.stopped, unset = false;
	char sub[PATH_MAX];

	for (size_t i = 0; i < d->n; i++) {
		take_end(&d->rows[i], end, stopped);
		if (end->ran) {
			d->rows[i].wall_s = end->wall_s;
			snprintf(d->rows[i].dir, sizeof(d->rows[i].dir),
				 FOLDER "/%.200s", d->name);
		}
	}
	if (end->ran && rundir_path(d->dir, d->name, sub, NULL) == 0) {
		diagnose_read(sub, &d->run, s, d->rows, d->n, NULL);
		unset = !diagnose_was_set(sub, s);
	}
	for (size_t i = 0; i < d->n; i++) {
		if (unset) {
			/* a pass or failure of a test that was not ours */
			set_untried(&d->rows[i], OUTCOME_SKIPPED, "unset",
				    "the setting did not reach the nodes: "
				    "check that the launcher passes the "
				    "environment (--export)");
		} else if (stopped && d->rows[i].outcome != OUTCOME_OK) {
			/* what did not pass until then might have */
			take_end(&d->rows[i], end, true);
		}
	}
}

/** Report the step, of the run's @own transport or another, on stderr: a pair
 *  that is still slow has not passed. */
static void say_step(const struct diagnosis *d, bool own, bool again)
{
	const struct diagnose_row *first = &d->rows[0];
	const char *name = diagnose_says(d->step->name);
	const char *once_more = again ? ", again" : "";
	char counts[80];
	size_t ok = 0, slow = 0, untried = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct diagnose_row *r = &d->rows[i];
		bool passes = r->outcome == OUTCOME_OK;
		bool good = passes &&
			    (own ? diagnose_helps(&d->run, r) :
				   diagnose_keeps(&d->run, d->step,
						  (int)r->src_rank,
						  (int)r->dst_rank) != 0);

		ok += good;
		slow += passes && !good;
		untried += r->outcome == OUTCOME_SKIPPED ||
			   r->outcome == OUTCOME_NOT_RUN;
	}
	snprintf(counts, sizeof(counts), slow ? "%zu of %zu pairs pass, %zu "
		 "slow" : "%zu of %zu pairs pass", ok, d->n, slow);
	if (untried == d->n) {
		talk("diagnose: %s%s: not tried: %s", name, once_more,
		     first->detail);
	} else if (first->bw_GB_s > 0) {
		talk("diagnose: %s%s: %s, %s:%lld -> %s:%lld at %s GB/s",
		     name, once_more, counts, first->src_node,
		     (long long)first->src_gpu, first->dst_node,
		     (long long)first->dst_gpu,
		     UNITS_REAL(first->bw_GB_s, 1));
	} else {
		talk("diagnose: %s%s: %s", name, once_more, counts);
	}
}

/** Run d->step, @again or for the first time, and keep the rows of its
 *  pairs. */
static int run_step(struct diagnosis *d, bool again, struct err *e)
{
	const struct diagnose_step *s = d->step, *top = diagnose_top(&d->run);
	/* the top may go by another name */
	bool own = s->option == top->option || diagnose_is_knob(s);
	const char *command = own ? top->command : s->command;
	const char *options[6] = { own ? top->option : s->option };
	struct str pairs = STR_INIT;
	struct step step = {
		.command = command, .name = d->name, .options = options,
		.without = own ? not_again : not_theirs, .env = s->env,
		.quiet = true,
	};
	int64_t until = clock_now_ns() + DIAGNOSE_STEP_NS;
	struct step_end end;
	size_t n = 1;

	snprintf(d->name, sizeof(d->name), "%s%.200s", again ? "again-" : "",
		 s->name);
	add_pairs(d, &pairs);
	if (strcmp(command, "ping") != 0) {
		options[n++] = str_text(&pairs);
		/* a test that only fails next to others must not fail here */
		options[n++] = "--schedule=serial";
	}
	if (diagnose_is_knob(s) && s->option &&
	    spec_transport_is(d->run.transport, XPORT_SETTINGS)) {
		options[n++] = s->option;
	}
	if (!own && spec_transport_is(d->run.transport, XPORT_MODEL) &&
	    s->rate) {
		options[s->ports ? n++ : 0] = "--transport=sim";
		if (!s->ports) {
			options[n++] = "--layer=tcp";
		}
	}
	d->place.deadline_ns = until < d->deadline_ns ? until : d->deadline_ns;
	step_run(&d->place, &step, &end);
	take_results(d, &end);
	json_decref(end.verdict);
	str_release(&pairs);
	for (size_t i = 0; i < d->n; i++) {
		if (keep_row(d, &d->rows[i], e) < 0) {
			return -1;
		}
	}
	say_step(d, own, again);
	return 0;
}

/** Tests the pairs that passed with the setting of d->step again without it,
 *  since they may have recovered in the minutes since they failed. */
static int undo(struct diagnosis *d, struct err *e)
{
	char name[sizeof(d->rows->step)];
	struct diagnose_step s = *diagnose_top(&d->run);
	const size_t tried = d->n;
	int rc = 0;

	s.name = diagnose_undone_name(d->step->name, name, sizeof(name));
	d->step = &s;
	d->n = 0;
	for (size_t i = 0; i < tried; i++) {
		const struct diagnose_row *row = &d->rows[i];
		const struct grid_pair pair = {
			(int)row->src_rank, (int)row->dst_rank
		};

		if (diagnose_helps(&d->run, row)) {
			diagnose_row_init(&d->run, &s, &pair, &d->rows[d->n]);
			clock_utc(d->rows[d->n++].start_utc);
		}
	}
	if (d->n > 0) {
		rc = run_step(d, false, e);
	}
	d->step = NULL;
	return rc;
}

/** Try the pairs to which @s applies; the others get their row. */
static int take_step(struct diagnosis *d, const struct diagnose_step *s,
		     struct err *e)
{
	d->step = s;
	d->n = 0;
	for (size_t i = 0; !d->place.stopped && i < d->pairs.n; i++) {
		const struct grid_pair *p = &d->pairs.list[i];
		struct diagnose_row *row = &d->rows[d->n];
		const char *why;

		diagnose_row_init(&d->run, s, p, row);
		clock_utc(row->start_utc);
		if (diagnose_applies(&d->run, s, p->src, p->dst, &why)) {
			d->n++;
		} else if (why) {
			set_untried(row, OUTCOME_SKIPPED, "unfit", why);
			if (keep_row(d, row, e) < 0) {
				return -1;
			}
		}
	}
	if (d->n == 0) {
		return 0;
	}
	return run_step(d, false, e) < 0 ? -1 :
	       diagnose_is_knob(s) ? undo(d, e) : 0;
}

/** For each slow pair, try the settings that raised its rate together: two of
 *  them, then more, until it is not slow. */
static int combine(struct diagnosis *d, struct err *e)
{
	struct diagnose_step s;
	int rc = 0;

	for (size_t i = 0; i < d->pairs.n; i++) {
		bool helps = false;

		for (size_t n = 2; rc == 0 && !helps && !d->place.stopped &&
				   diagnose_combine(&d->run, &d->pairs.list[i],
						    n, &s); n++) {
			struct str name = STR_INIT;

			for (int k = 0; s.env[k]; k++) {
				str_addf(&name, "%s%s", k ? "+" : "", s.env[k]);
			}
			s.name = str_text(&name);
			diagnose_row_init(&d->run, &s, &d->pairs.list[i],
					  d->rows);
			clock_utc(d->rows->start_utc);
			d->step = &s;
			d->n = 1;
			rc = run_step(d, false, e);
			helps = rc == 0 && diagnose_helps(&d->run, d->rows);
			rc = helps ? undo(d, e) : rc;
			str_release(&name);
		}
	}
	return rc;
}

/** Measure each layer in which a rate seems to be lost once more, from the
 *  lowest up: what else runs at that moment may have slowed it down. */
static int confirm(struct diagnosis *d, struct err *e)
{
	int rc = 0;

	for (const struct diagnose_step *s = diagnose_steps;
	     rc == 0 && !diagnose_is_knob(s); s++) {
		d->step = s;
		d->n = 0;
		for (size_t i = 0; !d->place.stopped && i < d->pairs.n; i++) {
			const struct grid_pair *p = &d->pairs.list[i];

			if (diagnose_again(&d->run, s, p->src, p->dst)) {
				diagnose_row_init(&d->run, s, p,
						  &d->rows[d->n]);
				clock_utc(d->rows[d->n++].start_utc);
			}
		}
		rc = d->n > 0 ? run_step(d, true, e) : 0;
	}
	return rc;
}

/** The top first: what passes now needs no other step. */
static int take_steps(struct diagnosis *d, struct err *e)
{
	const struct diagnose_step *top = diagnose_top(&d->run);
	int rc = take_step(d, top, e);

	for (const struct diagnose_step *s = diagnose_steps;
	     rc == 0 && s->name; s++) {
		if (s != top) {
			rc = take_step(d, s, e);
		}
		if (rc == 0 && diagnose_is_knob(s + 1) &&
		    !diagnose_is_knob(s)) {
			rc = confirm(d, e);
		}
	}
	return rc < 0 ? rc : combine(d, e);
}

static int run(struct step_place *place, struct err *e)
{
	struct str names = STR_INIT;
	char a[80], b[80], wanted[PATH_MAX];
	struct diagnosis d;
	int64_t left_ns = DIAGNOSE_NS;
	int rc = 0;

	if (open_run(place->dir, &d, e) < 0) {
		return -1;
	}
	if (place->deadline_ns) {
		left_ns = (place->deadline_ns - clock_now_ns()) /
			  DIAGNOSE_SHARE;
		left_ns = left_ns < DIAGNOSE_NS ? left_ns : DIAGNOSE_NS;
	}
	d.deadline_ns = clock_now_ns() + left_ns;
	if (d.pairs.n == 0) {
		close_run(&d);
		return 0;
	}
	for (size_t i = 0; i < d.pairs.n; i++) {
		const struct grid_pair *p = &d.pairs.list[i];

		str_addf(&names, "%s%s -> %s", i ? ", " : "",
			 part_rank_name(&d.run, p->src, a, sizeof(a)),
			 part_rank_name(&d.run, p->dst, b, sizeof(b)));
	}
	left_ns = d.deadline_ns - clock_now_ns();
	talk("diagnose: %s, for %zu of %zu findings, at most %lld s",
	     str_text(&names), d.pairs.covered, d.pairs.findings,
	     (long long)(left_ns > 0 ? left_ns / NS_PER_S : 0));
	str_release(&names);
	/* DIR/diagnose holds the steps */
	if (rundir_path(place->dir, FOLDER, wanted, e) < 0 ||
	    rundir_create(wanted, FOLDER, d.dir, e) < 0 ||
	    rundir_table_open(&d.table, place->dir, &schema_diagnose, e) < 0 ||
	    step_prepare(place, e) < 0) {
		rc = -1;
	} else {
		d.place = *place;
		d.place.dir = d.dir;
		rc = take_steps(&d, e);
	}
	close_run(&d);
	return rc;
}

const struct conductor conductor_diagnose = {
	.name = "diagnose",
	.takes = SPEC_CMD_P2P,
	.after = true,
	.run = run,
};
