/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/order.h"

#include <errno.h>
#include <inttypes.h>
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

static json_t *dir_json(const struct order_dir *d)
{
	if (!d->wanted) {
		return json_null();
	}
	return json_pack("{s:b,s:i,s:f}", "send", d->sender, "drill",
			 (int)d->drill, "factor", d->slow_factor);
}

json_t *order_json(const struct order *o)
{
	json_t *sizes = json_array();

	for (int i = 0; i < o->n_sizes; i++) {
		json_array_append_new(sizes, json_integer(o->sizes[i]));
	}
	return json_pack("{s:I,s:I,s:s,s:I,s:I,s:b,s:b,s:s,s:i,s:i,s:I,s:I,"
			 "s:o,s:I,s:I,s:b,s:[o,o]}",
			 "id", o->id, "attempt", o->attempt,
			 "nonce", o->nonce, "rank", o->rank, "peer", o->peer,
			 "now", o->now, "lead", o->lead, "ticket", o->ticket, "me",
			 o->seat.me, "ranks", o->seat.ranks, "setup_ns",
			 o->setup_ns, "run_ns", o->run_ns, "sizes", sizes,
			 "iters", o->iters, "warmup", o->warmup, "check",
			 o->check, "dirs", dir_json(&o->dirs[0]),
			 dir_json(&o->dirs[1]));
}

static int dir_parse(const json_t *j, struct order_dir *d, struct err *e)
{
	int64_t drill = 0;

	*d = (struct order_dir){ .slow_factor = 1 };
	if (json_is_null(j)) {
		return 0;
	}
	if (json_get_bool(j, "send", &d->sender, e) < 0 ||
	    json_get_int(j, "drill", 0, XPORT_DRILL_CORRUPT, &drill, e) < 0 ||
	    json_get_real(j, "factor", 1e-9, 1, &d->slow_factor, e) < 0) {
		return -1;
	}
	d->drill = (enum xport_drill)drill;
	d->wanted = true;
	return 0;
}

int order_parse(const json_t *msg, struct order *o, struct err *e)
{
	const int64_t week_ns = INT64_C(604800) * 1000000000;
	json_t *sizes, *dirs;
	int64_t me, ranks;
	size_t i;
	json_t *v;

	memset(o, 0, sizeof(*o));
	if (json_get_int(msg, "id", 0, UINT32_MAX, &o->id, e) < 0 ||
	    json_get_int(msg, "attempt", 1, 1000, &o->attempt, e) < 0 ||
	    json_get_text(msg, "nonce", o->nonce, sizeof(o->nonce), e) < 0 ||
	    json_get_int(msg, "rank", 0, INT32_MAX, &o->rank, e) < 0 ||
	    json_get_int(msg, "peer", 0, INT32_MAX, &o->peer, e) < 0 ||
	    json_get_bool(msg, "now", &o->now, e) < 0 ||
	    json_get_bool(msg, "lead", &o->lead, e) < 0 ||
	    json_get_text(msg, "ticket", o->ticket, sizeof(o->ticket), e) < 0 ||
	    json_get_int(msg, "ranks", 2, 2 + TASK_MATES, &ranks, e) < 0 ||
	    json_get_int(msg, "me", 0, ranks - 1, &me, e) < 0 ||
	    json_get_int(msg, "setup_ns", 0, week_ns, &o->setup_ns, e) < 0 ||
	    json_get_int(msg, "run_ns", 0, week_ns, &o->run_ns, e) < 0 ||
	    json_get_int(msg, "iters", 0, INT32_MAX, &o->iters, e) < 0 ||
	    json_get_int(msg, "warmup", 0, INT32_MAX, &o->warmup, e) < 0 ||
	    json_get_bool(msg, "check", &o->check, e) < 0) {
		return -1;
	}
	o->seat = (struct xport_seat){ .me = (int)me, .ranks = (int)ranks };
	sizes = json_get_array(msg, "sizes", SPEC_MAX_SIZES, e);
	dirs = json_get_array(msg, "dirs", 2, e);
	if (sizes == NULL || dirs == NULL) {
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
	if (o->n_sizes == 0 || json_array_size(dirs) != 2) {
		return err_set(e, EPROTO, "task without sizes or directions");
	}
	for (i = 0; i < 2; i++) {
		if (dir_parse(json_array_get(dirs, i), &o->dirs[i], e) < 0) {
			return -1;
		}
	}
	return 0;
}

/* NULL, which json_pack() leaves out, where nothing was measured or said. */
static json_t *int_or_none(int64_t v)
{
	return v != RECORD_NONE ? json_integer(v) : NULL;
}

static json_t *text_or_none(const char *v)
{
	return v[0] != '\0' ? json_text(v) : NULL;
}

json_t *order_result_json(const struct order_result *o)
{
	const struct xport_result *r = &o->r;

	/* no real number of JSON is NAN */
	return json_pack("{s:i,s:I,s:i,s:o*,s:o*,s:o*,s:o*,s:o*,s:o*,s:o*,s:o*,"
			 "s:o*,s:o*,s:o*,s:b}",
			 "dir", o->dir, "size_B", o->size_B, "outcome",
			 (int)r->outcome, "iters", int_or_none(r->iters),
			 "bw", json_real(r->bw_GB_s),
			 "bw_min", json_real(r->bw_min_GB_s),
			 "bw_max", json_real(r->bw_max_GB_s),
			 "lat", json_real(r->lat_us),
			 "lat_p99", json_real(r->lat_p99_us),
			 "wrong", int_or_none(r->wrong),
			 "path", text_or_none(r->path),
			 "nic", text_or_none(r->nic),
			 "code", text_or_none(r->code),
			 "detail", text_or_none(r->detail), "echo", r->echo);
}

int order_result_parse(const json_t *j, struct order_result *o, struct err *e)
{
	struct xport_result *r = &o->r;
	int64_t dir, outcome;
	const double top = 1e12;

	memset(o, 0, sizeof(*o));
	xport_result_init(r);
	if (json_get_int(j, "dir", 0, 1, &dir, e) < 0 ||
	    json_get_int(j, "size_B", 0, INT64_MAX, &o->size_B, e) < 0 ||
	    json_get_int(j, "outcome", 0, OUTCOME_COUNT - 1, &outcome, e) < 0 ||
	    json_opt_int(j, "iters", 0, INT64_MAX, &r->iters, e) < 0 ||
	    json_opt_real(j, "bw", 0, top, &r->bw_GB_s, e) < 0 ||
	    json_opt_real(j, "bw_min", 0, top, &r->bw_min_GB_s, e) < 0 ||
	    json_opt_real(j, "bw_max", 0, top, &r->bw_max_GB_s, e) < 0 ||
	    json_opt_real(j, "lat", 0, top, &r->lat_us, e) < 0 ||
	    json_opt_real(j, "lat_p99", 0, top, &r->lat_p99_us, e) < 0 ||
	    json_opt_int(j, "wrong", 0, INT64_MAX, &r->wrong, e) < 0 ||
	    json_opt_text(j, "path", r->path, sizeof(r->path), e) < 0 ||
	    json_opt_text(j, "nic", r->nic, sizeof(r->nic), e) < 0 ||
	    json_opt_text(j, "code", r->code, sizeof(r->code), e) < 0 ||
	    json_opt_text(j, "detail", r->detail, sizeof(r->detail), e) < 0 ||
	    json_opt_bool(j, "echo", &r->echo, e) < 0) {
		return -1;
	}
	o->dir = (int)dir;
	r->outcome = (enum outcome)outcome;
	return 0;
}
