/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_LIST_H
#define LIB_DATA_RECORD_LIST_H

#include "lib/data/record.h"

/**
 * Many rows of one schema in little memory: a text takes what it has, not what
 * it may have, which makes a row a fifth as large.  Zeroed at first, but for
 * the schema.
 */
struct record_list {
	const struct schema *schema;
	struct str packed;
	size_t *at;		/* where the packed form of each begins */
	size_t n;
};

/** Append a copy of @row; -1 without memory, and nothing is changed. */
int record_list_add(struct record_list *l, const void *row);
/** Fill @row, of schema->row_size bytes, with row @i. */
void record_list_get(const struct record_list *l, size_t i, void *row);
/** Free the rows; the schema stays. */
void record_list_release(struct record_list *l);

#endif
