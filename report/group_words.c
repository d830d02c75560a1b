/* SPDX-License-Identifier: BSD-3-Clause */
/* What the verdict of a group comes to: an exit code, and words. */
#include "report/group_verdict.h"

#include <string.h>

#include "lib/json.h"
#include "report/report.h"
#include "report/wrap.h"

/** As in cli/exit_code.h. */
enum {
	EXIT_HEALTHY = 0, EXIT_FAULT = 1, EXIT_UNABLE = 3, EXIT_PARTIAL = 4
};

int group_exit(const json_t *run, const json_t *verdict)
{
	const char *status = json_member(verdict, "status");
	bool strict = json_is_true(json_object_get(run, "strict"));

	if (strcmp(status, "unknown") == 0) {
		return EXIT_UNABLE;
	}
	if (!json_member(run, "ended_utc")[0] ||
	    json_member(run, "stop_reason")[0]) {
		return EXIT_PARTIAL;
	}
	return strcmp(status, "fail") == 0 ||
			       (strict && strcmp(status, "warn") == 0) ?
		       EXIT_FAULT :
		       EXIT_HEALTHY;
}

void group_words(const json_t *run, const json_t *verdict, int width,
		 bool color, struct str *out)
{
	static const struct {
		const char *name;
		enum verdict_status status;
	} words[] = { { "pass", VERDICT_PASS }, { "warn", VERDICT_WARN },
		      { "fail", VERDICT_FAIL },
		      { "unknown", VERDICT_UNKNOWN } };
	struct wrap w = { .out = out, .width = width, .color = color };
	const char *status = json_member(verdict, "status");
	json_t *f;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].name, status) == 0) {
			wrap_status(&w, words[i].status);
		}
	}
	str_addf(out, "  %s%s\n", json_member(run, "probe"),
		 json_is_true(json_object_get(run, "drill")) ? ", a drill" :
							       "");
	json_array_foreach(json_object_get(verdict, "findings"), i, f) {
		bool fail = strcmp(json_member(f, "severity"), "fail") == 0;

		wrap_tag(&w, fail ? "fail" : "warn", fail ? 31 : 33);
		wrap_text(&w, 6, json_member(f, "says"));
		wrap_tag(&w, "do", 0);
		wrap_text(&w, 6, json_member(f, "do"));
	}
	json_array_foreach(json_object_get(run, "expect"), i, f) {
		wrap_tag(&w, "known", 0);
		wrap_text(&w, 6, json_string_value(f));
	}
	json_array_foreach(json_object_get(run, "notes"), i, f) {
		wrap_tag(&w, "note", 0);
		wrap_text(&w, 6, json_string_value(f));
	}
}
