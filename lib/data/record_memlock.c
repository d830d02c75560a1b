/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record_memlock.h"

#include <string.h>

static const char *const context_names[MEMLOCK_CONTEXTS] = {
	[MEMLOCK_LOGIN] = "login", [MEMLOCK_SLURMD] = "slurmd",
	[MEMLOCK_BATCH] = "batch", [MEMLOCK_STEP] = "step",
	[MEMLOCK_CONTAINER] = "container", [MEMLOCK_HERE] = "here",
};

const char *memlock_context_name(enum memlock_context c)
{
	return context_names[c];
}

enum memlock_context memlock_context_parse(const char *text)
{
	int c = 0;

	while (c < MEMLOCK_CONTEXTS && strcmp(context_names[c], text) != 0) {
		c++;
	}
	return (enum memlock_context)c;
}
