/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/port.h"

#include <inttypes.h>
#include <math.h>

#include "probes/host/facts.h"

#define SOURCE "/sys/class/infiniband"

static void add_text(json_t *facts, const struct port *p, const char *fact,
		     const char *value)
{
	if (value[0] != '\0') {
		facts_add(facts, p->name, fact, value, "", SOURCE);
	}
}

static void add_real(json_t *facts, const struct port *p, const char *fact,
		     double value, const char *unit)
{
	if (isfinite(value)) {
		facts_addf(facts, p->name, fact, unit, SOURCE, "%.6g", value);
	}
}

/* Below @least it is not known. */
static void add_count(json_t *facts, const struct port *p, const char *fact,
		      int count, int least, const char *unit)
{
	add_real(facts, p, fact, count < least ? NAN : count, unit);
}

void port_facts(const struct port *p, json_t *facts)
{
	add_text(facts, p, "port_state", p->state);
	add_text(facts, p, "port_phys_state", p->phys_state);
	add_text(facts, p, "link_layer", p->link_layer);
	add_real(facts, p, "rate", p->rate_Gb_s, "Gb/s");
	add_text(facts, p, "width", p->width);
	add_text(facts, p, "firmware", p->firmware);
	add_text(facts, p, "board", p->board);
	add_text(facts, p, "netdev", p->netdev);
	add_text(facts, p, "gids", p->gids);
	add_text(facts, p, "gid_kinds", p->gid_kinds);
	add_text(facts, p, "subnet", p->subnet);
	add_text(facts, p, "port_guid", p->guid);
	add_real(facts, p, "pcie_speed", p->link.speed_GT_s, "GT/s");
	add_real(facts, p, "pcie_speed_max", p->most.speed_GT_s, "GT/s");
	add_count(facts, p, "pcie_width", p->link.width, 1, "lanes");
	add_count(facts, p, "pcie_width_max", p->most.width, 1, "lanes");
	add_count(facts, p, "numa_node", p->numa, 0, "");
	if (p->software) {
		add_text(facts, p, "software", "no PCI device: the HCA is "
					       "emulated by a driver, its rate "
					       "is not a limit");
	}
	add_real(facts, p, "line_rate", port_line_GB_s(p), "GB/s");
	for (size_t i = 0; port_counter_defs[i].name != NULL; i++) {
		if (p->has_counter[i]) {
			facts_addf(facts, p->name, port_counter_defs[i].name,
				   "", SOURCE, "%" PRIu64, p->counters[i]);
		}
	}
}

void port_growth_facts(const struct port *before, const struct port *after,
		       json_t *facts)
{
	for (size_t i = 0; port_counter_defs[i].name != NULL; i++) {
		char fact[64];

		/* one that was reset in between tells nothing */
		if (!before->has_counter[i] || !after->has_counter[i] ||
		    after->counters[i] <= before->counters[i]) {
			continue;
		}
		snprintf(fact, sizeof(fact), "%s_growth",
			 port_counter_defs[i].name);
		facts_addf(facts, after->name, fact, "", SOURCE, "%" PRIu64,
			   after->counters[i] - before->counters[i]);
	}
	if (before->moved_B >= 0 && after->moved_B >= before->moved_B) {
		facts_addf(facts, after->name, "data_moved", "B", SOURCE,
			   "%" PRId64, after->moved_B - before->moved_B);
	}
	add_text(facts, after, "port_state_after", after->state);
	add_text(facts, after, "port_phys_state_after", after->phys_state);
}
