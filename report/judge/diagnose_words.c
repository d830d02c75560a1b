/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of the layered tests of --diagnose as sentences. */
#include "report/judge/diagnose.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/judge/tell.h"
#include "report/model/part.h"
#include "report/model/run.h"

/** The rows about one pair. */
struct layers {
	const struct run *run;
	struct finding *finding;	/* that the pair stands for */
	bool slow;			/* its rate counts */
	int src, dst;
	const struct diagnose_step *top;
	const struct diagnose_step *fault;	/* first layer that fails */
	const struct diagnose_row *mend;	/* of the first setting that
						 * helps; NULL = none */
	const char *costs;			/* of @mend */
	const struct diagnose_row *undone;	/* without @mend, after it */
	size_t below;		/* layers below the top that were
				 * measured */
	size_t untried;		/* layers below the fault that were not */
};

static const struct diagnose_row *row_of(const struct layers *l,
					 const struct diagnose_step *s)
{
	return diagnose_row_of(l->run, s, l->src, l->dst);
}

static bool passes(const struct diagnose_row *r)
{
	return r && r->outcome == OUTCOME_OK;
}

static bool fails(const struct diagnose_row *r)
{
	return r && cells_outcome_failed(r->outcome);
}

/** Return true if @r is of a test of the pair with a setting. */
static bool is_knob_of(const struct diagnose_row *r, int src, int dst)
{
	return r->src_rank == src && r->dst_rank == dst &&
	       strcmp(r->kind, DIAGNOSE_KNOB) == 0;
}

/** Returns true if TCP passes although a ping does not: that is a filter, not a
 *  fault. */
static bool is_filtered(const struct layers *l, const struct diagnose_step *s)
{
	for (const struct diagnose_step *t = s + 1;
	     strcmp(s->name, "ping") == 0 && t->name; t++) {
		if (t->base == BASE_TCP) {
			return passes(row_of(l, t));
		}
	}
	return false;
}

/** "the fault is in RDMA in host memory, on NIC 2 of n1". */
static void add_fault(const struct layers *l, struct str *out)
{
	const struct finding *f = l->finding;
	const struct part *p = &f->part;
	/* what jobs use has settings; what is below it has none of its own */
	bool set = l->fault == l->top &&
		   (l->top->of == BASE_NCCL || l->top->of == BASE_SIM);
	const struct diagnose_step *rdma = diagnose_steps;

	if (l->fault == l->top && l->below == 0) {
		str_addf(out, "; no layer below %s was tested", l->top->says);
		return;
	}
	/* of the parts that it could be the one that the layer adds: no GPU
	 * takes part in RDMA in host memory */
	for (size_t i = 0; i < f->n_or && !part_is(p, l->fault->on); i++) {
		p = part_is(&f->or_parts[i], l->fault->on) ? &f->or_parts[i] :
							     p;
	}
	while (rdma->name && !rdma->ports) {
		rdma++;
	}
	if (set && rdma->name && (l->slow ? diagnose_keeps(l->run, rdma, l->src,
						       l->dst) > 0 :
					    passes(row_of(l, rdma)))) {
		str_addf(out, ": RDMA %s, %s %s: check NCCL's settings",
			 l->slow ? "is at full rate" : "works", l->top->says,
			 l->slow ? "is not" : "does not");
	} else {
		str_addf(out, ": the %s in %s%s",
			 l->slow ? "rate is lost" : "fault is", l->fault->says,
			 set ? " or its settings" : "");
	}
	/* only of these it can be said to be on one */
	if (part_is(p, KIND(NIC) | KIND(GPU) | KIND(NODE) |
		       KIND(RAIL))) {
		str_addf(out, ", on %s", PART_NAME(l->run, p));
	}
	str_add(out, l->untried ? ", or in a layer that was not tested" : "");
}

/** "TCP 5.1 GB/s (good pair 5.2), NCCL 13.2 GB/s (good pair 47.9)", and where
 *  the rate is lost. */
static void rates_text(const struct layers *l, struct str *out)
{
	const struct diagnose_row *good =
		diagnose_good(l->run, l->top, l->src, l->dst);
	const char *comma = "";

	for (const struct diagnose_step *s = diagnose_steps;
	     !diagnose_is_knob(s); s++) {
		const struct diagnose_row *r = row_of(l, s), *c;

		if (fails(r)) {
			str_addf(out, "%s%s fails (%s)", comma, s->says,
				 r->code);
			comma = ", ";
		}
		if (!passes(r) || !(r->bw_GB_s > 0)) {
			continue;
		}
		c = diagnose_good(l->run, s, l->src, l->dst);
		str_addf(out, "%s%s %s GB/s", comma, s->says,
			 UNITS_REAL(r->bw_GB_s, 1));
		if (c) {
			str_addf(out, " (good pair %s",
				 UNITS_REAL(c->bw_GB_s, 1));
		}
		if (r->expected_GB_s > 0) {
			str_addf(out, "%slink %s", c ? ", " : " (",
				 UNITS_REAL(r->expected_GB_s, 1));
		}
		str_add(out, c || r->expected_GB_s > 0 ? ")" : "");
		comma = ", ";
	}
	if (good) {
		str_addf(out, "; the good pair is %s:%lld -> %s:%lld",
			 good->src_node, (long long)good->src_gpu,
			 good->dst_node, (long long)good->dst_gpu);
	}
	if (l->fault) {
		add_fault(l, out);
	} else {
		str_add(out, ": it is not slow when retried alone: it is slow "
			"only while other tests run, or intermittently");
	}
}

/** "ping passes, TCP passes, RDMA in host memory fails (rtr_timeout)", and
 *  where the fault is. */
static void layer_text(const struct layers *l, struct str *out)
{
	const char *comma = "";

	if (l->slow && passes(row_of(l, l->top))) {
		rates_text(l, out);
		return;
	}
	if (passes(row_of(l, l->top))) {
		str_addf(out, "%s passes when retried alone: it fails only "
			 "while other tests run, or intermittently",
			 l->top->says);
		return;
	}
	for (const struct diagnose_step *s = diagnose_steps;
	     !diagnose_is_knob(s); s++) {
		const struct diagnose_row *r = row_of(l, s);

		if (!r) {
			continue;
		}
		str_addf(out, "%s%s %s", comma, s->says,
			 passes(r) ? "passes" :
			 fails(r)  ? "fails" : "was not tested");
		if (s == l->fault && r->code[0]) {
			str_addf(out, " (%s)", r->code);
		} else if (!passes(r) && !fails(r) && r->detail[0]) {
			str_addf(out, " (%.80s)", r->detail);
		} else if (is_filtered(l, s) && fails(r)) {
			str_add(out, ", filtered");
		}
		comma = ", ";
	}
	if (l->fault) {
		add_fault(l, out);
	}
}

/** Return true if @r, a test with a setting or without it, shows the pair as
 *  bad as before. */
static bool is_bad(const struct layers *l, const struct diagnose_row *r)
{
	return l->slow ? passes(r) && !diagnose_helps(l->run, r) : fails(r);
}

/** Append the names of the knobs that did not help, or that were not tested;
 *  returns how many. */
static size_t add_knobs(const struct layers *l, bool tried, struct str *out)
{
	size_t n = 0;

	for (size_t i = 0; i < l->run->n_diagnose; i++) {
		const struct diagnose_row *r = &l->run->diagnose[i];

		if (!is_knob_of(r, l->src, l->dst) || r == l->mend ||
		    is_bad(l, r) != tried) {
			continue;
		}
		str_addf(out, "%s%s", n++ ? ", " : "", r->step);
		if (tried && l->slow) {
			str_addf(out, " (%s)", UNITS_REAL(r->bw_GB_s, 1));
		} else if (!tried && r->detail[0]) {
			str_addf(out, " (%.80s)", r->detail);
		}
	}
	return n;
}

/** Writes "works with NCCL_IB_DISABLE=1, not with NCCL_IB_GID_INDEX=3"; if the
 *  pair may pass without the setting as well, writes only that. */
static void knob_text(const struct layers *l, struct str *out)
{
	struct str bad = STR_INIT, untried = STR_INIT;
	size_t n_bad = add_knobs(l, true, &bad);
	size_t n_untried = add_knobs(l, false, &untried);
	bool again = is_bad(l, l->undone);

	if (l->mend && l->slow) {
		str_addf(out, "%s GB/s with %s",
			 UNITS_REAL(l->mend->bw_GB_s, 1), l->mend->step);
	} else if (l->mend) {
		str_addf(out, "passes with %s", l->mend->step);
	} else if (n_bad) {
		str_addf(out, "%s with every setting tried: %s",
			 l->slow ? "slow" : "fails", str_text(&bad));
	}
	if (l->mend && !again && passes(l->undone)) {
		str_addf(out, ", and now also without it: it %s intermittently",
			 l->slow ? "is slow" : "fails");
	} else if (l->mend && !again) {
		str_add(out, "; not retested without it");
	} else if (l->mend && l->slow) {
		str_addf(out, ", %s without it%s%s",
			 UNITS_REAL(l->undone->bw_GB_s, 1),
			 n_bad ? "; still slow with " : "", str_text(&bad));
	} else if (l->mend && n_bad) {
		str_addf(out, ", fails with %s", str_text(&bad));
	}
	if (n_untried && !l->mend) {
		str_addf(out, "%snot tested: %s", n_bad ? "; " : "",
			 str_text(&untried));
	}
	str_release(&bad);
	str_release(&untried);
}

/** One more line in front of what the finding has; the same line about other
 *  pairs is one line. */
static void add_line(struct finding *f, const char *names, const char *text)
{
	char line[sizeof(*f->evidence)];
	size_t n = f->n_evidence;

	for (size_t i = 0; i < f->n_first; i++) {
		const char *same = strstr(f->evidence[i], text);

		if (same && strcmp(same, text) == 0 && same[-1] == ' ' &&
		    same[-2] == ':') {
			snprintf(line, sizeof(line), "%.*s, %s: %s",
				 (int)(same - f->evidence[i] - 2),
				 f->evidence[i], names, text);
			STR_COPY(f->evidence[i], line);
			return;
		}
	}
	finding_add_evidence(f, "%s: %s", names, text);
	if (f->n_evidence > n) {
		STR_COPY(line, f->evidence[n]);
		memmove(f->evidence[f->n_first + 1], f->evidence[f->n_first],
			(n - f->n_first) * sizeof(*f->evidence));
		STR_COPY(f->evidence[f->n_first++], line);
	}
}

bool diagnose_settles(const struct run *run, const char *text)
{
	char step[sizeof(((struct diagnose_row *)NULL)->step)], *blank;
	char undone[sizeof(step) + sizeof("without-")];
	struct diagnose_step without = { 0 };
	bool tested = false, rates;

	STR_COPY(step, text);
	while ((blank = strchr(step, ' '))) {
		*blank = '+';
	}
	without.name = diagnose_undone_name(step, undone, sizeof(undone));
	for (size_t i = 0; i < run->n_diagnose; i++) {
		const struct diagnose_row *r = &run->diagnose[i];

		if (strcmp(r->step, step) != 0) {
			continue;
		}
		rates = run->cells[run_at(run, (int)r->src_rank,
					  (int)r->dst_rank)].class ==
			CELL_SLOW;
		if (diagnose_helps(run, r)) {
			r = diagnose_row_of(run, &without, (int)r->src_rank,
					    (int)r->dst_rank);
			return rates ? passes(r) && !diagnose_helps(run, r) :
				       fails(r);
		}
		tested = tested || (rates ? passes(r) : fails(r));
	}
	return tested;
}

/** Writes the causes of lost rates that facts show, as evidence and in front of
 *  what to do. */
static void add_causes(const struct layers *l, const char *names)
{
	const char *codes[DIAGNOSE_CAUSES];
	struct str text = STR_INIT, act = STR_INIT;
	struct finding *f = l->finding;
	size_t n;

	str_add(&text, "likely cause: ");
	n = !l->slow ? 0 :
	    diagnose_causes(l->run, l->src, l->dst, &text, codes);
	if (n > 0) {
		add_line(f, names, str_text(&text));
	}
	for (size_t i = 0; i < n; i++) {
		str_addf(&act, "%s" TELL_COMMAND "gpucheck explain %s\n",
			 i ? "" : "Fix the likely cause, then test again:\n",
			 codes[i]);
	}
	if (n > 0 && !strstr(f->act, str_text(&act))) {
		str_add(&act, f->act);
		finding_set_act(f, str_text(&act));
	}
	f->failed |= text.failed || act.failed;
	str_release(&text);
	str_release(&act);
}

/** In front of what to do: what helps until that is done. */
static void add_act(const struct layers *l, const char *names)
{
	char export[sizeof(((struct diagnose_row *)NULL)->step)], *plus;
	struct finding *f = l->finding;
	struct str act = STR_INIT;

	STR_COPY(export, l->mend->step);
	while ((plus = strchr(export, '+'))) {
		*plus = ' ';
	}
	if (strstr(f->act, export)) {
		return;		/* another pair has said so */
	}
	/* "(drill) on real nodes:" is a heading as well */
	str_addf(&act, "With this setting %s %s (%s):\n" TELL_COMMAND
		 "export %s\npermanent repair%s%s", names,
		 l->slow ? "is not slow" : "passes", l->costs, export,
		 f->act[0] == '(' ? " " : ":\n", f->act);
	finding_set_act(f, str_text(&act));
	str_release(&act);
}

/** Find the first layer that fails and the setting that helps, and say so. */
static void tell_pair(struct layers *l)
{
	static void (*const texts[])(const struct layers *l,
				     struct str *out) = {
		layer_text, knob_text,
	};
	struct diagnose_step undone = { 0 };
	char names[PART_NAME_SIZE], name[sizeof(l->undone->step) + 16];
	const char *why;

	l->top = diagnose_top(l->run);
	l->slow = l->run->cells[run_at(l->run, l->src, l->dst)].class ==
		  CELL_SLOW;
	l->fault = l->slow ? diagnose_lost(l->run, l->src, l->dst) : NULL;
	for (size_t i = 0; i < l->run->n_diagnose && !l->mend; i++) {
		const struct diagnose_row *r = &l->run->diagnose[i];

		l->mend = is_knob_of(r, l->src, l->dst) &&
				  diagnose_helps(l->run, r) ? r : NULL;
	}
	l->costs = "all of them are needed";
	for (const struct diagnose_step *s = diagnose_steps; s->name; s++) {
		const struct diagnose_row *r = row_of(l, s);
		bool tried = passes(r) || fails(r);

		if (diagnose_is_knob(s)) {
			l->costs = l->mend && strcmp(s->name, l->mend->step) ==
						      0 ? s->says : l->costs;
			continue;
		}
		l->below += s != l->top && tried;
		if (l->slow && diagnose_keeps(l->run, s, l->src, l->dst) > 0) {
			l->untried = 0;
		}
		l->untried += (l->slow ? s < l->fault : !l->fault) && !tried &&
			      !is_filtered(l, s) &&
			      diagnose_applies(l->run, s, l->src, l->dst, &why);
		if (!l->fault && !l->slow && fails(r) && !is_filtered(l, s)) {
			l->fault = s;
		}
	}
	if (l->mend) {
		undone.name = diagnose_undone_name(l->mend->step, name,
						   sizeof(name));
		l->undone = row_of(l, &undone);
	}
	part_cell_name(l->run, run_at(l->run, l->src, l->dst), names);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct str text = STR_INIT;

		texts[i](l, &text);
		l->finding->failed |= text.failed;
		if (text.len) {
			add_line(l->finding, names, str_text(&text));
		}
		str_release(&text);
	}
	add_causes(l, names);
	if (l->mend && is_bad(l, l->undone)) {
		add_act(l, names);
	}
}

void diagnose_tell(const struct run *run, struct verdict *v)
{
	for (size_t i = 0; i < run->n_diagnose; i++) {
		const struct diagnose_row *r = &run->diagnose[i];
		struct layers l = { .run = run, .src = (int)r->src_rank,
				    .dst = (int)r->dst_rank };

		l.finding = diagnose_is_first(run, i) ?
				    diagnose_finding(run, v, l.src, l.dst) :
				    NULL;
		if (l.finding) {
			tell_pair(&l);
		}
	}
}
