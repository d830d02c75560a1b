/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/worker.h"

#include <stdarg.h>
#include <stdio.h>

void worker_step(struct worker *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->note->step, sizeof(w->note->step), fmt, ap);
	va_end(ap);
}

bool worker_cancelled(struct worker *w)
{
	return w->cancelled(w);
}
