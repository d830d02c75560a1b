/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fake_run.h"

#include <unistd.h>

#include "report/base/wrap.h"
#include "report/judge/caption.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/show/judged.h"

#define RUNS "tests/fixtures/runs/"

static void render(const struct run *r, int width, bool color, struct str *out)
{
	struct verdict v;

	assert_int_equal(verdict_compute(r, &v), 0);
	str_reset(out);
	show_words(&(struct judged){ .kind = &judged_pairs, .run = *r,
				     .verdict = v },
		   width, color, out);
	assert_false(out->failed);
	verdict_release(&v);
}

static void test_healthy(void **state)
{
	static const char expected[] =
		"PASS  p2p on 2 nodes with 16 GPUs: nccl, 64 MiB, schedule nic,"
		" 2026-01-31\n      09:15 UTC\n"
		"      240 tests: 240 pass\n"
		"      inside a node: median ";
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 2, 8, 8);
	render(&r, 80, false, &out);
	assert_memory_equal(str_text(&out), expected, sizeof(expected) - 1);
	assert_null(strstr(str_text(&out), "do:"));
	str_release(&out);
	run_release(&r);
}

static void expect_short(const struct run *r, bool sentence,
			 const char *expected)
{
	char text[CAPTION_SIZE];
	struct verdict v;

	assert_int_equal(verdict_compute(r, &v), 0);
	assert_string_equal(caption_short(r, &v, sentence, text, sizeof(text)),
			    expected);
	verdict_release(&v);
}

/** The last line and the heading of a report. */
static void test_short(void **state)
{
	static const struct fake_fault gpu = { .kind = PART_GPU, .a = 1,
					       .b = 4 };
	static const struct fake_fault nic = { .kind = PART_NIC, .a = 0,
					       .b = 3 };
	static const struct fake_fault gpu1 = { .kind = PART_GPU, .a = 1 };
	struct run r;

	(void)state;
	fake_run(&r, 2, 8, 8);
	expect_short(&r, false, "p2p, 2 nodes, 16 GPUs, 240 tests");
	fake_break(&r, &gpu, OUTCOME_TIMEOUT, "task_timeout");
	expect_short(&r, false, "GPU 4 of n1 (dead)");
	expect_short(&r, true, "GPU 4 of n1 is dead");
	fake_break(&r, &nic, OUTCOME_ERROR, "wc_retry_exceeded");
	expect_short(&r, false, "GPU 4 of n1 (dead), NIC 3 of n0 (dead)");
	expect_short(&r, true, "GPU 4 of n1 is dead, and 1 more");
	run_release(&r);
	/* a state that is no adjective: the sentence of the finding */
	fake_run(&r, 2, 2, 2);
	fake_break(&r, &gpu1, OUTCOME_CORRUPT, "data_corrupt");
	expect_short(&r, false, "GPU 0 of n1 (corrupt data)");
	expect_short(&r, true, "GPU 0 of n1: all 6 tests with this GPU failed "
		     "(6 corrupt)");
	run_release(&r);
}

/** A run that was cut found nothing yet, which is no PASS. */
static void test_cut(void **state)
{
	static const struct fake_fault left = { .kind = PART_INTER_NODE };
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 2, 2, 2);
	fake_break(&r, &left, OUTCOME_NOT_RUN, "");
	STR_COPY(r.stop_reason, "interrupted");
	render(&r, 200, false, &out);
	assert_true(str_starts(str_text(&out), "PARTIAL p2p on 2 nodes"));
	assert_non_null(strstr(str_text(&out), "\n      partial: 4 of 12 "
			       "measured, the run did not finish "
			       "(interrupted)\n"));
	str_release(&out);
	run_release(&r);
}

static void test_finding(void **state)
{
	static const struct fake_fault nic = { .kind = PART_NIC, .a = 1,
					       .b = 2 };
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 2, 8, 4);
	fake_break(&r, &nic, OUTCOME_TIMEOUT, "task_timeout");
	render(&r, 200, false, &out);
	assert_non_null(strstr(str_text(&out), "\nFAIL  NIC 2 of n1: all 32 "
					       "tests with this NIC failed (32 "
					       "timeout); the other 208 "
					       "passed; could not be reached by "
					       "n0\n"));
	assert_non_null(strstr(str_text(&out), "  do: Check the state of "
			       "the port, the cable and the switch port:\n"
			       "          ssh n1 'ibstat;"));
	assert_non_null(strstr(str_text(&out), "gpucheck p2p --transport=nccl "
			       "--pairs=n0:0-n1:4 --nodelist=n0,n1\n"));
	assert_non_null(strstr(str_text(&out), "      to skip this node:\n"
			       "          gpucheck p2p -x n1\n"));

	/* pretend nodes are this machine */
	json_object_set_new(r.json, "launcher", json_string("local"));
	render(&r, 200, false, &out);
	assert_non_null(strstr(str_text(&out), "\n          ibstat; "
			       "ibqueryerrors; dmesg -T | grep -i mlx5\n"));
	assert_null(strstr(str_text(&out), "ssh"));
	str_release(&out);
	run_release(&r);
}

/** Little is not nothing: 7 B in 2 us are no 0.00 GB/s. */
static void test_small(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 1, 4, 4);
	r.size_B = 7;
	for (int i = 0; i < r.n_ranks * r.n_ranks; i++) {
		r.cells[i].bw_GB_s *= 0.0035F / (float)FAKE_INTRA_GB_S;
	}
	r.cells[run_at(&r, 0, 1)].bw_GB_s = 0.0005F;
	cells_mark_slow(r.cells, (size_t)r.n_ranks * (size_t)r.n_ranks, 0,
			r.slow);
	render(&r, 200, false, &out);
	assert_non_null(strstr(str_text(&out), "median 0.0035 GB/s, 0.0035 to "
					       ""));
	assert_non_null(strstr(str_text(&out), "slow: 0.0005 GB/s: 14 % of the "
					       "other pairs inside a node "
					       "(median 0.0035)"));
	assert_int_equal(term_render(&r, NULL, 80, TERM_ASCII, TERM_MAP,
				     &out), 0);
	assert_non_null(strstr(str_text(&out), "9 0.0036 GB/s"));
	assert_null(strstr(str_text(&out), "0.00 GB/s"));
	str_release(&out);
	run_release(&r);
}

/** What was not tested is said before anything else. */
static void test_notes(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 2, 2, 2);
	r.rows = run_n_cells(&r);
	STR_COPY(r.transport, "tcp");
	render(&r, 200, false, &out);
	assert_non_null(strstr(str_text(&out), "GPUs were not tested"));
	assert_null(strstr(str_text(&out), "DRILL"));

	STR_COPY(r.transport, "sim");
	r.drill = true;
	r.ended = false;
	json_object_set_new(r.json, "error",
			    json_pack("{s:s, s:s}", "text", "no GPU here",
				      "hint", "try tcp"));
	r.bad_rows = 1;
	STR_COPY(r.bad_why, "line 7: NUL byte");
	render(&r, 200, false, &out);
	assert_non_null(strstr(str_text(&out), "simulated cluster"));
	assert_non_null(strstr(str_text(&out), "DRILL"));
	assert_non_null(strstr(str_text(&out), "error: no GPU here; try tcp"));
	assert_non_null(strstr(str_text(&out), "\n      partial: the run did "
					       "not finish (no GPU here)"));
	assert_non_null(strstr(str_text(&out), "1 damaged row ignored; the "
					       "last: line 7: NUL byte"));
	str_release(&out);
	run_release(&r);
}

/** Ambiguity is said, not hidden: one pair accuses many. */
static void test_one_pair(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 2, 1, 1);
	fake_cell(&r, 0, 1, OUTCOME_ERROR, "connect_refused");
	fake_cell(&r, 1, 0, OUTCOME_ERROR, "connect_refused");
	render(&r, 200, false, &out);
	assert_non_null(strstr(str_text(&out), "both tests"));
	assert_non_null(strstr(str_text(&out), "there was no other test"));
	assert_non_null(strstr(str_text(&out), "; could also be "));
	str_release(&out);
	run_release(&r);
}

/** What is in front of a text counts: a tag, in colours or not. */
static void test_wrap_behind_a_tag(void **state)
{
	struct str out = STR_INIT;
	struct wrap w = { .out = &out, .width = 20 };

	(void)state;
	for (int color = 0; color < 2; color++) {
		w.color = color;
		str_reset(&out);
		wrap_status(&w, "unknown");
		wrap_text(&w, 6, "four five  six seven");
		assert_non_null(strstr(str_text(&out), " four five\n"
				       "      six seven\n"));
		str_reset(&out);
		wrap_status(&w, "pass");
		wrap_text(&w, 6, "four fives six seven");
		assert_non_null(strstr(str_text(&out), " four fives six\n"
				       "      seven\n"));
	}
	str_release(&out);
}

/** A number is read with its unit. */
static void test_wrap_keeps_units(void **state)
{
	static const struct {
		const char *text, *wrapped;
	} cases[] = {
		{ "it was at 99.98 % then", "it was at\n"
		  "  99.98 % then\n" },
		{ "ended at 13:43 UTC, so", "ended at\n  13:43 UTC, so\n" },
		{ "between (90.5 GB/s)", "between\n  (90.5 GB/s)\n" },
		/* what is no unit, and no number */
		{ "there are 12 seen", "there are 12\n  seen\n" },
		{ "it is called an s", "it is called an\n  s\n" },
	};
	struct str out = STR_INIT;
	const struct wrap w = { .out = &out, .width = 16 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		str_reset(&out);
		wrap_text(&w, 2, cases[i].text);
		assert_string_equal(str_text(&out), cases[i].wrapped);
	}
	str_release(&out);
}

/** A command that is to be copied. */
static void test_wrap_quotes(void **state)
{
	static const char text[] = "type \"gpucheck report DIR\", 5\" wide, "
				   "here", other[] = "see \"help csv of it\"";
	struct str out = STR_INIT;
	struct wrap w = { .out = &out, .width = 16 };

	(void)state;
	wrap_text(&w, 2, text);
	assert_string_equal(str_text(&out), "type\n  \"gpucheck report DIR\","
			    "\n  5\" wide, here\n");
	str_reset(&out);
	wrap_text(&w, 2, other);
	assert_string_equal(str_text(&out), "see \"help csv of\n  it\"\n");
	str_reset(&out);
	w.whole_quotes = true;
	wrap_text(&w, 2, other);
	assert_string_equal(str_text(&out), "see\n  \"help csv of it\"\n");
	str_release(&out);
}

/** What is longer than the line goes on below it, but for a command. */
static void test_commands_are_whole(void **state)
{
	struct str out = STR_INIT;
	struct wrap w = { .out = &out, .width = 16 };

	(void)state;
	wrap_act(&w, "look at this:\n    ssh n1 'ibstat; "
		 "nvidia-smi'\nthen here and there");
	assert_string_equal(str_text(&out), "  do: look at\n      this:\n"
			    "          ssh n1 'ibstat; nvidia-smi'\n"
			    "      then here\n      and there\n");
	str_release(&out);
}

static void test_wrapping(void **state)
{
	static const struct fake_fault all = { .kind = PART_INTER_NODE };
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 3, 4, 4);
	fake_break(&r, &all, OUTCOME_ERROR, "no_route");
	for (int width = 60; width < 140; width += 20) {
		const char *line;

		render(&r, width, false, &out);
		for (line = str_text(&out); *line;) {
			size_t len = strcspn(line, "\n");

			assert_true(len <= (size_t)width ||
				    str_starts(line, "          "));
			line += len + (line[len] == '\n');
		}
	}
	str_release(&out);
	run_release(&r);
}

static void test_color(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 2, 2, 2);
	render(&r, 80, true, &out);
	assert_true(str_starts(str_text(&out), "\033[1;32mPASS"));
	str_release(&out);
	run_release(&r);
}

/** Pull "key" out of judged_json()'s answer for a fixture. */
static json_t *json_of(const char *dir)
{
	struct err e = { 0 };
	struct verdict v;
	struct run r;
	json_t *json;
	FILE *f = tmpfile();

	assert_non_null(f);
	assert_int_equal(levels_read(dir, &r, &e), 0);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(judged_json(&(struct judged){ .kind = &judged_pairs,
						      .run = r, .verdict = v,
						      .dir = dir },
				   true, f, &e), 0);
	rewind(f);
	json = json_loadf(f, 0, NULL);
	assert_non_null(json);
	fclose(f);
	verdict_release(&v);
	run_release(&r);
	return json;
}

static void test_json(void **state)
{
	json_t *json = json_of(RUNS "p2p-2x4-dead-nic"), *row;

	(void)state;
	assert_int_equal(json_array_size(json_object_get(json, "rows")), 56);
	row = json_array_get(json_object_get(json, "rows"), 3);
	assert_int_equal(json_integer_value(json_object_get(row, "dst_rank")),
			 4);
	assert_string_equal(json_string_value(json_object_get(
			json_object_get(json, "verdict"), "status")), "fail");
	assert_true(json_is_true(json_object_get(
			json_object_get(json, "run"), "drill")));
	json_decref(json);
	json = json_of(RUNS "p2p-2x2-lost");
	assert_int_equal(json_array_size(json_object_get(json, "rows")), 0);
	json_decref(json);
}

static void test_json_full_disk(void **state)
{
	const char *dir = RUNS "p2p-2x4-healthy";
	FILE *full = fopen("/dev/full", "w");
	struct err e = { 0 };
	struct verdict v;
	struct run r;

	(void)state;
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(levels_read(dir, &r, &e), 0);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(judged_json(&(struct judged){ .kind = &judged_pairs,
						      .run = r, .verdict = v,
						      .dir = dir },
				   true, full, &e), -1);
	assert_true(e.text[0] != '\0');
	fclose(full);
	verdict_release(&v);
	run_release(&r);
}

/** A line of four blanks and a command is pasted as it stands. */
static void test_a_command_is_whole(void **state)
{
	static const char command[] = "    echo 'a long command > is not cut' "
				      "| "
		"grep -v 'at any width that a terminal has, be it 40 or 80'";
	struct str act = STR_INIT, line = STR_INIT, out = STR_INIT;

	(void)state;
	str_addf(&act, "These are words that are broken where a line of a "
		 "terminal ends, and then a command:\n%s\nand words.", command);
	str_addf(&line, "%s\n", command);
	for (int width = 40; width <= 80; width += 40) {
		const struct wrap w = { .out = &out, .width = width };

		str_reset(&out);
		wrap_act(&w, str_text(&act));
		assert_non_null(strstr(str_text(&out), str_text(&line)));
		assert_null(strstr(str_text(&out), "a command: "));
		assert_non_null(strstr(str_text(&out), "\n      and words.\n"));
	}
	str_release(&out);
	str_release(&line);
	str_release(&act);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_finding),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_one_pair),
		cmocka_unit_test(test_wrap_behind_a_tag),
		cmocka_unit_test(test_wrap_keeps_units),
		cmocka_unit_test(test_wrap_quotes),
		cmocka_unit_test(test_commands_are_whole),
		cmocka_unit_test(test_wrapping),
		cmocka_unit_test(test_color),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_full_disk),
		cmocka_unit_test(test_a_command_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
