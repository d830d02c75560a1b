/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that no partition can start, and GPUs that enough nodes have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sbatch/slurm.h"

static const char cluster[] =
	"site: welcome\n"
	"debug*|2|gpu:8(S:0-1)|f1,ib\n"
	"debug*|3|gpu:a:4|f2\n"
	"cpu|9|(null)|(null)\n"
	"big|20|gpu:8|ib\n"
	"big|x|gpu:8|ib\n";

static void expect(struct slurm_fit f, int64_t gpus, const char *why)
{
	struct err e = { 0 };
	int64_t got = -1;
	int rc;

	f.on_gpus = true;
	rc = slurm_fit_parse(&f, cluster, &got, &e);
	assert_int_equal(rc, why ? -1 : 0);
	assert_string_equal(e.text, why ? why : "");
	assert_int_equal(e.hint[0] != '\0', why != NULL);
	assert_int_equal(got, gpus);
}

static void a_job_that_fits_is_not_refused(void **state)
{
	(void)state;
	expect((struct slurm_fit){ .nodes = 2 }, 4, NULL);
	expect((struct slurm_fit){ .nodes = 5 }, 4, NULL);
	expect((struct slurm_fit){ .nodes = 2, .gpus = 8 }, 8, NULL);
	expect((struct slurm_fit){ .nodes = 20, .partitions = "cpu,big" }, 8,
	       NULL);
	expect((struct slurm_fit){ .nodes = 2, .features = "ib&f1" }, 8, NULL);
	/* what only Slurm can tell */
	expect((struct slurm_fit){ .nodes = 5, .features = "[f1|f2]" }, 4,
	       NULL);
	expect((struct slurm_fit){ .nodes = 99, .partitions = "of-another" },
	       8, NULL);
}

static void a_job_that_never_fits_is_refused(void **state)
{
	(void)state;
	expect((struct slurm_fit){ .nodes = 6 }, 4,
	       "partition 'debug' has 5 nodes, and 6 are asked for");
	expect((struct slurm_fit){ .nodes = 3, .gpus = 8 }, 8,
	       "partition 'debug' has 5 nodes, 2 of them with 8 GPUs, and 3 "
	       "are asked for");
	expect((struct slurm_fit){ .nodes = 4, .features = "f2" }, 4,
	       "partition 'debug' has 5 nodes, 3 of them with "
	       "--constraint=f2, and 4 are asked for");
	expect((struct slurm_fit){ .nodes = 21, .partitions = "debug,big" }, 8,
	       "partition 'big' has 20 nodes, and 21 are asked for");
	expect((struct slurm_fit){ .nodes = 1, .partitions = "cpu" }, 8,
	       "partition 'cpu' has 9 nodes, 0 of them with 8 GPUs, and 1 is "
	       "asked for");
}

static void gpus_are_what_enough_nodes_have(void **state)
{
	static const char rare[] = "a*|1|gpu:8|\na*|1|gpu:4|\na*|9|(null)|\n";
	static const char none[] = "a*|9|(null)|\n";
	struct slurm_fit f = { .nodes = 1, .on_gpus = true };
	int64_t gpus;

	(void)state;
	assert_int_equal(slurm_fit_parse(&f, rare, &gpus, NULL), 0);
	assert_int_equal(gpus, 8);
	f.nodes = 2;
	assert_int_equal(slurm_fit_parse(&f, rare, &gpus, NULL), 0);
	assert_int_equal(gpus, 4);
	/* Slurm knows what else they may be called */
	f.gpus = 4;
	assert_int_equal(slurm_fit_parse(&f, none, &gpus, NULL), 0);
	assert_int_equal(gpus, 4);
	f.on_gpus = false;	/* tcp needs none */
	assert_int_equal(slurm_fit_parse(&f, none, &gpus, NULL), 0);
	assert_int_equal(gpus, 0);
	assert_int_equal(slurm_fit_parse(&f, rare, &gpus, NULL), 0);
	assert_int_equal(gpus, 4);
	/* nobody answers */
	assert_int_equal(slurm_fit_parse(&f, "", &gpus, NULL), 0);
	assert_int_equal(gpus, 0);
	f.on_gpus = true;
	assert_int_equal(slurm_fit_parse(&f, "", &gpus, NULL), 0);
	assert_int_equal(gpus, 4);
}

/** What tests no GPUs may go to nodes with and without them at once. */
static void nodes_of_both_kinds_take_what_tests_no_gpus(void **state)
{
	static const char mixed[] = "a*|1|gpu:8|\na*|3|(null)|\n";
	struct slurm_fit f = { .nodes = 4 };
	struct err e = { 0 };
	int64_t gpus = -1;

	(void)state;
	assert_int_equal(slurm_fit_parse(&f, mixed, &gpus, &e), 0);
	assert_int_equal(gpus, 0);
	f.gpus = 1;
	assert_int_equal(slurm_fit_parse(&f, mixed, &gpus, &e), 0);
	assert_int_equal(gpus, 0);
	f.on_gpus = true;
	assert_int_equal(slurm_fit_parse(&f, mixed, &gpus, &e), -1);
	assert_string_equal(e.text, "partition 'a' has 4 nodes, 1 of them with "
				    "1 GPU, and 4 are asked for");
	f = (struct slurm_fit){ .nodes = 1 };
	assert_int_equal(slurm_fit_parse(&f, mixed, &gpus, &e), 0);
	assert_int_equal(gpus, 8);
	/* nodes there have to be enough */
	f.nodes = 5;
	assert_int_equal(slurm_fit_parse(&f, mixed, &gpus, &e), -1);
	assert_string_equal(e.text, "partition 'a' has 4 nodes, and 5 are "
				    "asked for");
}

static void words_are_found_as_getopt_does(void **state)
{
	static const struct {
		char *const words[4];
		const char *value;
	} cases[] = {
		{ .words = { (char *)"--partition=a" }, .value = "a" },
		{ .words = { (char *)"--partition", (char *)"a" },
		  .value = "a" },
		{ .words = { (char *)"--part=a" }, .value = "a" },
		{ .words = { (char *)"-pa" }, .value = "a" },
		{ .words = { (char *)"-p", (char *)"a", (char *)"-pb" },
		  .value = "b" },
		{ .words = { (char *)"--partitions=a" } },
		{ .words = { (char *)"--qos=p" } }, { .words = { NULL } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *value = slurm_fit_option(cases[i].words,
						     "partition", 'p');

		assert_int_equal(value == NULL, cases[i].value == NULL);
		if (value) {
			assert_string_equal(value, cases[i].value);
		}
	}
	assert_null(slurm_fit_option(NULL, "partition", 'p'));
}

static void the_limit_of_a_partition_is_read(void **state)
{
	const char *text = "a*|30:00\nb|2-01:00:00\nc|infinite\nd|n/a\n";

	(void)state;
	assert_int_equal(slurm_fit_limit(text, NULL), 30);
	assert_int_equal(slurm_fit_limit(text, "b"), 2 * 24 * 60 + 60);
	assert_int_equal(slurm_fit_limit(text, "b,a"), 30);
	assert_int_equal(slurm_fit_limit(text, "c"), 0);
	assert_int_equal(slurm_fit_limit(text, "d"), 0);
	assert_int_equal(slurm_fit_limit("", NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limit_of_a_partition_is_read),
		cmocka_unit_test(a_job_that_fits_is_not_refused),
		cmocka_unit_test(a_job_that_never_fits_is_refused),
		cmocka_unit_test(gpus_are_what_enough_nodes_have),
		cmocka_unit_test(nodes_of_both_kinds_take_what_tests_no_gpus),
		cmocka_unit_test(words_are_found_as_getopt_does),
	};

	return cmocka_run_group_tests_name("slurm_fit", tests, NULL, NULL);
}
