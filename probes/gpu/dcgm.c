/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/gpu/dcgm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"

#define GPU_MAX 1023
/* DCGM_ERROR_CONFIG of dcgm_errors.h: a setting, and no hardware */
#define SEVERITY_CONFIG 5

/** "warnings": a text, texts, or objects with "warning"; the first of them.
 *  *@config: it is about a setting. */
static const char *warning_of(const json_t *result, bool *config)
{
	const json_t *w = json_object_get(result, "warnings");
	const json_t *first = json_is_array(w) ? json_array_get(w, 0) : w;
	const json_t *severity = json_object_get(first, "error_severity");
	const char *text = json_is_string(first) ? json_string_value(first) :
						   json_member(first,
							       "warning");

	*config = json_integer_value(severity) == SEVERITY_CONFIG ||
		  strcasestr(text, "persistence mode");
	return text[0] ? text : json_member(result, "info");
}

static void add(struct dcgm_report *r, int gpu, const char *test,
		const json_t *result)
{
	const char *status = json_member(result, "status");
	bool config, fail = strcasecmp(status, "fail") == 0;
	const char *words = warning_of(result, &config);
	struct dcgm_found *f;

	if ((!fail && strcasecmp(status, "warn") != 0) ||
	    r->n == DCGM_FOUND_MAX) {
		return;
	}
	f = &r->list[r->n++];
	*f = (struct dcgm_found){ .gpu = gpu, .fail = fail && !config };
	STR_COPY(f->test, test);
	STR_COPY(f->words, words[0] ? words : status);
}

/** Of DCGM 3: "0,1", or one GPU alone; anything else is the node. */
static void add_by_ids(struct dcgm_report *r, const char *ids,
		       const char *test, const json_t *result)
{
	char copy[256], *at = copy, *word;

	STR_COPY(copy, ids);
	while ((word = strsep(&at, ", "))) {
		int64_t gpu;

		if (word[0] == '\0') {
			continue;
		}
		if (units_parse_int(word, 0, GPU_MAX, &gpu, NULL) < 0) {
			gpu = -1;
		}
		add(r, (int)gpu, test, result);
	}
}

static void take_result(struct dcgm_report *r, const char *test,
			const json_t *result)
{
	const json_t *id = json_object_get(result, "entity_id");
	const char *ids = json_member(result, "gpu_ids");
	json_int_t gpu = json_is_integer(id) ? json_integer_value(id) : -1;

	if (ids[0] != '\0') {
		add_by_ids(r, ids, test, result);
	} else {
		bool known = strcmp(json_member(result, "entity_group"),
				    "GPU") == 0 && gpu >= 0 && gpu <= GPU_MAX;

		add(r, known ? (int)gpu : -1, test, result);
	}
}

static void take_tests(struct dcgm_report *r, const json_t *tests)
{
	const json_t *test, *result;
	size_t i, k;

	json_array_foreach(tests, i, test) {
		const json_t *results = json_object_get(test, "results");

		r->n_tests++;
		json_array_foreach(results, k, result) {
			take_result(r, json_member(test, "name"), result);
		}
	}
}

int dcgm_parse(const char *text, size_t len, struct dcgm_report *r,
	       struct err *e)
{
	static const char *const names[] = { "DCGM Diagnostic",
					     "DCGM GPU Diagnostic", NULL };
	const char *begin = memchr(text, '{', len);
	const json_t *diag = NULL, *category, *categories;
	json_t *json;
	const char *error;
	size_t i;
	int rc = 0;

	r->n = r->n_tests = 0;
	if (!begin) {
		return err_set(e, 0, "dcgmi printed no JSON");
	}
	json = json_parse(begin, len - (size_t)(begin - text), e);
	if (!json) {
		return -1;
	}
	for (i = 0; names[i] && !diag; i++) {
		diag = json_object_get(json, names[i]);
	}
	error = json_member(diag, "runtime_error");
	categories = json_object_get(diag, "test_categories");
	json_array_foreach(categories, i, category) {
		take_tests(r, json_object_get(category, "tests"));
	}
	take_tests(r, json_object_get(diag, "tests"));
	if (r->n_tests == 0) {
		rc = err_set(e, 0, "dcgmi did no test%s%.200s",
			     error[0] ? ": " : "", error);
	}
	json_decref(json);
	return rc;
}
