/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the addresses of a mesh say, and what no cell of it is bad by: one
 * address twice, a node that has none in a segment, MTUs that differ, answers
 * on the wrong interface.
 */
#include "report/model/ping_run.h"
#include "report/judge/findings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/record_ping.h"
#include "report/judge/says.h"
#include "report/judge/verdict.h"

/** The interface that @rank asks from. */
static struct part mesh_nic(const struct run *run, int rank)
{
	struct part p = part_of_kind(PART_NIC);

	p.node = run->ranks[rank].node;
	p.index = run->ranks[rank].nic;
	return p;
}

/** Name of the node of @rank. */
static const char *mesh_node_name(const struct run *run, int rank)
{
	return run->nodes[run->ranks[rank].node].name;
}

/** A finding of @p whose words are @fmt, with what to type next; borrowed until
 *  the next one; NULL when memory runs out. */
__attribute__((format(printf, 6, 7)))
static struct finding *mesh_add(const struct run *run, struct verdict *v,
				const struct part *p, const char *code,
				bool fail, const char *fmt, ...)
{
	struct finding *f = finding_add(v, p);
	va_list ap;

	if (!f) {
		return NULL;
	}
	f->fail = fail;
	STR_COPY(f->code, code);
	va_start(ap, fmt);
	vsnprintf(f->says, sizeof(f->says), fmt, ap);
	va_end(ap);
	says_act(run, f, -1, -1);
	return f;
}

/* ---- one address, two machines ------------------------------------------- */

static bool is_bad(unsigned class)
{
	return class == CELL_FAIL || class == CELL_TIMEOUT ||
	       class == CELL_SLOW;
}

/** Cells of @rank accuse no one else. */
static void explain_rank(const struct run *run, int rank, uint8_t *explained,
			 struct finding *f)
{
	for (int peer = 0; peer < run->n_ranks; peer++) {
		const size_t ways[] = { run_at(run, rank, peer),
					run_at(run, peer, rank) };

		for (int i = 0; i < 2; i++) {
			unsigned class = run->cells[ways[i]].class;

			f->cells += run_measured(class);
			f->explained += is_bad(class);
			explained[ways[i]] = 1;
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

/** Somebody saw another machine answer for @rank: a cell of it, or SIZE_MAX. */
static size_t usurped(const struct run *run, int rank,
		      const uint8_t *explained)
{
	for (int s = 0; s < run->n_ranks; s++) {
		size_t at = run_at(run, s, rank);

		const char *code = run->codes[run->cell_code[at]];
		/* what @rank asks is answered to the other machine */
		bool lost = is_bad(run->cells[run_at(run, rank, s)].class);

		if (!explained[at] &&
		    (strcmp(code, PING_DUPLICATE) == 0 ||
		     (lost && strcmp(code, PING_FOREIGN) == 0))) {
			return at;
		}
	}
	return SIZE_MAX;
}

static int mesh_duplicates(const struct run *run, uint8_t *explained,
			   struct verdict *v)
{
	for (int r = 0; r < run->n_ranks; r++) {
		int twin = twin_of(run, r);
		struct part p = mesh_nic(run, r);
		struct finding *f;

		if (twin < 0) {
			continue;
		}
		f = mesh_add(run, v, &p, PING_DUPLICATE, true,
			     "address %s is used twice: by %s of %s and %s of %s",
			     mesh_end(run, r)->ip, mesh_end(run, r)->ifname,
			     mesh_node_name(run, r), mesh_end(run, twin)->ifname,
			     mesh_node_name(run, twin));
		if (!f) {
			return -1;
		}
		f->or_parts = malloc(sizeof(*f->or_parts));
		if (!f->or_parts) {
			return -1;
		}
		f->or_parts[f->n_or++] = mesh_nic(run, twin);
		explain_rank(run, r, explained, f);
		explain_rank(run, twin, explained, f);
	}
	return 0;
}

static int mesh_usurpers(const struct run *run, uint8_t *explained,
			   struct verdict *v)
{
	for (int r = 0; r < run->n_ranks; r++) {
		size_t at = usurped(run, r, explained);
		struct part p = mesh_nic(run, r);
		struct finding *f;

		if (at == SIZE_MAX) {
			continue;
		}
		f = mesh_add(run, v, &p, PING_DUPLICATE, true,
			     "%s of %s (%s): another machine also answers for "
			     "this address", mesh_end(run, r)->ifname,
			     mesh_node_name(run, r), mesh_end(run, r)->ip);
		if (!f || finding_add_evidence(f, run->cell_detail[at] ?
						  run->cell_detail[at] :
						  "") < 0) {
			return -1;
		}
		explain_rank(run, r, explained, f);
	}
	return 0;
}

/* ---- what a segment has, and a node has not ------------------------------ */

struct segment {
	const char *name;
	int first;		/* rank that has it */
	int nodes;		/* that have it */
	int64_t mtu_B;		/* of most of them */
};

static bool node_has(const struct run *run, int node, const char *segment)
{
	const struct run_node *n = &run->nodes[node];

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (strcmp(mesh_end(run, r)->segment, segment) == 0) {
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

static int64_t common_mtu(const struct run *run, const char *segment)
{
	int64_t best = 0;
	int best_n = 0;

	for (int a = 0; a < run->n_ranks; a++) {
		int n = 0;

		if (strcmp(mesh_end(run, a)->segment, segment) != 0) {
			continue;
		}
		for (int b = 0; b < run->n_ranks; b++) {
			n += mesh_end(run, b)->mtu_B ==
				     mesh_end(run, a)->mtu_B &&
			     strcmp(mesh_end(run, b)->segment, segment) == 0;
		}
		if (n > best_n) {
			best_n = n;
			best = mesh_end(run, a)->mtu_B;
		}
	}
	return best;
}

/** A node in three, or fewer, lacks what all others have. */
static int find_missing(const struct run *run, const struct segment *s,
			int known, struct verdict *v)
{
	const json_t *options = json_object_get(run->json, "options");
	int missing = known - s->nodes;

	if (json_object_get(options, "skip")) {
		return 0;	/* it was asked for */
	}

	for (int i = 0; i < run->n_nodes && missing * 3 <= known; i++) {
		struct part p = part_of_kind(PART_NIC);

		if (!is_known(run, i) || node_has(run, i, s->name)) {
			continue;
		}
		p.node = i;
		p.index = run->ranks[s->first].nic;
		if (!mesh_add(run, v, &p, "interface_missing", true,
			      "%s has no address in %s; %d of %d nodes have "
			      "one (for example %s of %s)", run->nodes[i].name,
			      s->name, s->nodes, known,
			      mesh_end(run, s->first)->ifname,
			      mesh_node_name(run, s->first))) {
			return -1;
		}
	}
	return 0;
}

static int find_mtus(const struct run *run, const struct segment *s,
		     struct verdict *v)
{
	for (int r = 0; r < run->n_ranks; r++) {
		const struct mesh_end *end = mesh_end(run, r);
		struct part p = mesh_nic(run, r);

		if (strcmp(end->segment, s->name) != 0 || end->mtu_B == 0 ||
		    end->mtu_B == s->mtu_B) {
			continue;
		}
		if (!mesh_add(run, v, &p, "mtu_differs", false,
			      "%s of %s (%s) has MTU %lld B, most of %s have "
			      "%lld B: large packets to it are lost",
			      end->ifname, mesh_node_name(run, r), end->ip,
			      (long long)end->mtu_B, s->name,
			      (long long)s->mtu_B)) {
			return -1;
		}
	}
	return 0;
}

static bool seen_before(const struct run *run, int rank)
{
	for (int r = 0; r < rank; r++) {
		if (strcmp(mesh_end(run, r)->segment,
			   mesh_end(run, rank)->segment) == 0) {
			return true;
		}
	}
	return false;
}

static int mesh_segments(const struct run *run, struct verdict *v)
{
	int known = 0;

	for (int i = 0; i < run->n_nodes; i++) {
		known += is_known(run, i);
	}
	for (int r = 0; r < run->n_ranks; r++) {
		struct segment s = { .name = mesh_end(run, r)->segment,
				     .first = r };

		if (!s.name[0] || seen_before(run, r)) {
			continue;
		}
		s.mtu_B = common_mtu(run, s.name);
		for (int i = 0; i < run->n_nodes; i++) {
			s.nodes += node_has(run, i, s.name);
		}
		if (s.nodes > 1 && (find_missing(run, &s, known, v) < 0 ||
				    find_mtus(run, &s, v) < 0)) {
			return -1;
		}
	}
	return 0;
}

/* ---- replies from the wrong place ----------------------------- */

static const struct stray {
	const char *code;
	bool of_sender;
	const char *says;
} strays[] = {
	{ .code = PING_STRAY, .of_sender = true,
	  .says = "replies arrive on another interface than the one that "
		  "sent the request" },
	{ .code = PING_FOREIGN, .of_sender = false,
	  .says = "replies with a hardware address of no node of the run" },
	{ .code = PING_FLUX, .of_sender = false,
	  .says = "replies to ARP for an address from the wrong "
		  "interface" },
};

static int find_stray(const struct run *run, const struct stray *s, int node,
		      const uint8_t *explained, struct verdict *v)
{
	struct part p = part_of_kind(PART_CONFIG);
	size_t n = 0, first = 0;
	struct finding *f;

	for (int a = 0; a < run->n_ranks; a++) {
		for (int b = 0; b < run->n_ranks; b++) {
			size_t at = run_at(run, a, b);
			int whose = run->ranks[s->of_sender ? a : b].node;

			if (whose == node && !explained[at] &&
			    run->cell_code[at] &&
			    strcmp(run->codes[run->cell_code[at]], s->code) ==
				    0) {
				first = n++ ? first : at;
			}
		}
	}
	if (n == 0) {
		return 0;
	}
	p.node = node;
	f = mesh_add(run, v, &p, s->code, false, "%s: %s (%zu paths)",
		     run->nodes[node].name, s->says, n);
	return f && finding_add_evidence(f, run->cell_detail[first] ?
					    run->cell_detail[first] : "") == 0 ?
		       0 : -1;
}

static int find_strays(const struct run *run, const uint8_t *explained,
		       struct verdict *v)
{
	for (size_t i = 0; i < sizeof(strays) / sizeof(*strays); i++) {
		for (int node = 0; node < run->n_nodes; node++) {
			if (find_stray(run, &strays[i], node, explained,
				       v) < 0) {
				return -1;
			}
		}
	}
	return 0;
}

int mesh_findings(const struct run *run, uint8_t *explained,
		  struct verdict *v)
{
	if (!run->mesh) {
		return 0;
	}
	if (mesh_segments(run, v) < 0 ||
	    mesh_duplicates(run, explained, v) < 0 ||
	    mesh_usurpers(run, explained, v) < 0) {
		return -1;
	}
	return find_strays(run, explained, v);
}

/* ---- one interface, two families ----------------------------------------- */

static bool same_interface(const struct run *run, const struct finding *a,
			   const struct finding *b)
{
	const struct mesh_end *x = NULL, *y = NULL;

	if (a->part.kind != PART_NIC || b->part.kind != PART_NIC ||
	    a->part.node != b->part.node || a->fail != b->fail) {
		return false;
	}
	for (int r = 0; r < run->n_ranks; r++) {
		if (run->ranks[r].node == a->part.node) {
			x = run->ranks[r].nic == a->part.index ?
				    mesh_end(run, r) : x;
			y = run->ranks[r].nic == b->part.index ?
				    mesh_end(run, r) : y;
		}
	}
	return x && y && x != y && strcmp(x->ifname, y->ifname) == 0 &&
	       strcmp(a->code, b->code) == 0;
}

void mesh_merge(const struct run *run, struct verdict *v)
{
	for (size_t i = 0; run->mesh && i < v->n; i++) {
		for (size_t k = v->n; k-- > i + 1;) {
			struct finding *a = &v->findings[i];
			struct finding *b = &v->findings[k];

			if (!same_interface(run, a, b)) {
				continue;
			}
			a->cells += b->cells;
			a->explained += b->explained;
			finding_add_evidence(a, b->says);
			free(b->or_parts);
			free(b->evidence);
			memmove(b, b + 1, (v->n - k - 1) * sizeof(*b));
			v->n--;
		}
	}
}
