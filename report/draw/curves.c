/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/draw.h"

#include <string.h>

#include "report/judge/caption.h"
#include "report/draw/plot.h"

/** More colours and marks there are not; the rest is in the table. */
#define CURVES_MAX 16
/** What has no point gets one that is never in sight. */
#define NO_POINT "1e-9\t1\t1\t1\n"

/** data/gnuplot/curves.gp as text, part of the program. */
__asm__(".section .rodata\n"
	"curves_script:\n"
	".incbin \"data/gnuplot/curves.gp\"\n"
	".byte 0\n"
	".previous\n");
extern const char curves_script[];

/** One line of the picture: a curve, in place or out of place. */
struct line {
	const struct curve *curve;
	int64_t inplace;	/* -1 = whatever there is */
	char name[200];
};

struct drawing {
	struct line lines[CURVES_MAX];
	size_t n;
	bool algbw;		/* there is no bus bandwidth at all */
	bool away;		/* all lines are of what was out of place */
	bool any_bw, any_time;
	double low, high;	/* sizes */
	struct plot plot;
};

struct point {
	double value, low, high;
};

/** Of a row its time, or its bandwidth, which is to the ends as the time is. */
static struct point point_of(const struct drawing *d,
			     const struct collective_row *row, bool time)
{
	double bw = d->algbw ? row->algbw_GB_s : row->busbw_GB_s;

	return time ? (struct point){ .value = row->time_us,
				      .low = row->time_min_us,
				      .high = row->time_p99_us } :
		      (struct point){
			      .value = bw,
			      .low = bw * row->time_us / row->time_p99_us,
			      .high = bw * row->time_us / row->time_min_us };
}

static bool is_there(double value)
{
	return isfinite(value) && value > 0;
}

static bool wanted(const struct line *l, const struct collective_row *row)
{
	return row->outcome == OUTCOME_OK && row->size_B > 0 &&
	       (l->inplace < 0 || row->inplace == l->inplace);
}

/** The points of one line, behind a line with its name; were there any? */
static bool add_points(const struct drawing *d, const struct line *l,
		       bool time, struct str *out)
{
	bool any = false;

	str_add(out, "size\t");
	plot_add_field(l->name, out);
	str_add(out, "\n");
	for (size_t i = 0; i < l->curve->n; i++) {
		const struct collective_row *row = l->curve->rows[i];
		struct point p = point_of(d, row, time);

		if (wanted(l, row) && is_there(p.value)) {
			str_addf(out, "%lld\t%.9g\t%.9g\t%.9g\n",
				 (long long)row->size_B, p.value,
				 is_there(p.low) ? p.low : p.value,
				 is_there(p.high) ? p.high : p.value);
			any = true;
		}
	}
	if (!any) {
		str_add(out, NO_POINT);
	}
	return any;
}

static int write_points(struct drawing *d, bool time, bool *any,
			struct err *e)
{
	struct str text = STR_INIT;
	char name[32];
	int rc = 0;

	for (size_t i = 0; i < d->n && rc == 0; i++) {
		str_reset(&text);
		*any = add_points(d, &d->lines[i], time, &text) || *any;
		snprintf(name, sizeof(name), "%s%zu", time ? "time" : "bw",
			 i + 1);
		rc = plot_write(&d->plot, name, &text, e);
	}
	str_release(&text);
	return rc;
}

static bool has_inplace(const struct curve *c, int64_t inplace)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->rows[i]->inplace == inplace) {
			return true;
		}
	}
	return false;
}

static void add_line(struct drawing *d, const struct curve *c, int64_t inplace,
		     const char *suffix)
{
	if (d->n < CURVES_MAX) {
		struct line *l = &d->lines[d->n++];

		l->curve = c;
		l->inplace = inplace;
		d->away = d->away && inplace == 0;
		snprintf(l->name, sizeof(l->name), "%s%s%s",
			 c->reference ? "reference " : "",
			 c->name[0] ? c->name : c->first->op, suffix);
	}
}

/** A single curve shows both ways; several are told apart better by one. */
static void add_lines(struct drawing *d, const struct sweep *s, bool alone)
{
	for (size_t i = 0; s && i < s->n_curves; i++) {
		const struct curve *c = &s->curves[i];
		bool away = has_inplace(c, 0), here = has_inplace(c, 1);

		add_line(d, c, away ? 0 : here ? 1 : -1,
			 alone && away && here ? ", out of place" : "");
		if (alone && away && here) {
			add_line(d, c, 1, ", in place");
		}
	}
}

static void measure(struct drawing *d)
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

/** A second line of the title: what must be known before the rest is believed,
 *  of either sweep. */
static void add_notes(const struct sweep *s, const struct sweep *reference,
		      struct str *out)
{
	bool drill = s->run->drill ||
		     (reference && reference->run && reference->run->drill);
	bool model = sweep_is_model(s);

	if (drill) {
		str_add(out, "DRILL: faults were injected on purpose");
	}
	if (model || (reference && sweep_is_model(reference))) {
		str_addf(out, "%s%s%s", drill ? "; " : "",
			 model ? "" : "the reference: ",
			 caption_transport("sim", ""));
	}
	str_add(out, "\n");
}

static int write_title(const struct drawing *d, const struct sweep *s,
		       const struct sweep *reference, struct err *e)
{
	const struct collective_row *row = d->lines[0].curve->first;
	bool same_op = true, same_ranks = row->ranks != RECORD_NONE;
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
		 utc[0] && json_object_get(s->run->json, "imported") ?
			 "imported " : "", utc);
	add_notes(s, reference, &text);
	rc = plot_write(&d->plot, "title", &text, e);
	str_release(&text);
	return rc;
}

static int paint(struct drawing *d, struct err *e)
{
	struct str settings = STR_INIT;
	int rc;

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

static int draw(const struct sweep *s, const struct sweep *reference,
		struct drawing *d, struct err *e)
{
	if (write_title(d, s, reference, e) < 0 ||
	    write_points(d, false, &d->any_bw, e) < 0 ||
	    write_points(d, true, &d->any_time, e) < 0) {
		return -1;
	}
	return d->any_bw || d->any_time ? paint(d, e) : 0;
}

int curves_render(const char *dir, const struct sweep *s,
		  const struct sweep *reference, struct err *e)
{
	struct drawing d = { .away = true };
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
