/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"

struct grid grid_square(int ranks)
{
	return (struct grid){ .ranks = ranks,
			      .n = (size_t)ranks * (size_t)ranks };
}

static int compare(const void *x, const void *y)
{
	const struct grid_pair *p = x, *q = y;

	return p->src != q->src ? (p->src > q->src) - (p->src < q->src) :
				  (p->dst > q->dst) - (p->dst < q->dst);
}

int grid_of(struct grid *g, int ranks, struct grid_pair *pairs, size_t n)
{
	int next = 0;

	*g = (struct grid){
		.ranks = ranks,
		.first = calloc((size_t)ranks + 1, sizeof(*g->first)),
		.src = calloc(n + 1, sizeof(*g->src)),
		.dst = calloc(n + 1, sizeof(*g->dst)),
	};
	if (!g->first || !g->src || !g->dst) {
		grid_release(g);
		return -1;
	}
	if (n > 0) {
		qsort(pairs, n, sizeof(*pairs), compare);
	}
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && compare(&pairs[i - 1], &pairs[i]) == 0) {
			continue;
		}
		while (next <= pairs[i].src) {
			g->first[next++] = g->n;
		}
		g->src[g->n] = pairs[i].src;
		g->dst[g->n++] = pairs[i].dst;
	}
	while (next <= ranks) {
		g->first[next++] = g->n;
	}
	return 0;
}

void grid_release(struct grid *g)
{
	free(g->first);
	free(g->src);
	free(g->dst);
	*g = (struct grid){ 0 };
}

struct grid_pair *grid_listed(const json_t *pairs, int ranks, size_t *n,
			      struct err *e)
{
	const json_t *pair;
	struct grid_pair *list = calloc(2 * json_array_size(pairs) + 1,
					sizeof(*list));
	size_t i;

	*n = 0;
	if (!list) {
		err_set(e, ENOMEM, "cannot hold %zu pairs",
			json_array_size(pairs));
		return NULL;
	}
	json_array_foreach(pairs, i, pair) {
		json_int_t a = json_integer_value(json_array_get(pair, 0));
		json_int_t b = json_integer_value(json_array_get(pair, 1));

		if (json_array_size(pair) != 2 || a < 0 || b < 0 ||
		    a >= ranks || b >= ranks || a == b) {
			err_set(e, EINVAL, "run.json: planned pair %zu is not "
				"part of this run", i);
			free(list);
			return NULL;
		}
		list[(*n)++] = (struct grid_pair){ (int)a, (int)b };
		list[(*n)++] = (struct grid_pair){ (int)b, (int)a };
	}
	return list;
}

size_t grid_find(const struct grid *g, int src, int dst)
{
	size_t low = g->first[src], high = g->first[src + 1];

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (g->dst[mid] < dst) {
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	return low < g->first[src + 1] && g->dst[low] == dst ? low : g->n;
}
