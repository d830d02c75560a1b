/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the addresses of a mesh say, and what no cell of it is bad by: one
 * address twice, a node that has none in a segment, MTUs that differ, answers
 * on the wrong interface.
 */
#include "report/model/ping_run.h"
#include "report/judge/ping_findings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/record_ping.h"
#include "report/judge/says.h"
#include "report/judge/verdict.h"

struct part mesh_nic(const struct run *run, int rank)
{
	struct part p = part_of_kind(PART_NIC);

	p.node = run->ranks[rank].node;
	p.index = run->ranks[rank].nic;
	return p;
}

const char *mesh_node_name(const struct run *run, int rank)
{
	return run->nodes[run->ranks[rank].node].name;
}

struct finding *mesh_add(const struct run *run, struct verdict *v,
			 const struct part *p, const char *code, bool fail,
			 const char *fmt, ...)
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

/* ---- answers that are none of their business ----------------------------- */

static const struct stray {
	const char *code;
	bool of_sender;
	const char *says;
} strays[] = {
	{ .code = PING_STRAY, .of_sender = true,
	  .says = "answers come in on another interface than the one that "
		  "asked" },
	{ .code = PING_FOREIGN, .of_sender = false,
	  .says = "answers by a hardware address that is of no node" },
	{ .code = PING_FLUX, .of_sender = false,
	  .says = "answers ARP for an address with the wrong interface" },
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
