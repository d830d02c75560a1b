/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record_list.h"

#include <stdlib.h>
#include <string.h>

/** Bytes of @cell that are kept: of a text, those up to its end. */
static size_t kept(const struct column *c, const void *cell)
{
	static const size_t sizes[] = {
		[COLUMN_INT] = sizeof(int64_t),
		[COLUMN_REAL] = sizeof(double),
		[COLUMN_OUTCOME] = sizeof(enum outcome),
	};

	return c->type == COLUMN_TEXT ? strlen(cell) + 1 : sizes[c->type];
}

/** Room for one more in ->at, which has it for a power of two. */
static bool make_room(struct record_list *l)
{
	size_t *at = l->at;

	if ((l->n & (l->n - 1)) == 0) {
		at = realloc(at, (l->n ? 2 * l->n : 1) * sizeof(*at));
	}
	if (at) {
		l->at = at;
	}
	return at != NULL;
}

int record_list_add(struct record_list *l, const void *row)
{
	size_t before = l->packed.len;

	if (l->packed.failed || !make_room(l)) {
		return -1;
	}
	for (const struct column *c = l->schema->columns; c->name; c++) {
		const char *cell = (const char *)row + c->offset;

		str_addmem(&l->packed, cell, kept(c, cell));
	}
	if (l->packed.failed) {
		l->packed.len = before;
		return -1;
	}
	l->at[l->n++] = before;
	return 0;
}

void record_list_get(const struct record_list *l, size_t i, void *row)
{
	const char *from = l->packed.data + l->at[i];

	record_init(l->schema, row);
	for (const struct column *c = l->schema->columns; c->name; c++) {
		size_t size = kept(c, from);

		memcpy((char *)row + c->offset, from, size);
		from += size;
	}
}

void record_list_release(struct record_list *l)
{
	str_release(&l->packed);
	free(l->at);
	*l = (struct record_list){ .schema = l->schema };
}
