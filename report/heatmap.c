/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/report.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/rundir.h"
#include "lib/spawn.h"
#include "report/figures.h"
#include "report/picture.h"

#define GNUPLOT_DEADLINE_NS (60 * NS_PER_S)
#define GNUPLOT_MAX_TALK    4096
#define SCRIPT "picture.gp"

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

/** Scratch files: gone in a second, so not worth a sync to disk. */
static int write_file(const char *folder, const char *name, const char *text,
		      struct err *e)
{
	char path[PATH_MAX];
	FILE *f;
	bool whole;

	if (rundir_path(folder, name, path, e) < 0) {
		return -1;
	}
	f = fopen(path, "we");
	if (!f) {
		return err_set(e, errno, "cannot write '%s'", path);
	}
	whole = fputs(text, f) >= 0;
	whole = fclose(f) == 0 && whole;
	return whole ? 0 : err_set(e, errno, "cannot write '%s'", path);
}

static int write_layers(const char *folder, const struct picture *p,
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
			write_file(folder, layers[i].name, str_text(&text), e);
	}
	str_release(&text);
	return rc < 0 ? -1 :
			write_file(folder, SCRIPT, heatmap_script, e);
}

static int run_gnuplot(const char *folder, const struct picture *p, bool png,
		       struct err *e)
{
	char program[] = "gnuplot", e_flag[] = "-e", c_flag[] = "-c";
	char script[PATH_MAX], where[PATH_MAX], numbers[256], how[64];
	char *argv[] = {
		program, e_flag, numbers, c_flag, script, where, NULL
	};
	struct str talk = STR_INIT;
	struct spawn_status st;
	int rc = 0;

	if (rundir_path(folder, SCRIPT, script, e) < 0) {
		return -1;
	}
	snprintf(where, sizeof(where), "%s", folder);
	snprintf(numbers, sizeof(numbers),
		 "w=%d; h=%d; png=%d; stroke=%d; f0=%d; f1=%d; f2=%d; f3=%d; "
		 "f4=%d; f5=%d; f6=%d", p->width, p->height, png,
		 p->stroke, p->font[0], p->font[1], p->font[2], p->font[3],
		 p->font[4], p->font[5], p->font[6]);
	if (spawn_capture(argv, NULL, &talk, GNUPLOT_MAX_TALK,
			  clock_now_ns() + GNUPLOT_DEADLINE_NS, &st, e) < 0) {
		rc = -1;
	} else if (st.exit_code != 0) {
		rc = err_set(e, 0, "gnuplot failed (%s): %.200s",
			     spawn_status_text(&st, how, sizeof(how)),
			     str_text(&talk));
	}
	str_release(&talk);
	return rc;
}

/** Paint both files in @folder, then move them into @dir under their names. */
static int paint(const char *dir, const char *folder, const char *name,
		 const struct picture *p, struct err *e)
{
	static const char *const kinds[] = { "svg", "png" };
	char from[PATH_MAX], to[PATH_MAX], file[64];

	if (write_layers(folder, p, e) < 0) {
		return -1;
	}
	for (int png = 0; png < 2; png++) {
		if (run_gnuplot(folder, p, png, e) < 0) {
			return -1;
		}
		snprintf(file, sizeof(file), "picture.%s", kinds[png]);
		if (rundir_path(folder, file, from, e) < 0) {
			return -1;
		}
		snprintf(file, sizeof(file), "%s.%s", name, kinds[png]);
		if (rundir_path(dir, file, to, e) < 0) {
			return -1;
		}
		if (rename(from, to) < 0) {
			return err_set(e, errno, "cannot write '%s'", to);
		}
	}
	return 0;
}

static void remove_folder(const char *folder)
{
	static const char *const others[] = {
		SCRIPT, "picture.svg", "picture.png",
	};
	char path[PATH_MAX];

	for (size_t i = 0; i < LAYERS; i++) {
		if (rundir_path(folder, layers[i].name, path, NULL) == 0) {
			unlink(path);
		}
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (rundir_path(folder, others[i], path, NULL) == 0) {
			unlink(path);
		}
	}
	rmdir(folder);
}

/** Where the figures of a run go. */
struct drawing {
	const char *dir, *folder;
	const struct verdict *v;
	int metric;		/* these only; -1 = all */
	struct err *e;
};

static int draw(const struct figure *f, void *arg)
{
	struct drawing *d = arg;
	struct picture picture;
	struct view view;
	int rc = 0;

	if (d->metric >= 0 && d->metric != (int)f->metric) {
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
			rc = paint(d->dir, d->folder, f->name, &picture, d->e);
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
	char whole[PATH_MAX], folder[PATH_MAX];
	int rc = 0;

	if (run->n_ranks == 0) {
		return 0;
	}
	if (!spawn_find("gnuplot", NULL, 0)) {
		err_set(e, ENOENT, "no heat map: 'gnuplot' is not there");
		err_hint(e, "apt-get install gnuplot-nox, then "
			 "\"gpucheck report DIR\" draws it");
		return 1;
	}
	/* A name that begins with '/' is a file to gnuplot, never a pipe. */
	if (!realpath(dir, whole)) {
		return err_set(e, errno, "cannot open '%s'", dir);
	}
	if (rundir_path(whole, ".heatmap-XXXXXX", folder, e) < 0) {
		return -1;
	}
	if (!mkdtemp(folder)) {
		return err_set(e, errno, "cannot make '%s'", folder);
	}
	rc = figures_each(run, draw, &(struct drawing){
		.dir = whole, .folder = folder, .v = v, .metric = metric,
		.e = e,
	});
	remove_folder(folder);
	return rc;
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
