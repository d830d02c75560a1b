/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ping/private.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "lib/data/schema.h"

#define DOOR(member, ...) FIELD(ping_node, member, #member, __VA_ARGS__)

const struct field ping_door_fields[] = {
	DOOR(udp4, INT, 0, UINT16_MAX, "port", .optional = FIELD_KEPT),
	DOOR(udp6, INT, 0, UINT16_MAX, "port", .optional = FIELD_KEPT),
	DOOR(tcp, INT, 0, UINT16_MAX, "port", .optional = FIELD_KEPT),
	DOOR(key, HEX, 0, 0, "of its answers"),
	{ 0 }
};

void ping_mesh_release(struct ping_mesh *m)
{
	free(m->nodes);
	free(m->ends);
	free(m->segments);
	*m = (struct ping_mesh){ 0 };
}

bool ping_mesh_path(const struct ping_mesh *m, int a, int b)
{
	const struct ping_end *x = &m->ends[a], *y = &m->ends[b];

	if (x->node == y->node ||
	    x->at.net.ip.family != y->at.net.ip.family ||
	    !pinglist_has(&m->list, x->node, y->node)) {
		return false;
	}
	return m->cross || x->segment == y->segment ||
	       (m->by_rail && x->rail == y->rail);
}

size_t ping_mesh_paths(const struct ping_mesh *m, int node)
{
	const struct ping_node *n = &m->nodes[node];
	size_t paths = 0;

	for (int i = 0; i < m->n_nodes; i++) {
		const struct ping_node *other = &m->nodes[i];

		if (i == node || !pinglist_has(&m->list, node, i)) {
			continue;
		}
		for (int a = n->first; a < n->first + n->n; a++) {
			for (int b = other->first; b < other->first + other->n;
			     b++) {
				paths += ping_mesh_path(m, a, b);
			}
		}
	}
	return paths;
}

/* ---- segments and rails ------------------------------------------------ */

/* A subnet and where it was seen, while they are being sorted. */
struct subnet {
	struct ip_net net;
	int nodes, last_node;	/* how many have it; the last one counted */
};

static struct ip_net subnet_of(const struct ping_end *end)
{
	char text[IP_TEXT + 8];
	struct ip_net net = end->at.net;

	/* with the host's bits gone, equal subnets are equal bytes */
	ip_net_parse(ip_net_text(&net, text, sizeof(text)), &net, NULL);
	return net;
}

/* Order subnets: in each family the shared ones, which are the rails, first. */
static int subnet_compare(const void *a, const void *b)
{
	const struct subnet *x = a, *y = b;

	if (x->net.ip.family != y->net.ip.family) {
		return x->net.ip.family < y->net.ip.family ? -1 : 1;
	}
	if ((x->nodes > 1) != (y->nodes > 1)) {
		return x->nodes > 1 ? -1 : 1;
	}
	return ip_compare(&x->net.ip, &y->net.ip) != 0 ?
		       ip_compare(&x->net.ip, &y->net.ip) :
		       x->net.prefix - y->net.prefix;
}

static struct subnet *find_subnet(struct subnet *list, int n,
				  const struct ip_net *net)
{
	for (int i = 0; i < n; i++) {
		if (list[i].net.prefix == net->prefix &&
		    ip_equal(&list[i].net.ip, &net->ip)) {
			return &list[i];
		}
	}
	return NULL;
}

/* Number the rails by the position of the address on its node; IPv6 after
 * IPv4. */
static void number_by_position(struct ping_mesh *m)
{
	for (int i = 0; i < m->n_nodes; i++) {
		const struct ping_node *n = &m->nodes[i];
		int rail = 0;

		for (int v6 = 0; v6 < 2; v6++) {
			for (int a = n->first; a < n->first + n->n; a++) {
				sa_family_t f = m->ends[a].at.net.ip.family;

				if ((f == AF_INET6) == v6) {
					m->ends[a].rail = rail++;
				}
			}
		}
	}
}

int ping_mesh_number(struct ping_mesh *m, struct err *e)
{
	size_t most = (size_t)m->n_ends + 1;
	struct subnet *list = calloc(most, sizeof(*list));

	m->segments = calloc(most, sizeof(*m->segments));
	m->n_segments = 0;
	if (list == NULL || m->segments == NULL) {
		free(list);
		return err_set(e, ENOMEM, "no memory for the subnets");
	}
	m->by_rail = true; /* until two nodes share a subnet */
	for (int i = 0; i < m->n_ends; i++) {
		struct ip_net net = subnet_of(&m->ends[i]);
		struct subnet *s = find_subnet(list, m->n_segments, &net);

		if (s == NULL) {
			s = &list[m->n_segments++];
			*s = (struct subnet){ .net = net, .last_node = -1 };
		}
		s->nodes += s->last_node != m->ends[i].node;
		s->last_node = m->ends[i].node;
		m->by_rail = m->by_rail && s->nodes < 2;
	}
	qsort(list, (size_t)m->n_segments, sizeof(*list), subnet_compare);
	for (int i = 0; i < m->n_segments; i++) {
		ip_net_text(&list[i].net, m->segments[i],
			    sizeof(*m->segments));
	}
	for (int i = 0; i < m->n_ends; i++) {
		struct ip_net net = subnet_of(&m->ends[i]);

		m->ends[i].segment = m->ends[i].rail =
			(int)(find_subnet(list, m->n_segments, &net) - list);
	}
	if (m->by_rail) {
		number_by_position(m);
	}
	free(list);
	return 0;
}

/* ---- JSON -------------------------------------------------------------- */

/* Compose the message to @me: the part of the mesh @nodes that it pings. */
static json_t *tell_one(const struct ping_mesh *m, json_t *nodes,
			json_t *segments, int me)
{
	json_t *told = json_array();
	size_t at = 0;

	for (int i = 0; i < m->n_nodes; i++) {
		if (i == me) {
			at = json_array_size(told);
		}
		if (i == me || pinglist_has(&m->list, me, i)) {
			json_array_append(told,
					  json_array_get(nodes, (size_t)i));
		}
	}
	return json_pack("{s:I,s:i,s:{s:b,s:b,s:O,s:o}}", "me", (json_int_t)at,
			 "fleet", m->n_nodes, "mesh", "cross", m->cross,
			 "by_rail", m->by_rail, "segments", segments, "nodes",
			 told);
}

json_t *ping_mesh_tell(const struct ping_mesh *m)
{
	json_t *nodes = json_array(), *segments = json_array();
	json_t *tell = json_array();

	for (int i = 0; i < m->n_nodes; i++) {
		const struct ping_node *n = &m->nodes[i];
		json_t *ends = json_array();

		for (int k = n->first; k < n->first + n->n; k++) {
			json_t *end = interface_json(&m->ends[k].at);

			json_object_set_new(end, "segment",
					    json_integer(m->ends[k].segment));
			json_object_set_new(end, "rail",
					    json_integer(m->ends[k].rail));
			json_array_append_new(ends, end);
		}
		json_array_append_new(nodes, json_pack(
			"{s:s,s:b,s:o,s:o}", "name", n->name, "here", n->here,
			"door", schema_json(ping_door_fields, n), "ends",
			ends));
	}
	for (int i = 0; i < m->n_segments; i++) {
		json_array_append_new(segments, json_string(m->segments[i]));
	}
	for (int i = 0; i < m->n_nodes; i++) {
		json_array_append_new(tell, !m->nodes[i].here ? json_null() :
					    tell_one(m, nodes, segments, i));
	}
	json_decref(nodes);
	json_decref(segments);
	return tell;
}

static int parse_node(const json_t *json, struct ping_mesh *m, struct err *e)
{
	struct ping_node *n = &m->nodes[m->n_nodes];
	json_t *ends = json_get_array(json, "ends", INTERFACE_MAX, e), *end;
	int64_t segment, rail;
	size_t i;

	if (ends == NULL ||
	    json_get_text(json, "name", n->name, sizeof(n->name), e) < 0 ||
	    json_get_bool(json, "here", &n->here, e) < 0 ||
	    schema_read(ping_door_fields, n,
			json_object_get(json, "door"), e) < 0) {
		return -1;
	}
	n->first = m->n_ends;
	json_array_foreach(ends, i, end) {
		struct ping_end *to = &m->ends[m->n_ends];

		if (interface_parse(end, &to->at, e) < 0 ||
		    json_get_int(end, "segment", 0, m->n_segments - 1, &segment,
				 e) < 0 ||
		    json_get_int(end, "rail", 0, PING_MAX_ENDS, &rail, e) < 0) {
			return -1;
		}
		to->node = m->n_nodes;
		to->segment = (int)segment;
		to->rail = (int)rail;
		m->n_ends++;
	}
	n->n = m->n_ends - n->first;
	m->n_nodes++;
	return 0;
}

static int parse_all(const json_t *json, struct ping_mesh *m, struct err *e)
{
	json_t *nodes = json_get_array(json, "nodes", PING_MAX_NODES, e);
	json_t *segments = json_get_array(json, "segments", PING_MAX_ENDS, e);
	size_t ends = 0, i;
	json_t *v;

	json_array_foreach(nodes, i, v) {
		ends += json_array_size(run_entry_of(v).ends);
	}
	if (nodes == NULL || segments == NULL || ends > PING_MAX_ENDS ||
	    json_get_bool(json, "cross", &m->cross, e) < 0 ||
	    json_get_bool(json, "by_rail", &m->by_rail, e) < 0) {
		return -1;
	}
	m->nodes = calloc(json_array_size(nodes) + 1, sizeof(*m->nodes));
	m->ends = calloc(ends + 1, sizeof(*m->ends));
	m->segments = calloc(json_array_size(segments) + 1,
			     sizeof(*m->segments));
	if (m->nodes == NULL || m->ends == NULL || m->segments == NULL) {
		return err_set(e, ENOMEM, "no memory for %zu addresses", ends);
	}
	json_array_foreach(segments, i, v) {
		const char *text = json_string_value(v);

		STR_COPY(m->segments[m->n_segments++], text ? text : "?");
	}
	json_array_foreach(nodes, i, v) {
		if (parse_node(v, m, e) < 0) {
			return -1;
		}
	}
	return 0;
}

int ping_mesh_parse(const json_t *json, struct ping_mesh *m, struct err *e)
{
	*m = (struct ping_mesh){ 0 };
	if (parse_all(json, m, e) < 0) {
		ping_mesh_release(m);
		return -1;
	}
	return 0;
}
