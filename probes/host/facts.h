/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_FACTS_H
#define PROBES_HOST_FACTS_H

#include <stdint.h>

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

struct nccl_torch_look;

/** Of scope node: torch_nccl, the file that jobs of PyTorch load, or none with
 *  torch_nccl_note, and torch_nccl_version.  Ends @l. */
void torch_facts(struct nccl_torch_look *l, int64_t deadline_ns,
		 json_t *facts);

/** Versions of libraries that need no device to tell.  Opens them: only in a
 *  child. */
void libraries_facts(json_t *facts);

#endif
