/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the addresses of a mesh say, and what no cell of it is bad by: one
 * address twice, a node that has none in a segment, MTUs that differ, answers
 * on the wrong interface.
 */
#include "report/model/ping_run.h"
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/data/record_ping.h"

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

static bool is_bad(unsigned class)
{
	return class == CELL_FAIL || class == CELL_TIMEOUT ||
	       class == CELL_SLOW;
}

void mesh_explain(const struct run *run, int rank, uint8_t *explained,
		  struct finding *f)
{
	for (int peer = 0; peer < run->n_ranks; peer++) {
		const size_t ways[] = { run_at(run, rank, peer),
					run_at(run, peer, rank) };

		for (int i = 0; i < 2; i++) {
			unsigned class = run->cells[ways[i]].class;

			f->cells += run_measured(class);
			f->explained += is_bad(class);
			explained[ways[i]] |= EXPLAINED;
		}
	}
}

static int twin_of(const struct run *run, int rank)
{
	for (int r = rank + 1; r < run->n_ranks; r++) {
		if (mesh_end(run, r)->ip[0] &&
		    strcmp(mesh_end(run, r)->ip,
			   mesh_end(run, rank)->ip) == 0) {
			return r;
		}
	}
	return -1;
}

/** Somebody saw another machine answer for the one that the cell at @at asks:
 *  what that asks is answered to the other machine. */
static bool is_usurped(const struct run *run, size_t at)
{
	const char *code = run_cell_code(run, at);

	return strcmp(code, PING_DUPLICATE) == 0 ||
	       (strcmp(code, PING_FOREIGN) == 0 &&
		is_bad(run->cells[run_back(run, at)].class));
}

/** The first such cell of @rank that nothing explains, SIZE_MAX: none. */
static size_t usurped(const struct run *run, int rank,
		      const uint8_t *explained)
{
	for (int s = 0; s < run->n_ranks; s++) {
		size_t at = run_at(run, s, rank);

		if (at < run_n_cells(run) && !explained[at] &&
		    is_usurped(run, at)) {
			return at;
		}
	}
	return SIZE_MAX;
}

/** A flag for each rank: it has such a cell.  NULL without memory; free()
 *  frees. */
static bool *list_usurped(const struct run *run)
{
	bool *is = calloc((size_t)run->n_ranks + 1, sizeof(*is));

	for (size_t at = 0; is && at < run_n_cells(run); at++) {
		is[run_dst(run, at)] |= is_usurped(run, at);
	}
	return is;
}

static void find_duplicates(const struct run *run, uint8_t *explained,
			    struct verdict *v)
{
	for (int r = 0; r < run->n_ranks; r++) {
		int twin = twin_of(run, r);
		struct part p = nic_of(run, r), other;
		char a[END_SIZE], b[END_SIZE];
		struct finding *f;

		if (twin < 0) {
			continue;
		}
		other = nic_of(run, twin);
		f = finding_add(v, &p, PING_DUPLICATE);
		f->fail = true;
		finding_add_or(f, &other);
		finding_say(f, "address %s is used twice: by %s and %s",
			    mesh_end(run, r)->ip, end_name(run, r, a),
			    end_name(run, twin, b));
		mesh_explain(run, r, explained, f);
		mesh_explain(run, twin, explained, f);
	}
}

static void find_usurpers(const struct run *run, uint8_t *explained,
			  struct verdict *v)
{
	bool *is = list_usurped(run);

	v->failed = v->failed || !is;
	for (int r = 0; is && r < run->n_ranks; r++) {
		size_t at = is[r] ? usurped(run, r, explained) : SIZE_MAX;
		struct part p = nic_of(run, r);
		char name[END_SIZE];
		struct finding *f;

		if (at == SIZE_MAX) {
			continue;
		}
		f = finding_add(v, &p, PING_DUPLICATE);
		f->fail = true;
		finding_say(f, "%s (%s): another machine also answers for this "
			    "address", end_name(run, r, name),
			    mesh_end(run, r)->ip);
		finding_add_evidence(f, "%s", run_cell_detail(run, at));
		mesh_explain(run, r, explained, f);
	}
	free(is);
}

/* ---- what a segment has, and a node has not ------------------------------ */

static bool is_in(const struct run *run, int rank, const char *segment)
{
	return strcmp(mesh_end(run, rank)->segment, segment) == 0;
}

static bool node_has(const struct run *run, int node, const char *segment)
{
	const struct run_node *n = &run->nodes[node];

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (is_in(run, r, segment)) {
			return true;
		}
	}
	return false;
}

/** Is anything known of the addresses of @node? */
static bool is_known(const struct run *run, int node)
{
	return run->nodes[node].gpus > 0 &&
	       mesh_end(run, run->nodes[node].first_rank)->ip[0] != '\0';
}

/** What most interfaces in @segment have. */
static double common_mtu(const struct run *run, const char *segment,
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
	return most;
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
		struct part p = part_at(PART_NIC, i, run->ranks[first].nic);
		struct finding *f;

		if (!is_known(run, i) || node_has(run, i, segment)) {
			continue;
		}
		f = finding_add(v, &p, "interface_missing");
		f->fail = true;
		finding_say(f, "%s has no address in %s; %d of %d nodes have "
			    "one (for example %s)", run->nodes[i].name,
			    segment, has, known,
			    end_name(run, first, example));
	}
}

static void find_mtus(const struct run *run, const char *segment,
		      struct verdict *v)
{
	double most = common_mtu(run, segment, v);

	for (int r = 0; r < run->n_ranks; r++) {
		const struct mesh_end *end = mesh_end(run, r);
		struct part p = nic_of(run, r);
		char name[END_SIZE];

		if (is_in(run, r, segment) && end->mtu_B != 0 &&
		    (double)end->mtu_B != most) {
			finding_say(finding_add(v, &p, "mtu_differs"),
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
			continue;	/* none, or it had its turn */
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

static const struct stray {
	const char *code, *says;
	bool of_sender;
} strays[] = {
	{ .code = PING_STRAY, .of_sender = true,
	  .says = "replies arrive on another interface than the one that "
		  "sent the request" },
	{ .code = PING_FOREIGN,
	  .says = "replies with a hardware address of no node of the run" },
	{ .code = PING_FLUX,
	  .says = "replies to ARP for an address from the wrong "
		  "interface" },
};

/** Of a node: paths with a code, and the first of them. */
struct stray_paths {
	size_t n, first;
};

static void find_stray(const struct run *run, const struct stray *s,
		       const uint8_t *explained, struct verdict *v)
{
	struct stray_paths *of = calloc((size_t)run->n_nodes + 1, sizeof(*of));

	v->failed = v->failed || !of;
	for (size_t at = 0; of && at < run_n_cells(run); at++) {
		int whose = s->of_sender ? run_src(run, at) : run_dst(run, at);
		struct stray_paths *p = &of[run->ranks[whose].node];

		if (!explained[at] &&
		    strcmp(run_cell_code(run, at), s->code) == 0) {
			p->first = p->n++ ? p->first : at;
		}
	}
	for (int node = 0; of && node < run->n_nodes; node++) {
		struct part p = part_at(PART_CONFIG, node, -1);
		struct finding *f;

		if (of[node].n > 0) {
			f = finding_add(v, &p, s->code);
			finding_say(f, "%s: %s (%zu paths)",
				    run->nodes[node].name, s->says,
				    of[node].n);
			finding_add_evidence(f, "%s", run_cell_detail(
				run, of[node].first));
		}
	}
	free(of);
}

void mesh_findings(const struct run *run, uint8_t *explained,
		   struct verdict *v)
{
	if (!run->mesh) {
		return;
	}
	find_in_segments(run, v);
	find_duplicates(run, explained, v);
	find_usurpers(run, explained, v);
	for (size_t i = 0; i < sizeof(strays) / sizeof(*strays); i++) {
		find_stray(run, &strays[i], explained, v);
	}
}

/* ---- one interface, two families ----------------------------------------- */

/** The name of the interface that a NIC of a mesh is; NULL: of none. */
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

static bool same_interface(const struct run *run, const struct finding *a,
			   const struct finding *b)
{
	const char *x = interface_of(run, &a->part);
	const char *y = interface_of(run, &b->part);

	return x && y && x != y && a->part.node == b->part.node &&
	       a->fail == b->fail && strcmp(x, y) == 0 &&
	       strcmp(a->code, b->code) == 0;
}

void mesh_merge(const struct run *run, struct verdict *v)
{
	for (size_t i = 0; run->mesh && i < v->n; i++) {
		for (size_t k = v->n; k-- > i + 1;) {
			struct finding *a = &v->findings[i];
			struct finding *b = &v->findings[k];

			if (same_interface(run, a, b)) {
				a->cells += b->cells;
				a->explained += b->explained;
				finding_add_evidence(a, "%s", b->says);
				finding_remove(v, k);
			}
		}
	}
}
