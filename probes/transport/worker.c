/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/worker.h"

#include <stdarg.h>
#include <stdio.h>

#include "probes/host/facts.h"

void worker_step(struct worker *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->note->step, sizeof(w->note->step), fmt, ap);
	va_end(ap);
}

void worker_fact(struct worker *w, const char *scope, const char *fact,
		 const char *value, const char *source)
{
	if (w->facts == NULL) {
		w->facts = json_array();
	}
	facts_add(w->facts, scope, fact, value, "", source);
}

bool worker_cancelled(struct worker *w)
{
	return w->cancelled(w);
}
