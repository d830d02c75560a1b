/* SPDX-License-Identifier: BSD-3-Clause */
/* When a fault of a drill is there: from which layer on, and unless what. */
#include "probes/plan/drill.h"

#include <string.h>

#include "lib/base/str.h"

const char *const drill_layers[] = {
	[DRILL_TCP] = "tcp", [DRILL_VERBS] = "verbs",
	[DRILL_VERBS_GPU] = "verbs_gpu", [DRILL_CUDA] = "cuda",
	[DRILL_NCCL] = "nccl", NULL
};

enum drill_layer drill_layer_of(const char *transport, bool ports, bool gpu)
{
	int layer = str_index(drill_layers, transport);

	if (ports) {
		return gpu ? DRILL_VERBS_GPU : DRILL_VERBS;
	}
	return layer >= 0 ? (enum drill_layer)layer : DRILL_NCCL;
}

static bool holds(const struct drill_when *w, enum drill_layer layer,
		  char *(*env)(const char *name))
{
	const char *value = w->name[0] && env ? env(w->name) : NULL;

	return layer >= w->from && !(value && strcmp(value, w->value) == 0);
}

void drill_settle(struct drill *d, enum drill_layer layer,
		  char *(*env)(const char *name))
{
	size_t kept = 0;

	for (size_t i = 0; i < d->n; i++) {
		if (holds(&d->faults[i].when, layer, env)) {
			d->faults[kept++] = d->faults[i];
		}
	}
	d->n = kept;
}
