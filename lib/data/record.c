/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record.h"

#include <string.h>

#include "lib/base/number.h"
#include "lib/data/json.h"

static const char *const outcome_names[OUTCOME_COUNT + 1] = {
	[OUTCOME_NOT_RUN] = "not_run", [OUTCOME_OK] = "ok",
	[OUTCOME_ERROR] = "error",     [OUTCOME_TIMEOUT] = "timeout",
	[OUTCOME_CRASHED] = "crashed", [OUTCOME_CORRUPT] = "corrupt",
	[OUTCOME_SKIPPED] = "skipped",
};

const char *column_type_name(enum column_type type)
{
	static const char *const names[] = {
		[COLUMN_TEXT] = "text",	      [COLUMN_INT] = "integer",
		[COLUMN_REAL] = "real", [COLUMN_OUTCOME] = "outcome",
	};

	return names[type];
}

const char *outcome_name(enum outcome o)
{
	return outcome_names[o];
}

enum outcome outcome_parse(const char *text)
{
	const int o = str_index(outcome_names, text);

	return o < 0 ? OUTCOME_COUNT : (enum outcome)o;
}

void record_init(const struct schema *s, void *row)
{
	memset(row, 0, s->row_size);
	for (const struct column *c = s->columns; c->name; c++) {
		void *cell = (char *)row + c->offset;

		if (c->type == COLUMN_INT) {
			*(int64_t *)cell = RECORD_NONE;
		} else if (c->type == COLUMN_REAL) {
			*(double *)cell = NAN;
		}
	}
}

void record_add_header(const struct schema *s, struct str *out)
{
	for (const struct column *c = s->columns; c->name; c++) {
		str_add(out, c == s->columns ? "" : ",");
		str_add(out, c->name);
	}
	str_addch(out, '\n');
}

/** Six digits are more than a clock is good for; what has more before its
 *  point keeps them. */
static int digits_of(double value)
{
	return fabs(value) < 1e5 ? 6 : 9;
}

/** One cell as CSV; nothing at all when it was not measured. */
static void add_cell(const struct column *c, const void *cell, struct str *out)
{
	switch (c->type) {
	case COLUMN_TEXT:
		csv_add_field(out, cell);
		break;
	case COLUMN_INT:
		if (*(const int64_t *)cell != RECORD_NONE) {
			number_add_int(out, *(const int64_t *)cell);
		}
		break;
	case COLUMN_REAL:
		if (isfinite(*(const double *)cell)) {
			number_add_real(out, *(const double *)cell,
					digits_of(*(const double *)cell));
		}
		break;
	case COLUMN_OUTCOME:
		str_add(out, outcome_name(*(const enum outcome *)cell));
		break;
	}
}

void record_add_csv(const struct schema *s, const void *row, struct str *out)
{
	for (const struct column *c = s->columns; c->name; c++) {
		if (c != s->columns) {
			str_addch(out, ',');
		}
		add_cell(c, (const char *)row + c->offset, out);
	}
	str_addch(out, '\n');
}

void record_add_named(const struct schema *s, const void *row,
		      const char *const names[], size_t n, struct str *out)
{
	for (size_t i = 0; i < n; i++) {
		str_add(out, i ? "," : "");
		for (const struct column *c = s->columns; c->name; c++) {
			if (strcmp(c->name, names[i]) == 0) {
				add_cell(c, (const char *)row + c->offset, out);
			}
		}
	}
	str_addch(out, '\n');
}

/** One cell as a JSON value; NULL only without memory. */
static json_t *cell_json(const struct column *c, const void *cell)
{
	switch (c->type) {
	case COLUMN_TEXT:
		return *(const char *)cell ? json_text(cell) : json_null();
	case COLUMN_INT:
		return *(const int64_t *)cell != RECORD_NONE ?
			       json_integer(*(const int64_t *)cell) :
			       json_null();
	case COLUMN_REAL:
		return isfinite(*(const double *)cell) ?
			       json_real(*(const double *)cell) :
			       json_null();
	case COLUMN_OUTCOME:
		return json_string(outcome_name(*(const enum outcome *)cell));
	}
	return NULL;
}

json_t *record_json(const struct schema *s, const void *row)
{
	json_t *obj = json_object();

	for (const struct column *c = s->columns; c->name; c++) {
		json_t *v = cell_json(c, (const char *)row + c->offset);

		if (json_object_set_new(obj, c->name, v) < 0) {
			json_decref(obj);
			return NULL;
		}
	}
	return obj;
}
