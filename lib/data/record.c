/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"

/* ---- number -------------------------------------------------------------- */

#define DIGITS_MAX 20
/** Nearer to the middle of two numbers than this, rounding is left to
 *  the standard library, which knows all digits. */
#define TIE 1e-5

static const double powers[] = {
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
};

/** @value in front of @end, with zeros up to @least digits; returns where it
 *  begins. */
static char *put_digits(uint64_t value, int least, char *end)
{
	char *at = end;

	while (value > 0 || end - at < least) {
		*--at = (char)('0' + value % 10);
		value /= 10;
	}
	return at;
}

void number_add_int(struct str *out, int64_t value)
{
	char digits[DIGITS_MAX], *end = digits + sizeof(digits), *at;

	at = put_digits(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 1,
			end);
	if (value < 0) {
		str_addch(out, '-');
	}
	str_addmem(out, at, (size_t)(end - at));
}

void number_add_real(struct str *out, double value, int digits)
{
	char text[DIGITS_MAX], *end = text + sizeof(text), *at;
	double size = fabs(value), scaled = 0;
	uint64_t whole, one, part;
	int decimals = -1, x = 0;

	if (size >= 1e-4 && size < 1e9) {
		/* x: the power of ten of the first digit */
		while (size >= powers[x + 1]) {
			x++;
		}
		while (x <= 0 && size * powers[-x] < 1) {
			x--;
		}
		decimals = digits - 1 - x;
		scaled = decimals >= 0 ? size * powers[decimals] : 0;
	}
	if (decimals < 0 || fabs(scaled - floor(scaled) - .5) <= TIE ||
	    scaled + .5 >= powers[digits]) {
		str_addf(out, "%.*g", digits, value);
		return;
	}
	if (value < 0) {
		str_addch(out, '-');
	}
	/* whole / 10^decimals, without zeros at its end */
	whole = (uint64_t)(scaled + .5);
	one = (uint64_t)powers[decimals];
	part = whole % one;
	number_add_int(out, (int64_t)(whole / one));
	if (part > 0) {
		at = put_digits(part, decimals, end);
		while (end[-1] == '0') {
			end--;
		}
		str_addch(out, '.');
		str_addmem(out, at, (size_t)(end - at));
	}
}

int64_t number_sum(int64_t a, int64_t b)
{
	return a < INT64_MAX - b ? a + b : INT64_MAX;
}

/* ---- record schemas ------------------------------------------------------ */

#define COLUMN(field, kind, text) \
	{ .name = #field, .type = kind, .offset = offsetof(struct ROW, field), \
	  .size = sizeof(((struct ROW *)NULL)->field), .help = text },

#define TEXT(field, bytes, help) COLUMN(field, COLUMN_TEXT, help)
#define INT(field, help) COLUMN(field, COLUMN_INT, help)
#define REAL(field, help) COLUMN(field, COLUMN_REAL, help)
#define OUTCOME(field, help) COLUMN(field, COLUMN_OUTCOME, help)

/** The schema of the rows ROW, and which columns it needs. */
#define SCHEMA(file, COLUMNS, ...) \
	{ \
		.name = file, .row_size = sizeof(struct ROW), \
		.columns = (const struct column[]){ \
			COLUMNS(TEXT, INT, REAL, OUTCOME) { 0 } \
		}, \
		.needs = (const char *const[]){ __VA_ARGS__, NULL }, \
	}

#define ROW p2p_row
const struct schema schema_p2p = SCHEMA("results.csv", P2P_COLUMNS,
					"src_rank", "dst_rank", "bw_GB_s",
					"outcome");
#undef ROW

#define ROW fact_row
const struct schema schema_facts = SCHEMA("facts.csv", FACT_COLUMNS,
					  "node", "fact", "value");
#undef ROW

#define ROW event_row
const struct schema schema_events = SCHEMA("events.csv", EVENT_COLUMNS,
					   "event");
#undef ROW

#define ROW collective_row
const struct schema schema_collective =
	SCHEMA("results.csv", COLLECTIVE_COLUMNS,
	       "size_B", "time_us", "outcome");
#undef ROW

#define ROW diagnose_row
const struct schema schema_diagnose = SCHEMA("diagnose.csv", DIAGNOSE_COLUMNS,
					     "src_rank", "dst_rank", "step",
					     "outcome");
#undef ROW

#define ROW gpu_row
const struct schema schema_gpu = SCHEMA("results.csv", GPU_COLUMNS, "node",
					"gpu", "test", "outcome");
#undef ROW

#define ROW hang_row
const struct schema schema_hang = SCHEMA("results.csv", HANG_COLUMNS,
					 "node", "pid", "state", "outcome");
#undef ROW

#define ROW history_row
const struct schema schema_history = SCHEMA("history.csv", HISTORY_COLUMNS,
					    "line", "run", "end");
#undef ROW

#define ROW info_row
const struct schema schema_info = SCHEMA("results.csv", INFO_COLUMNS,
					 "node", "outcome");
#undef ROW

#define ROW memlock_row
const struct schema schema_memlock = SCHEMA("results.csv", MEMLOCK_COLUMNS,
					    "node", "context", "check",
					    "limit_B", "needed_B", "outcome");
#undef ROW

#define ROW ping_row
const struct schema schema_ping = SCHEMA("results.csv", PING_COLUMNS,
					 "src_node", "dst_node", "outcome");
#undef ROW

#define ROW step_row
const struct schema schema_step = SCHEMA("results.csv", STEP_COLUMNS,
					 "rung", "outcome");
#undef ROW

/* ---- record collective --------------------------------------------------- */

const char *const collective_names[COLLECTIVES + 1] = {
	[COLLECTIVE_ALLREDUCE] = "allreduce",
	[COLLECTIVE_ALLGATHER] = "allgather",
	[COLLECTIVE_REDUCESCATTER] = "reducescatter",
	[COLLECTIVE_BROADCAST] = "broadcast",
	[COLLECTIVE_REDUCE] = "reduce",
	[COLLECTIVE_ALLTOALL] = "alltoall",
	[COLLECTIVE_SENDRECV] = "sendrecv",
};

/** How often (n-1)/n of the data goes over a link; 0: all of it does, once. */
static const double shares[COLLECTIVES] = {
	[COLLECTIVE_ALLREDUCE] = 2,	[COLLECTIVE_ALLGATHER] = 1,
	[COLLECTIVE_REDUCESCATTER] = 1, [COLLECTIVE_ALLTOALL] = 1,
};

enum collective collective_parse(const char *text)
{
	const int c = str_index(collective_names, text);

	return c < 0 ? COLLECTIVES : (enum collective)c;
}

double collective_bus_factor(enum collective c, int64_t ranks)
{
	const double n = (double)ranks;

	return ranks > 1 && shares[c] > 0 ? shares[c] * (n - 1) / n : 1;
}

double collective_bytes_between(enum collective c, int64_t ranks,
				int64_t nodes, double size_B)
{
	const double n = (double)nodes;

	if (nodes < 2) {
		return 0;
	}
	return c == COLLECTIVE_ALLTOALL ?
		       size_B * (double)ranks * (n - 1) / n :
		       size_B * n * collective_bus_factor(c, ranks);
}

/* ---- record memlock ------------------------------------------------------ */

const char *const memlock_context_names[MEMLOCK_CONTEXTS + 1] = {
	[MEMLOCK_LOGIN] = "login", [MEMLOCK_SLURMD] = "slurmd",
	[MEMLOCK_BATCH] = "batch", [MEMLOCK_STEP] = "step",
	[MEMLOCK_CONTAINER] = "container", [MEMLOCK_HERE] = "here",
};

enum memlock_context memlock_context_parse(const char *text)
{
	const int c = str_index(memlock_context_names, text);

	return c < 0 ? MEMLOCK_CONTEXTS : (enum memlock_context)c;
}

/* ---- record list --------------------------------------------------------- */

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

int record_list_add(struct record_list *l, const void *row)
{
	const size_t before = l->packed.len;

	if (l->packed.failed) {
		return -1;
	}
	for (const struct column *c = l->schema->columns; c->name; c++) {
		const char *cell = (const char *)row + c->offset;

		str_addmem(&l->packed, cell, kept(c, cell));
	}
	if (l->packed.failed ||
	    !grow_add(&l->at, &l->n, &before, sizeof(before))) {
		l->packed.len = before;
		return -1;
	}
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

/* ---- record read --------------------------------------------------------- */

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
		const size_t at = STR_FIND(s->columns, STR_TO_END, name,
					   header.field[i]);

		r->index[i] = s->columns[at].name ? (int)at : -1;
		known = known || r->index[i] >= 0;
	}
	if (!known) {
		err_set(e, 0, "'%s' has no known column in its first line",
			s->name);
		goto release;
	}
	for (const char *const *need = s->needs; *need; need++) {
		const int column = (int)STR_FIND(s->columns, STR_TO_END,
						 name, *need);
		size_t i = 0;

		while (i < r->n_fields && r->index[i] != column) {
			i++;
		}
		if (i == r->n_fields) {
			r->lacks = true;
			err_set(e, 0, "'%s' has no column '%s'", s->name,
				*need);
			err_hint(e, "columns are found by their names in the "
				 "first line");
			goto release;
		}
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

int record_from_json(const struct schema *s, const json_t *json, void *row,
		     struct err *e)
{
	if (!json_is_object(json)) {
		return err_set(e, 0, "a row is not a JSON object");
	}
	record_init(s, row);
	for (const struct column *c = s->columns; c->name; c++) {
		void *cell = (char *)row + c->offset;
		char word[32] = "";
		int rc = 0;

		switch (c->type) {
		case COLUMN_TEXT:
			rc = json_opt_text(json, c->name, cell, c->size, e);
			break;
		case COLUMN_INT:
			rc = json_opt_int(json, c->name, RECORD_NONE + 1,
					  INT64_MAX, cell, e);
			break;
		case COLUMN_REAL:
			rc = json_opt_real(json, c->name, -DBL_MAX, DBL_MAX,
					   cell, e);
			break;
		case COLUMN_OUTCOME:
			rc = json_opt_text(json, c->name, word, sizeof(word),
					   e);
			if (rc == 0 && word[0]) {
				rc = parse_cell(c, word, cell, e);
			}
			break;
		}
		if (rc < 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- record -------------------------------------------------------------- */

const char *const outcome_names[OUTCOME_COUNT + 1] = {
	[OUTCOME_NOT_RUN] = "not_run", [OUTCOME_OK] = "ok",
	[OUTCOME_ERROR] = "error",     [OUTCOME_TIMEOUT] = "timeout",
	[OUTCOME_CRASHED] = "crashed", [OUTCOME_CORRUPT] = "corrupt",
	[OUTCOME_SKIPPED] = "skipped",
};

const char *outcome_name(enum outcome o)
{
	return outcome_names[o];
}

const char *const column_type_names[] = {
	[COLUMN_TEXT] = "text", [COLUMN_INT] = "integer",
	[COLUMN_REAL] = "real", [COLUMN_OUTCOME] = "outcome",
};

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

/** One cell as CSV; nothing at all when it was not measured. */
static void add_cell(const struct column *c, const void *cell, struct str *out)
{
	double value;

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
		value = *(const double *)cell;
		/* a clock is not good for more than six digits; large values
		 * keep those before their point */
		if (isfinite(value)) {
			number_add_real(out, value, fabs(value) < 1e5 ? 6 : 9);
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

json_t *record_json(const struct schema *s, const void *row)
{
	json_t *obj = json_object();

	for (const struct column *c = s->columns; c->name; c++) {
		const void *cell = (const char *)row + c->offset;
		json_t *v = NULL;

		switch (c->type) {
		case COLUMN_TEXT:
			v = json_text_or_null(cell);
			break;
		case COLUMN_INT:
			v = *(const int64_t *)cell != RECORD_NONE ?
				    json_integer(*(const int64_t *)cell) :
				    json_null();
			break;
		case COLUMN_REAL:
			v = json_real_or_null(*(const double *)cell);
			break;
		case COLUMN_OUTCOME:
			v = json_string(outcome_name(
				*(const enum outcome *)cell));
			break;
		}
		if (json_object_set_new(obj, c->name, v) < 0) {
			json_decref(obj);
			return NULL;
		}
	}
	return obj;
}

/* ---- choices of NCCL ----------------------------------------------------- */

/* ncclAlgoStr, ncclProtoStr of NCCL's src/init.cc; MSCCL's fork adds one. */
const char *const nccl_algos[] = {
	"Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree",
	"PAT", "MSCCL", NULL
};
const char *const nccl_protos[] = { "LL", "LL128", "Simple", NULL };

/** Copy the word at @at; returns behind it. */
static const char *take_word(const char *at, char *word, size_t size)
{
	size_t n = strcspn(at, " \t");

	snprintf(word, size, "%.*s", (int)n, at);
	return at + n;
}

/** Return true if the words are equal but for case and underscores. */
static bool same_word(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += *a == '_';
		b += *b == '_';
		if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) {
			return false;
		}
		if (*a == '\0') {
			return true;
		}
	}
}

/**
 * Older versions give numbers, which are places in the lists, newer ones write
 * NVLS_TREE or SIMPLE: all become the words that NCCL_ALGO and NCCL_PROTO take.
 */
static void name_choice(char *word, size_t size, const char *const *names)
{
	int n = 0;
	int64_t i;

	while (names[n] != NULL && !same_word(word, names[n])) {
		n++;
	}
	if (names[n] != NULL) {
		str_copy(word, size, names[n]);
	} else if (isdigit((unsigned char)word[0]) &&
		   units_parse_int(word, 0, n - 1, &i, NULL) == 0) {
		str_copy(word, size, names[i]);
	}
}

/** Read "Algo A proto P" or "Kernel K". */
static bool read_choice(const char *at, char algo[NCCL_CHOSEN_ALGO],
			char proto[NCCL_CHOSEN_PROTO])
{
	if (str_starts(at, "Kernel ")) {
		take_word(at + 7, algo, NCCL_CHOSEN_ALGO);
		proto[0] = '\0';
		return algo[0] != '\0';
	}
	if (!str_starts(at, "Algo ")) {
		return false;
	}
	at = take_word(at + 5, algo, NCCL_CHOSEN_ALGO);
	if (!str_starts(at, " proto ")) {
		return false;
	}
	take_word(at + 7, proto, NCCL_CHOSEN_PROTO);
	name_choice(algo, NCCL_CHOSEN_ALGO, nccl_algos);
	name_choice(proto, NCCL_CHOSEN_PROTO, nccl_protos);
	return algo[0] != '\0' && proto[0] != '\0';
}

int64_t nccl_choice_parse(const char *line, char algo[NCCL_CHOSEN_ALGO],
			  char proto[NCCL_CHOSEN_PROTO])
{
	static const char arrow[] = " Bytes -> ";
	const char *at = strstr(line, arrow), *from = at;
	char number[24];
	int64_t bytes;

	while (from != NULL && from > line &&
	       isdigit((unsigned char)from[-1])) {
		from--;
	}
	if (at == NULL || at - from >= (ptrdiff_t)sizeof(number)) {
		return -1;
	}
	snprintf(number, sizeof(number), "%.*s", (int)(at - from), from);
	return units_parse_int(number, 0, INT64_MAX, &bytes, NULL) == 0 &&
			       read_choice(at + sizeof(arrow) - 1, algo,
					   proto) ? bytes : -1;
}
