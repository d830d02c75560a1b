/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/picture.h"

#include <math.h>
#include <zlib.h>

#include "lib/base/grow.h"
#include "report/base/wrap.h"
#include "report/model/part.h"

/* ---- png ----------------------------------------------------------------- */

/* PNG (RFC 2083) around zlib (RFC 1950). */

static void add_u32(struct str *out, uint32_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8) {
		str_addch(out, (char)(v >> shift & 0xff));
	}
}

static void add_chunk(struct str *out, const char kind[4],
		      const struct str *data)
{
	size_t from;

	add_u32(out, (uint32_t)data->len);
	from = out->len;
	str_addmem(out, kind, 4);
	str_addmem(out, data->data, data->len);
	add_u32(out, out->failed ? 0 :
		     (uint32_t)crc32(0, (const Bytef *)out->data + from,
				     (uInt)(out->len - from)));
}

void png_add(const uint8_t *pixels, int width, int height,
	     const uint32_t colors[RASTER_COLORS], struct str *out)
{
	struct str raw = STR_INIT, data = STR_INIT;

	str_addmem(out, "\x89PNG\r\n\x1a\n", 8);
	add_u32(&data, (uint32_t)width);
	add_u32(&data, (uint32_t)height);
	str_addmem(&data, "\10\3\0\0\0", 5);	/* a byte, of a palette */
	add_chunk(out, "IHDR", &data);
	str_reset(&data);
	for (int i = 0; i < RASTER_COLORS; i++) {
		str_addch(&data, (char)(colors[i] >> 16));
		str_addch(&data, (char)(colors[i] >> 8));
		str_addch(&data, (char)colors[i]);
	}
	add_chunk(out, "PLTE", &data);
	/* each row behind a zero, which says that it is stored as it is */
	for (int y = 0; y < height; y++) {
		str_addch(&raw, 0);
		str_addmem(&raw, (const char *)pixels +
				 (size_t)y * (size_t)width, (size_t)width);
	}
	str_reset(&data);
	pack_add(raw.data, raw.len, &data);
	out->failed |= raw.failed || data.failed;
	add_chunk(out, "IDAT", &data);
	str_reset(&data);
	add_chunk(out, "IEND", &data);
	str_release(&raw);
	str_release(&data);
}

/* ---- picture svg --------------------------------------------------------- */

/** Add the tooltip: the pair and its result. */
static void add_tooltip(const struct picture *p, const struct view_cell *c,
			struct str *out)
{
	const char *unit = view_units[p->view.metric].unit;
	const struct run *run = p->view.run;
	char from[80], to[80];

	str_add(out, "<title>");
	html_text(out, part_rank_name(run, c->src, from, sizeof(from)));
	str_add(out, " &#8594; ");
	html_text(out, part_rank_name(run, c->dst, to, sizeof(to)));
	str_addf(out, ": %s", cell_class_name(c->class));
	if (!isnan(c->value)) {
		str_addf(out, ", %.3g%s%s", (double)c->value,
			 unit[0] ? " " : "", unit);
	}
	str_add(out, "</title>");
}

/** Shapes around 0, 0 within -1 ... 1. */
static const struct mark_shape {
	const char *path;
	bool filled;
} marks[] = {
	[MARK_NONE]	= { .path = "" },
	[MARK_CROSS]	= { .path = "M-.8-.8L.8.8M-.8.8L.8-.8" },
	[MARK_TRIANGLE]	= { .path = "M-.9-.7H.9L0 .9z", .filled = true },
	[MARK_DIAMOND]	= { .path = "M0-1L1 0L0 1L-1 0z", .filled = true },
	[MARK_BAR]	= { .path = "M-1-.2H1V.2H-1z", .filled = true },
	[MARK_RING]	= { .path = "M-.7 0A.7.7 0 1 1 .7 0A.7.7 0 1 1-.7 0z" },
	[MARK_DOT]	= { .path = "M-.3 0A.3.3 0 1 1 .3 0A.3.3 0 1 1-.3 0z",
			    .filled = true },
};

/** Append the element of @s. */
static void add_shape(const struct picture *p, const struct picture_shape *s,
		      struct str *out)
{
	static const char *const anchors[PICTURE_LAYERS] = {
		[TEXT_TITLE] = "start", [TEXT_LEFT] = "start",
		[TEXT_SMALL] = "start", [TEXT_RIGHT] = "end",
		[TEXT_CENTER] = "middle", [TEXT_UP] = "start",
		[TEXT_DOWN] = "end",
		[TEXT_NUMBER] = "middle",
	};
	const struct mark_shape *m = &marks[s->mark];
	const double x = (double)s->x, y = (double)s->y;

	switch (s->layer) {
	case LAYER_RECT:
		str_addf(out, "<rect x=\"%.5g\" y=\"%.5g\" width=\"%.4g\" "
			 "height=\"%.4g\" fill=\"#%06x\"", x, y,
			 (double)s->width, (double)s->height, s->rgb);
		if (s->cell || s->text) {
			str_addch(out, '>');
			if (s->cell) {
				add_tooltip(p, s->cell, out);
			} else {
				html_element(out, "title", s->text);
			}
			str_add(out, "</rect>\n");
		} else {
			str_add(out, "/>\n");
		}
		break;
	case LAYER_LINE:
		str_addf(out, "<path d=\"M%.5g %.5gL%.5g %.5g\" "
			 "stroke=\"#%06x\"/>\n", x, y,
			 (double)(s->x + s->width), (double)(s->y + s->height),
			 s->rgb);
		break;
	case LAYER_MARK:
		str_addf(out, "<path transform=\"translate(%.5g %.5g)"
			 "scale(%.3g)\" d=\"%s\" ", x, y,
			 (double)s->width / 2, m->path);
		str_addf(out, m->filled ? "fill=\"#%06x\"" :
			 "fill=\"none\" stroke-width=\".3\" stroke=\"#%06x\"",
			 s->rgb);
		str_add(out, " pointer-events=\"none\"/>\n");
		break;
	default:
		str_addf(out, "<text transform=\"translate(%.5g %.5g)%s\" "
			 "font-size=\"%d\" fill=\"#%06x\" text-anchor=\"%s\" "
			 "dy=\".35em\" pointer-events=\"none\">", x, y,
			 s->layer == TEXT_UP || s->layer == TEXT_DOWN ?
				 "rotate(-90)" : "",
			 p->font[s->layer], s->rgb, anchors[s->layer]);
		html_text(out, s->text);
		str_add(out, "</text>\n");
	}
}

void picture_svg(const struct picture *p, struct str *out)
{
	const struct picture_raster *r = &p->raster;
	struct str png = STR_INIT;

	str_addf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		 "viewBox=\"0 0 %d %d\" width=\"%d\" "
		 "font-family=\"DejaVu Sans,Verdana,sans-serif\">\n", p->width,
		 p->height, p->width);
	str_add(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	if (r->width > 0) {
		/* pixels stay pixels when they are enlarged */
		png_add(r->pixels, r->width, r->height, r->colors, &png);
		str_addf(out, "<image x=\"%.5g\" y=\"%.5g\" width=\"%d\" "
			 "height=\"%d\" style=\"image-rendering:pixelated\" "
			 "href=\"data:image/png;base64,", (double)r->x,
			 (double)r->y, r->width, r->height);
		html_base64(out, png.data, png.len);
		str_add(out, "\"/>\n");
		out->failed |= png.failed;
		str_release(&png);
	}
	/* texts of all layers come last, in the order in which they are */
	for (int layer = LAYER_RECT; layer <= TEXT_TITLE; layer++) {
		for (size_t i = 0; i < p->n; i++) {
			const int of = (int)p->shapes[i].layer;

			if (of == layer ||
			    (of > TEXT_TITLE && layer == TEXT_TITLE)) {
				add_shape(p, &p->shapes[i], out);
			}
		}
	}
	str_add(out, "</svg>\n");
}
