/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of nccl-tests, old and new, and of MSCCL++, wherever they stand: in
 * logs with the lines of NCCL between their rows, behind the prefixes of
 * launchers, in documents.
 */
#include "report/import/table.h"

#include <ctype.h>
#include <string.h>

#include "report/import/heading.h"

#define HOSTS_MAX 4096

struct parser {
	struct import *x;
	struct headings headings;
	struct import_table t;
	bool open;		/* a header was met */
	struct import_head next;	/* what was said since the last table */
	json_t *hosts;		/* {name: true} of those with devices */
	size_t devices;
	bool fenced, filled;	/* between ``` and ```; with a line there */
	/* {label and variant: true} of those that were given, and {the start
	 * that numbered labels share: the last number} */
	json_t *labels, *numbers;
	struct import_tokens k;	/* of the line at hand */
};

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

/* ---- the end of a table ------------------------------------------------- */

/** A label that was given before, for the same variant, gets a number. */
static void make_label(struct parser *p, struct import_head *t)
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

#define GIB_PER_GB (1073741824.0 / 1e9)

/** What the head of a table says of each of its rows. */
static void take_head(const struct import_head *head, bool binary,
		      struct collective_row *row)
{
	struct str detail = STR_INIT;

	STR_COPY(row->table, head->label);
	STR_COPY(row->op, head->op);
	STR_COPY(row->variant, head->variant);
	STR_COPY(row->lib, head->lib);
	STR_COPY(row->algo, head->algo);
	row->ranks = head->ranks_differ ? RECORD_NONE : head->ranks;
	row->nodes = head->nodes;
	row->iters = head->iters;
	str_add(&detail, row->detail);
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

static int end_table(struct parser *p, struct err *e)
{
	struct import_table *t = &p->t;
	bool binary = import_table_is_binary(t);
	int rc = 0;

	if (p->open && t->rows.n > 0) {
		if (!t->head.label[0]) {
			STR_COPY(t->head.label, basename(p->x->file));
		}
		make_label(p, &t->head);
	}
	if (binary) {
		import_note(p->x, "GB/s of 2^30 bytes per second became GB/s "
			    "of 10^9: times and sizes show which they are");
	}
	for (size_t i = 0; i < t->rows.n && rc == 0; i++) {
		struct collective_row row;

		record_list_get(&t->rows, i, &row);
		take_head(&t->head, binary, &row);
		rc = import_add(p->x, &schema_collective, &row, e);
	}
	record_list_release(&t->rows);
	*t = (struct import_table){ 0 };
	p->open = false;
	return rc;
}

/* ---- lines that say something about the tables --------------------------- */

/** What a line is about: the open table, else the next one. */
static struct import_head *head_of(struct parser *p)
{
	return p->open ? &p->t.head : &p->next;
}

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

/** "#  Rank  0 Group  0 Pid   3697 on   node1 device  0 [..] NVIDIA H200" */
static void take_device(struct parser *p, const struct import_tokens *t)
{
	size_t i = 0;

	while (i + 1 < t->n && strcmp(t->at[i], "on") != 0) {
		i++;
	}
	if (i + 1 < t->n) {
		p->devices++;
		if (json_object_size(p->hosts) < HOSTS_MAX) {
			json_object_set_new_nocheck(p->hosts, t->at[i + 1],
						    json_true());
		}
	}
}

static void forget_devices(struct parser *p)
{
	json_object_clear(p->hosts);
	p->devices = 0;
}

static void forget(struct parser *p)
{
	p->next = (struct import_head){ .ranks = RECORD_NONE,
					.nodes = RECORD_NONE,
					.iters = RECORD_NONE };
	forget_devices(p);
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
	"Errors with asterisks", "Testing ", NULL
};

/** How logs and notes say that an algorithm was not there, so that the library
 *  took one of its own. */
static const char *const not_deployed[] = {
	"not deployed", "没部署成功", "disabling MSCCL",
	"Unable to find algorithm files", NULL
};

static bool starts_any(const char *line, const char *const words[])
{
	while (*words && !str_starts(line, *words)) {
		words++;
	}
	return *words != NULL;
}

/** "k=4, nelem_per_send=262144, scratch_size=1048576": what tells one algorithm
 *  of a kernel from another is its name, and all of it the detail. */
static void take_settings(struct parser *p, const char *body)
{
	long long k = number_after(body, "k=");
	long long nelem = number_after(body, "nelem_per_send=");

	snprintf(p->next.algo, sizeof(p->next.algo),
		 "k=%lld nelem_per_send=%lld", k, nelem);
	STR_COPY(p->next.settings, body);
}

/** A line that tells about a run; was it one? */
static bool take_fact(struct parser *p, const char *body,
		      const struct import_tokens *t)
{
	static const char warmup[] = "warmup iters:";
	const char *at = strstr(body, warmup);

	if (t->n == 0) {
		return true;
	}
	if (import_has_any(body, of_nccl)) {
		note_ranks(head_of(p), number_after(body, "nranks "));
	} else if (strstr(body, "CCL version ") == body + 1 && t->n > 2) {
		/* NCCL's and RCCL's, which may have a colon */
		STR_COPY(head_of(p)->lib,
			 t->at[strcmp(t->at[2], ":") == 0 && t->n > 3 ? 3 : 2]);
	} else if (str_starts(body, "in-place")) {
		p->next.swapped = true;
	} else if (str_starts(body, "k=") && strstr(body, "nelem_per_send=")) {
		take_settings(p, body);
	} else if (str_starts(body, "Rank") && strstr(body, " on ")) {
		take_device(p, t);
	} else if (str_starts(body, "Using devices")) {
		forget_devices(p);
	} else if (str_starts(body, "nThread ")) {
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
	} else {
		return starts_any(body, of_programs);
	}
	return true;
}

/* ---- line by line ------------------------------------------------------- */

static void open_table(struct parser *p, const struct import_tokens *header)
{
	struct import_table *t = &p->t;

	import_table_open(t, header, p->next.swapped);
	p->open = true;
	t->head = p->next;
	if (p->devices > 0) {
		t->head.ranks = (int64_t)p->devices;
		t->head.nodes = (int64_t)json_object_size(p->hosts);
	}
	STR_COPY(t->head.label, p->headings.text);
	if (!t->head.op[0]) {
		STR_COPY(t->head.op, heading_current_op(&p->headings));
	}
	forget(p);
}

/** What is not in a document, and should be: a block that stayed empty, an
 *  algorithm that was not deployed. */
static void take_absence(struct parser *p, const char *line)
{
	const char *at = line + strspn(line, " -*+");

	if (import_has_any(line, not_deployed)) {
		import_note(p->x, "not deployed: %.300s", at);
	}
	if (!str_starts(at, "```")) {
		p->filled = p->filled || *at;
		return;
	}
	if (p->fenced && !p->filled) {
		import_note(p->x, "nothing was measured under \"%s\"",
			    p->headings.text);
	}
	p->fenced = !p->fenced;
	p->filled = false;
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
	struct import_tokens *k = &p->k;
	int rc = 0;

	take_absence(p, line);
	import_split(body, k);
	if (import_is_header(k)) {
		rc = end_table(p, e);
		open_table(p, k);
	} else if (p->open &&
		   (rc = import_table_row(&p->t, k, unended, e)) != 0) {
		p->t.fresh = false;
		rc = rc < 0 ? -1 : 0;
	} else if (is_footer(body)) {
		rc = p->open && str_starts(body, "Avg") ?
			     end_table(p, e) : 0;
	} else if ((p->open && import_table_units(&p->t, body)) ||
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
	struct parser p = {
		.x = x, .hosts = json_object(), .labels = json_object(),
		.numbers = json_object(),
	};
	const struct import_lines to = { .line = take_line, .user = &p };
	int rc;

	forget(&p);
	rc = import_each_line(f, x, &to, e);
	if (rc == 0) {
		rc = end_table(&p, e);
	}
	record_list_release(&p.t.rows);
	json_decref(p.hosts);
	json_decref(p.labels);
	json_decref(p.numbers);
	return rc;
}
