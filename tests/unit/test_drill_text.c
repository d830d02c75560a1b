/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "tests/unit/drill_case.h"

struct bad_case {
	const char *text, *says, *hint;
};

static void check_bad(const struct bad_case *bad, const struct err *e)
{
	if (!strstr(e->text, bad->says)) {
		fail_msg("'%s': '%s' lacks '%s'", bad->text, e->text,
			 bad->says);
	}
	if (bad->hint && !strstr(e->hint, bad->hint)) {
		fail_msg("'%s': hint '%s' lacks '%s'", bad->text, e->hint,
			 bad->hint);
	}
}

static void bad_text_names_line_and_column(void **state)
{
	static const struct bad_case cases[] = {
		{ .text = "deed node=1",
		  .says = "line 1, column 1: unknown fault 'deed'",
		  .hint = "did you mean 'dead'?" },
		{ .text = "\n  none node=1",
		  .says = "line 2, column 3: unknown fault 'none'" },
		{ .text = "xyzzy node=1", .says = "line 1, column 1:",
		  .hint = "one of dead, hang, crash" },
		{ .text = "dead nod=1",
		  .says = "line 1, column 6: unknown keyword 'nod'",
		  .hint = "did you mean 'node'?" },
		{ .text = "dead node=1 =3",
		  .says = "line 1, column 13: unknown keyword ''" },
		{ .text = "dead gpu=1:4 directoin=tx",
		  .says = "line 1, column 14: unknown keyword 'directoin'",
		  .hint = "'direction'" },
		{ .text = "dead gpu=1:4 direction=up",
		  .says = "line 1, column 24: unknown direction 'up'",
		  .hint = "both, tx, rx" },
		{ .text = "dead gpu=1:4 direction",
		  .says = "line 1, column 23: unknown direction ''" },
		{ .text = "dead gpu=1:4 direction=tx direction=tx",
		  .says = "line 1, column 27: a second direction" },
		{ .text = "dead rail=1 direction=tx",
		  .says = "line 1, column 13: 'direction' does not go with "
			  "'rail'" },
		{ .text = "dead direction=tx cross_rail",
		  .says = "line 1, column 6: 'direction' does not go with "
			  "'cross_rail'" },
		{ .text = "crash rank=1 direction=rx",
		  .says = "line 1, column 14: 'direction' does not go with "
			  "'rank'" },
		{ .text = "noise percent=5 direction=tx",
		  .says = "line 1, column 17: 'direction' does not go with "
			  "'noise'" },
		{ .text = "dead", .says = "line 1, column 1: 'dead' without a "
					  "part",
		  .hint = "specify what is dead: node=3" },
		{ .text = "dead node=1 gpu=1:4",
		  .says = "line 1, column 13: a second part 'gpu'",
		  .hint = "one fault per line" },
		{ .text = "dead node", .says = "line 1, column 6: 'node' "
					       "cannot be ''",
		  .hint = "write node=3" },
		{ .text = "dead node=", .says = "line 1, column 11:" },
		{ .text = "dead node=-1", .says = "line 1, column 11: 'node' "
						  "cannot be '-1'" },
		{ .text = "dead node=1x", .says = "line 1, column 11:" },
		{ .text = "dead node=99999999999", .says = "line 1, column "
							   "11:" },
		{ .text = "dead gpu=4", .says = "line 1, column 10: 'gpu' "
						"cannot be '4'",
		  .hint = "write gpu=1:4" },
		{ .text = "dead gpu=1-4", .says = "line 1, column 10:" },
		{ .text = "dead gpu=1:2:3", .says = "line 1, column 10:" },
		{ .text = "dead pair=1:4", .says = "line 1, column 11: 'pair' "
						   "cannot be '1:4'",
		  .hint = "write pair=0-9" },
		{ .text = "dead pair=1-", .says = "line 1, column 11:" },
		{ .text = "dead pair=3-3",
		  .says = "line 1, column 11: pair '3-3' with itself" },
		{ .text = "dead node_pair=2-2",
		  .says = "line 1, column 16: node_pair '2-2' with itself" },
		{ .text = "dead cross_rail=1",
		  .says = "line 1, column 17: 'cross_rail' cannot be '1'",
		  .hint = "write cross_rail" },
		{ .text = "slow node=1",
		  .says = "line 1, column 1: 'slow' without factor=" },
		{ .text = "# one\nflaky node=1",
		  .says = "line 2, column 1: 'flaky' without rate=" },
		{ .text = "noise", .says = "line 1, column 1: 'noise' without "
					   "percent=" },
		{ .text = "slow node=1 factor=0",
		  .says = "line 1, column 20: factor '0' is not in (0, 1]" },
		{ .text = "slow node=1 factor=1.5",
		  .says = "line 1, column 20: factor '1.5' is not in (0, 1]" },
		{ .text = "slow node=1 factor=-0.5", .says = "column 20:" },
		{ .text = "slow node=1 factor=nan", .says = "column 20:" },
		{ .text = "slow node=1 factor=",
		  .says = "column 20: factor ''" },
		{ .text = "slow node=1 factor",
		  .says = "column 19: factor ''" },
		{ .text = "flaky node=1 rate=2",
		  .says = "line 1, column 19: rate '2' is not in (0, 1]" },
		{ .text = "noise percent=101",
		  .says = "line 1, column 15: percent '101' is not in "
			  "[0, 100]" },
		{ .text = "noise percent=-1", .says = "column 15:" },
		{ .text = "dead node=1 factor=0.5",
		  .says = "line 1, column 13: 'factor' does not go with "
			  "'dead'" },
		{ .text = "slow node=1 rate=0.5",
		  .says = "line 1, column 13: 'rate' does not go with 'slow'" },
		{ .text = "slow node=1 factor=0.5 factor=0.5",
		  .says = "line 1, column 24: a second factor" },
		{ .text = "noise percent=5 node=1",
		  .says = "line 1, column 17: 'noise' does not take a part" },
		{ .text = "noise percent=5\n noise percent=5",
		  .says = "line 2, column 2: a second 'noise'" },
		{ .text = "dead node=1 from=tpc",
		  .says = "line 1, column 18: unknown layer 'tpc'",
		  .hint = "did you mean 'tcp'?" },
		{ .text = "dead node=1 from", .says = "column 17: unknown "
						      "layer ''" },
		{ .text = "dead node=1 from=tcp from=tcp",
		  .says = "line 1, column 22: a second from" },
		{ .text = "dead node=1 unless=A=1 unless=B=1",
		  .says = "line 1, column 24: a second unless" },
		{ .text = "dead node=1 unless=NAME",
		  .says = "line 1, column 20: 'unless' cannot be 'NAME'",
		  .hint = "write unless=NCCL_IB_GID_INDEX=3" },
		{ .text = "dead node=1 unless", .says = "column 19:" },
		{ .text = "dead node=1 unless==1", .says = "column 20:" },
		{ .text = "dead node=1 fact=acs",
		  .says = "column 18: 'fact' cannot be 'acs'" },
		{ .text = "dead pair=0-1 fact=acs=on",
		  .says = "column 15: 'fact' does not go with 'pair'" },
		{ .text = "dead node=1 unless=A=", .says = "column 20:" },
		{ .text = "dead node=1 unless=1A=1", .says = "column 20:" },
		{ .text = "dead node=1 unless=A-B=1", .says = "column 20:" },
		{ .text = "dead node=1 unless="
			  "A123456789012345678901234567890123456789012345678=1",
		  .says = "column 20:" },
		{ .text = "dead node=1 unless="
			  "A=123456789012345678901234567890123456789012345678",
		  .says = "column 20:" },
		{ .text = "noise percent=5 from=tcp",
		  .says = "line 1, column 17: 'from' does not go with "
			  "'noise'" },
		{ .text = "noise unless=A=1 percent=5",
		  .says = "line 1, column 7: 'unless' does not go with "
			  "'noise'" },
		{ .text = "dead rail_leaf=1:3-0",
		  .says = "line 1, column 16: rail_leaf '1:3-0' backwards" },
		{ .text = "dead rail_leaf=1:3",
		  .says = "line 1, column 16: 'rail_leaf' cannot be '1:3'",
		  .hint = "write rail_leaf=1:0-3" },
		{ .text = "dead leaf_pair=0-3:3-4",
		  .says = "line 1, column 16: leaf_pair '0-3:3-4' with "
			  "itself" },
		{ .text = "dead leaf_pair=0-3:4-7:8-9", .says = "column 16:" },
		{ .text = "dead cable_swap=1:2-2", .says = "with itself" },
		{ .text = "dead nvlink_domain=2-2", .says = "of one node" },
		{ .text = "dead fabric_path=0-1:2-3 fraction=0",
		  .says = "line 1, column 35: 'fraction' cannot be '0'",
		  .hint = "write fraction=0.125" },
		{ .text = "dead leaf_pair=0-1:2-3 fraction=0.1",
		  .says = "line 1, column 24: 'fraction' does not go with "
			  "'leaf_pair'" },
		{ .text = "noise percent=2 shape=even",
		  .says = "line 1, column 23: unknown shape 'even'",
		  .hint = "one of uniform, heavy, drift, outlier" },
		{ .text = "dead node=1 meet=min",
		  .says = "line 1, column 13: 'meet' does not go with" },
		{ .text = "dead \x1b[1m=1",
		  .says = "line 1, column 6: unknown keyword '?[1m'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct err e = { 0 };
		struct drill d;

		if (drill_parse(cases[i].text, strlen(cases[i].text), &d, &e) !=
		    -1) {
			fail_msg("'%s' was taken", cases[i].text);
		}
		check_bad(&cases[i], &e);
		assert_null(d.faults);
	}
}

/** @before @word and one letter too much: the error must offer @word. */
static void check_misspelt(const char *before, const char *word)
{
	char text[64], hint[64];
	struct err e = { 0 };
	struct drill d;

	snprintf(text, sizeof(text), "%s%sx", before, word);
	snprintf(hint, sizeof(hint), "did you mean '%s'?", word);
	assert_int_equal(drill_parse(text, strlen(text), &d, &e), -1);
	assert_string_equal(e.hint, hint);
}

static void every_misspelt_word_gets_the_nearest(void **state)
{
	(void)state;
	for (int k = DRILL_DEAD; drill_kinds[k].name; k++) {
		check_misspelt("", drill_kinds[k].name);
		if (drill_kinds[k].value) {
			check_misspelt("dead ", drill_kinds[k].value);
		}
	}
	for (int p = 0; drill_parts[p].name; p++) {
		check_misspelt("dead ", drill_parts[p].name);
	}
	check_misspelt("dead ", "direction");
	check_misspelt("dead ", "from");
	check_misspelt("dead ", "unless");
	check_misspelt("dead ", "fact");
	for (int i = 0; drill_layers[i]; i++) {
		check_misspelt("dead from=", drill_layers[i]);
	}
}

static void parts_out_of_range(void **state)
{
	static const struct bad_case cases[] = {
		{ .text = "dead node=4",
		  .says = "line 1, column 6: no node 4 in this run",
		  .hint = "nodes are counted from 0, and there are 4" },
		{ .text = "dead node=0\n dead gpu=4:0",
		  .says = "line 2, column 7: no node 4 in this run",
		  .hint = "there are 4" },
		{ .text = "dead gpu=3:4",
		  .says = "line 1, column 6: no GPU 4 on node 3",
		  .hint = "'n3' has 4" },
		{ .text = "slow factor=0.5 nic=0:2",
		  .says = "line 1, column 17: no NIC 2 on node 0",
		  .hint = "'n0' has 2" },
		{ .text = "dead pair=0-16",
		  .says = "line 1, column 6: no rank 16 in this run",
		  .hint = "there are 16" },
		{ .text = "dead pair=16-0", .says = "no rank 16 in this run" },
		{ .text = "crash rank=16",
		  .says = "line 1, column 7: no rank 16 in this run" },
		{ .text = "dead node_pair=1-4", .says = "no node 4" },
		{ .text = "dead node_pair=4-1", .says = "no node 4" },
		{ .text = "dead rail=2",
		  .says = "line 1, column 6: no rail 2 in this run",
		  .hint = "there are 2" },
	};
	struct layout l;

	(void)state;
	make_layout(&l);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct err e = { 0 };
		struct drill d;

		parse(&d, cases[i].text);
		if (drill_check(&d, &l, &e) != -1) {
			fail_msg("'%s' is in range", cases[i].text);
		}
		check_bad(&cases[i], &e);
		drill_release(&d);
	}
	layout_release(&l);
}

static void last_parts_are_in_range(void **state)
{
	struct layout l;
	struct drill d;

	(void)state;
	make_layout(&l);
	parse(&d, "dead node=3\ndead gpu=3:3\ndead nic=3:1\ndead pair=15-0\n"
		  "dead node_pair=0-3\ndead rail=1\ncrash rank=15\n"
		  "dead cross_rail\n");
	assert_int_equal(drill_check(&d, &l, NULL), 0);
	drill_release(&d);
	layout_release(&l);
}

static void limits(void **state)
{
	static const char line[] = "dead node=1\n";
	size_t len = sizeof(line) - 1, most = DRILL_MAX_FAULTS;
	char *text = malloc((most + 1) * len);
	struct err e = { 0 };
	struct drill d;

	(void)state;
	for (size_t i = 0; i <= most; i++) {
		memcpy(text + i * len, line, len);
	}
	assert_int_equal(drill_parse(text, most * len, &d, &e), 0);
	assert_int_equal(d.n, most);
	drill_release(&d);
	assert_int_equal(drill_parse(text, (most + 1) * len, &d, &e), -1);
	assert_string_equal(e.text, "line 10001, column 1: more than 10000 "
				    "faults");

	memset(text, ' ', DRILL_MAX_LINE + 2);
	text[DRILL_MAX_LINE] = '\n';
	assert_int_equal(drill_parse(text, DRILL_MAX_LINE + 1, &d, &e), 0);
	text[DRILL_MAX_LINE] = ' ';
	assert_int_equal(drill_parse(text, DRILL_MAX_LINE + 1, &d, &e), -1);
	assert_string_equal(e.text, "line 1, column 4097: line of more than "
				    "4096 bytes");

	assert_int_equal(drill_parse("dead\0node=1", 11, &d, &e), -1);
	assert_string_equal(e.text, "line 1, column 5: a NUL byte");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_text_names_line_and_column),
		cmocka_unit_test(every_misspelt_word_gets_the_nearest),
		cmocka_unit_test(parts_out_of_range),
		cmocka_unit_test(last_parts_are_in_range),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
