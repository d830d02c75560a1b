/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record.h"

#include <float.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/data/json.h"

/** Number of the column called @name, -1 when the schema has none. */
static int find_column(const struct schema *s, const char *name)
{
	for (int i = 0; s->columns[i].name; i++) {
		if (strcmp(s->columns[i].name, name) == 0) {
			return i;
		}
	}
	return -1;
}

/** Are the columns there that the schema needs?  -1 with @e: the first that is
 *  not. */
static int check_needs(struct record_reader *r, struct err *e)
{
	const char *const *need = r->schema->needs;

	for (; *need; need++) {
		const int column = find_column(r->schema, *need);
		size_t i = 0;

		while (i < r->n_fields && r->index[i] != column) {
			i++;
		}
		if (i == r->n_fields) {
			r->lacks = true;
			err_set(e, 0, "'%s' has no column '%s'",
				r->schema->name, *need);
			return err_hint(e, "columns are found by their names "
					"in the first line");
		}
	}
	return 0;
}

int record_reader_open(struct record_reader *r, const struct schema *s,
		       FILE *f, struct err *e)
{
	struct csv_row header;
	bool known = false;
	int got;

	*r = (struct record_reader){ .schema = s };
	csv_reader_init(&r->csv, f);
	got = csv_next(&r->csv, &header, e);
	if (got == 0) {
		err_set(e, 0, "'%s' is empty", s->name);
	}
	if (got <= 0) {
		goto release;
	}
	r->n_fields = header.n;
	for (size_t i = 0; i < header.n; i++) {
		r->index[i] = find_column(s, header.field[i]);
		known = known || r->index[i] >= 0;
	}
	if (!known) {
		err_set(e, 0, "'%s' has no known column in its first line",
			s->name);
		goto release;
	}
	if (check_needs(r, e) < 0) {
		goto release;
	}
	return 0;
release:
	record_reader_close(r);
	return -1;
}

void record_reader_close(struct record_reader *r)
{
	csv_reader_release(&r->csv);
}

static void note_bad(struct record_reader *r, size_t line, const char *why)
{
	struct err note;

	err_set(&note, 0, "line %zu: %s", line, why);
	STR_COPY(r->bad_why, note.text);
	r->bad_rows++;
}

/** Parse one field that is not empty; 0, or -1 with @e. */
static int parse_cell(const struct column *c, const char *text, void *cell,
		      struct err *e)
{
	enum outcome o;

	switch (c->type) {
	case COLUMN_TEXT:
		return str_copy(cell, c->size, text) ?
			       0 :
			       err_set(e, 0, "longer than %zu bytes",
				       c->size - 1);
	case COLUMN_INT:
		return units_parse_int(text, RECORD_NONE + 1, INT64_MAX, cell,
				       e);
	case COLUMN_REAL:
		return units_parse_real(text, -DBL_MAX, DBL_MAX, cell, e);
	case COLUMN_OUTCOME:
		o = outcome_parse(text);
		if (o == OUTCOME_COUNT) {
			return err_set(e, 0, "'%s' is not an outcome", text);
		}
		*(enum outcome *)cell = o;
		return 0;
	}
	return -1;
}

/** Fill @row; 0, or -1 with @e when the line does not hold one. */
static int parse_row(const struct record_reader *r,
		     const struct csv_row *fields, void *row, struct err *e)
{
	const struct schema *s = r->schema;

	record_init(s, row);
	if (fields->unended) {
		return err_set(e, 0, "its end is missing");
	}
	if (fields->n != r->n_fields) {
		return err_set(e, 0, "%zu fields, the first line has %zu",
			       fields->n, r->n_fields);
	}
	for (size_t i = 0; i < fields->n; i++) {
		const char *text = fields->field[i];
		const struct column *c;
		struct err why;

		if (r->index[i] < 0 || *text == '\0') {
			continue;
		}
		c = &s->columns[r->index[i]];
		if (parse_cell(c, text, (char *)row + c->offset, &why) < 0) {
			return err_set(e, 0, "%s: %s", c->name, why.text);
		}
	}
	return 0;
}

int record_reader_next(struct record_reader *r, void *row, struct err *e)
{
	struct csv_row fields;
	struct err why;
	int got;

	for (;;) {
		size_t malformed = r->csv.bad_rows;

		got = csv_next(&r->csv, &fields, e);
		if (r->csv.bad_rows > malformed) {
			note_bad(r, r->csv.bad_line, r->csv.bad_why);
			r->bad_rows += r->csv.bad_rows - malformed - 1;
		}
		if (got <= 0 || parse_row(r, &fields, row, &why) == 0) {
			return got;
		}
		note_bad(r, r->csv.line, why.text);
	}
}

/* ---- from JSON ---- */

/** Fill in one cell from member @c->name of @json, where it has one. */
static int read_cell(const struct column *c, const json_t *json, void *cell,
		     struct err *e)
{
	char word[32] = "";

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
		return word[0] ? parse_cell(c, word, cell, e) : 0;
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
