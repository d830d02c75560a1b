/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/says.h"

#include <string.h>


/** Alternatives that one sentence can hold. */
#define SAYS_MAX_OR 2

/** "28 timeout, 2 fail": the bad cells by class. */
static void add_classes(const struct witness *w, struct str *out)
{
	static const enum cell_class classes[] = {
		CELL_FAIL, CELL_TIMEOUT, CELL_CORRUPT, CELL_SLOW, CELL_SKIPPED,
	};
	const char *comma = "";

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		if (w->bad[classes[i]] > 0) {
			str_addf(out, "%s%zu %s", comma, w->bad[classes[i]],
				 cell_class_name(classes[i]));
			comma = ", ";
		}
	}
}

/** "while the other 192 cells pass": why it is this part and not another. */
static void add_contrast(const struct witness *w, size_t pass, size_t measured,
			 struct str *out)
{
	size_t here_pass = w->cells[CELL_PASS] + w->cells[CELL_SLOW];
	size_t here = here_pass + w->cells[CELL_FAIL] +
		      w->cells[CELL_TIMEOUT] + w->cells[CELL_CORRUPT];
	size_t others = measured > here ? measured - here : 0;
	size_t others_pass = pass > here_pass ? pass - here_pass : 0;

	if (others == 0) {
		str_add(out, "; no other cell was measured");
	} else if (others == 1 && others_pass == 1) {
		str_add(out, ", while the only other cell passes");
	} else if (others == others_pass) {
		str_addf(out, ", while all %zu other cells pass", others);
	} else {
		str_addf(out, ", while %zu of %zu other cells pass",
			 others_pass, others);
	}
}

static void add_or(const struct run *run, const struct finding *f,
		   struct str *out)
{
	char name[PART_NAME_SIZE];

	for (size_t i = 0; i < f->n_or && i < SAYS_MAX_OR; i++) {
		str_addf(out, "%s%s", i ? ", " : "; the same cells accuse ",
			 part_name(run, &f->or_parts[i], name, sizeof(name)));
	}
	if (f->n_or > SAYS_MAX_OR) {
		str_addf(out, " and %zu more", f->n_or - SAYS_MAX_OR);
	}
}

/** Sentences begin with a capital letter, names do not change. */
static void add_subject(const struct run *run, const struct finding *f,
			struct str *out)
{
	char name[PART_NAME_SIZE];

	part_name(run, &f->part, name, sizeof(name));
	if (name[0] >= 'a' && name[0] <= 'z') {
		name[0] = (char)(name[0] - 'a' + 'A');
	}
	str_add(out, name);
}

/** Changed data is a fault, however often it arrives whole. */
static void add_flaky(const struct witness *w, struct str *out)
{
	str_add(out, "failed and then passed when tried again");
	if (w->corrupted == w->bad[CELL_PASS] + w->bad[CELL_SLOW]) {
		str_add(out, ": data arrived changed");
	} else if (w->corrupted > 0) {
		str_addf(out, ": in %zu of them data arrived changed",
			 w->corrupted);
	}
}

/** Against peers and against the line, as far as each is known. */
static void add_slow(const struct run *run, const struct witness *w,
		     struct str *out)
{
	bool by_row = w->by_section == 0 && w->below_line == w->bad[CELL_SLOW];
	const char *comma = ", at";

	if (run->mesh) {
		str_addf(out, "lose packets, %.0f %% on average",
			 100 * w->slow_ratio);
		return;
	}
	str_add(out, "are slow");
	if (isfinite(w->slow_ratio) && !by_row) {
		str_addf(out, ", at %.0f %% of the median of their kind",
			 100 * w->slow_ratio);
		comma = " and";
	}
	if (isfinite(w->line_ratio)) {
		str_addf(out, "%s %.0f %% of %s", comma, 100 * w->line_ratio,
			 by_row ? "line rate" : "what their line should give");
	}
	str_add(out, " on average");
}

void says_what(const struct run *run, struct finding *f,
	       enum witness_about about, const struct witness *w, size_t pass,
	       size_t measured)
{
	struct str out = STR_INIT;

	add_subject(run, f, &out);
	str_addf(&out, ": %zu of %zu cells that touch it ", f->explained,
		 f->cells);
	if (about == ABOUT_SLOW) {
		add_slow(run, w, &out);
	} else if (about == ABOUT_FLAKY) {
		add_flaky(w, &out);
	} else {
		str_add(&out, "are bad (");
		add_classes(w, &out);
		str_add(&out, ")");
		add_contrast(w, pass, measured, &out);
	}
	add_or(run, f, &out);
	STR_COPY(f->says, str_text(&out));
	str_release(&out);
}

static const struct gone_text {
	const char *code, *text;
} gone_texts[] = {
	{ .code = "agent_missing", .text = "never started" },
	{ .code = "rank_missing", .text = "never started" },
	{ .code = "agent_lost", .text = "was lost while it measured" },
	{ .code = "worker_hung", .text = "did not come to an end" },
	{ .code = "worker_crashed", .text = "crashed while it measured" },
	{ .code = "worker_noise", .text = "said more than can be right" },
	{ .code = "gpu_missing", .text = "is not there" },
	{ .code = "gpu_shared", .text = "is none of its own" },
	{ .code = "hca_missing", .text = "is not there" },
	{ .code = "open_failed", .text = "cannot be opened" },
	{ .code = "nccl_missing", .text = "cannot load NCCL" },
	{ .code = "cuda_missing", .text = "cannot load the GPU driver" },
	{ .code = "verbs_missing", .text = "cannot load libibverbs" },
	{ .code = "rank_retired",
	  .text = "was given up after its worker died twice" },
	{ 0 }
};

static const struct gone_text *find_gone(const char *code)
{
	const struct gone_text *g = gone_texts;

	while (g->code && strcmp(g->code, code) != 0) {
		g++;
	}
	return g;
}

/** A launcher counts ranks; which machine was theirs need not be known. */
static void add_ranks(const struct run *run, const struct part *p,
		      struct str *out)
{
	const struct run_node *n = &run->nodes[p->node];

	if (p->kind == PART_GPU) {
		str_addf(out, "Rank %d", n->first_rank + p->index);
	} else {	/* "ranks2-3" */
		str_addf(out, "%s %s",
			 str_starts(n->name, "ranks") ? "Ranks" : "Rank",
			 n->name + strcspn(n->name, "0123456789"));
	}
}

void says_gone(const struct run *run, struct finding *f, const char *state,
	       const char *detail)
{
	const struct gone_text *g = find_gone(f->code);
	struct str out = STR_INIT;

	if (!g->code) {
		g = find_gone(state);
	}
	if (strcmp(f->code, "rank_missing") == 0 &&
	    (f->part.kind == PART_GPU ||
	     str_starts(run->nodes[f->part.node].name, "rank"))) {
		add_ranks(run, &f->part, &out);
	} else {
		add_subject(run, f, &out);
	}
	if (g->code && strcmp(g->code, "open_failed") == 0 &&
	    f->part.kind == PART_NODE) {
		str_addf(&out, " can open none of its %s",
			 run->ports ? "HCA ports" : "GPUs");
	} else {
		str_addf(&out, " %s",
			 g->code ? g->text : "does not take part");
	}
	if (f->cells > 0) {
		str_addf(&out, ": %zu of %zu cells that touch it were lost",
			 f->explained, f->cells);
	}
	if (detail[0]) {
		str_addf(&out, " (%.200s)", detail);
	}
	STR_COPY(f->says, str_text(&out));
	str_release(&out);
}
