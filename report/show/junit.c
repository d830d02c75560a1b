/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict of any run as JUnit XML, which CI systems show. */
#include "report/show/judged.h"

#include <string.h>

#include "report/base/wrap.h"
#include "report/judge/caption.h"
#include "report/show/html_page.h"

/** One test case; @result is "failure", "error", "skipped", or NULL: passed. */
static void add_case(const char *probe, const char *name, const char *result,
		     const char *says, const char *more, struct str *out)
{
	str_add(out, "  <testcase classname=\"gpucheck.");
	html_text(out, probe);
	str_add(out, "\" name=\"");
	html_text(out, name);
	str_add(out, "\"");
	if (!result && !says[0]) {
		str_add(out, "/>\n");
		return;
	}
	str_addf(out, "><%s", result ? result : "system-out");
	if (result) {
		str_add(out, " message=\"");
		html_text(out, says);
		str_add(out, "\"");
	}
	str_add(out, ">");
	html_text(out, result ? more : says);
	str_addf(out, "</%s></testcase>\n", result ? result : "system-out");
}

/** Return true if the finding only repeats a test of --accept. */
static bool repeats(const struct finding *f)
{
	return str_starts(f->code, "accept_");
}

void judged_junit(const struct run *run, const struct verdict *v, int code,
		  struct str *out)
{
	static const char *const results[] = {
		[TEST_MET] = NULL, [TEST_MISSED] = "failure",
		[TEST_NOT_MEASURED] = "error", [TEST_OTHER] = "skipped",
	};
	size_t cases = 1 + v->n_tests, failures = 0, errors = 0, skipped = 0;
	const bool unknown = code != 0 && code != 1;
	char what[CAPTION_SIZE];

	verdict_foreach(v, f) {
		cases += !repeats(f);
		failures += !repeats(f) && (f->fail || run->strict);
	}
	for (size_t i = 0; i < v->n_tests; i++) {
		failures += v->tests[i].how == TEST_MISSED;
		errors += v->tests[i].how == TEST_NOT_MEASURED;
		skipped += v->tests[i].how == TEST_OTHER;
	}
	errors += unknown;
	failures += code == 1;
	str_addf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<testsuites>\n <testsuite name=\"gpucheck.");
	html_text(out, run->probe);
	str_addf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
		 "skipped=\"%zu\"", cases, failures, errors, skipped);
	if (run->started_utc[0]) {
		str_add(out, " timestamp=\"");
		html_text(out, run->started_utc);
		str_add(out, "\"");
	}
	str_add(out, ">\n");
	caption_short(run, v, false, what, sizeof(what));
	add_case(run->probe, "verdict", unknown ? "error" :
		 code == 1 ? "failure" : NULL, what, verdict_status_name(
							     v->status), out);
	for (size_t i = 0; i < v->n_tests; i++) {
		add_case(run->probe, v->tests[i].name,
			 results[v->tests[i].how], v->tests[i].says, "", out);
	}
	verdict_foreach(v, f) {
		if (!repeats(f)) {
			snprintf(what, sizeof(what), "%s: %.240s", f->code,
				 PART_NAME(run, &f->part));
			add_case(run->probe, what, f->fail || run->strict ?
				 "failure" : NULL, f->says, f->act, out);
		}
	}
	str_add(out, " </testsuite>\n</testsuites>\n");
}
