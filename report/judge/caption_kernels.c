/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/caption.h"

#include <string.h>

#define ON_HOST "on the host: "	/* and why: the fact "data_check" */
#define WHY_MAX 80

/** GPUs whose fact @name begins with @value; @first: one of them. */
static size_t count_facts(const struct run *run, const char *name,
			  const char *value, const struct fact_row **first)
{
	size_t n = 0;

	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, name) == 0 && str_starts(f->value, value) &&
		    n++ == 0) {
			*first = f;
		}
	}
	return n;
}

bool caption_kernels(const struct run *run, char *buf, size_t size)
{
	const struct fact_row *first = NULL, *unused;
	size_t host = count_facts(run, "data_check", ON_HOST, &first);
	size_t blind = count_facts(run, "kernel_check", "no", &unused);
	size_t n = host > blind ? host : blind;
	const json_t *check = json_object_get(
		json_object_get(run->json, "options"), "check");

	if (n == 0) {
		return false;
	}
	snprintf(buf, size, "%zu GPU%s cannot run kernels", n, n == 1 ? "" : "s");
	if (first) {
		size_t len = strlen(buf);

		snprintf(buf + len, size - len, " (%.*s): data was %s", WHY_MAX,
			 first->value + strlen(ON_HOST),
			 json_is_false(check) ? "not checked" :
						"checked on the host");
	}
	if (blind > 0) {
		size_t len = strlen(buf);

		snprintf(buf + len, size - len, "%s kernels that wait for each "
			 "other and latency were not tested",
			 first ? ";" : ":");
	}
	return true;
}
