/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/own_link.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"

/** A link that failed before, and did no harm, has not failed now; to look for
 *  every beat of thousands would be too much. */
#define COUNT_NS NS_PER_S

static struct own_port *find_port(struct own_port **ports,
				  const struct interface *at)
{
	struct own_port *p = *ports;

	while (p && strcmp(p->at.name, at->name) != 0) {
		p = p->next;
	}
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (p) {
			*p = (struct own_port){ .next = *ports, .at = *at };
			*ports = p;
		}
	}
	return p;
}

void own_link_begin(struct own_link *l, struct own_port **ports,
		    const struct sockaddr *sa)
{
	struct interface at;

	if (interface_of(sa, &at)) {
		l->port = find_port(ports, &at);
		own_link_note(l, "", clock_now_ns());
	}
}

void own_ports_free(struct own_port *ports)
{
	for (struct own_port *next; ports; ports = next) {
		next = ports->next;
		free(ports);
	}
}

void own_link_note(struct own_link *l, const char *root, int64_t now_ns)
{
	struct own_port *p = l->port;

	if (!p) {
		return;
	}
	if (p->counted_ns == 0 || now_ns - p->counted_ns >= COUNT_NS) {
		link_counts_read(root, &p->at, &p->counts);
		p->counted_ns = now_ns;
	}
	l->counts = p->counts;
}

void own_link_tell(const struct own_link *l, const struct sockaddr *sa,
		   struct run_log *log)
{
	char link[80], grown[200];
	enum interface_way way = interface_says(sa, link, sizeof(link));
	struct link_counts now;
	bool flapped;

	if (way == INTERFACE_UNKNOWN || !l->port) {
		return;
	}
	link_counts_read("", &l->port->at, &now);
	flapped = link_counts_grown(&l->counts, &now, grown, sizeof(grown));
	if (flapped && way == INTERFACE_UP) {
		run_log_event(log, NULL, -1, "own_link", "%s flapped",
			      l->port->at.name);
	} else {
		run_log_event(log, NULL, -1, "own_link", "%s", link);
	}
	if (grown[0]) {
		run_log_event(log, NULL, -1, "own_counters", "%s: %s",
			      l->port->at.name, grown);
	}
}
