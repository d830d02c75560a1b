/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/import/table.h"

#include <errno.h>
#include <float.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/base/grow.h"
#include "report/model/sweep.h"

static const struct title {
	const char *name;
	enum import_field field;
} titles[] = {
	{ .name = "size", .field = FIELD_SIZE },
	{ .name = "size(B)", .field = FIELD_SIZE },
	{ .name = "bytes", .field = FIELD_SIZE },
	{ .name = "count", .field = FIELD_COUNT },
	{ .name = "N", .field = FIELD_COUNT },
	{ .name = "type", .field = FIELD_TYPE },
	{ .name = "redop", .field = FIELD_REDOP },
	{ .name = "op", .field = FIELD_REDOP },
	{ .name = "root", .field = FIELD_ROOT },
	{ .name = "time", .field = FIELD_TIME },
	{ .name = "avg_time(us)", .field = FIELD_TIME },
	{ .name = "min_time(us)", .field = FIELD_MIN },
	{ .name = "algbw", .field = FIELD_ALGBW },
	{ .name = "avg_algbw(GB/s)", .field = FIELD_ALGBW },
	{ .name = "max_algbw(GB/s)", .field = FIELD_MAX_ALGBW },
	{ .name = "busbw", .field = FIELD_BUSBW },
	{ .name = "#wrong", .field = FIELD_WRONG },
	{ .name = "i_min", .field = FIELD_MIN },
	{ .name = "i_max", .field = FIELD_MAX },
	{ .name = "i_p99", .field = FIELD_P99 },
	/* the time of the CPU, and the largest deviation of old versions: no
	 * column of ours means that */
	{ .name = "cputime", .field = FIELD_IGNORED },
	{ .name = "error", .field = FIELD_IGNORED },
	{ .name = "res", .field = FIELD_IGNORED },
	{ .name = "i_cv%", .field = FIELD_IGNORED },
	{ .name = "timestamp", .field = FIELD_IGNORED },
	{ 0 }
};

void import_split(const char *line, struct import_tokens *t)
{
	char *p = t->text;

	snprintf(t->text, sizeof(t->text), "%s", line);
	t->n = 0;
	while (*(p += strspn(p, " ")) && t->n < IMPORT_TOKENS) {
		t->at[t->n++] = p;
		p += strcspn(p, " ");
		if (*p) {
			*p++ = '\0';
		}
	}
}

int64_t import_int(const char *text)
{
	int64_t value = RECORD_NONE;

	units_parse_int(text, INT64_MIN + 1, INT64_MAX, &value, NULL);
	return value;
}

static double to_real(const char *text)
{
	double value = NAN;

	units_parse_real(text, -DBL_MAX, DBL_MAX, &value, NULL);
	return value;
}

/** #wrong is printed as a real; a count all the same. */
static int64_t to_count(const char *text)
{
	double value = to_real(text);

	return value >= 0 && value < 9e15 && value == floor(value) ?
		       (int64_t)value :
		       RECORD_NONE;
}

static bool is_number(const char *text)
{
	return isfinite(to_real(text));
}

static enum import_field field_of(const char *name)
{
	for (const struct title *t = titles; t->name; t++) {
		if (strcmp(t->name, name) == 0) {
			return t->field;
		}
	}
	return FIELD_UNKNOWN;
}

/* ---- the header --------------------------------------------------------- */

bool import_is_header(const struct import_tokens *t)
{
	bool size = false, time = false;

	for (size_t i = 0; i < t->n; i++) {
		enum import_field f = field_of(t->at[i]);

		if (f == FIELD_UNKNOWN && i < 2) {
			return false;
		}
		size = size || f == FIELD_SIZE;
		time = time || f == FIELD_TIME || f == FIELD_ALGBW;
	}
	return size && time;
}

static bool in_half(enum import_field f)
{
	return f == FIELD_TIME || f == FIELD_MIN || f == FIELD_MAX ||
	       f == FIELD_P99 || f == FIELD_ALGBW || f == FIELD_MAX_ALGBW ||
	       f == FIELD_BUSBW || f == FIELD_WRONG || f == FIELD_IGNORED;
}

void import_table_open(struct import_table *t,
		       const struct import_tokens *header, size_t max)
{
	*t = (struct import_table){ .ranks = RECORD_NONE, .nodes = RECORD_NONE,
				    .iters = RECORD_NONE, .fresh = true,
				    .max = max };
	for (size_t i = 0; i < header->n; i++) {
		enum import_field f = field_of(header->at[i]);

		t->fields[t->n_fields++] = f;
		t->mscclpp = t->mscclpp || f == FIELD_MAX_ALGBW;
		if (t->half == 0 && in_half(f)) {
			t->half = i;
		} else if (t->half > 0 && t->second == 0 &&
			   strcmp(header->at[i],
				  header->at[t->half]) == 0) {
			t->second = i;
		}
	}
}

bool import_table_units(struct import_table *t, const char *body)
{
	if (!t->fresh || !strstr(body, "(B)")) {
		return false;
	}
	t->milliseconds = strstr(body, "(ms)") != NULL;
	return true;
}

/* ---- rows --------------------------------------------------------------- */

static void set_field(const struct import_table *t, struct collective_row *row,
		      enum import_field f, const char *text)
{
	double unit = t->milliseconds ? 1000 : 1;

	switch (f) {
	case FIELD_SIZE:
		row->size_B = import_int(text);
		break;
	case FIELD_COUNT:
		row->count = import_int(text);
		break;
	case FIELD_TYPE:
		STR_COPY(row->dtype, text);
		break;
	case FIELD_REDOP:
		STR_COPY(row->redop, text);
		break;
	case FIELD_ROOT:
		row->root = import_int(text);
		break;
	case FIELD_TIME:
		row->time_us = to_real(text) * unit;
		break;
	case FIELD_MIN:
		row->time_min_us = to_real(text) * unit;
		break;
	case FIELD_MAX:
		row->time_max_us = to_real(text) * unit;
		break;
	case FIELD_P99:
		row->time_p99_us = to_real(text) * unit;
		break;
	case FIELD_ALGBW:
		row->algbw_GB_s = to_real(text);
		break;
	case FIELD_MAX_ALGBW:
		snprintf(row->detail, sizeof(row->detail), "printed as GB/s "
			 "are 2^30 bytes per second; max_algbw %.20s", text);
		break;
	case FIELD_BUSBW:
		row->busbw_GB_s = to_real(text);
		break;
	case FIELD_WRONG:
		row->wrong = to_count(text);
		break;
	case FIELD_IGNORED:
	case FIELD_UNKNOWN:
		break;
	}
}

/** Can it be a time, a bandwidth or a count: a number, none below zero, or
 *  that there is none? */
static bool is_measure(const char *text)
{
	return to_real(text) >= 0 || strcmp(text, "N/A") == 0;
}

/** The columns of a half, from @first to @last; false when one of them is no
 *  measure, as in a line that was cut. */
static bool take_half(const struct import_table *t, struct collective_row *row,
		      char *const *tokens, size_t first, size_t last)
{
	for (size_t i = first; i < last; i++) {
		if (t->fields[i] != FIELD_IGNORED &&
		    !is_measure(tokens[i - first])) {
			return false;
		}
		set_field(t, row, t->fields[i], tokens[i - first]);
	}
	row->outcome = OUTCOME_OK;
	if (row->wrong > 0) {
		row->outcome = OUTCOME_CORRUPT;
		STR_COPY(row->code, "data_corrupt");
		STR_COPY(row->detail, "nccl-tests found wrong elements");
	}
	return true;
}

static int keep_row(struct import_table *t, const struct collective_row *row,
		    struct err *e)
{
	struct collective_row *rows;

	if (t->n >= t->max) {
		return err_set(e, ENOMEM, "more than %d rows", SWEEP_ROWS_MAX);
	}
	rows = grow(t->rows, t->n, sizeof(*rows));
	if (!rows) {
		return err_set(e, ENOMEM, "cannot hold so many rows");
	}
	t->rows = rows;
	rows[t->n++] = *row;
	return 0;
}

/**
 * The columns before the halves.  Old versions leave the operation or the root
 * blank where a collective has none: then the line has fewer words.  Returns
 * how many words they took, 0 when it is no row.
 */
static size_t take_lead(const struct import_table *t,
			const struct import_tokens *k,
			struct collective_row *row)
{
	size_t at = 0;

	for (size_t i = 0; i < t->half; i++) {
		bool number = at < k->n && is_number(k->at[at]);
		bool blank = t->fields[i] == FIELD_REDOP ? number :
			     t->fields[i] == FIELD_ROOT ?
				     at < k->n && strchr(k->at[at], '.') : false;

		if (blank) {
			continue;
		}
		if (at == k->n || ((t->fields[i] == FIELD_SIZE ||
				    t->fields[i] == FIELD_COUNT ||
				    t->fields[i] == FIELD_ROOT) &&
				   import_int(k->at[at]) == RECORD_NONE)) {
			return 0;
		}
		set_field(t, row, t->fields[i], k->at[at++]);
	}
	return at;
}

int import_table_row(struct import_table *t, struct import_tokens *k,
		     bool unended, struct err *e)
{
	size_t ends[2] = { t->second ? t->second : t->n_fields, t->n_fields };
	struct collective_row lead;
	size_t at, got = 0;

	record_init(&schema_collective, &lead);
	at = take_lead(t, k, &lead);
	if (at == 0 || lead.size_B == RECORD_NONE || lead.size_B < 0) {
		return 0;
	}
	/* the last word of a line that was cut may lack digits */
	k->n -= unended && k->n > 0 && k->n < t->n_fields;
	for (size_t h = 0; h < (t->second ? 2U : 1U); h++) {
		size_t first = h ? t->second : t->half;
		struct collective_row row = lead;

		if (k->n < at || k->n - at < ends[h] - first ||
		    !take_half(t, &row, &k->at[at], first, ends[h])) {
			break;
		}
		row.inplace = t->second ? (int64_t)h : RECORD_NONE;
		if (keep_row(t, &row, e) < 0) {
			return -1;
		}
		at += ends[h] - first;
		got++;
	}
	return got > 0;
}
