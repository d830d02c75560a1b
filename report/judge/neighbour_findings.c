/* SPDX-License-Identifier: BSD-3-Clause */
/* Ping: nodes whose kernel keeps fewer neighbours than they were to ask. */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/record_ping.h"

static const char *short_of(const struct run *run, size_t i)
{
	const struct fact_row *f = &run->facts[i];

	return strcmp(f->scope, "ping") == 0 &&
			       strcmp(f->fact, PING_FACT_NEIGHBOURS) == 0 ?
		       f->value : NULL;
}

void neighbour_findings(const struct run *run, struct verdict *v)
{
	struct part p = part_of_kind(PART_CONFIG);
	struct finding *f = NULL;
	unsigned long long planned = 0, limit = 0;
	struct str names = STR_INIT;
	int named = 0;

	for (size_t i = 0; run->mesh && i < run->n_facts; i++) {
		const char *value = short_of(run, i);
		int node = value ? run_find_node(run, run->facts[i].node, -1) :
				   -1;
		char *rest;

		if (node < 0) {
			continue;
		}
		if (!f) {
			f = finding_add(v, &p, PING_NEIGH_SHORT);
			planned = strtoull(value, &rest, 10);
			limit = strtoull(rest, NULL, 10);
		}
		finding_add_member(f, node);
		finding_list_name(&names, &named, run->nodes[node].name);
	}
	if (f) {
		finding_say(f, "%llu neighbours are more than the %llu that "
			    "the kernel of %s keeps (gc_thresh3): tests may "
			    "fail for want of room", planned, limit,
			    str_text(&names));
	}
	str_release(&names);
}
