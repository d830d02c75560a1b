/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record_memlock.h"

static const char *const context_names[MEMLOCK_CONTEXTS + 1] = {
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
	const int c = str_index(context_names, text);

	return c < 0 ? MEMLOCK_CONTEXTS : (enum memlock_context)c;
}
