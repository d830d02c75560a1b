/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/plan.h"

/*
 * The circle method.  Seats 0 .. m-1 (m odd) stand on a circle and one more
 * seat, m, in its middle.  In round k the seats that add up to k modulo m
 * meet; the one seat that would meet itself meets the middle.  With an odd
 * number of ranks the middle is empty and that rank sits the round out.
 */

/** Seats on the circle: always odd. */
static int circle_of(int size)
{
	return size % 2 ? size : size - 1;
}

int sched_rounds(int size)
{
	return size < 2 ? 0 : circle_of(size);
}

int sched_partner(int size, int round, int rank)
{
	int m = circle_of(size);
	int partner;

	if (rank == m) {
		/* p + p = round modulo m; (m + 1) / 2 is the inverse of 2 */
		return (int)((int64_t)round * ((m + 1) / 2) % m);
	}
	partner = ((round - rank) % m + m) % m;
	if (partner != rank) {
		return partner;
	}
	return m < size ? m : -1;
}

int sched_round_of(int size, int a, int b)
{
	int m = circle_of(size);

	if (a == m) {
		a = b;
	} else if (b == m) {
		b = a;
	}
	return (a + b) % m;
}
