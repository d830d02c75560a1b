/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/hosts.h"
#include "report/base/wrap.h"
#include "report/judge/caption.h"
#include "report/judge/tell.h"
#include "report/model/part.h"
#include "report/show/judged.h"

/* ---- words --------------------------------------------------------------- */

#define WORDS_MAX_FINDINGS 10
#define WORDS_MIN_WIDTH 40
#define INDENT 6

/** Returns true if @a and @b are the same, or @a has @name_a where @b has
 *  @name_b. */
static bool reads_alike(const char *a, const char *name_a, const char *b,
			const char *name_b)
{
	const size_t len_a = strlen(name_a), len_b = strlen(name_b);

	while (*a || *b) {
		const bool named = len_a > 0 && len_b > 0 &&
				   strncmp(a, name_a, len_a) == 0 &&
				   strncmp(b, name_b, len_b) == 0;

		if (!named && *a != *b) {
			return false;
		}
		a += named ? len_a : 1;
		b += named ? len_b : 1;
	}
	return true;
}

/** Returns true if both are of a node each and differ in its name only. */
static bool is_alike(const struct run *run, const struct finding *a,
		     const struct finding *b)
{
	const char *x, *y;
	bool alike = a->fail == b->fail && a->part.kind == PART_NODE &&
		     b->part.kind == PART_NODE && a->part.node >= 0 &&
		     b->part.node >= 0 && a->n_probes == b->n_probes &&
		     strcmp(a->code, b->code) == 0 &&
		     a->n_evidence == b->n_evidence;

	if (!alike) {
		return false;
	}
	x = run->nodes[a->part.node].name;
	y = run->nodes[b->part.node].name;
	for (size_t i = 0; alike && i < a->n_evidence; i++) {
		alike = reads_alike(a->evidence[i], x, b->evidence[i], y);
	}
	return alike && reads_alike(a->says, x, b->says, y) &&
	       reads_alike(a->act, x, b->act, y);
}

/** Names the nodes of findings of @v that are like @f, which is shown; returns
 *  how many these are. */
static size_t add_alike(const struct run *run, const struct verdict *v,
			const struct finding *f, const struct wrap *w)
{
	char (*names)[64] = calloc(v->n + 1, sizeof(*names));
	struct str text = STR_INIT;
	size_t n = 0;

	for (const struct finding *g = f + 1; names && g < v->findings + v->n;
	     g++) {
		if (is_alike(run, f, g)) {
			STR_COPY(names[n++], run->nodes[g->part.node].name);
		}
	}
	if (n > 0) {
		str_addf(&text, "The same is true of %zu more node%s: ", n,
			 n == 1 ? "" : "s");
		hostlist_add(&text, names[0], sizeof(*names), n);
		wrap_line(w, 0, str_text(&text));
	}
	w->out->failed |= !names || text.failed;
	str_release(&text);
	free(names);
	return n;
}

static void add_findings(const struct judged *j, const struct wrap *w)
{
	const struct verdict *v = &j->verdict;
	const struct finding *shown[WORDS_MAX_FINDINGS];
	struct str text = STR_INIT;
	size_t n = 0, alike = 0;

	for (size_t i = 0; i < v->n && n < WORDS_MAX_FINDINGS; i++) {
		const struct finding *f = &v->findings[i];
		size_t like = 0;

		while (like < n && !is_alike(&j->run, shown[like], f)) {
			like++;
		}
		if (like < n) {
			continue;
		}
		shown[n++] = f;
		wrap_finding(w, f->fail, f->says);
		alike += add_alike(&j->run, v, f, w);
		/* "found by ping, ib and p2p"; of one probe its evidence says
		 * it */
		for (size_t k = 0; k < f->n_probes; k++) {
			str_addf(&text, "%s %s", k == 0 ? "found by" :
				 k + 1 < f->n_probes ? "," : " and",
				 f->probes[k]);
		}
		if (f->n_probes > 1) {
			wrap_line(w, 0, str_text(&text));
		}
		str_reset(&text);
		for (size_t k = 0; k < f->n_evidence && k <= f->n_first; k++) {
			wrap_line(w, 2, f->evidence[k]);
		}
		wrap_act(w, f->act);
	}
	if (v->n > n + alike) {
		str_addf(w->out, "\n      %zu more findings are in "
			 "verdict.json and report.html\n", v->n - n - alike);
	}
	next_words(&j->run, v, &text);
	if (text.len > 0) {
		str_add(w->out, "\n      ");
		wrap_lines(w, 6, str_text(&text));
	}
	str_release(&text);
}

static void add_note(const struct wrap *w, const char *text)
{
	str_addf(w->out, "%*snote: ", INDENT, "");
	wrap_text(w, INDENT, text);
}

/** Levels, then notes: those of any run, and the run's own. */
static void add_notes(const struct judged *j, const struct wrap *to)
{
	struct str out = STR_INIT;
	struct wrap w = *to;
	char text[CAPTION_SIZE];
	const json_t *note;
	size_t k;

	w.out = &out;
	for (int i = 0; j->kind->note &&
			j->kind->note(j, i, text, sizeof(text)); i++) {
		wrap_line(&w, 0, text);
	}
	for (int i = 0; caption_note(&j->run, i, true, text, sizeof(text));
	     i++) {
		add_note(&w, text);
	}
	json_array_foreach(run_file(j->run.json).notes, k, note) {
		if (json_string_value(note)) {
			add_note(&w, json_string_value(note));
		}
	}
	if (out.len > 0) {
		str_addf(to->out, "%s%s", j->verdict.n > 0 ? "\n" : "",
			 str_text(&out));
	}
	to->out->failed |= out.failed;
	str_release(&out);
}

void show_words(const struct judged *j, int width, bool color,
		struct str *out)
{
	const struct wrap w = {
		.out = out, .color = color,
		.width = width < WORDS_MIN_WIDTH ? WORDS_MIN_WIDTH : width,
	};
	const bool empty = j->run.n_nodes == 0 && j->run.rows == 0;
	char text[CAPTION_SIZE];
	bool begun;		/* the line of the status has ended */

	/* the status, what was run, and how far it came */
	caption_aside(&j->verdict, text, sizeof(text));
	begun = wrap_status_aside(&w, caption_status(&j->run, &j->verdict),
				  text);
	if (empty) {		/* no node has come yet, or ever did */
		wrap_text(&w, 6, caption_what(&j->run, text, sizeof(text)));
	}
	for (int i = 0; !empty && j->kind->head(j, i, text, sizeof(text));
	     i++) {
		if (i == 0 && !begun) {
			wrap_text(&w, 6, text);
		} else {
			wrap_line(&w, 0, text);
		}
	}
	if (caption_partial(&j->run, &j->verdict, text, sizeof(text))) {
		wrap_line(&w, 0, text);
	}
	if (j->ask.hint) {
		wrap_line(&w, 0, j->ask.hint);
	}
	add_findings(j, &w);
	add_notes(j, &w);
}

/* ---- details ------------------------------------------------------------- */

const char *show_score(const struct finding *f, char *buf, size_t size)
{
	char score[24] = "";

	if (f->score >= 0.005) {
		snprintf(score, sizeof(score), "score %.2f, ", f->score);
	}
	snprintf(buf, size, "%sexplains %zu of %zu tests with it", score,
		 f->explained, f->cells);
	return buf;
}

static void add_line(const struct wrap *w, const char *text)
{
	str_add(w->out, "      ");
	wrap_text(w, INDENT + 2, text);
}

void judged_details(const struct judged *j, int width, struct str *out)
{
	const struct wrap w = { .out = out, .width = width };
	const struct run *run = &j->run;
	struct str line = STR_INIT;
	char score[120];

	if (j->kind->details) {
		j->kind->details(j, width, out);
	}
	if (j->verdict.n > 0) {
		str_add(out, "\nfindings in detail\n");
	}
	for (size_t i = 0; i < j->verdict.n; i++) {
		const struct finding *f = &j->verdict.findings[i];

		str_addf(&line, "%s, %s: %s", PART_NAME(run, &f->part), f->code,
			 show_score(f, score, sizeof(score)));
		str_addf(out, "\n%4zu  ", i + 1);
		wrap_text(&w, INDENT, str_text(&line));
		str_reset(&line);
		for (size_t k = 0; k < f->n_or; k++) {
			str_addf(&line, "could also be %s",
				 PART_NAME(run, &f->or_parts[k]));
			add_line(&w, str_text(&line));
			str_reset(&line);
		}
		for (size_t k = 0; k < f->n_evidence; k++) {
			add_line(&w, f->evidence[k]);
		}
	}
	str_release(&line);
}
