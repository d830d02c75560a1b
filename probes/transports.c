/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transports.h"

#include <string.h>

#define ENTRY(name) &xport_##name,
const struct xport_ops *const xports[] = { XPORTS(ENTRY) NULL };

const struct xport_ops *xport_find(const char *name)
{
	for (size_t i = 0; xports[i] != NULL; i++) {
		if (strcmp(xports[i]->name, name) == 0) {
			return xports[i];
		}
	}
	return NULL;
}

const struct xport_ops *xport_auto(bool gpu)
{
	for (size_t i = 0; xports[i] != NULL; i++) {
		if (xports[i]->priority >= 0 &&
		    (gpu || !xport_is(xports[i], XPORT_GPU))) {
			return xports[i];
		}
	}
	return NULL;
}
