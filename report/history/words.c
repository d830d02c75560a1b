/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/csv.h"
#include "lib/data/json.h"
#include "lib/data/schema.h"
#include "report/history/history.h"

/* ---- json ---------------------------------------------------------------- */

#define PART(member, key, type, ...) \
	FIELD(history_part, member, key, type, 0, INT64_MAX, __VA_ARGS__)
#define PART_NULL(member, key, type, ...) \
	PART(member, key, type, __VA_ARGS__, .optional = FIELD_NULL)
#define TREND(member, key, type, ...) \
	FIELD(trend, member, key, type, 0, INT64_MAX, __VA_ARGS__)

static const char *const states[] = {
	[HISTORY_GOOD] = "good", [HISTORY_WARN] = "warn",
	[HISTORY_FAIL] = "fail", NULL
};

static const struct field point_fields[] = {
	FIELD(history_point, utc, "utc", LINK, 0, 0, "start of the run"),
	FIELD_WORDS(history_point, state, "state", states, "in that run"),
	FIELD(history_point, level_GB_s, "level_GB_s", REAL, 0, 0,
	      "bandwidth", .optional = FIELD_NULL),
	{ 0 }
};

static const struct field trend_fields[] = {
	TREND(percent, "percent_month", REAL, "change"),
	TREND(low, "low", REAL, "at least, with 95 %"),
	TREND(high, "high", REAL, "at most, with 95 %"),
	TREND(runs, "runs", INT, "that it rests on"),
	TREND(days, "days", REAL, "that these span"),
	TREND(sure, "sure", BOOL, "it is not 0"),
	{ 0 }
};

static const struct field part_fields[] = {
	PART(name, "part", TEXT, "its name"),
	PART(is.kind, "kind", TEXT, "of the part"),
	PART_NULL(is.node, "node", TEXT, "name"),
	PART_NULL(is.index, "index", INT, "of a GPU or NIC"),
	PART_NULL(is.peer_node, "peer_node", TEXT, "name"),
	PART_NULL(is.peer_index, "peer_index", INT, "the other's"),
	PART(setup, "setup", INT, "index in setups"),
	PART(n, "runs", INT, "in which it counts"),
	PART(failed, "failed", INT, "runs that found a fault"),
	PART(warned, "warned", INT, "runs that warned"),
	PART_NULL(first_utc, "first_utc", LINK, "of these"),
	PART_NULL(last_utc, "last_utc", LINK, "of these"),
	PART(turns, "turns", INT, "from good to failed and back"),
	PART(flaps, "flaps", BOOL, "these are many"),
	FIELD_PART(history_part, trend, "trend", trend_fields, "of the level",
		   FIELD_GIVEN(history_part, trend.runs),
		   .optional = FIELD_NULL),
	FIELD_ROWS(history_part, points, n, "points", point_fields, SIZE_MAX,
		   "by time"),
	PART_NULL(is.code, "code", TEXT, "of the last finding"),
	{ 0 }
};

static const struct field node_fields[] = {
	FIELD(history_node, name, "node", TEXT, 0, 0, "name"),
	FIELD(history_node, n, "runs", INT, 0, INT64_MAX, "it took part in"),
	FIELD(history_node, fails, "failed", INT, 0, INT64_MAX,
	      "of the last of them"),
	FIELD(history_node, lemon, "lemon", BOOL, 0, 0, "it fails often"),
	FIELD(history_node, parts, "parts", TEXT, 0, 0, "that failed",
	      .optional = FIELD_NULL),
	{ 0 }
};

static const struct field history_fields[] = {
	{ .name = "schema", .kind = FIELD_FORMAT, .min = 1 },
	FIELD(history, dir, "dir", LINK, 0, 0, "of the history"),
	FIELD(history, n_runs, "runs", INT, 0, INT64_MAX, "that count"),
	FIELD(history, left_out, "left_out", INT, 0, INT64_MAX, "drills"),
	FIELD(history, no_result, "no_result", INT, 0, INT64_MAX, "runs"),
	FIELD(history, unread, "unread", INT, 0, INT64_MAX, "lines"),
	{ 0 }
};

json_t *history_json(const struct history *h)
{
	json_t *json = schema_json(history_fields, h);
	json_t *setups = json_array(), *nodes = json_array();
	json_t *parts = json_array();
	char text[SUMMARY_SETUP];

	for (size_t i = 0; i < h->n_setups; i++) {
		json_array_append_new(setups, json_text(summary_setup(
			&h->runs[h->setups[i]], text)));
	}
	for (size_t i = 0; i < h->n_nodes; i++) {
		json_array_append_new(nodes,
				      schema_json(node_fields, &h->nodes[i]));
	}
	for (size_t i = 0; i < h->n_parts; i++) {
		if (history_is(&h->parts[i], h->part)) {
			json_array_append_new(parts, schema_json(
				part_fields, &h->parts[i]));
		}
	}
	json_object_set_new(json, "setups", setups);
	json_object_set_new(json, "nodes", nodes);
	json_object_set_new(json, "parts", parts);
	return json;
}

static void add_number(struct str *out, int64_t v)
{
	str_addch(out, ',');
	if (v >= 0) {
		str_addf(out, "%" PRId64, v);
	}
}

void history_csv(const struct history *h, struct str *out)
{
	char text[SUMMARY_SETUP], pattern[HISTORY_LAST + 1];

	str_add(out, "part,kind,node,index,setup,runs,failed,warned,first_utc,"
		"last_utc,code,last_runs,turns,flaps,last_GB_s,"
		"trend_percent_month,trend_low,trend_high,trend_runs,"
		"trend_days\n");
	for (size_t i = 0; i < h->n_parts; i++) {
		const struct history_part *p = &h->parts[i];
		const bool told = p->trend.runs > 0;

		if (!history_is(p, h->part)) {
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
		csv_add_text(out, p->first_utc);
		csv_add_text(out, p->last_utc);
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

/** "2026-02-13"; "-": never. */
static const char *date_of(const char *utc, char date[11])
{
	snprintf(date, 11, "%.10s", utc[0] ? utc : "-");
	return date;
}

static char setup_letter(size_t setup)
{
	return setup < 26 ? (char)('A' + setup) : '+';
}

void history_name(const struct history *h, const struct history_part *p,
		  struct str *out)
{
	str_add(out, p->name);
	if (h->n_setups > 1) {
		str_addf(out, " (%c)", setup_letter(p->setup));
	}
}

/* ---- what it rests on --------------------------------------------------- */

static void add_head(const struct history *h, const struct wrap *w)
{
	char first[11], last[11], setup[SUMMARY_SETUP];
	struct str line = STR_INIT;

	if (h->n_runs == 0) {
		str_add(&line, "No run that counts is in the history");
	} else {
		str_addf(&line, "%zu run%s from %s to %s", h->n_runs,
			 h->n_runs == 1 ? "" : "s",
			 date_of(h->runs[0].started_utc, first),
			 date_of(h->runs[h->n_runs - 1].started_utc, last));
	}
	history_say_left_out(h->left_out, &line);
	if (h->no_result > 0) {
		str_addf(&line, "; %zu without a result", h->no_result);
	}
	if (h->unread > 0) {
		str_addf(&line, "; %zu line%s cannot be read", h->unread,
			 h->unread == 1 ? "" : "s");
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

static void add_lemons(const struct history *h, const struct wrap *w)
{
	struct str line = STR_INIT;
	bool any = false;

	for (size_t i = 0; i < h->n_nodes && h->nodes[i].lemon; i++) {
		const struct history_node *n = &h->nodes[i];
		const size_t runs = n->n < HISTORY_LAST ? n->n : HISTORY_LAST;
		const size_t len = strlen(n->name);

		if (h->part && (strncasecmp(h->part, n->name, len) != 0 ||
				(h->part[len] && h->part[len] != ' '))) {
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

	history_name(h, p, &line);
	if (found > 0) {
		str_addf(&line, ": found in %zu of %s%zu run%s, first on %s",
			 found, p->n == 1 ? "" : "the last ", p->n,
			 p->n == 1 ? "" : "s",
			 date_of(p->first_utc, date));
		str_addf(&line, ", last on %s (%s)", date_of(p->last_utc, date),
			 p->is.code);
	} else {
		str_addf(&line, ": good in %zu run%s", p->n,
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

static bool is_shown(const struct history *h, const struct history_part *p)
{
	return history_is(p, h->part) &&
	       (h->part || h->verbose || history_tells(p));
}

static int name_width(const struct history *h)
{
	size_t width = NAME_LEAST;

	for (size_t i = 0; i < h->n_parts; i++) {
		const size_t len = strlen(h->parts[i].name);

		if (is_shown(h, &h->parts[i]) && len > width) {
			width = len;
		}
	}
	return (int)(width < NAME_COLUMNS || h->verbose ? width :
							   NAME_COLUMNS);
}

static void add_row(const struct history_part *p, int width, struct str *out)
{
	const size_t found = p->failed + p->warned;
	char first[11], last[11], pattern[HISTORY_LAST + 1], trend[32];

	snprintf(trend, sizeof(trend), "%+.1f %% (%zu)", p->trend.percent,
		 p->trend.runs);
	/* a name that is too long has its line */
	if ((int)strlen(p->name) > width) {
		str_addf(out, "%s\n%*s", p->name, width, "");
	} else {
		str_addf(out, "%-*s", width, p->name);
	}
	str_addf(out, " %c %3zu/%-3zu %-10s %-10s %-10s %s%s\n",
		 setup_letter(p->setup), found, p->n,
		 date_of(p->first_utc, first), date_of(p->last_utc, last),
		 history_pattern(p, pattern), p->trend.runs == 0 ? "-" :
		 p->trend.sure ? trend : "steady",
		 p->flaps ? " flaps" : "");
}

static void add_table(const struct history *h, const struct wrap *w)
{
	const int width = name_width(h);
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < h->n_parts; i++) {
		const struct history_part *p = &h->parts[i];

		if (!is_shown(h, p)) {
			continue;
		}
		if (shown == 0) {
			str_addf(w->out, "\n%-*s     found %-10s %-10s %-10s "
				 "trend a month\n", width, "part", "first",
				 "last", "last runs");
		}
		if (shown < SHOWN || h->verbose) {
			add_row(p, width, w->out);
			shown++;
		} else {
			more++;
		}
	}
	if (more > 0) {
		str_addf(w->out, "%zu more: --verbose, --csv\n", more);
	}
	if (shown == 0 && h->n_runs > 0) {
		str_add(w->out, "\nNo run found a faulty part, and none gets "
				"slower.\n");
	} else if (shown > 0) {
		str_add(w->out, "last runs: . good, w warning, x fault; trend: "
				"of the level (from how many runs)\n");
	}
}

void history_say_left_out(size_t n, struct str *out)
{
	if (n > 0) {
		str_addf(out, "; %zu drill%s or simulated run%s not counted "
			 "(--drills counts them)", n, n == 1 ? "" : "s",
			 n == 1 ? "" : "s");
	}
}

void history_words(const struct history *h, const struct wrap *w)
{
	size_t said = 0;

	add_head(h, w);
	add_lemons(h, w);
	for (size_t i = 0; h->part && i < h->n_parts && said < SHOWN; i++) {
		const struct history_part *p = &h->parts[i];

		if (history_is(p, h->part) &&
		    (history_tells(p) || strcasecmp(p->name, h->part) == 0)) {
			str_add(w->out, said++ ? "" : "\n");
			add_sentence(h, p, w);
		}
	}
	add_table(h, w);
}
