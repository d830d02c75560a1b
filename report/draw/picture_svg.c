/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/picture.h"

#include <math.h>

#include "report/base/html_text.h"
#include "report/model/part.h"

/** What the mouse shows: the pair and what came of it. */
static void add_tooltip(const struct picture *p, const struct view_cell *c,
			struct str *out)
{
	static const char *const units[] = {
		[VIEW_BANDWIDTH] = " GB/s", [VIEW_LATENCY] = " us",
		[VIEW_LINE] = " % of line rate", [VIEW_CONTRAST] = "",
	};
	const struct run *run = p->view->run;
	char from[80], to[80];

	str_add(out, "<title>");
	html_text(out, part_rank_name(run, c->src, from, sizeof(from)));
	str_add(out, " &#8594; ");
	html_text(out, part_rank_name(run, c->dst, to, sizeof(to)));
	str_addf(out, ": %s", cell_class_name(c->class));
	if (!isnan(c->value)) {
		str_addf(out, ", %.3g%s", (double)c->value,
			 units[p->view->metric]);
	}
	str_add(out, "</title>");
}

static void add_rects(const struct picture *p, struct str *out)
{
	for (size_t i = 0; i < p->n_rects; i++) {
		const struct picture_rect *r = &p->rects[i];

		str_addf(out, "<rect x=\"%.5g\" y=\"%.5g\" width=\"%.4g\" "
			 "height=\"%.4g\" fill=\"#%06x\"", (double)r->x,
			 (double)r->y, (double)r->width, (double)r->height,
			 r->rgb);
		if (r->cell) {
			str_addch(out, '>');
			add_tooltip(p, r->cell, out);
			str_add(out, "</rect>\n");
		} else {
			str_add(out, "/>\n");
		}
	}
}

static void add_lines(const struct picture *p, struct str *out)
{
	for (size_t i = 0; i < p->n_lines; i++) {
		const struct picture_line *l = &p->lines[i];

		str_addf(out, "<path d=\"M%.5g %.5gL%.5g %.5g\" "
			 "stroke=\"#%06x\"/>\n", (double)l->x1, (double)l->y1,
			 (double)l->x2, (double)l->y2, l->rgb);
	}
}

/** Shapes around 0, 0 within -1 ... 1. */
static const struct mark_shape {
	const char *path;
	bool filled;
} shapes[] = {
	[MARK_NONE]	= { .path = "" },
	[MARK_CROSS]	= { .path = "M-.8-.8L.8.8M-.8.8L.8-.8" },
	[MARK_TRIANGLE]	= { .path = "M-.9-.7H.9L0 .9z", .filled = true },
	[MARK_DIAMOND]	= { .path = "M0-1L1 0L0 1L-1 0z", .filled = true },
	[MARK_BAR]	= { .path = "M-1-.2H1V.2H-1z", .filled = true },
	[MARK_RING]	= { .path = "M-.7 0A.7.7 0 1 1 .7 0A.7.7 0 1 1-.7 0z" },
	[MARK_DOT]	= { .path = "M-.3 0A.3.3 0 1 1 .3 0A.3.3 0 1 1-.3 0z",
			    .filled = true },
};

static void add_marks(const struct picture *p, struct str *out)
{
	for (size_t i = 0; i < p->n_marks; i++) {
		const struct picture_mark *m = &p->marks[i];
		const struct mark_shape *s = &shapes[m->mark];

		str_addf(out, "<path transform=\"translate(%.5g %.5g)"
			 "scale(%.3g)\" d=\"%s\" ", (double)m->x, (double)m->y,
			 (double)m->size / 2, s->path);
		str_addf(out, s->filled ? "fill=\"#%06x\"" :
			 "fill=\"none\" stroke-width=\".3\" stroke=\"#%06x\"",
			 m->rgb);
		str_add(out, " pointer-events=\"none\"/>\n");
	}
}

static void add_texts(const struct picture *p, struct str *out)
{
	static const char *const anchors[TEXT_STYLES] = {
		[TEXT_TITLE] = "start", [TEXT_LEFT] = "start",
		[TEXT_SMALL] = "start", [TEXT_RIGHT] = "end",
		[TEXT_CENTER] = "middle", [TEXT_UP] = "start",
		[TEXT_NUMBER] = "middle",
	};

	for (size_t i = 0; i < p->n_texts; i++) {
		const struct picture_text *t = &p->texts[i];

		str_addf(out, "<text transform=\"translate(%.5g %.5g)%s\" "
			 "font-size=\"%d\" fill=\"#%06x\" text-anchor=\"%s\" "
			 "dy=\".35em\" pointer-events=\"none\">", (double)t->x,
			 (double)t->y,
			 t->style == TEXT_UP ? "rotate(-90)" : "",
			 p->font[t->style], t->rgb, anchors[t->style]);
		html_text(out, t->text);
		str_add(out, "</text>\n");
	}
}

void picture_svg(const struct picture *p, struct str *out)
{
	str_addf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		 "viewBox=\"0 0 %d %d\" width=\"%d\" "
		 "font-family=\"DejaVu Sans,Verdana,sans-serif\">\n", p->width,
		 p->height, p->width);
	str_add(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	add_rects(p, out);
	add_lines(p, out);
	add_marks(p, out);
	add_texts(p, out);
	str_add(out, "</svg>\n");
}
