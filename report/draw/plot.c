/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/order.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "report/draw/draw.h"
#include "report/judge/caption.h"
#include "report/judge/findings.h"

/* ---- curves -------------------------------------------------------------- */

/** Curves that are drawn, each in place and out of place; the rest is in the
 *  table. */
#define CURVES_MAX 16
#define LINES_MAX  (2 * CURVES_MAX)
/** Letters of the name at the end of a line. */
#define LABEL_MAX  30
/** Heights of a panel from a name to the next one. */
#define LABEL_STEP 0.055
/** Findings and letters of each below the title. */
#define TITLE_FINDINGS 3
#define TITLE_MAX      112
/** Ends of the axis of bandwidth, as parts of the largest and the smallest. */
#define LINEAR_HIGH 1.08
#define LOG_LOW	    0.8
#define LOG_HIGH    1.25
/** A row without a value gets a point far outside the plot. */
#define NO_POINT "1e-9\t1\t1\t1\n"

/** data/gnuplot/curves.gp as text, part of the program. */
EMBED_TEXT(curves_script, "data/gnuplot/curves.gp");

/** One line of the picture: a curve, in place or out of place. */
struct plot_line {
	const struct curve *curve;
	int64_t inplace;	/* -1 = whatever there is */
	int color;		/* that of its curve, from 0 */
	bool second;		/* in place, of a curve that has both */
	double end;		/* the value at its largest size; NAN */
	char name[LABEL_SIZE + 160];
};

enum plot_panel { PANEL_BW, PANEL_RELATIVE, PANEL_TIME, PANELS };

struct plot_drawing {
	struct plot_line lines[LINES_MAX];
	size_t n;
	bool algbw;		/* there is no bus bandwidth at all */
	bool any[PANELS], any_off, any_bad;
	double low, high;	/* sizes */
	double least, most;	/* bandwidth */
	bool log_scale;		/* of bandwidth */
	int label;		/* letters of the longest one */
	bool both;		/* some lines are in place beside others */
	struct plot plot;
	struct ceiling tops[2];	/* those of all curves, the smallest first */
	int n_tops;
};

static bool is_there(double value)
{
	return isfinite(value) && value > 0;
}

static bool wanted(const struct plot_line *l, const struct collective_row *row)
{
	return row->outcome == OUTCOME_OK && row->size_B > 0 &&
	       (l->inplace < 0 || row->inplace == l->inplace);
}

static double bandwidth_of(const struct plot_drawing *d,
			   const struct collective_row *row)
{
	return d->algbw ? row->algbw_GB_s : row->busbw_GB_s;
}

/** Append the point of @row to @text; false if it has none. */
static bool add_point(const struct plot_drawing *d, enum plot_panel panel,
		      const struct collective_row *row, struct str *text)
{
	/* the bandwidth has the same relation to its ends as the time */
	const double bw = bandwidth_of(d, row), all = bw * row->time_us;
	double value = bw, low = all / row->time_p99_us;
	double high = all / row->time_min_us;
	const struct collective_row *first;

	if (panel == PANEL_TIME) {
		value = row->time_us;
		low = row->time_min_us;
		high = row->time_p99_us;
	} else if (panel == PANEL_RELATIVE) {
		/* percent of the first curve's at the same size */
		first = curve_at(d->lines[0].curve, row->size_B, row->inplace);
		first = first ? first : curve_at(d->lines[0].curve,
						 row->size_B, -1);
		value = first && first->outcome == OUTCOME_OK &&
				is_there(bandwidth_of(d, first)) ?
				100 * bw / bandwidth_of(d, first) : NAN;
		low = high = NAN;
	}
	if (!is_there(value)) {
		return false;
	}
	str_addf(text, "%lld\t%.9g\t%.9g\t%.9g\n", (long long)row->size_B,
		 value, is_there(low) ? low : value,
		 is_there(high) ? high : value);
	return true;
}

/** Write a file for each line: its name, then its points. */
static int write_points(struct plot_drawing *d, enum plot_panel panel,
			struct err *e)
{
	static const char *const files[] = { "bw", "rel", "time" };
	struct str text = STR_INIT;
	char name[32];
	int rc = 0;

	for (size_t i = 0; i < d->n && rc == 0; i++) {
		const struct plot_line *l = &d->lines[i];
		bool points = false;

		str_reset(&text);
		str_add(&text, "size\t");
		plot_add_field(l->name, &text);
		str_add(&text, "\n");
		for (size_t k = 0; k < l->curve->n; k++) {
			points |= wanted(l, l->curve->rows[k]) &&
				  add_point(d, panel, l->curve->rows[k],
					    &text);
		}
		str_add(&text, points ? "" : NO_POINT);
		d->any[panel] |= points;
		snprintf(name, sizeof(name), "%s%zu", files[panel], i + 1);
		rc = plot_write(&d->plot, name, &text, e);
	}
	str_release(&text);
	return rc;
}

/** Write the points that are off their curve, and the sizes that failed. */
static int write_marks(struct plot_drawing *d, struct err *e)
{
	struct str off = STR_INIT, bad = STR_INIT;
	int rc;

	for (size_t i = 0; i < d->n; i++) {
		const struct plot_line *l = &d->lines[i];
		const struct collective_row *last[3] = { 0 };

		for (size_t k = 0; k < l->curve->n; k++) {
			const struct collective_row *row = l->curve->rows[k];

			if ((l->inplace < 0 || row->inplace == l->inplace) &&
			    row->outcome != OUTCOME_OK && row->size_B > 0) {
				str_addf(&bad, "%lld\t0\n",
					 (long long)row->size_B);
			}
			if (!wanted(l, row) || !is_there(row->time_us)) {
				continue;
			}
			last[0] = last[1];
			last[1] = last[2];
			last[2] = row;
			if (last[0] && sweep_row_is_off(&last[1])) {
				str_addf(&off, "%lld\t%.9g\t%.9g\n",
					 (long long)last[1]->size_B,
					 bandwidth_of(d, last[1]),
					 last[1]->time_us);
			}
		}
	}
	d->any_off = off.len > 0;
	d->any_bad = bad.len > 0;
	str_add(&off, off.len ? "" : NO_POINT);
	str_add(&bad, bad.len ? "" : NO_POINT);
	rc = plot_write(&d->plot, "off", &off, e);
	rc = rc < 0 ? rc : plot_write(&d->plot, "bad", &bad, e);
	str_release(&off);
	str_release(&bad);
	return rc;
}

static const struct order_key by_end[] = {
	ORDER_ITEM(ORDER_POINTEE), ORDER_UP(struct plot_line, end), ORDER_END
};

/** Height of the bandwidth @value in its panel, 0 ... 1. */
static double place_of(const struct plot_drawing *d, double value)
{
	const double low = d->least * LOG_LOW, high = d->most * LOG_HIGH;

	return d->log_scale ? log(value / low) / log(high / low) :
			      value / (LINEAR_HIGH * d->most);
}

/** The bandwidth at @place, the inverse of place_of(). */
static double value_at(const struct plot_drawing *d, double place)
{
	const double low = d->least * LOG_LOW, high = d->most * LOG_HIGH;

	return d->log_scale ? low * pow(high / low, place) :
			      place * LINEAR_HIGH * d->most;
}

/** Write the names at the ends of the lines, none over another, in parts of the
 *  height of the panel of bandwidth. */
static int write_labels(struct plot_drawing *d, struct err *e)
{
	const struct plot_line *order[LINES_MAX];
	double at[LINES_MAX], low = -1, high = 1;
	size_t n = 0;
	struct str text = STR_INIT;
	char value[UNITS_REAL_SIZE];
	int rc;

	for (size_t i = 0; i < d->n; i++) {
		const struct plot_line *l = &d->lines[i];

		/* in place only if it ends elsewhere */
		if (is_there(l->end) &&
		    (!l->second || !is_there(l[-1].end) ||
		     fabs(l->end - l[-1].end) > 0.1 * d->most)) {
			order[n++] = l;
		}
	}
	order_sort(order, n, sizeof(*order), by_end);
	for (size_t i = 0; i < n; i++) {
		at[i] = fmax(place_of(d, order[i]->end), low + LABEL_STEP);
		low = at[i];
	}
	for (size_t i = n; i-- > 0; high = at[i] - LABEL_STEP) {
		at[i] = fmin(at[i], high);
	}
	for (size_t i = 0; i < n; i++) {
		const struct plot_line *l = order[i];

		str_addf(&text, "%.4f\t%d\t", value_at(d, at[i]),
			 l->color + 1);
		plot_add_field(l->name, &text);
		str_addf(&text, "  %s%s\n", pic_numeral(l->end, value),
			 l->second ? " in place" : "");
	}
	str_add(&text, n ? "" : "1e-9\t1\t-\n");
	rc = plot_write(&d->plot, "labels", &text, e);
	str_release(&text);
	return rc;
}

static void add_line(struct plot_drawing *d, const struct curve *c,
		     int64_t inplace, int color, const char *suffix)
{
	struct plot_line *l = &d->lines[d->n];

	if (d->n == LINES_MAX) {
		return;
	}
	d->n++;
	*l = (struct plot_line){ .curve = c, .inplace = inplace,
				 .color = color, .end = NAN };
	snprintf(l->name, sizeof(l->name), "%s%s%s",
		 c->reference ? "reference " : "",
		 c->name[0] ? c->name : c->first->op, suffix);
}

/** Both ways of each curve.  @alone: names say which, as there is no other
 *  curve. */
static void add_lines(struct plot_drawing *d, const struct sweep *s, bool alone,
		      int color)
{
	for (size_t i = 0; s && i < s->n_curves && color < CURVES_MAX;
	     i++, color++) {
		const struct curve *c = &s->curves[i];
		bool away = false, here = false;

		for (size_t k = 0; k < c->n; k++) {
			away = away || c->rows[k]->inplace == 0;
			here = here || c->rows[k]->inplace == 1;
		}
		add_line(d, c, away ? 0 : here ? 1 : -1, color,
			 alone && away && here ? ", out of place" : "");
		if (away && here) {
			add_line(d, c, 1, color, alone ? ", in place" : "");
			d->lines[d->n - 1].second = !alone;
			d->both = true;
		}
	}
}

/** Find the ranges of sizes and bandwidth, and the ends of lines. */
static void measure(struct plot_drawing *d)
{
	d->algbw = true;
	d->low = d->least = INFINITY;
	for (size_t i = 0; i < d->n; i++) {
		const struct curve *c = d->lines[i].curve;

		for (size_t k = 0; k < c->n; k++) {
			double size = (double)c->rows[k]->size_B;

			if (!wanted(&d->lines[i], c->rows[k])) {
				continue;
			}
			d->algbw = d->algbw &&
				   !(c->rows[k]->busbw_GB_s > 0);
			d->low = size < d->low ? size : d->low;
			d->high = size > d->high ? size : d->high;
		}
	}
	for (size_t i = 0; i < d->n; i++) {
		struct plot_line *l = &d->lines[i];

		for (size_t k = 0; k < l->curve->n; k++) {
			const struct collective_row *row = l->curve->rows[k];

			if (wanted(l, row) && is_there(bandwidth_of(d, row))) {
				l->end = bandwidth_of(d, row);
				d->most = fmax(d->most, l->end);
				d->least = fmin(d->least, l->end);
			}
		}
	}
}

static int write_title(const struct plot_drawing *d, const struct sweep *s,
		       const struct sweep *reference, const struct verdict *v,
		       struct err *e)
{
	const struct collective_row *row = d->lines[0].curve->first;
	bool same_op = true, same_ranks = row->ranks != RECORD_NONE;
	const bool drill = s->run->drill || (reference && reference->run &&
					     reference->run->drill);
	const bool model = sweep_is_model(s);
	struct str text = STR_INIT;
	char utc[CAPTION_UTC_SIZE];
	int rc;

	for (size_t i = 0; i < s->n_curves; i++) {
		const struct collective_row *other = s->curves[i].first;

		same_op = same_op && strcmp(other->op, row->op) == 0;
		same_ranks = same_ranks && other->ranks == row->ranks;
	}

	if (v && v->status != VERDICT_UNKNOWN) {
		str_addf(&text, "%s: ", v->status == VERDICT_FAIL ? "FAIL" :
			 v->status == VERDICT_WARN ? "WARN" :
			 v->status == VERDICT_PASS ? "PASS" : "PARTIAL");
	}
	str_add(&text, same_op && row->op[0] ? row->op : "collectives");
	if (!same_ranks && row->ranks != RECORD_NONE) {
		str_add(&text, ", several numbers of ranks");
	}
	if (same_ranks) {
		str_addf(&text, ", %lld ranks", (long long)row->ranks);
	}
	if (same_ranks && row->nodes != RECORD_NONE) {
		str_addf(&text, " on %lld node%s", (long long)row->nodes,
			 row->nodes == 1 ? "" : "s");
	}
	caption_utc(s->run->started_utc, utc);
	str_addf(&text, "%s%s%s\n", utc[0] ? ", " : "",
		 utc[0] && run_file(s->run->json).imported ?
			 "imported " : "", utc);
	/* a second line: what a reader must know before the rest, of either
	 * sweep */
	str_add(&text, drill ? "DRILL: faults were injected on purpose" : "");
	if (model || (reference && sweep_is_model(reference))) {
		str_addf(&text, "%s%s%s", drill ? "; " : "",
			 model ? "" : "the reference: ",
			 caption_transport("sim", ""));
	}
	str_add(&text, "\n");
	rc = plot_write(&d->plot, "title", &text, e);
	str_reset(&text);
	for (size_t i = 0; v && i < v->n && i < TITLE_FINDINGS; i++) {
		char says[TITLE_MAX];

		str_copy(says, sizeof(says), v->findings[i].says);
		plot_add_field(says, &text);
		str_add(&text, strlen(v->findings[i].says) >= sizeof(says) ?
				       "...\n" : "\n");
	}
	str_add(&text, text.len ? "" : " \n");
	rc = rc < 0 ? rc : plot_write(&d->plot, "found", &text, e);
	str_release(&text);
	return rc;
}

/** The ceilings that all curves of @s have, the smallest first; returns how
 *  many, 0 if they differ or are not known. */
static int ceilings_of(const struct sweep *s, struct ceiling tops[2])
{
	int n = 0;

	for (size_t i = 0; i < s->n_curves; i++) {
		const struct collective_row *row = curve_peak(&s->curves[i], 0);
		struct ceiling most, least;

		if (!row) {
			continue;
		}
		ceiling_of_row(&s->machine, row, &most, &least);
		if (!(least.GB_s > 0) ||
		    (n > 0 && fabs(least.GB_s - tops[0].GB_s) > 1e-6)) {
			return 0;
		}
		tops[0] = least;
		tops[1] = most;
		n = most.GB_s > least.GB_s ? 2 : 1;
	}
	return n;
}

static int draw(const struct sweep *s, const struct sweep *reference,
		const struct verdict *v, struct plot_drawing *d, struct err *e)
{
	struct str settings = STR_INIT;
	int rc;

	if (write_title(d, s, reference, v, e) < 0 ||
	    write_points(d, PANEL_BW, e) < 0 ||
	    write_points(d, PANEL_RELATIVE, e) < 0 ||
	    write_points(d, PANEL_TIME, e) < 0 || write_marks(d, e) < 0 ||
	    write_labels(d, e) < 0) {
		return -1;
	}
	if (!d->any[PANEL_BW] && !d->any[PANEL_TIME]) {
		return 0;
	}
	str_addf(&settings, "n=%zu; bw=%d; time=%d; rel=%d; algbw=%d; "
		 "pairs=%d; xlow=%.0f; xhigh=%.0f; ylow=%.9g; yhigh=%.9g; "
		 "logy=%d; most=%.9g; label=%d; both=%d; off=%d; bad=%d; "
		 "found=%zu", d->n, d->any[PANEL_BW],
		 d->any[PANEL_TIME], d->any[PANEL_RELATIVE] &&
			 d->lines[d->n - 1].color > 0, d->algbw,
		 s->run && s->run->schema != &schema_collective, d->low,
		 d->high, value_at(d, 0), value_at(d, 1), d->log_scale,
		 d->most, d->label, d->both, d->any_off, d->any_bad,
		 v ? v->n < TITLE_FINDINGS ? v->n : TITLE_FINDINGS : 0);
	for (size_t i = 0; i < d->n; i++) {
		str_addf(&settings, "; ref%zu=%d; c%zu=%d; in%zu=%d", i + 1,
			 d->lines[i].curve->reference, i + 1,
			 d->lines[i].color + 1, i + 1,
			 d->lines[i].inplace == 1 && d->both);
	}
	/* lines of the ceilings, whose names are NCCL's algorithms */
	str_addf(&settings, "; tops=%d", d->n_tops);
	for (int i = 0; i < d->n_tops; i++) {
		str_addf(&settings, "; top%d=%.9g; cap%d=\"%s\"", i + 1,
			 d->tops[i].GB_s, i + 1, d->tops[i].algo);
	}
	rc = plot_draw(&d->plot, curves_script, &settings, "curves", true, e);
	str_release(&settings);
	return rc;
}

int curves_render(const char *dir, const struct sweep *s,
		  const struct sweep *reference, const struct verdict *v,
		  bool log_scale, struct err *e)
{
	struct plot_drawing d = { .log_scale = log_scale };
	sigset_t ends;
	char names[LINES_MAX][LABEL_SIZE];
	size_t n = 0;
	int rc;

	add_lines(&d, s, s->n_curves == 1 && !reference, 0);
	add_lines(&d, reference, false, (int)s->n_curves);
	/* names that fit and still differ; a second line has its first one's */
	for (size_t i = 0; i < d.n; i++) {
		if (!d.lines[i].second) {
			STR_COPY(names[n], d.lines[i].name);
			n++;
		}
	}
	labels_cut(names, n, LABEL_MAX);
	d.label = (int)labels_longest(names, n);
	n = 0;
	for (size_t i = 0; i < d.n; i++) {
		n += !d.lines[i].second;
		STR_COPY(d.lines[i].name, names[n - 1]);
	}
	measure(&d);
	/* the axis has room for the ceilings; bars have none */
	d.n_tops = d.algbw || d.low >= d.high ? 0 : ceilings_of(s, d.tops);
	for (int i = 0; i < d.n_tops; i++) {
		d.most = fmax(d.most, d.tops[i].GB_s);
	}
	if (plot_usable()) {	/* those that cannot be had again stay */
		plot_forget(dir, "curves", "svg");
		plot_forget(dir, "curves", "png");
	}
	if (d.n == 0 || d.high <= 0) {
		return 0;
	}
	if (plot_check("curves", dir, e) != 0) {
		return 1;
	}
	plot_hold_signals(&ends);
	rc = plot_begin(&d.plot, &ends, dir, e);
	if (rc == 0) {
		rc = plot_end(&d.plot, draw(s, reference, v, &d, e), e);
	}
	plot_release_signals(&ends);
	return rc;
}

/* ---- plot ---------------------------------------------------------------- */

#define GNUPLOT_DEADLINE_NS (30 * NS_PER_S)
#define GNUPLOT_MAX_TALK    4096
#define SCRIPT "script.gp"
#define DRIVER "driver.gp"

void plot_hold_signals(sigset_t *ends)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t held;

	sigemptyset(ends);
	pthread_sigmask(SIG_BLOCK, NULL, &held);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction now;

		if (sigaction(signals[i], NULL, &now) == 0 &&
		    now.sa_handler != SIG_IGN &&
		    sigismember(&held, signals[i]) == 0) {
			sigaddset(ends, signals[i]);
		}
	}
	pthread_sigmask(SIG_BLOCK, ends, NULL);
}

void plot_release_signals(const sigset_t *ends)
{
	pthread_sigmask(SIG_UNBLOCK, ends, NULL);
}

bool plot_usable(void)
{
	return spawn_find("gnuplot", NULL, 0);
}

int plot_check(const char *what, const char *dir, struct err *e)
{
	char word[240];

	if (plot_usable()) {
		return 0;
	}
	err_set(e, ENOENT, "no %s: gnuplot is not installed", what);
	err_hint(e, "install it (apt-get install gnuplot-nox), "
		 "then run \"gpucheck report %s\"",
		 str_quoted_dir(dir, word, sizeof(word)));
	return 1;
}

int plot_begin(struct plot *p, const sigset_t *ends, const char *dir,
	       struct err *e)
{
	*p = (struct plot){ .ends = *ends };
	/* A name that begins with '/' is a file to gnuplot, never a pipe. */
	if (!realpath(dir, p->dir)) {
		return err_set(e, errno, "cannot open '%s'", dir);
	}
	if (rundir_path(p->dir, ".plot-XXXXXX", p->folder, e) < 0) {
		return -1;
	}
	if (!mkdtemp(p->folder)) {
		err_set(e, errno, "cannot create '%s'", p->folder);
		p->folder[0] = '\0';
		return -1;
	}
	return 0;
}

void plot_add_field(const char *text, struct str *out)
{
	for (; *text; text++) {
		bool special = *text == '"' || *text == '\\' ||
			       (unsigned char)*text < 0x20;

		str_addch(out, special ? '\'' : *text);
	}
}

/* Scratch files: gone in a second, so not worth a sync to disk. */
static int write_file(const struct plot *p, const char *file,
		      const char *text, size_t n, struct err *e)
{
	char path[PATH_MAX];
	bool whole;
	FILE *f;

	if (rundir_path(p->folder, file, path, e) < 0) {
		return -1;
	}
	f = fopen(path, "we");
	if (!f) {
		return err_set(e, errno, "cannot write '%s'", path);
	}
	whole = fwrite(text, 1, n, f) == n;
	whole = fclose(f) == 0 && whole;
	return whole ? 0 : err_set(e, errno, "cannot write '%s'", path);
}

int plot_write(const struct plot *p, const char *file, const struct str *text,
	       struct err *e)
{
	return text->failed ?
		       err_set(e, ENOMEM, "cannot lay out the picture") :
		       write_file(p, file, str_text(text), text->len, e);
}

/*
 * One gnuplot for both kinds: to start it takes as long as to draw.  It gets
 * the script by "call", which hands on the folder and can be done twice.
 */
static const char driver[] =
	"do for [kind=first:1] {"
	" reset; png = kind; call ARG1.'/" SCRIPT "' ARG1 }\n";

/** DIR/NAME.KIND; 0, or -1 with @e. */
static int picture_path(const char *dir, const char *name, const char *kind,
			char path[PATH_MAX], struct err *e)
{
	char file[PLOT_FILE];

	snprintf(file, sizeof(file), "%s.%s", name, kind);
	return rundir_path(dir, file, path, e);
}

/** The picture of @kind takes its name in the run directory. */
static int publish(const struct plot *p, const char *kind, struct err *e)
{
	char from[PATH_MAX], to[PATH_MAX];

	if (picture_path(p->folder, "picture", kind, from, e) < 0 ||
	    picture_path(p->dir, p->name, kind, to, e) < 0) {
		return -1;
	}
	if (access(from, F_OK) < 0) {
		return err_set(e, errno, "gnuplot made no '%s.%s'", p->name,
			       kind);
	}
	return rename(from, to) < 0 ?
		       err_set(e, errno, "cannot write '%s'", to) : 0;
}

/** A gnuplot without a terminal for PNG has drawn the SVG before it failed. */
static bool svg_is_whole(const struct plot *p)
{
	static const char end[] = "</svg>";
	char path[PATH_MAX], tail[32] = "";
	FILE *f;

	if (rundir_path(p->folder, "picture.svg", path, NULL) < 0 ||
	    (f = fopen(path, "re")) == NULL) {
		return false;
	}
	if (fseek(f, -(long)sizeof(end) - 1, SEEK_END) == 0) {
		tail[fread(tail, 1, sizeof(tail) - 1, f)] = '\0';
	}
	fclose(f);
	return strstr(tail, end) != NULL;
}

void plot_forget(const char *dir, const char *name, const char *kind)
{
	char path[PATH_MAX];

	if (picture_path(dir, name, kind, path, NULL) == 0) {
		unlink(path);
	}
}

int plot_draw(struct plot *p, const char *script, const struct str *settings,
	      const char *name, bool svg, struct err *e)
{
	/* -d: without ~/.gnuplot */
	char program[] = "gnuplot", d_flag[] = "-d", e_flag[] = "-e",
	     c_flag[] = "-c";
	char first[PATH_MAX], where[PATH_MAX];
	struct str text = STR_INIT;
	int rc;

	STR_COPY(p->name, name);
	p->svg = svg;
	if (write_file(p, SCRIPT, script, strlen(script), e) < 0 ||
	    write_file(p, DRIVER, driver, strlen(driver), e) < 0 ||
	    rundir_path(p->folder, DRIVER, first, e) < 0) {
		return -1;
	}
	snprintf(where, sizeof(where), "%s", p->folder);
	str_addf(&text, "first=%d; %s", !p->svg, str_text(settings));
	char *argv[] = {
		program, d_flag, e_flag, text.data, c_flag, first, where, NULL
	};
	rc = text.failed || settings->failed ?
		     err_set(e, ENOMEM, "no memory to draw") :
		     spawn_start(&p->gnuplot, argv, NULL, &p->talk,
				 GNUPLOT_MAX_TALK, e);
	str_release(&text);
	p->drawing = rc == 0;
	p->gnuplot.ends = p->ends;
	p->deadline_ns = clock_now_ns() + GNUPLOT_DEADLINE_NS;
	return rc;
}

int plot_end(struct plot *p, int rc, struct err *e)
{
	struct err *of = rc == 0 ? e : NULL;	/* the first failure is told */
	struct spawn_status st;
	char how[64], path[PATH_MAX];
	struct dirent *entry;
	DIR *d;

	if (p->drawing) {
		spawn_finish(&p->gnuplot, p->deadline_ns, &st);
		p->drawing = false;
		if (st.exit_code == 0) {
			bool svg = !p->svg || publish(p, "svg", of) == 0;

			rc = svg && publish(p, "png", of) == 0 ? rc : -1;
		} else {
			if (p->svg && svg_is_whole(p)) {
				publish(p, "svg", NULL);
			}
			rc = err_set(of, 0, "gnuplot failed (%s): %.200s",
				     spawn_status_text(&st, how, sizeof(how)),
				     str_text(&p->talk));
		}
	}
	if (p->folder[0] != '\0') {
		d = opendir(p->folder);
		while (d && (entry = readdir(d))) {
			if (rundir_path(p->folder, entry->d_name, path,
					NULL) == 0) {
				unlink(path);	/* "." and ".." refuse */
			}
		}
		if (d) {
			closedir(d);
		}
		rmdir(p->folder);
		p->folder[0] = '\0';
	}
	str_release(&p->talk);
	return rc;
}
