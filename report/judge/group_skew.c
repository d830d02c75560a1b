/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/group_skew.h"

#include <errno.h>
#include <string.h>

#include "lib/data/json.h"
#include "report/judge/findings.h"
#include "report/judge/verdict.h"

static bool is_text(const json_t *json, const char *key, const char *text)
{
	const char *value = json_string_value(json_object_get(json, key));

	return value && strcmp(value, text) == 0;
}

static bool has_member(const json_t *members, const json_t *node)
{
	const json_t *m;
	size_t i;

	json_array_foreach(members, i, m) {
		if (json_equal(m, node)) {
			return true;
		}
	}
	return false;
}

/** What fails, and how much of it is about @members. */
static void count_fails(const json_t *findings, const json_t *members,
			size_t *fails, size_t *theirs)
{
	const json_t *f;
	size_t i;

	*fails = *theirs = 0;
	json_array_foreach(findings, i, f) {
		if (is_text(f, "severity", "fail")) {
			++*fails;
			*theirs += has_member(members,
					      json_object_get(f, "node")) ||
				   has_member(members,
					      json_object_get(f, "peer_node"));
		}
	}
}

static void add_match(json_t *skew, const json_t *findings)
{
	struct str says = STR_INIT;
	size_t fails, theirs;

	count_fails(findings, json_object_get(skew, "members"), &fails,
		    &theirs);
	str_add(&says, json_string_value(json_object_get(skew, "says")));
	if (fails == 0) {
		str_add(&says, "; nothing failed");
	} else {
		str_addf(&says, "; %zu of %zu failures %s about them", theirs,
			 fails, theirs == 1 ? "is" : "are");
	}
	json_object_set_new(skew, "says", json_text(str_text(&says)));
	str_release(&says);
}

/** To the end of the verdict; a pass is one with a warning then. */
static int take(json_t *found, json_t *verdict)
{
	json_t *findings = json_object_get(verdict, "findings");
	json_t *list = json_object_get(found, "findings"), *f;
	size_t i;

	json_array_foreach(list, i, f) {
		add_match(f, findings);
	}
	if (json_array_size(list) > 0 && is_text(verdict, "status", "pass")) {
		json_object_set_new(verdict, "status", json_string("warn"));
	}
	return json_array_extend(findings, list);
}

int group_skew(const struct run *run, json_t *verdict, struct err *e)
{
	struct verdict v = { 0 };
	json_t *found = NULL;
	int rc;

	if (skew_findings(run, &v) == 0) {
		found = verdict_json(run, &v);
	}
	rc = found ? take(found, verdict) : -1;
	if (rc < 0) {
		err_set(e, ENOMEM, "cannot compare the nodes");
	}
	json_decref(found);
	verdict_release(&v);
	return rc;
}
