/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes on tests that a verdict does not blame on a part: pairs that were not
 * planned because rails are not connected, and bad tests that a rule forgives;
 * and advice.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "report/judge/findings.h"
#include "report/judge/tell.h"
#include "report/model/run.h"

/* ---- account ------------------------------------------------------------- */

/** Rules that forgive a bad test, in the order in which they are asked. */
enum { RULE_ACCEPTED, RULE_CHANCE, RULE_BUILT, RULE_RETRIED, RULES };

static const struct {
	const char *kind, *aside, *says, *known;
	unsigned bit;		/* of enum explained; 0: none */
} rules[RULES] = {
	[RULE_ACCEPTED] = {
		"accepted", "slow as in the accepted run",
		"slow tests belong to findings that the accepted run has too",
		"--reference", 0 },
	[RULE_CHANCE] = {
		"chance", "slow by chance",
		"slow tests are due to chance: no more than colliding flows "
		"would leave, or most were fast when repeated",
		"all tests of the run, and those that were repeated",
		BY_CHANCE },
	[RULE_BUILT] = {
		"built_so", "slow as all of their kind",
		"slow tests are as slow as all tests between the same GPU "
		"numbers at the same distance, or as both of their ends",
		"the other tests of the same kind", BUILT_SO },
	[RULE_RETRIED] = {
		"retried", "passed when retried",
		"tests failed once, as rarely as elsewhere, and passed when "
		"retried", "rows of the second attempt", 0 },
};

bool account_is_open(const struct run *run, const uint8_t *explained, size_t at)
{
	unsigned class = run->cells[at].class, bits = explained[at];

	/* an address that was reached while its answers were lost */
	bits |= run->mesh ? explained[run_back(run, at)] : 0;
	return (cells_failed(class) || class == CELL_SLOW) &&
	       !(bits & (EXPLAINED | NAMED | SPARED | BY_CHANCE | BUILT_SO));
}

/** Returns the rule that forgives the bad cell at @at; RULES: none. */
static int rule_of(const struct run *run, const struct verdict *v,
		   const uint8_t *explained, size_t at)
{
	int rule = 0;

	if (!(explained[at] & (EXPLAINED | NAMED | SPARED))) {
		while (rule < RULES && !(explained[at] & rules[rule].bit)) {
			rule++;
		}
		return rule;
	}
	if (v->accepted.n == 0) {
		return RULES;
	}
	verdict_foreach(v, f) {
		bool is = part_touches_at(run, &f->part, at);

		for (size_t i = 0; i < f->n_or && !is; i++) {
			is = part_touches_at(run, &f->or_parts[i], at);
		}
		if (is && f->explained > 0) {
			return RULES;	/* a finding of this run has it */
		}
	}
	return RULE_ACCEPTED;
}

/** Adds a note of @kind on @tests tests: what stands in the heading, what they
 *  are, how that is known, and the command that tests them, or "". */
static void add_note(struct verdict *v, const char *kind, size_t tests,
		     const char *aside, const char *says, const char *known,
		     const char *act)
{
	const size_t k = v->n_notes++;

	v->notes[k].kind = kind;
	v->notes[k].tests = tests;
	STR_COPY(v->notes[k].aside, aside);
	STR_COPY(v->notes[k].says, says);
	STR_COPY(v->notes[k].known, known);
	STR_COPY(v->notes[k].act, act);
}

void account_close(const struct run *run, const uint8_t *explained,
		   struct verdict *v)
{
	size_t of[RULES + 1] = { [RULE_RETRIED] = v->account.retried };

	run_foreach_cell(run, at) {
		unsigned class = run->cells[at].class;

		if (cells_failed(class) || class == CELL_SLOW) {
			v->account.bad++;
			of[rule_of(run, v, explained, at)]++;
		}
	}
	v->account.named = of[RULES];
	for (int i = 0; i < RULES; i++) {
		char aside[120], says[240];

		snprintf(aside, sizeof(aside), "%s %s", UNITS_COUNT(of[i]),
			 rules[i].aside);
		snprintf(says, sizeof(says), "%s %s", UNITS_COUNT(of[i]),
			 rules[i].says);
		if (of[i] > 0) {
			add_note(v, rules[i].kind, of[i], aside, says,
				 rules[i].known, "");
		}
	}
}

/* ---- rails --------------------------------------------------------------- */

bool rails_left_out(const struct run *run, size_t *n)
{
	const struct part p = part_of_kind(PART_CROSS_RAIL);

	*n = 0;
	if (!run_file(run->json).planned.rails_apart) {
		return false;
	}
	run_foreach_cell(run, at) {
		bool cross = run_src(run, at) != run_dst(run, at) &&
			     part_touches_at(run, &p, at);

		if (cross && run->cells[at].class != CELL_UNPLANNED) {
			return false;
		}
		*n += cross;
	}
	return *n > 0 || run->grid.first;
}

void rails_note(const struct run *run, struct verdict *v)
{
	static const char *const without[] = { "fabric", NULL };
	static const char *const crossing[] = { "all", "inter", NULL };
	const struct run_file f = run_file(run->json);
	const char *by = f.planned.rails_by;
	char aside[120] = "pairs between rails are not connected";
	char known[200] = "--fabric=rail-only";
	struct str act = STR_INIT;
	size_t left, all = 0;

	/* of other kinds none would be planned in any case */
	if (!rails_left_out(run, &left) ||
	    str_index(crossing, f.planned.kind) < 0) {
		return;
	}
	for (int c = 0; c < CELL_CLASSES; c++) {
		all += v->cells[c];
	}
	if (left > 0) {
		snprintf(aside, sizeof(aside), "%s of %s pairs; %s between "
			 "rails are not connected", UNITS_COUNT(all),
			 UNITS_COUNT(all + left), UNITS_COUNT(left));
	}
	if (by[0] != '\0') {
		snprintf(known, sizeof(known), "%.60s have no route from the "
			 "network of one rail to that of another (facts.csv: "
			 "no_route_to)", by);
	}
	tell_again(run, without, &act);
	str_add(&act, " --fabric=any");
	tell_passed_on(run, &act);
	add_note(v, "rails", left, aside, "pairs between rails were not "
		 "tested: the fabric does not connect them", known,
		 str_text(&act));
	str_release(&act);
}

/* ---- flows --------------------------------------------------------------- */

/** If the flows gain nothing, each test is as likely to gain as to lose.  The
 *  gain is clear if this many gain by chance with a lower probability. */
#define ALPHA 0.01

int flows_gain(const struct run *run, double *gain, bool *clear)
{
	const int n = run->flows_tested < FLOWS_AT_ONCE ?
			      (int)run->flows_tested : FLOWS_AT_ONCE;
	double more = 0, less = 0, all = (double)run->n_gains;

	*clear = false;
	for (size_t i = 0; i < run->n_gains; i++) {
		more += run->gains[i] * CELLS_SLOW_RATIO > 1;
		less += run->gains[i] < CELLS_SLOW_RATIO;
	}
	if (run->n_gains == 0) {
		return 0;
	}
	*gain = stats_middle(run->gains, run->n_gains);
	*clear = !run->shared_cores &&
		 (2 * more > all ||
		  (more > 0 && stats_log_tail(more, more + less, 0.5) <
				       log(ALPHA)));
	run_foreach_fact(run, f) {
		*clear = *clear && (strcmp(f->fact, "qps") != 0 ||
				    strtol(f->value, NULL, 10) < n);
	}
	return n;
}

void flows_note(const struct run *run, struct verdict *v)
{
	char aside[120], says[240], act[64];
	double gain;
	bool clear;
	int n = flows_gain(run, &gain, &clear);

	if (n > 0 && clear) {
		snprintf(aside, sizeof(aside), "%d flows at once: %.2f times "
			 "the bandwidth of one", n, gain);
		snprintf(says, sizeof(says), "%d queue pairs of different flow "
			 "labels have %.2f times the bandwidth of one (median)",
			 n, gain);
		snprintf(act, sizeof(act), "NCCL_IB_QPS_PER_CONNECTION=%d", n);
		add_note(v, "flows", run->n_gains, aside, says,
			 "columns flow_GB_s and flows_GB_s of results.csv",
			 act);
	}
}
