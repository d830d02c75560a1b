/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/self/self.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "lib/base/net.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/port_filter.h"
#include "lib/data/record.h"
#include "lib/spec/spec.h"
#include "probes/host/facts.h"
#include "probes/host/interface.h"
#include "probes/host/node_facts.h"
#include "probes/host/port.h"
#include "probes/host/sysfile.h"
#include "probes/node/child.h"

void self_say(json_t *facts)
{
	struct fact_row row;
	json_t *f;
	size_t i;

	json_array_foreach(facts, i, f) {
		record_init(&schema_facts, &row);
		STR_COPY(row.scope, json_member(f, "scope"));
		STR_COPY(row.fact, json_member(f, "fact"));
		STR_COPY(row.value, json_member(f, "value"));
		STR_COPY(row.unit, json_member(f, "unit"));
		STR_COPY(row.source, json_member(f, "source"));
		node_task_fact(&row);
	}
	json_array_clear(facts);
}

static void add_ports(const struct spec *s, json_t *facts)
{
	struct port *ports = calloc(PORT_MAX, sizeof(*ports));
	size_t n = ports ? port_list(s->sysroot, ports, PORT_MAX) : 0;

	for (size_t i = 0; i < n; i++) {
		if (port_matches(s->hca, ports[i].name)) {
			port_facts(&ports[i], facts);
		}
	}
	free(ports);
}

/** Those of containers and virtual machines have no cable. */
static bool is_meant(const struct spec *s, const char *name)
{
	return s->ifname[0] ? port_matches(s->ifname, name) :
			      !net_is_inner(name) &&
			      !sysfile_there("/sys/class/net/%s/bridge", name);
}

/** Of the machine that runs; a recorded one has none. */
static void add_interfaces(const struct spec *s, json_t *facts)
{
	struct interface *list = calloc(INTERFACE_MAX, sizeof(*list));
	size_t n = list && !s->sysroot[0] ?
			   interface_list(list, INTERFACE_MAX) : 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		/* it has an entry for each of its addresses */
		while (strcmp(list[k].name, list[i].name) != 0) {
			k++;
		}
		if (k == i && is_meant(s, list[i].name)) {
			facts_add(facts, list[i].name, SELF_LINK,
				  list[i].state, "", "getifaddrs");
		}
	}
	free(list);
}

int self_host_child(const json_t *args, struct err *e)
{
	json_t *facts = json_array();
	struct utsname u;
	struct spec spec;

	if (spec_from_json(&spec, json_object_get(args, "options"), e) < 0) {
		json_decref(facts);
		return -1;
	}
	if (uname(&u) == 0) {
		facts_add(facts, "node", "kernel", u.release, "", "uname");
	}
	add_interfaces(&spec, facts);
	self_say(facts);
	add_ports(&spec, facts);
	self_say(facts);
	node_facts(spec.sysroot, facts);
	self_say(facts);
	json_decref(facts);
	return 0;
}
