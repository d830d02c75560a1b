/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "probes/plan/plan.h"

static void words_name_kinds(void **state)
{
	static const struct {
		const char *text;
		enum pairs_kind kind;
	} words[] = {
		{ .text = "all", .kind = PAIRS_ALL },
		{ .text = "inter", .kind = PAIRS_INTER },
		{ .text = "intra", .kind = PAIRS_INTRA },
		{ .text = "rail", .kind = PAIRS_RAIL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct pairs p;

		assert_int_equal(pairs_parse(words[i].text, &p, NULL), 0);
		assert_int_equal(p.kind, words[i].kind);
		assert_int_equal(p.n, 0);
		pairs_release(&p);
	}
}

static void check_end(const struct pair_end *end, const char *node, int index)
{
	assert_string_equal(end->node, node);
	assert_int_equal(end->index, index);
}

static void list_of_ranks_and_gpus(void **state)
{
	struct pairs p;

	(void)state;
	assert_int_equal(pairs_parse("0-9,n0:1-n1:12,3-n1:0", &p, NULL), 0);
	assert_int_equal(p.kind, PAIRS_LIST);
	assert_int_equal(p.n, 3);
	check_end(&p.list[0][0], "", 0);
	check_end(&p.list[0][1], "", 9);
	check_end(&p.list[1][0], "n0", 1);
	check_end(&p.list[1][1], "n1", 12);
	check_end(&p.list[2][0], "", 3);
	check_end(&p.list[2][1], "n1", 0);
	assert_int_equal(p.list[2][0].column, 16);
	pairs_release(&p);
}

static void names_may_have_dashes(void **state)
{
	struct pairs p;

	(void)state;
	assert_int_equal(pairs_parse("gpu-01:3-gpu-02:5,7-a-8:1,1-b:2-4", &p,
				     NULL), 0);
	check_end(&p.list[0][0], "gpu-01", 3);
	check_end(&p.list[0][1], "gpu-02", 5);
	check_end(&p.list[1][0], "", 7);
	check_end(&p.list[1][1], "a-8", 1);
	check_end(&p.list[2][0], "1-b", 2);
	check_end(&p.list[2][1], "", 4);
	pairs_release(&p);
}

static void a_star_is_every_gpu_of_a_node(void **state)
{
	struct pairs p;

	(void)state;
	assert_int_equal(pairs_parse("gpu-01:*-gpu-02:*,n0:3-n1:*", &p, NULL),
			 0);
	check_end(&p.list[0][0], "gpu-01", PAIR_ALL);
	check_end(&p.list[0][1], "gpu-02", PAIR_ALL);
	check_end(&p.list[1][0], "n0", 3);
	check_end(&p.list[1][1], "n1", PAIR_ALL);
	pairs_release(&p);
}

static void bad_text_is_refused_with_its_column(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} bad[] = {
		{ .text = "", .says = "column 1: '' is not a pair" },
		{ .text = "0-1,", .says = "column 5: '' is not a pair" },
		{ .text = "0-1,,2-3", .says = "column 5: '' is not a pair" },
		{ .text = "7", .says = "column 1: '7' is not a pair" },
		{ .text = "0-", .says = "column 1: '0-'" },
		{ .text = "-1", .says = "column 1: '-1'" },
		{ .text = "0--1", .says = "column 1: '0--1'" },
		{ .text = "0-1-2", .says = "column 1: '0-1-2'" },
		{ .text = "0-1,a:b-c:1", .says = "column 5: 'a:b-c:1'" },
		{ .text = ":1-n1:1", .says = "column 1: ':1-n1:1'" },
		{ .text = "n0:-n1:1", .says = "column 1:" },
		{ .text = "n0:1:2-n1:1", .says = "column 1:" },
		{ .text = "0 - 1", .says = "column 1:" },
		{ .text = "*-1", .says = "column 1:" },
		{ .text = "n0:**-n1:1", .says = "column 1:" },
		{ .text = "n0:*3-n1:1", .says = "column 1:" },
		{ .text = "0-99999999999", .says = "column 1:" },
		{ .text = "0-4294967296", .says = "column 1:" },
		{ .text = "0-99999999999999999999", .says = "column 1:" },
		{ .text = "0-1,\n\x7f", .says = "column 5: '?\?'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err e = { 0 };
		struct pairs p;

		assert_int_equal(pairs_parse(bad[i].text, &p, &e), -1);
		assert_non_null(strstr(e.text, bad[i].says));
		assert_non_null(strstr(e.hint, "0-9,n0:1-n1:1"));
		assert_null(p.list);
	}
}

static void names_have_a_limit(void **state)
{
	char text[200];
	struct pairs p;

	(void)state;
	snprintf(text, sizeof(text), "%063d:1-n:2", 7);
	assert_int_equal(pairs_parse(text, &p, NULL), 0);
	pairs_release(&p);
	snprintf(text, sizeof(text), "%064d:1-n:2", 7);
	assert_int_equal(pairs_parse(text, &p, NULL), -1);
}

static void misspelt_word_gets_the_nearest(void **state)
{
	struct err e = { 0 };
	struct pairs p;

	(void)state;
	assert_int_equal(pairs_parse("iner", &p, &e), -1);
	assert_string_equal(e.hint, "did you mean 'inter'?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_name_kinds),
		cmocka_unit_test(list_of_ranks_and_gpus),
		cmocka_unit_test(names_may_have_dashes),
		cmocka_unit_test(a_star_is_every_gpu_of_a_node),
		cmocka_unit_test(bad_text_is_refused_with_its_column),
		cmocka_unit_test(names_have_a_limit),
		cmocka_unit_test(misspelt_word_gets_the_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
