/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/xport.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"

const struct xport_ops *const xports[] = {
	&xport_nccl,
	&xport_cuda,
	&xport_tcp,
	&xport_verbs,
	&xport_sim,
	NULL,
};

const struct xport_ops *xport_find(const char *name)
{
	for (size_t i = 0; xports[i] != NULL; i++) {
		if (strcmp(xports[i]->name, name) == 0) {
			return xports[i];
		}
	}
	return NULL;
}

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
