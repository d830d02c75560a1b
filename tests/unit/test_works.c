/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/explain/explain.h"

static void says(struct works *w, int rank, const char *group, long waits,
		 long enqueued)
{
	char line[256];

	snprintf(line, sizeof(line), "[rank%d]: [PG %s Rank 0] Exception "
		 "detected by watchdog at work: %ld, last enqueued NCCL work: "
		 "%ld, last completed NCCL work: 1.", rank, group, waits,
		 enqueued);
	works_line(w, line, strlen(line), rank);
}

static void judged(struct works *w, long work, const char *behind,
		   const char *silent)
{
	works_judge(w);
	assert_int_equal(w->work, work);
	assert_string_equal(str_text(&w->behind), behind);
	assert_string_equal(str_text(&w->silent), silent);
	works_release(w);
}

static void who_never_came_is_named(void **state)
{
	struct works w = { 0 };
	static const char group_rank[] = "[PG ID 1 PG GUID 7(dp) Rank 1] at "
					 "work: 5, last enqueued NCCL work: 5";
	static const char missing[] = "RuntimeError: [Rank 0]: Ranks 4, 5, 6 "
				      "failed to pass monitoredBarrier";

	(void)state;
	judged(&w, 0, "", "");
	says(&w, 0, "0", 118, 118);
	says(&w, 3, "0", 117, 117);
	says(&w, 1, "0", 118, 120);
	says(&w, 9, "0", 90, 100);
	says(&w, 9, "0", 90, 90);
	judged(&w, 118, "3, 9", "");
	/* the last word counts, whatever the order */
	says(&w, 0, "ID 0 PG GUID 0(default_pg)", 118, 118);
	says(&w, 1, "ID 0 PG GUID 0(default_pg)", 110, 117);
	says(&w, 1, "ID 0 PG GUID 0", 118, 118);
	judged(&w, 118, "", "");
	/* the ID is one of the process: these are two groups of two ranks */
	says(&w, 0, "ID 11 PG GUID 31(tp)", 300, 300);
	says(&w, 1, "ID 11 PG GUID 31(tp)", 300, 300);
	says(&w, 14, "ID 11 PG GUID 38(tp)", 215, 215);
	says(&w, 15, "ID 11 PG GUID 38(tp)", 215, 215);
	judged(&w, 300, "", "");
	/* of no known group, and of a rank within its group */
	says(&w, 0, "ID 2", 9, 9);
	works_line(&w, group_rank, sizeof(group_rank) - 1, 1);
	judged(&w, 0, "", "");
	/* of a job of six, three say nothing */
	w.ranks = 6;
	says(&w, 0, "0", 7, 7);
	says(&w, 2, "0", 7, 7);
	says(&w, 5, "0", 7, 8);
	judged(&w, 7, "", "1, 3, 4");
	/* the members of other groups are not known */
	w.ranks = 6;
	says(&w, 0, "3", 7, 7);
	says(&w, 2, "3", 7, 7);
	judged(&w, 7, "", "");
	/* groups count by themselves */
	says(&w, 0, "1", 500, 500);
	says(&w, 1, "1", 500, 500);
	says(&w, 0, "2", 30, 30);
	says(&w, 1, "2", 29, 29);
	judged(&w, 30, "1", "");
	/* a rank that nobody knows, a line without numbers */
	says(&w, -1, "1", 500, 500);
	works_line(&w, "last enqueued NCCL work: x", 26, 1);
	judged(&w, 0, "", "");
	works_line(&w, missing, strlen(missing), 0);
	assert_string_equal(str_text(&w.named), "4, 5, 6");
	works_release(&w);
	works_line(&w, "a [missing ranks: 0, 2]", 23, 0);
	assert_string_equal(str_text(&w.named), "0, 2");
	works_release(&w);
}

static void the_frequent_ones_stay(void **state)
{
	struct unknown u = { 0 };
	char line[64];

	(void)state;
	for (int i = 0; i < 3000; i++) {
		snprintf(line, sizeof(line), "Error: %d of 0x%x", i, i * 7);
		unknown_line(&u, line, strlen(line));
		snprintf(line, sizeof(line), "Error of kind %c%c%c",
			 'g' + i % 20, 'g' + i / 20 % 20, 'g' + i / 400 % 20);
		unknown_line(&u, line, strlen(line));
	}
	unknown_line(&u, "\033[1m\0Error", 10);
	assert_int_equal(u.lines, 6001);
	assert_int_equal(u.n, UNKNOWN_KINDS);
	unknown_sort(&u);
	assert_string_equal(u.kinds[0].text, "Error: 0 of 0x0");
	assert_int_equal(u.kinds[0].count - u.kinds[0].before, 3000);
	for (size_t i = 0; i < u.n; i++) {
		assert_null(strchr(u.kinds[i].text, '\033'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_never_came_is_named),
		cmocka_unit_test(the_frequent_ones_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
