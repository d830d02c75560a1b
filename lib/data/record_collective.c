/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record_collective.h"

static const char *const names[COLLECTIVES + 1] = {
	[COLLECTIVE_ALLREDUCE] = "allreduce",
	[COLLECTIVE_ALLGATHER] = "allgather",
	[COLLECTIVE_REDUCESCATTER] = "reducescatter",
	[COLLECTIVE_BROADCAST] = "broadcast",
	[COLLECTIVE_REDUCE] = "reduce",
	[COLLECTIVE_ALLTOALL] = "alltoall",
	[COLLECTIVE_SENDRECV] = "sendrecv",
};

/** How often (n-1)/n of the data goes over a link; 0: all of it does, once. */
static const double shares[COLLECTIVES] = {
	[COLLECTIVE_ALLREDUCE] = 2,	[COLLECTIVE_ALLGATHER] = 1,
	[COLLECTIVE_REDUCESCATTER] = 1, [COLLECTIVE_ALLTOALL] = 1,
};

const char *collective_name(enum collective c)
{
	return names[c];
}

enum collective collective_parse(const char *text)
{
	const int c = str_index(names, text);

	return c < 0 ? COLLECTIVES : (enum collective)c;
}

double collective_bus_factor(enum collective c, int64_t ranks)
{
	const double n = (double)ranks;

	return ranks > 1 && shares[c] > 0 ? shares[c] * (n - 1) / n : 1;
}

double collective_bytes_between(enum collective c, int64_t ranks,
				int64_t nodes, double size_B)
{
	const double n = (double)nodes;

	if (nodes < 2) {
		return 0;
	}
	return c == COLLECTIVE_ALLTOALL ?
		       size_B * (double)ranks * (n - 1) / n :
		       size_B * n * collective_bus_factor(c, ranks);
}
