/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/refusal.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"

#define FIRST_NS (4 * NS_PER_S)
#define LAST_NS	 (60 * NS_PER_S)

bool refusal_is_over(const struct refusal *r, int64_t now_ns)
{
	return now_ns >= r->next_ns;
}

bool refusal_note(struct refusal *r, const char *why, int64_t now_ns)
{
	bool other;

	if (!why) {
		*r = (struct refusal){ 0 };
		return false;
	}
	other = strcmp(r->why, why) != 0;
	if (other) {
		STR_COPY(r->why, why);
		r->wait_ns = FIRST_NS;
	}
	r->next_ns = now_ns + r->wait_ns;
	r->wait_ns = r->wait_ns * 2 < LAST_NS ? r->wait_ns * 2 : LAST_NS;
	return other;
}
