/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/diff/diff.h"

#include "lib/base/exit_code.h"
#include "lib/base/units.h"
#include "report/model/sweep.h"

static const struct {
	const char *name;
	int code;
} statuses[DIFF_STATUSES] = {
	[DIFF_PASS] = { "pass", CODE_HEALTHY },
	[DIFF_WARN] = { "warn", CODE_HEALTHY },
	[DIFF_FAIL] = { "fail", CODE_FAULT },
	[DIFF_PARTIAL] = { "partial", CODE_PARTIAL },
	[DIFF_UNKNOWN] = { "unknown", CODE_UNABLE },
};

enum diff_status diff_status(const struct diff_sum *s)
{
	return s->compared == 0		 ? DIFF_UNKNOWN :
	       s->worse + s->failing > 0 ? DIFF_FAIL :
	       s->missing > 0		 ? DIFF_PARTIAL :
	       s->slow > 0		 ? DIFF_WARN : DIFF_PASS;
}

const char *diff_status_name(enum diff_status status)
{
	return statuses[status].name;
}

int diff_exit(enum diff_status status)
{
	return statuses[status].code;
}

bool diff_unlike(const struct run *then, const struct run *now,
		 struct str *out)
{
	bool transport = !row_texts_agree(then->transport, now->transport);
	bool size = then->size_B && now->size_B && then->size_B != now->size_B;
	char was[32], is[32];

	if (transport) {
		str_addf(out, "transport %s, now %s", then->transport,
			 now->transport);
	}
	if (size) {
		units_size_text((uint64_t)then->size_B, was, sizeof(was));
		units_size_text((uint64_t)now->size_B, is, sizeof(is));
		str_addf(out, "%smessages of %s, now %s",
			 transport ? "; " : "", was, is);
	}
	return transport || size;
}
