/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/order.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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
	PART_INT64,	/* RECORD_NONE is null */
	PART_REAL,	/* NAN is null */
	PART_TEXT,
	PART_BOOL,
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

static const struct part pair_parts[] = {
	PART(order, peer, PART_INT64, 0, INT32_MAX),
	PART(order, lead, PART_BOOL, 0, 0),
	PART(order, seat.me, PART_INT, 0, 1 + TASK_MATES),
	PART(order, attempt, PART_INT64, 1, 1000),
	PART(order, seat.ranks, PART_INT, 2, 2 + TASK_MATES),
	PART(order, ticket, PART_TEXT, 0, 0),
};

static const struct part dir_parts[] = {
	PART(order_dir, sender, PART_BOOL, 0, 0),
	PART(order_dir, drill, PART_INT, 0, XPORT_DRILL_CORRUPT),
	PART(order_dir, slow_factor, PART_REAL, 1e-9, 1),
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

#define PARTS(table) table, sizeof(table) / sizeof((table)[0])

static json_t *part_json(const struct part *p, const void *at)
{
	json_t *v = NULL;

	switch (p->kind) {
	case PART_INT:
		return json_integer(*(const int *)at);
	case PART_INT64:
		return *(const int64_t *)at != RECORD_NONE ?
			       json_integer(*(const int64_t *)at) : json_null();
	case PART_REAL:
		v = json_real(*(const double *)at);
		return v != NULL ? v : json_null();
	case PART_TEXT:
		return json_text(at);
	case PART_BOOL:
		return json_boolean(*(const bool *)at);
	}
	return v;
}

static bool is_same(const struct part *p, const void *s, const void *usual)
{
	const char *one = (const char *)s + p->at;
	const char *other = (const char *)usual + p->at;

	return memcmp(one, other, p->kind == PART_TEXT ? 1 : p->size) == 0 &&
	       (p->kind != PART_TEXT || *one == '\0');
}

static json_t *parts_json(const struct part *parts, size_t n, const void *s,
			  const void *usual)
{
	json_t *array = json_array();

	while (n > 0 && is_same(&parts[n - 1], s, usual)) {
		n--;
	}
	for (size_t i = 0; i < n; i++) {
		json_array_append_new(array,
				      part_json(&parts[i], (const char *)s +
							   parts[i].at));
	}
	return array;
}

static bool within(const struct part *p, double value)
{
	return value >= p->min && value <= p->max;
}

static bool part_parse(const struct part *p, const json_t *v, void *at)
{
	switch (p->kind) {
	case PART_INT:
		*(int *)at = (int)json_integer_value(v);
		return json_is_integer(v) &&
		       within(p, (double)json_integer_value(v));
	case PART_INT64:
		*(int64_t *)at = json_is_null(v) ? RECORD_NONE :
						   json_integer_value(v);
		return json_is_null(v) || (json_is_integer(v) &&
			within(p, (double)json_integer_value(v)));
	case PART_REAL:
		*(double *)at = json_is_null(v) ? NAN : json_number_value(v);
		return json_is_null(v) ||
		       (json_is_number(v) && within(p, json_number_value(v)));
	case PART_TEXT:
		return json_is_string(v) && json_string_length(v) < p->size &&
		       str_copy(at, p->size, json_string_value(v));
	case PART_BOOL:
		*(bool *)at = json_is_true(v);
		return json_is_boolean(v);
	}
	return false;
}

/** Into @s, which is as usual; -1 with @e: @v, named @what, is not what it
 *  should be. */
static int parts_parse(const json_t *v, const struct part *parts, size_t n,
		       void *s, const char *what, struct err *e)
{
	size_t given = json_array_size(v), i = 0;

	while (given <= n && i < given &&
	       part_parse(&parts[i], json_array_get(v, i),
			  (char *)s + parts[i].at)) {
		i++;
	}
	return json_is_array(v) && i == given ? 0 :
		err_set(e, EPROTO, "'%s': place %zu is not what it should be",
			what, i);
}

/* ---- orders ------------------------------------------------------------- */

static const struct order usual_order = {
	.attempt = 1, .seat = { .ranks = 2 },
};
static const struct order_dir usual_dir = { .wanted = true, .slow_factor = 1 };

static json_t *dir_json(const struct order_dir *d)
{
	return d->wanted ? parts_json(PARTS(dir_parts), d, &usual_dir)
			 : json_null();
}

static json_t *how_json(const struct order *o)
{
	json_t *sizes = json_array();

	for (int i = 0; i < o->n_sizes; i++) {
		json_array_append_new(sizes, json_integer(o->sizes[i]));
	}
	return json_pack("{s:I,s:I,s:o,s:I,s:I,s:b}", "setup_ns", o->setup_ns,
			 "run_ns", o->run_ns, "sizes", sizes, "iters", o->iters,
			 "warmup", o->warmup, "check", o->check);
}

json_t *order_json(const struct order *o, json_t **how)
{
	if (*how == NULL) {
		*how = how_json(o);
	}
	return json_pack("{s:I,s:I,s:s,s:I,s:b,s:O,s:o,s:[o,o]}", "id", o->id,
			 "rank", o->rank, "nonce", o->nonce, "budget_ns",
			 o->setup_ns + o->run_ns, "now", o->now,
			 "how", *how, "pair",
			 parts_json(PARTS(pair_parts), o,
						&usual_order),
			 "dirs", dir_json(&o->dirs[0]), dir_json(&o->dirs[1]));
}

static int how_parse(const json_t *how, struct order *o, struct err *e)
{
	const int64_t week_ns = INT64_C(604800) * 1000000000;
	const json_t *sizes = json_get_array(how, "sizes", SPEC_MAX_SIZES, e);
	const json_t *v;
	size_t i;

	if (sizes == NULL ||
	    json_get_int(how, "setup_ns", 0, week_ns, &o->setup_ns, e) < 0 ||
	    json_get_int(how, "run_ns", 0, week_ns, &o->run_ns, e) < 0 ||
	    json_get_int(how, "iters", 0, INT32_MAX, &o->iters, e) < 0 ||
	    json_get_int(how, "warmup", 0, INT32_MAX, &o->warmup, e) < 0 ||
	    json_get_bool(how, "check", &o->check, e) < 0) {
		return -1;
	}
	json_array_foreach(sizes, i, v) {
		o->sizes[i] = json_integer_value(v);
		if (o->sizes[i] < 1 || o->sizes[i] > SIZE_MAX_B) {
			return err_set(e, EPROTO, "size %zu is out of range",
				       i);
		}
	}
	o->n_sizes = (int)json_array_size(sizes);
	return o->n_sizes > 0 ? 0 : err_set(e, EPROTO, "task without sizes");
}

static int dir_parse(const json_t *j, struct order_dir *d, struct err *e)
{
	*d = usual_dir;
	d->wanted = !json_is_null(j);
	return d->wanted ? parts_parse(j, PARTS(dir_parts), d, "dirs", e) : 0;
}

int order_parse(const json_t *msg, struct order *o, struct err *e)
{
	const json_t *dirs = json_get_array(msg, "dirs", 2, e);

	*o = usual_order;
	if (dirs == NULL ||
	    json_get_int(msg, "id", 0, UINT32_MAX, &o->id, e) < 0 ||
	    json_get_text(msg, "nonce", o->nonce, sizeof(o->nonce), e) < 0 ||
	    json_get_int(msg, "rank", 0, INT32_MAX, &o->rank, e) < 0 ||
	    json_get_bool(msg, "now", &o->now, e) < 0 ||
	    how_parse(json_object_get(msg, "how"), o, e) < 0 ||
	    parts_parse(json_object_get(msg, "pair"), PARTS(pair_parts), o,
			"pair", e) < 0) {
		return -1;
	}
	if (o->seat.me >= o->seat.ranks || json_array_size(dirs) != 2) {
		return err_set(e, EPROTO, "task without a place or directions");
	}
	return dir_parse(json_array_get(dirs, 0), &o->dirs[0], e) < 0 ?
		       -1 : dir_parse(json_array_get(dirs, 1), &o->dirs[1], e);
}

json_t *order_result_json(const struct order_result *o)
{
	struct order_result usual = { 0 };

	xport_result_init(&usual.r);
	return parts_json(PARTS(result_parts), o, &usual);
}

int order_result_parse(const json_t *j, struct order_result *o, struct err *e)
{
	memset(o, 0, sizeof(*o));
	xport_result_init(&o->r);
	return parts_parse(j, PARTS(result_parts), o, "results", e);
}
