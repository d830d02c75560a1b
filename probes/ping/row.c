/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node tells: facts, and of each path that is decided its row, with what
 * the neighbour table says of it. */
#include <errno.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"
#include "probes/ping/private.h"

/* ---- judge --------------------------------------------------------------- */

/* What one rule comes to. */
struct finding {
	const struct ping_case *c;
	struct ping_row *row;
	char dst[IP_TEXT];	/* for sentences */
};

__attribute__((format(printf, 4, 5))) static bool
says(struct finding *f, enum outcome outcome, const char *code,
     const char *fmt, ...)
{
	char text[sizeof(f->row->detail)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	f->row->outcome = outcome;
	STR_COPY(f->row->code, code);
	STR_COPY(f->row->detail, text);
	return true;
}

static const struct ping_end *src_of(const struct finding *f)
{
	return &f->c->mesh->ends[f->c->src];
}

static const struct ping_end *dst_of(const struct finding *f)
{
	return &f->c->mesh->ends[f->c->dst];
}

static const char *node_of(const struct finding *f, const struct ping_end *e)
{
	return f->c->mesh->nodes[e->node].name;
}

static bool answered(const struct finding *f)
{
	return f->c->flow->received > 0;
}

/* ---- rules, the most telling first ------------------------------------- */

static bool duplicate(struct finding *f)
{
	const struct ping_sights *s = f->c->sights;

	/* a hardware address of nobody we know, and yet an answer: a note */
	return s->owner == OWNER_OTHER &&
	       (s->owner_node >= 0 || !answered(f)) &&
	       says(f, OUTCOME_ERROR, PING_DUPLICATE,
		    "%s belongs to %s, but the hardware address that answers "
		    "for it on %s is %s%s", f->dst, node_of(f, dst_of(f)),
		    src_of(f)->at.name,
		    s->owner_node >= 0 ? "that of " : "of no node of this run",
		    s->owner_node >= 0 ?
			    f->c->mesh->nodes[s->owner_node].name : "");
}

static bool no_door(struct finding *f)
{
	return f->c->sights->no_door &&
	       says(f, OUTCOME_SKIPPED, "agent_missing",
		    "%s has no agent to answer", node_of(f, dst_of(f)));
}

static bool wrong_reply(struct finding *f)
{
	char by[IP_TEXT];

	return f->c->sights->wrong && !answered(f) &&
	       says(f, OUTCOME_ERROR, PING_WRONG,
		    "the request went to %s, the reply came from %s", f->dst,
		    ip_text(&f->c->sights->wrong_by, by, sizeof(by)));
}

static bool mtu_small(struct finding *f)
{
	int64_t own = src_of(f)->at.mtu_B, peer = dst_of(f)->at.mtu_B;
	int64_t both = peer > 0 && peer < own ? peer : own;

	return f->c->sights->mtu_B != 0 && f->c->sights->mtu_B < both &&
	       says(f, OUTCOME_ERROR, PING_MTU,
		    "packets of up to %d bytes pass unfragmented, but the MTU "
		    "of both ends is %lld", (int)f->c->sights->mtu_B,
		    (long long)both);
}

static bool tcp_open(struct finding *f)
{
	return f->c->method == PING_TCP && f->c->sights->connected &&
	       says(f, OUTCOME_OK, PING_TCP_OPEN, "%s", "");
}

/* Somebody is there to refuse; our own agents would not. */
static bool tcp_refused(struct finding *f)
{
	if (f->c->method != PING_TCP ||
	    f->c->sights->refused_code != ECONNREFUSED) {
		return false;
	}
	return f->c->own_port ?
		       says(f, OUTCOME_ERROR, PING_TCP_CLOSED,
			    "%s refused a connection to a port on which its "
			    "agent listens: a firewall?", f->dst) :
		       says(f, OUTCOME_OK, PING_TCP_CLOSED,
			    "%s is reachable; no process listens on the port",
			    f->dst);
}

static bool good(struct finding *f)
{
	const struct ping_flow *flow = f->c->flow;
	char name[IF_NAMESIZE] = "?";

	if (!answered(f)) {
		return false;
	}
	if (f->c->sights->stray_if) {
		if_indextoname(f->c->sights->stray_if, name);
		return says(f, OUTCOME_OK, PING_STRAY,
			    "replies of %s arrived on %s, the requests left on "
			    "%s",
			    f->dst, name, src_of(f)->at.name);
	}
	if (f->c->sights->owner == OWNER_FLUX) {
		return says(f, OUTCOME_OK, PING_FLUX,
			    "another interface of %s answers ARP for %s",
			    node_of(f, dst_of(f)), f->dst);
	}
	/* over UDP the right one has answered: nobody else has the key */
	if (f->c->sights->owner == OWNER_OTHER && f->c->method != PING_UDP) {
		return says(f, OUTCOME_OK, PING_FOREIGN,
			    "%s of %s replies, but the hardware address on %s "
			    "belongs to no node of this run: a proxy, a bond, "
			    "or another machine", f->dst, node_of(f, dst_of(f)),
			    src_of(f)->at.name);
	}
	if (flow->received < flow->sent) {
		return says(f, OUTCOME_OK, PING_LOSS,
			    "%d of %d packets had no reply%s",
			    flow->sent - flow->received, flow->sent,
			    f->c->sights->send_code == EPERM ?
				    ": a packet filter of the sender rejects "
				    "some" : "");
	}
	return says(f, OUTCOME_OK, "", "%s", "");
}

static bool down(struct finding *f)
{
	bool src = strcmp(src_of(f)->at.state, "up") != 0;
	const struct ping_end *end = src ? src_of(f) : dst_of(f);

	return strcmp(end->at.state, "up") != 0 &&
	       says(f, OUTCOME_ERROR, PING_IF_DOWN, "%s of %s is %s",
		    end->at.name, node_of(f, end),
		    strcmp(end->at.state, "down") == 0 ? "down" :
							 "without a link");
}

/* To another segment it need not lead: skipped, and what most nodes have is
 * compared when all is known. */
static bool unrouted(struct finding *f)
{
	return f->c->sights->unrouted &&
	       says(f, ping_is_near(f->c->mesh, f->c->src, f->c->dst) ?
			       OUTCOME_ERROR : OUTCOME_SKIPPED, PING_NO_ROUTE,
		    "no route of %s leads to %s through %s",
		    node_of(f, src_of(f)), f->dst, src_of(f)->at.name);
}

static bool sender_filtered(struct finding *f)
{
	return f->c->sights->send_code == EPERM &&
	       says(f, OUTCOME_ERROR, PING_SENDER,
		    "a packet filter of %s rejects what it sends to %s through "
		    "%s: %s", node_of(f, src_of(f)), f->dst, src_of(f)->at.name,
		    strerror(EPERM));
}

static bool neighbour_overflow(struct finding *f)
{
	return f->c->sights->send_code == ENOBUFS &&
	       says(f, OUTCOME_ERROR, PING_NEIGH_FULL,
		    "the kernel refused the packet (no buffer): too many "
		    "neighbours? see net.ipv4.neigh.default.gc_thresh3");
}

/* An error from the own address is the kernel's word that ARP failed. */
static bool own_word(const struct finding *f)
{
	return ip_equal(&f->c->sights->icmp_by, &src_of(f)->at.net.ip);
}

static bool echo_closed(struct finding *f)
{
	const struct ping_sights *s = f->c->sights;
	bool v6 = s->icmp_by.family == AF_INET6;

	return s->icmp && f->c->method == PING_UDP &&
	       s->icmp_type == (v6 ? ICMP6_DST_UNREACH : ICMP_DEST_UNREACH) &&
	       s->icmp_code == (v6 ? ICMP6_DST_UNREACH_NOPORT :
				     ICMP_PORT_UNREACH) &&
	       says(f, OUTCOME_SKIPPED, PING_ECHO_GONE,
		    "%s is reachable, but its agent has ended", f->dst);
}

static bool icmp_error(struct finding *f)
{
	const struct ping_sights *s = f->c->sights;
	char by[IP_TEXT], what[64];

	return s->icmp && !own_word(f) &&
	       says(f, OUTCOME_ERROR, PING_ICMP, "%s reports \"%s\" for %s",
		    ip_text(&s->icmp_by, by, sizeof(by)),
		    ping_icmp_text(s->icmp_by.family, s->icmp_type,
				   s->icmp_code, what, sizeof(what)),
		    f->dst);
}

/* "; it answers on rail1", where it does; returns @buf. */
static const char *elsewhere(const struct finding *f, char buf[64])
{
	int on = f->c->sights->found_on;

	buf[0] = '\0';
	if (on > 0) {
		snprintf(buf, 64, "; it answers on %s",
			 f->c->mesh->ends[on - 1].at.name);
	}
	return buf;
}

static bool arp_failed(struct finding *f)
{
	const struct ping_sights *s = f->c->sights;
	char on[64];

	return (s->owner == OWNER_NOBODY || (s->icmp && own_word(f))) &&
	       says(f, OUTCOME_ERROR, PING_ARP,
		    "no host on %s answers ARP or ND for %s%s",
		    src_of(f)->at.name, f->dst, elsewhere(f, on));
}

static bool no_route(struct finding *f)
{
	int code = f->c->sights->send_code ? f->c->sights->send_code :
					     f->c->sights->refused_code;

	return (code == ENETUNREACH || code == EHOSTUNREACH ||
		code == ENETDOWN || code == EACCES ||
		code == EADDRNOTAVAIL || code == ENODEV) &&
	       says(f, OUTCOME_ERROR, PING_NO_ROUTE,
		    "the kernel of %s cannot send to %s through %s: %s",
		    node_of(f, src_of(f)), f->dst, src_of(f)->at.name,
		    strerror(code));
}

static bool icmp_filtered(struct finding *f)
{
	return f->c->sights->traced_back && f->c->method != PING_UDP &&
	       says(f, OUTCOME_ERROR, PING_FILTERED,
		    "%s does not reply to ICMP, but replies to UDP: ICMP is "
		    "filtered", f->dst);
}

/* Nothing has left: nothing is known. */
static bool unsent(struct finding *f)
{
	return f->c->flow->sent == 0 && f->c->sights->send_code == EAGAIN &&
	       says(f, OUTCOME_SKIPPED, PING_UNSENT,
		    "no packet to %s was sent: the send buffer of %s was full, "
		    "usually of packets that wait for ARP; see "
		    "net.core.wmem_max", f->dst, src_of(f)->at.name);
}

/* Nothing is known but that nobody had the time to listen. */
static bool starved(struct finding *f)
{
	return f->c->flow->sent == 0 && f->c->flow->starved &&
	       says(f, OUTCOME_NOT_RUN, RECORD_STARVED,
		    "%s did not get to run while replies of %s were due",
		    node_of(f, src_of(f)), f->dst);
}

static bool silent(struct finding *f)
{
	char on[64];

	return f->c->method == PING_TCP ?
		       says(f, OUTCOME_TIMEOUT, PING_TCP_SILENT,
			    "a connection to %s had no reply: it is filtered, "
			    "or the host does not exist", f->dst) :
		       says(f, OUTCOME_TIMEOUT, PING_NO_REPLY,
			    "none of %d packets to %s had a reply%s",
			    f->c->flow->sent, f->dst, elsewhere(f, on));
}

static bool (*const rules[])(struct finding *f) = {
	duplicate, no_door, wrong_reply, mtu_small, tcp_open, tcp_refused,
	good, down, unrouted, neighbour_overflow, sender_filtered, echo_closed,
	icmp_error, arp_failed, no_route, icmp_filtered, unsent, starved,
	silent,
};

static void fill_figures(const struct ping_case *c, struct ping_row *row)
{
	const struct ping_flow *f = c->flow;

	row->sent = f->sent;
	row->received = f->received;
	if (f->received > 0) {
		row->rtt_min_us = (double)f->rtt_min_ns * 1e-3;
		row->rtt_avg_us = f->rtt_sum_ns * 1e-3 / f->received;
		row->rtt_max_us = (double)f->rtt_max_ns * 1e-3;
	}
	if (c->sights->mtu_B > 0) {
		row->mtu_B = c->sights->mtu_B;
	}
}

void ping_judge(const struct ping_case *c, struct ping_row *row)
{
	struct finding f = { .c = c, .row = row };
	size_t i = 0;

	ip_text(&c->mesh->ends[c->dst].at.net.ip, f.dst, sizeof(f.dst));
	fill_figures(c, row);
	while (!rules[i](&f)) {
		i++;	/* the last one always fits */
	}
}

/* ---- row ----------------------------------------------------------------- */

/* The table is read again when it is older, for one path or for many. */
#define NEIGHS_OLD_NS (100 * NS_PER_MS)

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
			node_task_fact("ping", PING_FACT_FOUND, "neighbours",
				       "%s %s %s",
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
