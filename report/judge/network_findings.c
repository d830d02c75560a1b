/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairs and collectives that pass, but not by the way that the hardware has for
 * them: by TCP where an RDMA port is free, by host memory where the NIC could
 * read the GPU, by an address that no router passes on.
 */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "report/judge/nets.h"
#include "report/judge/odd.h"

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

static bool is_bounced(const struct nets *x, size_t at)
{
	const struct run *r = x->run;
	const char *way = r->paths[r->cell_way[at]];

	return r->cells[at].path == PATH_INTER &&
	       run_good(r->cells[at].class) && str_starts(way, "NET/IB") &&
	       !strstr(way, "/GDRDMA") && x->near[run_src(r, at)] &&
	       x->near[run_dst(r, at)];
}

/** The median rate of those that @is_odd says; NAN of none. */
static double median_GB_s(const struct nets *x,
			  bool (*is_odd)(const struct nets *x, size_t at),
			  size_t n)
{
	double *bw = calloc(n + 1, sizeof(*bw)), median;
	size_t k = 0;

	for (size_t at = 0; bw && at < run_n_cells(x->run); at++) {
		if (k < n && is_odd(x, at) &&
		    isfinite(x->run->cells[at].bw_GB_s)) {
			bw[k++] = (double)x->run->cells[at].bw_GB_s;
		}
	}
	median = bw ? stats_median(bw, k) : NAN;
	free(bw);
	return median;
}

/* ---- sentences ----------------------------------------------------------- */

/** The user's setting that keeps the GPU of @rank from its NIC; NULL. */
static const struct fact_row *gdr_set(const struct nets *x, int rank)
{
	const struct node_net *n = &x->nodes[x->run->ranks[rank].node];

	return n->gdr_reach > x->near[rank] ? n->gdr : NULL;
}

/** The first node of which @f says something. */
static const struct node_net *first_of(const struct nets *x,
				       const struct finding *f)
{
	return &x->nodes[x->run->ranks[f->src].node];
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

static void say_tcp(const struct nets *x, struct finding *f)
{
	char many[64];

	snprintf(many, sizeof(many), "%zu of %zu tests", f->explained,
		 f->cells);
	tell_tcp(first_of(x, f), &x->nodes[x->run->ranks[f->dst].node], many,
		 median_GB_s(x, is_tcp, f->explained), f);
}

static void say_bounced(const struct nets *x, struct finding *f)
{
	const struct fact_row *set = gdr_set(x, f->src);

	set = set ? set : gdr_set(x, f->dst);
	STR_COPY(f->code, "gpudirect_missing");
	finding_say(f, "Data between nodes goes through host memory: %zu of "
		    "%zu tests did without GPUDirect RDMA, though GPU and NIC "
		    "are below one PCIe switch%s%s", f->explained, f->cells,
		    set ? "; set: " : "", set ? set->fact : "");
	tell_setting(set, f);
}

static const struct lack {
	bool (*is_odd)(const struct nets *x, size_t at);
	void (*say)(const struct nets *x, struct finding *f);
} lacks[] = {
	{ .is_odd = is_tcp, .say = say_tcp },
	{ .is_odd = is_bounced, .say = say_bounced },
};

static void find_lack(const struct nets *x, const struct lack *l,
		      struct verdict *v)
{
	static const struct part between = { .kind = PART_INTER_NODE };
	const struct run *run = x->run;
	struct finding *f;
	struct part p;
	struct odd o;

	if (odd_init(run, &o) < 0) {
		v->failed = true;
		return;
	}
	for (size_t at = 0; at < run_n_cells(run); at++) {
		if (l->is_odd(x, at)) {
			odd_add(run, &o, at);
		}
	}
	if (o.n > 0) {
		p = odd_place(run, &o);
		f = finding_add(v, &p, "");
		f->cells = part_measured(run, &between);
		f->explained = o.n;
		finding_set_example(run, f, o.first);
		l->say(x, f);
	}
	odd_release(&o);
}

/** Of a node on its own: NCCL does use RDMA there, and nobody has told it which
 *  address to take. */
static bool trips_over_gid(const struct node_net *n)
{
	return n->by_link > 0 && !n->gid_set && !n->set &&
	       (!n->network || str_starts(n->network, "IB"));
}

static void find_gids(const struct nets *x, struct verdict *v)
{
	const struct part p = part_of_kind(PART_CONFIG);
	int nodes = 0, first = -1;
	size_t ports = 0;
	struct finding *f;

	for (int i = 0; i < x->run->n_nodes; i++) {
		if (trips_over_gid(&x->nodes[i])) {
			first = nodes++ == 0 ? i : first;
			ports += (size_t)x->nodes[i].by_link;
		}
	}
	if (nodes == 0 || x->run->n_nodes < 2) {
		return;
	}
	f = finding_add(v, &p, "gid_ipv6");
	f->cells = f->explained = ports;
	finding_say(f, "NCCL uses an address of the link alone on %zu RoCE "
		    "ports of %d nodes, the first %s of %s: they have IPv6 "
		    "addresses and none of IPv4, which NCCL looks for, so that "
		    "it takes the GID at index 0, which is not routed", ports,
		    nodes, x->nodes[first].by_link_name,
		    x->run->nodes[first].name);
	finding_add_evidence(f, "gid_kinds of %s on %s in facts.csv; "
			     "NCCL_IB_ADDR_FAMILY is not AF_INET6",
			     x->nodes[first].by_link_name,
			     x->run->nodes[first].name);
}

void network_findings(const struct run *run, struct verdict *v)
{
	struct nets x;

	/* nodes that one machine plays have to use sockets */
	if (!run->cells || run_option(run, "local")) {
		return;
	}
	if (nets_init(run, &x) < 0) {
		v->failed = true;
	} else {
		for (size_t i = 0; i < sizeof(lacks) / sizeof(*lacks); i++) {
			find_lack(&x, &lacks[i], v);
		}
		find_gids(&x, v);
	}
	nets_release(&x);
}

/* ---- collectives --------------------------------------------------------- */

/** Does a variant choose the network itself?  Then facts are of one of them. */
static bool chooses_network(const char *variant)
{
	return strstr(variant, "NCCL_NET") || strstr(variant, "NCCL_IB_");
}

/** The best bus bandwidth of @s between nodes, and of how many rows; 0 of none
 *  that counts. */
static double best_GB_s(const struct sweep *s, size_t *n)
{
	double best = 0;

	*n = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct collective_row *r = &s->rows[i];

		if (chooses_network(r->variant)) {
			return 0;
		}
		if (r->outcome == OUTCOME_OK && r->nodes > 1 &&
		    r->busbw_GB_s > 0) {
			best = fmax(best, r->busbw_GB_s);
			++*n;
		}
	}
	return best;
}

static void find_collective(const struct nets *x, const struct sweep *s,
			    struct verdict *v)
{
	const struct part p = part_of_kind(PART_CONFIG);
	const struct node_net *ends[2] = { NULL, NULL };
	size_t n;
	double bw = best_GB_s(s, &n);
	int nodes = 0;
	struct finding *f;
	char many[96];

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
	f = finding_add(v, &p, "");
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
