/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "report/draw/draw.h"

/* ---- drawn --------------------------------------------------------------- */

/* Heat maps that were drawn, for a page that shows them again. */

int drawn_add(struct drawn *d, const char *name, struct str *svg)
{
	struct drawn_map map = { .len = svg->len };

	STR_COPY(map.name, name);
	if (d->bytes == 0 || d->bytes + svg->len <= DRAWN_BYTES) {
		map.svg = *svg;
	}
	if (!grow_add(&d->maps, &d->n, &map, sizeof(map))) {
		return -1;
	}
	if (map.svg.data) {
		d->bytes += svg->len;
		*svg = (struct str)STR_INIT;
	}
	return 0;
}

const struct drawn_map *drawn_find(const struct drawn *d, const char *name)
{
	const size_t i = STR_FIND(d->maps, d->n, name, name);

	return i < d->n ? &d->maps[i] : NULL;
}

void drawn_release(struct drawn *d)
{
	for (size_t i = 0; i < d->n; i++) {
		str_release(&d->maps[i].svg);
	}
	free(d->maps);
	*d = (struct drawn){ 0 };
}

/* ---- heatmap ------------------------------------------------------------- */

/**
 * data/gnuplot/picture.gp as text, part of the program: a binary that was
 * copied to another machine draws as well.
 */
EMBED_TEXT(heatmap_script, "data/gnuplot/picture.gp");

/** Write the shapes as input of gnuplot: a block of lines for each layer with
 *  place, size, colour, number of the point and text.  Each block has a point
 *  far outside, because gnuplot warns of empty blocks. */
static int write_shapes(const struct plot *plot, const struct picture *p,
			struct err *e)
{
	/* gnuplot's numbers for the shapes of its points */
	static const int points[] = {
		[MARK_CROSS] = 2, [MARK_TRIANGLE] = 11, [MARK_DIAMOND] = 13,
		[MARK_RING] = 6, [MARK_DOT] = 7,
	};
	struct str text = STR_INIT;
	int rc;

	for (int layer = 0; layer < PICTURE_LAYERS; layer++) {
		str_add(&text, "-99\t-99\t1\t1\t0\t0\t-\n");
		for (size_t i = 0; i < p->n; i++) {
			const struct picture_shape *s = &p->shapes[i];
			const float width = s->mark == MARK_DOT ? s->width / 3 :
								  s->width;

			if ((int)s->layer != layer) {
				continue;
			}
			str_addf(&text, "%.2f\t%.2f\t%.2f\t%.2f\t%u\t%d\t",
				 (double)s->x, (double)s->y, (double)width,
				 (double)s->height, s->rgb,
				 layer == LAYER_MARK ? points[s->mark] : 0);
			plot_add_field(s->text ? s->text : "-", &text);
			str_addch(&text, '\n');
		}
		str_add(&text, "\n\n");
	}
	rc = plot_write(plot, "shapes", &text, e);
	str_release(&text);
	return rc;
}

static int paint(struct plot *plot, const char *name,
		 const struct picture *p, struct err *e)
{
	struct str settings = STR_INIT, bytes = STR_INIT;
	const struct picture_raster *r = &p->raster;
	const size_t n = (size_t)r->width * (size_t)r->height;
	char *to = str_more(&bytes, 3 * n);
	int rc = write_shapes(plot, p, e);

	for (size_t i = 0; to && i < n; i++) {
		const uint32_t rgb = r->colors[r->pixels[i]];

		*to++ = (char)(rgb >> 16);
		*to++ = (char)(rgb >> 8);
		*to++ = (char)rgb;
	}
	if (rc == 0 && n > 0) {
		rc = plot_write(plot, "raster", &bytes, e);
	}
	str_release(&bytes);
	str_addf(&settings, "w=%d; h=%d; stroke=%d; rw=%d; rh=%d; rx=%.0f; "
		 "ry=%.0f", p->width, p->height, p->stroke, r->width,
		 r->height, (double)r->x, (double)r->y);
	for (int i = TEXT_TITLE; i < PICTURE_LAYERS; i++) {
		str_addf(&settings, "; f%d=%d", i, p->font[i]);
	}
	rc = rc < 0 ? rc : plot_draw(plot, heatmap_script, &settings, name,
				     false, e);
	str_release(&settings);
	return rc;
}

/** Number of gnuplots at a time: they take longer than all else. */
#define AT_ONCE 2

/** Where the figures of a run go. */
struct heatmap_drawing {
	const char *dir;
	sigset_t ends;		/* as of plot_hold_signals() */
	struct plot plots[AT_ONCE];
	int n;			/* figures begun */
	const struct verdict *v;
	bool contrast;		/* that alone */
	bool png, failed;	/* PNGs are drawn; one of them failed */
	struct drawn *drawn;	/* NULL: not wanted */
	struct err *e;
};

/** Keep the drawing of @name, empty if it shows nothing. */
static int keep(const struct heatmap_drawing *d, const char *name,
		struct str *svg)
{
	return d->drawn && drawn_add(d->drawn, name, svg) < 0 ?
		       err_set(d->e, ENOMEM, "no memory for '%s'", name) : 0;
}

static int write_svg(const struct heatmap_drawing *d, const char *name,
		     const struct picture *p)
{
	struct str text = STR_INIT;
	char file[PLOT_FILE];
	int rc;

	snprintf(file, sizeof(file), "%s.svg", name);
	picture_svg(p, &text);
	rc = text.failed ? err_set(d->e, ENOMEM, "no memory for '%s'", file) :
			   rundir_write_text(d->dir, file, str_text(&text),
					     0666, d->e);
	if (rc == 0) {
		rc = keep(d, name, &text);
	}
	str_release(&text);
	return rc;
}

static bool wanted(const struct heatmap_drawing *d, const struct figure *f)
{
	return !d->contrast || f->metric == VIEW_CONTRAST;
}

/** Remove all files before the first is drawn, because a run may end there; a
 *  PNG that cannot be drawn again stays. */
static int forget(const struct figure *f, void *arg)
{
	const struct heatmap_drawing *d = arg;

	if (wanted(d, f)) {
		plot_forget(d->dir, f->name, "svg");
		if (d->png) {
			plot_forget(d->dir, f->name, "png");
		}
	}
	return 0;
}

static int draw(const struct figure *f, void *arg)
{
	struct heatmap_drawing *d = arg;
	struct picture picture;
	int rc;

	if (!wanted(d, f)) {
		return 0;
	}
	rc = figure_picture(f, d->v, &picture);
	if (rc < 0) {
		err_set(d->e, ENOMEM, "cannot lay out the heat map");
	} else if (rc == 0) {
		rc = write_svg(d, f->name, &picture);
		/* other SVGs are drawn although a gnuplot fails */
		if (rc == 0 && d->png) {
			struct plot *plot = &d->plots[d->n++ % AT_ONCE];

			/* end the figure of AT_ONCE figures ago */
			d->png = plot_end(plot, 0, d->e) == 0 &&
				 plot_begin(plot, &d->ends, d->dir,
					    d->e) == 0 &&
				 paint(plot, f->name, &picture, d->e) == 0;
			d->failed = !d->png;
		}
	} else {
		rc = keep(d, f->name, &(struct str)STR_INIT);
	}
	picture_release(&picture);
	return rc < 0 ? -1 : 0;
}

int picture_render(const char *dir, const char *name, const struct picture *p,
		   struct err *e)
{
	struct heatmap_drawing d = { .dir = dir, .e = e };
	struct plot *plot = &d.plots[0];
	int rc = write_svg(&d, name, p);

	if (rc < 0 || plot_check("PNG", dir, e) != 0) {
		return rc < 0 ? rc : 1;
	}
	plot_forget(dir, name, "png");
	plot_hold_signals(&d.ends);
	rc = plot_begin(plot, &d.ends, dir, e);
	rc = rc < 0 ? rc : paint(plot, name, p, e);
	rc = plot_end(plot, rc, e);
	plot_release_signals(&d.ends);
	return rc;
}

int heatmap_render(const char *dir, const struct run *run,
		   const struct verdict *v, bool contrast,
		   struct drawn *drawn, struct err *e)
{
	struct heatmap_drawing d = { .dir = dir,
				     .v = v,
				     .contrast = contrast,
				     .e = e,
				     .png = plot_usable(),
				     .drawn = drawn };
	int rc;

	if (run->n_ranks == 0) {
		return 0;
	}
	plot_hold_signals(&d.ends);
	rc = figures_each(run, v, forget, &d);
	rc = rc < 0 ? err_set(e, ENOMEM, "cannot lay out the heat map") :
		      figures_each(run, v, draw, &d);
	rc = d.failed ? -1 : rc;
	for (int i = 0; i < AT_ONCE; i++) {
		rc = plot_end(&d.plots[i], rc, e);
	}
	plot_release_signals(&d.ends);
	return rc < 0 ? rc : plot_check("PNG of the heat map", dir,
					    e);
}
