/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/xport.h"

#include <time.h>

#include "lib/base/clock.h"

static void hang(struct worker *w, int64_t deadline_ns)
{
	worker_step(w, "hanging (drill)");
	while (clock_now_ns() < deadline_ns && !worker_cancelled(w)) {
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
}

bool xport_act_drill(struct worker *w, const struct xport_cell *c,
		     int64_t deadline_ns, struct xport_result *r)
{
	switch (c->drill) {
	case XPORT_DRILL_STAY_AWAY:
		xport_fail(r, OUTCOME_ERROR, "drill_dead",
			   "stays away (drill)");
		return true;
	case XPORT_DRILL_HANG:
		hang(w, deadline_ns);
		xport_fail(r, OUTCOME_TIMEOUT, "drill_hang", "hung (drill)");
		return true;
	default:
		return false;
	}
}
