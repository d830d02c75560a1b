/* SPDX-License-Identifier: BSD-3-Clause */
/* When a fault of a drill is there: from which layer on, and unless what. */
#include "probes/plan/drill.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/str.h"

const char *const drill_layers[] = {
	[DRILL_TCP] = "tcp", [DRILL_VERBS] = "verbs",
	[DRILL_VERBS_GPU] = "verbs_gpu", [DRILL_CUDA] = "cuda",
	[DRILL_NCCL] = "nccl", NULL
};

enum drill_layer drill_layer_of(const char *transport, bool ports, bool gpu)
{
	if (ports) {
		return gpu ? DRILL_VERBS_GPU : DRILL_VERBS;
	}
	for (int i = 0; drill_layers[i]; i++) {
		if (strcmp(drill_layers[i], transport) == 0) {
			return (enum drill_layer)i;
		}
	}
	return DRILL_NCCL;
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

bool drill_parse_from(const char *value, struct drill_when *w)
{
	for (int i = 0; drill_layers[i]; i++) {
		if (strcmp(drill_layers[i], value) == 0) {
			w->from = (enum drill_layer)i;
			return true;
		}
	}
	return false;
}

bool drill_parse_unless(const char *value, struct drill_when *w)
{
	size_t len = strcspn(value, "=");

	if (value[len] != '=' || len == 0 || len >= sizeof(w->name) ||
	    isdigit((unsigned char)value[0]) || !value[len + 1] ||
	    strlen(value + len + 1) >= sizeof(w->value)) {
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)value[i]) && value[i] != '_') {
			return false;
		}
	}
	memcpy(w->name, value, len);
	w->name[len] = '\0';
	STR_COPY(w->value, value + len + 1);
	return true;
}
