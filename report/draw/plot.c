/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "report/draw/draw.h"
#include "report/judge/caption.h"

/* ---- curves -------------------------------------------------------------- */

/** More colours and marks there are not; the rest is in the table. */
#define CURVES_MAX 16
/** A row without a value gets a point far outside the plot. */
#define NO_POINT "1e-9\t1\t1\t1\n"

/** data/gnuplot/curves.gp as text, part of the program. */
__asm__(".section .rodata\n"
	"curves_script:\n"
	".incbin \"data/gnuplot/curves.gp\"\n"
	".byte 0\n"
	".previous\n");
extern const char curves_script[];

/** One line of the picture: a curve, in place or out of place. */
struct plot_line {
	const struct curve *curve;
	int64_t inplace;	/* -1 = whatever there is */
	char name[200];
};

struct plot_drawing {
	struct plot_line lines[CURVES_MAX];
	size_t n;
	bool algbw;		/* there is no bus bandwidth at all */
	bool away;		/* all lines are of what was out of place */
	bool any_bw, any_time;
	double low, high;	/* sizes */
	struct plot plot;
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

/** Write a file for each line: its name, then time or bandwidth of its rows.
 *  *@any is set if there are any. */
static int write_points(struct plot_drawing *d, bool time, bool *any,
			struct err *e)
{
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
			const struct collective_row *row = l->curve->rows[k];
			/* the bandwidth has the same relation to its ends as
			 * the time */
			const double bw = d->algbw ? row->algbw_GB_s :
						     row->busbw_GB_s;
			const double all = bw * row->time_us;
			const double value = time ? row->time_us : bw;
			const double low = time ? row->time_min_us :
						  all / row->time_p99_us;
			const double high = time ? row->time_p99_us :
						   all / row->time_min_us;

			if (wanted(l, row) && is_there(value)) {
				str_addf(&text, "%lld\t%.9g\t%.9g\t%.9g\n",
					 (long long)row->size_B, value,
					 is_there(low) ? low : value,
					 is_there(high) ? high : value);
				points = true;
			}
		}
		str_add(&text, points ? "" : NO_POINT);
		*any = *any || points;
		snprintf(name, sizeof(name), "%s%zu", time ? "time" : "bw",
			 i + 1);
		rc = plot_write(&d->plot, name, &text, e);
	}
	str_release(&text);
	return rc;
}

static void add_line(struct plot_drawing *d, const struct curve *c,
		     int64_t inplace, const char *suffix)
{
	if (d->n < CURVES_MAX) {
		struct plot_line *l = &d->lines[d->n++];

		l->curve = c;
		l->inplace = inplace;
		d->away = d->away && inplace == 0;
		snprintf(l->name, sizeof(l->name), "%s%s%s",
			 c->reference ? "reference " : "",
			 c->name[0] ? c->name : c->first->op, suffix);
	}
}

/** A single curve shows both ways; several are told apart better by one. */
static void add_lines(struct plot_drawing *d, const struct sweep *s, bool alone)
{
	for (size_t i = 0; s && i < s->n_curves; i++) {
		const struct curve *c = &s->curves[i];
		bool away = false, here = false;

		for (size_t k = 0; k < c->n; k++) {
			away = away || c->rows[k]->inplace == 0;
			here = here || c->rows[k]->inplace == 1;
		}
		add_line(d, c, away ? 0 : here ? 1 : -1,
			 alone && away && here ? ", out of place" : "");
		if (alone && away && here) {
			add_line(d, c, 1, ", in place");
		}
	}
}

static void measure(struct plot_drawing *d)
{
	d->algbw = true;
	d->low = INFINITY;
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
}

static int write_title(const struct plot_drawing *d, const struct sweep *s,
		       const struct sweep *reference, struct err *e)
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

	str_add(&text, same_op && row->op[0] ? row->op : "collectives");
	if (same_ranks) {
		str_addf(&text, ", %lld ranks", (long long)row->ranks);
	}
	if (same_ranks && row->nodes != RECORD_NONE) {
		str_addf(&text, " on %lld node%s", (long long)row->nodes,
			 row->nodes == 1 ? "" : "s");
	}
	if (s->n_curves > 1 && d->away) {
		str_add(&text, ", out of place");
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
	str_release(&text);
	return rc;
}

static int draw(const struct sweep *s, const struct sweep *reference,
		struct plot_drawing *d, struct err *e)
{
	struct str settings = STR_INIT;
	int rc;

	if (write_title(d, s, reference, e) < 0 ||
	    write_points(d, false, &d->any_bw, e) < 0 ||
	    write_points(d, true, &d->any_time, e) < 0) {
		return -1;
	}
	if (!d->any_bw && !d->any_time) {
		return 0;
	}
	/* a range of one size is no range */
	str_addf(&settings, "n=%zu; bw=%d; time=%d; algbw=%d; "
		 "xlow=%.0f; xhigh=%.0f", d->n, d->any_bw, d->any_time,
		 d->algbw,
		 d->low == d->high && d->low > 1 ? d->low / 2 : d->low,
		 d->low == d->high ? d->high * 2 : d->high);
	for (size_t i = 0; i < d->n; i++) {
		str_addf(&settings, "; ref%zu=%d", i + 1,
			 d->lines[i].curve->reference);
	}
	rc = plot_draw(&d->plot, curves_script, &settings, "curves", true, e);
	str_release(&settings);
	return rc;
}

int curves_render(const char *dir, const struct sweep *s,
		  const struct sweep *reference, struct err *e)
{
	struct plot_drawing d = { .away = true };
	struct plot_signals signals;
	int rc;

	add_lines(&d, s, s->n_curves == 1);
	add_lines(&d, reference, false);
	measure(&d);
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
	plot_hold_signals(&signals);
	rc = plot_begin(&d.plot, &signals, dir, e);
	if (rc == 0) {
		rc = plot_end(&d.plot, draw(s, reference, &d, e), e);
	}
	plot_release_signals(&signals);
	return rc;
}

/* ---- plot ---------------------------------------------------------------- */

#define GNUPLOT_DEADLINE_NS (30 * NS_PER_S)
#define GNUPLOT_MAX_TALK    4096
#define SCRIPT "script.gp"
#define DRIVER "driver.gp"

void plot_hold_signals(struct plot_signals *s)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	sigemptyset(&s->ends);
	pthread_sigmask(SIG_BLOCK, NULL, &s->were);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction now;

		if (sigaction(signals[i], NULL, &now) == 0 &&
		    now.sa_handler != SIG_IGN &&
		    sigismember(&s->were, signals[i]) == 0) {
			sigaddset(&s->ends, signals[i]);
		}
	}
	pthread_sigmask(SIG_BLOCK, &s->ends, NULL);
}

void plot_release_signals(const struct plot_signals *s)
{
	pthread_sigmask(SIG_SETMASK, &s->were, NULL);
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

int plot_begin(struct plot *p, const struct plot_signals *s, const char *dir,
	       struct err *e)
{
	*p = (struct plot){ .ends = s->ends };
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
