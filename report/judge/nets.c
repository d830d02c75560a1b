/* SPDX-License-Identifier: BSD-3-Clause */
/* What each node has for its traffic to others, by facts. */
#include "report/judge/nets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"
#include "lib/data/port_filter.h"

/** Settings of users that decide, and which of their values do not. */
static const struct setting {
	const char *name, *unless;
} settings[] = {
	{ .name = "NCCL_IB_DISABLE", .unless = "0" },
	{ .name = "NCCL_NET", .unless = "IB" },
};

/** Values that limit GPUDirect to less than one PCIe switch, and to what. */
static const struct gdr_limit {
	const char *name, *value;
	enum link reach;
} gdr_limits[] = {
#define LEVEL "NCCL_NET_GDR_LEVEL"
	{ .name = "NCCL_NET_GDR_READ", .value = "0", .reach = LINK_NONE },
	{ .name = LEVEL, .value = "0", .reach = LINK_NONE },
	{ .name = LEVEL, .value = "LOC", .reach = LINK_NONE },
	{ .name = LEVEL, .value = "NVL", .reach = LINK_NONE },
	{ .name = LEVEL, .value = "NVB", .reach = LINK_NONE },
	{ .name = LEVEL, .value = "C2C", .reach = LINK_NONE },
	{ .name = LEVEL, .value = "1", .reach = LINK_PIX },
	{ .name = LEVEL, .value = "PIX", .reach = LINK_PIX },
#undef LEVEL
};

static void take_setting(struct node_net *n, const struct fact_row *f)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		const struct setting *s = &settings[i];

		if (strcmp(f->fact, s->name) == 0 &&
		    strcasecmp(f->value, s->unless) != 0) {
			n->set = f;
		}
	}
	n->gid_set |= (strcmp(f->fact, "NCCL_IB_GID_INDEX") == 0 &&
		       f->value[0] >= '0' && f->value[0] <= '9') ||
		      (strcmp(f->fact, "NCCL_IB_ADDR_FAMILY") == 0 &&
		       strcmp(f->value, "AF_INET6") == 0);
	for (size_t i = 0; i < sizeof(gdr_limits) / sizeof(*gdr_limits); i++) {
		const struct gdr_limit *l = &gdr_limits[i];

		if (strcmp(f->fact, l->name) == 0 &&
		    strcasecmp(f->value, l->value) == 0 &&
		    l->reach > n->gdr_reach) {
			n->gdr = f;
			n->gdr_reach = l->reach;
		}
	}
}

/** What rank number @gpu of its node says of NCCL. */
static void take_rank(struct node_net *n, const struct fact_row *f)
{
	if (strcmp(f->fact, "network") == 0 && !n->network) {
		n->network = f->value;
	} else if (strcmp(f->fact, "network_nic") == 0 && !n->socket[0]) {
		STR_COPY(n->socket, f->value);
		n->socket[strcspn(n->socket, "+")] = '\0';
	} else if (strcmp(f->fact, "network_why") == 0 && !n->why[0]) {
		n->why = f->value;
	}
}

/** "gpu3-mlx5_0 link PIX" */
static void take_link(struct nets *x, int node, const struct fact_row *f)
{
	const struct run_node *n = &x->run->nodes[node];
	enum link link = strcmp(f->value, "PIX") == 0 ? LINK_PIX :
			 strcmp(f->value, "PXB") == 0 ? LINK_PXB : LINK_FAR;
	char nic[64];
	int gpu;

	if (sscanf(f->scope, "gpu%4d-%63s", &gpu, nic) == 2 && gpu >= 0 &&
	    gpu < n->gpus && !str_starts(nic, "gpu") &&
	    link > x->near[n->first_rank + gpu]) {
		x->near[n->first_rank + gpu] = link;
	}
}

/** A port, by its facts, which stand together. */
struct port_read {
	int node;
	char name[64];
	bool active, hardware, efa;
};

/** May jobs use port @name of @node?  One of storage or management is none of
 *  the planned layout; where that is not known NCCL_IB_HCA says it. */
static bool is_meant(const struct nets *x, int node, const char *name)
{
	const json_t *names = json_object_get(
		json_array_get(json_object_get(x->run->json, "nodes"),
			       (size_t)node), "nic_names"), *nic;
	const struct fact_row *hca = x->nodes[node].hca;
	size_t i;

	json_array_foreach(names, i, nic) {
		if (json_is_string(nic) &&
		    str_names_meet(name, json_string_value(nic))) {
			return true;
		}
	}
	return json_array_size(names) == 0 &&
	       (!hca || port_matches(hca->value, name));
}

/** Does the layout, or the user, name the NICs of @node? */
static bool knows_nics(const struct nets *x, int node)
{
	return x->nodes[node].hca ||
	       json_object_get(json_array_get(json_object_get(x->run->json,
							      "nodes"),
					      (size_t)node), "nic_names");
}

/** NCCL takes the address at index 0 unless one of its family comes behind, and
 *  that is IPv4. */
static bool takes_link(const char *kinds)
{
	return str_starts(kinds, "0:link") && strstr(kinds, ":IPv6") &&
	       !strstr(kinds, ":IPv4");
}

static void take_port(struct nets *x, struct port_read *p,
		      const struct fact_row *f)
{
	struct node_net *n = &x->nodes[p->node];
	double GB_s = strtod(f->value, NULL);

	if (strcmp(f->fact, "port_state") == 0) {
		p->active = strcmp(f->value, "ACTIVE") == 0;
	} else if (strcmp(f->fact, "software") == 0) {
		p->hardware = false;
	} else if (strcmp(f->fact, "link_layer") == 0) {
		p->efa = strcmp(f->value, "InfiniBand") != 0 &&
			 strcmp(f->value, "Ethernet") != 0;
	} else if (strcmp(f->fact, "gid_kinds") == 0 && p->active &&
		   takes_link(f->value) && knows_nics(x, p->node) &&
		   is_meant(x, p->node, p->name)) {
		if (n->by_link++ == 0) {
			STR_COPY(n->by_link_name, p->name);
		}
	} else if (strcmp(f->fact, "line_rate") == 0 && p->active &&
		   p->hardware) {
		struct rdma *r = is_meant(x, p->node, p->name) ? &n->rdma :
								 &n->left_out;

		if (GB_s > r->GB_s) {
			*r = (struct rdma){ .GB_s = GB_s, .efa = p->efa };
			STR_COPY(r->name, p->name);
		}
	}
}

/** The user's lists of HCAs; they stand behind the ports. */
static void read_hcas(struct nets *x)
{
	int node = -1;

	for (size_t i = 0; i < x->run->n_facts; i++) {
		const struct fact_row *f = &x->run->facts[i];

		if (strcmp(f->fact, "NCCL_IB_HCA") == 0 && f->value[0]) {
			node = run_find_node(x->run, f->node, node);
		} else {
			continue;
		}
		if (node >= 0) {
			x->nodes[node].hca = f;
		}
	}
}

/** A list that leaves no port is what keeps NCCL from RDMA. */
static void judge_hcas(struct nets *x)
{
	for (int i = 0; i < x->run->n_nodes; i++) {
		struct node_net *n = &x->nodes[i];

		if (n->rdma.GB_s <= 0 && n->left_out.GB_s > 0 && n->hca &&
		    !json_object_get(json_array_get(
			    json_object_get(x->run->json, "nodes"), (size_t)i),
			    "nic_names")) {
			n->rdma = n->left_out;
			n->set = n->set ? n->set : n->hca;
		}
	}
}

static void read_facts(struct nets *x)
{
	struct port_read port = { .node = -1 };
	int node = -1;

	for (size_t i = 0; i < x->run->n_facts; i++) {
		const struct fact_row *f = &x->run->facts[i];

		node = run_find_node(x->run, f->node, node);
		if (node < 0) {
			continue;
		}
		if (port.node != node || strcmp(port.name, f->scope) != 0) {
			port = (struct port_read){ .node = node,
						   .hardware = true };
			STR_COPY(port.name, f->scope);
		}
		take_port(x, &port, f);
		if (strcmp(f->scope, "node") == 0) {
			take_setting(&x->nodes[node], f);
		} else if (run_number_in(f->scope, "gpu") >= 0) {
			take_rank(&x->nodes[node], f);
		} else if (strcmp(f->fact, "link") == 0) {
			take_link(x, node, f);
		}
	}
}

/** How fast the interfaces are; IPoIB takes from the port what RDMA would. */
static void read_sockets(struct nets *x)
{
	int node = -1;

	for (size_t i = 0; i < x->run->n_facts; i++) {
		const struct fact_row *f = &x->run->facts[i];
		struct node_net *n;

		node = run_find_node(x->run, f->node, node);
		n = node < 0 ? NULL : &x->nodes[node];
		if (!n || !n->socket[0] || strcmp(f->scope, n->socket) != 0) {
			continue;
		}
		if (strcmp(f->fact, "ipoib") == 0) {
			n->socket_GB_s = 0;
		} else if (strcmp(f->fact, "line_rate") == 0 &&
			   isnan(n->socket_GB_s)) {
			n->socket_GB_s = strtod(f->value, NULL);
		}
	}
}

/** GPUs that no NIC can read, whatever the driver. */
static void leave_out_toys(struct nets *x)
{
	for (size_t i = 0; i < x->run->n_facts; i++) {
		const struct fact_row *f = &x->run->facts[i];
		int gpu = run_number_in(f->scope, "gpu");
		int node = gpu >= 0 && strcmp(f->fact, "name") == 0 &&
					   (strstr(f->value, "GeForce") ||
					    strstr(f->value, "TITAN")) ?
				   run_find_node(x->run, f->node, -1) : -1;

		if (node >= 0 && gpu < x->run->nodes[node].gpus) {
			x->near[x->run->nodes[node].first_rank + gpu] =
				LINK_FAR;
		}
	}
}

int nets_init(const struct run *run, struct nets *x)
{
	*x = (struct nets){
		.run = run,
		.nodes = calloc((size_t)run->n_nodes + 1, sizeof(*x->nodes)),
		.near = calloc((size_t)run->n_ranks + 1, sizeof(*x->near)),
	};
	if (!x->nodes || !x->near) {
		return -1;
	}
	for (int i = 0; i < run->n_nodes; i++) {
		x->nodes[i].socket_GB_s = NAN;
		x->nodes[i].why = "";
	}
	read_hcas(x);
	read_facts(x);
	judge_hcas(x);
	read_sockets(x);
	leave_out_toys(x);
	return 0;
}

void nets_release(struct nets *x)
{
	free(x->nodes);
	free(x->near);
}
