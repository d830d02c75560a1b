/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
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

static void add_findings(const struct judged *j, const struct wrap *w)
{
	const struct verdict *v = &j->verdict;
	struct str text = STR_INIT;

	for (size_t i = 0; i < v->n && i < WORDS_MAX_FINDINGS; i++) {
		const struct finding *f = &v->findings[i];

		wrap_finding(w, f->fail, f->says);
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
	if (v->n > WORDS_MAX_FINDINGS) {
		str_addf(w->out, "\n      %zu more findings are in "
			 "verdict.json and report.html\n",
			 v->n - WORDS_MAX_FINDINGS);
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
	for (int i = 0; caption_note_line(&j->run, i, text, sizeof(text));
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

	if (!isnan(f->score)) {
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
