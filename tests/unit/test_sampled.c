/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/data/cells.h"

static const struct sampled usual = {
	.rail = 8, .inside = 1, .cross = 3, .n_nodes = 512, .n_ranks = 4096,
	.rails = 8, .share = 12 / 4095.0,
};

static void chances_are_those_of_the_formula(void **state)
{
	struct sampled nodes = usual;

	(void)state;
	nodes.nodes = true;
	assert_float_equal(sampled_part(&usual, false, 1), 1, 0);
	assert_float_equal(sampled_part(&usual, false, 1 / 3.0),
			   1 - pow(2 / 3.0, 24), 1e-9);
	assert_float_equal(sampled_part(&usual, true, 1 / 3.0),
			   1 - pow(2 / 3.0, 22), 1e-9);
	assert_float_equal(sampled_uplink(&usual), 1 - pow(31 / 32.0, 330),
			   1e-9);
	assert_float_equal(sampled_node_pair(&usual),
			   1 - (1 - 3 / 511.0) * pow(1 - 8 / 511.0, 8), 1e-9);
	assert_float_equal(sampled_node_pair(&nodes), 1, 0);
}

static void percent_never_says_more(void **state)
{
	static const struct {
		double p;
		const char *text;
	} cases[] = {
		{ 0.00003, "0.003 %" }, { 12 / 4095.0, "0.29 %" },
		{ 0.0954, "9.5 %" }, { 0.309, "30 %" }, { 0.8025, "80 %" },
		{ 0.9899, "98 %" }, { 0.9959, "99.5 %" },
		{ 0.99987, "99.98 %" }, { 0.999999, "99.99 %" },
		{ 1, "99.99 %" },
	};
	char text[24];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_string_equal(sampled_percent(cases[i].p, text,
						    sizeof(text)),
				    cases[i].text);
	}
}

static void run_json_brings_it_back(void **state)
{
	json_t *sample = sampled_json(&usual);
	static const char *const keys[] = {
		"rail", "inside", "cross", "n_nodes", "n_ranks", "rails",
	};
	const struct sampled none = { 0 };
	struct sampled s;

	(void)state;
	assert_true(sampled_read(sample, &s));
	assert_int_equal(sampled_rounds(&s), 12);
	assert_false(s.nodes);
	assert_float_equal(s.share, usual.share, 0);
	assert_null(sampled_json(&none));
	assert_false(sampled_read(NULL, &s));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		json_t *good = json_incref(json_object_get(sample, keys[i]));

		json_object_set_new(sample, keys[i], json_integer(-1));
		assert_false(sampled_read(sample, &s));
		json_object_set_new(sample, keys[i], json_string("8"));
		assert_false(sampled_read(sample, &s));
		json_object_set_new(sample, keys[i], good);
	}
	json_object_set_new(sample, "share", json_real(1.5));
	assert_false(sampled_read(sample, &s));
	json_decref(sample);
}

static void words_name_what_there_is(void **state)
{
	struct sampled inside = { .inside = 3, .n_nodes = 1, .n_ranks = 8,
				  .rails = 8, .share = 3 / 7.0 };
	struct str out = STR_INIT;

	(void)state;
	sampled_rounds_text(&usual, &out);
	assert_string_equal(str_text(&out), "12 rounds (8 on rails, 1 inside "
			    "nodes, 3 across rails)");
	str_reset(&out);
	sampled_chance_text(&usual, &out);
	assert_string_equal(str_text(&out),
			    "a NIC that fails a third of its tests 99.98 %, a "
			    "dead uplink of 32 of a leaf 99.99 %, a fault "
			    "between two nodes only 12 %, a fault of one pair "
			    "only 0.29 %");
	str_reset(&out);
	sampled_sure_text(&inside, &out);
	str_add(&out, "; ");
	sampled_chance_text(&inside, &out);
	assert_string_equal(str_text(&out),
			    "a GPU that always fails; a GPU that fails a "
			    "third of its tests 91 %, a fault of one pair "
			    "only 42 %");
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chances_are_those_of_the_formula),
		cmocka_unit_test(percent_never_says_more),
		cmocka_unit_test(run_json_brings_it_back),
		cmocka_unit_test(words_name_what_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
