/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record.h"

#include <float.h>

#include "lib/data/json.h"

/** Fill in one cell from member @c->name of @json, where it has one. */
static int read_cell(const struct column *c, const json_t *json, void *cell,
		     struct err *e)
{
	char word[32] = "";
	enum outcome o;

	switch (c->type) {
	case COLUMN_TEXT:
		return json_opt_text(json, c->name, cell, c->size, e);
	case COLUMN_INT:
		return json_opt_int(json, c->name, RECORD_NONE + 1, INT64_MAX,
				    cell, e);
	case COLUMN_REAL:
		return json_opt_real(json, c->name, -DBL_MAX, DBL_MAX, cell,
				     e);
	case COLUMN_OUTCOME:
		if (json_opt_text(json, c->name, word, sizeof(word), e) < 0) {
			return -1;
		}
		o = word[0] ? outcome_parse(word) : OUTCOME_NOT_RUN;
		if (o == OUTCOME_COUNT) {
			return err_set(e, 0, "'%s' is not an outcome", word);
		}
		*(enum outcome *)cell = o;
		return 0;
	}
	return -1;
}

int record_from_json(const struct schema *s, const json_t *json, void *row,
		     struct err *e)
{
	if (!json_is_object(json)) {
		return err_set(e, 0, "a row is not a JSON object");
	}
	record_init(s, row);
	for (const struct column *c = s->columns; c->name; c++) {
		if (read_cell(c, json, (char *)row + c->offset, e) < 0) {
			return -1;
		}
	}
	return 0;
}
