/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of the layered tests of --diagnose as sentences. */
#include "report/model/diagnose.h"

#include <string.h>

#include "report/judge/tell.h"

/** The rows about one pair. */
struct layers {
	const struct run *run;
	struct finding *finding;	/* that the pair stands for */
	int src, dst;
	const struct diagnose_step *top;
	const struct diagnose_step *fault;	/* first layer that fails */
	const struct diagnose_step *mend;	/* NULL = none that was tried */
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
	return r && r->outcome != OUTCOME_OK &&
	       run_measured(cells_class_of(r->outcome));
}

/** Where TCP passes a ping that does not is a filter, not a fault. */
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

static void look_at(struct layers *l)
{
	struct diagnose_step undone = { 0 };
	char name[sizeof(l->undone->step)];
	const char *why;

	l->top = diagnose_top(l->run);
	for (const struct diagnose_step *s = diagnose_steps; s->name; s++) {
		const struct diagnose_row *r = row_of(l, s);
		bool tried = passes(r) || fails(r);

		if (diagnose_is_knob(s)) {
			l->mend = !l->mend && passes(r) ? s : l->mend;
			continue;
		}
		l->below += s != l->top && tried;
		l->untried += !l->fault && !tried && !is_filtered(l, s) &&
			      diagnose_applies(l->run, s, l->src, l->dst, &why);
		if (!l->fault && fails(r) && !is_filtered(l, s)) {
			l->fault = s;
		}
	}
	if (l->mend) {
		undone.name = diagnose_undone_name(l->mend, name, sizeof(name));
		l->undone = row_of(l, &undone);
	}
}

/** "ping passes, TCP passes, RDMA in host memory fails (rtr_timeout)". */
static void add_layers(const struct layers *l, struct str *out)
{
	const char *comma = "";

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
}

/** Returns true if the pair passed the test by RDMA. */
static bool passes_rdma(const struct layers *l)
{
	const struct diagnose_step *s = diagnose_steps;

	while (s->name && !s->ports) {
		s++;
	}
	return s->name && passes(row_of(l, s));
}

/** "the fault is in RDMA in host memory, on NIC 2 of n1". */
static void add_fault(const struct layers *l, struct str *out)
{
	const struct part *p = &l->finding->part;
	/* what jobs use has settings; what is below it has none of its own */
	bool set = l->fault == l->top &&
		   (l->top->of == BASE_NCCL || l->top->of == BASE_SIM);

	if (l->fault == l->top && l->below == 0) {
		str_addf(out, "; no layer below %s was tested", l->top->says);
		return;
	}
	if (set && passes_rdma(l)) {
		str_addf(out, ": RDMA works, %s does not: check NCCL's "
			 "settings", l->top->says);
	} else {
		str_addf(out, ": the fault is in %s%s", l->fault->says,
			 set ? " or its settings" : "");
	}
	/* only of these it can be said to be on one */
	if (part_is(p, KIND(NIC) | KIND(GPU) | KIND(NODE) |
		       KIND(RAIL))) {
		str_addf(out, ", on %s", PART_NAME(l->run, p));
	}
	str_add(out, l->untried ? ", or in a layer that was not tested" : "");
}

static void layer_text(const struct layers *l, struct str *out)
{
	if (passes(row_of(l, l->top))) {
		str_addf(out, "%s passes when retried alone: it fails only "
			 "beside other tests, or intermittently",
			 l->top->says);
		return;
	}
	add_layers(l, out);
	if (l->fault) {
		add_fault(l, out);
	}
}

/** The knobs of one kind of end, as a list of names. */
static size_t add_knobs(const struct layers *l, bool failed, struct str *out)
{
	size_t n = 0;

	for (const struct diagnose_step *s = diagnose_steps; s->name; s++) {
		const struct diagnose_row *r = row_of(l, s);

		if (!diagnose_is_knob(s) || !r || passes(r) ||
		    fails(r) != failed) {
			continue;
		}
		str_addf(out, "%s%s", n++ ? ", " : "", s->name);
		if (!failed && r->detail[0]) {
			str_addf(out, " (%.80s)", r->detail);
		}
	}
	return n;
}

/** "works with NCCL_IB_DISABLE=1, not with NCCL_IB_GID_INDEX=3"; where it may
 *  pass without the setting as well, that and no more. */
static void knob_text(const struct layers *l, struct str *out)
{
	struct str bad = STR_INIT, untried = STR_INIT;
	size_t n_bad = add_knobs(l, true, &bad);
	size_t n_untried = add_knobs(l, false, &untried);

	if (l->mend && passes(l->undone)) {
		str_addf(out, "passes with %s, and now also without it: it "
			 "fails intermittently", l->mend->name);
	} else if (l->mend && !fails(l->undone)) {
		str_addf(out, "passes with %s; not retested without it",
			 l->mend->name);
	} else if (l->mend) {
		str_addf(out, "passes with %s%s%s", l->mend->name,
			 n_bad ? ", fails with " : "", str_text(&bad));
	} else if (n_bad) {
		str_addf(out, "fails with every setting tried: %s",
			 str_text(&bad));
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

/** In front of what to do: what helps until that is done. */
static void add_act(const struct layers *l, const char *names)
{
	char export[sizeof(((struct diagnose_row *)NULL)->step)], *plus;
	struct finding *f = l->finding;
	struct str act = STR_INIT;

	STR_COPY(export, l->mend->name);
	while ((plus = strchr(export, '+'))) {
		*plus = ' ';
	}
	if (strstr(f->act, export)) {
		return;		/* another pair has said so */
	}
	/* "(drill) on real nodes:" is a heading as well */
	str_addf(&act, "With this setting %s passes (%s):\n" TELL_COMMAND
		 "export %s\npermanent repair%s%s", names, l->mend->says,
		 export, f->act[0] == '(' ? " " : ":\n", f->act);
	finding_set_act(f, str_text(&act));
	str_release(&act);
}

static void tell_pair(struct layers *l)
{
	static void (*const texts[])(const struct layers *l,
				     struct str *out) = {
		layer_text, knob_text,
	};
	char names[PART_NAME_SIZE];

	look_at(l);
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
	if (l->mend && fails(l->undone)) {
		add_act(l, names);
	}
}

/** Returns true if the row at @at is the first of its pair and its ranks are in
 *  this run. */
static bool begins_pair(const struct run *run, size_t at)
{
	const struct diagnose_row *r = &run->diagnose[at];

	if (r->src_rank < 0 || r->src_rank >= run->n_ranks ||
	    r->dst_rank < 0 || r->dst_rank >= run->n_ranks ||
	    r->src_rank == r->dst_rank) {
		return false;
	}
	for (size_t i = 0; i < at; i++) {
		if (run->diagnose[i].src_rank == r->src_rank &&
		    run->diagnose[i].dst_rank == r->dst_rank) {
			return false;
		}
	}
	return true;
}

void diagnose_tell(const struct run *run, struct verdict *v)
{
	for (size_t i = 0; diagnose_top(run) && i < run->n_diagnose; i++) {
		struct layers l = { .run = run,
				    .src = (int)run->diagnose[i].src_rank,
				    .dst = (int)run->diagnose[i].dst_rank };

		if (begins_pair(run, i)) {
			l.finding = diagnose_finding(run, v, l.src, l.dst);
			if (l.finding) {
				tell_pair(&l);
			}
		}
	}
}
