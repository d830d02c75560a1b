/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/collective/collective.h"

#include <string.h>

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
