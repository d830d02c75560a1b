/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/xport.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/str.h"

void xport_result_init(struct xport_result *r)
{
	memset(r, 0, sizeof(*r));
	r->iters = r->wrong = RECORD_NONE;
	r->bw_GB_s = r->bw_min_GB_s = r->bw_max_GB_s = NAN;
	r->lat_us = r->lat_p99_us = NAN;
	r->outcome = OUTCOME_NOT_RUN;
}

void *xport_fail(struct xport_result *r, enum outcome o, const char *code,
		 const char *fmt, ...)
{
	char text[sizeof(r->detail)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->outcome = o;
	STR_COPY(r->code, code);
	STR_COPY(r->detail, text);
	return NULL;
}

void *xport_short(struct xport_result *r, int why, const char *fmt, ...)
{
	struct err e = { .code = why };
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	return xport_fail(r, OUTCOME_NOT_RUN, limit_code(why), "%s",
			  limit_text(&e, NULL, text, sizeof(text)));
}

static void hang(struct worker *w, int64_t deadline_ns)
{
	worker_step(w, "hanging (drill)");
	while (clock_now_ns() < deadline_ns && !worker_cancelled(w)) {
		clock_sleep(5 * NS_PER_MS);
	}
}

bool xport_act_drill(struct worker *w, const struct xport_cell *c,
		     int64_t deadline_ns, struct xport_result *r)
{
	switch (c->drill) {
	case XPORT_DRILL_STAY_AWAY:
		xport_fail(r, OUTCOME_ERROR, "drill_dead",
			   "does not respond (drill)");
		return true;
	case XPORT_DRILL_HANG:
		hang(w, deadline_ns);
		xport_fail(r, OUTCOME_TIMEOUT, "drill_hang", "hung (drill)");
		return true;
	default:
		return false;
	}
}

double xport_throttle(double s, double factor)
{
	clock_sleep((int64_t)((s / factor - s) * 1e9));
	return s / factor;
}
