/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits from elsewhere: the tests of --accept, and of collectives what the
 * links of their machine carry. */
#include "report/judge/findings.h"

#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/units.h"
#include "report/model/part.h"

/** Keep the result of @t; if it is not met, as a finding too. */
static void conclude(struct verdict *v, const struct accept_test *t,
		     enum test_result how, const char *says)
{
	struct verdict_test test = { .how = how };
	struct finding *f;

	snprintf(test.name, sizeof(test.name), "accept line %d: %.100s",
		 t->line, t->words);
	STR_COPY(test.says, says);
	v->failed |= !grow_add(&v->tests, &v->n_tests, &test, sizeof(test));
	if (how == TEST_MET || how == TEST_OTHER) {
		return;
	}
	f = finding_add(v, part_of_kind(PART_CONFIG),
			how == TEST_MISSED ? "accept_missed" :
					     "accept_not_measured");
	f->fail = true;
	f->cells = f->explained = 1;
	finding_say(f, "%s", says);
	finding_add_evidence(f, "%s", test.name);
}

/* ---- collectives --------------------------------------------------------- */

static bool fits(int64_t wanted, int64_t is)
{
	return wanted == RECORD_NONE || wanted == is;
}

/** If no run can reach @t, say by how much it is too high. */
static void add_impossible(const struct machine *m, const struct accept_test *t,
			   const struct collective_row *row, struct str *out)
{
	struct collective_row of = *row;
	struct ceiling c, sharp, least;

	/* the largest by any algorithm that NCCL has */
	of.algo[0] = '\0';
	ceiling_of_row(m, &of, &c, &least);
	STR_COPY(of.algo, "CollNetDirect");
	ceiling_of_row(m, &of, &sharp, &least);
	c = sharp.GB_s > c.GB_s ? sharp : c;
	if (!(c.GB_s > 0) || !(t->bw_min_GB_s > c.GB_s)) {
		return;
	}
	str_add(out, "; no run can reach that: ");
	if (c.rails > 0) {
		str_addf(out, "%d rail%s of this machine carr%s", c.rails,
			 c.rails == 1 ? "" : "s", c.rails == 1 ? "ies" : "y");
	} else {
		str_add(out, "NVLink carries");
	}
	str_addf(out, " at most %.1f GB/s%s%s", c.GB_s,
		 c.algo[0] ? ", by " : "", c.algo);
}

static void judge_row(const struct sweep *s, const struct accept_test *t,
		      const struct collective_row *row, double us,
		      struct verdict *v)
{
	bool slow = row->busbw_GB_s < t->bw_min_GB_s;
	bool late = us > t->max_us;
	const int64_t nodes = machine_nodes(&s->machine, row);
	struct str says = STR_INIT;
	char size[32];

	/* "allreduce of 8 GiB on 2 nodes with 16 GPUs: " */
	str_addf(&says, "%s of %s", row->op,
		 units_size_text((uint64_t)row->size_B, size, sizeof(size)));
	if (nodes > 0) {
		str_addf(&says, " on %lld node%s", (long long)nodes,
			 nodes == 1 ? "" : "s");
	}
	str_addf(&says, " with %lld GPUs: ", (long long)row->ranks);
	if (!isnan(t->max_us) && isnan(us)) {
		str_add(&says, "its time was not measured");
		conclude(v, t, TEST_NOT_MEASURED, str_text(&says));
		str_release(&says);
		return;
	}
	if (!isnan(t->bw_min_GB_s)) {
		str_addf(&says, "%.1f GB/s, %s %.1f", row->busbw_GB_s,
			 slow ? "below" : "at least", t->bw_min_GB_s);
	}
	if (!isnan(t->max_us)) {
		str_addf(&says, "%s%.1f us, %s %.1f",
			 isnan(t->bw_min_GB_s) ? "" : "; ", us,
			 late ? "more than" : "at most", t->max_us);
	}
	if (slow) {
		add_impossible(&s->machine, t, row, &says);
	}
	conclude(v, t, slow || late ? TEST_MISSED : TEST_MET,
		 str_text(&says));
	str_release(&says);
}

/** The best of the rows that the test is about: of variants and of both
 *  places. */
static void judge_collective(const struct sweep *s, const struct accept_test *t,
			     struct verdict *v)
{
	const struct collective_row *best = NULL;
	double us = NAN;
	char says[160];

	for (size_t i = 0; i < s->n; i++) {
		const struct collective_row *r = &s->rows[i];
		bool any = t->size_B == RECORD_NONE;

		if (strcmp(r->op, t->op) != 0 || r->outcome != OUTCOME_OK ||
		    !fits(t->gpus, r->ranks) || !fits(t->size_B, r->size_B) ||
		    !fits(t->nodes, machine_nodes(&s->machine, r)) ||
		    !(r->busbw_GB_s >= 0)) {
			continue;
		}
		us = any ? us : fmin(us, r->time_us);
		if (!best || r->busbw_GB_s > best->busbw_GB_s) {
			best = r;
			us = any ? r->time_us : us;
		}
	}
	if (best) {
		judge_row(s, t, best, us, v);
		return;
	}
	snprintf(says, sizeof(says), "not measured: %.100s", t->words);
	conclude(v, t, TEST_NOT_MEASURED, says);
}

/* ---- pairs --------------------------------------------------------------- */

/** Return true if @t is about the cell at @at, and sets *@missed: it failed, or
 *  is beyond a limit.  A figure that was not measured meets no limit. */
static bool is_about(const struct run *run, const struct accept_test *t,
		     size_t at, bool *missed)
{
	const struct cell *c = &run->cells[at];
	const char *path = run->paths[run->cell_way[at]];

	*missed = cells_failed(c->class) ||
		  (double)c->bw_GB_s < t->bw_min_GB_s ||
		  (double)c->lat_us > t->max_us;
	/* a pair that failed may have no path */
	return cells_failed(c->class) ? !path[0] || str_starts(path, t->path) :
	       run_measured(c->class) && str_starts(path, t->path) &&
		       (isnan(t->bw_min_GB_s) || isfinite(c->bw_GB_s)) &&
		       (isnan(t->max_us) || isfinite(c->lat_us));
}

static void judge_pairs(const struct run *run, const struct accept_test *t,
			struct verdict *v)
{
	const char *asked = json_string_value(run_option(run, "nic-choice"));
	/* a limit is about the NIC that a GPU has in a job */
	const bool all_nics = asked && asked[0] == 'n';
	const struct cell *worst = NULL;
	size_t all = 0, bad = 0, measured = 0, at_worst = 0, others = 0;
	struct str says = STR_INIT;

	run_foreach_cell(run, at) {
		const struct cell *c = &run->cells[at];
		bool missed, failed = cells_failed(c->class);

		if (!is_about(run, t, at, &missed)) {
			continue;
		}
		all++;
		bad += missed;
		measured += !failed;
		others += all_nics && str_starts(
			run->paths[run->cell_way[at]], "NET/IB");
		if (missed && !failed &&
		    (!worst || c->bw_GB_s < worst->bw_GB_s)) {
			worst = c;
			at_worst = at;
		}
	}
	if (measured == 0 || others > 0) {
		str_addf(&says, others > 0 ?
			 "not measured: with --nic-choice=nccl, pairs%s%s use "
			 "all near NICs, not those of the plan" :
			 "not measured: no pair%s%s has the figures",
			 t->path[0] ? " by " : "", t->path);
		conclude(v, t, TEST_NOT_MEASURED, str_text(&says));
		str_release(&says);
		return;
	}
	str_addf(&says, "%zu of %zu pair%s%s%s meet%s the limits", all - bad,
		 all, all == 1 ? "" : "s", t->path[0] ? " by " : "", t->path,
		 all == 1 ? "s" : "");
	if (worst) {
		char a[80], b[80];

		str_addf(&says, "; %s to %s has %.1f GB/s and %.1f us",
			 part_rank_name(run, run_src(run, at_worst), a,
					sizeof(a)),
			 part_rank_name(run, run_dst(run, at_worst), b,
					sizeof(b)),
			 (double)worst->bw_GB_s, (double)worst->lat_us);
	}
	conclude(v, t, bad > 0 ? TEST_MISSED : TEST_MET, str_text(&says));
	str_release(&says);
}

void accept_findings(const struct run *run, const struct sweep *s,
		     struct verdict *v)
{
	char says[160];

	for (size_t i = 0; i < run->n_accept; i++) {
		const struct accept_test *t = &run->accept[i];
		bool pairs = run->cells && strcmp(run->probe, "p2p") == 0;

		if (s && t->op[0]) {
			judge_collective(s, t, v);
		} else if (pairs && !t->op[0]) {
			judge_pairs(run, t, v);
		} else {
			snprintf(says, sizeof(says), "a run of %s does not "
				 "measure it", run->probe);
			conclude(v, t, TEST_OTHER, says);
		}
	}
}

/* ---- ceilings ------------------------------------------------------------ */

/** Minimum share of a message per rank, for the same reason as
 *  CEILING_LARGE_B. */
#define PER_RANK_B (INT64_C(4) << 20)

/** The best row of the curves that are like number @at, the first of them: a
 *  variant that is slow by its settings is not a fault.  NULL: none is large
 *  enough, or @at is not the first. */
static const struct collective_row *best_of(const struct sweep *s, size_t at)
{
	const struct curve *of = &s->curves[at];
	const struct collective_row *best = NULL;

	for (size_t i = 0; i < s->n_curves; i++) {
		const struct collective_row *row;

		if (!curve_same_op(&s->curves[i], of) ||
		    !row_numbers_agree(s->curves[i].first->nodes,
				       of->first->nodes)) {
			continue;
		}
		if (i < at) {
			return NULL;
		}
		row = curve_peak(&s->curves[i], CEILING_LARGE_B);
		/* NCCL takes LL and LL128 for large messages only if it is
		 * told to */
		if (row && !str_starts(row->proto, "LL") &&
		    row->size_B / PER_RANK_B >= row->ranks &&
		    (!best || row->busbw_GB_s > best->busbw_GB_s)) {
			best = row;
		}
	}
	return best;
}

void ceiling_findings(const struct run *run, const struct sweep *s,
		      struct verdict *v)
{
	for (size_t i = 0; i < s->n_curves; i++) {
		const struct collective_row *row = best_of(s, i);
		struct ceiling_share share;
		struct ceiling most, least;
		struct str words = STR_INIT;
		struct finding *f;
		char size[32];
		double percent;

		if (!row) {
			continue;
		}
		ceiling_of_row(&s->machine, row, &most, &least);
		share = run->expected.shares[least.path];
		percent = 100 * row->busbw_GB_s / least.GB_s;
		if (!(percent < share.warn)) {
			continue;
		}
		f = finding_add(v, part_of_kind(
			machine_nodes(&s->machine, row) > 1 ? PART_INTER_NODE :
							      PART_INTRA_NODE),
			"below_ceiling");
		f->fail = percent < share.fail;
		f->cells = f->explained = s->curves[i].n;
		ceiling_words(&least, row->busbw_GB_s, &words);
		if (most.GB_s > least.GB_s) {
			str_addf(&words, " (the lower bound, because NCCL's "
				 "algorithm is not known), %.0f %% by %s",
				 100 * row->busbw_GB_s / most.GB_s, most.algo);
		}
		finding_say(f, "%s with %lld GPUs on %lld node%s reaches %.1f "
			    "GB/s at %s: %s; healthy machines reach more than "
			    "%.0f %%", row->op[0] ? row->op : "the collective",
			    (long long)row->ranks,
			    (long long)machine_nodes(&s->machine, row),
			    machine_nodes(&s->machine, row) == 1 ? "" : "s",
			    row->busbw_GB_s,
			    units_size_text((uint64_t)row->size_B, size,
					    sizeof(size)),
			    str_text(&words), share.warn);
		finding_add_evidence(f, "ceiling %.1f GB/s (%s)", least.GB_s,
				     ceiling_path_names[least.path]);
		str_release(&words);
	}
}
