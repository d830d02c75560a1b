/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/rundir.h"

/* No option asks for more. */
#define SIZE_MAX_B (INT64_C(1) << 40)

const char *order_log_path(const char *dir, int64_t rank, int64_t peer,
			   int64_t attempt, char *buf, size_t size)
{
	buf[0] = '\0';
	if (dir[0] == '\0') {
		return buf;
	}
	snprintf(buf, size,
		 "%.3800s/%s/pair-%" PRId64 "-%" PRId64 "-try%" PRId64
		 "-rank%" PRId64 ".log", dir, RUN_LOGS,
		 rank < peer ? rank : peer, rank < peer ? peer : rank, attempt,
		 rank);
	return buf;
}

/* ---- fields -------------------------------------------------------------- */

/*
 * Values of each task travel by place, as names would cost more than what they
 * name; trailing fields with their usual value are left out.
 */
#define ORDER(member, ...) FIELD(order, member, __VA_ARGS__)
#define WORD(member, ...) FIELD(order_word, member, __VA_ARGS__)
#define RESULT(member, ...) FIELD(order_result, member, __VA_ARGS__)
#define REPORT(member, ...) FIELD(order_report, member, __VA_ARGS__)
#define OPT	 .optional = FIELD_OMITTED
#define REAL_MAX 1e12
#define WEEK_NS	 (INT64_C(604800) * 1000000000)

const struct field order_how_fields[] = {
	FIELD(order_how, setup_ns, "setup_ns", INT, 0, WEEK_NS, "to join"),
	FIELD(order_how, run_ns, "run_ns", INT, 0, WEEK_NS, "to measure"),
	FIELD_LIST(order_how, sizes, n_sizes, "sizes", INTS, 1, SIZE_MAX_B,
		   "bytes, increasing"),
	FIELD(order_how, iters, "iters", INT, 0, INT32_MAX, "per size"),
	FIELD(order_how, warmup, "warmup", INT, 0, INT32_MAX, "untimed"),
	FIELD(order_how, check, "check", BOOL, 0, 0, "compare the data"),
	{ 0 }
};

const struct field order_fields[] = {
	ORDER(rank, "rank", INT, 0, INT32_MAX, "rank"),
	ORDER(id, "id", INT, 0, UINT32_MAX, "of the task"),
	ORDER(nonce, "nonce", TEXT, 0, 0, "of the task, hex"),
	ORDER(peer, "peer", INT, 0, INT32_MAX, "the other rank"),
	ORDER(seat.me, "me", INT, 0, 1 + TASK_MATES, "place in the "
	      "communicator; 0 makes the ticket and sends in the first "
	      "direction; from 2 on it only relays"),
	ORDER(now, "now", BOOL, 0, 0,
	      "measure; otherwise join and wait for go"),
	ORDER(attempt, "attempt", INT, 1, 1000, "number of the try"),
	ORDER(ticket, "ticket", TEXT, 0, 0, "empty: sent later"),
	ORDER(seat.ranks, "ranks", INT, 2, 2 + TASK_MATES,
	      "of the communicator; usually 2"),
	ORDER(dirs[0].wanted, "wanted", BOOL, 0, 0,
	      "measure the first direction; usually true"),
	ORDER(dirs[1].wanted, "wanted_back", BOOL, 0, 0, "and the second"),
	ORDER(dirs[0].drill, "drill", INT, 0, XPORT_DRILL_CORRUPT,
	      "in the first direction; usually 0, none"),
	ORDER(dirs[1].drill, "drill_back", INT, 0, XPORT_DRILL_CORRUPT,
	      "in the second"),
	ORDER(dirs[0].slow_factor, "slow", REAL, 1e-9, 1,
	      "factor of a drill in the first direction; usually 1"),
	ORDER(dirs[1].slow_factor, "slow_back", REAL, 1e-9, 1,
	      "in the second"),
	{ 0 }
};

const struct field order_word_fields[] = {
	WORD(rank, "rank", INT, 0, INT32_MAX, "rank"),
	WORD(id, "id", INT, 0, UINT32_MAX, "of the task"),
	WORD(text, "text", TEXT, 0, 0, "ticket: made by the transport; "
	     "joined: empty; go: nonce, hex"),
	{ 0 }
};

static const struct field result_fields[] = {
	RESULT(dir, "dir", INT, 0, 1, "direction"),
	RESULT(size_B, "size_B", INT, 0, INT64_MAX, "of a message", OPT),
	RESULT(r.outcome, "outcome", INT, 0, OUTCOME_COUNT - 1,
	       "its number"),
	RESULT(r.iters, "iters", INT, 0, INT64_MAX, "messages timed", OPT),
	RESULT(r.bw_GB_s, "bw_GB_s", REAL, 0, REAL_MAX, "bandwidth", OPT),
	RESULT(r.bw_min_GB_s, "bw_min_GB_s", REAL, 0, REAL_MAX, "lowest", OPT),
	RESULT(r.bw_max_GB_s, "bw_max_GB_s", REAL, 0, REAL_MAX, "highest", OPT),
	RESULT(r.lat_us, "lat_us", REAL, 0, REAL_MAX, "latency", OPT),
	RESULT(r.lat_p99_us, "lat_p99_us", REAL, 0, REAL_MAX,
	       "99th percentile", OPT),
	RESULT(r.wrong, "wrong", INT, 0, INT64_MAX, "bytes", OPT),
	RESULT(r.path, "path", TEXT, 0, 0, "of the data"),
	RESULT(r.nic, "nic", TEXT, 0, 0, "used"),
	RESULT(r.code, "code", TEXT, 0, 0, "reason, as a code"),
	RESULT(r.detail, "detail", TEXT, 0, 0, "reason, in words"),
	RESULT(r.echo, "echo", BOOL, 0, 0, "only waited for the other rank"),
	RESULT(r.flows, "flows", INT, 0, XPORT_FLOWS_MAX, "that were tested",
	       OPT),
	RESULT(r.flow_GB_s, "flow_GB_s", REAL, 0, REAL_MAX, "one of them", OPT),
	RESULT(r.flows_GB_s, "flows_GB_s", REAL, 0, REAL_MAX,
	       "several at once", OPT),
	{ 0 }
};

const struct field order_flow_fields[] = {
	FIELD(xport_flow, sends, "sends", BOOL, 0, 0, "from the reporting end"),
	FIELD(xport_flow, port, "port", INT, 1, UINT16_MAX, "UDP source port"),
	FIELD(xport_flow, sent, "sent", INT, 1, INT32_MAX, "messages"),
	FIELD(xport_flow, lost, "lost", INT, 1, INT32_MAX, "of these"),
	FIELD(xport_flow, says, "says", TEXT, 0, 0, "the same in words"),
	{ 0 }
};

const struct field order_report_fields[] = {
	REPORT(rank, "rank", INT, 0, INT32_MAX, "rank"),
	REPORT(id, "id", INT, 0, UINT32_MAX, "of the task"),
	REPORT(n, "results", INT, 0, ORDER_RESULTS, "how many follow, one "
	       "per direction and size", .places = result_fields),
	REPORT(late_ns, "late_ns", INT, 0, INT64_MAX,
	       "that the sender did not run"),
	REPORT(unfit, "unfit", BOOL, 0, 0, "the worker ends and is replaced"),
	REPORT(crashed, "crashed", INT, 0, INT32_MAX,
	       "rank of a model that crashed", OPT),
	REPORT(facts, "facts", ARRAY, 0, ORDER_FACTS,
	       "lines of facts.csv, found out meanwhile", OPT),
	REPORT(flows, "flows", ARRAY, 0, ORDER_FLOWS, "that lose packets", OPT,
	       .places = order_flow_fields),
	{ 0 }
};

void xport_lost(struct worker *w, const struct xport_flow *f)
{
	if (w->flows == NULL) {
		w->flows = json_array();
	}
	json_array_append_new(w->flows, schema_json(order_flow_fields, f));
}

/* ---- orders ------------------------------------------------------------- */

static const struct order usual_order = {
	.attempt = 1, .seat = { .ranks = 2 },
	.dirs = { { .wanted = true, .slow_factor = 1 },
		  { .wanted = true, .slow_factor = 1 } },
};

int order_how_parse(const json_t *j, struct order_how *h, struct err *e)
{
	if (schema_read(order_how_fields, h, j, e) < 0) {
		return -1;
	}
	return h->n_sizes > 0 ? 0 : err_set(e, EPROTO, "tasks without sizes");
}

void order_add(const struct order *o, struct str *out)
{
	schema_add(order_fields, o, &usual_order, out);
}

int order_read(const void *bytes, size_t n, struct order *o, struct err *e)
{
	struct cbor_reader r = { .at = bytes, .left = n };

	*o = usual_order;
	if (schema_take(order_fields, &r, o, "orders", e) < 0) {
		return -1;
	}
	if (r.left > 0 || o->seat.me >= o->seat.ranks) {
		return err_set(e, EPROTO, "task without a place");
	}
	o->lead = o->seat.me == 0;
	for (int d = 0; d < 2; d++) {
		o->dirs[d].sender = o->seat.me == d;
	}
	return 0;
}

/* ---- words --------------------------------------------------------------- */

void order_word_add(const struct order_word *o, struct str *out)
{
	static const struct order_word usual;

	schema_add(order_word_fields, o, &usual, out);
}

int order_word_read(const void *bytes, size_t n, struct order_word *o,
		    struct err *e)
{
	struct cbor_reader r = { .at = bytes, .left = n };

	o->rank = o->id = 0;
	o->text[0] = '\0';
	if (schema_take(order_word_fields, &r, o, "words", e) < 0) {
		return -1;
	}
	return r.left == 0 ? 0 : err_set(e, EPROTO, "a word too many");
}

/* ---- reports ------------------------------------------------------------- */

static void usual_result(struct order_result *o)
{
	o->dir = 0;
	o->size_B = 0;
	xport_result_init(&o->r);
}

void order_report_add(const struct order_report *r, struct str *out)
{
	const struct order_report usual = { .crashed = RECORD_NONE };
	struct order_result result;

	usual_result(&result);
	schema_add(order_report_fields, r, &usual, out);
	for (int i = 0; i < r->n; i++) {
		schema_add(result_fields, &r->results[i], &result, out);
	}
}

int order_report_read(const void *bytes, size_t n, struct order_report *r,
		      struct err *e)
{
	struct cbor_reader from = { .at = bytes, .left = n };
	int rc;

	*r = (struct order_report){ .crashed = RECORD_NONE };
	rc = schema_take(order_report_fields, &from, r, "reports", e);
	if (rc == 0) {
		r->results = malloc(((size_t)r->n + 1) * sizeof(*r->results));
		rc = r->results != NULL ?
			     0 :
			     err_set(e, ENOMEM, "no memory for results");
	}
	for (int i = 0; rc == 0 && i < r->n; i++) {
		usual_result(&r->results[i]);
		rc = schema_take(result_fields, &from, &r->results[i],
				 "results", e);
	}
	if (rc == 0 && from.left > 0) {
		rc = err_set(e, EPROTO, "too many results");
	}
	if (rc < 0) {
		order_report_release(r);
	}
	return rc;
}

void order_report_release(struct order_report *r)
{
	json_decref(r->flows);
	json_decref(r->facts);
	free(r->results);
	*r = (struct order_report){ 0 };
}
