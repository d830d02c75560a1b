/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings about the addresses of a mesh that no cell shows: duplicate
 * addresses, a node without an address in a segment, different MTUs, answers on
 * the wrong interface.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/order.h"
#include "lib/base/stats.h"
#include "lib/data/record_rows.h"
#include "report/judge/findings.h"
#include "report/model/run.h"

static bool is_bad(unsigned class)
{
	return class == CELL_FAIL || class == CELL_TIMEOUT ||
	       class == CELL_SLOW;
}

/* Counts all cells of the address @rank for @f, so that they blame no other
 * part. */
static void mesh_explain(const struct run *run, int rank, uint8_t *explained,
			 struct finding *f)
{
	for (int peer = 0; peer < run->n_ranks; peer++) {
		const size_t ways[] = { run_at(run, rank, peer),
					run_at(run, peer, rank) };

		for (int i = 0; i < 2; i++) {
			unsigned class = run->cells[ways[i]].class;

			f->cells += class < CELL_CLASSES;
			f->explained += is_bad(class);
			explained[ways[i]] |= EXPLAINED;
		}
	}
}

/* ---- own findings -------------------------------------------------------- */

/*
 * Findings from what a node reports about itself: its kernel refused to send,
 * or one of its interfaces answers for another.
 */

/* ---- packets that were not sent ------------------------------------------ */

static const struct err_words own_words[] = {
	{ .code = PING_SENDER,
	  .says = "its packet filter rejects outgoing packets" },
	{ .code = PING_NO_ROUTE, .says = "it has no route for outgoing "
					 "packets" },
};

/** Returns true if the sender of the cell at @at says @code against itself, and
 *  no finding explains the cell. */
static bool is_said(const struct run *run, const char *code,
		    const uint8_t *explained, size_t at)
{
	return !explained[at] && cells_failed(run->cells[at].class) &&
	       strcmp(run_cell_code(run, at), code) == 0;
}

static void find_own(const struct run *run, const struct err_words *w,
		     int node, uint8_t *explained, struct verdict *v)
{
	const struct cluster_node *n = &run->nodes[node];
	size_t from = run_first(run, n->first_rank);
	size_t end = run_first(run, n->first_rank + n->gpus);
	size_t found = 0, first = 0;
	int nic = -1;		/* of all of them */
	struct finding *f;
	struct part p;
	const char *name;

	for (size_t at = from; at < end; at++) {
		int own = run->ranks[run_src(run, at)].nic;

		if (is_said(run, w->code, explained, at)) {
			first = found > 0 ? first : at;
			nic = found == 0 || nic == own ? own : -1;
			found++;
		}
	}
	if (found == 0) {
		return;
	}
	p = nic >= 0 && n->gpus > 1 ? part_at(PART_NIC, node, nic) :
				      part_at(PART_NODE, node, -1);
	p.direction = PART_TX;
	f = finding_add(v, p, w->code);
	f->fail = true;
	f->cells = part_tests(run, &p, NULL);
	f->explained = found;
	finding_set_example(run, f, first);
	name = p.kind == PART_NIC ? part_nic_name(run, &p) : "";
	finding_say(f, "%s%s%s: %s (%zu of %zu paths)", name,
		    name[0] ? " of " : "", n->name, w->says,
		    f->explained, f->cells);
	finding_add_evidence(f, "%s", run_cell_detail(run, first));
	for (size_t at = from; at < end; at++) {
		size_t back = run_back(run, at);

		if (!is_said(run, w->code, explained, at)) {
			continue;
		}
		/* if the way back is silent, the answers would have to leave
		 * as well */
		if (run->cells[back].class == CELL_TIMEOUT ||
		    (run->cells[back].class == CELL_FAIL &&
		     strcmp(run_cell_code(run, back), PING_FILTERED) == 0)) {
			explained[back] |= EXPLAINED;
		}
		explained[at] |= EXPLAINED;
	}
}

/* ---- swapped rails ------------------------------------------------------- */

/** Returns true if no test with the address @rank passes, though it should. */
static bool is_dead(const struct run *run, int rank)
{
	size_t bad = 0;

	for (int peer = 0; peer < run->n_ranks; peer++) {
		unsigned there = run_cell(run, rank, peer)->class;
		unsigned back = run_cell(run, peer, rank)->class;

		if (run_good(there) || run_good(back)) {
			return false;
		}
		bad += cells_failed(there) || cells_failed(back);
	}
	return bad > 0;
}

/** "rail0 rail1 10.1.0.2" of a node: its rail0 is on the wire of rail1, or the
 *  one that has the address is.  Sets @on of these ranks to that rail. */
static void take_found(const struct run *run, const struct fact_row *f, int *on)
{
	int node = run_find_node(run, f->node, -1), from, to;
	char name[32], other[32], ip[56];

	if (node < 0 ||
	    sscanf(f->value, "%31s %31s %55s", name, other, ip) != 3) {
		return;
	}
	from = part_rank_of_name(run, node, name);
	to = part_rank_of_name(run, node, other);
	for (int r = 0; from >= 0 && to >= 0 && r < run->n_ranks; r++) {
		int nic = run->ranks[to].nic, there;

		if (r != from && strcmp(mesh_end(run, r)->ip, ip) != 0) {
			continue;
		}
		/* that counts where it works in neither place, nor does the
		 * one whose place it is */
		there = part_rank_of_nic(run, run->ranks[r].node, nic);
		if (there >= 0 && there != r && is_dead(run, r) &&
		    is_dead(run, there)) {
			on[r] = nic;
		}
	}
}

/** Returns the finding that already has the cells of @rank; NULL: none. */
static struct finding *finding_of(const struct run *run, int rank,
				  const uint8_t *explained, struct verdict *v)
{
	for (int peer = 0; peer < run->n_ranks; peer++) {
		size_t at = run_at(run, rank, peer);

		if (cells_failed(run->cells[at].class) && !explained[at]) {
			return NULL;
		}
	}
	return verdict_find(v, NULL, PING_SWAPPED);
}

/** @on: for each rank the rail on whose wire it is by the word of a node, or
 *  -1. */
static void find_swapped(const struct run *run, const int *on, int node,
			 uint8_t *explained, struct verdict *v)
{
	const struct cluster_node *n = &run->nodes[node];
	struct part p = part_at(PART_NODE, node, -1);
	struct finding *f = NULL;
	struct str says = STR_INIT;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (on[r] < 0) {
			continue;
		}
		if (!f && finding_of(run, r, explained, v)) {
			/* of two nodes either may be the one */
			f = finding_of(run, r, explained, v);
			finding_add_or(f, &p);
			finding_more(f, "; or those on %s are swapped",
				     n->name);
			return;
		}
		f = f ? f : finding_add(v, p, PING_SWAPPED);
		str_addf(&says, "%s%s is connected to the network of %s",
			 says.len ? ", " : "", mesh_end(run, r)->ifname,
			 mesh_end(run, part_rank_of_nic(run, node, on[r]))
				 ->segment);
		mesh_explain(run, r, explained, f);
	}
	if (f) {
		f->fail = true;
		finding_say(f, "rails are swapped on %s: %s", n->name,
			    str_text(&says));
	}
	str_release(&says);
}

void own_findings(const struct run *run, uint8_t *explained,
		  struct verdict *v)
{
	int *on = malloc(((size_t)run->n_ranks + 1) * sizeof(*on));

	if (!on) {
		v->failed = true;
		return;
	}
	memset(on, 0xff, ((size_t)run->n_ranks + 1) * sizeof(*on));
	run_foreach_fact(run, f) {
		if (strcmp(f->scope, "ping") == 0 &&
		    strcmp(f->fact, PING_FACT_FOUND) == 0) {
			take_found(run, f, on);
		}
	}
	for (int node = 0; node < run->n_nodes; node++) {
		find_swapped(run, on, node, explained, v);
		for (size_t i = 0;
		     i < sizeof(own_words) / sizeof(*own_words); i++) {
			find_own(run, &own_words[i], node, explained, v);
		}
	}
	free(on);
}

/* ---- neighbour findings -------------------------------------------------- */

/* For ping: findings about nodes whose kernel keeps fewer neighbours than they
 * had to probe. */

void neighbour_findings(const struct run *run, struct verdict *v)
{
	struct finding *f = NULL;
	unsigned long long planned = 0, limit = 0;
	struct str names = STR_INIT;
	int named = 0;

	run_foreach_fact(run, fact) {
		bool is = strcmp(fact->scope, "ping") == 0 &&
			  strcmp(fact->fact, PING_FACT_NEIGHBOURS) == 0;
		int node = is ? run_find_node(run, fact->node, -1) : -1;
		char *rest;

		if (node < 0) {
			continue;
		}
		if (!f) {
			f = finding_add(v, part_of_kind(PART_CONFIG),
					PING_NEIGH_SHORT);
			planned = strtoull(fact->value, &rest, 10);
			limit = strtoull(rest, NULL, 10);
		}
		finding_add_member(f, node);
		finding_list_name(&names, &named, run->nodes[node].name);
	}
	if (f) {
		finding_say(f, "%llu neighbours exceed the limit of %llu of "
			    "the kernel of %s (gc_thresh3): tests may fail "
			    "because the table is full", planned, limit,
			    str_text(&names));
	}
	str_release(&names);
}

/* ---- flow findings ------------------------------------------------------- */

/** If more of the flows of a path lose packets, that is not about one of its
 *  links; of two links half of the flows do. */
#define FLOWS_PERCENT 75
#define FLOWS_SHOWN   8

/** The part of all flows of the paths that are @apart: two nodes; if more nodes
 *  were tested, the one that all have in common; else the links between the
 *  switches. */
static struct part part_of_flows(const struct run *run, const bool *apart)
{
	struct part p = part_of_kind(PART_FABRIC_PATH);
	int two[2] = { -1, -1 };
	bool is[2] = { true, true }, same = true;

	for (size_t i = 0; i < run->n_flows; i++) {
		const struct run_flow *f = &run->flows[i];
		int a = run->ranks[f->src].node, b = run->ranks[f->dst].node;

		if (!apart[run_at(run, f->src, f->dst)]) {
			continue;
		}
		if (two[0] < 0) {
			two[0] = a < b ? a : b;
			two[1] = a < b ? b : a;
		}
		for (int k = 0; k < 2; k++) {
			is[k] = is[k] && (a == two[k] || b == two[k]);
		}
		same = is[0] && is[1];
	}
	if (same) {
		p = part_at(PART_NODE_PAIR, two[0], -1);
		p.peer_node = two[1];
	} else if (is[0] || is[1]) {
		p = part_at(PART_NODE_NETWORK, two[is[0] ? 0 : 1], -1);
	}
	return p;
}

void flow_findings(const struct run *run, struct verdict *v)
{
	/* by cell: paths of which enough flows are known to lose nothing */
	bool *apart = calloc(run_n_cells(run) + 1, sizeof(*apart));
	bool fail = false;
	size_t n = 0, paths = 0, tested = 0, dead = 0, shown = 0;
	struct finding *f;

	v->failed |= !apart;
	for (size_t at = 0; apart && run->n_flows > 0 &&
			    at < run_n_cells(run); at++) {
		const size_t known = run->cell_flows[at].known;
		const size_t bad = run->cell_flows[at].bad;

		apart[at] = bad > 0 && 100 * bad <= FLOWS_PERCENT * known;
		paths += apart[at];
		tested += apart[at] ? known : 0;
		n += apart[at] ? bad : 0;
	}
	for (size_t i = 0; apart && i < run->n_flows; i++) {
		const struct run_flow *flow = &run->flows[i];
		const bool is = apart[run_at(run, flow->src, flow->dst)];

		dead += is && flow->received == 0;
		fail |= is && 2 * flow->received < flow->sent;
	}
	if (n > 0) {
		f = finding_add(v, part_of_flows(run, apart), PATH_FLOW);
		f->fail = fail && !run->shared_cores;
		f->cells = f->explained = n;
		finding_say(f, "%zu of the %zu UDP flows of %zu path%s lose%s "
			    "%spackets in each test%s; the other flows of the "
			    "same path%s do not: one of several links is bad",
			    n, tested, paths, paths == 1 ? "" : "s",
			    n == 1 ? "s" : "",
			    dead == n ? "all " : "",
			    dead == 0 || dead == n ? "" : ", some of them all "
			    "packets", paths == 1 ? "" : "s");
		for (size_t i = 0; i < run->n_flows; i++) {
			const struct run_flow *flow = &run->flows[i];

			if (apart[run_at(run, flow->src, flow->dst)] &&
			    shown++ < FLOWS_SHOWN) {
				finding_add_evidence(f, "%s", flow->says);
			}
		}
		f->n_first = 2;
	}
	free(apart);
}

/* ---- ping findings ------------------------------------------------------- */

#define END_SIZE 128

/** The interface that @rank asks from. */
static struct part nic_of(const struct run *run, int rank)
{
	return part_at(PART_NIC, run->ranks[rank].node, run->ranks[rank].nic);
}

/** "eth0 of n1"; returns @buf. */
static const char *end_name(const struct run *run, int rank, char buf[END_SIZE])
{
	snprintf(buf, END_SIZE, "%s of %s", mesh_end(run, rank)->ifname,
		 run->nodes[run->ranks[rank].node].name);
	return buf;
}

/* ---- one address, two machines ------------------------------------------- */

/** Returns true if another machine was seen to answer for the address that the
 *  cell at @at probes. */
static bool is_usurped(const struct run *run, size_t at)
{
	const char *code = run_cell_code(run, at);

	return strcmp(code, PING_DUPLICATE) == 0 ||
	       (strcmp(code, PING_FOREIGN) == 0 &&
		is_bad(run->cells[run_back(run, at)].class));
}

static const struct order_key by_address[] = {
	ORDER_ITEM(ORDER_POINTEE), ORDER_UP(struct mesh_end, ip),
	ORDER_ITEM(ORDER_PLACE), ORDER_END
};

static void find_duplicates(const struct run *run, uint8_t *explained,
			    struct verdict *v)
{
	const size_t n = (size_t)run->n_ranks;
	const struct mesh_end **ends = calloc(n + 1, sizeof(*ends));

	v->failed = v->failed || !ends;
	for (size_t i = 0; ends && i < n; i++) {
		ends[i] = mesh_end(run, (int)i);
	}
	order_sort(ends, ends ? n : 0, sizeof(*ends), by_address);
	for (size_t i = 1; ends && i < n; i++) {
		const char *ip = ends[i]->ip;
		int r = (int)(ends[i - 1] - run->mesh->ends);
		int twin = (int)(ends[i] - run->mesh->ends);
		struct part other = nic_of(run, twin);
		char a[END_SIZE], b[END_SIZE];
		struct finding *f;

		if (!ip[0] || strcmp(ends[i - 1]->ip, ip) != 0) {
			continue;
		}
		f = finding_add(v, nic_of(run, r), PING_DUPLICATE);
		f->fail = true;
		finding_add_or(f, &other);
		finding_say(f, "address %s is used twice: by %s and %s", ip,
			    end_name(run, r, a), end_name(run, twin, b));
		mesh_explain(run, r, explained, f);
		mesh_explain(run, twin, explained, f);
	}
	free(ends);
}

static void find_usurpers(const struct run *run, uint8_t *explained,
			  struct verdict *v)
{
	/* whether each rank has such a cell */
	bool *is = calloc((size_t)run->n_ranks + 1, sizeof(*is));

	v->failed = v->failed || !is;
	for (size_t at = 0; is && at < run_n_cells(run); at++) {
		is[run_dst(run, at)] |= is_usurped(run, at);
	}
	for (int r = 0; is && r < run->n_ranks; r++) {
		struct part p = nic_of(run, r);
		size_t found = SIZE_MAX;	/* the first unexplained one */
		char name[END_SIZE];
		struct finding *f;

		for (int s = 0; is[r] && s < run->n_ranks; s++) {
			size_t at = run_at(run, s, r);

			if (at < run_n_cells(run) && !explained[at] &&
			    is_usurped(run, at)) {
				found = at;
				break;
			}
		}
		if (found == SIZE_MAX) {
			continue;
		}
		f = finding_add(v, p, PING_DUPLICATE);
		f->fail = true;
		finding_say(f, "%s (%s): another machine also answers for this "
			    "address", end_name(run, r, name),
			    mesh_end(run, r)->ip);
		finding_add_evidence(f, "%s", run_cell_detail(run, found));
		mesh_explain(run, r, explained, f);
	}
	free(is);
}

/* ---- nodes without a segment --------------------------------------------- */

static bool is_in(const struct run *run, int rank, const char *segment)
{
	return strcmp(mesh_end(run, rank)->segment, segment) == 0;
}

static bool node_has(const struct run *run, int node, const char *segment)
{
	const struct cluster_node *n = &run->nodes[node];

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (is_in(run, r, segment)) {
			return true;
		}
	}
	return false;
}

/** Returns true if the addresses of @node are known. */
static bool is_known(const struct run *run, int node)
{
	return run->nodes[node].gpus > 0 &&
	       mesh_end(run, run->nodes[node].first_rank)->ip[0] != '\0';
}

/** A node in three, or fewer, lacks what the @has of all @known others have, of
 *  which @first is a rank. */
static void find_missing(const struct run *run, int first, int has, int known,
			 struct verdict *v)
{
	const char *segment = mesh_end(run, first)->segment;
	char example[END_SIZE];

	if (run_option(run, "skip") || (known - has) * 3 > known) {
		return;		/* it was asked for; or it is usual */
	}
	for (int i = 0; i < run->n_nodes; i++) {
		struct finding *f;

		if (!is_known(run, i) || node_has(run, i, segment)) {
			continue;
		}
		f = finding_add(v, part_at(PART_NIC, i, run->ranks[first].nic),
				"interface_missing");
		f->fail = true;
		finding_say(f, "%s has no address in %s; %d of %d nodes have "
			    "one (for example %s)", run->nodes[i].name,
			    segment, has, known,
			    end_name(run, first, example));
	}
}

/** Warns of interfaces in @segment whose MTU is not the most common one. */
static void find_mtus(const struct run *run, const char *segment,
		      struct verdict *v)
{
	double *mtus = calloc((size_t)run->n_ranks + 1, sizeof(*mtus)), most;
	size_t n = 0;

	for (int r = 0; mtus && r < run->n_ranks; r++) {
		if (is_in(run, r, segment) && mesh_end(run, r)->mtu_B > 0) {
			mtus[n++] = (double)mesh_end(run, r)->mtu_B;
		}
	}
	v->failed = v->failed || !mtus;
	most = stats_mode(mtus, n);
	free(mtus);
	for (int r = 0; r < run->n_ranks; r++) {
		const struct mesh_end *end = mesh_end(run, r);
		struct part p = nic_of(run, r);
		char name[END_SIZE];

		if (is_in(run, r, segment) && end->mtu_B != 0 &&
		    (double)end->mtu_B != most) {
			finding_say(finding_add(v, p, "mtu_differs"),
				    "%s (%s) has MTU %lld B, most of %s have "
				    "%.0f B: large packets to it are lost",
				    end_name(run, r, name), end->ip,
				    (long long)end->mtu_B, segment, most);
		}
	}
}

static void find_in_segments(const struct run *run, struct verdict *v)
{
	int known = 0;

	for (int i = 0; i < run->n_nodes; i++) {
		known += is_known(run, i);
	}
	for (int r = 0; r < run->n_ranks; r++) {
		const char *segment = mesh_end(run, r)->segment;
		int has = 0, first = 0;

		while (!is_in(run, first, segment)) {
			first++;
		}
		if (!segment[0] || first < r) {
			continue;	/* none, or handled already */
		}
		for (int i = 0; i < run->n_nodes; i++) {
			has += node_has(run, i, segment);
		}
		if (has > 1) {
			find_missing(run, r, has, known, v);
			find_mtus(run, segment, v);
		}
	}
}

/* ---- replies from the wrong place ----------------------------- */

static const struct err_words strays[] = {
	{ .code = PING_STRAY,
	  .says = "replies arrive on a different interface than the request "
		  "was sent from" },
	{ .code = PING_FOREIGN,
	  .says = "replies have a hardware address that does not belong to a "
		  "node of the run" },
	{ .code = PING_FLUX,
	  .says = "the wrong interface answers ARP requests for an address" },
};

static void find_stray(const struct run *run, const struct err_words *s,
		       const uint8_t *explained, struct verdict *v)
{
	/* a node that replies with another address than it was asked for is at
	 * the other end */
	bool of_sender = strcmp(s->code, PING_STRAY) == 0;
	/* the paths of each node with the code, and the first of them */
	size_t *n = calloc(2 * (size_t)run->n_nodes + 1, sizeof(*n));
	size_t *first = n ? n + run->n_nodes : NULL;

	v->failed = v->failed || !n;
	for (size_t at = 0; n && at < run_n_cells(run); at++) {
		int whose = of_sender ? run_src(run, at) : run_dst(run, at);
		int node = run->ranks[whose].node;

		if (!explained[at] &&
		    strcmp(run_cell_code(run, at), s->code) == 0) {
			first[node] = n[node]++ ? first[node] : at;
		}
	}
	for (int node = 0; n && node < run->n_nodes; node++) {
		struct part p = part_at(PART_CONFIG, node, -1);
		struct finding *f;

		if (n[node] > 0) {
			f = finding_add(v, p, s->code);
			finding_say(f, "%s: %s (%zu paths)",
				    run->nodes[node].name, s->says,
				    n[node]);
			finding_add_evidence(f, "%s", run_cell_detail(
				run, first[node]));
		}
	}
	free(n);
}

void mesh_findings(const struct run *run, uint8_t *explained,
		   struct verdict *v)
{
	find_in_segments(run, v);
	find_duplicates(run, explained, v);
	find_usurpers(run, explained, v);
	for (size_t i = 0; i < sizeof(strays) / sizeof(*strays); i++) {
		find_stray(run, &strays[i], explained, v);
	}
}

/* ---- one interface, two families ----------------------------------------- */

/** Returns the name of the interface of a NIC of a mesh; NULL: none. */
static const char *interface_of(const struct run *run, const struct part *p)
{
	for (int r = 0; p->kind == PART_NIC && r < run->n_ranks; r++) {
		if (run->ranks[r].node == p->node &&
		    run->ranks[r].nic == p->index) {
			return mesh_end(run, r)->ifname;
		}
	}
	return NULL;
}

void mesh_merge(const struct run *run, struct verdict *v)
{
	for (size_t i = 0; i < v->n; i++) {
		for (size_t k = v->n; k-- > i + 1;) {
			struct finding *a = &v->findings[i];
			struct finding *b = &v->findings[k];
			const char *x = interface_of(run, &a->part);
			const char *y = interface_of(run, &b->part);

			if (x && y && x != y && a->part.node == b->part.node &&
			    a->fail == b->fail && strcmp(x, y) == 0 &&
			    strcmp(a->code, b->code) == 0) {
				a->cells += b->cells;
				a->explained += b->explained;
				finding_add_evidence(a, "%s", b->says);
				finding_remove(v, k);
			}
		}
	}
}
