/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/collective/collective.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "lib/data/json.h"

/* ---- order --------------------------------------------------------------- */

#define RANKS_MAX  (SPEC_MAX_NODES * SPEC_MAX_GPUS)
#define BUDGET_MAX (INT64_C(604800) * 1000000000)
#define US_MAX	   ((double)BUDGET_MAX / 1e3)
#define BAD_MAX	   ((INT64_C(1) << COLLECTIVE_STEP_VERIFY) - 1)
#define WRONG_MAX  (INT64_MAX / RANKS_MAX)	/* all of them are added up */

uint64_t collective_verify_seed(const struct collective_order *o, int64_t i)
{
	return hash_mix((uint64_t)o->seed, (uint64_t)i, 1, 0);
}

bool collective_is_spoilt(const struct collective_order *o, int64_t i)
{
	return hash_unit((uint64_t)o->seed, (uint64_t)o->id, (uint64_t)i, 2) <
	       o->wrong_rate;
}

json_t *collective_order_json(const struct collective_order *o)
{
	return json_pack(
		"{s:i,s:I,s:s,s:I,s:I,s:I,s:I,s:I,s:s,s:s,s:s,s:s,s:s,s:s,"
		"s:s,s:I,s:I,s:b,s:b,s:I,s:I,s:I,s:b,s:I,s:I,s:I,s:i,s:b,s:f,"
		"s:f,s:I,s:I}",
		"do", (int)o->what, "id", o->id, "nonce", o->nonce, "rank",
		o->rank, "work_ns", o->budget_ns, "me", o->me, "ranks",
		o->ranks, "nodes", o->nodes, "op", collective_name(o->op),
		"dtype", o->dtype->name, "redop", o->redop->name, "variant",
		o->variant, "algo", o->algo, "proto", o->proto, "ticket",
		o->ticket, "size_B", o->size_B, "factor", o->factor, "inplace",
		o->inplace, "check", o->check, "warmup", o->warmup, "samples",
		o->samples, "batch", o->batch, "held", o->held, "seed", o->seed,
		"verify", o->verify, "verify_from", o->verify_from, "drill",
		(int)o->drill, "silent", o->silent, "slow", o->slow_factor,
		"wrong_rate", o->wrong_rate, "wrong_by", o->wrong_by,
		/* what the agent reads */
		"budget_ns", o->budget_ns + COLLECTIVE_LATE_NS);
}

static int parse_names(const json_t *msg, struct collective_order *o,
		       struct err *e)
{
	char op[16], dtype[16], redop[16];

	if (json_get_text(msg, "op", op, sizeof(op), e) < 0 ||
	    json_get_text(msg, "dtype", dtype, sizeof(dtype), e) < 0 ||
	    json_get_text(msg, "redop", redop, sizeof(redop), e) < 0 ||
	    json_get_text(msg, "variant", o->variant, sizeof(o->variant), e) <
		    0 ||
	    json_get_text(msg, "algo", o->algo, sizeof(o->algo), e) < 0 ||
	    json_get_text(msg, "proto", o->proto, sizeof(o->proto), e) < 0) {
		return -1;
	}
	o->op = collective_parse(op);
	o->dtype = dtype_find(dtype);
	o->redop = redop_find(redop);
	if (o->op == COLLECTIVES || o->dtype == NULL || o->redop == NULL) {
		return err_set(e, EPROTO, "unknown collective, type or "
					  "reduction");
	}
	return 0;
}

int collective_order_parse(const json_t *msg, struct collective_order *o,
			   struct err *e)
{
	int64_t what, drill = 0;

	*o = (struct collective_order){ .slow_factor = 1 };
	if (json_get_int(msg, "do", 0, DO_LEAVE, &what, e) < 0 ||
	    json_get_int(msg, "id", 0, UINT32_MAX, &o->id, e) < 0 ||
	    json_get_text(msg, "nonce", o->nonce, sizeof(o->nonce), e) < 0 ||
	    json_get_int(msg, "rank", 0, RANKS_MAX, &o->rank, e) < 0 ||
	    json_get_int(msg, "work_ns", 0, BUDGET_MAX, &o->budget_ns, e) < 0 ||
	    json_get_int(msg, "ranks", 1, RANKS_MAX, &o->ranks, e) < 0 ||
	    json_get_int(msg, "me", 0, o->ranks - 1, &o->me, e) < 0 ||
	    json_get_int(msg, "nodes", 1, RANKS_MAX, &o->nodes, e) < 0 ||
	    parse_names(msg, o, e) < 0 ||
	    json_get_text(msg, "ticket", o->ticket, sizeof(o->ticket), e) < 0 ||
	    json_get_int(msg, "size_B", 0, INT64_MAX / 64, &o->size_B, e) < 0 ||
	    json_get_int(msg, "factor", 2, 1 << 20, &o->factor, e) < 0 ||
	    json_get_bool(msg, "inplace", &o->inplace, e) < 0 ||
	    json_get_bool(msg, "check", &o->check, e) < 0 ||
	    json_get_int(msg, "warmup", 0, 1000000, &o->warmup, e) < 0 ||
	    json_get_int(msg, "samples", 0, COLLECTIVE_STEP_SAMPLES,
			 &o->samples, e) < 0 ||
	    json_get_int(msg, "batch", 0, 1000000, &o->batch, e) < 0 ||
	    json_get_bool(msg, "held", &o->held, e) < 0 ||
	    json_get_int(msg, "seed", INT64_MIN + 1, INT64_MAX, &o->seed, e) <
		    0 ||
	    json_get_int(msg, "verify", 0, COLLECTIVE_STEP_VERIFY, &o->verify,
			 e) < 0 ||
	    json_get_int(msg, "verify_from", 0, INT64_MAX / 2, &o->verify_from,
			 e) < 0 ||
	    json_get_int(msg, "drill", 0, XPORT_DRILL_CORRUPT, &drill, e) < 0 ||
	    json_get_bool(msg, "silent", &o->silent, e) < 0 ||
	    json_get_real(msg, "slow", 1e-9, 1, &o->slow_factor, e) < 0 ||
	    json_get_real(msg, "wrong_rate", 0, 1, &o->wrong_rate, e) < 0 ||
	    json_get_int(msg, "wrong_by", 0, o->ranks - 1, &o->wrong_by, e) <
		    0) {
		return -1;
	}
	o->what = (enum collective_do)what;
	o->drill = (enum xport_drill)drill;
	return 0;
}

void collective_result_init(struct collective_result *r,
			    const struct collective_order *o)
{
	memset(r, 0, sizeof(*r));
	r->id = o->id;
	r->rank = o->rank;
	r->what = o->what;
	r->outcome = OUTCOME_OK;
	r->wrong = RECORD_NONE;
}

json_t *collective_result_json(const struct collective_result *r)
{
	json_t *us = json_array();

	for (int i = 0; i < r->n; i++) {
		json_array_append_new(us, json_real(r->us[i]));
	}
	return json_pack(
		"{s:I,s:I,s:i,s:s,s:s,s:o,s:b,s:s,s:o,s:I,s:o,s:o,s:o,s:I,"
		"s:o*}",
		"id", r->id, "rank", r->rank, "do", (int)r->what, "outcome",
		outcome_name(r->outcome), "code", r->code, "detail",
		json_text(r->detail), "echo", r->echo, "ticket", r->ticket,
		"lib", json_text(r->lib), "size_B", r->size_B, "algo",
		json_text(r->algo), "proto", json_text(r->proto), "us", us,
		"bad", (json_int_t)r->bad, "wrong",
		r->wrong != RECORD_NONE ? json_integer(r->wrong) : NULL);
}

int collective_result_parse(const json_t *msg, struct collective_result *r,
			    struct err *e)
{
	int64_t what, bad;
	char outcome[16];
	json_t *us, *v;
	size_t i;

	memset(r, 0, sizeof(*r));
	r->wrong = RECORD_NONE;
	us = json_get_array(msg, "us", COLLECTIVE_SAMPLES, e);
	if (us == NULL || json_get_int(msg, "do", 0, DO_LEAVE, &what, e) < 0 ||
	    json_get_int(msg, "id", 0, UINT32_MAX, &r->id, e) < 0 ||
	    json_get_int(msg, "rank", 0, RANKS_MAX, &r->rank, e) < 0 ||
	    json_get_text(msg, "outcome", outcome, sizeof(outcome), e) < 0 ||
	    json_get_text(msg, "code", r->code, sizeof(r->code), e) < 0 ||
	    json_get_text(msg, "detail", r->detail, sizeof(r->detail), e) < 0 ||
	    json_get_bool(msg, "echo", &r->echo, e) < 0 ||
	    json_get_text(msg, "ticket", r->ticket, sizeof(r->ticket), e) < 0 ||
	    json_get_text(msg, "lib", r->lib, sizeof(r->lib), e) < 0 ||
	    json_get_int(msg, "size_B", 0, INT64_MAX, &r->size_B, e) < 0 ||
	    json_get_text(msg, "algo", r->algo, sizeof(r->algo), e) < 0 ||
	    json_get_text(msg, "proto", r->proto, sizeof(r->proto), e) < 0 ||
	    json_get_int(msg, "bad", 0, BAD_MAX, &bad, e) < 0 ||
	    json_opt_int(msg, "wrong", 0, WRONG_MAX, &r->wrong, e) < 0) {
		return -1;
	}
	r->bad = (uint64_t)bad;
	r->what = (enum collective_do)what;
	r->outcome = outcome_parse(outcome);
	if (r->outcome == OUTCOME_COUNT) {
		return err_set(e, EPROTO, "'%s' is not an outcome", outcome);
	}
	json_array_foreach(us, i, v) {
		if (!json_is_number(v) || json_number_value(v) < 0 ||
		    json_number_value(v) > US_MAX) {
			return err_set(e, EPROTO, "sample %zu is not a valid "
						  "time", i);
		}
		r->us[r->n++] = json_number_value(v);
	}
	return 0;
}

int collective_fail(struct collective_result *r, enum outcome o,
		    const char *code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->detail, sizeof(r->detail), fmt, ap);
	va_end(ap);
	r->outcome = o;
	STR_COPY(r->code, code);
	return -1;
}

/* ---- collective ---------------------------------------------------------- */

/* What a rank's share is a multiple of, bytes. */
#define SHARE_B 16
/* A sweep that nobody asked for more closely. */
#define SWEEP_BEGIN_B INT64_C(8)
#define SWEEP_END_B   (INT64_C(8) << 30)

const struct dtype dtypes[] = {
	{ .name = "int8", .nccl = 0, .width_log2 = 0, .is_signed = true },
	{ .name = "uint8", .nccl = 1, .width_log2 = 0 },
	{ .name = "int32", .nccl = 2, .width_log2 = 2, .is_signed = true },
	{ .name = "uint32", .nccl = 3, .width_log2 = 2 },
	{ .name = "int64", .nccl = 4, .width_log2 = 3, .is_signed = true },
	{ .name = "uint64", .nccl = 5, .width_log2 = 3 },
	{ .name = "half", .nccl = 6, .width_log2 = 1, .is_float = true,
	  .exponent = 5, .mantissa = 10 },
	{ .name = "float", .nccl = 7, .width_log2 = 2, .is_float = true,
	  .exponent = 8, .mantissa = 23 },
	{ .name = "double", .nccl = 8, .width_log2 = 3, .is_float = true,
	  .exponent = 11, .mantissa = 52 },
	{ .name = "bfloat16", .nccl = 9, .width_log2 = 1, .is_float = true,
	  .exponent = 8, .mantissa = 7 },
	{ .name = "f8e4m3", .nccl = 10, .width_log2 = 0, .is_float = true,
	  .exponent = 4, .mantissa = 3 },	/* NCCL 2.24 and later */
	{ .name = "f8e5m2", .nccl = 11, .width_log2 = 0, .is_float = true,
	  .exponent = 5, .mantissa = 2 },
	{ 0 }
};

const struct redop redops[] = {
	{ .name = "sum", .nccl = 0 }, { .name = "prod", .nccl = 1 },
	{ .name = "max", .nccl = 2 }, { .name = "min", .nccl = 3 },
	{ .name = "avg", .nccl = 4 }, { 0 }
};

const struct collective_kind collective_kinds[] = {
	[COLLECTIVE_ALLREDUCE] = { .reduces = true, .checks_inplace = true },
	[COLLECTIVE_ALLGATHER] = { .shares = true, .gets_all = true,
				   .checks_inplace = true },
	[COLLECTIVE_REDUCESCATTER] = { .reduces = true, .shares = true,
				       .gives_all = true,
				       .checks_inplace = true },
	[COLLECTIVE_BROADCAST] = { .has_root = true, .checks_inplace = true },
	[COLLECTIVE_REDUCE] = { .reduces = true, .has_root = true,
				.checks_inplace = true },
	[COLLECTIVE_ALLTOALL] = { .shares = true, .gives_all = true,
				  .gets_all = true, .exchanges = true },
	[COLLECTIVE_SENDRECV] = { .exchanges = true },
};

const struct dtype *dtype_find(const char *name)
{
	const struct dtype *t = dtypes;

	while (t->name != NULL && strcmp(t->name, name) != 0) {
		t++;
	}
	return t->name != NULL ? t : NULL;
}

const struct redop *redop_find(const char *name)
{
	const struct redop *r = redops;

	while (r->name != NULL && strcmp(r->name, name) != 0) {
		r++;
	}
	return r->name != NULL ? r : NULL;
}

bool collective_shape(enum collective op, const struct dtype *t, int ranks,
		      int64_t size_B, struct collective_shape *s)
{
	const struct collective_kind *k = &collective_kinds[op];
	int64_t all = size_B >> t->width_log2;

	*s = (struct collective_shape){ .count = all, .send = all, .recv = all,
				  .checks_inplace = k->checks_inplace };
	if (k->shares) {
		int64_t unit = SHARE_B >> t->width_log2;

		s->count = all / ranks / unit * unit;
		s->send = k->gives_all ? s->count * ranks : s->count;
		s->recv = k->gets_all ? s->count * ranks : s->count;
		s->send_step = k->gives_all ? 0 : s->count;
		s->recv_step = k->gets_all ? 0 : s->count;
	}
	s->size_B = (s->send > s->recv ? s->send : s->recv) << t->width_log2;
	return s->count > 0;
}

int collective_sizes(const struct spec *s, int64_t sizes[SPEC_MAX_SIZES])
{
	return spec_sizes(s, SWEEP_BEGIN_B, SWEEP_END_B, sizes);
}
