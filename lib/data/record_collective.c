/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record_collective.h"

#include <string.h>

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
