/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of nccl-tests, old and new, and of MSCCL++, wherever they stand: in
 * logs with the lines of NCCL between their rows, behind the prefixes of
 * launchers, in documents.
 */
#include "report/import.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/record_allreduce.h"
#include "lib/units.h"
#include "report/grow.h"
#include "report/import_heading.h"
#include "report/sweep.h"

#define TOKENS_MAX 40
#define HOSTS_MAX 4096

/** What a column of a table is. */
enum field {
	FIELD_SIZE, FIELD_COUNT, FIELD_TYPE, FIELD_REDOP, FIELD_ROOT,
	FIELD_TIME, FIELD_MIN, FIELD_MAX, FIELD_P99, FIELD_ALGBW,
	FIELD_MAX_ALGBW, FIELD_BUSBW, FIELD_WRONG, FIELD_IGNORED, FIELD_UNKNOWN
};

static const struct title {
	const char *name;
	enum field field;
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

/** The table that is being read. */
struct table {
	enum field fields[TOKENS_MAX];
	size_t n_fields;
	size_t half, second;	/* first columns of the two halves; 0: none */
	bool mscclpp;
	bool milliseconds;
	bool fresh;		/* no row yet: the line of units may come */
	char label[96], op[16], variant[64], lib[160];
	int64_t ranks, nodes, iters;
	bool ranks_differ;	/* the log has communicators of several sizes */
	struct allreduce_row *rows;
	size_t n, max;		/* rows it has, and may have */
};

struct tokens {
	char text[IMPORT_LINE_MAX];
	char *at[TOKENS_MAX];
	size_t n;
};

struct parser {
	struct import *x;
	struct headings headings;
	struct table t;
	bool open;		/* a header was met */
	/* what was said since the last table */
	char op[16], variant[64], lib[160];
	int64_t iters;
	int64_t ranks;
	bool ranks_differ;
	char (*hosts)[64];
	size_t n_hosts, devices;
	/* {label and variant: true} of those that were given, and {the start
	 * that numbered labels share: the last number} */
	json_t *labels, *numbers;
	struct tokens k;	/* of the line at hand */
};

static void split(const char *line, struct tokens *t)
{
	char *p = t->text;

	snprintf(t->text, sizeof(t->text), "%s", line);
	t->n = 0;
	while (*(p += strspn(p, " ")) && t->n < TOKENS_MAX) {
		t->at[t->n++] = p;
		p += strcspn(p, " ");
		if (*p) {
			*p++ = '\0';
		}
	}
}

/** Behind what launchers put before a line: "3: " of srun --label,
 *  "[1,3]<stdout>:" of mpirun --tag-output. */
static const char *skip_prefixes(const char *line)
{
	for (;;) {
		const char *p = line + strspn(line, " ");
		size_t digits = strspn(p, "0123456789");

		if (digits > 0 && digits < 8 && p[digits] == ':' &&
		    p[digits + 1] == ' ') {
			line = p + digits + 1;
			continue;
		}
		if (*p == '[' && (p[1] >= '0' && p[1] <= '9')) {
			const char *end = strstr(p, "<std");

			end = end && end - p < 40 ? strchr(end, ':') : NULL;
			if (end) {
				line = end + 1;
				continue;
			}
		}
		return line;
	}
}

static const char *skip_comment(const char *line)
{
	return line + strspn(line, "# ");
}

static int64_t to_int(const char *text)
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

static enum field field_of(const char *name)
{
	for (const struct title *t = titles; t->name; t++) {
		if (strcmp(t->name, name) == 0) {
			return t->field;
		}
	}
	return FIELD_UNKNOWN;
}

/* ---- the end of a table ------------------------------------------------- */

/** A label that was given before, for the same variant, gets a number. */
static void make_label(struct parser *p, struct table *t)
{
	char start[81], key[192], numbered[192];
	int again;

	snprintf(start, sizeof(start), "%.80s", t->label);
	snprintf(numbered, sizeof(numbered), "%s\n%s", start, t->variant);
	again = (int)json_integer_value(json_object_get(p->numbers, numbered));
	again = again ? again : 1;
	/* each number is tried once, however many tables there are */
	for (;;) {
		snprintf(key, sizeof(key), "%s\n%s", t->label, t->variant);
		if (!json_object_get(p->labels, key)) {
			break;
		}
		snprintf(t->label, sizeof(t->label), "%s (%d)", start,
			 ++again);
	}
	/* nocheck: a log may hold bytes that are not UTF-8 */
	json_object_set_new_nocheck(p->labels, key, json_true());
	json_object_set_new_nocheck(p->numbers, numbered, json_integer(again));
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static int end_table(struct parser *p, struct err *e)
{
	struct table *t = &p->t;
	int rc = 0;

	if (p->open && t->n > 0) {
		if (!t->label[0]) {
			STR_COPY(t->label, base_name(p->x->file));
		}
		make_label(p, t);
	}
	if (t->mscclpp && t->n > 0) {
		import_note(p->x, "MSCCL++ prints 2^30 bytes per second as "
			    "GB/s: algbw_GB_s is kept as it was printed");
	}
	for (size_t i = 0; i < t->n && rc == 0; i++) {
		struct allreduce_row *row = &t->rows[i];

		STR_COPY(row->table, t->label);
		STR_COPY(row->op, t->op);
		STR_COPY(row->variant, t->variant);
		STR_COPY(row->lib, t->lib);
		row->ranks = t->ranks_differ ? RECORD_NONE : t->ranks;
		row->nodes = t->nodes;
		row->iters = t->iters;
		rc = import_add(p->x, &schema_allreduce, row, e);
	}
	free(t->rows);
	*t = (struct table){ 0 };
	p->open = false;
	return rc;
}

/* ---- lines that say something about the tables --------------------------- */

static void note_ranks(struct parser *p, int64_t ranks)
{
	int64_t *at = p->open ? &p->t.ranks : &p->ranks;
	bool *differ = p->open ? &p->t.ranks_differ : &p->ranks_differ;

	if (*at != RECORD_NONE && *at != ranks) {
		*differ = true;
	}
	*at = ranks;
}

/** The number behind @name in @line; RECORD_NONE. */
static int64_t number_after(const char *line, const char *name)
{
	const char *at = strstr(line, name);
	char digits[24];
	size_t n;

	if (!at) {
		return RECORD_NONE;
	}
	at += strlen(name);
	at += strspn(at, " ");
	n = strspn(at, "0123456789");
	if (n == 0 || n >= sizeof(digits)) {
		return RECORD_NONE;
	}
	memcpy(digits, at, n);
	digits[n] = '\0';
	return to_int(digits);
}

/** "#  Rank  0 Group  0 Pid   3697 on   node1 device  0 [..] NVIDIA H200" */
static void take_device(struct parser *p, const struct tokens *t)
{
	char (*hosts)[64];

	for (size_t i = 0; i + 1 < t->n; i++) {
		if (strcmp(t->at[i], "on") != 0) {
			continue;
		}
		p->devices++;
		for (size_t k = 0; k < p->n_hosts; k++) {
			if (strcmp(p->hosts[k], t->at[i + 1]) == 0) {
				return;
			}
		}
		hosts = p->n_hosts < HOSTS_MAX ?
			grow(p->hosts, p->n_hosts, sizeof(*hosts)) : NULL;
		if (hosts) {
			p->hosts = hosts;
			STR_COPY(hosts[p->n_hosts++], t->at[i + 1]);
		}
		return;
	}
}

static void forget(struct parser *p)
{
	p->op[0] = '\0';
	p->variant[0] = '\0';
	p->lib[0] = '\0';
	p->iters = p->ranks = RECORD_NONE;
	p->ranks_differ = false;
	p->n_hosts = p->devices = 0;
}

/** "all_reduce_perf" anywhere in the line: the program that ran. */
static void take_program(struct parser *p, const char *line)
{
	const char *perf = strstr(line, "_perf");
	const char *from = perf;

	while (from && from > line &&
	       (isalnum((unsigned char)from[-1]) || from[-1] == '_')) {
		from--;
	}
	if (perf && perf - from < 40) {
		char name[48];

		snprintf(name, sizeof(name), "%.*s", (int)(perf - from), from);
		STR_COPY(p->op, heading_op(name));
	}
}

/** A line that tells about a run; was it one? */
static bool take_fact(struct parser *p, const char *body,
		      const struct tokens *t)
{
	int64_t n;

	if (t->n == 0) {
		return true;
	}
	if (strstr(body, "NCCL INFO") || strstr(body, "NCCL WARN") ||
	    strstr(body, "NCCL TRACE") || strstr(body, "NCCL ERROR")) {
		n = number_after(body, "nranks ");
		if (n != RECORD_NONE) {
			note_ranks(p, n);
		}
		return true;
	}
	if (str_starts(body, "NCCL version ") && t->n > 2) {
		str_copy(p->open ? p->t.lib : p->lib, sizeof(p->lib), t->at[2]);
		return true;
	}
	if (str_starts(body, "Rank") && strstr(body, " on ")) {
		take_device(p, t);
		return true;
	}
	if (str_starts(body, "Using devices")) {
		p->n_hosts = p->devices = 0;
		return true;
	}
	if (str_starts(body, "nThread ")) {
		p->iters = number_after(body, "warmup iters:") != RECORD_NONE ?
			number_after(strstr(body, "warmup iters:") + 13,
				     "iters:") : RECORD_NONE;
		return true;
	}
	if (str_starts(body, "nranks=")) {
		note_ranks(p, number_after(body, "nranks="));
		return true;
	}
	if (strstr(body, "check_iters=")) {
		p->iters = number_after(body, " iters=");
		return true;
	}
	if (str_starts(body, "KERNEL_FILE=")) {
		STR_COPY(p->variant, body + strlen("KERNEL_FILE="));
		return true;
	}
	if (str_starts(body, "Collective test starting")) {
		take_program(p, body);
		return true;
	}
	return str_starts(body, "nccl-tests version") ||
	       str_starts(body, "Collective test concluded") ||
	       str_starts(body, "Writing JSON") ||
	       str_starts(body, "Reducing maxBytes") ||
	       str_starts(body, "out-of-place") ||
	       str_starts(body, "Blocking Enabled") ||
	       str_starts(body, "Per-Iteration Report") ||
	       str_starts(body, "Parallel Init");
}

/* ---- header and rows ------------------------------------------------------ */

static bool is_header(const struct tokens *t)
{
	bool size = false, time = false;

	for (size_t i = 0; i < t->n; i++) {
		enum field f = field_of(t->at[i]);

		if (f == FIELD_UNKNOWN && i < 2) {
			return false;
		}
		size = size || f == FIELD_SIZE;
		time = time || f == FIELD_TIME || f == FIELD_ALGBW;
	}
	return size && time;
}

static bool in_half(enum field f)
{
	return f == FIELD_TIME || f == FIELD_MIN || f == FIELD_MAX ||
	       f == FIELD_P99 || f == FIELD_ALGBW || f == FIELD_MAX_ALGBW ||
	       f == FIELD_BUSBW || f == FIELD_WRONG || f == FIELD_IGNORED;
}

static void open_table(struct parser *p, const struct tokens *header)
{
	struct table *t = &p->t;

	*t = (struct table){ .ranks = p->ranks, .nodes = RECORD_NONE,
			     .iters = p->iters, .fresh = true,
			     .max = SWEEP_ROWS_MAX - p->x->n,
			     .ranks_differ = p->ranks_differ };
	p->open = true;
	for (size_t i = 0; i < header->n; i++) {
		enum field f = field_of(header->at[i]);

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
	if (p->devices > 0) {
		t->ranks = (int64_t)p->devices;
		t->nodes = (int64_t)p->n_hosts;
	}
	STR_COPY(t->label, p->headings.text);
	STR_COPY(t->op, p->op[0] ? p->op : heading_current_op(&p->headings));
	STR_COPY(t->variant, p->variant);
	STR_COPY(t->lib, p->lib);
	forget(p);
}

static void set_field(const struct table *t, struct allreduce_row *row,
		      enum field f, const char *text)
{
	double unit = t->milliseconds ? 1000 : 1;

	switch (f) {
	case FIELD_SIZE:
		row->size_B = to_int(text);
		break;
	case FIELD_COUNT:
		row->count = to_int(text);
		break;
	case FIELD_TYPE:
		STR_COPY(row->dtype, text);
		break;
	case FIELD_REDOP:
		STR_COPY(row->redop, text);
		break;
	case FIELD_ROOT:
		row->root = to_int(text);
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

/** The columns of a half, from @first to @last; false when one of them is no
 *  number, as in a line that was cut. */
static bool take_half(const struct table *t, struct allreduce_row *row,
		      char *const *tokens, size_t first, size_t last)
{
	for (size_t i = first; i < last; i++) {
		if (!is_number(tokens[i - first]) &&
		    strcmp(tokens[i - first], "N/A") != 0 &&
		    t->fields[i] != FIELD_IGNORED) {
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

static int keep_row(struct table *t, const struct allreduce_row *row,
		    struct err *e)
{
	struct allreduce_row *rows;

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
static size_t take_lead(const struct table *t, const struct tokens *k,
			struct allreduce_row *row)
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
				   to_int(k->at[at]) == RECORD_NONE)) {
			return 0;
		}
		set_field(t, row, t->fields[i], k->at[at++]);
	}
	return at;
}

/** 1: the line is a row; 0: it is none; -1 with @e. */
static int take_row(struct table *t, struct tokens *k, bool unended,
		    struct err *e)
{
	size_t ends[2] = { t->second ? t->second : t->n_fields, t->n_fields };
	struct allreduce_row lead;
	size_t at, got = 0;

	record_init(&schema_allreduce, &lead);
	at = take_lead(t, k, &lead);
	if (at == 0 || lead.size_B == RECORD_NONE || lead.size_B < 0) {
		return 0;
	}
	/* the last word of a line that was cut may lack digits */
	k->n -= unended && k->n > 0 && k->n < t->n_fields;
	for (size_t h = 0; h < (t->second ? 2U : 1U); h++) {
		size_t first = h ? t->second : t->half;
		struct allreduce_row row = lead;

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

static bool is_units(struct table *t, const char *body)
{
	if (!t->fresh || !strstr(body, "(B)")) {
		return false;
	}
	t->milliseconds = strstr(body, "(ms)") != NULL;
	return true;
}

static bool is_footer(const char *body)
{
	return str_starts(body, "Avg bus bandwidth") ||
	       str_starts(body, "Out of bounds values");
}

static int take_line(void *user, const char *line, size_t number, bool unended,
		     struct err *e)
{
	struct parser *p = user;
	const char *text = skip_prefixes(line);
	const char *body = skip_prefixes(skip_comment(text));
	struct tokens *k = &p->k;
	int rc = 0;

	split(body, k);
	if (is_header(k)) {
		rc = end_table(p, e);
		open_table(p, k);
	} else if (p->open && (rc = take_row(&p->t, k, unended, e)) != 0) {
		p->t.fresh = false;
		rc = rc < 0 ? -1 : 0;
	} else if (p->open && is_footer(body)) {
		rc = str_starts(body, "Avg") ? end_table(p, e) : 0;
	} else if (is_footer(body) || (p->open && is_units(&p->t, body)) ||
		   take_fact(p, body, k)) {
		/* understood */
	} else if (heading_take(&p->headings, text)) {
		rc = end_table(p, e);
		forget(p);
	} else {
		take_program(p, body);
		import_unknown(p->x, number, line);
	}
	return rc;
}

int import_sweep(struct import *x, FILE *f, struct err *e)
{
	struct parser *p = calloc(1, sizeof(*p));
	const struct import_lines to = { .line = take_line, .user = p };
	int rc;

	if (!p) {
		return err_set(e, ENOMEM, "cannot read '%s'", x->file);
	}
	p->x = x;
	p->labels = json_object();
	p->numbers = json_object();
	forget(p);
	rc = import_each_line(f, x, &to, e);
	if (rc == 0) {
		rc = end_table(p, e);
	}
	free(p->t.rows);
	free(p->hosts);
	json_decref(p->labels);
	json_decref(p->numbers);
	free(p);
	return rc;
}
