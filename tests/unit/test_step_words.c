/* SPDX-License-Identifier: BSD-3-Clause */
/* What srun says of tasks that have ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "probes/engine/coord/work.h"
#include "tests/unit/tree.h"

static void nodes_of_a_line(void **state)
{
	static const struct {
		int task;			/* where nodes is "" */
		const char *line, *nodes;	/* NULL: it says no such
						 * thing */
	} cases[] = {
		/* seen with Slurm 22.05 */
		{ -1, "srun: error: gcn2: task 1: Exited with exit code 1", "gcn2" },
		{ -1, "srun: error: gcn[2-3]: tasks 1-2: Exited with exit code 127",
		  "gcn[2-3]" },
		{ -1, "srun: error: gcn2: task 1: Segmentation fault (core dumped)",
		  "gcn2" },
		{ -1, "srun: error: Task launch for StepId=5.0 failed on node gcn2: "
		  "Communication connection failure", "gcn2" },
		{ 1, "srun: error: task 1 launch failed: Slurmd could not execve "
		  "job", "" },
		{ 12, "srun: error: task 12 launch failed: Invalid job", "" },
		{ -1, "srun: error: task x launch failed: Invalid job", NULL },
		{ -1, "srun: error: task -1 launch failed: Invalid job", NULL },
		{ -1, "srun: error: Timed out waiting for job step to complete",
		  NULL },
		{ -1, "srun: gcn2: task 1: Completed", NULL },
		{ -1, "my srun: error: gcn2: task 1: Killed", NULL },
		{ -1, "srun: error: two words: task 1: Killed", NULL },
		{ -1, "srun: error: : task 1: Killed", NULL },
		{ -1, "srun: error: ", NULL },
		{ -1, "", NULL },
	};
	char line[1100], nodes[STEP_NODES];
	int task;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool says = step_words_parse(cases[i].line, nodes, &task);

		assert_int_equal(says, cases[i].nodes != NULL);
		if (says) {
			assert_string_equal(nodes, cases[i].nodes);
			assert_int_equal(task, cases[i].task);
		}
	}
	/* more than there is room for is no name */
	snprintf(line, sizeof(line), "srun: error: %01024d: task 1: Killed", 0);
	assert_false(step_words_parse(line, nodes, &task));
}

static void note(void *arg, const char *nodes, int task, const char *words)
{
	(void)words;
	(void)task;
	str_addf(arg, "%s ", nodes);
}

static void each_line_is_read_once(void **state)
{
	char dir[] = "/tmp/gpucheck-words-XXXXXX";
	struct str said = STR_INIT;
	int64_t at, more;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(step_words_read(dir, 0, note, &said), 0);
	tree_file(dir, "/" RUN_JOB_OUT, "srun: error: a: task 0: Killed\n"
		  "what somebody prints\nsrun: error: b: task 1: Exi");
	at = step_words_read(dir, 0, note, &said);
	assert_string_equal(str_text(&said), "a ");
	/* half a line is none */
	assert_int_equal(step_words_read(dir, at, note, &said), at);
	tree_file(dir, "/" RUN_JOB_OUT, "srun: error: a: task 0: Killed\n"
		  "what somebody prints\nsrun: error: b: task 1: Exited\n");
	more = step_words_read(dir, at, note, &said);
	assert_string_equal(str_text(&said), "a b ");
	assert_true(more > at);
	str_release(&said);
	tree_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_of_a_line),
		cmocka_unit_test(each_line_is_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
