/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/show.h"

#include <string.h>

#include "lib/data/hostlist.h"
#include "report/judge/caption.h"
#include "report/judge/next.h"
#include "report/base/wrap.h"

#define WORDS_MAX_FINDINGS 10
#define WORDS_MIN_WIDTH 40

struct words {
	const struct run *run;
	const struct verdict *v;
	struct wrap wrap;
	struct str *out;
};

static void add_notes(const struct words *w)
{
	char text[CAPTION_SIZE];

	for (int i = 0; caption_note(w->run, i, text, sizeof(text)); i++) {
		wrap_line(&w->wrap, 0, text);
	}
}

static void add_head(const struct words *w)
{
	char text[CAPTION_SIZE];

	wrap_status(&w->wrap, verdict_status_name(w->v->status));
	wrap_text(&w->wrap, 6, caption_what(w->run, text, sizeof(text)));
	wrap_line(&w->wrap, 0, caption_cells(w->run, text, sizeof(text)));
	add_notes(w);
}

static void add_bandwidth(const struct words *w)
{
	char text[CAPTION_SIZE];

	for (int c = 0; c < PATH_CLASSES; c++) {
		if (caption_bandwidth(w->run, (enum path_class)c, text,
				      sizeof(text))) {
			wrap_line(&w->wrap, 0, text);
		}
	}
	if (caption_line(w->run, text, sizeof(text))) {
		wrap_line(&w->wrap, 0, text);
	}
	for (int c = 0; c < PATH_CLASSES; c++) {
		if (caption_contrast(w->run, (enum path_class)c, text,
				     sizeof(text))) {
			wrap_line(&w->wrap, 0, text);
		}
	}
}

static void add_finding(const struct words *w, const struct finding *f)
{
	wrap_finding(&w->wrap, f->fail, f->says);
	for (size_t i = 0; i < f->n_ladder; i++) {
		wrap_line(&w->wrap, 2, f->evidence[i]);
	}
	if (f->n_evidence > f->n_ladder) {
		wrap_line(&w->wrap, 2, f->evidence[f->n_ladder]);
	}
	wrap_act(&w->wrap, f->act);
}

static void add_line(const struct words *w, struct str *text)
{
	str_add(w->out, "\n      ");
	wrap_text(&w->wrap, 6, str_text(text));
	str_release(text);
}

/** Lines to copy are not wrapped: they are one each. */
static void add_drain(const struct words *w)
{
	struct str line = STR_INIT;

	for (size_t i = 0; i < w->v->n_exclude; i++) {
		if (next_drain(w->run, w->v, i, &line)) {
			str_addf(w->out, "%s%s\n", i ? "" :
				 "\n      to drain them, if they are yours to "
				 "drain:\n", str_text(&line));
		}
		str_release(&line);
	}
}

static void add_next(const struct words *w)
{
	struct str text = STR_INIT;

	if (next_exclude(w->run, w->v, &text)) {
		add_line(w, &text);
	}
	add_drain(w);
	if (w->v->n_good > 0) {
		str_addf(&text, "good together, as far as measured: %zu of %d "
			 "nodes, --nodelist=", w->v->n_good, w->run->n_nodes);
		hostlist_add(&text, w->v->good[0], sizeof(*w->v->good),
			     w->v->n_good);
		add_line(w, &text);
	}
}

static void add_findings(const struct words *w)
{
	const struct verdict *v = w->v;

	for (size_t i = 0; i < v->n && i < WORDS_MAX_FINDINGS; i++) {
		add_finding(w, &v->findings[i]);
	}
	if (v->n > WORDS_MAX_FINDINGS) {
		str_addf(w->out, "\n      %zu more findings are in "
			 "verdict.json and report.html\n",
			 v->n - WORDS_MAX_FINDINGS);
	}
	add_next(w);
}

static struct words make_words(const struct run *run, const struct verdict *v,
			       int width, bool color, struct str *out)
{
	return (struct words){
		.run = run, .v = v, .out = out,
		.wrap = { .out = out, .color = color,
			  .width = width < WORDS_MIN_WIDTH ? WORDS_MIN_WIDTH :
							     width },
	};
}

void words_of_info(const struct run *run, const struct verdict *v, int width,
		   bool color, struct str *out)
{
	struct words w = make_words(run, v, width, color, out);
	char when[CAPTION_UTC_SIZE], text[CAPTION_SIZE];
	size_t nodes = 0;

	for (int c = 0; c < CELL_CLASSES; c++) {
		nodes += v->cells[c];
	}
	wrap_status(&w.wrap, verdict_status_name(v->status));
	caption_utc(run->started_utc, when);
	snprintf(text, sizeof(text), "info: %zu of %zu node%s answered%s%s",
		 v->cells[CELL_PASS], nodes, nodes == 1 ? "" : "s",
		 when[0] ? ", " : "", when);
	wrap_text(&w.wrap, 6, text);
	add_notes(&w);
	add_findings(&w);
}

void words_render(const struct run *run, const struct verdict *v, int width,
		  bool color, struct str *out)
{
	struct words w = make_words(run, v, width, color, out);

	add_head(&w);
	add_bandwidth(&w);
	add_findings(&w);
}
