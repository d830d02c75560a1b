/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of nccl-tests, old and new, and of MSCCL++, wherever they stand: in
 * logs with the lines of NCCL between their rows, behind the prefixes of
 * launchers, in documents.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "lib/data/json.h"
#include "report/import/import.h"

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
	{ .name = "count(elems)", .type = LEAD_INT, AT(count) },
	{ .name = "N", .type = LEAD_INT, AT(count) },
	{ .name = "type", TEXT_AT(dtype) },
	{ .name = "redop", TEXT_AT(redop) },
	{ .name = "op", TEXT_AT(redop) },
	{ .name = "root", .type = LEAD_INT, AT(root) },
	{ .name = "time", .type = TIME, AT(time_us) },
	{ .name = "time(us)", .type = TIME, AT(time_us) },
	{ .name = "avg_time(us)", .type = TIME, AT(time_us) },
	{ .name = "min_time(us)", .type = TIME, AT(time_min_us) },
	{ .name = "algbw", .type = GB_S, AT(algbw_GB_s) },
	{ .name = "algbw(GB/s)", .type = GB_S, AT(algbw_GB_s) },
	{ .name = "busbw(GB/s)", .type = GB_S, AT(busbw_GB_s) },
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

/** Begins a detail: the column of a table that has none of ours. */
#define MAX_MARK "max_algbw "

#define HOSTS_MAX 4096
#define HEADING_LEVELS 7

/** Settings of a table, the same for all of its rows. */
struct import_head {
	char label[96], op[16], variant[64], lib[160], algo[32];
	char settings[200];	/* of the algorithm, as they were printed */
	int64_t ranks, nodes, iters;
	bool ranks_differ;	/* the log has communicators of several sizes */
	bool swapped;		/* in place stands first, or alone */
	bool program;		/* below the first lines of a program, which
				 * ends a table by its mean */
};

struct parser {
	struct import *x;
	/* headings over tables: "======= All to All =======",
	 * "### Single Node" */
	char heading[96];	/* the last one */
	char ops[HEADING_LEVELS][16];	/* the collective that the last heading
					 * of each level names; a deeper one
					 * inherits it */
	struct import_head next;	/* said since the last table */
	json_t *hosts;		/* {name: true} of those with devices */
	size_t devices;
	int64_t last_rank;	/* the largest number of those */
	char failure[400];	/* how the program gave up; "": it did not */
	struct import_message message;	/* its cause */
	bool fenced, filled;	/* between ``` and ```; with a line there */
	/* {label and variant: true} of those that were given, and {the start
	 * that numbered labels share: the last number} */
	json_t *labels, *numbers;
	/* {bytes: [algorithm, protocol]} of the tuner's lines since the last
	 * table; they may come before or between its rows */
	json_t *choices;
	struct import_tokens k;	/* of the line at hand */
	/* the table that is open */
	bool open;
	bool ended;		/* its last line was met */
	bool named;		/* it has its label */
	bool fresh;		/* no row yet: the line of units may come */
	bool milliseconds;
	struct import_head head;
	const struct import_column *columns[IMPORT_TOKENS];	/* NULL: not
								 * known */
	size_t n_columns;
	size_t half, second;	/* first columns of the two halves; 0: none */
	struct record_list rows;
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

/** Return true if column @c, known or not, becomes the member @at. */
static bool is_at(const struct import_column *c, size_t at)
{
	return c && c->type < MAX_ALGBW && c->at == at;
}

/* ---- the header --------------------------------------------------------- */

/* Return true if the words name columns. */
static bool is_header(const struct import_tokens *t)
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

/* ---- rows --------------------------------------------------------------- */

static void set_column(const struct parser *p, struct collective_row *row,
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
				(p->milliseconds ? 1000 : 1);
		break;
	case GB_S:
		*(double *)at = import_real(text);
		break;
	case COUNT:
		*(int64_t *)at = to_count(text);
		break;
	case MAX_ALGBW:
		/* in the unit of the table, which its end shows: take_head() */
		snprintf(row->detail, sizeof(row->detail), MAX_MARK "%.20s",
			 text);
		break;
	case DEVIATION:
	case IGNORED:
		break;
	}
}

/** Return true if @text stands for no number, as a check prints that met
 *  none. */
static bool is_nan(const char *text)
{
	return strcasecmp(text, "nan") == 0 || strcasecmp(text, "-nan") == 0;
}

/** Returns the complaint of the data check in @text: wrong elements, a result
 *  that is not a number, or a deviation marked as too large; NULL: none. */
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

/** Take the columns of a half, from @first to @last.  Returns false if one of
 *  them is neither a number from 0 on nor a mark that there is none, as in a
 *  line that was cut. */
static bool take_half(const struct parser *p, struct collective_row *row,
		      char *const *tokens, size_t first, size_t last)
{
	row->outcome = OUTCOME_OK;
	for (size_t i = first; i < last; i++) {
		const struct import_column *c = p->columns[i];
		const char *text = tokens[i - first];
		bool check = c && (c->type == COUNT || c->type == DEVIATION);

		if (!(c && c->type == IGNORED) && !(import_real(text) >= 0) &&
		    strcmp(text, "N/A") != 0 &&
		    !(check && (is_nan(text) || strchr(text, '*')))) {
			return false;
		}
		set_column(p, row, c, text);
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
static size_t take_lead(const struct parser *p, struct collective_row *row)
{
	const struct import_tokens *k = &p->k;
	size_t at = 0;

	for (size_t i = 0; i < p->half; i++) {
		const struct import_column *c = p->columns[i];

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
		set_column(p, row, c, k->at[at++]);
	}
	return at;
}

#define GAP_OF_HALF 24

/** Take a row from the words of a line, which was cut if @unended.  Returns 1
 *  if it was one, 0 if not, -1 with @e. */
static int take_row(struct parser *p, bool unended, struct err *e)
{
	struct import_tokens *k = &p->k;
	size_t starts[3] = { p->half, p->second ? p->second : p->n_columns,
			     p->n_columns };
	struct collective_row lead;
	size_t at, got = 0, h;

	record_init(&schema_collective, &lead);
	at = take_lead(p, &lead);
	if (at == 0 || lead.size_B == RECORD_NONE || lead.size_B < 0) {
		return 0;
	}
	/* so many blanks stand for a half that was not run */
	h = p->second && at < k->n &&
	    k->at[at] - k->at[at - 1] - (ptrdiff_t)strlen(k->at[at - 1]) >
		    GAP_OF_HALF;
	/* the last word of a line that was cut may lack digits */
	k->n -= unended && k->n > 0 && k->n < p->n_columns;
	for (; h < (p->second ? 2U : 1U); h++) {
		const struct import_column *c = p->columns[starts[h + 1] - 1];
		size_t width = starts[h + 1] - starts[h];
		size_t have = k->n < at ? 0 : k->n - at;
		struct collective_row row = lead;

		/* MSCCL++ leaves out the column of a check that was not made */
		width -= p->head.swapped && c && c->type == COUNT &&
			 have == width - 1;
		if (have < width || width == 0 ||
		    !take_half(p, &row, &k->at[at], starts[h],
			       starts[h] + width)) {
			break;
		}
		row.inplace = p->second ? (int64_t)(h != p->head.swapped) :
			      p->head.swapped ? 1 : RECORD_NONE;
		if (record_list_add(&p->rows, &row) < 0) {
			return err_set(e, ENOMEM, "not enough memory for the "
				       "rows");
		}
		at += width;
		got++;
	}
	return got > 0;
}

/* ---- prefixes ------------------------------------------------------------ */

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
		if (*p == '-' && p[1] == ' ' && strchr("# 0123456789", p[2])) {
			line = p + 2;	/* of a list */
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

/* ---- the end of a table ------------------------------------------------- */

#define GIB_PER_GB (1073741824.0 / 1e9)

/** Copy the settings of a table into one of its rows. */
static void take_head(const struct import_head *head, bool binary,
		      struct collective_row *row)
{
	struct str detail = STR_INIT;

	STR_COPY(row->table, head->label);
	STR_COPY(row->op, head->op);
	STR_COPY(row->variant, head->variant);
	STR_COPY(row->lib, head->lib);
	if (head->algo[0]) {
		STR_COPY(row->algo, head->algo);
	}
	row->ranks = head->ranks_differ ? RECORD_NONE : head->ranks;
	row->nodes = head->nodes;
	row->iters = head->iters;
	if (str_starts(row->detail, MAX_MARK)) {
		str_addf(&detail, MAX_MARK "%.2f GB/s",
			 import_real(row->detail + strlen(MAX_MARK)) *
				 (binary ? GIB_PER_GB : 1));
	} else {
		str_add(&detail, row->detail);
	}
	if (head->settings[0]) {
		str_addf(&detail, "%s%s", detail.len ? "; " : "",
			 head->settings);
	}
	if (binary) {
		row->algbw_GB_s *= GIB_PER_GB;
		row->busbw_GB_s *= GIB_PER_GB;
		str_addf(&detail, "%s%s", detail.len ? "; " : "",
			 "converted from 2^30 bytes per second");
	}
	STR_COPY(row->detail, str_text(&detail));
	str_release(&detail);
}

static void name_table(struct parser *p)
{
	struct import_head *t = &p->head;
	char start[81], key[192], numbered[192];
	int again;

	if (!t->label[0]) {
		STR_COPY(t->label, basename(p->x->file));
	}
	/* a label that was given before, for the same variant, gets a number */
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
	p->named = true;
}

/** The line at hand ends in the mean of the table that is open. */
static void keep_mean(const struct parser *p)
{
	const double mean = import_real(p->k.at[p->k.n - 1]);
	json_t *of;

	p->x->means = p->x->means ? p->x->means : json_array();
	if (isfinite(mean)) {
		of = json_object();
		json_object_set_new(of, "table", json_text(p->head.label));
		json_object_set_new(of, "variant", json_text(p->head.variant));
		json_object_set_new(of, "GB_s", json_real(mean));
		json_array_append_new(p->x->means, of);
	}
}

/** Add a row for what was not measured: the program failed, or the log is
 *  cut.  -1 with @e. */
static int add_missing(struct parser *p, enum outcome outcome,
		       const char *detail, struct err *e)
{
	const struct symptom *known = p->message.symptom;
	struct collective_row row, first;

	record_init(&schema_collective, &row);
	if (p->rows.n > 0) {	/* one of the same table */
		record_list_get(&p->rows, 0, &first);
		STR_COPY(row.dtype, first.dtype);
		STR_COPY(row.redop, first.redop);
		row.root = first.root;
		row.inplace = first.inplace;
	}
	row.outcome = outcome;
	if (outcome == OUTCOME_ERROR) {
		STR_COPY(row.code, known ? known->code : "no_success");
	}
	STR_COPY(row.detail, detail);
	p->rows.schema = &schema_collective;
	return record_list_add(&p->rows, &row) < 0 ?
		       err_set(e, ENOMEM, "not enough memory for the rows") :
		       0;
}

/** Return the table that a line belongs to: the open one, else the next one. */
static struct import_head *head_of(struct parser *p)
{
	return p->open && !p->ended ? &p->head : &p->next;
}

#define CHOICES_MAX 4096

/** Note the algorithm that NCCL's log says it chose for a size, or for all. */
static void note_choice(struct parser *p, const char *line)
{
	static const char setting[] = "NCCL_ALGO set by environment to ";
	char algo[NCCL_CHOSEN_ALGO], proto[NCCL_CHOSEN_PROTO], bytes[24];
	int64_t size_B = nccl_choice_parse(line, algo, proto);
	const char *set = strstr(line, setting);

	if (size_B >= 0 && json_object_size(p->choices) < CHOICES_MAX) {
		snprintf(bytes, sizeof(bytes), "%lld", (long long)size_B);
		json_object_set_new_nocheck(p->choices, bytes,
			json_pack("[s,s]", algo, proto));
	}
	for (int i = 0; set && nccl_algos[i]; i++) {
		size_t n = strlen(nccl_algos[i]);

		set += i == 0 ? strlen(setting) : 0;
		if (strncasecmp(set, nccl_algos[i], n) == 0 &&
		    !isalnum((unsigned char)set[n]) && set[n] != ',') {
			STR_COPY(head_of(p)->algo, nccl_algos[i]);
		}
	}
}

static void take_choice(const struct parser *p, struct collective_row *row)
{
	char bytes[24];
	const json_t *choice;

	snprintf(bytes, sizeof(bytes), "%lld", (long long)row->size_B);
	choice = json_object_get(p->choices, bytes);
	if (choice) {
		STR_COPY(row->algo, json_string_value(json_array_get(choice,
								     0)));
		STR_COPY(row->proto, json_string_value(json_array_get(choice,
								      1)));
	}
}

static int end_table(struct parser *p, struct err *e)
{
	struct collective_row row;
	double best = 0, ratio = 1;
	bool binary;
	int rc = 0;

	if (p->failure[0]) {
		p->head = p->open ? p->head : p->next;
		rc = add_missing(p, OUTCOME_ERROR, p->failure, e);
		p->failure[0] = '\0';
	}
	p->message = (struct import_message){ .symptom = NULL };
	if (p->rows.n > 0 && !p->named) {
		name_table(p);
	}
	p->named = p->ended = false;
	/* sizes and times show the unit of the bandwidths: that of the largest
	 * one, which has the most digits */
	for (size_t i = 0; i < p->rows.n; i++) {
		record_list_get(&p->rows, i, &row);
		if (row.algbw_GB_s > best && row.time_us > 0) {
			best = row.algbw_GB_s;
			ratio = (double)row.size_B / row.time_us / 1e3 / best;
		}
	}
	binary = fabs(ratio / GIB_PER_GB - 1) < 0.01;
	if (binary) {
		import_note(p->x, "GB/s of 2^30 bytes per second became GB/s "
			    "of 10^9: times and sizes show which they are");
	}
	for (size_t i = 0; i < p->rows.n && rc == 0; i++) {
		record_list_get(&p->rows, i, &row);
		take_choice(p, &row);
		take_head(&p->head, binary, &row);
		rc = import_add(p->x, &schema_collective, &row, e);
	}
	record_list_release(&p->rows);
	if (p->open) {
		json_object_clear(p->choices);
	}
	p->open = false;
	return rc;
}

/* ---- lines that say something about the tables --------------------------- */

/** A communicator has @ranks; RECORD_NONE: it does not say. */
static void note_ranks(struct import_head *h, int64_t ranks)
{
	if (ranks == RECORD_NONE) {
		return;
	}
	h->ranks_differ = h->ranks_differ ||
			  (h->ranks != RECORD_NONE && h->ranks != ranks);
	h->ranks = ranks;
}

/** The number behind @name in @line; RECORD_NONE. */
static int64_t number_after(const char *line, const char *name)
{
	const char *at = strstr(line, name);
	long long n;

	return at && sscanf(at + strlen(name), " %18lld", &n) == 1 && n >= 0 ?
		       n : RECORD_NONE;
}

static void forget(struct parser *p)
{
	p->next = (struct import_head){ .ranks = RECORD_NONE,
					.nodes = RECORD_NONE,
					.iters = RECORD_NONE };
	json_object_clear(p->hosts);
	p->devices = 0;
	p->last_rank = -1;
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
		STR_COPY(p->next.op, heading_op(name));
	}
}

/** In any line of NCCL's log, and how the programs begin lines that tell
 *  nothing of use. */
static const char *const of_nccl[] = {
	"NCCL INFO", "NCCL WARN", "NCCL TRACE", "NCCL ERROR", NULL
};
static const char *const of_programs[] = {
	"nccl-tests version", "Collective test concluded", "Writing JSON",
	"Reducing maxBytes", "out-of-place", "Blocking Enabled",
	"Per-Iteration Report", "Parallel Init", "rccl-tests: Version",
	"Errors with asterisks", "Testing ", "NCCL Tests compiled",
	"Initializing MSCCL++", "Setting up the connection in MSCCL++",
	"Launching MSCCL++", NULL
};

/** How logs and notes say that an algorithm was not there, so that the library
 *  took one of its own. */
static const char *const not_deployed[] = {
	"not deployed", "没部署成功", "disabling MSCCL",
	"Unable to find algorithm files", NULL
};
/** How notes say that only a part of it was, on a line that has a word of
 *  deployed[]. */
static const char *const in_part[] = {
	"没完全成功", "not completely", "partly", "partially", NULL
};
static const char *const deployed[] = { "部署", "deployed", NULL };

/** How nccl-tests and rccl-tests say that they give up; the lines behind that
 *  are the same of other ranks. */
static const char *const failures[] = {
	"Test NCCL failure", "Test CUDA failure", "Test HIP failure",
	"Test failure", "Test hip failure", "Test RCCL failure", NULL
};

/** "Rank  0 Group  0 Pid   3697 on   node1 device  0 [..]" */
static void take_device(struct parser *p, const struct import_tokens *t,
			int64_t rank)
{
	size_t i = 0;

	while (i + 1 < t->n && strcmp(t->at[i], "on") != 0) {
		i++;
	}
	p->devices += i + 1 < t->n;
	p->last_rank = rank > p->last_rank ? rank : p->last_rank;
	if (i + 1 < t->n && json_object_size(p->hosts) < HOSTS_MAX) {
		json_object_set_new_nocheck(p->hosts, t->at[i + 1],
					    json_true());
	}
}

/** Takes a line with facts about a run.  Returns false if it is not one. */
static bool take_fact(struct parser *p, const char *body,
		      const struct import_tokens *t)
{
	static const char warmup[] = "warmup iters:";
	const char *at = strstr(body, warmup);

	if (t->n == 0) {
		return true;
	}
	if (import_has_any(body, of_nccl, false)) {
		if (strstr(body, "NCCL WARN")) {
			import_tell(&p->message, body);
		}
		note_ranks(head_of(p), number_after(body, "nranks "));
		note_choice(p, body);
	} else if (strstr(body, "CCL version ") == body + 1 && t->n > 2) {
		/* NCCL's and RCCL's, which may have a colon */
		STR_COPY(head_of(p)->lib,
			 t->at[strcmp(t->at[2], ":") == 0 && t->n > 3 ? 3 : 2]);
	} else if (str_starts(body, "in-place")) {
		p->next.swapped = true;
	} else if (str_starts(body, "k=") && strstr(body, "nelem_per_send=")) {
		/* "k=4, nelem_per_send=262144, scratch_size=1048576": these two
		 * tell algorithms of a kernel apart, and are their name */
		snprintf(p->next.algo, sizeof(p->next.algo),
			 "k=%lld nelem_per_send=%lld",
			 (long long)number_after(body, "k="),
			 (long long)number_after(body, "nelem_per_send="));
		STR_COPY(p->next.settings, body);
	} else if (str_starts(body, "Rank") && strstr(body, " on ")) {
		take_device(p, t, number_after(body, "Rank"));
	} else if (str_starts(body, "Using devices")) {
		json_object_clear(p->hosts);
		p->devices = 0;
		p->last_rank = -1;
	} else if (str_starts(body, "nThread ")) {
		p->next.program = true;
		p->next.iters = at ? number_after(at + strlen(warmup),
						  "iters:") : RECORD_NONE;
	} else if (str_starts(body, "nranks=")) {
		note_ranks(head_of(p), number_after(body, "nranks="));
	} else if (strstr(body, "check_iters=")) {
		p->next.iters = number_after(body, " iters=");
	} else if (str_starts(body, "KERNEL_FILE=")) {
		STR_COPY(p->next.variant, body + strlen("KERNEL_FILE="));
	} else if (str_starts(body, "Collective test starting")) {
		take_program(p, body);
	} else if (str_starts(body, "Collective test concluded") && p->open &&
		   !p->head.op[0]) {
		take_program(p, body);
		STR_COPY(p->head.op, p->next.op);
	} else {
		return import_has_any(body, of_programs, true);
	}
	return true;
}

/* ---- line by line ------------------------------------------------------- */

/* Open the table whose header is the line at hand. */
static void open_table(struct parser *p)
{
	const struct import_tokens *header = &p->k;

	p->open = p->fresh = true;
	p->milliseconds = false;
	p->rows.schema = &schema_collective;
	p->n_columns = header->n;
	p->half = p->second = 0;
	for (size_t i = 0; i < header->n; i++) {
		const struct import_column *c = column_of(header->at[i]);

		p->columns[i] = c;
		if (p->half == 0 && c && c->type > LEAD_INT) {
			p->half = i;
		} else if (p->half > 0 && p->second == 0 &&
			   strcmp(header->at[i], header->at[p->half]) == 0) {
			p->second = i;
		}
	}
	p->head = p->next;
	/* of a log whose beginning is cut some are missing */
	if (p->devices > 0 && p->last_rank == (int64_t)p->devices - 1) {
		p->head.ranks = (int64_t)p->devices;
		p->head.nodes = (int64_t)json_object_size(p->hosts);
	}
	STR_COPY(p->head.label, p->heading);
	for (size_t i = HEADING_LEVELS; i > 0 && !p->head.op[0]; i--) {
		STR_COPY(p->head.op, p->ops[i - 1]);
	}
	forget(p);
}

/* Remember @line if it is a heading; return true then. */
static bool take_heading(struct parser *p, const char *line)
{
	const char *from = line + strspn(line, " "), *to, *words;
	char mark = *from;
	bool letters = false;
	size_t run = 0, level;

	if (!mark || !strchr("#=*-", mark)) {
		return false;
	}
	while (from[run] == mark) {
		run++;
	}
	words = from + run + strspn(from + run, " ");
	to = words + strlen(words);
	while (to > words && (to[-1] == ' ' || to[-1] == mark)) {
		to--;
	}
	for (const char *c = words; c < to; c++) {
		letters = letters || isalpha((unsigned char)*c) ||
			  (unsigned char)*c > 127;
	}
	/* a rule of one kind of mark needs the same behind it; # does not */
	if (!letters || (mark != '#' && (run < 2 || to[0] == '\0'))) {
		return false;
	}
	snprintf(p->heading, sizeof(p->heading), "%.*s", (int)(to - words),
		 words);
	level = mark == '#' && run < HEADING_LEVELS ? run : 1;
	for (size_t i = level; i < HEADING_LEVELS; i++) {
		p->ops[i][0] = '\0';
	}
	STR_COPY(p->ops[level], heading_op(p->heading));
	return true;
}

/** Note what a document lacks and should have: a block that stayed empty, an
 *  algorithm that was not deployed. */
static void take_absence(struct parser *p, const char *line)
{
	const char *at = line + strspn(line, " -*+");

	if (import_has_any(line, not_deployed, false)) {
		import_note(p->x, "not deployed: %.300s", at);
	} else if (import_has_any(line, in_part, false) &&
		   import_has_any(line, deployed, false)) {
		import_note(p->x, "deployed in part: %.300s", at);
	}
	if (!str_starts(at, "```")) {
		p->filled = p->filled || *at;
		return;
	}
	if (p->fenced && !p->filled) {
		import_note(p->x, "nothing was measured under \"%s\"",
			    p->heading);
	}
	p->fenced = !p->fenced;
	p->filled = false;
}

static int take_line(struct parser *p, struct err *e)
{
	const char *line = p->x->line;
	const char *text = skip_prefixes(line);
	const char *body = skip_prefixes(text + strspn(text, "# "));
	int rc = 0;

	take_absence(p, line);
	if (import_has_any(body, failures, false)) {
		/* of the next program */
		rc = p->ended ? end_table(p, e) : 0;
		if (!p->failure[0]) {
			STR_COPY(p->failure, body);
		}
		import_tell(&p->message, body);
		return rc;
	}
	import_split(body, &p->k);
	if (is_header(&p->k)) {
		rc = end_table(p, e);
		open_table(p);
	} else if (p->open && !p->ended &&
		   (rc = take_row(p, p->x->unended, e)) != 0) {
		p->fresh = false;
		rc = rc < 0 ? -1 : 0;
	} else if (str_starts(body, "Avg bus bandwidth")) {
		if (p->open && !p->ended && p->rows.n > 0) {
			name_table(p);
			keep_mean(p);
		}
		p->ended = p->open;
	} else if (str_starts(body, "Out of bounds values")) {
		/* the line before "Avg bus bandwidth" */
	} else if (p->open && p->fresh && strstr(body, "(B)")) {
		/* the line of units below the header */
		p->milliseconds = strstr(body, "(ms)") != NULL;
	} else if (take_fact(p, body, &p->k)) {
		/* understood */
	} else if (take_heading(p, text)) {
		rc = end_table(p, e);
		forget(p);
	} else {
		take_program(p, body);
		import_tell(&p->message, body);
		import_unknown(p->x, line);
	}
	return rc;
}

int import_sweep(struct import *x, FILE *f, struct err *e)
{
	struct parser p = {
		.x = x, .hosts = json_object(), .labels = json_object(),
		.numbers = json_object(), .choices = json_object(),
	};
	int rc = 0;

	forget(&p);
	while (rc == 0 && import_next_line(x, f)) {
		rc = take_line(&p, e);
	}
	const bool cut = rc == 0 && p.open && !p.ended && p.head.program &&
			 !p.failure[0];

	if (cut && p.message.line[0] &&
	    p.message.symptom->effect == EFFECT_FAULT) {
		STR_COPY(p.failure, p.message.line);
	} else if (cut) {
		import_note(x, "the log ends before \"Avg bus bandwidth\": "
			    "sizes may be missing");
		rc = add_missing(&p, OUTCOME_NOT_RUN,
				 "the log ends within the table", e);
	}
	if (rc == 0) {
		rc = end_table(&p, e);
	}
	record_list_release(&p.rows);
	json_decref(p.hosts);
	json_decref(p.labels);
	json_decref(p.numbers);
	json_decref(p.choices);
	return rc;
}
