/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/explain/unknown.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

/** Two lines that differ in numbers alone are one kind: what begins with a
 *  digit counts for nothing, as far as it is hexadecimal. */
static uint64_t kind_of(const char *line, size_t len)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if (isdigit(c)) {
			while (i + 1 < len &&
			       (isxdigit((unsigned char)line[i + 1]) ||
				line[i + 1] == 'x')) {
				i++;
			}
			c = '0';
		}
		hash = (hash ^ c) * UINT64_C(1099511628211);
	}
	return hash;
}

static struct unknown_kind *place_for(struct unknown *u, uint64_t hash)
{
	struct unknown_kind *rarest = u->kinds;

	for (size_t i = 0; i < u->n; i++) {
		if (u->kinds[i].hash == hash) {
			return &u->kinds[i];
		}
		if (u->kinds[i].count < rarest->count) {
			rarest = &u->kinds[i];
		}
	}
	return u->n < UNKNOWN_KINDS ? &u->kinds[u->n++] : rarest;
}

void unknown_line(struct unknown *u, const char *line, size_t len)
{
	uint64_t hash;
	struct unknown_kind *k;

	len = len < sizeof(k->text) ? len : sizeof(k->text) - 1;
	hash = kind_of(line, len);
	k = place_for(u, hash);
	u->lines++;
	if (k->count == 0 || k->hash != hash) {
		char text[sizeof(k->text)];

		for (size_t i = 0; i < len; i++) {
			text[i] = line[i] ? line[i] : '?';
		}
		text[len] = '\0';
		STR_COPY(k->text, text);
		k->hash = hash;
		k->before = k->count;
	}
	k->count++;
}

static int by_count(const void *a, const void *b)
{
	const struct unknown_kind *x = a, *y = b;

	uint64_t of_x = x->count - x->before, of_y = y->count - y->before;

	if (of_x != of_y) {
		return of_x > of_y ? -1 : 1;
	}
	return strcmp(x->text, y->text);
}

void unknown_sort(struct unknown *u)
{
	qsort(u->kinds, u->n, sizeof(*u->kinds), by_count);
}
