/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of a collective, as one of the kinds of run that can be judged. */
#include <inttypes.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/data/cells.h"
#include "lib/spec/spec.h"
#include "report/base/wrap.h"
#include "report/judge/caption.h"
#include "report/judge/pairs.h"
#include "report/show/html_page.h"
#include "report/show/judged.h"

/* ---- collective table ---------------------------------------------------- */

/** Columns of the whole table; without count, type, reduction and root 78. */
#define TABLE_WIDTH 118
#define NAME_WIDTH 12
#define LEAD_WIDTH 10

/** @value with as many digits behind the point as fit @width, "-" when it was
 *  not measured. */
static void add_real(double value, int width, struct str *out)
{
	char text[UNITS_REAL_SIZE];
	int digits = 3;

	if (!isfinite(value)) {
		str_addf(out, "%*s", width, "-");
		return;
	}
	do {
		units_real_text(value, --digits, text);
	} while (digits > 0 && (int)strlen(text) > width);
	if (value < 1 && (int)strlen(text) > width) {
		snprintf(text, sizeof(text), "%.1g", value);
	}
	str_addf(out, "%*s", width, text);
}

static void add_int(int64_t value, int width, const char *none,
		    struct str *out)
{
	if (value == RECORD_NONE) {
		str_addf(out, "%*s", width, none);
	} else {
		str_addf(out, "%*" PRId64, width, value);
	}
}

static void add_half(const struct collective_row *row, struct str *out)
{
	if (!row) {
		str_addf(out, "  %7s  %6s  %6s  %6s", "-", "-", "-", "N/A");
		return;
	}
	str_add(out, "  ");
	add_real(row->time_us, 7, out);
	str_add(out, "  ");
	add_real(row->algbw_GB_s, 6, out);
	str_add(out, "  ");
	add_real(row->busbw_GB_s, 6, out);
	add_int(row->wrong, 8, "N/A", out);
}

static const char *or_dash(const char *text)
{
	return text[0] ? text : "-";
}

/** Elements that are wrong, and the mean of the bandwidths, as far as they were
 *  looked at. */
static void add_summary(const struct run *run, const struct curve *c,
			struct str *out)
{
	const struct run_file f = run_file(run->json);
	const json_t *mean;
	size_t checked = 0, n = 0;
	int64_t wrong = 0, verified = 0, bad = 0;
	double sum = 0;
	bool whole = true;

	for (size_t i = 0; i < c->n; i++) {
		whole = whole && (!f.imported || c->rows[i]->size_B >= 0);
		if (c->rows[i]->wrong != RECORD_NONE) {
			wrong += c->rows[i]->wrong;
			checked++;
		}
		if (c->rows[i]->verified != RECORD_NONE) {
			verified += c->rows[i]->verified;
			bad += c->rows[i]->verified_wrong;
		}
		if (isfinite(c->rows[i]->busbw_GB_s)) {
			sum += c->rows[i]->busbw_GB_s;
			n++;
		}
	}
	if (checked == 0) {
		str_add(out, "# Out of bounds values : N/A, not checked\n");
	} else {
		str_addf(out, "# Out of bounds values : %" PRId64 " %s\n",
			 wrong, wrong ? "FAILED" : whole ? "OK" :
				"where measured: the log ends early");
	}
	if (verified > 0) {
		str_addf(out, "# Verified operations  : %" PRId64 ", %" PRId64
			 " wrong\n", verified, bad);
	}
	/* of an imported table what stands below it, if that was there */
	n = f.imported ? 0 : n;
	for (size_t i = 0; (mean = json_array_get(f.means, i)); i++) {
		const char *of[2] = { NULL, NULL };

		json_unpack((json_t *)(uintptr_t)mean, "{s:s, s:s}", "table",
			    &of[0], "variant", &of[1]);
		if (of[0] && strcmp(of[0], c->first->table) == 0 && of[1] &&
		    strcmp(of[1], c->first->variant) == 0) {
			sum = json_number_value(json_object_get(mean, "GB_s"));
			n = 1;
		}
	}
	if (n > 0) {
		str_addf(out, "# Avg bus bandwidth    : %.6g\n",
			 sum / (double)n);
	}
}

/** A table as nccl-tests prints it; a narrow one lacks columns. */
static void add_curve(const struct run *run, const struct sweep *s,
		      const struct curve *c, bool narrow, struct str *out)
{
	struct str share = STR_INIT;

	static const char names[] = "     time   algbw   busbw  #wrong";
	static const char units[] = "     (us)  (GB/s)  (GB/s)";

	if (narrow) {
		/* add the settings common to all lines above the table */
		str_addf(out, "# %s%s%s", or_dash(c->first->dtype),
			 c->first->redop[0] ? ", " : "", c->first->redop);
		if (c->first->root != RECORD_NONE && c->first->root >= 0) {
			str_addf(out, ", root %" PRId64, c->first->root);
		}
		str_addch(out, '\n');
	}
	if (c->name[0]) {
		str_addf(out, "# %s\n", c->name);
	}
	curve_share_words(s, c, &share);
	if (share.len > 0) {
		str_addf(out, "# %s\n", str_text(&share));
	}
	str_release(&share);
	str_addf(out, "#%*s%-*s%s\n", narrow ? 17 : 62, "", narrow ? 33 : 34,
		 "out-of-place", "in-place");
	str_addf(out, "#       size%s%s%s\n", narrow ? "" :
		 "         count      type   redop    root", names, names);
	str_addf(out, "#        (B)%-*s%s%8s%s\n", narrow ? 0 : 40,
		 narrow ? "" : "    (elements)", units, "", units);
	for (size_t i = 0; i < c->n; i++) {
		const struct collective_row *row = c->rows[i];
		const struct collective_row *here = curve_at(c, row->size_B, 1);
		const struct collective_row *away = curve_at(c, row->size_B, 0);

		if (i > 0 && row->size_B == c->rows[i - 1]->size_B) {
			continue;
		}
		add_int(row->size_B, 12, "-", out);
		if (!narrow) {
			add_int(row->count, 14, "-", out);
			str_addf(out, "  %8s  %6s", or_dash(row->dtype),
				 or_dash(row->redop));
			add_int(row->root, 8, "-", out);
		}
		/* a table that does not say which is shown out of place */
		add_half(away ? away : here ? NULL : row, out);
		add_half(here, out);
		str_addch(out, '\n');
	}
	add_summary(run, c, out);
}

/* The curves that can be compared with @of, itself among them, @max at most;
 * returns how many. */
static size_t collective_comparable(const struct sweep *s,
				    const struct curve *of,
				    const struct curve *list[], size_t max)
{
	size_t n = 0;

	for (size_t k = 0; k < s->n_curves && n < max; k++) {
		if (curve_same_op(&s->curves[k], of)) {
			list[n++] = &s->curves[k];
		}
	}
	return n;
}

/** Words of --stat below a comparison. */
static const char *stat_words(enum spec_stat stat)
{
	static const char *const words[] = {
		[STAT_BEST] = "the better of in place (i) and out of place (o)",
		[STAT_MIN] = "by the longest operation, in place (i) or out of "
			     "place (o)",
		[STAT_AVG] = "the average of in place and out of place",
		[STAT_MAX] = "by the shortest operation, in place (i) or out "
			     "of place (o)",
	};

	return words[stat];
}

/** "i" in place, "o" out of place, "" if both or not known. */
static const char *place_letter(double GB_s, int64_t inplace)
{
	return !isfinite(GB_s) || inplace == RECORD_NONE ? "" :
	       inplace ? "i" : "o";
}

/* Show curves that can be compared with @of, the first of them, side by side,
 * the best of a size marked, in @width columns. */
static void collective_compare(const struct sweep *s, const struct curve *of,
			       enum spec_stat stat, int width, struct str *out)
{
	const size_t room = width > LEAD_WIDTH + NAME_WIDTH ?
			(size_t)((width - LEAD_WIDTH) / NAME_WIDTH) :
			1;
	const struct curve *list[SWEEP_CURVES_MAX];
	size_t n = collective_comparable(s, of, list, SWEEP_CURVES_MAX);
	char size[32];

	str_addf(out, "\n%s, GB/s by size, %s\n  * is the fastest, = cannot be "
		 "told apart\n",
		 of->first->op[0] ? of->first->op : "bandwidth",
		 stat_words(stat));
	for (size_t i = 0; i < n; i++) {
		str_addf(out, "  %zu = %s\n", i + 1, list[i]->name);
	}
	for (size_t from = 0; from < n; from += room) {
		size_t to = from + room < n ? from + room : n;

		str_addf(out, "%s%*s", from ? "\n" : "", LEAD_WIDTH, "size");
		for (size_t i = from; i < to; i++) {
			str_addf(out, "%*zu  ", NAME_WIDTH - 2, i + 1);
		}
		str_addch(out, '\n');
		for (int64_t at = sweep_next_size(s, of, -1); at >= 0;
		     at = sweep_next_size(s, of, at)) {
			const struct curve *best = sweep_fastest(s, of, at);
			char mark = best && sweep_keep_up(s, best, at) > 1 ?
					    '=' : '*';

			str_addf(out, "%*s", LEAD_WIDTH,
				 units_size_text((uint64_t)at, size,
						 sizeof(size)));
			for (size_t i = from; i < to; i++) {
				const bool fast = best && curve_keeps_up(
					list[i], best, at);
				int64_t inplace;
				const double bw = curve_cell_at(
					list[i], at, stat, &inplace);
				const char *letter = place_letter(bw, inplace);

				add_real(bw, NAME_WIDTH - 2, out);
				str_addf(out, "%s%c%s", letter,
					 fast ? mark : ' ',
					 letter[0] ? "" : " ");
			}
			str_addch(out, '\n');
		}
	}
}

/** Append the curves that are as fast as @best, the fastest, at the sizes
 *  @from to @to. */
static void add_range(const struct sweep *s, const struct curve *best,
		      int64_t from, int64_t to, struct str *out)
{
	size_t n = sweep_keep_up(s, best, from), named = 0;
	char a[32], b[32];

	units_size_text((uint64_t)from, a, sizeof(a));
	units_size_text((uint64_t)to, b, sizeof(b));
	str_addf(out, "%s%s%s%s: ", out->len ? "; " : "fastest at ", a,
		 from == to ? "" : " to ", from == to ? "" : b);
	if (n > 2) {
		str_addf(out, "%zu alike", n);
		return;
	}
	for (size_t k = 0; k < s->n_curves; k++) {
		if (curve_keeps_up(&s->curves[k], best, from)) {
			str_addf(out, "%s%s", named++ ? " and " : "",
				 s->curves[k].name);
		}
	}
	str_add(out, n == 2 ? " alike" : "");
}

void collective_crossovers(const struct sweep *s, const struct curve *of,
			   struct str *out)
{
	const struct curve *lead = NULL;	/* at the sizes from ... to */
	int64_t from = 0, to = 0;

	for (int64_t at = sweep_next_size(s, of, -1); at >= 0;
	     at = sweep_next_size(s, of, at)) {
		const struct curve *best = sweep_fastest(s, of, at);
		bool same = lead;	/* the same curves are the fastest */

		for (size_t k = 0; k < s->n_curves && best && same; k++) {
			const struct curve *c = &s->curves[k];

			same = curve_keeps_up(c, lead, from) ==
			       curve_keeps_up(c, best, at);
		}
		if (!best) {
			continue;
		}
		if (!same && lead) {
			add_range(s, lead, from, to, out);
		}
		from = same ? from : at;
		lead = same ? lead : best;
		to = at;
	}
	if (lead) {
		add_range(s, lead, from, to, out);
	}
}

/* One sentence: how @c compares with its partner in @reference. */
static void collective_beside(const struct sweep *s, const struct curve *c,
			      const struct sweep *reference, struct str *out)
{
	struct str sizes = STR_INIT;
	struct curve_diff d;
	int rc = curve_compare_with(c, s, reference, &d);

	if (rc == 0) {
		str_addf(out, "%s: no curve of the reference has the same "
			 "collective, ranks and type", curve_words(c));
	} else if (rc > 0) {
		str_addf(out, "%s against the reference%s%s%s: %zu of %zu sizes "
			 "slower, %zu faster, %zu the same within noise",
			 curve_words(c), d.then->name[0] ? " " : "",
			 d.then->name,
			 d.shares ? ", by shares of their ceilings" : "",
			 d.count[POINT_WORSE] + d.count[POINT_LOST], d.n,
			 d.count[POINT_BETTER], d.count[POINT_SAME]);
		if (d.count[POINT_NOISY] > 0) {
			str_addf(out, ", %zu outliers", d.count[POINT_NOISY]);
		}
		curve_diff_sizes(&d, POINT_NOISY, &sizes);
		str_addf(out, sizes.len ? " (%s)" : "%s", str_text(&sizes));
		curve_diff_release(&d);
	}
	str_release(&sizes);
}

/* ---- html collective ----------------------------------------------------- */

/* report.html of a collective. */

/** results.csv has more. */
#define MAX_CURVES   64

static void add_table(const struct sweep *s, const struct curve *c,
		      struct str *out)
{
	struct str share = STR_INIT;

	static const char *const names[] = {
		"size, B", "count", "type", "redop", "place", "time, µs",
		"shortest", "99 %", "algbw, GB/s", "busbw, GB/s", "wrong",
		"algo", "proto", "outcome", "why", NULL
	};
	char size[UNITS_REAL_SIZE], count[UNITS_REAL_SIZE];
	char time[UNITS_REAL_SIZE], least[UNITS_REAL_SIZE];
	char most[UNITS_REAL_SIZE], algbw[UNITS_REAL_SIZE];
	char busbw[UNITS_REAL_SIZE], wrong[UNITS_REAL_SIZE];

	html_element(out, "h3", c->name[0] ? c->name : c->first->op);
	curve_share_words(s, c, &share);
	if (share.len > 0) {
		html_element(out, "p", str_text(&share));
	}
	str_release(&share);
	html_header_row(names, out);
	for (size_t i = 0; i < c->n; i++) {
		const struct collective_row *r = c->rows[i];
		struct str why = STR_INIT;

		str_addf(&why, "%s%s%s", r->code,
			 r->code[0] && r->detail[0] ? ": " : "", r->detail);
		html_row((const char *const[]){
			html_int(r->size_B, size), html_int(r->count, count),
			r->dtype, r->redop, r->inplace == RECORD_NONE ? "" :
					    r->inplace ? "in" : "out of",
			html_real(r->time_us, 2, time),
			html_real(r->time_min_us, 2, least),
			html_real(r->time_p99_us, 2, most),
			html_real(r->algbw_GB_s, 2, algbw),
			html_real(r->busbw_GB_s, 2, busbw),
			html_int(r->wrong, wrong), r->algo, r->proto,
			outcome_name(r->outcome), str_text(&why), NULL
		}, out);
		str_release(&why);
	}
	str_add(out, "</table>\n");
}

static void add_comparison(const struct sweep *s, const struct curve *of,
			   enum spec_stat stat, struct str *out)
{
	const char *names[MAX_CURVES + 2] = { "size" };
	const struct curve *list[MAX_CURVES];
	size_t n = collective_comparable(s, of, list, MAX_CURVES);
	char size[32], number[UNITS_REAL_SIZE];
	struct str text = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		names[i + 1] = list[i]->name;
	}
	str_add(out, "<p>");
	html_text(out, of->first->op[0] ? of->first->op : "bandwidth");
	str_addf(out, ", GB/s by size, %s; * is the fastest, = cannot be told "
		 "apart</p>\n", stat_words(stat));
	html_header_row(names, out);
	for (int64_t at = sweep_next_size(s, of, -1); at >= 0;
	     at = sweep_next_size(s, of, at)) {
		const struct curve *best = sweep_fastest(s, of, at);
		char mark = best && sweep_keep_up(s, best, at) > 1 ? '=' : '*';

		str_add(out, "<tr>");
		html_element(out, "td", units_size_text((uint64_t)at, size,
							sizeof(size)));
		for (size_t i = 0; i < n; i++) {
			int64_t inplace;
			const double GB_s = curve_cell_at(list[i], at, stat,
							  &inplace);
			const char *letter = place_letter(GB_s, inplace);
			const char *bw = html_real(GB_s, 2, number);

			if (best && bw[0] &&
			    curve_keeps_up(list[i], best, at)) {
				str_addf(out, "<td><strong>%s %s%c</strong>"
					 "</td>", bw, letter, mark);
			} else {
				str_addf(out, "<td>%s %s</td>", bw, letter);
			}
		}
		str_add(out, "</tr>\n");
	}
	str_add(out, "</table>\n");
	collective_crossovers(s, of, &text);
	if (text.len > 0) {
		html_element(out, "p", str_text(&text));
	}
	str_release(&text);
}

/* Body of judged_kind.html. */
static void collective_html(const struct judged *j, const char *dir,
			    struct str *out)
{
	const struct collective_pair *both = j->more;
	const struct sweep *s = &both->now;
	struct str text = STR_INIT;
	char word[PATH_MAX];

	html_element(out, "h2", "Curves");
	/* a gnuplot that failed may have drawn this one */
	if (!html_picture(dir, "curves.svg", "bandwidth and time by size",
			  out)) {
		str_addf(&text, "Not drawn: gnuplot is missing or failed. "
			 "Draw them where gnuplot works: \"gpucheck report "
			 "%s\".", str_quoted_dir(dir, word, sizeof(word)));
		html_element(out, "p", j->verdict.cells[CELL_PASS] == 0 ?
			     "Nothing to draw: no size was measured." :
			     str_text(&text));
		str_reset(&text);
	}
	for (size_t i = 0; i < s->n_curves; i++) {
		if (sweep_leads(s, i)) {
			add_comparison(s, &s->curves[i], j->ask.stat,
				       &text);
		}
	}
	if (text.len > 0 || both->reference) {
		html_element(out, "h2", "Comparison");
	}
	str_add(out, str_text(&text));
	for (size_t i = 0; both->reference && i < s->n_curves; i++) {
		str_reset(&text);
		collective_beside(s, &s->curves[i], both->reference, &text);
		html_element(out, "p", str_text(&text));
	}
	str_release(&text);
	html_element(out, "h2", "Table");
	for (size_t i = 0; i < s->n_curves && i < MAX_CURVES; i++) {
		add_table(s, &s->curves[i], out);
	}
	if (s->n_curves > MAX_CURVES) {
		str_addf(out, "<p>%zu more are in results.csv.</p>\n",
			 s->n_curves - MAX_CURVES);
	}
}

/* ---- judged collective --------------------------------------------------- */

static void release(void *more)
{
	struct collective_pair *s = more;

	sweep_release(&s->now);
	sweep_release(&s->read);
}

static int judge(const char *dir, struct judged *j, struct err *e)
{
	struct collective_pair *s = j->more;
	const char *reference = j->ask.reference;

	if (sweep_read(dir, &j->run, &s->now, e) < 0 ||
	    accept_parse(j->ask.accept, &j->run.accept, &j->run.n_accept,
			 e) < 0) {
		return -1;
	}
	if (!reference[0]) {	/* what the run itself was given */
		reference = run_file(j->run.json).typed.reference;
	}
	if (reference[0] && sweep_reference(reference, &s->read, e) < 0) {
		return -1;
	}
	s->reference = reference[0] ? &s->read : NULL;
	return collective_judge(&j->run, &s->now, s->reference, &j->verdict);
}

/** "allreduce on 2 nodes with 16 GPUs: nccl, <UTC>", as far as run.json, maybe
 *  of tables that were imported, tells; and the rows by outcome. */
static bool head(const struct judged *j, int i, char *buf, size_t size)
{
	const struct collective_pair *both = j->more;
	const struct run_file f = run_file(j->run.json);
	const size_t n = json_array_size(f.nodes);
	struct str what = STR_INIT;
	char utc[CAPTION_UTC_SIZE];
	json_int_t gpus = 0;

	if (i == 1) {
		caption_count("row", j->verdict.cells,
			      cell_class_name(CELL_SLOW), buf, size);
	}
	if (i == 2 && both->now.n_curves > 0) {
		curve_share_words(&both->now, sweep_peak(&both->now), &what);
		str_copy(buf, size, str_text(&what));
		i = what.len > 0 ? 1 : i;
		str_release(&what);
	}
	if (i > 0) {
		return i < 2;
	}
	for (size_t k = 0; k < n; k++) {
		gpus += run_entry(f.nodes, k).gpus;
	}
	str_add(&what, j->run.probe);
	if (n > 0) {
		str_addf(&what, " on %zu node%s with %lld %s%s", n,
			 n == 1 ? "" : "s", (long long)gpus,
			 spec_transport_rank(j->run.transport),
			 gpus == 1 ? "" : "s");
	}
	str_addf(&what, ": %s", j->run.transport[0] ? j->run.transport :
		 f.imported ? "imported" : "no transport");
	caption_utc(j->run.started_utc, utc);
	str_addf(&what, "%s%s", utc[0] ? ", " : "", utc);
	str_copy(buf, size, str_text(&what));
	str_release(&what);
	return true;
}

/** Put the published latency of 8 GPUs on each of @nodes nodes into *@l;
 *  returns how it is known.  NCCL's trees pass log2 of the nodes, so that other
 *  numbers of nodes follow from those of one and of two.  NULL: not known. */
static const char *latency_of(const struct expected *x, int64_t nodes,
			      struct expected_latency *l)
{
	const struct expected_latency *one = NULL, *two = NULL;
	double steps = floor(log2((double)nodes));

	for (const struct expected_latency *i = x->latencies;
	     i < x->latencies + EXPECTED_LATENCIES && i->nodes; i++) {
		if (i->nodes == nodes) {
			*l = *i;
			return "published runs";
		}
		one = i->nodes == 1 ? i : one;
		two = i->nodes == 2 ? i : two;
	}
	if (!one || !two) {
		return NULL;
	}
	l->low = one->low + steps * (two->low - one->low);
	l->high = one->high + steps * (two->high - one->high);
	return "extrapolated from 1 and 2 nodes, runs";
}

/** The latency of the smallest allreduce of 8 GPUs per node beside published
 *  ones. */
static bool latency_note(const struct judged *j, char *buf, size_t size)
{
	const struct collective_pair *both = j->more;
	const struct collective_row *row = NULL;
	struct expected_latency l;
	const char *how;
	int64_t nodes;

	for (size_t k = 0; k < both->now.n; k++) {
		const struct collective_row *r = &both->now.rows[k];

		if (strcmp(r->op, "allreduce") == 0 && r->size_B == 8 &&
		    r->outcome == OUTCOME_OK && r->time_us > 0 &&
		    (!row || r->time_us < row->time_us)) {
			row = r;
		}
	}
	nodes = row ? machine_nodes(&both->now.machine, row) : 0;
	how = nodes < 1 || row->ranks != 8 * nodes ||
			      sweep_is_model(&both->now) ||
			      spec_transport_is(j->run.transport,
						XPORT_SHARED_CORES) ?
		      NULL : latency_of(&j->run.expected, nodes, &l);
	if (!how) {
		return false;
	}
	snprintf(buf, size, "note: 8 B take %.1f us; %s of 8 GPUs on %lld "
		 "node%s take %g to %g us", row->time_us, how, (long long)nodes,
		 nodes == 1 ? "" : "s each", l.low, l.high);
	return true;
}

/** The verdict of large messages without the algorithm uses the lower bound. */
static bool algorithm_note(const struct judged *j, char *buf, size_t size)
{
	const struct sweep *s = &((const struct collective_pair *)j->more)->now;

	for (size_t i = 0; i < s->n_curves; i++) {
		const struct collective_row *row =
			curve_peak(&s->curves[i], CEILING_LARGE_B);
		struct ceiling most, least;

		if (!row || s->curves[i].reference) {
			continue;
		}
		ceiling_of_row(&s->machine, row, &most, &least);
		if (most.GB_s > least.GB_s) {
			snprintf(buf, size, "note: the verdict uses the bound "
				 "of %s, the lower one, because NCCL's "
				 "algorithm is not known: half of what %s "
				 "reaches would pass; NCCL_DEBUG=INFO "
				 "NCCL_DEBUG_SUBSYS=TUNING logs the algorithm",
				 least.algo, most.algo);
			return true;
		}
	}
	return false;
}

static bool note(const struct judged *j, int i, char *buf, size_t size)
{
	bool (*const all[])(const struct judged *, char *, size_t) = {
		latency_note, algorithm_note,
	};

	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
		if (all[k](j, buf, size) && i-- == 0) {
			return true;
		}
	}
	return false;
}

static void say(struct str *text, const struct wrap *w)
{
	if (text->len > 0) {
		wrap_text(w, 2, str_text(text));
	}
	str_reset(text);
}

/** Tables, comparison of several curves and with the reference. */
static int below(const struct judged *j, int width, enum term_style style,
		 struct str *out)
{
	const struct collective_pair *both = j->more;
	const struct sweep *s = &both->now;
	const struct wrap w = { .out = out, .width = width > 0 ?
					    width : JUDGED_FILE_WIDTH };
	struct str text = STR_INIT;

	(void)style;	/* a table has no picture */
	for (size_t i = 0; i < s->n_curves; i++) {
		str_addch(out, '\n');
		add_curve(&j->run, s, &s->curves[i],
			  width > 0 && width < TABLE_WIDTH, out);
	}
	for (size_t i = 0; i < s->n_curves; i++) {
		if (sweep_leads(s, i)) {
			collective_compare(s, &s->curves[i], j->ask.stat,
					   w.width, out);
			collective_crossovers(s, &s->curves[i], &text);
			say(&text, &w);
		}
	}
	str_add(out, both->reference ? "\n" : "");
	for (size_t i = 0; both->reference && i < s->n_curves; i++) {
		collective_beside(s, &s->curves[i], both->reference, &text);
		say(&text, &w);
	}
	str_release(&text);
	return 0;
}

static int draw(const struct judged *j, const char *dir, struct err *e)
{
	const struct collective_pair *s = j->more;

	return curves_render(dir, &s->now, s->reference, &j->verdict,
			     j->ask.log_scale, e);
}

/** Highest bandwidth, and the size at which it was reached. */
static const char *figure(const struct judged *j, int i, char *buf,
			  size_t size)
{
	const struct collective_pair *both = j->more;
	const struct collective_row *best = NULL;
	char text[32], value[UNITS_REAL_SIZE];

	for (size_t c = 0; c < both->now.n_curves; c++) {
		const struct curve *of = &both->now.curves[c];

		for (size_t k = 0; k < of->n; k++) {
			const struct collective_row *r = of->rows[k];

			if (r->outcome == OUTCOME_OK && r->busbw_GB_s > 0 &&
			    (!best || r->busbw_GB_s > best->busbw_GB_s)) {
				best = r;
			}
		}
	}
	if (best && i == 0) {
		snprintf(buf, size, "%s GB/s",
			 units_real_text(best->busbw_GB_s,
					 best->busbw_GB_s < 100 ? 1 : 0,
					 value));
	} else if (best) {
		snprintf(buf, size, "%s",
			 units_size_text((uint64_t)best->size_B, text,
					 sizeof(text)));
	}
	return !best || i > 1 ? NULL :
	       i == 0 ? "highest bus bandwidth" : "reached at";
}

static bool takes(const char *probe)
{
	return collective_parse(probe) != COLLECTIVES ||
	       strcmp(probe, PROBE_TABLES) == 0;
}

const struct judged_kind judged_collective = {
	.takes = takes,
	.more_size = sizeof(struct collective_pair),
	.judge = judge,
	.release = release,
	.references = true,
	.head = head,
	.note = note,
	.below = below,
	.html = collective_html,
	.figure = figure,
	.draw = draw,
};
