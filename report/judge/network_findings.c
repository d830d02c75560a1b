/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings about pairs and collectives that pass, but not on the best path of
 * the hardware: TCP although an RDMA port is free, host memory although the NIC
 * can read the GPU, an address that no router forwards.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "lib/data/hosts.h"
#include "report/judge/findings.h"

/* ---- nets ---------------------------------------------------------------- */

/* Reads from facts which network each node has for traffic with others. */

/** The network of a node for traffic with other nodes. */
struct node_net {
	struct rdma {
		double GB_s;	/* of its fastest active port; 0: no port */
		const char *name;
		bool efa;	/* which NCCL only uses by a plugin */
	} rdma, left_out;	/* of those planned, of those NCCL_IB_HCA leaves
				 * out */
	const struct fact_row *hca;	/* NCCL_IB_HCA, if set */
	const char *network;	/* that NCCL has chosen; NULL: not said */
	char socket[64];	/* the interface that NCCL uses */
	double socket_GB_s;	/* NAN: not known */
	const struct fact_row *set;	/* what keeps NCCL from RDMA, */
	const struct fact_row *gdr;	/* from GPUDirect, but for links as near
					 * as gdr_reach: the user's */
	enum link { LINK_FAR, LINK_PXB, LINK_PIX, LINK_NONE } gdr_reach;
	const char *why;	/* NCCL's words, "" = none */
	int by_link;		/* ports whose address that NCCL takes for
				 * jobs has no route, though another one has */
	const char *by_link_name;	/* the first of them */
	bool gid_set;		/* the user says which address it is */
	int lossy;		/* ports that protect other priorities than that
				 * of NCCL's packets */
	const struct fact_row *priority;	/* of the first of them */
	const char *pfc;	/* priorities that it protects */
};

/** Networks of the nodes of a run. */
struct nets {
	const struct run *run;
	struct node_net *nodes;
	enum link *near;	/* of ranks to a NIC below one PCIe switch with
				 * their GPU, of a model that can */
};

/** Settings of users that decide, and which of their values do not. */
static const struct {
	const char *name, *unless;
} settings[] = {
	{ .name = "NCCL_IB_DISABLE", .unless = "0" },
	{ .name = "NCCL_NET", .unless = "IB" },
};

/** Values that limit GPUDirect to less than one PCIe switch, and to what. */
static const struct {
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
		if (strcmp(f->fact, settings[i].name) == 0 &&
		    strcasecmp(f->value, settings[i].unless) != 0) {
			n->set = f;
		}
	}
	n->gid_set |= (strcmp(f->fact, "NCCL_IB_GID_INDEX") == 0 &&
		       f->value[0] >= '0' && f->value[0] <= '9') ||
		      (strcmp(f->fact, "NCCL_IB_ADDR_FAMILY") == 0 &&
		       strcmp(f->value, "AF_INET6") == 0);
	for (size_t i = 0; i < sizeof(gdr_limits) / sizeof(*gdr_limits); i++) {
		enum link reach = gdr_limits[i].reach;

		if (strcmp(f->fact, gdr_limits[i].name) == 0 &&
		    strcasecmp(f->value, gdr_limits[i].value) == 0 &&
		    reach > n->gdr_reach) {
			n->gdr = f;
			n->gdr_reach = reach;
		}
	}
}

/** Returns the names of the NICs of @node in the layout; NULL: none. */
static const json_t *nic_names(const struct nets *x, int node)
{
	return run_entry(run_file(x->run->json).nodes, (size_t)node).nic_names;
}

/** Returns true if jobs may use port @name of @node.  Storage and management
 *  ports are not in the planned layout; if there is none, NCCL_IB_HCA
 *  decides. */
static bool is_meant(const struct nets *x, int node, const char *name)
{
	const json_t *names = nic_names(x, node), *nic;
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

/** Takes what the fact @f says of a port, if that is active. */
static void take_port(struct nets *x, int node, const struct fact_row *f)
{
	static const char *const facts[] = {
		"gid_kinds", "roce_priority", "line_rate", NULL
	};
	const struct run *run = x->run;
	struct node_net *n = &x->nodes[node];
	const char *port = f->scope, *pfc, *layer;
	double GB_s = strtod(f->value, NULL);
	bool meant, chosen;

	if (str_index(facts, f->fact) < 0 ||
	    strcmp(run_fact_beside(run, f, "port_state"), "ACTIVE") != 0) {
		return;
	}
	pfc = run_fact_beside(run, f, "pfc");
	layer = run_fact_beside(run, f, "link_layer");
	meant = is_meant(x, node, port);
	chosen = meant && (n->hca || nic_names(x, node));
	/* NCCL takes the address at index 0 unless one of its family comes
	 * after it, and that is IPv4 */
	if (strcmp(f->fact, "gid_kinds") == 0 && chosen &&
	    str_starts(f->value, "0:link") && strstr(f->value, ":IPv6") &&
	    !strstr(f->value, ":IPv4")) {
		n->by_link_name = n->by_link++ == 0 ? port : n->by_link_name;
	} else if (strcmp(f->fact, "roce_priority") == 0 && chosen && pfc[0] &&
		   strcmp(pfc, "none") != 0 && !strstr(pfc, f->value)) {
		n->pfc = n->lossy++ == 0 ? pfc : n->pfc;
		n->priority = n->lossy == 1 ? f : n->priority;
	} else if (strcmp(f->fact, "line_rate") == 0 &&
		   !run_fact_beside(run, f, "software")[0]) {
		struct rdma *r = meant ? &n->rdma : &n->left_out;

		if (GB_s > r->GB_s) {
			*r = (struct rdma){
				.GB_s = GB_s, .name = port,
				.efa = layer[0] &&
				       strcmp(layer, "InfiniBand") != 0 &&
				       strcmp(layer, "Ethernet") != 0,
			};
		}
	}
}

/** Takes what the fact @f says of the network of its node. */
static void take_fact(struct nets *x, int node, const struct fact_row *f)
{
	struct node_net *n = &x->nodes[node];
	const struct cluster_node *c = &x->run->nodes[node];
	enum link link = strcmp(f->value, "PIX") == 0 ? LINK_PIX :
			 strcmp(f->value, "PXB") == 0 ? LINK_PXB : LINK_FAR;
	char nic[64];
	int gpu;

	if (strcmp(f->scope, "node") == 0) {
		take_setting(n, f);
	} else if (run_number_in(f->scope, "gpu") >= 0) {
		if (strcmp(f->fact, "network") == 0 && !n->network) {
			n->network = f->value;
		} else if (strcmp(f->fact, "network_nic") == 0 &&
			   !n->socket[0]) {
			STR_COPY(n->socket, f->value);
			n->socket[strcspn(n->socket, "+")] = '\0';
		} else if (strcmp(f->fact, "network_why") == 0 && !n->why[0]) {
			n->why = f->value;
		}
	/* "gpu3-mlx5_0 link PIX" */
	} else if (strcmp(f->fact, "link") == 0 &&
		   sscanf(f->scope, "gpu%4d-%63s", &gpu, nic) == 2 &&
		   gpu >= 0 && gpu < c->gpus && !str_starts(nic, "gpu") &&
		   link > x->near[c->first_rank + gpu]) {
		x->near[c->first_rank + gpu] = link;
	}
}

/** Reads facts that need the others: the rates of the interfaces that NCCL
 *  uses (IPoIB takes from the port what RDMA would), and GPUs that no NIC can
 *  read, whatever the driver. */
static void read_late_facts(struct nets *x)
{
	int node = -1;

	run_foreach_fact(x->run, f) {
		int gpu = run_number_in(f->scope, "gpu");
		struct node_net *n;

		node = run_find_node(x->run, f->node, node);
		if (node < 0) {
			continue;
		}
		n = &x->nodes[node];
		if (gpu >= 0 && gpu < x->run->nodes[node].gpus &&
		    strcmp(f->fact, "name") == 0 &&
		    (strstr(f->value, "GeForce") ||
		     strstr(f->value, "TITAN"))) {
			x->near[x->run->nodes[node].first_rank + gpu] =
				LINK_FAR;
		}
		if (!n->socket[0] || strcmp(f->scope, n->socket) != 0) {
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

/* By the facts of @run, which is borrowed: 0, or -1 without memory.
 * nets_release() in any case. */
static int nets_init(const struct run *run, struct nets *x)
{
	int node = -1;

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
	/* the user's lists of HCAs, which are behind the ports */
	run_foreach_fact(run, f) {
		if (strcmp(f->fact, "NCCL_IB_HCA") != 0 || !f->value[0]) {
			continue;
		}
		node = run_find_node(run, f->node, node);
		if (node >= 0) {
			x->nodes[node].hca = f;
		}
	}
	run_foreach_fact(run, f) {
		node = run_find_node(run, f->node, node);
		if (node < 0) {
			continue;
		}
		take_port(x, node, f);
		take_fact(x, node, f);
	}
	/* a list that leaves no port is what keeps NCCL from RDMA */
	for (int i = 0; i < run->n_nodes; i++) {
		struct node_net *n = &x->nodes[i];

		if (n->rdma.GB_s <= 0 && n->left_out.GB_s > 0 && n->hca &&
		    !nic_names(x, i)) {
			n->rdma = n->left_out;
			n->set = n->set ? n->set : n->hca;
		}
	}
	read_late_facts(x);
	return 0;
}

static void nets_release(struct nets *x)
{
	free(x->nodes);
	free(x->near);
}

/* ---- odd ----------------------------------------------------------------- */

/** Returns which one of @n counts is @all; -1 if none or several are. */
static int only_one(const size_t *counts, int n, size_t all)
{
	int found = -1;

	for (int i = 0; i < n; i++) {
		if (counts[i] == all && found >= 0) {
			return -1;
		}
		found = counts[i] == all ? i : found;
	}
	return found;
}

/** Adds a finding, without code and text, about the set-up of the place that
 *  all cells @is marks have in common: one GPU, else one node, else all.  Its
 *  example is the first of them, and all of them are explained.  NULL: there
 *  are none. */
static struct finding *odd_find(const struct run *run, const bool *is,
				struct verdict *v)
{
	size_t *at_rank = calloc((size_t)(run->n_ranks + run->n_nodes) + 1,
				 sizeof(*at_rank));
	size_t *at_node = at_rank ? at_rank + run->n_ranks : NULL;
	size_t n = 0, first = 0;
	struct finding *f = NULL;
	int rank, node;

	v->failed |= !at_rank;
	for (size_t at = 0; at_rank && at < run_n_cells(run); at++) {
		int s = run_src(run, at), d = run_dst(run, at);
		int from = run->ranks[s].node, to = run->ranks[d].node;

		if (is[at]) {
			first = n++ == 0 ? at : first;
			at_rank[s]++;
			at_rank[d]++;
			at_node[from]++;
			at_node[to] += to != from;
		}
	}
	if (n > 0) {
		rank = only_one(at_rank, run->n_ranks, n);
		node = only_one(at_node, run->n_nodes, n);
		f = finding_add(v, rank < 0 ? part_at(PART_CONFIG, node, -1) :
				part_at(PART_CONFIG, run->ranks[rank].node,
					run->ranks[rank].gpu), "");
		f->explained = n;
		finding_set_example(run, f, first);
	}
	free(at_rank);
	return f;
}

/* ---- config findings ----------------------------------------------------- */


/** Removes "+PXN" from @way, since only the sender knows of it. */
static void drop_relay(char *way)
{
	char *relay = strstr(way, "+PXN");

	if (relay) {
		memmove(relay, relay + 4, strlen(relay + 4) + 1);
	}
}

/** Writes the path @path as its two ends see it: "NET/IB/GDRDMA>NET/IB", or one
 *  for both. */
static void way_of(const char *path, char ends[2][64])
{
	const char *other = strchr(path, '>');

	STR_COPY(ends[0], path);
	if (other) {
		ends[0][other - path] = '\0';
		other++;
	}
	STR_COPY(ends[1], other ? other : path);
	drop_relay(ends[0]);
	drop_relay(ends[1]);
}

/** Add that NCCL used another NIC than each worker was given, or replaced a
 *  failed port by another one of its NIC. */
static void other_nics(const struct run *run, struct verdict *v)
{
	const char *example = run->failover.n > 0 ?
		PART_CELL_NAME(run, run->failover.at) : "";
	struct finding *f = NULL;

	if (run->nic_other > 0 && strcmp(run_nic_choice(run), "plan") == 0) {
		f = finding_add(v, part_of_kind(PART_CONFIG),
				"nic_not_planned");
	}
	if (f) {
		f->cells = f->explained = run->nic_other;
		finding_say(f, "NCCL used another NIC than the plan has in "
			       "%zu reports (%s)", run->nic_other,
			    run->nic_other_says);
		finding_add_evidence(f, "%s", run->nic_other_says);
	}
	f = run->failover.n == 0 ? NULL :
	    finding_add(v, part_of_kind(PART_CONFIG), RECORD_FAILOVER);
	if (f) {
		f->cells = f->explained = run->failover.n;
		finding_set_example(run, f, run->failover.at);
		finding_say(f, "NCCL continued on another port of a NIC in "
			    "%zu test%s, for example %s", run->failover.n,
			    run->failover.n == 1 ? "" : "s", example);
		finding_add_evidence(f, "NCCL: %s", run->failover.says);
	}
}

void config_findings(const struct run *run, struct verdict *v)
{
	static const struct err_words kinds[] = {
		{ .code = "gdr_one_end",
		  .says = "use GPUDirect RDMA at only one end" },
		{ .code = "path_differs",
		  .says = "take a different path than the reverse direction" },
	};
	/* of run->paths: there are few */
	char (*ways)[2][64] = calloc(run->n_paths + 1, sizeof(*ways));
	bool *one_end = calloc(run->n_paths + 1, sizeof(*one_end));
	bool *odd = calloc(run_n_cells(run) + 1, sizeof(*odd));
	const bool whole = ways && one_end && odd;

	other_nics(run, v);
	v->failed |= !whole;
	for (size_t i = 0; whole && i < run->n_paths; i++) {
		way_of(run->paths[i], ways[i]);
		one_end[i] = !strstr(ways[i][0], "/GDRDMA") !=
			     !strstr(ways[i][1], "/GDRDMA");
	}
	for (size_t k = 0; whole && k < sizeof(kinds) / sizeof(*kinds); k++) {
		char example[512], name[PART_NAME_SIZE];
		struct finding *f;
		size_t at;

		/* a path that is not known is number 0 */
		run_foreach_cell(run, i) {
			size_t out = run->cell_way[i];
			size_t back = out ? run->cell_way[run_back(run, i)] : 0;

			odd[i] = k == 0 ? out && one_end[out] :
				 out && back &&
				 (strcmp(ways[out][0], ways[back][1]) != 0 ||
				  strcmp(ways[out][1], ways[back][0]) != 0);
		}
		f = odd_find(run, odd, v);
		if (!f) {
			continue;
		}
		at = run_at(run, f->src, f->dst);
		STR_COPY(f->code, kinds[k].code);
		run_foreach_cell(run, i) {
			f->cells += run->cell_way[i] != 0;
		}
		snprintf(example, sizeof(example),
			 "%s over %s, reverse over %s", PART_CELL_NAME(run, at),
			 run->paths[run->cell_way[at]],
			 run->paths[run->cell_way[run_back(run, at)]]);
		part_name(run, &f->part, name, sizeof(name));
		name[0] = 'T';		/* of "the set-up ..." */
		finding_say(f, "%s: %zu of %zu tests %s (%s)", name,
			    f->explained, f->cells, kinds[k].says, example);
		finding_add_evidence(f, "%s", example);
	}
	free(ways);
	free(one_end);
	free(odd);
}

/* ---- network findings ---------------------------------------------------- */

/** An RDMA port counts for this many times the rate of the sockets. */
#define FASTER 2

/* ---- cells --------------------------------------------------------------- */

static bool is_faster(const struct node_net *n, double bw_GB_s)
{
	return n->rdma.GB_s > 0 &&
	       n->rdma.GB_s >= FASTER * (isnan(n->socket_GB_s) ?
						 bw_GB_s : n->socket_GB_s);
}

static bool is_tcp(const struct nets *x, size_t at)
{
	const struct run *r = x->run;
	const struct cell *c = &r->cells[at];
	double GB_s = (double)c->bw_GB_s;

	return c->path == PATH_INTER && run_good(c->class) &&
	       strstr(r->paths[r->cell_way[at]], "NET/Socket") &&
	       is_faster(&x->nodes[r->ranks[run_src(r, at)].node], GB_s) &&
	       is_faster(&x->nodes[r->ranks[run_dst(r, at)].node], GB_s);
}

/** Return true if data of @rank goes through host memory although GPUDirect
 *  RDMA could be used; @way is the path as that end sees it. */
static bool end_bounces(const struct nets *x, const char *way, int rank)
{
	return str_starts(way, "NET/IB") && !strstr(way, "/GDRDMA") &&
	       x->near[rank];
}

/** Return at how many ends the data of the cell at @at goes through host
 *  memory although GPUDirect RDMA could be used there. */
static int count_bounces(const struct nets *x, size_t at)
{
	const struct run *r = x->run;
	const char *path = r->paths[r->cell_way[at]];
	char ends[2][64];

	/* a million cells: most have another path */
	if (r->cells[at].path != PATH_INTER || !strstr(path, "NET/IB")) {
		return 0;
	}
	way_of(path, ends);
	return end_bounces(x, ends[0], run_src(r, at)) +
	       end_bounces(x, ends[1], run_dst(r, at));
}

bool network_bounces(const struct run *run, size_t at)
{
	struct nets x = { 0 };
	const bool bounces = nets_init(run, &x) == 0 &&
			     count_bounces(&x, at) > 0;

	nets_release(&x);
	return bounces;
}

/* ---- sentences ----------------------------------------------------------- */

/** The user's setting that keeps the GPU of @rank from its NIC; NULL. */
static const struct fact_row *gdr_set(const struct nets *x, int rank)
{
	const struct node_net *n = &x->nodes[x->run->ranks[rank].node];

	return n->gdr_reach > x->near[rank] ? n->gdr : NULL;
}

static void tell_setting(const struct fact_row *set, struct finding *f)
{
	if (set) {
		finding_add_evidence(f, "%s=%s on %s (%s)", set->fact,
				     set->value, set->node, set->source);
	}
}

/** The code, and the whole sentence, of which @many says what used sockets:
 *  nodes @s and @d, of the @explained ones, at @bw GB/s. */
static void tell_tcp(const struct node_net *s, const struct node_net *d,
		     const char *many, double bw, struct finding *f)
{
	double rdma = fmin(s->rdma.GB_s, d->rdma.GB_s);
	const struct fact_row *set = s->set ? s->set : d->set;
	const char *why = s->why[0] ? s->why : d->why;
	char reason[300] = "";

	f->fail = !set;
	STR_COPY(f->code, set ? "net_socket_set" :
			  s->rdma.efa ? "net_socket_efa" : "net_socket");
	if (set) {
		snprintf(reason, sizeof(reason), "; %s=%.60s is set",
			 set->fact, set->value);
	} else if (why[0]) {
		snprintf(reason, sizeof(reason), "; NCCL: %s", why);
	}
	finding_say(f, "Jobs run over TCP between nodes: %s used sockets%s%s "
		    "at %.3g GB/s, %.2g %% of the %.3g GB/s of the active RDMA "
		    "port %s%s", many, s->socket[0] ? " by " : "", s->socket,
		    bw, 100 * bw / rdma, rdma, s->rdma.name, reason);
	tell_setting(set, f);
	if (why[0]) {
		finding_add_evidence(f, "NCCL: %s", why);
	}
}

/** Return true if NCCL uses RDMA on the node, as far as is known. */
static bool uses_rdma(const struct node_net *n)
{
	return !n->set && (!n->network || str_starts(n->network, "IB"));
}

static void find_gids(const struct nets *x, struct verdict *v)
{
	int nodes = 0, first = -1;
	size_t ports = 0;
	struct finding *f;

	for (int i = 0; i < x->run->n_nodes; i++) {
		const struct node_net *n = &x->nodes[i];

		/* no setting says which address to take */
		if (n->by_link > 0 && !n->gid_set && uses_rdma(n)) {
			first = nodes++ == 0 ? i : first;
			ports += (size_t)n->by_link;
		}
	}
	if (nodes == 0 || x->run->n_nodes < 2) {
		return;
	}
	f = finding_add(v, part_of_kind(PART_CONFIG), "gid_ipv6");
	f->cells = f->explained = ports;
	finding_say(f, "NCCL uses a link-local address on %zu RoCE ports of %d "
		    "nodes, for example %s of %s: they have IPv6 addresses but "
		    "no IPv4 address, which NCCL looks for, so it takes the "
		    "GID at index 0, which is not routed", ports,
		    nodes, x->nodes[first].by_link_name,
		    x->run->nodes[first].name);
	finding_add_evidence(f, "gid_kinds of %s on %s in facts.csv; "
			     "NCCL_IB_ADDR_FAMILY is not AF_INET6",
			     x->nodes[first].by_link_name,
			     x->run->nodes[first].name);
}

/** Find ports that protect some priorities from loss, but not that of NCCL's
 *  packets. */
static void find_lossy(const struct nets *x, struct verdict *v)
{
	const struct node_net *first = NULL;
	struct finding *f;
	size_t ports = 0;

	for (int i = 0; i < x->run->n_nodes; i++) {
		const struct node_net *n = &x->nodes[i];

		if (n->lossy > 0 && uses_rdma(n)) {
			first = first ? first : n;
			ports += (size_t)n->lossy;
		}
	}
	if (!first || x->run->n_nodes < 2) {
		return;
	}
	f = finding_add(v, part_of_kind(PART_CONFIG), "pfc_priority");
	f->cells = f->explained = ports;
	finding_say(f, "NCCL's packets have priority %s on %zu RoCE port%s, for "
		    "example %s of %s, but flow control (PFC) protects "
		    "priority %s: switches drop NCCL's packets when a buffer "
		    "is full", first->priority->value, ports,
		    ports == 1 ? "" : "s", first->priority->scope,
		    first->priority->node, first->pfc);
	finding_add_evidence(f, "roce_priority and pfc of %s on %s in facts.csv",
			     first->priority->scope, first->priority->node);
}

void network_findings(const struct run *run, struct verdict *v)
{
	static const struct part between = { .kind = PART_INTER_NODE };
	const struct fact_row *set;
	struct finding *f;
	struct nets x;
	double *bw;		/* of tests over TCP */
	bool *is;		/* marks of odd_find() */
	size_t k = 0;
	char many[64];

	/* nodes that one machine plays have to use sockets */
	if (!run->cells || run_option(run, "local")) {
		return;
	}
	bw = calloc(run_n_cells(run) + 1, sizeof(*bw));
	is = calloc(run_n_cells(run) + 1, sizeof(*is));
	if (nets_init(run, &x) < 0 || !bw || !is) {
		v->failed = true;
		free(bw);
		free(is);
		nets_release(&x);
		return;
	}
	run_foreach_cell(run, at) {
		is[at] = is_tcp(&x, at);
		if (is[at] && isfinite(run->cells[at].bw_GB_s)) {
			bw[k++] = (double)run->cells[at].bw_GB_s;
		}
	}
	f = odd_find(run, is, v);
	if (f) {
		f->cells = part_tests(run, &between, NULL);
		snprintf(many, sizeof(many), "%zu of %zu tests", f->explained,
			 f->cells);
		tell_tcp(&x.nodes[run->ranks[f->src].node],
			 &x.nodes[run->ranks[f->dst].node], many,
			 stats_median(bw, k), f);
	}
	run_foreach_cell(run, at) {
		is[at] = run_good(run->cells[at].class) &&
			 count_bounces(&x, at) == 2;
	}
	f = odd_find(run, is, v);
	if (f) {
		f->cells = part_tests(run, &between, NULL);
		set = gdr_set(&x, f->src);
		set = set ? set : gdr_set(&x, f->dst);
		STR_COPY(f->code, "gpudirect_missing");
		finding_say(f, "Data between nodes goes through host memory: "
			    "%zu of %zu tests did not use GPUDirect RDMA, "
			    "although GPU and NIC share a PCIe switch%s%s",
			    f->explained, f->cells, set ? "; set: " : "",
			    set ? set->fact : "");
		tell_setting(set, f);
	}
	find_gids(&x, v);
	find_lossy(&x, v);
	free(bw);
	free(is);
	nets_release(&x);
}

/* ---- collectives --------------------------------------------------------- */

static void find_collective(const struct nets *x, const struct sweep *s,
			    struct verdict *v)
{
	const struct node_net *ends[2] = { NULL, NULL };
	double bw = 0;		/* the best bus bandwidth between nodes */
	size_t n = 0;
	int nodes = 0;
	struct finding *f;
	char many[96];

	for (size_t i = 0; i < s->n; i++) {
		const struct collective_row *r = &s->rows[i];

		/* A variant that chooses the network itself: facts are of one
		 * of them. */
		if (strstr(r->variant, "NCCL_NET") ||
		    strstr(r->variant, "NCCL_IB_")) {
			return;
		}
		if (r->outcome == OUTCOME_OK && r->nodes > 1 &&
		    r->busbw_GB_s > 0) {
			bw = fmax(bw, r->busbw_GB_s);
			n++;
		}
	}
	for (int i = 0; bw > 0 && i < x->run->n_nodes; i++) {
		const struct node_net *node = &x->nodes[i];

		if (node->network && strcmp(node->network, "Socket") == 0 &&
		    is_faster(node, bw)) {
			ends[nodes > 0] = node;
			nodes++;
		}
	}
	if (nodes < 2) {
		return;		/* a way has two ends */
	}
	snprintf(many, sizeof(many), "NCCL on %d of %d nodes", nodes,
		 x->run->n_nodes);
	f = finding_add(v, part_of_kind(PART_CONFIG), "");
	f->cells = f->explained = n;
	tell_tcp(ends[0], ends[1], many, bw, f);
}

void collective_network_findings(const struct run *run, const struct sweep *s,
				 struct verdict *v)
{
	struct nets x;

	if (run_option(run, "local")) {
		return;
	}
	if (nets_init(run, &x) < 0) {
		v->failed = true;
	} else {
		find_collective(&x, s, v);
		find_gids(&x, v);
	}
	nets_release(&x);
}
