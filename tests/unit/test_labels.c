/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of nodes where there is little room. */
#include "tests/unit/fake_run.h"

#include <inttypes.h>

#include "report/draw/draw.h"
#include "report/draw/picture.h"
#include "report/draw/view.h"
#include "report/judge/pairs.h"

#define LONG "gpu-cluster-eastus2-nd96isr-h200-v5-000"

static const struct {
	size_t max;
	const char *names[4], *labels[4];
	bool same;		/* they cannot be told apart */
} cuts[] = {
	{ .max = 16, .names = { "n0", "n1" }, .labels = { "n0", "n1" } },
	{ .max = 16, .names = { "n0.a.example", "n1.a.example" },
	  .labels = { "n0", "n1" } },
	{ .max = 16, .names = { "n0.a.example", "n1.b.example" },
	  .labels = { "n0.a.example", "n1.b.example" } },
	/* no more goes than must */
	{ .max = 16, .names = { LONG "123", LONG "124" },
	  .labels = { "..h200-v5-000123", "..h200-v5-000124" } },
	{ .max = 8, .names = { LONG "123", LONG "124" },
	  .labels = { "..000123", "..000124" } },
	{ .max = 2, .names = { LONG "123", LONG "124" },
	  .labels = { "23", "24" } },
	{ .max = 2, .names = { "node08", "node09", "node10" },
	  .labels = { "08", "09", "10" } },
	{ .max = 10, .names = { "cluster-a", "cluster-with-1" },
	  .labels = { "..r-a", "..r-with-1" } },
	/* one is where another begins */
	{ .max = 8, .names = { "gpu-host-1", "gpu-host-12" },
	  .labels = { "..ost-1", "..ost-12" } },
	/* what they end with */
	{ .max = 12,
	  .names = { "gpu7-cluster-eastus2", "gpu8-cluster-eastus2" },
	  .labels = { "..7-cluste..", "..8-cluste.." } },
	/* both ends differ */
	{ .max = 12, .names = { "a-very-long-name-1", "b-very-long-name-2" },
	  .labels = { "a-ver..ame-1", "b-ver..ame-2" } },
	/* only the middle does */
	{ .max = 12, .names = { "a-long-x-long-name-1", "a-long-y-long-name-1",
		"b-long-x-long-name-2", "b-long-y-long-name-2" },
	  .labels = { "a-lon..ame#0", "a-lon..ame#1", "b-lon..ame#2",
		      "b-lon..ame#3" } },
	{ .max = 1, .names = { "a-1", "b-1" }, .labels = { "a", "b" } },
	{ .max = 1, .names = { "n10", "n20", "n11" },
	  .labels = { "0", "0", "1" }, .same = true },
	{ .max = 16, .names = { LONG "123" },
	  .labels = { "..h200-v5-000123" } },
};

static void names_that_are_cut_differ(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		char names[4][LABEL_SIZE];
		size_t n = 0;

		for (; n < 4 && cuts[i].names[n]; n++) {
			STR_COPY(names[n], cuts[i].names[n]);
		}
		assert_int_equal(labels_cut(names, n, cuts[i].max),
				 !cuts[i].same);
		for (size_t k = 0; k < n; k++) {
			assert_string_equal(names[k], cuts[i].labels[k]);
			assert_true(strlen(names[k]) <= cuts[i].max);
		}
	}
	assert_true(labels_cut(NULL, 0, 4));
}

/** Whatever the names are, none is longer, and none is that of another. */
static void any_names_are_cut(void **state)
{
	char names[32][LABEL_SIZE];

	(void)state;
	for (uint64_t seed = 0; seed < 2000; seed++) {
		size_t max = 8 + seed % 20;

		for (uint64_t i = 0; i < 32; i++) {
			double share = hash_unit(seed, i, 1, 0);
			size_t len = 3 + (size_t)(60 * share);

			for (size_t k = 0; k < len; k++) {
				/* many are alike */
				names[i][k] = "ab.-"[(int)(4 * hash_unit(
					seed, k == len / 2 ? i : 0, k, 2))];
			}
			names[i][len] = '\0';
			snprintf(names[i] + len - 3, 4, "%" PRIu64, i);
		}
		assert_true(labels_cut(names, 32, max));
		for (int i = 0; i < 32; i++) {
			assert_true(strlen(names[i]) <= max);
			for (int k = 0; k < i; k++) {
				assert_string_not_equal(names[i], names[k]);
			}
		}
	}
}

static void name_nodes(struct run *r)
{
	for (int i = 0; i < r->n_nodes; i++) {
		snprintf(r->nodes[i].name, sizeof(r->nodes[i].name),
			 LONG "%d", 123 + i);
	}
}

/** How often is @text in @out? */
static int count(const char *out, const char *text)
{
	int n = 0;

	while ((out = strstr(out, text)) != NULL) {
		out += strlen(text);
		n++;
	}
	return n;
}

static void rows_and_columns_of_a_terminal_differ(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 3, 4, 4);
	name_nodes(&r);
	assert_int_equal(term_render(&r, NULL, 80, TERM_ASCII, TERM_MAP,
				     &out), 0);
	assert_int_equal(count(str_text(&out), "..h200-v5-000124"), 1);
	assert_int_equal(count(str_text(&out), "..000124"), 1);
	str_reset(&out);
	assert_int_equal(term_render(&r, NULL, 200, TERM_ASCII, TERM_MAP,
				     &out), 0);
	assert_int_equal(count(str_text(&out), "000124"), 2);
	run_release(&r);
	/* several nodes a row */
	fake_run(&r, 64, 1, 1);
	name_nodes(&r);
	str_reset(&out);
	assert_int_equal(term_render(&r, NULL, 40, TERM_ASCII, TERM_MAP,
				     &out), 0);
	assert_int_equal(count(str_text(&out), "..-000123-..-0001"), 1);
	str_release(&out);
	run_release(&r);
}

static void rows_of_a_picture_differ(void **state)
{
	struct picture p;
	struct verdict v;
	struct run r;
	int seen = 0;

	(void)state;
	fake_run(&r, 2, 2, 2);
	name_nodes(&r);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(picture_make(&r, VIEW_BANDWIDTH, &v, NULL, &p), 0);
	for (size_t i = 0; i < p.n; i++) {
		seen += p.shapes[i].text &&
			strcmp(p.shapes[i].text,
			       "..2-nd96isr-h200-v5-000124") == 0;
	}
	assert_int_equal(seen, 2);
	picture_release(&p);
	verdict_release(&v);
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_are_cut_differ),
		cmocka_unit_test(any_names_are_cut),
		cmocka_unit_test(rows_and_columns_of_a_terminal_differ),
		cmocka_unit_test(rows_of_a_picture_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
