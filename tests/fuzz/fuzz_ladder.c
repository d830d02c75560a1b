/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any JSON as the verdicts of the rungs of a ladder, an array in "rungs": they
 * are one verdict with a status, and can be said.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "report/model/ladder_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {
	"memlock", "ping", "ib", "p2p", "allreduce"
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ladder_run run = {
		.json = json_parse((const char *)data, size, NULL),
	};
	struct ladder_facts facts = {
		.netdevs = json_object_get(run.json, "netdevs"), .n_nodes = 2
	};
	struct str text = STR_INIT;
	json_t *verdict;
	size_t i;

	json_array_foreach(json_object_get(run.json, "rungs"), i, verdict) {
		if (i < sizeof(names) / sizeof(*names)) {
			struct ladder_rung *r = &run.rungs[run.n++];

			record_init(&schema_rung, &r->row);
			STR_COPY(r->row.rung, names[i]);
			r->row.outcome = OUTCOME_OK;
			r->verdict = json_incref(verdict);
		}
	}
	run.verdict = ladder_verdict(run.rungs, run.n, &facts);
	if (!run.verdict || !json_member(run.verdict, "status")[0]) {
		abort();
	}
	ladder_words(&run, 80, false, &text);
	str_release(&text);
	ladder_run_release(&run);
	return 0;
}
