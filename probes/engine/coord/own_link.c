/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/own_link.h"

#include <stdbool.h>

#include "lib/base/clock.h"

/** A link that failed before, and did no harm, has not failed now. */
#define COUNT_NS (15 * NS_PER_S)

void own_link_begin(struct own_link *l, const struct sockaddr *sa)
{
	if (interface_of(sa, &l->at)) {
		own_link_note(l, clock_now_ns());
	}
}

void own_link_note(struct own_link *l, int64_t now_ns)
{
	if (l->at.name[0] && (l->counted_ns == 0 ||
			      now_ns - l->counted_ns >= COUNT_NS)) {
		link_counts_read("", &l->at, &l->counts);
		l->counted_ns = now_ns;
	}
}

void own_link_tell(const struct own_link *l, const struct sockaddr *sa,
		   struct run_log *log)
{
	char link[80], grown[200];
	enum interface_way way = interface_says(sa, link, sizeof(link));
	struct link_counts now;
	bool flapped;

	if (way == INTERFACE_UNKNOWN) {
		return;
	}
	link_counts_read("", &l->at, &now);
	flapped = link_counts_grown(&l->counts, &now, grown, sizeof(grown));
	if (flapped && way == INTERFACE_UP) {
		run_log_event(log, NULL, -1, "own_link", "%s flapped",
			      l->at.name);
	} else {
		run_log_event(log, NULL, -1, "own_link", "%s", link);
	}
	if (grown[0]) {
		run_log_event(log, NULL, -1, "own_counters", "%s: %s",
			      l->at.name, grown);
	}
}
