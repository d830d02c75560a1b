/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that reach little of what the links of their machine carry. */
#include "report/judge/findings.h"

#include <string.h>

#include "lib/base/units.h"

/** Minimum share of a message per rank, for the same reason as
 *  CEILING_LARGE_B. */
#define PER_RANK_B (INT64_C(4) << 20)

/** NCCL takes LL and LL128 for large messages only if it is told to. */
static bool is_slow_protocol(const struct collective_row *row)
{
	return strcmp(row->proto, "LL") == 0 ||
	       strcmp(row->proto, "LL128") == 0;
}

static bool same_machine(const struct curve *a, const struct curve *b)
{
	return curve_same_op(a, b) &&
	       row_numbers_agree(a->first->nodes, b->first->nodes);
}

/** The best row of the curves that are like number @at, the first of them: a
 *  variant that is slow by its settings is not a fault.  NULL: none is large
 *  enough, or @at is not the first. */
static const struct collective_row *best_of(const struct sweep *s, size_t at)
{
	const struct curve *of = &s->curves[at];
	const struct collective_row *best = NULL;

	for (size_t i = 0; i < s->n_curves; i++) {
		const struct collective_row *row;

		if (!same_machine(&s->curves[i], of)) {
			continue;
		}
		if (i < at) {
			return NULL;
		}
		row = curve_peak(&s->curves[i], CEILING_LARGE_B);
		if (row && !is_slow_protocol(row) &&
		    row->size_B / PER_RANK_B >= row->ranks &&
		    (!best || row->busbw_GB_s > best->busbw_GB_s)) {
			best = row;
		}
	}
	return best;
}

void ceiling_findings(const struct run *run, const struct sweep *s,
		      struct verdict *v)
{
	for (size_t i = 0; i < s->n_curves; i++) {
		const struct collective_row *row = best_of(s, i);
		struct ceiling_share share;
		struct ceiling most, least;
		struct str words = STR_INIT;
		struct finding *f;
		char size[32];
		double percent;

		if (!row) {
			continue;
		}
		ceiling_of_row(&s->machine, row, &most, &least);
		share = run->expected.shares[least.path];
		percent = 100 * row->busbw_GB_s / least.GB_s;
		if (!(percent < share.warn)) {
			continue;
		}
		f = finding_add(v, part_of_kind(
			machine_nodes(&s->machine, row) > 1 ? PART_INTER_NODE :
							      PART_INTRA_NODE),
			"below_ceiling");
		f->fail = percent < share.fail;
		f->cells = f->explained = s->curves[i].n;
		ceiling_words(&least, row->busbw_GB_s, &words);
		finding_say(f, "%s with %lld GPUs on %lld node%s reaches %.1f "
			    "GB/s at %s: %s; healthy machines reach more than "
			    "%.0f %%", row->op[0] ? row->op : "the collective",
			    (long long)row->ranks,
			    (long long)machine_nodes(&s->machine, row),
			    machine_nodes(&s->machine, row) == 1 ? "" : "s",
			    row->busbw_GB_s,
			    units_size_text((uint64_t)row->size_B, size,
					    sizeof(size)),
			    str_text(&words), share.warn);
		finding_add_evidence(f, "ceiling %.1f GB/s (%s)", least.GB_s,
				     ceiling_path_names[least.path]);
		str_release(&words);
	}
}
