/* SPDX-License-Identifier: BSD-3-Clause */
/* Imported rows that no map can be made of: of one pair, without nodes, of
 * several tests; and targets of fping. */
#include "report/show/judged.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"
#include "report/judge/caption.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"

/** Rows that a screen shows. */
#define ROWS_SHOWN 64

/** Count @outcome, and add it to the finding of its @code, which begins with
 *  the first @detail. */
static void count(struct verdict *v, enum outcome outcome, const char *code,
		  const char *detail)
{
	struct finding *f = verdict_find(v, NULL, code);

	v->cells[cells_class_of(outcome)]++;
	if (!cells_outcome_failed(outcome)) {
		return;
	}
	v->account.bad++;
	v->account.named++;
	if (!f) {
		f = finding_add(v, part_of_kind(PART_CONFIG), code);
		f->fail = true;
		finding_say(f, "%s", detail[0] ? detail :
			    outcome_name(outcome));
	}
	f->cells++;
	f->explained++;
}

/** Keep a row, and judge it. */
static int take_row(const struct run_rows *rows, const void *data)
{
	struct judged *j = rows->user;
	struct record_list *list = j->more;
	char says[120];

	rows->run->rows++;
	if (rows->schema == &schema_p2p) {
		const struct p2p_row *r = data;

		count(&j->verdict, r->outcome, r->code, r->detail);
	} else {
		const struct ping_row *r = data;

		snprintf(says, sizeof(says), "no reply from %s", r->dst_ip);
		count(&j->verdict, r->outcome, r->code, says);
	}
	list->schema = rows->schema;
	return record_list_add(list, data);
}

static int judge(const char *dir, struct judged *j, struct err *e)
{
	const bool targets = j->kind == &judged_targets;
	const struct run_rows rows = { .schema = targets ? &schema_ping :
							   &schema_p2p,
				       .run = &j->run, .take = take_row,
				       .user = j };

	if (run_load(dir, &rows, e) < 0) {
		return -1;
	}
	verdict_foreach(&j->verdict, f) {
		if (f->cells > 1) {
			finding_more(f, "; %zu more", f->cells - 1);
		}
	}
	return verdict_close(&j->run, &j->verdict);
}

static void release(void *more)
{
	record_list_release(more);
}

static bool head(const struct judged *j, int i, char *buf, size_t size)
{
	char utc[CAPTION_UTC_SIZE];

	caption_utc(j->run.started_utc, utc);
	if (i == 0) {
		snprintf(buf, size, "%s: results of another program%s%s",
			 j->run.probe, utc[0] ? ", " : "", utc);
	} else {
		caption_count("row", j->verdict.cells,
			      cell_class_name(CELL_SLOW), buf, size);
	}
	return i < 2;
}

/** "n1 GPU 2", or "-". */
static void add_end(struct table *t, const char *node, const char *nic,
		    int64_t gpu)
{
	char text[32] = "";

	if (gpu != RECORD_NONE) {
		snprintf(text, sizeof(text), "GPU %" PRId64, gpu);
	}
	table_addf(t, "%s%s%s%s%s", node, node[0] && text[0] ? " " : "", text,
		   (node[0] || text[0]) && nic[0] ? " " : "", nic);
}

static void add_pair(struct table *t, const struct p2p_row *r)
{
	char size[32] = "";

	if (r->size_B >= 0) {
		units_size_text((uint64_t)r->size_B, size, sizeof(size));
	}
	table_addf(t, "%s %s", r->op, r->mode);
	table_add(t, size);
	add_end(t, r->src_node, r->src_nic, r->src_gpu);
	add_end(t, r->dst_node, r->dst_nic, r->dst_gpu);
	table_real(t, 3, r->bw_GB_s);
	table_real(t, 3, r->lat_us);
	table_real(t, 3, r->lat_p99_us);
	table_add(t, r->code[0] ? r->code : outcome_name(r->outcome));
}

static void add_target(struct table *t, const struct ping_row *r)
{
	table_add(t, r->dst_ip);
	if (r->sent == RECORD_NONE) {
		table_add(t, "");
	} else {
		table_addf(t, "%" PRId64 "/%" PRId64, r->received, r->sent);
	}
	table_real(t, 3, r->rtt_min_us);
	table_real(t, 3, r->rtt_avg_us);
	table_real(t, 3, r->rtt_max_us);
	table_add(t, r->code[0] ? r->code : outcome_name(r->outcome));
}

static void tables(const struct judged *j, struct tables *to)
{
	static const struct table_column pairs[] = {
		{ .name = "test", .width = 10 },
		{ .name = "size", .width = 8, .right = true },
		{ .name = "from", .width = 8, .most = 24 },
		{ .name = "to", .width = 8, .most = 24 },
		{ .name = "GB/s", .width = 9, .right = true },
		{ .name = "us", .width = 9, .right = true },
		{ .name = "p99 us", .width = 9, .right = true },
		{ .name = "result", .width = 8 },
	};
	static const struct table_column targets[] = {
		{ .name = "target", .width = 16, .most = 32 },
		{ .name = "replies", .width = 8, .right = true },
		{ .name = "min us", .width = 8, .right = true },
		{ .name = "avg us", .width = 8, .right = true },
		{ .name = "max us", .width = 8, .right = true },
		{ .name = "result", .width = 8 },
	};
	const struct record_list *list = j->more;
	const bool pair = list->schema == &schema_p2p;
	struct table *t = tables_add(to, &(struct table){
		.title = "Imported rows", .columns = pair ? pairs : targets,
		.n_columns = pair ? 8 : 6, .shown = ROWS_SHOWN,
		.note = pair ? "GB/s: 10^9 bytes/s" : NULL });

	for (size_t i = 0; i < list->n; i++) {
		union {
			struct p2p_row pair;
			struct ping_row target;
		} row;

		record_list_get(list, i, &row);
		if (pair) {
			add_pair(t, &row.pair);
		} else {
			add_target(t, &row.target);
		}
	}
}

const struct judged_kind judged_rows = {
	.probe = PROBE_ROWS,
	.more_size = sizeof(struct record_list),
	.judge = judge,
	.release = release,
	.head = head,
	.tables = tables,
};

const struct judged_kind judged_targets = {
	.probe = PROBE_TARGETS,
	.more_size = sizeof(struct record_list),
	.judge = judge,
	.release = release,
	.head = head,
	.tables = tables,
};
