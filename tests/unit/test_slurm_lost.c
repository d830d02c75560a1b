/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm is asked, by a sinfo of ours, about nodes that a run has lost. */
#include <stdlib.h>

#include "lib/data/rundir.h"
#include "sbatch/slurm.h"
#include "tests/unit/tree.h"

#define HEAD "utc,seq,node,rank,event,detail\n"
#define LOST(seq, node) "2026-01-31T09:15:00.000Z," seq "," node \
	",,agent_lost,no message for 15 s\n"

static char root[] = "/tmp/gpucheck-lost.XXXXXX";

static int make_tree(void **state)
{
	char path[64];

	(void)state;
	if (!mkdtemp(root)) {
		return -1;
	}
	/* n1 in two partitions, n9 was not asked for, n3 nobody knows */
	tree_file(root, "/sinfo",
		  "#!/bin/sh\n"
		  "echo \"$*\" >>${0%/*}/asked\n"
		  "echo 'n1|down*'\necho 'n1|down*'\n"
		  "echo 'n2|drained|psu dead'\necho 'n9|idle'\n");
	snprintf(path, sizeof(path), "%s/sinfo", root);
	chmod(path, 0700);
	return setenv("PATH", root, 1);
}

static int remove_tree(void **state)
{
	(void)state;
	setenv("PATH", "/usr/bin:/bin", 1);
	return tree_remove(root);
}

static char *text_of(const char *name)
{
	size_t len;

	return rundir_read_text(root, name, 65536, &len, NULL);
}

static void nobody_is_asked_about_none(void **state)
{
	(void)state;
	assert_int_equal(slurm_note_lost(root, NULL), 0);	/* no file */
	tree_file(root, "/events.csv", HEAD);
	assert_int_equal(slurm_note_lost(root, NULL), 0);
	assert_null(text_of("asked"));
}

static void lost_nodes_are_asked_about_once(void **state)
{
	char *text;

	(void)state;
	tree_file(root, "/events.csv", HEAD LOST("4", "n1") LOST("5", "n2")
		  LOST("6", "n1") LOST("7", "n3") LOST("8", "'n4 x'"));
	assert_int_equal(slurm_note_lost(root, NULL), 0);
	text = text_of("asked");
	assert_string_equal(text, "--noheader --Node --format=%N|%T|%E --nodes="
				  "n2,n1,n3\n");
	free(text);
	text = text_of("events.csv");
	assert_non_null(strstr(text, ",9,n1,,slurm_state,Slurm has it as "
			       "down*: it does not respond to Slurm either\n"));
	assert_non_null(strstr(text, ",10,n2,,slurm_state,Slurm has it as "
			       "drained: psu dead\n"));
	assert_null(strstr(text, "n9"));
	assert_null(strstr(text, ",11,"));
	free(text);
	/* again: only who has no answer */
	assert_int_equal(slurm_note_lost(root, NULL), 0);
	text = text_of("asked");
	assert_non_null(strstr(text, "--nodes=n3\n"));
	free(text);
}

static void without_sinfo_nothing_is_said(void **state)
{
	struct err e = { 0 };

	(void)state;
	setenv("PATH", "/nonexistent", 1);
	tree_file(root, "/events.csv", HEAD LOST("4", "n1"));
	assert_int_equal(slurm_note_lost(root, &e), -1);
	assert_non_null(strstr(e.text, "sinfo"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_asked_about_none),
		cmocka_unit_test(lost_nodes_are_asked_about_once),
		cmocka_unit_test(without_sinfo_nothing_is_said),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
