/* SPDX-License-Identifier: BSD-3-Clause */
/* A node without an address in a segment, MTUs that differ within one. */
#include "report/model/ping_run.h"
#include "report/judge/ping_findings.h"
#include "report/judge/verdict.h"

#include <string.h>

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
			      "%s has no address in %s, as %d of %d nodes "
			      "have (%s of %s, ...)", run->nodes[i].name,
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
			      "%s of %s (%s) has an MTU of %lld, where most of "
			      "%s have %lld: large packets to it are lost",
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

int mesh_segments(const struct run *run, struct verdict *v)
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
