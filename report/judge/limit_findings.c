/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What gpucheck's own processes ran short of.  That is how it was started, no
 * fault of a node or GPU: what it kept from being measured is not run, and
 * stays to be measured.
 */
#include "report/judge/findings.h"

#include <string.h>

#include "lib/base/limit.h"

/** Tests that were left for @code. */
static size_t count_left(const struct run *run, const char *code)
{
	size_t n = 0;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		n += run->cells[at].class == CELL_NOT_RUN &&
		     strcmp(run_cell_code(run, at), code) == 0;
	}
	return n;
}

static void say(const struct run *run, struct finding *f, const char *why)
{
	struct str names = STR_INIT;
	int named = 0;

	for (size_t i = 0; i < f->n_members; i++) {
		finding_list_name(&names, &named,
				  run->nodes[f->members[i]].name);
	}
	finding_say(f, "gpucheck's own processes%s%s ran into a limit%s%s",
		    named > 0 ? " on " : "", str_text(&names),
		    why[0] ? ": " : "", why);
	str_release(&names);
	if (f->explained > 0) {
		finding_say(f, "%s; %zu of %zu tests were not run", f->says,
			    f->explained, f->cells);
	}
}

static void add(const struct run *run, const char *code, size_t left,
		struct verdict *v)
{
	const struct part p = part_of_kind(PART_LIMIT);
	struct finding *f = finding_add(v, &p, code);
	const char *why = "";

	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		f->cells += v->cells[c];
	}
	f->explained = left;
	for (int i = 0; i < run->n_nodes; i++) {
		const struct event_row *e = run_find_event(run, code,
						       run->nodes[i].name);

		if (e) {
			finding_add_member(f, i);
			if (why[0]) {	/* the first is in the sentence */
				finding_add_evidence(f, "%s: %s", e->node,
						     e->detail);
			}
			why = why[0] ? why : e->detail;
		}
	}
	v->cut |= left == 0;	/* without rows that say so */
	if (f->n_members == 1) {
		f->part.node = f->members[0];
	}
	say(run, f, why);
}

void limit_findings(const struct run *run, struct verdict *v)
{
	static const char *const codes[] = {
		LIMIT_FILES, LIMIT_TASKS, LIMIT_MEMORY, LIMIT_DISK,
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		size_t left = count_left(run, codes[i]);
		bool said = false;

		/* where there are no cells of pairs, which may have been
		 * tested later after all */
		for (int k = 0; k < run->n_nodes &&
				(run->n_ranks == 0 || run->mesh); k++) {
			said |= run_find_event(run, codes[i],
					   run->nodes[k].name) != NULL;
		}
		if (left > 0 || said) {
			add(run, codes[i], left, v);
		}
	}
}
