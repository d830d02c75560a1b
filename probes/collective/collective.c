/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/collective/collective.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"

/* ---- order --------------------------------------------------------------- */

#define RANKS_MAX  (SPEC_MAX_NODES * SPEC_MAX_GPUS)
#define BUDGET_MAX (INT64_C(604800) * 1000000000)
#define US_MAX	   ((double)BUDGET_MAX / 1e3)
#define BAD_MAX	   ((INT64_C(1) << COLLECTIVE_STEP_VERIFY) - 1)
#define WRONG_MAX  (INT64_MAX / RANKS_MAX)	/* all of them are added up */

#define ORDER(member, ...) FIELD(collective_order, member, __VA_ARGS__)
#define ORDER_WORDS(member, ...) \
	FIELD_WORDS(collective_order, member, __VA_ARGS__)

const struct field collective_order_fields[] = {
	ORDER(what, "do", INT, 0, DO_LEAVE,
	      "make a ticket, join, measure, leave"),
	ORDER(id, "id", INT, 0, UINT32_MAX, "of the task"),
	ORDER(nonce, "nonce", TEXT, 0, 0, "of the task, hex"),
	ORDER(rank, "rank", INT, 0, RANKS_MAX, "rank"),
	ORDER(budget_ns, "work_ns", INT, 0, BUDGET_MAX, "for the worker"),
	ORDER(me, "me", INT, 0, RANKS_MAX, "rank within the collective"),
	ORDER(ranks, "ranks", INT, 1, RANKS_MAX, "of the collective"),
	ORDER(nodes, "nodes", INT, 1, RANKS_MAX, "of these ranks"),
	ORDER_WORDS(op, "op", collective_names, "collective"),
	ORDER_WORDS(dtype, "dtype", dtypes, "of elements"),
	ORDER_WORDS(redop, "redop", redops, "reduction"),
	ORDER(variant, "variant", TEXT, 0, 0, "name"),
	ORDER(algo, "algo", TEXT, 0, 0, "requested"),
	ORDER(proto, "proto", TEXT, 0, 0, "requested"),
	ORDER(ticket, "ticket", TEXT, 0, 0, "of rank 0"),
	ORDER(size_B, "size_B", INT, 0, INT64_MAX / 64, "of a message"),
	ORDER(factor, "factor", INT, 2, 1 << 20, "between sizes"),
	ORDER(inplace, "inplace", BOOL, 0, 0, "in place"),
	ORDER(check, "check", BOOL, 0, 0, "compare the data"),
	ORDER(warmup, "warmup", INT, 0, 1000000, "untimed operations"),
	ORDER(samples, "samples", INT, 0, COLLECTIVE_STEP_SAMPLES,
	      "timed samples"),
	ORDER(batch, "batch", INT, 0, 1000000, "operations per sample"),
	ORDER(held, "held", BOOL, 0, 0, "begin together"),
	ORDER(seed, "seed", INT, INT64_MIN + 1, INT64_MAX,
	      "of data and models"),
	ORDER(verify, "verify", INT, 0, COLLECTIVE_STEP_VERIFY,
	      "checked operations"),
	ORDER(verify_from, "verify_from", INT, 0, INT64_MAX / 2,
	      "number of operations before"),
	ORDER(drill, "drill", INT, 0, XPORT_DRILL_CORRUPT, "0: none"),
	ORDER(silent, "silent", BOOL, 0, 0, "a drill that other ranks detect"),
	ORDER(slow_factor, "slow", REAL, 1e-9, 1, "factor of a drill"),
	ORDER(wrong_rate, "wrong_rate", REAL, 0, 1, "of a drill"),
	ORDER(wrong_by, "wrong_by", INT, 0, RANKS_MAX, "the member with that"),
	{ .name = "budget_ns", .kind = FIELD_INT, .max = 2 * BUDGET_MAX,
	  .help = "for its agent" },
	{ 0 }
};

#define RESULT(member, ...) FIELD(collective_result, member, __VA_ARGS__)

const struct field collective_result_fields[] = {
	RESULT(id, "id", INT, 0, UINT32_MAX, "of the task"),
	RESULT(rank, "rank", INT, 0, RANKS_MAX, "rank"),
	RESULT(what, "do", INT, 0, DO_LEAVE, "as in the request"),
	FIELD_WORDS(collective_result, outcome, "outcome", outcome_names,
		    "outcome"),
	RESULT(code, "code", TEXT, 0, 0, "reason, as a code"),
	RESULT(detail, "detail", TEXT, 0, 0, "reason, in words"),
	RESULT(echo, "echo", BOOL, 0, 0, "only waited for other ranks"),
	RESULT(ticket, "ticket", TEXT, 0, 0, "of rank 0"),
	RESULT(lib, "lib", TEXT, 0, 0, "of collectives"),
	RESULT(size_B, "size_B", INT, 0, INT64_MAX, "the largest that fits"),
	RESULT(algo, "algo", TEXT, 0, 0, "used"),
	RESULT(proto, "proto", TEXT, 0, 0, "used"),
	FIELD_LIST(collective_result, us, n, "us", REALS, 0, US_MAX,
		   "time of an operation"),
	RESULT(bad, "bad", INT, 0, BAD_MAX,
	       "bits: wrong operations of verify"),
	RESULT(wrong, "wrong", INT, 0, WRONG_MAX, "wrong elements",
	       .optional = FIELD_OMITTED),
	{ 0 }
};

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
	json_t *json = schema_json(collective_order_fields, o);

	json_object_set_new(json, "budget_ns", json_integer(
				    o->budget_ns + COLLECTIVE_LATE_NS));
	return json;
}

int collective_order_parse(const json_t *msg, struct collective_order *o,
			   struct err *e)
{
	*o = (struct collective_order){ .slow_factor = 1 };
	if (schema_read(collective_order_fields, o, msg, e) < 0) {
		return -1;
	}
	return o->me < o->ranks && o->wrong_by < o->ranks ? 0 :
		err_set(e, EPROTO, "'me' or 'wrong_by' is not below 'ranks'");
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

int collective_result_parse(const json_t *msg, struct collective_result *r,
			    struct err *e)
{
	memset(r, 0, sizeof(*r));
	r->wrong = RECORD_NONE;
	return schema_read(collective_result_fields, r, msg, e);
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

/* A rank's share is a multiple of this, bytes. */
#define SHARE_B 16
/* The default sweep. */
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

/* ---- drill --------------------------------------------------------------- */

double collective_drill(const struct drill *d, const struct layout *l,
			const int *members, int n, int attempt, uint64_t seed,
			struct collective_act *acts)
{
	double factor = 1;

	for (int i = 0; i < n; i++) {
		struct collective_act *act = &acts[i];

		*act = (struct collective_act){ .drill = XPORT_DRILL_NONE };
		for (size_t k = 0; k < d->n; k++) {
			const struct drill_fault *f = &d->faults[k];

			/* of the rank itself, with any partner */
			if ((f->part != DRILL_NODE && f->part != DRILL_GPU &&
			     f->part != DRILL_RANK) ||
			    !drill_has_end(f, l, members[i])) {
				continue;
			}
			if (act->drill == XPORT_DRILL_NONE) {
				act->drill = drill_act(f->kind);
				act->fault = f;
			}
			if (f->kind == DRILL_WRONG) {
				act->wrong = fmax(act->wrong, f->value);
			}
		}
	}
	for (int i = 0; d->n > 0 && i < n * n; i++) {
		int src = i / n, dst = i % n, end;
		struct drill_effect f;

		if (src == dst || acts[src].drill != XPORT_DRILL_NONE ||
		    acts[dst].drill != XPORT_DRILL_NONE) {
			continue;
		}
		f = drill_effect(d, l, members[src], members[dst], attempt,
				 seed);
		factor = fmin(factor, f.factor);
		end = f.wrong_end == members[src] ? src : dst;
		acts[end].wrong = fmax(acts[end].wrong, f.wrong);
		if (f.kind == DRILL_CORRUPT) {
			acts[dst].drill = XPORT_DRILL_CORRUPT;
			acts[dst].fault = f.fault;
		} else if (f.kind == DRILL_DEAD || f.kind == DRILL_HANG) {
			acts[dst].drill = XPORT_DRILL_HANG;
			acts[dst].fault = f.fault;
			acts[dst].silent = true;
		}
	}
	return factor;
}
