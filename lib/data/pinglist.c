/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/hosts.h"

struct pinglist pinglist_make(int nodes, bool all, int64_t seed)
{
	return (struct pinglist){
		.nodes = nodes, .seed = seed,
		.groups = all ? 1 : (nodes + PINGLIST_GROUP - 1) /
					    PINGLIST_GROUP,
	};
}

/* Groups as equal as they can be: the first node of @group. */
static int64_t first_of(const struct pinglist *l, int64_t group)
{
	return (group * l->nodes + l->groups - 1) / l->groups;
}

/* Return true if @node of group @own is representative @k towards group
 * @other. */
static bool stands(const struct pinglist *l, int node, int64_t own,
		   int64_t other, int k)
{
	int64_t first = first_of(l, own);
	int64_t size = first_of(l, own + 1) - first;

	return node - first == (l->seed % size + other * PINGLIST_PAIRS + k) %
				       size;
}

bool pinglist_has(const struct pinglist *l, int a, int b)
{
	int64_t of_a, of_b;

	if (l->groups < 2) {
		return true;
	}
	of_a = (int64_t)a * l->groups / l->nodes;
	of_b = (int64_t)b * l->groups / l->nodes;
	if (of_a == of_b) {
		return true;
	}
	for (int k = 0; k < PINGLIST_PAIRS; k++) {
		if (stands(l, a, of_a, of_b, k) &&
		    stands(l, b, of_b, of_a, k)) {
			return true;
		}
	}
	return false;
}

/* How many @node stands for its group with, beside those of that. */
static int count_far(const struct pinglist *l, int node, int64_t own)
{
	int n = 0;

	for (int64_t other = 0; other < l->groups; other++) {
		for (int k = 0; k < PINGLIST_PAIRS; k++) {
			n += other != own && stands(l, node, own, other, k);
		}
	}
	return n;
}

int pinglist_most(const struct pinglist *l)
{
	int most = 0;

	if (l->groups < 2) {
		return l->nodes > 0 ? l->nodes - 1 : 0;
	}
	for (int i = 0; i < l->nodes; i++) {
		int64_t own = (int64_t)i * l->groups / l->nodes;
		int n = (int)(first_of(l, own + 1) - first_of(l, own)) - 1 +
			count_far(l, i, own);

		most = n > most ? n : most;
	}
	return most;
}
