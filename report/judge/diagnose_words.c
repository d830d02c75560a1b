/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the layers came to, in sentences. */
#include "report/model/diagnose.h"

#include <string.h>

#include "report/judge/tell.h"
#include "report/model/part.h"
#include "report/judge/verdict.h"

/** What the rows say about one pair. */
struct layers {
	int src, dst;
	const struct diagnose_step *top;
	const struct diagnose_row *again;	/* of the top */
	const struct diagnose_step *fault;	/* first layer that fails */
	const struct diagnose_step *mend;	/* NULL = none that was tried */
	const struct diagnose_row *undone;	/* without @mend, after it */
	size_t below;		/* layers below the top that were
				 * measured */
	size_t untried;		/* layers below the fault that were not */
};

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
static bool is_filtered(const struct run *run, const struct diagnose_step *s,
			const struct layers *l)
{
	for (const struct diagnose_step *t = s + 1;
	     strcmp(s->name, "ping") == 0 && t->name; t++) {
		if (t->base == BASE_TCP) {
			return passes(diagnose_row_of(run, t, l->src, l->dst));
		}
	}
	return false;
}

static void look_at(const struct run *run, struct layers *l)
{
	const char *why;

	l->top = diagnose_top(run);
	l->again = diagnose_row_of(run, l->top, l->src, l->dst);
	for (const struct diagnose_step *s = diagnose_steps; s->name; s++) {
		const struct diagnose_row *r =
			diagnose_row_of(run, s, l->src, l->dst);

		if (diagnose_is_knob(s)) {
			l->mend = !l->mend && passes(r) ? s : l->mend;
			continue;
		}
		l->below += s != l->top && (passes(r) || fails(r));
		l->untried += !l->fault && !passes(r) && !fails(r) &&
			      !is_filtered(run, s, l) &&
			      diagnose_applies(run, s, l->src, l->dst, &why);
		if (!l->fault && fails(r) && !is_filtered(run, s, l)) {
			l->fault = s;
		}
	}
	if (l->mend) {
		char name[sizeof(l->undone->step)];
		const struct diagnose_step undone = {
			.name = diagnose_undone_name(l->mend, name,
						     sizeof(name)),
		};

		l->undone = diagnose_row_of(run, &undone, l->src, l->dst);
	}
}

/** "ping passes, TCP passes, RDMA in host memory fails (rtr_timeout)". */
static void add_layers(const struct run *run, const struct layers *l,
		      struct str *out)
{
	const char *comma = "";

	for (const struct diagnose_step *s = diagnose_steps;
	     !diagnose_is_knob(s); s++) {
		const struct diagnose_row *r =
			diagnose_row_of(run, s, l->src, l->dst);

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
		} else if (is_filtered(run, s, l) && fails(r)) {
			str_add(out, ", filtered");
		}
		comma = ", ";
	}
}

/** What jobs use has settings; what is below it has none of its own. */
static bool is_set_by_env(const struct diagnose_step *top)
{
	return top->of == BASE_NCCL || top->of == BASE_SIM;
}

/** Did the pair pass by RDMA? */
static bool run_passes_rdma(const struct run *run, const struct layers *l)
{
	for (const struct diagnose_step *s = diagnose_steps; s->name; s++) {
		if (s->ports) {
			return passes(diagnose_row_of(run, s, l->src, l->dst));
		}
	}
	return false;
}

/** "the fault is in RDMA in host memory, on NIC 2 of n1". */
static void add_fault(const struct run *run, const struct layers *l,
		      const struct finding *f, struct str *out)
{
	char name[PART_NAME_SIZE];
	/* only of these it can be said to be on one */
	bool place = f->part.kind == PART_NIC || f->part.kind == PART_GPU ||
		     f->part.kind == PART_NODE || f->part.kind == PART_RAIL;
	bool set;

	if (l->fault == l->top && l->below == 0) {
		str_addf(out, "; no layer below %s was tested", l->top->says);
		return;
	}
	set = l->fault == l->top && is_set_by_env(l->top);
	if (set && run_passes_rdma(run, l)) {
		str_addf(out, ": RDMA works, %s does not: check NCCL's "
			 "settings", l->top->says);
	} else {
		str_addf(out, ": the fault is in %s%s", l->fault->says,
			 set ? " or its settings" : "");
	}
	if (place) {
		str_addf(out, ", on %s", part_name(run, &f->part, name,
						   sizeof(name)));
	}
	str_add(out, l->untried ? ", or in a layer that was not tested" : "");
}

static void layer_text(const struct run *run, const struct layers *l,
		      const struct finding *f, struct str *out)
{
	if (passes(l->again)) {
		str_addf(out, "%s passes when retried alone: it fails only beside "
			 "other tests, or intermittently",
			 l->top->says);
		return;
	}
	add_layers(run, l, out);
	if (l->fault) {
		add_fault(run, l, f, out);
	}
}

/** The knobs of one kind of end, as a list of names. */
static size_t add_knobs(const struct run *run, const struct layers *l,
			bool failed, struct str *out)
{
	size_t n = 0;

	for (const struct diagnose_step *s = diagnose_steps; s->name; s++) {
		const struct diagnose_row *r =
			diagnose_row_of(run, s, l->src, l->dst);

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
static void knob_text(const struct run *run, const struct layers *l,
		      struct str *out)
{
	struct str bad = STR_INIT, untried = STR_INIT;
	size_t n_bad = add_knobs(run, l, true, &bad);
	size_t n_untried = add_knobs(run, l, false, &untried);

	if (l->mend && passes(l->undone)) {
		str_addf(out, "passes with %s, and now also without it: it "
			 "fails intermittently", l->mend->name);
	} else if (l->mend && !fails(l->undone)) {
		str_addf(out, "passes with %s; not retested without it", l->mend->name);
	} else if (l->mend) {
		str_addf(out, "passes with %s%s%s", l->mend->name,
			 n_bad ? ", fails with " : "", str_text(&bad));
	} else if (n_bad) {
		str_addf(out, "fails with every setting tried: %s", str_text(&bad));
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
static int add_line(struct finding *f, const char *names, const char *text)
{
	char line[sizeof(*f->evidence)];

	for (size_t i = 0; i < f->n_first; i++) {
		const char *same = strstr(f->evidence[i], text);

		if (same && strcmp(same, text) == 0 && same[-1] == ' ' &&
		    same[-2] == ':') {
			snprintf(line, sizeof(line), "%.*s, %s: %s",
				 (int)(same - f->evidence[i] - 2),
				 f->evidence[i], names, text);
			STR_COPY(f->evidence[i], line);
			return 0;
		}
	}
	if (finding_add_evidence(f, "") < 0) {
		return -1;
	}
	memmove(f->evidence[f->n_first + 1], f->evidence[f->n_first],
		(f->n_evidence - 1 - f->n_first) * sizeof(*f->evidence));
	snprintf(line, sizeof(line), "%s: %s", names, text);
	STR_COPY(f->evidence[f->n_first++], line);
	return 0;
}

/** In front of what to do: what helps until that is done. */
static void add_act(struct finding *f, const struct layers *l,
		    const char *names)
{
	char export[sizeof(((struct diagnose_row *)NULL)->step)], *plus;
	struct str act = STR_INIT;

	STR_COPY(export, l->mend->name);
	while ((plus = strchr(export, '+'))) {
		*plus = ' ';
	}
	if (strstr(f->act, export)) {
		return;		/* another pair has said so */
	}
	str_addf(&act, "With this setting %s passes (%s):\n" TELL_COMMAND
		 "export %s\npermanent repair:\n%s", names, l->mend->says,
		 export, f->act);
	finding_set_act(f, str_text(&act));
	str_release(&act);
}

static int tell_pair(const struct run *run, struct finding *f,
		     struct layers *l)
{
	struct str text = STR_INIT;
	char names[200], a[80], b[80];
	int rc = 0;

	look_at(run, l);
	snprintf(names, sizeof(names), "%s -> %s",
		 part_rank_name(run, l->src, a, sizeof(a)),
		 part_rank_name(run, l->dst, b, sizeof(b)));
	layer_text(run, l, f, &text);
	if (text.len) {
		rc = add_line(f, names, str_text(&text));
	}
	str_reset(&text);
	knob_text(run, l, &text);
	if (rc == 0 && text.len) {
		rc = add_line(f, names, str_text(&text));
	}
	rc = text.failed ? -1 : rc;
	if (rc == 0 && l->mend && fails(l->undone)) {
		add_act(f, l, names);
	}
	str_release(&text);
	return rc;
}

/** Is @at the first row of its pair, and a pair of this run? */
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

int diagnose_tell(const struct run *run, struct verdict *v)
{
	for (size_t i = 0; diagnose_top(run) && i < run->n_diagnose; i++) {
		struct layers l = { .src = (int)run->diagnose[i].src_rank,
				    .dst = (int)run->diagnose[i].dst_rank };
		struct finding *f;

		if (!begins_pair(run, i)) {
			continue;
		}
		f = diagnose_finding(run, v, l.src, l.dst);
		if (f && tell_pair(run, f, &l) < 0) {
			return -1;
		}
	}
	return 0;
}
