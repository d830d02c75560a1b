/* SPDX-License-Identifier: BSD-3-Clause */
/* One address that two machines have, by its owners' words or by answers. */
#include "report/model/ping_run.h"
#include "report/judge/ping_findings.h"
#include "report/judge/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/record_ping.h"

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

int mesh_duplicates(const struct run *run, uint8_t *explained,
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
			     "%s is used twice: by %s of %s and by %s of %s",
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

int mesh_usurpers(const struct run *run, uint8_t *explained,
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
			     "%s of %s (%s): another machine answers for its "
			     "address", mesh_end(run, r)->ifname,
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
