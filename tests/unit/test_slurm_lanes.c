/* SPDX-License-Identifier: BSD-3-Clause */
/* What Slurm says of many small jobs, and of what is none of its words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sbatch/slurm_lanes.h"

static void queue_lines_are_read(void **state)
{
	const char *text =
		"error: a plugin talks\n"
		"42|PENDING|Dependency|/runs/a b|c/job.sbatch\n"
		"|PENDING|x|/y\n"
		"43|RUNNING|None|/runs/x/job.sbatch\n"
		"44|PENDING|Resources|(null)\n"
		"45_[1-3]|CONFIGURING|None|/z\n"
		"46|PENDING";
	struct slurm_job q;

	(void)state;
	assert_true(slurm_parse_queued(&text, &q));
	assert_string_equal(q.id, "42");
	assert_string_equal(q.script, "/runs/a b|c/job.sbatch");
	assert_true(slurm_queued_waits(&q));
	assert_true(slurm_queued_in_line(&q));
	assert_true(slurm_parse_queued(&text, &q));
	assert_string_equal(q.id, "43");
	assert_false(slurm_queued_waits(&q));
	assert_false(slurm_queued_in_line(&q));
	assert_true(slurm_parse_queued(&text, &q));
	assert_string_equal(q.id, "45_[1-3]");
	assert_true(slurm_queued_waits(&q));
	assert_false(slurm_queued_in_line(&q));
	assert_false(slurm_parse_queued(&text, &q));
}

static void limits_are_read(void **state)
{
	static const char config[] =
		"Configuration data as of 2026-01-31T09:15:02\n"
		"MaxArraySize            = 1001\n"
		"MaxJobCount             = 10000\n"
		"MaxJobCountNot          = 7\n";

	(void)state;
	assert_int_equal(slurm_parse_config(config, "MaxJobCount"), 10000);
	assert_int_equal(slurm_parse_config(config, "MaxArraySize"), 1001);
	assert_int_equal(slurm_parse_config(config, "MaxJob"), -1);
	assert_int_equal(slurm_parse_config("", "MaxJobCount"), -1);
	assert_int_equal(slurm_parse_config("MaxJobCount = x", "MaxJobCount"),
			 -1);
	assert_int_equal(slurm_parse_least("|\n500|\n|200\n"), 200);
	assert_int_equal(slurm_parse_least("|\n|\n"), -1);
	assert_int_equal(slurm_parse_least(""), -1);
	assert_int_equal(slurm_parse_least("0|7\n"), 0);
	assert_int_equal(slurm_parse_least("99999999999999999999|-3|x\n"), -1);
}

static const char sinfo[] =
	"n1|debug*|idle|a,b\n"
	"n2|debug*|allocated|a|none\n"
	"n3|debug*|down*|a,b|psu dead\n"
	"n1|gpu|idle|a,b\n"
	"n4|gpu|mixed|b\n"
	"n5|other|idle*|(null)\n"
	"--n6|debug*|idle|a,b\n"
	"n7|debug*\n";

static const struct {
	struct slurm_fit ask;
	const char *names;
} asks[] = {
	{ .ask = { .exclude = "" }, .names = "n1 n2 n3" },
	{ .ask = { .exclude = "n[2-9]" }, .names = "n1" },
	{ .ask = { .partitions = "gpu", .exclude = "" }, .names = "n1 n4" },
	{ .ask = { .partitions = "gpu,other", .exclude = "" },
	  .names = "n1 n4 n5" },
	{ .ask = { .partitions = "gp", .exclude = "" }, .names = "" },
	{ .ask = { .features = "b", .exclude = "" }, .names = "n1 n3" },
	{ .ask = { .features = "a&b", .exclude = "" }, .names = "n1 n3" },
	{ .ask = { .features = "c|a", .exclude = "" }, .names = "n1 n2 n3" },
	{ .ask = { .names = "n[4-5],n9", .exclude = "" }, .names = "n4 n5" },
	{ .ask = { .within = "n[2,4]", .exclude = "" }, .names = "n2 n4" },
};

static void nodes_are_those_that_are_meant(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++) {
		struct slurm_lane_nodes nodes = { 0 };
		struct str names = STR_INIT;

		assert_int_equal(slurm_parse_lane_nodes(&asks[i].ask, sinfo,
							&nodes), 0);
		for (size_t k = 0; k < nodes.n; k++) {
			str_addf(&names, "%s%s", k ? " " : "",
				 nodes.list[k].name);
			assert_string_equal(nodes.list[k].why, strcmp(
				nodes.list[k].name, "n3") == 0 ? "psu dead" :
				"");
		}
		assert_string_equal(str_text(&names), asks[i].names);
		str_release(&names);
		free(nodes.list);
	}
	assert_true(slurm_lane_is_down("down*"));
	assert_true(slurm_lane_is_down("idle*"));
	assert_true(slurm_lane_is_down("drained"));
	assert_false(slurm_lane_is_down("idle"));
	assert_false(slurm_lane_is_down("allocated"));
}

static void reserved_nodes_are_read(void **state)
{
	char nodes[32];

	(void)state;
	assert_true(slurm_parse_reserved("ReservationName=x StartTime=y "
					 "Nodes=gcn[1-3] NodeCnt=3\n", nodes,
					 sizeof(nodes)));
	assert_string_equal(nodes, "gcn[1-3]");
	assert_false(slurm_parse_reserved("ReservationName=x Nodes=(null) ",
					  nodes, sizeof(nodes)));
	assert_false(slurm_parse_reserved("No reservations in the system",
					  nodes, sizeof(nodes)));
	assert_false(slurm_parse_reserved(" Nodes=aaaaaaaaaaaaaaaaaaaaaaaaaaaa"
					  "aaaaaaaaaaaaaaaaaaa", nodes,
					  sizeof(nodes)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue_lines_are_read),
		cmocka_unit_test(limits_are_read),
		cmocka_unit_test(nodes_are_those_that_are_meant),
		cmocka_unit_test(reserved_nodes_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
