/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/history/history.h"

#include <inttypes.h>
#include <math.h>

#include "lib/data/csv.h"
#include "lib/data/json.h"

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

static void add_real(struct str *out, double v)
{
	str_addch(out, ',');
	if (isfinite(v)) {
		str_addf(out, "%.6g", v);
	}
}

static void add_number(struct str *out, int64_t v)
{
	str_addch(out, ',');
	if (v >= 0) {
		str_addf(out, "%" PRId64, v);
	}
}

static void add_text(struct str *out, const char *text)
{
	str_addch(out, ',');
	csv_add_field(out, text);
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
		add_text(out, p->is.kind);
		add_text(out, p->is.node);
		add_number(out, p->is.index);
		add_text(out, summary_setup(&h->runs[h->setups[p->setup]],
					    text));
		add_number(out, (int64_t)p->n);
		add_number(out, (int64_t)p->failed);
		add_number(out, (int64_t)p->warned);
		add_text(out, found ? h->runs[p->first].started_utc : "");
		add_text(out, found ? h->runs[p->last].started_utc : "");
		add_text(out, p->is.code);
		add_text(out, history_pattern(p, pattern));
		add_number(out, (int64_t)p->turns);
		add_number(out, p->flaps);
		add_real(out, p->n ? p->points[p->n - 1].level_GB_s : NAN);
		add_real(out, p->trend.percent);
		add_real(out, p->trend.low);
		add_real(out, p->trend.high);
		add_number(out, told ? (int64_t)p->trend.runs : -1);
		add_real(out, told ? p->trend.days : NAN);
		str_addch(out, '\n');
	}
}
