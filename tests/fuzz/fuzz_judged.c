/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the files of a run of limits, addresses, facts, collectives or
 * all of them: it is read or refused, judged, written and said, and has an exit
 * code.  Pairs, which are drawn, have fuzz_run.
 */
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/show/judged.h"
#include "report/draw/draw.h"
#include "tests/fuzz/fuzz_dir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Is it of a kind that is quickly shown? */
static bool is_wanted(void)
{
	static const char *const kinds[] = {
		"memlock", "ping", "info", "all", "allreduce", "alltoall",
		"broadcast"
	};
	json_t *run = rundir_read_json(fuzz_dir, RUN_JSON, NULL);
	const char *probe = json_member(run, "probe");
	bool wanted = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		wanted = wanted || strcmp(probe, kinds[i]) == 0;
	}
	json_decref(run);
	return wanted;
}

static void show(const struct judged *j, FILE *out)
{
	struct str text = STR_INIT;
	struct err e = { 0 };
	int code = judged_exit(j);

	if (code < 0 || code > 4 || code == 2) {
		abort();
	}
	judged_words(j, 80, true, TERM_ASCII, &text);
	judged_words(j, 0, false, TERM_ASCII, &text);
	judged_details(j, 80, &text);
	judged_json(j, true, out, &e);
	str_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct judged_ask ask = { .reference = "" };
	static FILE *out;
	struct err e = { 0 };
	struct judged *j;

	if (!out) {
		out = fopen("/dev/null", "we");
		setenv("PATH", "/nowhere", 1);	/* no gnuplot */
	}
	fuzz_dir_fill(data, size);
	if (out && is_wanted() &&
	    judged_make(fuzz_dir, fuzz_dir, &ask, &j, &e) >= 0) {
		show(j, out);
		judged_free(j);
	}
	return 0;
}
