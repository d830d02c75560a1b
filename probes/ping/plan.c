/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/net.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "probes/engine/net/wire.h"
#include "probes/host/inventory.h"
#include "probes/ping/ping.h"
#include "probes/ping/private.h"

/* ---- select -------------------------------------------------------------- */

#define WORD_SIZE 128

/** The next word of the comma list at *@at into @word; false at its end. */
static bool next_word(const char **at, char word[WORD_SIZE])
{
	size_t len;

	while (**at == ',') {
		(*at)++;
	}
	len = strcspn(*at, ",");
	if (len == 0 || len >= WORD_SIZE) {
		return false;
	}
	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len;
	return true;
}

static int check_words(const char *option, const char *list, bool nets,
		       struct err *e)
{
	const char *at = list;
	char word[WORD_SIZE];
	struct ip_net net;

	while (next_word(&at, word)) {
		if (nets && ip_net_parse(word, &net, e) < 0) {
			return -1;
		}
	}
	return *at == '\0' ? 0 :
			     err_set(e, 0, "--%s: a word is too long", option);
}

int ping_select_check(const struct spec *s, struct err *e)
{
	const char *names = s->ifname;

	names += *names == '^';
	names += *names == '=';
	if (s->ifname[0] && !names[strspn(names, ",")]) {
		err_set(e, 0, "--ifname: '%s' names no interface", s->ifname);
		return err_hint(e, "eth,ib: names that begin so; =eth0: only "
				   "this one; ^docker: all but these");
	}
	if (check_words("ifname", names, false, e) < 0 ||
	    check_words("subnet", s->subnet, true, e) < 0) {
		return -1;
	}
	return check_words("skip", s->skip, false, e);
}

/* Return true if the list contains @name or a subnet of @ip. */
static bool has(const char *list, const char *name, const struct ip_addr *ip)
{
	char word[WORD_SIZE];
	struct ip_net net;

	while (next_word(&list, word)) {
		if (strcmp(word, name) == 0 ||
		    (ip_net_parse(word, &net, NULL) == 0 && ip_in(ip, &net))) {
			return true;
		}
	}
	return false;
}

bool ping_select(const struct spec *s, const char *ifname,
		 const struct ip_addr *ip)
{
	return (s->ifname[0] ? port_matches(s->ifname, ifname) :
			       !net_is_inner(ifname)) &&
	       (s->subnet[0] == '\0' || has(s->subnet, "", ip)) &&
	       !has(s->skip, ifname, ip);
}

/* ---- plan ---------------------------------------------------------------- */

#define COUNT_PING  5
#define COUNT_TCP   1
#define TIMEOUT_NS  (1 * NS_PER_S)
/* Sockets, not packets, are on their way. */
#define TCP_WINDOW  512
/* --find-mtu: a search of some steps, each up to two timeouts. */
#define DF_STEPS    24
/* Without: the MTU, once more, and the usual sizes. */
#define CHECK_STEPS 8
/* A child begins before the plan, and ends after it. */
#define CHILD_SLACK_NS (30 * NS_PER_S)
/* Bytes of a message beside the mesh. */
#define TELL_SLACK 4096

struct ping_rules ping_rules_for(const struct spec *s, int fleet,
				 size_t paths)
{
	bool tcp = s->tcp[0] != '\0';
	int64_t count = s->count > 0 ? s->count : tcp ? COUNT_TCP : COUNT_PING;
	struct ping_rules r = ping_rules_of(
		(int)count, s->interval_ns,
		s->timeout_ns > 0 ? s->timeout_ns : TIMEOUT_NS,
		fleet * NS_PER_S / PING_FLEET_RATE, paths);

	if (tcp && r.window > TCP_WINDOW) {
		r.window = TCP_WINDOW;
	}
	return r;
}

/* ---- nodes and addresses ----------------------------------------------- */

/* Pretend nodes of one machine: addresses of its loopback, a net a rail. */
static size_t pretend_ends(const struct spec *s, int node,
			   struct interface *list, size_t max)
{
	size_t rails = s->local_gpus > 0 ? (size_t)s->local_gpus : 1;

	rails = rails < max ? rails : max;
	for (size_t r = 0; r < rails; r++) {
		list[r] = (struct interface){
			.name = "lo", .mtu_B = 65535, .state = "up",
			.net = { .prefix = 16,
				 .ip = { .family = AF_INET,
					 .bytes = { 127, (uint8_t)(r + 1),
						    (uint8_t)(node / 250),
						    (uint8_t)(node % 250 +
							      1) } } },
		};
	}
	return rails;
}

static int add_ends(struct ping_mesh *m, const struct spec *s,
		    const json_t *node, struct err *e)
{
	struct ping_node *n = &m->nodes[m->n_nodes];
	struct interface list[INTERFACE_MAX];
	const json_t *inventory, *entry;
	size_t found = 0, i;
	void *ends;

	if (json_is_true(json_object_get(node, "pretend"))) {
		found = pretend_ends(s, m->n_nodes, list, INTERFACE_MAX);
	} else {
		inventory = json_object_get(node, "inventory");
		json_array_foreach(inventory_seen(inventory).interfaces, i,
				   entry) {
			/* a damaged entry does not affect the others */
			if (found < INTERFACE_MAX &&
			    interface_parse(entry, &list[found], NULL) == 0) {
				found++;
			}
		}
	}
	if ((size_t)m->n_ends + found > PING_MAX_ENDS) {
		return err_set(e, E2BIG, "more than %d addresses; choose fewer "
					 "with --ifname and --subnet",
					 PING_MAX_ENDS);
	}
	ends = realloc(m->ends, ((size_t)m->n_ends + found + 1) *
					sizeof(*m->ends));
	if (ends == NULL) {
		return err_set(e, ENOMEM, "no memory for the addresses");
	}
	m->ends = ends;
	n->first = m->n_ends;
	for (i = 0; i < found; i++) {
		if (ping_select(s, list[i].name, &list[i].net.ip)) {
			m->ends[m->n_ends++] = (struct ping_end){
				.node = m->n_nodes, .at = list[i],
			};
		}
	}
	n->n = m->n_ends - n->first;
	return 0;
}

static int make_mesh(struct ping_mesh *m, const json_t *nodes,
		     const struct spec *s, struct err *e)
{
	const json_t *node;
	size_t i;

	*m = (struct ping_mesh){ .cross = s->cross };
	m->nodes = calloc(json_array_size(nodes) + 1, sizeof(*m->nodes));
	if (m->nodes == NULL) {
		return err_set(e, ENOMEM, "no memory for the nodes");
	}
	json_array_foreach(nodes, i, node) {
		struct ping_node *n = &m->nodes[m->n_nodes];

		if (json_get_text(node, "name", n->name, sizeof(n->name), e) <
		    0) {
			return -1;
		}
		n->here = schema_read(ping_door_fields, n,
				      json_object_get(node, "ready"),
				      NULL) == 0;
		if (add_ends(m, s, node, e) < 0) {
			return -1;
		}
		m->n_nodes++;
	}
	m->list = pinglist_make(m->n_nodes, s->all_pairs, s->seed);
	return ping_mesh_number(m, e);
}

/* ---- the plan ---------------------------------------------------------- */

/* Simulated nodes are one machine, whose kernel drops packets that its
 * processes have no time for: with shared cores a loss is only a warning. */
static json_t *run_members(const struct ping_mesh *m, const struct spec *s,
			   size_t cells)
{
	json_t *nodes = json_array();
	char ip[IP_TEXT];

	for (int i = 0; i < m->n_nodes; i++) {
		const struct ping_node *n = &m->nodes[i];
		json_t *ends = json_array();

		/* its addresses, without what changes from moment to moment */
		for (int k = n->first; k < n->first + n->n; k++) {
			const struct ping_end *end = &m->ends[k];

			ip_text(&end->at.net.ip, ip, sizeof(ip));
			json_array_append_new(
				ends,
				json_pack("{s:s,s:s,s:s,s:i,s:I,s:s}", "if",
					  end->at.name, "ip", ip, "segment",
					  m->segments[end->segment], "rail",
					  end->rail, "mtu_B",
					  (json_int_t)end->at.mtu_B, "state",
					  end->at.state));
		}
		json_array_append_new(nodes, json_pack("{s:s,s:b,s:o}", "name",
						       n->name, "here", n->here,
						       "ends", ends));
	}
	return json_pack("{s:o,s:b,s:{s:s,s:b,s:b,s:I,s:i,s:I,s:i}}", "nodes",
			 nodes, "shared_cores", s->local, "planned", "kind",
			 "mesh", "cross", m->cross, "by_rail", m->by_rail,
			 "cells", (json_int_t)cells, "groups", m->list.groups,
			 "seed", (json_int_t)m->list.seed, "probes_per_s",
			 PING_FLEET_RATE);
}

static int check_mesh(const struct ping_mesh *m, size_t cells, struct err *e)
{
	int here = 0;

	for (int i = 0; i < m->n_nodes; i++) {
		here += m->nodes[i].here;
	}
	if (here == 0) {
		return err_set(e, 0, "no node took part");
	}
	if (m->n_nodes < 2) {
		err_set(e, ENODEV, "one node only: ping needs at least two");
		return err_hint(e, "use -N 2, or --local=4x2 to see how it "
				   "works");
	}
	if (here < 2) {
		return err_set(e, ENODEV, "of %d nodes only one took part: "
					  "ping needs at least two",
					  m->n_nodes);
	}
	if (m->n_ends == 0) {
		err_set(e, 0, "no node has an address to test");
		return err_hint(e, "facts.csv lists the addresses; --ifname, "
				   "--subnet and --skip choose among them");
	}
	if (cells == 0) {
		err_set(e, 0, "no two nodes have an address in one subnet");
		return err_hint(e, "--cross tests between subnets; facts.csv "
				   "lists the addresses");
	}
	return 0;
}

/* Refuse a plan that no child lives long enough for, unless --time-limit ends
 * it earlier. */
static int check_time(const struct spec *s, int64_t ns, struct err *e)
{
	const int64_t most_ns = PING_CHILD_NS - CHILD_SLACK_NS;

	if (ns <= most_ns ||
	    (s->max_time_ns > 0 && s->max_time_ns <= most_ns)) {
		return 0;
	}
	err_set(e, 0, "the probes may take %lld minutes if there are no "
		      "replies, more than the limit of %lld",
		(long long)(ns / (60 * NS_PER_S)),
		(long long)(most_ns / (60 * NS_PER_S)));
	return err_hint(e, "use a smaller --count, --interval or --test-timeout, or "
			   "--time-limit=50m, which ends them in time");
}

static json_t *plan_mesh(const struct ping_mesh *m, const struct spec *s,
			 struct err *e)
{
	json_t *tell = ping_mesh_tell(m);
	size_t cells = 0, most = 0, first = 0, bytes = 0;
	struct ping_rules r;
	int64_t ns;

	/* each child is told the mesh in one message; all are about as long as
	 * the first; before all paths are looked at, which takes long with too
	 * many ends */
	while (json_is_null(json_array_get(tell, first))) {
		first++;
	}
	if (first < json_array_size(tell)) {
		bytes = json_dumpb(json_array_get(tell, first), NULL, 0,
				   JSON_COMPACT);
	}
	if (first < json_array_size(tell) &&
	    (bytes == 0 || bytes > WIRE_MAX - TELL_SLACK)) {
		err_set(e, E2BIG,
			"%d addresses on %d nodes are %zu bytes, "
			"more than the limit of a message",
			m->n_ends, m->n_nodes, bytes);
		err_hint(e, "choose fewer with --ifname and --subnet");
		json_decref(tell);
		return NULL;
	}
	for (int i = 0; i < m->n_nodes; i++) {
		size_t paths = ping_mesh_paths(m, i);

		cells += paths;
		most = paths > most ? paths : most;
	}
	r = ping_rules_for(s, m->n_nodes, most);
	ns = ping_rules_budget_ns(&r, most) +
	     (s->df ? DF_STEPS : CHECK_STEPS) * 2 * r.timeout_ns +
	     ping_flows_budget_ns(s, &r, most);
	if (check_mesh(m, cells, e) < 0 || check_time(s, ns, e) < 0) {
		json_decref(tell);
		return NULL;
	}
	return json_pack("{s:o,s:o,s:I}", "tell", tell, "run",
			 run_members(m, s, cells), "budget_ns", (json_int_t)ns);
}

json_t *ping_plan(const json_t *nodes, const struct spec *s, struct err *e)
{
	struct ping_mesh m;
	json_t *plan = NULL;

	if (make_mesh(&m, nodes, s, e) == 0) {
		plan = plan_mesh(&m, s, e);
	}
	ping_mesh_release(&m);
	return plan;
}
