/* SPDX-License-Identifier: BSD-3-Clause */
/* What the verdict of a group comes to: an exit code, and words. */
#include "report/judge/group_verdict.h"

#include <string.h>

#include "lib/data/json.h"
#include "report/judge/caption.h"
#include "report/base/wrap.h"

/** Lines of a finding; verdict.json has more. */
#define MAX_EVIDENCE 4

/** As in cli/front/exit_code.h. */
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

static void add_head(const struct run *run, const json_t *verdict,
		     const struct wrap *w)
{
	char text[CAPTION_SIZE];
	const json_t *note;
	size_t k;

	wrap_status(w, json_member(verdict, "status"));
	wrap_text(w, 6, caption_group(run->json, text, sizeof(text)));
	wrap_line(w, 0, caption_rows(json_object_get(verdict, "cells"), text,
				     sizeof(text)));
	for (int i = 0; caption_note(run, i, text, sizeof(text)); i++) {
		wrap_line(w, 0, text);
	}
	json_array_foreach(json_object_get(run->json, "notes"), k, note) {
		if (json_string_value(note)) {
			wrap_line(w, 0, json_string_value(note));
		}
	}
}

static void add_finding(const json_t *f, const struct wrap *w)
{
	const json_t *list = json_object_get(f, "evidence"), *line;
	size_t n = json_array_size(list), i;
	char more[64];

	wrap_finding(w, strcmp(json_member(f, "severity"), "fail") == 0,
		     json_member(f, "says"));
	json_array_foreach(list, i, line) {
		if (i < MAX_EVIDENCE && json_string_value(line)) {
			wrap_line(w, 2, json_string_value(line));
		}
	}
	if (n > MAX_EVIDENCE) {
		snprintf(more, sizeof(more), "and %zu more", n - MAX_EVIDENCE);
		wrap_line(w, 2, more);
	}
	wrap_act(w, json_member(f, "do"));
}

void group_words(const struct run *run, const json_t *verdict, int width,
		 bool color, struct str *out)
{
	const struct wrap w = { .out = out, .width = width, .color = color };
	const json_t *f;
	size_t i;

	add_head(run, verdict, &w);
	json_array_foreach(json_object_get(verdict, "findings"), i, f) {
		add_finding(f, &w);
	}
}
