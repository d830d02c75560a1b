/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_VARIANT_H
#define PROBES_PLAN_VARIANT_H

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/spec/spec.h"

/**
 * What one run compares: every algorithm with every protocol, library and
 * value that was asked for.  Each variant is an environment for workers of its
 * own, because NCCL reads its environment once.
 */
#define VARIANTS_MAX 64

struct variant {
	char name[64];		/* what sets it apart from the others; "" */
	char algo[32], proto[16];	/* asked for, "" = NCCL's choice */
	char lib[160];		/* path, "" = the one that is found */
	json_t *env;		/* {NAME: value} */
};

/**
 * The variants of @s, in the order of the command line, into @v; returns how
 * many, -1 with @e (a word that no NCCL knows, a NAME that is none, too many).
 * variants_release() drops their env.
 */
int variants_make(const struct spec *s, struct variant v[VARIANTS_MAX],
		  struct err *e);
void variants_release(struct variant *v, int n);

#endif
