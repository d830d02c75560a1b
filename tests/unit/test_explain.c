/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/explain/explain.h"
#include "report/symptoms/symptom.h"

/** What is known of @text. */
static void given(struct explain *x, const char *text)
{
	assert_int_equal(explain_begin(x, symptoms_builtin(), NULL), 0);
	explain_feed(x, text, strlen(text));
	explain_end(x);
}

static const char *code_at(const struct explain *x, size_t i)
{
	assert_true(i < x->n);
	return x->order[i]->symptom->code;
}

static void the_first_cause_comes_before_its_echoes(void **state)
{
	struct explain x;

	(void)state;
	given(&x, "start\n"
	      "NCCL WARN socketProgress: Connection closed by remote peer b\n"
	      "NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0\n"
	      "NCCL WARN NET/IB : Got completion with error 12, opcode 0\n"
	      "NCCL WARN NET/IB : Got completion with error 5, opcode 0\r\n"
	      "NCCL WARN NET/IB : Got completion with error 12, opcode 1");
	assert_int_equal(x.lines, 6);
	assert_int_equal(x.n, 4);
	assert_string_equal(code_at(&x, 0), "wc_retry_exceeded");
	assert_int_equal(x.order[0]->line, 4);
	assert_int_equal(x.order[0]->count, 2);
	assert_string_equal(code_at(&x, 1), "gpudirect_missing");
	assert_string_equal(code_at(&x, 2), "peer_closed");
	assert_string_equal(code_at(&x, 3), "wc_flush");
	assert_true(explain_fault(&x));
	explain_release(&x);
}

static void an_unlimited_limit_rules_memlock_out(void **state)
{
	struct explain x;

	(void)state;
	given(&x, "NCCL WARN Call to ibv_create_cq failed\n"
	      "max locked memory           (kbytes, -l) unlimited\n"
	      "NVRM: Xid (PCI:0000:2a:00): 79, GPU has fallen off\n");
	assert_string_equal(code_at(&x, 0), "xid_79");
	assert_int_equal(x.order[0]->overruled_by, 0);
	assert_string_equal(code_at(&x, 1), "enomem_not_memlock");
	assert_string_equal(code_at(&x, 2), "memlock_cq");
	assert_int_equal(x.order[2]->overruled_by, 2);
	explain_release(&x);
}

/** What srun and slurmstepd of Slurm 22.05 print. */
static void killed_after_the_step_was_ended_is_not_the_cause(void **state)
{
	struct explain x;

	(void)state;
	given(&x, "srun: error: Task launch for StepId=1.0 failed on node n2: "
	      "Communication connection failure\n"
	      "srun: error: Application launch failed: Communication "
	      "connection failure\n"
	      "srun: Job step aborted: Waiting up to 7 seconds for job step "
	      "to finish.\n"
	      "slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT "
	      "2026-11-23T20:32:13 ***\n"
	      "srun: error: n3: task 2: Killed\n"
	      "srun: error: n1: task 0: Killed\n");
	assert_string_equal(code_at(&x, 0), "task_launch_failed");
	assert_string_equal(x.order[0]->about.host, "n2");
	assert_string_equal(code_at(&x, 1), "step_ended");
	assert_string_equal(code_at(&x, 2), "rank_killed");
	assert_int_equal(x.order[2]->overruled_by, 1);
	assert_true(x.order[2]->elsewhere);
	explain_release(&x);
	/* a task that was killed before is why the step was ended */
	given(&x, "srun: error: n3: task 2: Killed\n"
	      "srun: Job step aborted: Waiting up to 7 seconds for job step "
	      "to finish.\n"
	      "srun: error: n1: task 0: Killed\n");
	assert_string_equal(code_at(&x, 0), "rank_killed");
	assert_string_equal(x.order[0]->about.host, "n3");
	assert_int_equal(x.order[0]->overruled_by, 0);
	explain_release(&x);
}

static void a_missing_program_names_its_node(void **state)
{
	struct explain x;

	(void)state;
	given(&x, "srun: error: n2: task 1: Exited with exit code 2\n"
	      "slurmstepd-n2: error: execve(): /opt/x: No such file or "
	      "directory\n");
	assert_string_equal(code_at(&x, 0), "program_not_started");
	assert_string_equal(x.order[0]->about.host, "n2");
	assert_string_equal(code_at(&x, 1), "rank_failed");
	assert_string_equal(x.order[1]->about.host, "n2");
	explain_release(&x);
}

static void facts_alone_are_no_fault(void **state)
{
	struct explain x;

	(void)state;
	given(&x, "max locked memory           (kbytes, -l) unlimited\n");
	assert_int_equal(x.n, 1);
	assert_false(explain_fault(&x));
	explain_release(&x);
	given(&x, "nv-fabricmanager[41]: request to query NVSwitch device "
	      "information from NVSwitch driver failed with error:WARNING "
	      "Nothing to do [NV_WARN_NOTHING_TO_DO]\n");
	assert_string_equal(code_at(&x, 0), "fabricmanager_unneeded");
	assert_false(explain_fault(&x));
	explain_release(&x);
	given(&x, "");
	assert_int_equal(x.lines, 0);
	assert_false(explain_fault(&x));
	explain_release(&x);
}

/** A file that no buffer holds, with a NUL in it, and a line that never ends:
 *  what is found, and where, stays the same. */
static void large_files_are_read_in_pieces(void **state)
{
	FILE *f = tmpfile();
	struct explain x;
	struct err e = { 0 };
	char *blank = malloc(3000000);

	(void)state;
	assert_non_null(f);
	assert_non_null(blank);
	memset(blank, ' ', 3000000);
	for (int i = 0; i < 40000; i++) {
		fprintf(f, "n1:1:1 [0] NCCL INFO Channel %05d/02 : 0 1 2 3\n",
			i);
	}
	fwrite("NCCL WARN \0 No transport found for rank 3\n", 1, 42, f);
	fwrite(blank, 1, 3000000, f);
	fputs("\nNCCL WARN Duplicate GPU detected\n", f);
	rewind(f);
	assert_int_equal(explain_begin(&x, symptoms_builtin(), &e), 0);
	assert_int_equal(explain_file(&x, "log", f, &e), 0);
	explain_end(&x);
	assert_int_equal(x.lines, 40003);
	assert_int_equal(x.n, 2);
	assert_string_equal(code_at(&x, 0), "no_transport");
	assert_int_equal(x.order[0]->line, 40001);
	assert_string_equal(x.order[0]->text,
			    "NCCL WARN ? No transport found for rank 3");
	assert_int_equal(x.order[1]->line, 40003);
	explain_release(&x);
	free(blank);
	fclose(f);
}

/** Each line of tests/fixtures/symptoms.txt; every section with a match has
 *  one that triggers it and one that nearly does. */
static void every_symptom_has_its_message_and_a_near_miss(void **state)
{
	const struct symptoms *s = symptoms_builtin();
	FILE *f = fopen("tests/fixtures/symptoms.txt", "re");
	uint8_t *seen = calloc(s->n, 1);
	char line[1024];

	(void)state;
	assert_non_null(f);
	assert_non_null(seen);
	while (fgets(line, sizeof(line), f)) {
		char *tab = strchr(line, '\t');
		const struct symptom *wanted, *got;

		if (line[0] == '#') {
			continue;
		}
		assert_non_null(tab);
		*tab++ = '\0';
		tab[strcspn(tab, "\n")] = '\0';
		wanted = symptom_find(s, line + 1);
		assert_non_null(wanted);
		got = symptom_match_any(s, tab, strlen(tab), tab);
		if ((line[0] == '+') != (got == wanted)) {
			fail_msg("%s: '%s' is %s", line, tab,
				 got ? got->code : "nothing");
		}
		seen[wanted - s->list] |= line[0] == '+' ? 1 : 2;
	}
	for (size_t i = 0; i < s->n; i++) {
		if (s->list[i].n_matches > 0 && seen[i] != 3) {
			fail_msg("[%s] lacks a fixture", s->list[i].code);
		}
	}
	free(seen);
	fclose(f);
}

/** "name(8)", or the address of a page. */
static bool is_reference(const char *word, size_t len)
{
	size_t name = strcspn(word, "(");

	return str_starts(word, "https://") ||
	       (name + 3 == len && word[len - 1] == ')');
}

/** Each section says what to do, and points only to what a user can open. */
static void sections_have_a_remedy(void **state)
{
	const struct symptoms *s = symptoms_builtin();

	(void)state;
	for (size_t i = 0; i < s->n; i++) {
		const struct symptom *x = &s->list[i];
		const char *word = str_text(&x->source);

		if (!x->remedy.len ||
		    (!x->cause.len && !strchr(x->code, ' '))) {
			fail_msg("%s", x->code);
		}
		for (; *word; word += strspn(word, " ")) {
			size_t len = strcspn(word, " ");

			if (!is_reference(word, len)) {
				fail_msg("%s: %s", x->code, word);
			}
			word += len;
		}
	}
}

/** Known messages from line @first_line of @n on, read at once and by line. */
static void side_by_side(int first_line, int n)
{
	static const char *const known[] = {
		"NCCL WARN NET/IB : Got completion with error 12, \n",
		"NCCL WARN Call to ibv_create_cq failed\n",
		"NVRM: Xid (PCI:0000:2a:00): 79, GPU has fallen off\r\n",
	};
	struct str text = STR_INIT;
	struct explain x, lines;
	uint32_t r = 1;

	explain_begin(&lines, symptoms_builtin(), NULL);
	for (int i = 1; i <= n; i++) {
		size_t from = text.len;

		r = r * 1664525 + 1013904223;
		if (r >> 28 == 0 && i >= first_line) {
			str_add(&text, known[(r >> 20) % 3]);
		} else {
			str_addf(&text, "%.*s\n", (int)(r >> 26),
				 "nothing that anybody knows, of any length, "
				 "in a line of a log of ours");
		}
		explain_feed(&lines, str_text(&text) + from, text.len - from);
	}
	explain_end(&lines);
	given(&x, str_text(&text));
	assert_int_equal(x.lines, n);
	assert_int_equal(x.n, 3);
	assert_int_equal(lines.n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(code_at(&x, i), code_at(&lines, i));
		assert_int_equal(x.order[i]->line, lines.order[i]->line);
		assert_int_equal(x.order[i]->count, lines.order[i]->count);
		assert_string_equal(x.order[i]->text, lines.order[i]->text);
		assert_null(strchr(x.order[i]->text, '?'));
	}
	str_release(&text);
	explain_release(&x);
	explain_release(&lines);
}

static void the_order_of_search_does_not_show(void **state)
{
	(void)state;
	for (int first = 1000; first < 5000; first += 100) {
		side_by_side(first, 8000);
	}
}

static void count(void *user, size_t string)
{
	((int *)user)[string]++;
}

/** Strings within strings, and ends of each other. */
static void the_search_finds_all(void **state)
{
	static const struct literal list[] = {
		{ .text = "heher", .len = 5 }, { .text = "sheher", .len = 6 },
		{ .text = "shers", .len = 5 }, { .text = "ushers", .len = 6 },
		{ .text = "heher", .len = 5 },
		{ .text = "ushers his", .len = 10 },
	};
	static const int times[] = { 2, 2, 2, 1, 2, 1 };
	const char text[] = "ushers his sheher, sheher shers";
	struct literals l;

	(void)state;
	assert_int_equal(literals_make(list, 6, &l), 0);
	/* from each place of a step */
	for (size_t from = 0; from < LITERALS_STEP; from++) {
		char all[sizeof(text) + LITERALS_STEP] = "----------";
		const char *p = all, *end;
		int found[6] = { 0 };

		memcpy(all + from, text, sizeof(text));
		end = all + strlen(all);
		while ((p = literals_find(&l, all, p, end, count, found))) {
			/* the next one */
		}
		assert_memory_equal(found, times, sizeof(times));
	}
	/* not whole */
	assert_null(literals_find(&l, text + 1, text + 1, text + 5, NULL,
				  NULL));
	literals_release(&l);
	assert_int_equal(literals_make(NULL, 0, &l), 0);
	assert_null(literals_find(&l, text, text, text + 9, NULL, NULL));
	literals_release(&l);
}

static void words_json_and_csv_agree(void **state)
{
	struct explain x;
	struct str words = STR_INIT, csv = STR_INIT;
	json_t *json;

	(void)state;
	given(&x, "NCCL WARN \033[1mNo transport found for rank 1\n");
	explain_words(&x, "a.err", 80, false, &words);
	explain_csv(&x, &csv);
	json = explain_json(&x, "a.err");
	assert_non_null(strstr(str_text(&words), "no_transport: line 1\n"));
	assert_null(strchr(str_text(&words), '\033'));
	assert_non_null(strstr(str_text(&csv), "no_transport,fault,1,1,,"));
	assert_string_equal(json_string_value(json_object_get(json_array_get(
		json_object_get(json, "symptoms"), 0), "code")),
		"no_transport");
	json_decref(json);
	str_release(&words);
	str_release(&csv);
	explain_release(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_cause_comes_before_its_echoes),
		cmocka_unit_test(an_unlimited_limit_rules_memlock_out),
		cmocka_unit_test(
			killed_after_the_step_was_ended_is_not_the_cause),
		cmocka_unit_test(a_missing_program_names_its_node),
		cmocka_unit_test(facts_alone_are_no_fault),
		cmocka_unit_test(large_files_are_read_in_pieces),
		cmocka_unit_test(every_symptom_has_its_message_and_a_near_miss),
		cmocka_unit_test(sections_have_a_remedy),
		cmocka_unit_test(the_search_finds_all),
		cmocka_unit_test(the_order_of_search_does_not_show),
		cmocka_unit_test(words_json_and_csv_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
