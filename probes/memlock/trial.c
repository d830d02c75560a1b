/* SPDX-License-Identifier: BSD-3-Clause */
/* One trial of a proof, and the row that says how it ended. */
#include "probes/memlock/prove.h"

#define PAGE_B 4096

static int64_t count_maps(struct memlock *m)
{
	int64_t n = 0;

	memlock_read(m, "/proc/self/maps", NULL);
	for (const char *c = str_text(&m->text); *c != '\0'; c++) {
		n += *c == '\n';
	}
	return n;
}

static void explain(const struct proof *p, struct memlock_row *row, int error,
		    bool nothing_works, int64_t device_max)
{
	struct refusal r = {
		.check = row->check, .error = error,
		.tried_B = row->min_fail_B, .nothing_works = nothing_works,
		.limit_B = p->limit_B, .cgroup_B = p->m->cgroup_B,
		.maps = count_maps(p->m), .device_max = device_max,
	};

	memlock_read_number(p->m, "/proc/sys/vm/max_map_count", &r.max_maps,
			    NULL);
	STR_COPY(row->code,
		 refusal_explain(&r, row->detail, sizeof(row->detail)));
}

static void init_row(const struct proof *p, struct memlock_row *row,
		     const char *check, const char *hca)
{
	memlock_row_init(p->m, row, p->context, check, "");
	STR_COPY(row->hca, hca);
	row->limit_B = p->limit_B;
}

static int64_t at_most(int64_t value, int64_t limit)
{
	return value < limit ? value : limit;
}

void proof_try(const struct proof *p, const struct trial *t)
{
	int64_t first_B = at_most(t->needed_B, t->ceiling_B);
	const struct bisect b = {
		.unit_B = PAGE_B, .first_B = first_B,
		.ceiling_B = t->ceiling_B, .attempt = t->attempt,
		.arg = t->arg,
	};
	struct bisect_result r;
	struct memlock_row row;

	init_row(p, &row, t->check, t->hca);
	/* no part needs more than the whole */
	row.needed_B = at_most(first_B, p->m->needed_B);
	bisect_run(&b, &r);
	row.max_ok_B = r.max_ok_B;
	row.min_fail_B = r.min_fail_B;
	if (r.min_fail_B != RECORD_NONE) {
		explain(p, &row, r.error, r.max_ok_B == 0, t->device_max);
	}
	if (r.max_ok_B < row.needed_B) {
		row.outcome = OUTCOME_ERROR;
	}
	memlock_row_say(p->m, &row);
}

void proof_refused(const struct proof *p, const char *check, const char *hca,
		   int error)
{
	struct memlock_row row;

	init_row(p, &row, check, hca);
	row.outcome = OUTCOME_ERROR;
	explain(p, &row, error, true, 0);
	memlock_row_say(p->m, &row);
}

void proof_skipped(const struct proof *p, const char *check, const char *hca,
		   const char *why)
{
	struct memlock_row row;

	init_row(p, &row, check, hca);
	memlock_row_absent(&row, why);
	memlock_row_say(p->m, &row);
}

void proof_unknown(const struct proof *p, const char *check,
		   const struct err *why)
{
	struct memlock_row row;

	init_row(p, &row, check, "");
	memlock_row_unknown(&row, why);
	memlock_row_say(p->m, &row);
}
