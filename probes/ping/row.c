/* SPDX-License-Identifier: BSD-3-Clause */
/* The row of each path: the rules that judge it, and the neighbour table. */
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

/* A rule: if @is, the path has that outcome and code, with a sentence in which
 * {dst}, {if} and other words of expand() stand for what was seen. */
struct verdict_rule {
	bool is;
	enum outcome outcome;
	const char *code, *says;
};

#define RULES(list) list, sizeof(list) / sizeof((list)[0])

static const struct ping_end *end_of(const struct ping_case *c, int end)
{
	return &c->mesh->ends[end];
}

static const char *node_of(const struct ping_case *c, const struct ping_end *e)
{
	return c->mesh->nodes[e->node].name;
}

/* Return the end with an interface that is not up, the own one first; if both
 * are up, the other one. */
static const struct ping_end *down_end(const struct ping_case *c)
{
	return end_of(c, strcmp(end_of(c, c->src)->at.state, "up") != 0 ?
				 c->src : c->dst);
}

static int64_t mtu_of_both(const struct ping_case *c)
{
	int64_t own = end_of(c, c->src)->at.mtu_B;
	int64_t peer = end_of(c, c->dst)->at.mtu_B;

	return peer > 0 && peer < own ? peer : own;
}

static int refused_code(const struct ping_sights *s)
{
	return s->send_code ? s->send_code : s->refused_code;
}

/* Write @says with its words replaced. */
static void expand(const struct ping_case *c, const char *says, struct str *out)
{
	const struct ping_sights *s = c->sights;
	const struct ping_end *src = end_of(c, c->src);
	const struct ping_end *dst = end_of(c, c->dst), *down = down_end(c);
	char ip[3][IP_TEXT], number[4][24], icmp[64], stray[IF_NAMESIZE] = "?";
	const struct {
		const char *name, *text;
	} words[] = {
		{ "{dst}", ip_text(&dst->at.net.ip, ip[0], IP_TEXT) },
		{ "{peer}", node_of(c, dst) },
		{ "{node}", node_of(c, src) },
		{ "{if}", src->at.name },
		{ "{down_if}", down->at.name },
		{ "{down_node}", node_of(c, down) },
		{ "{down}", strcmp(down->at.state, "down") == 0 ?
				    "down" : "without a link" },
		{ "{owner}", s->owner_node >= 0 ? "that of " :
						  "of no node of this run" },
		{ "{owner_node}", s->owner_node >= 0 ?
				c->mesh->nodes[s->owner_node].name : "" },
		{ "{wrong_by}", ip_text(&s->wrong_by, ip[1], IP_TEXT) },
		{ "{icmp_by}", ip_text(&s->icmp_by, ip[2], IP_TEXT) },
		{ "{icmp}", ping_icmp_text(s->icmp_by.family, s->icmp_type,
					   s->icmp_code, icmp, sizeof(icmp)) },
		{ "{errno}", strerror(refused_code(s)) },
		{ "{stray}", stray },
		{ "{sent}", number[0] },
		{ "{lost}", number[1] },
		{ "{mtu}", number[2] },
		{ "{mtu_both}", number[3] },
		{ "{elsewhere}", s->found_on > 0 ? "; it answers on " : "" },
		{ "{found_if}", s->found_on > 0 ?
				end_of(c, s->found_on - 1)->at.name : "" },
		{ "{rejects}", s->send_code != EPERM ? "" :
			": a packet filter of the sender rejects some" },
	};
	size_t k;

	if (s->stray_if) {
		if_indextoname(s->stray_if, stray);
	}
	snprintf(number[0], 24, "%d", c->flow->sent);
	snprintf(number[1], 24, "%d", c->flow->sent - c->flow->received);
	snprintf(number[2], 24, "%d", (int)s->mtu_B);
	snprintf(number[3], 24, "%lld", (long long)mtu_of_both(c));
	while (*says != '\0') {
		for (k = 0; k < sizeof(words) / sizeof(words[0]) &&
			    !str_starts(says, words[k].name); k++) {
		}
		if (k == sizeof(words) / sizeof(words[0])) {
			str_addch(out, *says++);
		} else {
			str_add(out, words[k].text);
			says += strlen(words[k].name);
		}
	}
}

/* Fill @row by the first of the rules that fits; false if there is none. */
static bool first_rule(const struct ping_case *c, struct ping_row *row,
		       const struct verdict_rule *rules, size_t n)
{
	struct str says = STR_INIT;
	size_t i = 0;

	while (i < n && !rules[i].is) {
		i++;
	}
	if (i < n) {
		row->outcome = rules[i].outcome;
		STR_COPY(row->code, rules[i].code);
		if (rules[i].says[0] != '\0') {
			expand(c, rules[i].says, &says);
		}
		STR_COPY(row->detail, str_text(&says));
	}
	str_release(&says);
	return i < n;
}

/* Rules that apply with or without replies. */
static bool judge_first(const struct ping_case *c, struct ping_row *row)
{
	const struct ping_sights *s = c->sights;
	bool answered = c->flow->received > 0, tcp = c->method == PING_TCP;
	bool refused = tcp && s->refused_code == ECONNREFUSED;
	const struct verdict_rule rules[] = {
		/* an address of no known node that replies is only a note */
		{ s->owner == OWNER_OTHER && (s->owner_node >= 0 || !answered),
		  OUTCOME_ERROR, PING_DUPLICATE,
		  "{dst} belongs to {peer}, but the hardware address that "
		  "answers for it on {if} is {owner}{owner_node}" },
		{ s->no_door, OUTCOME_SKIPPED, "agent_missing",
		  "{peer} has no agent to answer" },
		{ s->wrong && !answered, OUTCOME_ERROR, PING_WRONG,
		  "the request went to {dst}, the reply came from {wrong_by}" },
		{ s->mtu_B != 0 && s->mtu_B < mtu_of_both(c), OUTCOME_ERROR,
		  PING_MTU,
		  "packets of up to {mtu} bytes pass unfragmented, but the MTU "
		  "of both ends is {mtu_both}" },
		{ tcp && s->connected, OUTCOME_OK, PING_TCP_OPEN, "" },
		/* agents of this run never refuse */
		{ refused && c->own_port, OUTCOME_ERROR, PING_TCP_CLOSED,
		  "{dst} refused a connection to a port on which its agent "
		  "listens: a firewall?" },
		{ refused, OUTCOME_OK, PING_TCP_CLOSED,
		  "{dst} is reachable; no process listens on the port" },
	};

	return first_rule(c, row, RULES(rules));
}

/* Rules of paths with replies. */
static bool judge_answered(const struct ping_case *c, struct ping_row *row)
{
	const struct ping_sights *s = c->sights;
	const struct ping_flow *flow = c->flow;
	const struct verdict_rule rules[] = {
		{ s->stray_if != 0, OUTCOME_OK, PING_STRAY,
		  "replies of {dst} arrived on {stray}, the requests left on "
		  "{if}" },
		{ s->owner == OWNER_FLUX, OUTCOME_OK, PING_FLUX,
		  "another interface of {peer} answers ARP for {dst}" },
		/* a reply over UDP proves the key of the right agent */
		{ s->owner == OWNER_OTHER && c->method != PING_UDP, OUTCOME_OK,
		  PING_FOREIGN,
		  "{dst} of {peer} replies, but the hardware address on {if} "
		  "belongs to no node of this run: a proxy, a bond, or another "
		  "machine" },
		{ flow->received < flow->sent, OUTCOME_OK, PING_LOSS,
		  "{lost} of {sent} packets had no reply{rejects}" },
		{ true, OUTCOME_OK, "", "" },
	};

	return flow->received > 0 && first_rule(c, row, RULES(rules));
}

/* Rules of paths without a reply for which there is an error. */
static bool judge_refused(const struct ping_case *c, struct ping_row *row)
{
	const struct ping_sights *s = c->sights;
	const struct ip_addr *own_ip = &end_of(c, c->src)->at.net.ip;
	/* an error from the own address: ARP of the kernel failed */
	bool own = s->icmp && ip_equal(&s->icmp_by, own_ip);
	bool v6 = s->icmp_by.family == AF_INET6;
	int code = refused_code(s);
	const struct verdict_rule rules[] = {
		{ strcmp(down_end(c)->at.state, "up") != 0, OUTCOME_ERROR,
		  PING_IF_DOWN, "{down_if} of {down_node} is {down}" },
		/* other segments need no route: compared with most nodes
		 * later */
		{ s->unrouted, ping_is_near(c->mesh, c->src, c->dst) ?
				       OUTCOME_ERROR : OUTCOME_SKIPPED,
		  PING_NO_ROUTE,
		  "no route of {node} leads to {dst} through {if}" },
		{ s->send_code == ENOBUFS, OUTCOME_ERROR, PING_NEIGH_FULL,
		  "the kernel refused the packet (no buffer): too many "
		  "neighbours? see net.ipv4.neigh.default.gc_thresh3" },
		{ s->send_code == EPERM, OUTCOME_ERROR, PING_SENDER,
		  "a packet filter of {node} rejects what it sends to {dst} "
		  "through {if}: {errno}" },
		{ s->icmp && c->method == PING_UDP &&
			  s->icmp_type == (v6 ? ICMP6_DST_UNREACH :
						ICMP_DEST_UNREACH) &&
			  s->icmp_code == (v6 ? ICMP6_DST_UNREACH_NOPORT :
						ICMP_PORT_UNREACH),
		  OUTCOME_SKIPPED, PING_ECHO_GONE,
		  "{dst} is reachable, but its agent has ended" },
		{ s->icmp && !own, OUTCOME_ERROR, PING_ICMP,
		  "{icmp_by} reports \"{icmp}\" for {dst}" },
		{ s->owner == OWNER_NOBODY || own, OUTCOME_ERROR, PING_ARP,
		  "no host on {if} answers ARP or ND for {dst}{elsewhere}"
		  "{found_if}" },
		{ code == ENETUNREACH || code == EHOSTUNREACH ||
			  code == ENETDOWN || code == EACCES ||
			  code == EADDRNOTAVAIL || code == ENODEV,
		  OUTCOME_ERROR, PING_NO_ROUTE,
		  "the kernel of {node} cannot send to {dst} through {if}: "
		  "{errno}" },
	};

	return first_rule(c, row, RULES(rules));
}

void ping_judge(const struct ping_case *c, struct ping_row *row)
{
	const struct ping_flow *f = c->flow;
	const struct ping_sights *s = c->sights;
	bool unsent = f->sent == 0;
	const struct verdict_rule rules[] = {
		{ s->traced_back && c->method != PING_UDP, OUTCOME_ERROR,
		  PING_FILTERED,
		  "{dst} does not reply to ICMP, but replies to UDP: ICMP is "
		  "filtered" },
		{ unsent && s->send_code == EAGAIN, OUTCOME_SKIPPED,
		  PING_UNSENT,
		  "no packet to {dst} was sent: the send buffer of {if} was "
		  "full, usually of packets that wait for ARP; see "
		  "net.core.wmem_max" },
		{ unsent && f->starved, OUTCOME_NOT_RUN, RECORD_STARVED,
		  "{node} did not get to run while replies of {dst} were due" },
		{ c->method == PING_TCP, OUTCOME_TIMEOUT, PING_TCP_SILENT,
		  "a connection to {dst} had no reply: it is filtered, or the "
		  "host does not exist" },
		{ true, OUTCOME_TIMEOUT, PING_NO_REPLY,
		  "none of {sent} packets to {dst} had a reply{elsewhere}"
		  "{found_if}" },
	};

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
	if (!judge_first(c, row) && !judge_answered(c, row) &&
	    !judge_refused(c, row)) {
		first_rule(c, row, RULES(rules));
	}
}

/* ---- row ----------------------------------------------------------------- */

/* The table is read again when it is older, for one path or for many. */
#define NEIGHS_OLD_NS (100 * NS_PER_MS)

static bool same_mac(const struct interface *i, const struct ping_neigh *n)
{
	return i->mac_len == n->mac_len &&
	       memcmp(i->mac, n->mac, n->mac_len) == 0;
}

/* Find the own interface on whose wire the target of @p has answered. */
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

/* Find the node that has the hardware address. */
static void find_owner(const struct ping_child *c, struct ping_path *p,
		       const struct ping_neigh *n)
{
	const struct ping_end *dst = &c->mesh.ends[p->dst], *end = c->mesh.ends;
	const struct ping_neigh *other;
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
	/* a machine that also answers for an address of a third node is a
	 * switch of a cloud, a proxy, or a port that isolates hosts */
	for (end = c->mesh.ends; s->owner == OWNER_OTHER && s->owner_node < 0 &&
				 end < c->mesh.ends + c->mesh.n_ends;
	     end++) {
		if (end->node == dst->node || end->node == c->me) {
			continue;
		}
		other = ping_neigh_find(&c->neighs, n->ifindex,
					&end->at.net.ip);
		if (other != NULL && !other->failed &&
		    other->mac_len == n->mac_len &&
		    memcmp(other->mac, n->mac, n->mac_len) == 0) {
			s->owner = OWNER_UNKNOWN;
		}
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
	bool near = c->mesh.ends[c->own[p->own].end].segment ==
		    c->mesh.ends[p->dst].segment;
	const struct ip_addr *ip = &c->mesh.ends[p->dst].at.net.ip;
	unsigned ifindex = c->own[p->own].ifindex;
	const struct ping_neigh *n = ping_neigh_find(&c->neighs, ifindex, ip);

	/* read the table again if the entry may have changed since */
	if ((n == NULL || n->failed || p->sought) &&
	    (c->neighs_ns == 0 || now_ns > c->neighs_ns + NEIGHS_OLD_NS)) {
		ping_neigh_release(&c->neighs);
		ping_neigh_read(&c->neighs, NULL); /* or none are known */
		c->neighs_ns = now_ns;
		n = ping_neigh_find(&c->neighs, ifindex, ip);
	}
	if (n != NULL && n->failed) {
		p->sights.owner = OWNER_NOBODY;
	} else if (n != NULL && near) {
		find_owner(c, p, n);
	}
	if (p->sought && p->sights.owner != OWNER_RIGHT &&
	    flow->received == 0) {
		find_elsewhere(c, p);
	}
	record_init(&schema_ping, &row);
	name_ends(c, p, &row);
	STR_COPY(row.method, ping_method_names[judged.method]);
	row.flows = c->n_flows > 0 ? p->flows : RECORD_NONE;
	ping_judge(&judged, &row);
	node_task_row(&schema_ping, &row);
}

void ping_flow_row(struct ping_child *c, const struct ping_path *p,
		   uint16_t port, const struct ping_flow *f, uint32_t heard)
{
	const struct ping_end *dst = &c->mesh.ends[p->dst];
	struct str says = STR_INIT;
	struct ping_row row;

	record_init(&schema_ping, &row);
	name_ends(c, p, &row);
	STR_COPY(row.method, ping_method_names[PING_UDP]);
	row.flow = port;
	row.sent = f->sent;
	row.received = f->received;
	row.outcome = f->received > 0 ? OUTCOME_OK : OUTCOME_TIMEOUT;
	STR_COPY(row.code, PATH_FLOW);
	str_addf(&says, "UDP %s port %u to %s port %u: %u of %u packets got no "
		 "reply, in each of its tests", row.src_ip, port, row.dst_ip,
		 ping_udp_port(c, dst), f->sent - f->received, f->sent);
	if (heard > 0) {
		str_addf(&says, "; %u arrived", heard);
	}
	STR_COPY(row.detail, str_text(&says));
	str_release(&says);
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
	bool undecided = !c->engine.flows[path].settled || p->mtu.size > 0 ||
			 p->flows_open > 0;

	/* silence so far says nothing */
	if (undecided && flow.received > 0) {
		/* what flies has perhaps not been sent */
		flow.sent = flow.sent > flow.flying + flow.received ?
				    (uint16_t)(flow.sent - flow.flying) :
				    flow.received;
		say_row(c, p, &flow, now_ns);
	}
}
