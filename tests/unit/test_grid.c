/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "lib/data/cells.h"

#define RANKS 37

static void a_square_is_counted(void **state)
{
	struct grid g = grid_square(RANKS);

	(void)state;
	assert_int_equal(g.n, RANKS * RANKS);
	assert_int_equal(grid_at(&g, 3, 5), 3 * RANKS + 5);
	assert_int_equal(grid_src(&g, 3 * RANKS + 5), 3);
	assert_int_equal(grid_dst(&g, 3 * RANKS + 5), 5);
	assert_int_equal(grid_first(&g, RANKS), g.n);
	grid_release(&g);
}

/* Every pair that was given is found where it stands, once, and no other. */
static void few_pairs_are_found(void **state)
{
	static const int amounts[] = { 0, 1, 40, 400, RANKS * RANKS };

	(void)state;
	for (size_t k = 0; k < sizeof(amounts) / sizeof(*amounts); k++) {
		uint8_t has[RANKS][RANKS] = { 0 };
		struct grid_pair *pairs = calloc((size_t)amounts[k] + 1,
						 sizeof(*pairs));
		size_t n = 0, at = 0;
		struct grid g;

		for (int i = 0; i < amounts[k]; i++) {
			double u = hash_unit(k, (uint64_t)i, 0, 0);
			double v = hash_unit(k, (uint64_t)i, 1, 0);

			pairs[i].src = (int)(u * RANKS);
			pairs[i].dst = (int)(v * RANKS);
			n += !has[pairs[i].src][pairs[i].dst];
			has[pairs[i].src][pairs[i].dst] = 1;
		}
		assert_int_equal(grid_of(&g, RANKS, pairs,
					 (size_t)amounts[k]), 0);
		free(pairs);
		assert_int_equal(g.n, n);
		for (int s = 0; s < RANKS; s++) {
			assert_int_equal(grid_first(&g, s), at);
			for (int d = 0; d < RANKS; d++) {
				assert_int_equal(grid_at(&g, s, d),
						 has[s][d] ? at : n);
				if (has[s][d]) {
					assert_int_equal(grid_src(&g, at), s);
					assert_int_equal(grid_dst(&g, at), d);
					at++;
				}
			}
		}
		assert_int_equal(grid_first(&g, RANKS), n);
		grid_release(&g);
		grid_release(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_square_is_counted),
		cmocka_unit_test(few_pairs_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
