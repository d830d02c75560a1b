/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include "lib/data/json.h"
#include "probes/plan/ask.h"
#include "tests/layout.h"

static bool works(void *ctx, int rank)
{
	(void)ctx;
	return rank != 3;
}

/** Two ranks that are there, and work. */
static int queue(void *ctx, const struct task *t)
{
	const struct layout *l = ctx;

	if (t->a < 0 || t->a >= t->b || t->b >= l->n_ranks || t->a == 3 ||
	    t->b == 3 || t->dirs == 0) {
		abort();
	}
	return 0;
}

/* Whatever a verdict says, the follow-up ends and asks what can be tested. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "n0", "n1", "n2", "n3" };
	static const int gpus[] = { 2, 4, 2, 1 }, nics[] = { 2, 2, 1, 1 };
	static const struct retry_ops ops = { .works = works, .queue = queue };
	json_t *json = json_parse((const char *)data, size, NULL);
	struct cell *cells;
	struct ask_plan a;
	struct layout l;
	int rounds = 0;

	if (json == NULL || layout_of(&l, 4, names, gpus, nics) < 0) {
		json_decref(json);
		return 0;
	}
	l.grid = grid_square(l.n_ranks);
	l.cells = cells = calloc(l.grid.n + 1, sizeof(*cells));
	for (size_t at = 0; cells != NULL && at < l.grid.n; at++) {
		cells[at].class = at % 3 == 0 ? CELL_SLOW : CELL_PASS;
		cells[at].attempt = 1;
	}
	if (cells != NULL && ask_init(&a, &l) == 0) {
		while (ask_take(&a, json, NULL) == 0 &&
		       ask_next(&a, 1000, &ops, &l) > 0) {
			if (++rounds > ASK_SUSPECTS) {
				abort();
			}
		}
		ask_release(&a);
	}
	free(cells);
	layout_release(&l);
	json_decref(json);
	return 0;
}
