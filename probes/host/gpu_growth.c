/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/host/facts.h"
#include "probes/host/gpu_links.h"

/*
 * Counters that stand still while a GPU works in order.  The corrected ECC
 * errors are none of them: memory is made with them in mind.
 */
static const char *const counters[] = {
	"xids", "ecc_uncorrected", "rows_remapped", "thermal_throttle", NULL
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

static void add_counter(const json_t *before, const json_t *after, json_t *out)
{
	int64_t then, now;
	char name[64];

	if (!count_of(after, &now) || !count_of(before, &then) || now <= then) {
		return;
	}
	snprintf(name, sizeof(name), "%.40s_growth", text_of(after, "fact"));
	facts_addf(out, text_of(after, "scope"), name, text_of(after, "unit"),
		   text_of(after, "source"), "%" PRId64, now - then);
}

/* ---- NVLinks ------------------------------------------------------------ */

/* Links of @then that are not up @now, and their numbers: "nvml: link 3, 7". */
static void add_lost(const struct gpu_links *then, const struct gpu_links *now,
		     const json_t *fact, json_t *out)
{
	uint32_t lost = then->up & ~now->up;
	struct str source = STR_INIT;
	int n = 0;

	for (int k = 0; k < NVML_LINKS_MAX; k++) {
		if ((lost >> k & 1) != 0) {
			str_addf(&source, "%s%d", n++ ? ", " : "nvml: link ",
				 k);
		}
	}
	if (n > 0) {
		facts_addf(out, text_of(fact, "scope"), "nvlinks_lost_growth",
			   "", str_text(&source), "%d", n);
	}
	str_release(&source);
}

/* Of the links that are up at both looks: one that comes up has a history. */
static uint64_t link_growth(const struct gpu_links *then,
			    const struct gpu_links *now, int c)
{
	uint64_t sum = 0;

	for (int k = 0; k < NVML_LINKS_MAX; k++) {
		uint64_t a = then->counts[k][c], b = now->counts[k][c];

		if ((then->up & now->up) >> k & 1 && a != GPU_LINK_UNKNOWN &&
		    b != GPU_LINK_UNKNOWN && b > a) {
			sum += b - a;
		}
	}
	return sum;
}

static void add_links(const json_t *before, const json_t *after, json_t *out)
{
	struct gpu_links then, now;

	if (before == NULL ||
	    gpu_links_parse(text_of(before, "value"), &then) < 0 ||
	    gpu_links_parse(text_of(after, "value"), &now) < 0) {
		return;
	}
	add_lost(&then, &now, after, out);
	for (int c = 0; c < GPU_LINK_COUNTS; c++) {
		uint64_t growth = link_growth(&then, &now, c);
		char name[64];

		if (growth > 0) {
			snprintf(name, sizeof(name), "%s_growth",
				 gpu_link_facts[c]);
			facts_addf(out, text_of(after, "scope"), name, "",
				   text_of(after, "source"), "%" PRIu64,
				   growth);
		}
	}
}

void gpu_growth_facts(const json_t *before, const json_t *after, json_t *out)
{
	size_t i;
	json_t *f;

	json_array_foreach((json_t *)(uintptr_t)after, i, f) {
		if (is_counter(text_of(f, "fact"))) {
			add_counter(find_fact(before, f), f, out);
		} else if (strcmp(text_of(f, "fact"), GPU_LINKS_FACT) == 0) {
			add_links(find_fact(before, f), f, out);
		}
	}
}
