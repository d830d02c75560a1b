/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node tells: facts, and of each path that is decided its row, with what
 * the neighbour table says of it. */
#include "probes/ping/private.h"

#include <stdarg.h>
#include <string.h>

#include "lib/base/str.h"

/* The table is read again when it is older, for one path or for many. */
#define NEIGHS_OLD_NS (100 * NS_PER_MS)

void ping_say(const char *fact, const char *source, const char *fmt, ...)
{
	struct fact_row row;
	va_list ap;

	record_init(&schema_facts, &row);
	STR_COPY(row.scope, "ping");
	STR_COPY(row.fact, fact);
	va_start(ap, fmt);
	vsnprintf(row.value, sizeof(row.value), fmt, ap);
	va_end(ap);
	STR_COPY(row.source, source);
	node_task_fact(&row);
}

static const struct ping_neigh *find_neigh(struct ping_child *c,
					   const struct ping_path *p,
					   int64_t now_ns)
{
	unsigned ifindex = c->own[p->own].ifindex;
	const struct ip_addr *ip = &c->mesh.ends[p->dst].at.net.ip;
	const struct ping_neigh *n = ping_neigh_find(&c->neighs, ifindex, ip);

	if ((n == NULL || n->failed || p->sought) &&
	    (c->neighs_ns == 0 || now_ns > c->neighs_ns + NEIGHS_OLD_NS)) {
		ping_neigh_release(&c->neighs);
		ping_neigh_read(&c->neighs, NULL);	/* or none are known */
		c->neighs_ns = now_ns;
		n = ping_neigh_find(&c->neighs, ifindex, ip);
	}
	return n;
}

static bool same_mac(const struct interface *i, const struct ping_neigh *n)
{
	return i->mac_len == n->mac_len &&
	       memcmp(i->mac, n->mac, n->mac_len) == 0;
}

/* The own interface on whose wire the one that was asked has answered. */
static void find_elsewhere(struct ping_child *c, struct ping_path *p)
{
	const struct interface *at = &c->mesh.ends[p->dst].at;
	const struct ping_own *own = &c->own[p->own];
	char ip[IP_TEXT];

	for (int i = 0; i < c->n_own; i++) {
		const struct ping_neigh *n = ping_neigh_find(
			&c->neighs, c->own[i].ifindex, &at->net.ip);

		if (c->own[i].ifindex != own->ifindex && n != NULL &&
		    !n->failed && n->mac_len > 0 && same_mac(at, n)) {
			p->sights.found_on = c->own[i].end + 1;
			ping_say(PING_FACT_FOUND, "neighbours", "%s %s %s",
				 c->mesh.ends[own->end].at.name,
				 c->mesh.ends[c->own[i].end].at.name,
				 ip_text(&at->net.ip, ip, sizeof(ip)));
			return;
		}
	}
}

/* Does what answers for @p answer for an address of a third node too?  So do
 * the switches of a cloud, a proxy, a port that keeps hosts apart. */
static bool is_proxy(const struct ping_child *c, const struct ping_path *p,
		     const struct ping_neigh *n)
{
	const struct ping_mesh *m = &c->mesh;
	int node = m->ends[p->dst].node;
	const struct ping_neigh *other;

	for (int i = 0; i < m->n_ends; i++) {
		if (m->ends[i].node == node || m->ends[i].node == c->me) {
			continue;
		}
		other = ping_neigh_find(&c->neighs, n->ifindex,
					&m->ends[i].at.net.ip);
		if (other != NULL && !other->failed &&
		    other->mac_len == n->mac_len &&
		    memcmp(other->mac, n->mac, n->mac_len) == 0) {
			return true;
		}
	}
	return false;
}

/* Whose hardware address is it? */
static void find_owner(const struct ping_child *c, struct ping_path *p,
		       const struct ping_neigh *n)
{
	const struct ping_end *dst = &c->mesh.ends[p->dst], *end = c->mesh.ends;
	struct ping_sights *s = &p->sights;

	s->owner = OWNER_OTHER;
	s->owner_node = -1;
	if (n->mac_len == 0 || n->mac_len != dst->at.mac_len) {
		s->owner = OWNER_UNKNOWN;
	} else if (same_mac(&dst->at, n)) {
		s->owner = OWNER_RIGHT;
	}
	for (; s->owner == OWNER_OTHER && end < c->mesh.ends + c->mesh.n_ends;
	     end++) {
		if (same_mac(&end->at, n) && end->node == dst->node) {
			s->owner = OWNER_FLUX;
		} else if (same_mac(&end->at, n) && s->owner_node < 0) {
			s->owner_node = end->node;
		}
	}
	if (s->owner == OWNER_OTHER && s->owner_node < 0 && is_proxy(c, p, n)) {
		s->owner = OWNER_UNKNOWN;
	}
}

static void look_at_neighbour(struct ping_child *c, struct ping_path *p,
			      bool answered, int64_t now_ns)
{
	bool near = c->mesh.ends[c->own[p->own].end].segment ==
		    c->mesh.ends[p->dst].segment;
	const struct ping_neigh *n = find_neigh(c, p, now_ns);

	if (n != NULL && n->failed) {
		p->sights.owner = OWNER_NOBODY;
	} else if (n != NULL && near) {
		find_owner(c, p, n);
	}
	if (p->sought && p->sights.owner != OWNER_RIGHT && !answered) {
		find_elsewhere(c, p);
	}
}

static void name_ends(const struct ping_child *c, const struct ping_path *p,
		      struct ping_row *row)
{
	const struct ping_mesh *m = &c->mesh;
	const struct ping_end *src = &m->ends[c->own[p->own].end];
	const struct ping_end *dst = &m->ends[p->dst];

	STR_COPY(row->src_node, m->nodes[src->node].name);
	STR_COPY(row->src_if, src->at.name);
	ip_text(&src->at.net.ip, row->src_ip, sizeof(row->src_ip));
	STR_COPY(row->dst_node, m->nodes[dst->node].name);
	STR_COPY(row->dst_if, dst->at.name);
	ip_text(&dst->at.net.ip, row->dst_ip, sizeof(row->dst_ip));
	if (src->segment == dst->segment) {
		STR_COPY(row->segment, m->segments[src->segment]);
	} else {
		snprintf(row->segment, sizeof(row->segment), "%s->%s",
			 m->segments[src->segment],
			 m->segments[dst->segment]);
	}
	STR_COPY(row->start_utc, c->start_utc);
}

static void say_row(struct ping_child *c, struct ping_path *p,
		    const struct ping_flow *flow, int64_t now_ns)
{
	const struct ping_case judged = {
		.mesh = &c->mesh,
		.src = c->own[p->own].end,
		.dst = p->dst,
		.method = ping_method_of(c, p),
		.own_port = c->tcp_port == 0,
		.flow = flow,
		.sights = &p->sights,
	};
	struct ping_row row;

	look_at_neighbour(c, p, flow->received > 0, now_ns);
	record_init(&schema_ping, &row);
	name_ends(c, p, &row);
	STR_COPY(row.method, ping_method_name(judged.method));
	ping_judge(&judged, &row);
	node_task_row(&schema_ping, &row);
}

void ping_decided(struct ping_child *c, uint32_t path, int64_t now_ns)
{
	struct ping_path *p = &c->paths[path];

	say_row(c, p, p->sizing ? &p->counted : &c->engine.flows[path],
		now_ns);
}

void ping_cut_short(struct ping_child *c, uint32_t path, int64_t now_ns)
{
	struct ping_path *p = &c->paths[path];
	struct ping_flow flow = p->sizing ? p->counted :
					    c->engine.flows[path];
	bool undecided = !c->engine.flows[path].settled || p->mtu.size > 0;

	/* silence so far says nothing */
	if (undecided && flow.received > 0) {
		/* what flies has perhaps not been sent */
		flow.sent = flow.sent > flow.flying + flow.received ?
				    (uint16_t)(flow.sent - flow.flying) :
				    flow.received;
		say_row(c, p, &flow, now_ns);
	}
}
