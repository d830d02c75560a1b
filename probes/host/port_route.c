/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/port.h"

#include <net/if.h>
#include <string.h>

#include "lib/base/str.h"
#include "probes/host/facts.h"
#include "probes/host/interface.h"
#include "probes/host/route.h"
#include "probes/host/sysfile.h"

#define NETDEVS "/sys/class/infiniband/%s/ports/%d/gid_attrs/ndevs"
#define GIDS_MAX 32	/* looked at, as in port.c */

/* The port that each address is of, by the ports' tables of them: a VLAN is no
 * interface of the HCA itself; -1: of none. */
static void find_owners(const struct port *ports, size_t n,
			const struct interface *list, size_t n_list,
			int owner[INTERFACE_MAX])
{
	char text[64];

	for (size_t k = 0; k < n_list; k++) {
		owner[k] = -1;
	}
	for (size_t i = 0; i < n * GIDS_MAX; i++) {
		const struct port *p = &ports[i / GIDS_MAX];

		if (strcmp(p->link_layer, "Ethernet") != 0) {
			continue;
		}
		sysfile_read(text, sizeof(text), NETDEVS "/%zu", p->hca,
			     p->number, i % GIDS_MAX);
		for (size_t k = 0; k < n_list; k++) {
			if (strcmp(text, list[k].name) == 0) {
				owner[k] = (int)(i / GIDS_MAX);
			}
		}
	}
}

/* An address of the network of @net that is not its own, which would be at
 * home: false where it has no other. */
static bool neighbour(const struct ip_net *net, struct ip_addr *ip)
{
	size_t bytes = net->ip.family == AF_INET6 ? 16 : 4;

	*ip = net->ip;
	ip->bytes[bytes - 1] ^= 1;
	return net->prefix < (int)(8 * bytes);
}

/* To which ports routes from port @from lead, and to which not. */
static void ask(struct routes *r, int from, size_t n, const int *owner,
		const struct interface *list, size_t n_list,
		bool leads[PORT_MAX], bool asked[PORT_MAX])
{
	struct ip_addr to;

	memset(leads, 0, n * sizeof(*leads));
	memset(asked, 0, n * sizeof(*asked));
	for (size_t a = 0; a < n_list; a++) {
		for (size_t b = 0; owner[a] == from && b < n_list; b++) {
			const struct ip_net *net = &list[b].net;

			if (owner[b] < 0 || owner[b] == from ||
			    leads[owner[b]] ||
			    net->ip.family != list[a].net.ip.family ||
			    !neighbour(net, &to)) {
				continue;
			}
			asked[owner[b]] = true;
			leads[owner[b]] =
				routes_lead(r, &list[a].net.ip,
					    if_nametoindex(list[a].name), &to);
		}
	}
}

static void tell(const struct port *ports, size_t n, size_t from, bool route,
		 const bool *leads, const bool *asked, json_t *facts)
{
	struct str names = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		if (asked[i] && leads[i] == route) {
			str_addf(&names, "%s%s", names.len > 0 ? " " : "",
				 ports[i].name);
		}
	}
	if (names.len > 0) {
		facts_add(facts, ports[from].name,
			  route ? "route_to" : "no_route_to", str_text(&names),
			  "", "rtnetlink");
	}
	str_release(&names);
}

void port_route_facts(const struct port *ports, size_t n,
		      const struct interface *list, size_t n_list,
		      json_t *facts)
{
	bool leads[PORT_MAX], asked[PORT_MAX];
	int owner[INTERFACE_MAX];
	struct routes r;

	find_owners(ports, n, list, n_list, owner);
	routes_open(&r);
	for (size_t i = 0; i < n; i++) {
		ask(&r, (int)i, n, owner, list, n_list, leads, asked);
		tell(ports, n, i, true, leads, asked, facts);
		tell(ports, n, i, false, leads, asked, facts);
	}
	routes_close(&r);
}
