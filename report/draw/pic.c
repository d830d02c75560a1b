/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces of any picture: shapes, lines, marks, texts, the title. */
#include "report/draw/picture.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/grow.h"
#include "report/judge/caption.h"
#include "report/model/run.h"

#define TITLE_LETTER 12.5F	/* pixels of an average one */

/* Shapes and texts come into a picture. */

#define TEXT_MAX 200	/* bytes */

/* The shape, whose text is the picture's now. */
void pic_shape(struct picture *p, struct picture_shape shape)
{
	struct picture_shape *last = p->n > 0 ? &p->shapes[p->n - 1] : NULL;

	/* neighbours of one colour in a row are one */
	if (last && !shape.text && !last->text &&
	    shape.layer == LAYER_RECT && last->layer == LAYER_RECT &&
	    !shape.cell && !last->cell && shape.rgb == last->rgb &&
	    shape.y >= last->y && shape.y <= last->y &&
	    shape.height >= last->height && shape.height <= last->height &&
	    fabsf(last->x + last->width - shape.x) < 0.01F) {
		last->width += shape.width;
		return;
	}
	if (!grow_add(&p->shapes, &p->n, &shape, sizeof(shape))) {
		p->failed = true;
		free(shape.text);
	}
}

void pic_mark(struct picture *p, float x, float y, float size,
		     const struct palette_entry *entry)
{
	struct picture_shape shape = {
		.layer = LAYER_MARK, .mark = entry->mark, .rgb = entry->ink,
		.x = x, .y = y, .width = size,
	};

	if (entry->mark == MARK_BAR) {
		shape.layer = LAYER_RECT;
		shape.x = x - size / 2;
		shape.y = y - size / 8;
		shape.height = size / 4;
	}
	pic_shape(p, shape);
}

void pic_line(struct picture *p, float x, float y, float width,
		     float height)
{
	pic_shape(p, (struct picture_shape){
		.layer = LAYER_LINE, .x = x, .y = y, .width = width,
		.height = height, .rgb = INK_SOFT,
	});
}

/* Add text at (@x, @y). */
void pic_text(struct picture *p, enum picture_layer layer, float x,
		     float y, uint32_t rgb, const char *fmt, ...)
{
	char text[CAPTION_SIZE], clean[TEXT_MAX], *copy;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	STR_COPY(clean, text);
	copy = strdup(clean);
	p->failed |= !copy;
	pic_shape(p, (struct picture_shape){
		.layer = layer, .x = x, .y = y, .rgb = rgb, .text = copy,
	});
}

const char *pic_numeral(double value, char buf[UNITS_REAL_SIZE])
{
	/* infinity has no digits that an int can count */
	double digits = value > 0 ? 2 - floor(log10(value * 1.0005)) : 2;

	return units_real_text(value, (int)fmin(fmax(digits, 0), 6), buf);
}

float pic_caption(struct picture *p, float y, uint32_t rgb, const char *text)
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

		pic_text(p, TEXT_LEFT, EDGE, y, rgb, "%.*s", n, line);
		y += 20;
		line += n + (line[n] == '\n');
	}
	str_release(&lines);
	return y;
}

float pic_title(struct picture *p, float wide, const struct run *run,
		const struct verdict *v, const char *what)
{
	static const char *const words[] = {
		[VERDICT_PASS] = "PASS", [VERDICT_WARN] = "WARN",
		[VERDICT_FAIL] = "FAIL", [VERDICT_PARTIAL] = "PARTIAL",
		[VERDICT_UNKNOWN] = "UNKNOWN",
	};
	const size_t max = (size_t)((wide - 2 * EDGE) / TITLE_LETTER);
	const char *segment = mesh_segment(run), *between = ": ";
	struct str out = STR_INIT;
	char aside[CAPTION_SIZE];
	size_t named = 0;

	str_addf(&out, "%s%s", words[v->status],
		 strcmp(caption_status(run, v), CAPTION_PASS_SAMPLE) == 0 ?
			 " (sample)" : "");
	if (caption_aside(v, aside, sizeof(aside)) &&
	    out.len + strlen(aside) + 3 < max / 2) {
		str_addf(&out, " (%s)", aside);
	}
	/* the findings of the whole run are not of one segment */
	for (size_t i = 0; i < v->n && !segment[0]; i++) {
		char name[PART_NAME_SIZE];

		finding_short(run_whole(run), &v->findings[i], name,
			      sizeof(name));
		if (out.len + strlen(name) + 12 > max && named > 0) {
			break;
		}
		str_addf(&out, "%s%s", between, name);
		between = "; ";
		named++;
	}
	if (named > 0 && named < v->n) {
		str_addf(&out, "; %zu more", v->n - named);
	} else if (named == 0) {
		str_addf(&out, "%s%s", segment[0] ? " in the whole run; " :
						    ": ", what);
	}
	str_addf(&out, "%s%s%s", segment[0] ? " in " : "", segment,
		 run->drill ? " (DRILL)" : "");
	pic_text(p, TEXT_TITLE, EDGE, EDGE + 12, pic_status_rgb(v), "%s",
		 str_text(&out));
	str_release(&out);
	return EDGE + 42;
}

uint32_t pic_status_rgb(const struct verdict *v)
{
	return v->status == VERDICT_FAIL ? ALARM :
	       v->status == VERDICT_WARN ? WARNING_INK : INK;
}

static const int fonts[PICTURE_LAYERS] = {
	[TEXT_TITLE] = 22, [TEXT_LEFT] = 14, [TEXT_SMALL] = 12,
	[TEXT_RIGHT] = 13, [TEXT_CENTER] = 13, [TEXT_UP] = 13,
	[TEXT_DOWN] = 13,
};

void pic_fonts(struct picture *p)
{
	memcpy(p->font, fonts, sizeof(fonts));
}
