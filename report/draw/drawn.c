/* SPDX-License-Identifier: BSD-3-Clause */
/* Heat maps that were drawn, for who shows them once more. */
#include "report/draw/draw.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"

int drawn_add(struct drawn *d, const char *name, struct str *svg)
{
	struct drawn_map map = { .len = svg->len };

	STR_COPY(map.name, name);
	if (d->bytes == 0 || d->bytes + svg->len <= DRAWN_BYTES) {
		map.svg = *svg;
	}
	if (!grow_add(&d->maps, &d->n, &map, sizeof(map))) {
		return -1;
	}
	if (map.svg.data) {
		d->bytes += svg->len;
		*svg = (struct str)STR_INIT;
	}
	return 0;
}

const struct drawn_map *drawn_find(const struct drawn *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++) {
		if (strcmp(d->maps[i].name, name) == 0) {
			return &d->maps[i];
		}
	}
	return NULL;
}

void drawn_release(struct drawn *d)
{
	for (size_t i = 0; i < d->n; i++) {
		str_release(&d->maps[i].svg);
	}
	free(d->maps);
	*d = (struct drawn){ 0 };
}
