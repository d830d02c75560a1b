/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/draw.h"

#include <errno.h>

#include "lib/data/rundir.h"
#include "report/draw/figures.h"
#include "report/draw/picture.h"
#include "report/draw/plot.h"

/**
 * data/gnuplot/picture.gp as text, part of the program: a binary that was
 * copied to another machine draws as well.
 */
__asm__(".section .rodata\n"
	"heatmap_script:\n"
	".incbin \"data/gnuplot/picture.gp\"\n"
	".byte 0\n"
	".previous\n");
extern const char heatmap_script[];

/** Shapes of one kind as lines of numbers, for gnuplot. */
static void write_rects(const struct picture *p, int style, struct str *out)
{
	(void)style;
	for (size_t i = 0; i < p->n_rects; i++) {
		const struct picture_rect *r = &p->rects[i];

		str_addf(out, "%.2f\t%.2f\t%.2f\t%.2f\t%u\n", (double)r->x,
			 (double)r->y, (double)r->width, (double)r->height,
			 r->rgb);
	}
}

static void write_lines(const struct picture *p, int style, struct str *out)
{
	(void)style;
	for (size_t i = 0; i < p->n_lines; i++) {
		const struct picture_line *l = &p->lines[i];

		str_addf(out, "%.2f\t%.2f\t%.2f\t%.2f\t%u\n", (double)l->x1,
			 (double)l->y1, (double)l->x2, (double)l->y2, l->rgb);
	}
}

static void write_marks(const struct picture *p, int style, struct str *out)
{
	/* gnuplot's numbers for the shapes of its points */
	static const int points[] = {
		[MARK_CROSS] = 2, [MARK_TRIANGLE] = 11, [MARK_DIAMOND] = 13,
		[MARK_RING] = 6, [MARK_DOT] = 7,
	};

	(void)style;
	for (size_t i = 0; i < p->n_marks; i++) {
		const struct picture_mark *m = &p->marks[i];

		str_addf(out, "%.2f\t%.2f\t%.2f\t%d\t%u\n", (double)m->x,
			 (double)m->y,
			 (double)(m->mark == MARK_DOT ? m->size / 3 : m->size),
			 points[m->mark], m->rgb);
	}
}

/** Text as a field that gnuplot reads as it stands. */
static void write_field(const char *text, struct str *out)
{
	for (; *text; text++) {
		bool special = *text == '"' || *text == '\\' ||
			       (unsigned char)*text < 0x20;

		str_addch(out, special ? '\'' : *text);
	}
}

static void write_texts(const struct picture *p, int style, struct str *out)
{
	for (size_t i = 0; i < p->n_texts; i++) {
		const struct picture_text *t = &p->texts[i];

		if ((int)t->style != style) {
			continue;
		}
		str_addf(out, "%.2f\t%.2f\t%u\t", (double)t->x, (double)t->y,
			 t->rgb);
		write_field(t->text, out);
		str_addch(out, '\n');
	}
}

/** What gnuplot reads; each file has something far outside, as gnuplot warns
 *  of empty ones. */
static const struct layer {
	const char *name;
	void (*write)(const struct picture *p, int style, struct str *out);
	int style;
	const char *nothing;
} layers[] = {
	{ .name = "rects", .write = write_rects,
	  .nothing = "-99\t-99\t1\t1\t0\n" },
	{ .name = "lines", .write = write_lines,
	  .nothing = "-99\t-99\t-98\t-98\t0\n" },
	{ .name = "marks", .write = write_marks,
	  .nothing = "-99\t-99\t1\t1\t0\n" },
	{ .name = "text0", .write = write_texts, .style = 0,
	  .nothing = "-99\t-99\t0\t-\n" },
	{ .name = "text1", .write = write_texts, .style = 1,
	  .nothing = "-99\t-99\t0\t-\n" },
	{ .name = "text2", .write = write_texts, .style = 2,
	  .nothing = "-99\t-99\t0\t-\n" },
	{ .name = "text3", .write = write_texts, .style = 3,
	  .nothing = "-99\t-99\t0\t-\n" },
	{ .name = "text4", .write = write_texts, .style = 4,
	  .nothing = "-99\t-99\t0\t-\n" },
	{ .name = "text5", .write = write_texts, .style = 5,
	  .nothing = "-99\t-99\t0\t-\n" },
	{ .name = "text6", .write = write_texts, .style = 6,
	  .nothing = "-99\t-99\t0\t-\n" },
};

#define LAYERS (sizeof(layers) / sizeof(*layers))

static int write_layers(const struct plot *plot, const struct picture *p,
			struct err *e)
{
	struct str text = STR_INIT;
	int rc = 0;

	for (size_t i = 0; i < LAYERS && rc == 0; i++) {
		str_reset(&text);
		str_add(&text, layers[i].nothing);
		layers[i].write(p, layers[i].style, &text);
		rc = text.failed ?
			err_set(e, ENOMEM, "cannot lay out the heat map") :
			plot_write(plot, layers[i].name, str_text(&text), e);
	}
	str_release(&text);
	return rc;
}

static int paint(struct plot *plot, const char *name,
		 const struct picture *p, struct err *e)
{
	char settings[256];

	snprintf(settings, sizeof(settings),
		 "w=%d; h=%d; stroke=%d; f0=%d; f1=%d; f2=%d; f3=%d; f4=%d; "
		 "f5=%d; f6=%d", p->width, p->height, p->stroke, p->font[0],
		 p->font[1], p->font[2], p->font[3], p->font[4], p->font[5],
		 p->font[6]);
	return write_layers(plot, p, e) < 0 ?
		       -1 : plot_draw(plot, heatmap_script, settings, name,
				 false, e);
}

/** So many gnuplots at a time: they take longer than all else. */
#define AT_ONCE 2

/** Where the figures of a run go. */
struct drawing {
	const char *dir;
	struct plot_signals signals;
	struct plot plots[AT_ONCE];
	int n;			/* figures begun */
	const struct verdict *v;
	int metric;		/* these only; -1 = all */
	bool png, failed;	/* PNGs are drawn; one of them failed */
	struct err *e;
};

static int write_svg(const struct drawing *d, const char *name,
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
	str_release(&text);
	return rc;
}

static int begin_png(struct drawing *d, const char *name,
		     const struct picture *p)
{
	struct plot *plot = &d->plots[d->n++ % AT_ONCE];
	int rc = plot_end(plot, 0, d->e);	/* of AT_ONCE figures ago */

	rc = rc < 0 ? rc : plot_begin(plot, &d->signals, d->dir, d->e);
	return rc < 0 ? rc : paint(plot, name, p, d->e);
}

static int draw_picture(struct drawing *d, const char *name,
			const struct picture *p)
{
	if (write_svg(d, name, p) < 0) {
		return -1;
	}
	/* the maps of others come without those of a gnuplot that fails */
	if (d->png && begin_png(d, name, p) < 0) {
		d->png = false;
		d->failed = true;
	}
	return 0;
}

static bool wanted(const struct drawing *d, const struct figure *f)
{
	return d->metric < 0 || d->metric == (int)f->metric;
}

/** All of them before the first is drawn, which may be where it ends; a PNG
 *  that cannot be had again stays. */
static int forget(const struct figure *f, void *arg)
{
	const struct drawing *d = arg;

	if (wanted(d, f)) {
		plot_forget(d->dir, f->name, "svg");
	}
	if (wanted(d, f) && d->png) {
		plot_forget(d->dir, f->name, "png");
	}
	return 0;
}

static int draw(const struct figure *f, void *arg)
{
	struct drawing *d = arg;
	struct picture picture;
	struct view view;
	int rc = 0;

	if (!wanted(d, f)) {
		return 0;
	}
	if (view_make(f->run, f->max_rows, f->metric, &view) < 0) {
		return err_set(d->e, ENOMEM, "cannot lay out the heat map");
	}
	if (f->always || view.any_value) {
		rc = picture_make(&view, d->v, &picture);
		if (rc < 0) {
			err_set(d->e, ENOMEM, "cannot lay out the heat map");
		} else {
			rc = draw_picture(d, f->name, &picture);
			picture_release(&picture);
		}
	}
	view_release(&view);
	return rc;
}

/** Those of @metric; all of them for -1. */
static int render(const char *dir, const struct run *run,
		  const struct verdict *v, int metric, struct err *e)
{
	struct drawing d = { .dir = dir, .v = v, .metric = metric, .e = e,
			     .png = plot_usable() };
	int rc;

	if (run->n_ranks == 0) {
		return 0;
	}
	plot_hold_signals(&d.signals);
	rc = figures_each(run, forget, &d);
	rc = rc < 0 ? err_set(e, ENOMEM, "cannot lay out the heat map") :
		      figures_each(run, draw, &d);
	rc = d.failed ? -1 : rc;
	for (int i = 0; i < AT_ONCE; i++) {
		rc = plot_end(&d.plots[i], rc, e);
	}
	plot_release_signals(&d.signals);
	return rc < 0 ? rc : plot_check("PNG of the heat map", e);
}

int heatmap_render(const char *dir, const struct run *run,
		   const struct verdict *v, struct err *e)
{
	return render(dir, run, v, -1, e);
}

int heatmap_render_contrast(const char *dir, const struct run *run,
			    const struct verdict *v, struct err *e)
{
	return render(dir, run, v, VIEW_CONTRAST, e);
}
