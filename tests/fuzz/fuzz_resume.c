/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/probe_run.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "probes/engine/coord/work.h"
#include "tests/fuzz/fuzz_dir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Runs so large are for the memory of a real machine. */
#define MAX_RANKS 2048

/** What a run.json of other numbers asks for is refused, not fatal. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=256";
}

/** Rows that are kept are still there, and nothing else. */
static int count_row(void *arg, const void *row, struct err *e)
{
	(void)row;
	(void)e;
	++*(size_t *)arg;
	return RUNDIR_KEEP;
}

static void check_walk(void)
{
	size_t before = 0, then = 0, after = 0, left_out = 0;

	if (rundir_table_walk(fuzz_dir, &schema_p2p, false, count_row, &before,
			      NULL, NULL) < 0 ||
	    rundir_table_walk(fuzz_dir, &schema_p2p, true, count_row, &then,
			      NULL, NULL) < 0) {
		return;
	}
	if (rundir_table_walk(fuzz_dir, &schema_p2p, false, count_row, &after,
			      &left_out, NULL) < 0 ||
	    before != then || then != after || left_out > 0) {
		abort();
	}
}

/** The nodes of a coordinator that goes on with it: one that is known or
 *  not, and one of one rank. */
static void check_nodes(json_t *run, const char *name)
{
	size_t n = json_array_size(json_object_get(run, "nodes"));
	struct node_draft *d = calloc(n + 2, sizeof(*d));
	json_t *before = NULL;

	if (d && before_open(run, &before, NULL) == 0 && before) {
		STR_COPY(d[0].name, name);
		STR_COPY(d[1].name, "single");
		d[0].present = d[1].present = true;
		d[1].n_single = 1;
		if (json_array_size(json_object_get(before, "nodes")) > 0) {
			before_nodes(before, d, 2, NULL);
		}
		before_part(before, "n0", 0);
		before_missing(before, "n1");
		before_check_plan(before, (const int64_t[]){ 8 }, 1, 2, NULL);
	}
	json_decref(before);
	free(d);
}

/** Any bytes as the run directory of --resume. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct left l;
	struct session s = { .argc = 0 };
	int64_t ranks = 0, gpus;
	const json_t *node;
	size_t i;

	fuzz_dir_fill(data, size);
	l = (struct left){ .dir = "" };
	STR_COPY(l.dir, fuzz_dir);
	if (left_read(&l, "p2p", "resume", NULL) == 0) {
		resume_options(&s, &l.spec, json_member(l.run, "drill_text"),
			       NULL);
		json_array_foreach(json_object_get(l.run, "nodes"), i, node) {
			gpus = json_integer_value(json_object_get(node,
								  "gpus"));
			ranks += gpus > 0 && gpus < MAX_RANKS ? gpus : 0;
		}
		if (ranks <= MAX_RANKS && left_count(&l, NULL) == 0) {
			left_is_whole(&l);
		}
		check_nodes(l.run, json_member(json_array_get(
			json_object_get(l.run, "nodes"), 0), "name"));
		check_nodes(l.run, "other");
	}
	left_release(&l);
	check_walk();
	return 0;
}
