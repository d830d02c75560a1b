/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record_collective.h"

#include <string.h>

#define COLUMN(field, kind, text) \
	{ .name = #field, .type = kind, \
	  .offset = offsetof(struct collective_row, field), \
	  .size = sizeof(((struct collective_row *)NULL)->field), .help = text }

static const struct column columns[] = {
	COLUMN(op, COLUMN_TEXT, "the collective: allreduce, allgather, ..."),
	COLUMN(variant, COLUMN_TEXT, "which of the compared settings"),
	COLUMN(table, COLUMN_TEXT, "heading of the table in an imported file"),
	COLUMN(lib, COLUMN_TEXT, "version or path of the library"),
	COLUMN(algo, COLUMN_TEXT, "algorithm, as the library calls it"),
	COLUMN(proto, COLUMN_TEXT, "protocol, as the library calls it"),
	COLUMN(ranks, COLUMN_INT, "ranks that took part"),
	COLUMN(nodes, COLUMN_INT, "nodes that took part"),
	COLUMN(dtype, COLUMN_TEXT, "type of the elements"),
	COLUMN(redop, COLUMN_TEXT, "reduction: sum, prod, min, max, avg, none"),
	COLUMN(root, COLUMN_INT, "root rank; -1 = the collective has none"),
	COLUMN(size_B, COLUMN_INT, "bytes, counted as nccl-tests does"),
	COLUMN(count, COLUMN_INT, "elements, counted as nccl-tests does"),
	COLUMN(inplace, COLUMN_INT, "1: the result overwrites the input"),
	COLUMN(iters, COLUMN_INT, "operations timed"),
	COLUMN(time_us, COLUMN_REAL, "mean time of one, microseconds"),
	COLUMN(time_med_us, COLUMN_REAL, "median time, microseconds"),
	COLUMN(time_min_us, COLUMN_REAL, "shortest time, microseconds"),
	COLUMN(time_max_us, COLUMN_REAL, "longest time, microseconds"),
	COLUMN(time_p99_us, COLUMN_REAL, "99th percentile, microseconds"),
	COLUMN(algbw_GB_s, COLUMN_REAL, "algorithm bandwidth: size over time, "
					"10^9 bytes per second"),
	COLUMN(busbw_GB_s, COLUMN_REAL, "bus bandwidth: rate of the links, "
					"10^9 bytes per second"),
	COLUMN(wrong, COLUMN_INT, "elements with a wrong result"),
	COLUMN(outcome, COLUMN_OUTCOME, "ok, error, timeout, crashed, corrupt, "
					"skipped, not_run"),
	COLUMN(code, COLUMN_TEXT, "kind of failure, one word"),
	COLUMN(detail, COLUMN_TEXT, "the failure in one sentence"),
	COLUMN(start_utc, COLUMN_TEXT, "when it began, RFC 3339"),
	{ 0 }
};

const struct schema schema_collective = {
	.name = "results.csv",
	.columns = columns,
	.row_size = sizeof(struct collective_row),
};

static double factor_reduce_and_spread(double n)
{
	return 2 * (n - 1) / n;
}

static double factor_spread(double n)
{
	return (n - 1) / n;
}

static double factor_one(double n)
{
	(void)n;
	return 1;
}

static const struct kind {
	const char *name;
	double (*factor)(double n);
} kinds[COLLECTIVES] = {
	[COLLECTIVE_ALLREDUCE] = { .name = "allreduce",
				   .factor = factor_reduce_and_spread },
	[COLLECTIVE_ALLGATHER] = { .name = "allgather",
				   .factor = factor_spread },
	[COLLECTIVE_REDUCESCATTER] = { .name = "reducescatter",
				       .factor = factor_spread },
	[COLLECTIVE_BROADCAST] = { .name = "broadcast",
				   .factor = factor_one },
	[COLLECTIVE_REDUCE] = { .name = "reduce",
				.factor = factor_one },
	[COLLECTIVE_ALLTOALL] = { .name = "alltoall",
				  .factor = factor_spread },
	[COLLECTIVE_SENDRECV] = { .name = "sendrecv",
				  .factor = factor_one },
};

const char *collective_name(enum collective c)
{
	return kinds[c].name;
}

enum collective collective_parse(const char *text)
{
	int c = 0;

	while (c < COLLECTIVES && strcmp(kinds[c].name, text) != 0) {
		c++;
	}
	return (enum collective)c;
}

double collective_bus_factor(enum collective c, int64_t ranks)
{
	return ranks > 1 ? kinds[c].factor((double)ranks) : 1;
}
