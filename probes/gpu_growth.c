/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/gpu_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"
#include "probes/facts.h"

/*
 * Counters that stand still while a GPU works in order.  The corrected ECC
 * errors are none of them: memory is made with them in mind.
 */
static const char *const counters[] = {
	"xids",		    "ecc_uncorrected",	 "rows_remapped",
	"nvlink_replays",   "nvlink_recoveries", "nvlink_crc_errors",
	"thermal_throttle", NULL
};

static const char *text_of(const json_t *fact, const char *key)
{
	const char *text = json_string_value(json_object_get(fact, key));

	return text != NULL ? text : "";
}

static bool is_counter(const char *fact)
{
	for (size_t i = 0; counters[i] != NULL; i++) {
		if (strcmp(counters[i], fact) == 0) {
			return true;
		}
	}
	return false;
}

/* The fact of @facts that has the scope and name of @like, or NULL. */
static const json_t *find_fact(const json_t *facts, const json_t *like)
{
	size_t i;
	json_t *f;

	json_array_foreach((json_t *)(uintptr_t)facts, i, f) {
		if (strcmp(text_of(f, "scope"), text_of(like, "scope")) == 0 &&
		    strcmp(text_of(f, "fact"), text_of(like, "fact")) == 0) {
			return f;
		}
	}
	return NULL;
}

static bool count_of(const json_t *fact, int64_t *count)
{
	return fact != NULL && units_parse_int(text_of(fact, "value"), 0,
					       INT64_MAX, count, NULL) == 0;
}

void gpu_growth_facts(const json_t *before, const json_t *after, json_t *out)
{
	int64_t then, now;
	size_t i;
	json_t *f;

	json_array_foreach((json_t *)(uintptr_t)after, i, f) {
		char name[64];

		if (!is_counter(text_of(f, "fact")) || !count_of(f, &now) ||
		    !count_of(find_fact(before, f), &then) || now <= then) {
			continue;
		}
		snprintf(name, sizeof(name), "%.40s_growth",
			 text_of(f, "fact"));
		facts_addf(out, text_of(f, "scope"), name, text_of(f, "unit"),
			   text_of(f, "source"), "%" PRId64, now - then);
	}
}
