/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any JSON as the verdicts of the steps of a run of several probes, an array in
 * "rungs": they are read, are one verdict with a status, and can be said.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "report/judge/pairs.h"
#include "report/judge/tell.h"
#include "report/show/judged.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {
	"memlock", "ping", "ib", "p2p", "allreduce"
};
#define N_STEPS (sizeof(names) / sizeof(*names))

static void show(const struct run *run, const struct verdict *v)
{
	static const struct judged_kind kind = { .probe = "all" };
	const struct judged j = { .kind = &kind, .run = *run, .verdict = *v };
	json_t *json = verdict_json(run, v);
	struct str text = STR_INIT;

	if (!json_member(json, "status")[0]) {
		abort();
	}
	judged_details(&j, 80, &text);
	next_words(run, v, &text);
	str_release(&text);
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run run = {
		.json = json_parse((const char *)data, size, NULL),
		.probe = "all",
	};
	struct all_step steps[N_STEPS] = { 0 };
	struct verdict v;
	json_t *verdict;
	size_t n = 0, i;

	json_array_foreach(json_object_get(run.json, "rungs"), i, verdict) {
		struct all_step *s = &steps[n];

		if (n < N_STEPS) {
			record_init(&schema_step, &s->row);
			STR_COPY(s->row.rung, names[n++]);
			s->row.outcome = json_is_object(verdict) ?
						 OUTCOME_OK : OUTCOME_ERROR;
			if (verdict_read(verdict, &run, &s->verdict) < 0) {
				abort();
			}
		}
	}
	if (all_judge(&run, steps, n, json_object_get(run.json, "netdevs"),
		      &v) < 0) {
		abort();
	}
	show(&run, &v);
	verdict_release(&v);
	for (i = 0; i < n; i++) {
		verdict_release(&steps[i].verdict);
	}
	run_release(&run);
	return 0;
}
