/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/import/table.h"

#include <errno.h>
#include <string.h>

#include "report/base/grow.h"
#include "report/model/sweep.h"

/** How a column is read, and by what it becomes one of ours. */
struct import_column {
	const char *name;
	enum {
		LEAD_TEXT, LEAD_INT,	/* in front of the halves */
		TIME, GB_S, COUNT, MAX_ALGBW, IGNORED
	} type;
	size_t at, size;	/* in a row of ours; bytes of a text */
};

#define PLACE(field) offsetof(struct collective_row, field)
#define AT(field) .at = PLACE(field)
#define TEXT_AT(field) .type = LEAD_TEXT, AT(field), \
	.size = sizeof(((struct collective_row *)NULL)->field)

static const struct import_column columns[] = {
	{ .name = "size", .type = LEAD_INT, AT(size_B) },
	{ .name = "size(B)", .type = LEAD_INT, AT(size_B) },
	{ .name = "bytes", .type = LEAD_INT, AT(size_B) },
	{ .name = "count", .type = LEAD_INT, AT(count) },
	{ .name = "N", .type = LEAD_INT, AT(count) },
	{ .name = "type", TEXT_AT(dtype) },
	{ .name = "redop", TEXT_AT(redop) },
	{ .name = "op", TEXT_AT(redop) },
	{ .name = "root", .type = LEAD_INT, AT(root) },
	{ .name = "time", .type = TIME, AT(time_us) },
	{ .name = "avg_time(us)", .type = TIME, AT(time_us) },
	{ .name = "min_time(us)", .type = TIME, AT(time_min_us) },
	{ .name = "algbw", .type = GB_S, AT(algbw_GB_s) },
	{ .name = "avg_algbw(GB/s)", .type = GB_S, AT(algbw_GB_s) },
	{ .name = "max_algbw(GB/s)", .type = MAX_ALGBW },
	{ .name = "busbw", .type = GB_S, AT(busbw_GB_s) },
	{ .name = "#wrong", .type = COUNT, AT(wrong) },
	{ .name = "i_min", .type = TIME, AT(time_min_us) },
	{ .name = "i_max", .type = TIME, AT(time_max_us) },
	{ .name = "i_p99", .type = TIME, AT(time_p99_us) },
	/* the time of the CPU, and the largest deviation of old versions: no
	 * column of ours means that */
	{ .name = "cputime", .type = IGNORED },
	{ .name = "error", .type = IGNORED },
	{ .name = "res", .type = IGNORED },
	{ .name = "i_cv%", .type = IGNORED },
	{ .name = "timestamp", .type = IGNORED },
	{ 0 }
};

/** #wrong is printed as a real; a count all the same. */
static int64_t to_count(const char *text)
{
	double value = import_real(text);

	return value >= 0 && value < 9e15 && value == floor(value) ?
		       (int64_t)value :
		       RECORD_NONE;
}

static const struct import_column *column_of(const char *name)
{
	for (const struct import_column *c = columns; c->name; c++) {
		if (strcmp(c->name, name) == 0) {
			return c;
		}
	}
	return NULL;
}

/** Is @c, of a known name or none, the one that becomes the member @at? */
static bool is_at(const struct import_column *c, size_t at)
{
	return c && c->type < MAX_ALGBW && c->at == at;
}

/* ---- the header --------------------------------------------------------- */

bool import_is_header(const struct import_tokens *t)
{
	bool size = false, time = false;

	for (size_t i = 0; i < t->n; i++) {
		const struct import_column *c = column_of(t->at[i]);

		if (!c && i < 2) {
			return false;
		}
		size = size || is_at(c, PLACE(size_B));
		time = time || is_at(c, PLACE(time_us)) ||
		       is_at(c, PLACE(algbw_GB_s));
	}
	return size && time;
}

void import_table_open(struct import_table *t,
		       const struct import_tokens *header, size_t max)
{
	*t = (struct import_table){ .n_columns = header->n, .fresh = true,
				    .max = max };
	for (size_t i = 0; i < header->n; i++) {
		const struct import_column *c = column_of(header->at[i]);

		t->columns[i] = c;
		t->mscclpp = t->mscclpp || (c && c->type == MAX_ALGBW);
		if (t->half == 0 && c && c->type > LEAD_INT) {
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

static void set_column(const struct import_table *t, struct collective_row *row,
		       const struct import_column *c, const char *text)
{
	void *at = (char *)row + (c ? c->at : 0);

	switch (c ? c->type : IGNORED) {
	case LEAD_TEXT:
		str_copy(at, c->size, text);
		break;
	case LEAD_INT:
		*(int64_t *)at = import_int(text);
		break;
	case TIME:
		*(double *)at = import_real(text) *
				(t->milliseconds ? 1000 : 1);
		break;
	case GB_S:
		*(double *)at = import_real(text);
		break;
	case COUNT:
		*(int64_t *)at = to_count(text);
		break;
	case MAX_ALGBW:
		snprintf(row->detail, sizeof(row->detail), "printed as GB/s "
			 "are 2^30 bytes per second; max_algbw %.20s", text);
		break;
	case IGNORED:
		break;
	}
}

/** Can it be a time, a bandwidth or a count: a number, none below zero, or
 *  that there is none? */
static bool is_measure(const char *text)
{
	return import_real(text) >= 0 || strcmp(text, "N/A") == 0;
}

/** The columns of a half, from @first to @last; false when one of them is no
 *  measure, as in a line that was cut. */
static bool take_half(const struct import_table *t, struct collective_row *row,
		      char *const *tokens, size_t first, size_t last)
{
	for (size_t i = first; i < last; i++) {
		const struct import_column *c = t->columns[i];

		if (!(c && c->type == IGNORED) &&
		    !is_measure(tokens[i - first])) {
			return false;
		}
		set_column(t, row, c, tokens[i - first]);
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
	if (t->n >= t->max) {
		return err_set(e, ENOMEM, "more than %d rows", SWEEP_ROWS_MAX);
	}
	return grow_add(&t->rows, &t->n, row, sizeof(*row)) ?
		       0 : err_set(e, ENOMEM, "cannot hold so many rows");
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
		const struct import_column *c = t->columns[i];

		if (at == k->n) {
			return 0;
		}
		if ((is_at(c, PLACE(redop)) &&
		     isfinite(import_real(k->at[at]))) ||
		    (is_at(c, PLACE(root)) &&
		     strchr(k->at[at], '.'))) {
			continue;
		}
		if (c && c->type == LEAD_INT &&
		    import_int(k->at[at]) == RECORD_NONE) {
			return 0;
		}
		set_column(t, row, c, k->at[at++]);
	}
	return at;
}

int import_table_row(struct import_table *t, struct import_tokens *k,
		     bool unended, struct err *e)
{
	size_t ends[2] = { t->second ? t->second : t->n_columns,
			   t->n_columns };
	struct collective_row lead;
	size_t at, got = 0;

	record_init(&schema_collective, &lead);
	at = take_lead(t, k, &lead);
	if (at == 0 || lead.size_B == RECORD_NONE || lead.size_B < 0) {
		return 0;
	}
	/* the last word of a line that was cut may lack digits */
	k->n -= unended && k->n > 0 && k->n < t->n_columns;
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
