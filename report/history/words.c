/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/csv.h"
#include "lib/data/json.h"
#include "report/history/history.h"

/* ---- json ---------------------------------------------------------------- */

/** When run @i was, where one of @n found it. */
static json_t *utc_json(const struct history *h, size_t i, size_t n)
{
	return json_text_or_null(n > 0 ? h->runs[i].started_utc : "");
}

static json_t *trend_json(const struct trend *t)
{
	return t->runs == 0 ? json_null() :
	       json_pack("{s:f, s:f, s:f, s:I, s:f, s:b}", "percent_month",
			 t->percent, "low", t->low, "high", t->high, "runs",
			 (json_int_t)t->runs, "days", t->days, "sure",
			 t->sure);
}

static json_t *points_json(const struct history *h,
			   const struct history_part *p)
{
	static const char *const states[] = {
		[HISTORY_GOOD] = "good", [HISTORY_WARN] = "warn",
		[HISTORY_FAIL] = "fail",
	};
	json_t *list = json_array();

	for (size_t i = 0; i < p->n; i++) {
		const struct history_point *at = &p->points[i];

		json_array_append_new(list, json_pack(
			"{s:s, s:s, s:o}", "utc",
			h->runs[at->run].started_utc, "state",
			states[at->state], "level_GB_s",
			json_real_or_null(at->level_GB_s)));
	}
	return list;
}

static json_t *part_json(const struct history *h, const struct history_part *p)
{
	const size_t found = p->failed + p->warned;

	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, "
			 "s:o, s:o, s:I, s:b, s:o, s:o, s:o}",
			 "part", json_text(p->name), "kind", p->is.kind, "node",
			 json_text_or_null(p->is.node), "index",
			 json_int_or_null(p->is.index), "peer_node",
			 json_text_or_null(p->is.peer_node), "peer_index",
			 json_int_or_null(p->is.peer_index), "setup",
			 (json_int_t)p->setup, "runs", (json_int_t)p->n,
			 "failed", (json_int_t)p->failed, "warned",
			 (json_int_t)p->warned, "first_utc",
			 utc_json(h, p->first, found), "last_utc",
			 utc_json(h, p->last, found), "turns",
			 (json_int_t)p->turns, "flaps", p->flaps, "trend",
			 trend_json(&p->trend), "points", points_json(h, p),
			 "code", json_text_or_null(p->is.code));
}

static json_t *setups_json(const struct history *h)
{
	json_t *list = json_array();
	char text[SUMMARY_SETUP];

	for (size_t i = 0; i < h->n_setups; i++) {
		json_array_append_new(list, json_text(summary_setup(
			&h->runs[h->setups[i]], text)));
	}
	return list;
}

static json_t *nodes_json(const struct history *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n_nodes; i++) {
		const struct history_node *n = &h->nodes[i];

		json_array_append_new(list, json_pack(
			"{s:o, s:I, s:I, s:b, s:o}", "node", json_text(n->name),
			"runs", (json_int_t)n->n, "failed",
			(json_int_t)n->fails, "lemon", n->lemon, "parts",
			json_text_or_null(n->parts)));
	}
	return list;
}

json_t *history_json(const struct history *h, const struct history_about *a)
{
	json_t *parts = json_array();

	for (size_t i = 0; i < h->n_parts; i++) {
		if (history_is(&h->parts[i], a->part)) {
			json_array_append_new(parts,
					      part_json(h, &h->parts[i]));
		}
	}
	return json_pack("{s:i, s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o}",
			 "schema", 1, "dir", json_text(a->dir), "runs",
			 (json_int_t)h->n_runs, "left_out",
			 (json_int_t)a->left_out, "no_result",
			 (json_int_t)a->no_result, "unread",
			 (json_int_t)a->unread, "setups", setups_json(h),
			 "nodes", nodes_json(h), "parts", parts);
}

static void add_number(struct str *out, int64_t v)
{
	str_addch(out, ',');
	if (v >= 0) {
		str_addf(out, "%" PRId64, v);
	}
}

void history_csv(const struct history *h, const struct history_about *a,
		 struct str *out)
{
	char text[SUMMARY_SETUP], pattern[HISTORY_LAST + 1];

	str_add(out, "part,kind,node,index,setup,runs,failed,warned,first_utc,"
		"last_utc,code,last_runs,turns,flaps,last_GB_s,"
		"trend_percent_month,trend_low,trend_high,trend_runs,"
		"trend_days\n");
	for (size_t i = 0; i < h->n_parts; i++) {
		const struct history_part *p = &h->parts[i];
		const bool found = p->failed + p->warned > 0;
		const bool told = p->trend.runs > 0;

		if (!history_is(p, a->part)) {
			continue;
		}
		csv_add_field(out, p->name);
		csv_add_text(out, p->is.kind);
		csv_add_text(out, p->is.node);
		add_number(out, p->is.index);
		csv_add_text(out, summary_setup(&h->runs[h->setups[p->setup]],
					    text));
		add_number(out, (int64_t)p->n);
		add_number(out, (int64_t)p->failed);
		add_number(out, (int64_t)p->warned);
		csv_add_text(out, found ? h->runs[p->first].started_utc : "");
		csv_add_text(out, found ? h->runs[p->last].started_utc : "");
		csv_add_text(out, p->is.code);
		csv_add_text(out, history_pattern(p, pattern));
		add_number(out, (int64_t)p->turns);
		add_number(out, p->flaps);
		csv_add_real(out, 6,
			     p->n ? p->points[p->n - 1].level_GB_s : NAN);
		csv_add_real(out, 6, p->trend.percent);
		csv_add_real(out, 6, p->trend.low);
		csv_add_real(out, 6, p->trend.high);
		add_number(out, told ? (int64_t)p->trend.runs : -1);
		csv_add_real(out, 6, told ? p->trend.days : NAN);
		str_addch(out, '\n');
	}
}

/* ---- words --------------------------------------------------------------- */

#define SHOWN	 20	/* parts, unless more are asked for */
#define NAME_COLUMNS 22	/* of the first column, at most ... */
#define NAME_LEAST   10	/* ... and at least */

static const char *date_of(const struct history *h, size_t run, char date[11])
{
	snprintf(date, 11, "%.10s", h->runs[run].started_utc);
	return date;
}

/** "-4.1 % (9)"; "steady", "-"; @buf. */
static const char *trend_text(const struct trend *t, char buf[32])
{
	if (t->runs == 0) {
		return "-";
	}
	if (!t->sure) {
		return "steady";
	}
	snprintf(buf, 32, "%+.1f %% (%zu)", t->percent, t->runs);
	return buf;
}

static char setup_letter(size_t setup)
{
	return setup < 26 ? (char)('A' + setup) : '+';
}

/* ---- what it rests on --------------------------------------------------- */

static void add_head(const struct history *h, const struct history_about *a,
		     const struct wrap *w)
{
	char first[11], last[11], setup[SUMMARY_SETUP];
	struct str line = STR_INIT;

	if (h->n_runs == 0) {
		str_add(&line, "No run that counts is in the history");
	} else {
		str_addf(&line, "%zu run%s from %s to %s", h->n_runs,
			 h->n_runs == 1 ? "" : "s", date_of(h, 0, first),
			 date_of(h, h->n_runs - 1, last));
	}
	if (a->left_out > 0) {
		str_addf(&line, "; %zu drill%s or model run%s not counted "
			 "(--drills counts them)", a->left_out,
			 a->left_out == 1 ? "" : "s",
			 a->left_out == 1 ? "" : "s");
	}
	if (a->no_result > 0) {
		str_addf(&line, "; %zu without a result", a->no_result);
	}
	if (a->unread > 0) {
		str_addf(&line, "; %zu line%s cannot be read", a->unread,
			 a->unread == 1 ? "" : "s");
	}
	wrap_text(w, 0, str_text(&line));
	for (size_t i = 0; i < h->n_setups; i++) {
		str_reset(&line);
		str_addf(&line, "%c  %s", setup_letter(i),
			 summary_setup(&h->runs[h->setups[i]], setup));
		wrap_text(w, 3, str_text(&line));
	}
	str_release(&line);
}

/* ---- findings ----------------------------------------------------------- */

static void add_lemons(const struct history *h, const struct history_about *a,
		       const struct wrap *w)
{
	struct str line = STR_INIT;
	bool any = false;

	for (size_t i = 0; i < h->n_nodes && h->nodes[i].lemon; i++) {
		const struct history_node *n = &h->nodes[i];
		const size_t runs = n->n < HISTORY_LAST ? n->n : HISTORY_LAST;
		const size_t len = strlen(n->name);

		if (a->part && (strncasecmp(a->part, n->name, len) != 0 ||
				(a->part[len] && a->part[len] != ' '))) {
			continue;
		}
		str_reset(&line);
		str_addf(&line, "lemon: %s failed in %zu of its last %zu runs "
			 "(%s)", n->name, n->fails, runs, n->parts);
		str_add(w->out, any ? "" : "\n");
		wrap_text(w, 7, str_text(&line));
		any = true;
	}
	str_release(&line);
}

/** "n7 NIC 2: 3 of the last 9 runs, first on ..., trend -4 % a month". */
static void add_sentence(const struct history *h, const struct history_part *p,
			 const struct wrap *w)
{
	const size_t found = p->failed + p->warned;
	struct str line = STR_INIT;
	char date[11];

	str_addf(&line, "%s: ", p->name);
	if (found > 0) {
		str_addf(&line, "found in %zu of the last %zu run%s, first on "
			 "%s", found, p->n, p->n == 1 ? "" : "s",
			 date_of(h, p->first, date));
		str_addf(&line, ", last on %s (%s)", date_of(h, p->last, date),
			 p->is.code);
	} else {
		str_addf(&line, "good in %zu run%s", p->n,
			 p->n == 1 ? "" : "s");
	}
	if (p->flaps) {
		str_addf(&line, "; flaps: %zu changes between good and failed",
			 p->turns);
	}
	if (p->trend.sure) {
		str_addf(&line, "; trend %+.1f %% a month (%+.1f to %+.1f, %zu "
			 "runs in %.0f days)", p->trend.percent, p->trend.low,
			 p->trend.high, p->trend.runs, p->trend.days);
	}
	wrap_text(w, 2, str_text(&line));
	str_release(&line);
}

/* ---- the table ---------------------------------------------------------- */

static bool is_shown(const struct history_part *p,
		     const struct history_about *a)
{
	return history_is(p, a->part) &&
	       (a->part || a->verbose || history_tells(p));
}

static int name_width(const struct history *h, const struct history_about *a)
{
	size_t width = NAME_LEAST;

	for (size_t i = 0; i < h->n_parts; i++) {
		const size_t len = strlen(h->parts[i].name);

		if (is_shown(&h->parts[i], a) && len > width) {
			width = len;
		}
	}
	return (int)(width < NAME_COLUMNS || a->verbose ? width :
							   NAME_COLUMNS);
}

static void add_row(const struct history *h, const struct history_part *p,
		    int width, struct str *out)
{
	const size_t found = p->failed + p->warned;
	char first[11] = "-", last[11] = "-", pattern[HISTORY_LAST + 1];
	char trend[32];

	if (found > 0) {
		date_of(h, p->first, first);
		date_of(h, p->last, last);
	}
	/* a name that is too long has its line */
	if ((int)strlen(p->name) > width) {
		str_addf(out, "%s\n%*s", p->name, width, "");
	} else {
		str_addf(out, "%-*s", width, p->name);
	}
	str_addf(out, " %c %3zu/%-3zu %-10s %-10s %-10s %s%s\n",
		 setup_letter(p->setup), found, p->n, first, last,
		 history_pattern(p, pattern), trend_text(&p->trend, trend),
		 p->flaps ? " flaps" : "");
}

static void add_table(const struct history *h, const struct history_about *a,
		      const struct wrap *w)
{
	const int width = name_width(h, a);
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < h->n_parts; i++) {
		const struct history_part *p = &h->parts[i];

		if (!is_shown(p, a)) {
			continue;
		}
		if (shown == 0) {
			str_addf(w->out, "\n%-*s     found %-10s %-10s %-10s "
				 "trend a month\n", width, "part", "first",
				 "last", "last runs");
		}
		if (shown < SHOWN || a->verbose) {
			add_row(h, p, width, w->out);
			shown++;
		} else {
			more++;
		}
	}
	if (more > 0) {
		str_addf(w->out, "%zu more: --verbose, --csv\n", more);
	}
	if (shown == 0 && h->n_runs > 0) {
		str_add(w->out, "\nNo part was found in any of them, and none "
				"gets slower.\n");
	} else if (shown > 0) {
		str_add(w->out, "last runs: . good, w warning, x fault; trend: "
				"of the level, and of how many runs\n");
	}
}

void history_words(const struct history *h, const struct history_about *a,
		   const struct wrap *w)
{
	size_t said = 0;

	add_head(h, a, w);
	add_lemons(h, a, w);
	for (size_t i = 0; a->part && i < h->n_parts && said < SHOWN; i++) {
		const struct history_part *p = &h->parts[i];

		if (history_is(p, a->part) &&
		    (history_tells(p) || strcasecmp(p->name, a->part) == 0)) {
			str_add(w->out, said++ ? "" : "\n");
			add_sentence(h, p, w);
		}
	}
	add_table(h, a, w);
}
