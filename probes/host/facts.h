/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_FACTS_H
#define PROBES_HOST_FACTS_H

#include <jansson.h>

/**
 * Append {"scope","fact","value","unit","source"} to the array @facts: a line
 * of facts.csv, less the node, which the coordinator knows.
 */
void facts_add(json_t *facts, const char *scope, const char *fact,
	       const char *value, const char *unit, const char *source);
void facts_addf(json_t *facts, const char *scope, const char *fact,
		const char *unit, const char *source, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

/** Versions of libraries that need no device to tell.  Opens them: only in a
 *  child. */
void libraries_facts(json_t *facts);

#endif
