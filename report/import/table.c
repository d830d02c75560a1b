/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/import/table.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/** How a column is read, and by what it becomes one of ours. */
struct import_column {
	const char *name;
	enum {
		LEAD_TEXT, LEAD_INT,	/* in front of the halves */
		TIME, GB_S, COUNT, MAX_ALGBW, DEVIATION, IGNORED
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
	{ .name = "error", .type = DEVIATION },
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
		       const struct import_tokens *header, bool swapped)
{
	*t = (struct import_table){ .n_columns = header->n, .fresh = true,
				    .swapped = swapped,
				    .rows.schema = &schema_collective };
	for (size_t i = 0; i < header->n; i++) {
		const struct import_column *c = column_of(header->at[i]);

		t->columns[i] = c;
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
		snprintf(row->detail, sizeof(row->detail), "max_algbw %.20s "
			 "as printed", text);
		break;
	case DEVIATION:
	case IGNORED:
		break;
	}
}

/** Is @text no number, as a check prints it that met none? */
static bool is_nan(const char *text)
{
	return strcasecmp(text, "nan") == 0 || strcasecmp(text, "-nan") == 0;
}

/** Can it be what the column @c has: a number, none below zero, or that there
 *  is none? */
static bool is_measure(const struct import_column *c, const char *text)
{
	bool check = c && (c->type == COUNT || c->type == DEVIATION);

	return (c && c->type == IGNORED) || import_real(text) >= 0 ||
	       strcmp(text, "N/A") == 0 ||
	       (check && (is_nan(text) || strchr(text, '*')));
}

/** Does the check of the data complain: wrong elements, none that are numbers,
 *  a deviation with the star of those that are too large? */
static const char *complaint(const struct import_column *c, const char *text)
{
	if (!c || (c->type != COUNT && c->type != DEVIATION)) {
		return NULL;
	}
	return is_nan(text) ? "the result is not a number (nan)" :
	       strchr(text, '*') ? "the result deviates too much" :
	       c->type == COUNT && to_count(text) > 0 ?
		       "nccl-tests found wrong elements" : NULL;
}

/** The columns of a half, from @first to @last; false when one of them is no
 *  measure, as in a line that was cut. */
static bool take_half(const struct import_table *t, struct collective_row *row,
		      char *const *tokens, size_t first, size_t last)
{
	row->outcome = OUTCOME_OK;
	for (size_t i = first; i < last; i++) {
		const struct import_column *c = t->columns[i];
		const char *text = tokens[i - first];

		if (!is_measure(c, text)) {
			return false;
		}
		set_column(t, row, c, text);
		if (complaint(c, text)) {
			row->outcome = OUTCOME_CORRUPT;
			STR_COPY(row->code, "data_corrupt");
			STR_COPY(row->detail, complaint(c, text));
		}
	}
	return true;
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

/** Blanks before word @i; such a gap stands for a half that was not run. */
static size_t gap_before(const struct import_tokens *k, size_t i)
{
	if (i == 0 || i >= k->n) {
		return 0;
	}
	return (size_t)(k->at[i] - k->at[i - 1]) - strlen(k->at[i - 1]);
}

#define GAP_OF_HALF 24

/** How many of @have words are the half from @first to @last: MSCCL++ leaves
 *  out the column of a check that was not made; 0: it is not whole. */
static size_t width_of(const struct import_table *t, size_t first, size_t last,
		       size_t have)
{
	const struct import_column *c = t->columns[last - 1];
	size_t width = last - first;

	return have >= width ? width :
	       t->swapped && c && c->type == COUNT && have == width - 1 ?
		       have : 0;
}

int import_table_row(struct import_table *t, struct import_tokens *k,
		     bool unended, struct err *e)
{
	size_t starts[3] = { t->half, t->second ? t->second : t->n_columns,
			     t->n_columns };
	struct collective_row lead;
	size_t at, got = 0, h;

	record_init(&schema_collective, &lead);
	at = take_lead(t, k, &lead);
	if (at == 0 || lead.size_B == RECORD_NONE || lead.size_B < 0) {
		return 0;
	}
	h = t->second && gap_before(k, at) > GAP_OF_HALF;
	/* the last word of a line that was cut may lack digits */
	k->n -= unended && k->n > 0 && k->n < t->n_columns;
	for (; h < (t->second ? 2U : 1U); h++) {
		size_t width = k->n < at ? 0 :
			       width_of(t, starts[h], starts[h + 1], k->n - at);
		struct collective_row row = lead;

		if (width == 0 || !take_half(t, &row, &k->at[at], starts[h],
					     starts[h] + width)) {
			break;
		}
		row.inplace = t->second ? (int64_t)(h != t->swapped) :
			      t->swapped ? 1 : RECORD_NONE;
		if (record_list_add(&t->rows, &row) < 0) {
			return err_set(e, ENOMEM, "cannot hold so many rows");
		}
		at += width;
		got++;
	}
	return got > 0;
}

/* ---- the unit of the bandwidths ------------------------------------------ */

#define GIB_PER_GB (1073741824.0 / 1e9)

bool import_table_is_binary(const struct import_table *t)
{
	struct collective_row row;
	double best = 0, ratio = 1;

	/* the largest has the most digits */
	for (size_t i = 0; i < t->rows.n; i++) {
		record_list_get(&t->rows, i, &row);
		if (row.algbw_GB_s > best && row.time_us > 0) {
			best = row.algbw_GB_s;
			ratio = (double)row.size_B / row.time_us / 1e3 / best;
		}
	}
	return fabs(ratio / GIB_PER_GB - 1) < 0.01;
}
