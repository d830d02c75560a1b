/* SPDX-License-Identifier: BSD-3-Clause */
/* What srun prints of nodes that cannot start a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sbatch/srun_step.h"

#define LAUNCH	"srun: error: Task launch for StepId=1.0 failed on node n2: "
#define ABORT	"srun: error: Application launch failed: x\n" \
		"srun: error: n1: task 0: Killed\n" \
		"srun: error: n3: task 2: Terminated\n"

static const struct {
	const char *text;
	const char *codes[3];	/* of n1 n2 n3; "": it answered, NULL: not
				 * known */
	const char *says;	/* what n2 is said to have */
} cases[] = {
	{ "gpucheck here: n1\ngpucheck here: n2\n", { "", "", NULL }, NULL },
	{ LAUNCH "Communication connection failure\n" ABORT,
	  { NULL, "task_launch_failed", NULL },
	  LAUNCH "Communication connection failure" },
	{ LAUNCH "Job prolog failed\n" ABORT, { NULL, "job_prolog", NULL },
	  LAUNCH "Job prolog failed" },
	{ LAUNCH "Invalid job credential\n" ABORT,
	  { NULL, "job_credential", NULL }, LAUNCH "Invalid job credential" },
	{ "srun: error: n2: task 1: Exited with exit code 2\n"
	  "slurmstepd-n2: error: execve(): /bin/g: No such file or directory\n",
	  { NULL, "program_not_started", NULL },
	  "slurmstepd-n2: error: execve(): /bin/g: No such file or directory" },
	{ "srun: error: n[2-3]: tasks 1-2: Exited with exit code 127\n",
	  { NULL, "program_not_started", "program_not_started" },
	  "srun: error: n[2-3]: tasks 1-2: Exited with exit code 127" },
	/* it starts, and the agent has its own words */
	{ "srun: error: n2: task 1: Exited with exit code 1\n",
	  { NULL, NULL, NULL }, NULL },
	/* what came first counts, and no other node, half line or list */
	{ "gpucheck here: n2\n" LAUNCH "x\n", { NULL, "", NULL }, NULL },
	{ "gpucheck here: n22\n"
	  "srun: error: Task launch for x failed on node n9: x\n"
	  "srun: error: Task launch for x failed on node : x\n"
	  "srun: error: Task launch for x failed on node n2 or so: x\n"
	  "srun: error: Task launch for x failed on node n[2: x\n"
	  "gpucheck here: n1", { NULL, NULL, NULL }, NULL },
	{ "", { NULL, NULL, NULL }, NULL },
};

static void nodes_are_named_with_srun_s_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct muster_node nodes[] = {
			{ .name = (char *)"n1" }, { .name = (char *)"n2" },
			{ .name = (char *)"n3" },
		};

		muster_read(cases[i].text, nodes, 3);
		for (size_t k = 0; k < 3; k++) {
			const char *want = cases[i].codes[k];

			assert_int_equal(nodes[k].here, want && !*want);
			if (want && *want) {
				assert_string_equal(nodes[k].code, want);
			} else {
				assert_null(nodes[k].code);
			}
		}
		if (cases[i].says) {
			assert_string_equal(nodes[1].says, cases[i].says);
		}
		for (size_t k = 0; k < 3; k++) {
			free(nodes[k].says);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_named_with_srun_s_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
