/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/facts.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/data/record.h"
#include "lib/base/str.h"

void facts_add(json_t *facts, const char *scope, const char *fact,
	       const char *value, const char *unit, const char *source)
{
	char text[sizeof(((struct fact_row *)0)->value)];

	STR_COPY(text, value);	/* no control characters in JSON or CSV */
	json_array_append_new(
		facts, json_pack("{s:s,s:s,s:s,s:s,s:s}", "scope", scope,
				 "fact", fact, "value", text, "unit", unit,
				 "source", source));
}

void facts_addf(json_t *facts, const char *scope, const char *fact,
		const char *unit, const char *source, const char *fmt, ...)
{
	char value[sizeof(((struct fact_row *)0)->value)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	facts_add(facts, scope, fact, value, unit, source);
}
