/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/gpu_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "probes/host/facts.h"
#include "probes/host/gpu_holders.h"
#include "probes/host/gpu_links.h"

/*
 * Counters that stand still while a GPU works in order.  The corrected ECC
 * errors are none of them: memory is made with them in mind.
 */
static const char *const counters[] = {
	"xids", "ecc_uncorrected", "rows_remapped", "thermal_throttle", NULL
};

static bool is_counter(const char *fact)
{
	const char *const *c = counters;

	while (*c != NULL && strcmp(*c, fact) != 0) {
		c++;
	}
	return *c != NULL;
}

/* The fact of @facts that has the scope and name of @like, or NULL. */
static const json_t *find_fact(const json_t *facts, const json_t *like)
{
	size_t i;
	json_t *f;

	json_array_foreach((json_t *)(uintptr_t)facts, i, f) {
		if (strcmp(json_member(f, "scope"),
			   json_member(like, "scope")) == 0 &&
		    strcmp(json_member(f, "fact"),
			   json_member(like, "fact")) == 0) {
			return f;
		}
	}
	return NULL;
}

static bool count_of(const json_t *fact, int64_t *count)
{
	return units_parse_int(json_member(fact, "value"), 0, INT64_MAX, count,
			       NULL) == 0;
}

/* @fact, one of what @after is about, has grown, by the word of @source. */
static void add_growth(const json_t *after, const char *fact,
		       const char *source, int64_t growth, json_t *out)
{
	char name[64];

	if (growth > 0) {
		snprintf(name, sizeof(name), "%.40s_growth", fact);
		facts_addf(out, json_member(after, "scope"), name,
			   json_member(after, "unit"), source, "%" PRId64,
			   growth);
	}
}

static void add_counter(const json_t *before, const json_t *after, json_t *out)
{
	int64_t then, now;

	if (count_of(after, &now) && count_of(before, &then)) {
		add_growth(after, json_member(after, "fact"),
			   json_member(after, "source"), now - then, out);
	}
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
	add_growth(fact, "nvlinks_lost", str_text(&source), n, out);
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

	if (gpu_links_parse(json_member(before, "value"), &then) < 0 ||
	    gpu_links_parse(json_member(after, "value"), &now) < 0) {
		return;
	}
	add_lost(&then, &now, after, out);
	for (int c = 0; c < GPU_LINK_COUNTS; c++) {
		add_growth(after, gpu_link_facts[c],
			   json_member(after, "source"),
			   (int64_t)link_growth(&then, &now, c), out);
	}
}

/* ---- who uses it --------------------------------------------------------- */

static bool says_who(const json_t *fact)
{
	return strcmp(json_member(fact, "fact"), GPU_BUSY) == 0 ||
	       strcmp(json_member(fact, "fact"), GPU_IN_USE) == 0;
}

/* Who uses a GPU by now that nobody used @before.  Of one that is not seen here
 * nobody knows that it is not ours, nor of another agent's worker. */
static void add_joined(const json_t *before, const json_t *after, json_t *out)
{
	size_t i;
	json_t *f;

	json_array_foreach((json_t *)(uintptr_t)before, i, f) {
		if (says_who(f) && strcmp(json_member(f, "scope"),
					  json_member(after, "scope")) == 0) {
			return;
		}
	}
	if (strstr(json_member(after, "value"), GPU_UNSEEN) == NULL &&
	    strstr(json_member(after, "value"), "(gpucheck,") == NULL) {
		facts_add(out, json_member(after, "scope"), GPU_JOINED,
			  json_member(after, "value"), "",
			  json_member(after, "source"));
	}
}

void gpu_growth_facts(const json_t *before, const json_t *after, json_t *out)
{
	size_t i;
	json_t *f;

	json_array_foreach((json_t *)(uintptr_t)after, i, f) {
		const char *fact = json_member(f, "fact");

		if (is_counter(fact)) {
			add_counter(find_fact(before, f), f, out);
		} else if (strcmp(fact, GPU_LINKS_FACT) == 0) {
			add_links(find_fact(before, f), f, out);
		} else if (says_who(f)) {
			add_joined(before, f, out);
		}
	}
}
