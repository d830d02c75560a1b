/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/rails.h"

#include <string.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/plan/layout.h"

/* Are ports of @to, names apart by blanks, on other rails than port @from? */
static bool crosses(const struct rail_nic *nics, int n, const char *from,
		    const char *to)
{
	for (int a = 0; a < n; a++) {
		for (int b = 0; str_names_meet(nics[a].name, from) && b < n;
		     b++) {
			if (nics[a].rail != nics[b].rail &&
			    nics[a].group == nics[b].group &&
			    str_names_meet(nics[b].name, to)) {
				return true;
			}
		}
	}
	return false;
}

void rails_hear(struct rails_said *s, const json_t *facts,
		const struct rail_nic *nics, int n)
{
	bool leads = false, leads_not = false;
	const json_t *f;
	size_t i;

	json_array_foreach(facts, i, f) {
		const char *fact = json_member(f, "fact");
		bool not = strcmp(fact, "no_route_to") == 0;

		if ((not || strcmp(fact, "route_to") == 0) &&
		    crosses(nics, n, json_member(f, "scope"),
			    json_member(f, "value"))) {
			*(not ? &leads_not : &leads) = true;
		}
	}
	s->joined += leads;
	s->apart += leads_not && !leads;
}
