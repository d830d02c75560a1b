/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands around the matrix of a picture: scales, legend, captions. */
#include "report/draw/picture_parts.h"

#include <string.h>

#include "report/base/wrap.h"
#include "report/judge/caption.h"
#include "report/model/ping_run.h"

/* ---- beside ------------------------------------------------------------ */

/** The colours and what they stand for, in pairs @of a class if there are
 *  several; returns where it ends. */
static float add_scale(const struct layout *l, const struct scale *s,
		       const char *of, float x, float y)
{
	enum { STEPS = 48, STEP = 3, HEIGHT = STEP * STEPS, LABELS = 4 };
	const struct view_unit *u = &view_units[l->v->metric];
	char text[UNITS_REAL_SIZE];

	pic_text(l->p, TEXT_LEFT, x, y, INK, "%s%s%s", u->scale,
		 of[0] ? " " : "", of);
	y += 18;
	if (s->log) {
		pic_text(l->p, TEXT_SMALL, x, y, INK_SOFT, "log scale");
		y += 15;
	}
	for (int i = 0; u->notes[i]; i++) {
		pic_text(l->p, TEXT_SMALL, x, y, INK_SOFT, "%s", u->notes[i]);
		y += 15;
	}
	y += 4;
	for (int i = 0; i < STEPS; i++) {
		pic_shape(l->p, (struct picture_shape){
			.x = x, .width = 22,
			.y = y + (float)i * STEP,
			/* overlapping, so that no seam shines through */
			.height = i < STEPS - 1 ? STEP + 1 : STEP,
			.rgb = palette_scale(1 - (i + 0.5) / STEPS),
		});
	}
	for (int i = 0; i <= LABELS; i++) {
		float at = y + (float)i * HEIGHT / LABELS;

		pic_line(l->p, x + 22, at, 5, 0);
		pic_text(l->p, TEXT_LEFT, x + 32, at, INK, "%s",
			 pic_numeral(scale_value(s, 1 - (double)i / LABELS),
				     text));
	}
	return y + HEIGHT + 30;
}

float pic_scales(const struct layout *l, float x, float y)
{
	int n = scales_shown(l->v->metric, l->scales), shown = 0;

	for (int i = 0; i < PATH_CLASSES && shown < n; i++) {
		if (l->scales[i].high > 0) {
			y = add_scale(l, &l->scales[i], n > 1 ?
				      run_path_words((enum path_class)i) : "",
				      x, y);
			shown++;
		}
	}
	return y + (n > 0 ? 10 : 0);
}

/** One line of the legend: @n squares that are all @class, or in part. */
static float add_legend_line(const struct layout *l, enum cell_class class,
			     bool mixed, float x, float y)
{
	const struct palette_entry *entry = palette_class(class);
	struct view_cell c = { .class = (uint8_t)class, .src = -1,
			       .planned = 4, .passed = mixed ? 3 : 0 };
	bool pixel = mixed && l->raster && run_bad(class);
	size_t n = mixed ? l->v->mixed[class] :
			   l->v->present[class] - l->v->mixed[class];

	if (n == 0) {
		return y;
	}
	if (pixel) {
		c.class = CELL_PASS;
	}
	pic_square(l, x + 2, y - 9, 18, &c,
		   pixel ? MIXED : mixed ? palette_scale(1) : entry->fill);
	if (!mixed && !l->raster) {
		pic_mark(l->p, x + 11, y, 11, entry);
	}
	pic_text(l->p, TEXT_LEFT, x + 32, y, INK, "%s%s (%zu%s)",
		 mixed ? "some " : "",
		 class == CELL_SLOW ? run_slow_word(l->v->run) : entry->word, n,
		 view_folds(l->v) ? " squares" : "");
	return y + 26;
}

float pic_legend(const struct layout *l, float x, float y)
{
	for (int i = 0; i < VIEW_MARKS; i++) {
		y = add_legend_line(l, view_marks[i], false, x, y);
		y = add_legend_line(l, view_marks[i], true, x, y);
	}
	return y;
}

/* ---- above ------------------------------------------------------------- */

/** Lines below the title, where there is something to say: as wide as the
 *  smallest picture. */
static float add_caption(const struct layout *l, float y, uint32_t rgb,
			 const char *text)
{
	struct str lines = STR_INIT;
	const char *line = NULL;

	if (text[0]) {
		wrap_text(&(struct wrap){ .out = &lines, .width =
				(int)((MIN_WIDTH - 2 * EDGE) / LETTER) },
			  0, text);
		line = str_text(&lines);
	}
	while (line && *line) {
		int n = (int)strcspn(line, "\n");

		pic_text(l->p, TEXT_LEFT, EDGE, y, rgb, "%.*s", n, line);
		y += 20;
		line += n + (line[n] == '\n');
	}
	str_release(&lines);
	return y;
}

/** What was found and has no row of its own: rails, switches, all paths. */
static void found_elsewhere(const struct run *run, const struct verdict *v,
			    char *buf, size_t size)
{
	struct str out = STR_INIT;

	for (size_t i = 0; i < v->n; i++) {
		const struct finding *f = &v->findings[i];
		struct part shown = part_shown(run, &f->part);
		char name[PART_NAME_SIZE];

		if (f->part.node < 0 && f->explained > 0) {
			str_addf(&out, "%s%s", out.len ? "; " : "found: ",
				 part_name(run, &shown, name, sizeof(name)));
		}
	}
	str_copy(buf, size, str_text(&out));
	str_release(&out);
}

float pic_captions(const struct layout *l, const struct verdict *v)
{
	static const char *const words[] = {
		[VERDICT_PASS] = "PASS", [VERDICT_WARN] = "WARN",
		[VERDICT_FAIL] = "FAIL", [VERDICT_PARTIAL] = "PARTIAL",
		[VERDICT_UNKNOWN] = "UNKNOWN",
	};
	const struct run *run = l->v->run;
	char text[CAPTION_SIZE], metric[48];
	float y = EDGE + 12;

	/* the verdict is one on all segments */
	pic_text(l->p, TEXT_TITLE, EDGE, y, INK, "gpucheck %s, %s%s: %s%s%s",
		 run->probe, view_metric_text(l->v, metric, sizeof(metric)),
		 mesh_segment(run)[0] ? "; the whole run" : "",
		 words[v->status],
		 strcmp(caption_status(run, v), CAPTION_PASS_SAMPLE) == 0 ?
			 " (sample)" : "",
		 run->drill ? " (DRILL)" : "");
	y += 30;
	y = add_caption(l, y, INK, caption_what(run, text, sizeof(text)));
	y = add_caption(l, y, INK, caption_cells(run, text, sizeof(text)));
	if (caption_partial(run, v, text, sizeof(text))) {
		y = add_caption(l, y, INK, text);
	}
	found_elsewhere(run, v, text, sizeof(text));
	y = add_caption(l, y, ALARM, text);
	y = add_caption(l, y, INK, view_block_text(l->v, text, sizeof(text)));
	for (int i = 0; caption_note(run, i, text, sizeof(text)); i++) {
		y = add_caption(l, y, run->drill && i == 0 ? ALARM : INK_SOFT,
				text);
	}
	pic_text(l->p, TEXT_SMALL, EDGE, y, INK_SOFT, "%s",
		 caption_command(run, text, sizeof(text)));
	return y + 22;
}
