/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/ladder_match.h"

#include <stdio.h>
#include <string.h>

#include "lib/data/json.h"

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
	return strcmp(json_member(a, key), json_member(b, key)) == 0;
}

/** Both null, or the same number. */
static bool same_number(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	return json_is_integer(x) == json_is_integer(y) &&
	       json_integer_value(x) == json_integer_value(y);
}

static bool is(const json_t *part, const char *kind)
{
	return strcmp(json_member(part, "kind"), kind) == 0;
}

/** The nodes that a part stands for; both without, or the same ones. */
static bool same_list(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	return x && y ? json_equal(x, y) : !x == !y;
}

/** What a probe numbers the parts by; a number means the same within one. */
enum numbering { BY_GPU, BY_PORT, BY_SEGMENT };

static enum numbering numbering(const char *probe)
{
	return strcmp(probe, "ping") == 0 ? BY_SEGMENT :
	       strcmp(probe, "ib") == 0	  ? BY_PORT :
					    BY_GPU;
}

/** "mlx5_2" of "mlx5_2:1" and of the interface that belongs to it. */
static void hca_name(const json_t *part, const json_t *netdevs, char *buf,
		     size_t size)
{
	const char *name = json_member(part, "name"), *hca;
	char key[160];

	snprintf(key, sizeof(key), "%s/%s", json_member(part, "node"), name);
	hca = json_string_value(json_object_get(netdevs, key));
	snprintf(buf, size, "%s", hca ? hca : name);
	buf[strcspn(buf, ":")] = '\0';
}

static bool same_nic(struct ladder_said a, struct ladder_said b,
		     const json_t *netdevs)
{
	char one[64], other[64];

	hca_name(a.part, netdevs, one, sizeof(one));
	hca_name(b.part, netdevs, other, sizeof(other));
	if (one[0] && other[0]) {
		return strcmp(one, other) == 0;
	}
	return (numbering(a.probe) == BY_SEGMENT) ==
		       (numbering(b.probe) == BY_SEGMENT) &&
	       same_number(a.part, b.part, "index");
}

bool ladder_same(struct ladder_said a, struct ladder_said b,
		 const json_t *netdevs)
{
	enum numbering one = numbering(a.probe), other = numbering(b.probe);

	if (!same_text(a.part, b.part, "kind") ||
	    !same_text(a.part, b.part, "node") ||
	    !same_text(a.part, b.part, "peer_node")) {
		return false;
	}
	if (is(a.part, "nic")) {
		return same_nic(a, b, netdevs);
	}
	if (is(a.part, "switch")) {
		return same_text(a.part, b.part, "name") &&
		       same_list(a.part, b.part, "uplinks");
	}
	if (is(a.part, "config") || is(a.part, "limit")) {
		return same_text(a.part, b.part, "code") &&
		       same_list(a.part, b.part, "members") &&
		       same_number(a.part, b.part, "index");
	}
	/* a rail of ping is a subnet, a pair of ib two ports */
	if ((is(a.part, "rail") &&
	     (one == BY_SEGMENT) != (other == BY_SEGMENT)) ||
	    (is(a.part, "pair") && one != other)) {
		return false;
	}
	return same_number(a.part, b.part, "index") &&
	       same_number(a.part, b.part, "peer_index");
}

/* ---- what cannot work without what -------------------------------------- */

static bool on_node(struct ladder_said low, struct ladder_said high)
{
	const char *node = json_member(low.part, "node");

	return node[0] && (strcmp(node, json_member(high.part, "node")) == 0 ||
			   strcmp(node, json_member(high.part, "peer_node")) ==
				   0);
}

static bool between_nodes(struct ladder_said low, struct ladder_said high)
{
	(void)low;
	return !is(high.part, "pair") ||
	       strcmp(json_member(high.part, "node"),
		      json_member(high.part, "peer_node")) != 0;
}

static bool of_rail(struct ladder_said low, struct ladder_said high)
{
	return (numbering(low.probe) == BY_SEGMENT) ==
		       (numbering(high.probe) == BY_SEGMENT) &&
	       same_number(low.part, high.part, "index");
}

static bool same_nodes(struct ladder_said low, struct ladder_said high)
{
	return same_text(low.part, high.part, "node") &&
	       same_text(low.part, high.part, "peer_node");
}

/** Is @high about memory that could not be locked, there? */
static bool lacks_memory(struct ladder_said low, struct ladder_said high)
{
	static const char *const words[] = {
		"nomem", "memlock", "cannot allocate memory", NULL
	};
	const char *node = json_member(low.part, "node");

	if (node[0] && !on_node(low, high)) {
		return false;
	}
	for (int i = 0; words[i]; i++) {
		if (strcasestr(json_member(high.part, "code"), words[i]) ||
		    strcasestr(json_member(high.part, "says"), words[i])) {
			return true;
		}
	}
	return false;
}

/** All take part in a collective: whatever is dead below ends it.  It does not
 *  make a sum wrong, nor a library missing. */
static bool is_collective(struct ladder_said low, struct ladder_said high)
{
	static const char *const others[] = {
		"memlock", "ping", "ib", "p2p", NULL
	};

	const char *says = json_member(high.part, "says");

	if (strcmp(low.probe, "memlock") == 0 ||
	    json_member(high.part, "node")[0] ||
	    (!strstr(says, "no end before the deadline") &&
	     !strstr(says, "it failed"))) {
		return false;
	}
	for (int i = 0; others[i]; i++) {
		if (strcmp(high.probe, others[i]) == 0) {
			return false;
		}
	}
	return true;
}

static const struct {
	const char *low, *high;	/* kinds */
	bool (*fits)(struct ladder_said low, struct ladder_said high);
} rules[] = {
	{ "node", "nic", on_node },
	{ "node", "gpu", on_node },
	{ "node", "pair", on_node },
	{ "node", "node_pair", on_node },
	{ "node", "intra_node", on_node },
	{ "node", "config", on_node },
	{ "node", "limit", on_node },
	{ "nic", "node", on_node },
	{ "rail", "nic", of_rail },
	{ "node_pair", "pair", same_nodes },
	{ "inter_node", "switch", between_nodes },
	{ "inter_node", "rail", between_nodes },
	{ "inter_node", "cross_rail", between_nodes },
	{ "inter_node", "node_pair", between_nodes },
	{ "inter_node", "pair", between_nodes },
	{ "inter_node", "nic", between_nodes },
	{ "limit", "nic", lacks_memory },
	{ "limit", "node", lacks_memory },
	{ "limit", "gpu", lacks_memory },
	{ "limit", "pair", lacks_memory },
	{ "limit", "node_pair", lacks_memory },
	{ "limit", "inter_node", lacks_memory },
	{ "limit", "rail", lacks_memory },
	{ "inter_node", "config", is_collective },
	{ "rail", "config", is_collective },
	{ "switch", "config", is_collective },
	{ "node", "config", is_collective },
	{ "node_pair", "config", is_collective },
	{ "nic", "config", is_collective },
	{ "gpu", "config", is_collective },
	{ "pair", "config", is_collective },
};

bool ladder_explains(struct ladder_said low, struct ladder_said high,
		     const json_t *netdevs)
{
	if (strcmp(json_member(low.part, "severity"), "fail") != 0) {
		return false;
	}
	if (ladder_same(low, high, netdevs)) {
		return true;
	}
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (is(low.part, rules[i].low) &&
		    is(high.part, rules[i].high) && rules[i].fits(low, high)) {
			return true;
		}
	}
	return false;
}
