/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/order.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "lib/data/cbor.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "probes/plan/plan.h"

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

/* ---- places ------------------------------------------------------------- */

/*
 * What each task has of its own stands in arrays, by its place, as names would
 * cost more than what they name; what is at the end as it mostly is, is left
 * out.
 */
enum part_kind {
	PART_INT,	/* int, or an enum */
	PART_NUMBER,	/* int64_t */
	PART_INT64,	/* the same; RECORD_NONE is null */
	PART_REAL,	/* NAN is null */
	PART_TEXT,
	PART_BOOL,
	PART_LIST,	/* json_t *, array of at most max; NULL is null */
};

struct part {
	enum part_kind kind;
	size_t at, size;	/* in its struct */
	double min, max;
};

#define PART(struct_name, field, what, from, to) \
	{ .kind = what, .at = offsetof(struct struct_name, field), \
	  .size = sizeof(((struct struct_name *)0)->field), \
	  .min = from, .max = to }

static const struct part order_parts[] = {
	PART(order, rank, PART_NUMBER, 0, INT32_MAX),
	PART(order, id, PART_NUMBER, 0, (double)UINT32_MAX),
	PART(order, nonce, PART_TEXT, 0, 0),
	PART(order, peer, PART_NUMBER, 0, INT32_MAX),
	PART(order, seat.me, PART_INT, 0, 1 + TASK_MATES),
	PART(order, now, PART_BOOL, 0, 0),
	PART(order, attempt, PART_NUMBER, 1, 1000),
	PART(order, ticket, PART_TEXT, 0, 0),
	PART(order, seat.ranks, PART_INT, 2, 2 + TASK_MATES),
	PART(order, dirs[0].wanted, PART_BOOL, 0, 0),
	PART(order, dirs[1].wanted, PART_BOOL, 0, 0),
	PART(order, dirs[0].drill, PART_INT, 0, XPORT_DRILL_CORRUPT),
	PART(order, dirs[1].drill, PART_INT, 0, XPORT_DRILL_CORRUPT),
	PART(order, dirs[0].slow_factor, PART_REAL, 1e-9, 1),
	PART(order, dirs[1].slow_factor, PART_REAL, 1e-9, 1),
};

static const struct part word_parts[] = {
	PART(order_word, rank, PART_NUMBER, 0, INT32_MAX),
	PART(order_word, id, PART_NUMBER, 0, (double)UINT32_MAX),
	PART(order_word, text, PART_TEXT, 0, 0),
};

#define REAL_MAX 1e12

static const struct part result_parts[] = {
	PART(order_result, dir, PART_INT, 0, 1),
	PART(order_result, size_B, PART_INT64, 0, (double)INT64_MAX),
	PART(order_result, r.outcome, PART_INT, 0, OUTCOME_COUNT - 1),
	PART(order_result, r.iters, PART_INT64, 0, (double)INT64_MAX),
	PART(order_result, r.bw_GB_s, PART_REAL, 0, REAL_MAX),
	PART(order_result, r.bw_min_GB_s, PART_REAL, 0, REAL_MAX),
	PART(order_result, r.bw_max_GB_s, PART_REAL, 0, REAL_MAX),
	PART(order_result, r.lat_us, PART_REAL, 0, REAL_MAX),
	PART(order_result, r.lat_p99_us, PART_REAL, 0, REAL_MAX),
	PART(order_result, r.wrong, PART_INT64, 0, (double)INT64_MAX),
	PART(order_result, r.path, PART_TEXT, 0, 0),
	PART(order_result, r.nic, PART_TEXT, 0, 0),
	PART(order_result, r.code, PART_TEXT, 0, 0),
	PART(order_result, r.detail, PART_TEXT, 0, 0),
	PART(order_result, r.echo, PART_BOOL, 0, 0),
};

static const struct part report_parts[] = {
	PART(order_report, rank, PART_NUMBER, 0, INT32_MAX),
	PART(order_report, id, PART_NUMBER, 0, (double)UINT32_MAX),
	PART(order_report, n, PART_INT, 0, ORDER_RESULTS),
	PART(order_report, late_ns, PART_NUMBER, 0, (double)INT64_MAX),
	PART(order_report, unfit, PART_BOOL, 0, 0),
	PART(order_report, crashed, PART_INT64, 0, INT32_MAX),
	PART(order_report, facts, PART_LIST, 0, ORDER_FACTS),
};

#define PARTS(table) table, sizeof(table) / sizeof((table)[0])

static void part_add(const struct part *p, const void *at, struct str *out)
{
	char text[XPORT_TICKET_MAX];	/* the longest of them */
	const json_t *list;

	switch (p->kind) {
	case PART_INT:
		cbor_add_int(*(const int *)at, out);
		return;
	case PART_INT64:
		if (*(const int64_t *)at == RECORD_NONE) {
			break;
		}
		/* fall through */
	case PART_NUMBER:
		cbor_add_int(*(const int64_t *)at, out);
		return;
	case PART_REAL:
		if (!isfinite(*(const double *)at)) {
			break;
		}
		cbor_add_real(*(const double *)at, out);
		return;
	case PART_TEXT:		/* a library's words may be no UTF-8 */
		str_copy(text, p->size, at);
		cbor_add_text(text, strlen(text), out);
		return;
	case PART_BOOL:
		cbor_add_bool(*(const bool *)at, out);
		return;
	case PART_LIST:
		list = *(json_t *const *)at;
		if (list == NULL) {
			break;
		}
		cbor_add(list, out);
		return;
	}
	cbor_add_null(out);
}

static bool is_same(const struct part *p, const void *s, const void *usual)
{
	const char *one = (const char *)s + p->at;
	const char *other = (const char *)usual + p->at;

	return memcmp(one, other, p->kind == PART_TEXT ? 1 : p->size) == 0 &&
	       (p->kind != PART_TEXT || *one == '\0');
}

static void parts_add(const struct part *parts, size_t n, const void *s,
		      const void *usual, struct str *out)
{
	while (n > 0 && is_same(&parts[n - 1], s, usual)) {
		n--;
	}
	cbor_add_array(n, out);
	for (size_t i = 0; i < n; i++) {
		part_add(&parts[i], (const char *)s + parts[i].at, out);
	}
}

static bool order_within(const struct part *p, double value)
{
	return value >= p->min && value <= p->max;
}

static bool take_list(const struct part *p, struct cbor_reader *r, void *at)
{
	json_t *list = cbor_take(r);

	if (json_is_null(list)) {
		return true;
	}
	*(json_t **)at = list;	/* goes with its struct */
	return json_is_array(list) &&
	       order_within(p, (double)json_array_size(list));
}

static bool part_take(const struct part *p, struct cbor_reader *r, void *at)
{
	struct cbor_item v;
	bool null;

	if (p->kind == PART_LIST) {
		return take_list(p, r, at);
	}
	if (!cbor_next(r, &v)) {
		return false;
	}
	null = v.type == JSON_NULL;
	switch (p->kind) {
	case PART_INT:
		*(int *)at = (int)v.integer;
		return v.type == JSON_INTEGER &&
		       order_within(p, (double)v.integer);
	case PART_NUMBER:
		*(int64_t *)at = v.integer;
		return v.type == JSON_INTEGER &&
		       order_within(p, (double)v.integer);
	case PART_INT64:
		*(int64_t *)at = null ? RECORD_NONE : v.integer;
		return null || (v.type == JSON_INTEGER &&
				order_within(p, (double)v.integer));
	case PART_REAL:
		*(double *)at = null		      ? NAN :
				v.type == JSON_REAL ? v.real :
						      (double)v.integer;
		return null ||
		       ((v.type == JSON_REAL || v.type == JSON_INTEGER) &&
			order_within(p, *(double *)at));
	case PART_TEXT:
		if (v.type != JSON_STRING || v.raw || v.n >= p->size) {
			return false;
		}
		memcpy(at, v.text, v.n);
		((char *)at)[v.n] = '\0';
		str_harmless(at, 0);
		return true;
	case PART_BOOL:
		*(bool *)at = v.type == JSON_TRUE;
		return v.type == JSON_TRUE || v.type == JSON_FALSE;
	case PART_LIST:
		break;
	}
	return false;
}

/** Into @s, which is as usual; -1 with @e: what @r has next, named @what, is
 *  not what it should be. */
static int parts_take(struct cbor_reader *r, const struct part *parts, size_t n,
		      void *s, const char *what, struct err *e)
{
	struct cbor_item head = { .type = JSON_NULL };
	size_t i = 0;

	if (!cbor_next(r, &head) || head.type != JSON_ARRAY || head.n > n) {
		return err_set(e, EPROTO, "'%s' is not what it should be",
			       what);
	}
	while (i < head.n &&
	       part_take(&parts[i], r, (char *)s + parts[i].at)) {
		i++;
	}
	return i == head.n ? 0 :
		err_set(e, EPROTO, "'%s': place %zu is not what it should be",
			what, i);
}

/* ---- as text ------------------------------------------------------------- */

/* Takes @bytes. */
static json_t *hex_json(struct str *bytes)
{
	char *text = bytes->failed ? NULL : malloc(2 * bytes->len + 1);
	json_t *j = NULL;

	if (text != NULL) {
		hash_hex(bytes->data, bytes->len, text);
		j = json_stringn_nocheck(text, 2 * bytes->len);
	}
	free(text);
	str_release(bytes);
	return j;
}

/* The @n bytes of @j; NULL: it is none.  free() them. */
static uint8_t *hex_read(const json_t *j, size_t *n, struct err *e)
{
	uint8_t *bytes = malloc(json_string_length(j) / 2 + 1);

	*n = json_string_length(j) / 2;
	if (bytes == NULL || *n == 0 ||
	    hash_unhex(json_string_value(j), bytes, *n) < 0) {
		free(bytes);
		err_set(e, EPROTO, "an entry of a list is not what it should "
				   "be");
		return NULL;
	}
	return bytes;
}

/* ---- orders ------------------------------------------------------------- */

static const struct order usual_order = {
	.attempt = 1, .seat = { .ranks = 2 },
	.dirs = { { .wanted = true, .slow_factor = 1 },
		  { .wanted = true, .slow_factor = 1 } },
};

json_t *order_how_json(const struct order_how *h)
{
	json_t *sizes = json_array();

	for (int i = 0; i < h->n_sizes; i++) {
		json_array_append_new(sizes, json_integer(h->sizes[i]));
	}
	return json_pack("{s:I,s:I,s:o,s:I,s:I,s:b}", "setup_ns", h->setup_ns,
			 "run_ns", h->run_ns, "sizes", sizes, "iters", h->iters,
			 "warmup", h->warmup, "check", h->check);
}

int order_how_parse(const json_t *j, struct order_how *h, struct err *e)
{
	const int64_t week_ns = INT64_C(604800) * 1000000000;
	const json_t *sizes = json_get_array(j, "sizes", SPEC_MAX_SIZES, e);
	const json_t *v;
	size_t i;

	if (sizes == NULL ||
	    json_get_int(j, "setup_ns", 0, week_ns, &h->setup_ns, e) < 0 ||
	    json_get_int(j, "run_ns", 0, week_ns, &h->run_ns, e) < 0 ||
	    json_get_int(j, "iters", 0, INT32_MAX, &h->iters, e) < 0 ||
	    json_get_int(j, "warmup", 0, INT32_MAX, &h->warmup, e) < 0 ||
	    json_get_bool(j, "check", &h->check, e) < 0) {
		return -1;
	}
	json_array_foreach(sizes, i, v) {
		h->sizes[i] = json_integer_value(v);
		if (h->sizes[i] < 1 || h->sizes[i] > SIZE_MAX_B) {
			return err_set(e, EPROTO, "size %zu is out of range",
				       i);
		}
	}
	h->n_sizes = (int)json_array_size(sizes);
	return h->n_sizes > 0 ? 0 : err_set(e, EPROTO, "tasks without sizes");
}

void order_add(const struct order *o, struct str *out)
{
	parts_add(PARTS(order_parts), o, &usual_order, out);
}

static int order_read(const void *bytes, size_t n, struct order *o,
		      struct err *e)
{
	struct cbor_reader r = { .at = bytes, .left = n };

	*o = usual_order;
	if (parts_take(&r, PARTS(order_parts), o, "orders", e) < 0) {
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

int order_parse(const json_t *j, struct order *o, struct err *e)
{
	size_t n;
	uint8_t *bytes = hex_read(j, &n, e);
	int rc = bytes != NULL ? order_read(bytes, n, o, e) : -1;

	free(bytes);
	return rc;
}

/* ---- words --------------------------------------------------------------- */

void order_word_add(const struct order_word *o, struct str *out)
{
	static const struct order_word usual;

	parts_add(PARTS(word_parts), o, &usual, out);
}

json_t *order_word_json(const struct order_word *o)
{
	struct str bytes = STR_INIT;

	order_word_add(o, &bytes);
	return hex_json(&bytes);
}

int order_word_read(const void *bytes, size_t n, struct order_word *o,
		    struct err *e)
{
	struct cbor_reader r = { .at = bytes, .left = n };

	o->rank = o->id = 0;
	o->text[0] = '\0';
	if (parts_take(&r, PARTS(word_parts), o, "words", e) < 0) {
		return -1;
	}
	return r.left == 0 ? 0 : err_set(e, EPROTO, "a word too many");
}

int order_word_parse(const json_t *j, struct order_word *o, struct err *e)
{
	size_t n;
	uint8_t *bytes = hex_read(j, &n, e);
	int rc = bytes != NULL ? order_word_read(bytes, n, o, e) : -1;

	free(bytes);
	return rc;
}

/* ---- reports ------------------------------------------------------------- */

static void usual_result(struct order_result *o)
{
	o->dir = 0;
	o->size_B = 0;
	xport_result_init(&o->r);
}

json_t *order_report_json(const struct order_report *r)
{
	const struct order_report usual = { .crashed = RECORD_NONE };
	struct order_result result;
	struct str bytes = STR_INIT;

	usual_result(&result);
	parts_add(PARTS(report_parts), r, &usual, &bytes);
	for (int i = 0; i < r->n; i++) {
		parts_add(PARTS(result_parts), &r->results[i], &result, &bytes);
	}
	return hex_json(&bytes);
}

static int take_results(struct cbor_reader *from, struct order_report *r,
			struct err *e)
{
	int n = r->n;

	r->results = malloc(((size_t)n + 1) * sizeof(*r->results));
	if (r->results == NULL) {
		return err_set(e, ENOMEM, "no memory for results");
	}
	for (int i = 0; i < n; i++) {
		usual_result(&r->results[i]);
		if (parts_take(from, PARTS(result_parts), &r->results[i],
			       "results", e) < 0) {
			return -1;
		}
	}
	return from->left == 0 ? 0 : err_set(e, EPROTO, "too many results");
}

int order_report_read(const void *bytes, size_t n, struct order_report *r,
		      struct err *e)
{
	struct cbor_reader from = { .at = bytes, .left = n };

	*r = (struct order_report){ .crashed = RECORD_NONE };
	if (parts_take(&from, PARTS(report_parts), r, "reports", e) < 0 ||
	    take_results(&from, r, e) < 0) {
		order_report_release(r);
		return -1;
	}
	return 0;
}

int order_report_parse(const json_t *j, struct order_report *r, struct err *e)
{
	size_t n;
	uint8_t *bytes = hex_read(j, &n, e);
	int rc = bytes != NULL ? order_report_read(bytes, n, r, e) : -1;

	free(bytes);
	return rc;
}

void order_report_release(struct order_report *r)
{
	json_decref(r->facts);
	free(r->results);
	*r = (struct order_report){ 0 };
}
