/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that the parsers share: lines in, rows and notes out. */
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <stdarg.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/record_rows.h"
#include "lib/data/schema.h"
#include "report/import/import.h"

/* ---- heading ------------------------------------------------------------- */

#define LETTERS_MAX 128

const char *heading_op(const char *text)
{
	char letters[LETTERS_MAX];
	const char *found = "";
	size_t n = 0, longest = 0;

	for (; *text && n < sizeof(letters) - 1; text++) {
		if (isalnum((unsigned char)*text)) {
			letters[n++] = (char)tolower((unsigned char)*text);
		}
	}
	letters[n] = '\0';
	/* the longest: reducescatter is no reduce */
	for (int c = 0; c < COLLECTIVES; c++) {
		const char *name = collective_name((enum collective)c);

		if (strlen(name) > longest && strstr(letters, name)) {
			found = name;
			longest = strlen(name);
		}
	}
	return found;
}

static bool has_letter(const char *from, const char *to)
{
	for (; from < to; from++) {
		if (isalpha((unsigned char)*from) ||
		    (unsigned char)*from > 127) {
			return true;
		}
	}
	return false;
}

bool heading_take(struct headings *h, const char *line)
{
	const char *from = line + strspn(line, " "), *to, *words;
	char mark = *from, text[sizeof(h->text)];
	size_t run = 0, level, len;

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
	/* a rule of one kind of mark needs the same behind it; # does not */
	if (!has_letter(words, to) ||
	    (mark != '#' && (run < 2 || to[0] == '\0'))) {
		return false;
	}
	len = (size_t)(to - words);
	len = len < sizeof(text) - 1 ? len : sizeof(text) - 1;
	memcpy(text, words, len);
	text[len] = '\0';
	STR_COPY(h->text, text);
	level = mark == '#' && run < HEADING_LEVELS ? run : 1;
	for (size_t i = level; i < HEADING_LEVELS; i++) {
		h->op[i][0] = '\0';
	}
	STR_COPY(h->op[level], heading_op(text));
	return true;
}

const char *heading_current_op(const struct headings *h)
{
	for (size_t i = HEADING_LEVELS; i > 0; i--) {
		if (h->op[i - 1][0]) {
			return h->op[i - 1];
		}
	}
	return "";
}

/* ---- rows ---------------------------------------------------------------- */

int import_add(struct import *x, const struct schema *s, const void *row,
	       struct err *e)
{
	if (x->rows.schema && x->rows.schema != s) {
		err_set(e, EINVAL, "'%s' has results of another kind than the "
			"files before it", x->file);
		return err_hint(e, "import each kind by itself");
	}
	x->rows.schema = s;
	return record_list_add(&x->rows, row) < 0 ?
		       err_set(e, ENOMEM, "cannot hold so many rows") : 0;
}

void import_unknown(struct import *x, size_t number, const char *line)
{
	x->unknown++;
	if (x->n_shown < IMPORT_SHOWN_MAX) {
		x->n_shown++;
		str_addf(&x->shown, "%s:%zu: %.200s\n", x->file,
			 number, line);
	}
}

void import_note(struct import *x, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!strstr(str_text(&x->notes), text)) {
		str_addf(&x->notes, "%s\n", text);
	}
}

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

double import_real(const char *text)
{
	double value = NAN;

	units_parse_real(text, -DBL_MAX, DBL_MAX, &value, NULL);
	return value;
}

json_t *import_layout(json_t *nodes, int64_t cells)
{
	return json_pack("{s:o, s:{s:s, s:I}}", "nodes", nodes, "planned",
			 "kind", "all", "cells", (json_int_t)cells);
}

#define OBJECT(member, key, type) \
	FIELD(import_object, member, key, type, 0, 0, "")

struct import_object import_object(const json_t *json)
{
	static const struct field fields[] = {
		OBJECT(name, "name", LINK), OBJECT(status, "status", LINK),
		OBJECT(error, "error", LINK),
		OBJECT(title, "bandwidth_description", LINK),
		OBJECT(hostname, "hostname", LINK), OBJECT(root, "root", LINK),
		OBJECT(experiment, "experiment_name", LINK),
		OBJECT(test, "test", LINK), OBJECT(device, "Device", LINK),
		OBJECT(config, "config", OBJECT),
		OBJECT(devices, "devices", ARRAY), OBJECT(args, "args", ARRAY),
		OBJECT(results, "results", ARRAY),
		OBJECT(result, "results", OBJECT),
		OBJECT(test_info, "test_info", OBJECT),
		OBJECT(nvbandwidth, "nvbandwidth", OBJECT),
		OBJECT(gpus, "GPU Device list", ARRAY),
		OBJECT(testcases, "testcases", ARRAY),
		OBJECT(matrix, "bandwidth_matrix", ARRAY),
		OBJECT(links, "Links", ARRAY), { 0 }
	};
	struct import_object o = { .name = "" };

	schema_look(fields, &o, json);
	return o;
}

double import_json_real(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

int64_t import_json_int(const json_t *o, const char *key)
{
	double v = import_json_real(o, key);

	return v >= -1 && v < 9e15 && v == floor(v) ? (int64_t)v : RECORD_NONE;
}

bool import_has_any(const char *line, const char *const words[])
{
	while (*words && !strstr(line, *words)) {
		words++;
	}
	return *words != NULL;
}

bool import_tell(struct import_message *m, const char *line)
{
	const struct symptom *s = symptom_match(symptoms_builtin(), line,
						strlen(line));

	if (s && s->effect != EFFECT_FACT &&
	    (!m->symptom || s->effect < m->symptom->effect)) {
		m->symptom = s;
		STR_COPY(m->line, line);
	}
	return s != NULL;
}

struct splitter {
	char line[IMPORT_LINE_MAX];
	size_t len, number;
};

static int end_line(struct splitter *s, const struct import_lines *to,
		    bool unended, struct err *e)
{
	if (s->len > 0 && s->line[s->len - 1] == '\r') {
		s->len--;
	}
	for (size_t i = 0; i < s->len; i++) {
		s->line[i] = s->line[i] == '\t' ? ' ' :
			     s->line[i] == '\0' ? '?' : s->line[i];
	}
	s->line[s->len] = '\0';
	str_harmless(s->line, 0);
	s->len = 0;
	return to->line(to->user, s->line, ++s->number, unended, e);
}

int import_each_line(FILE *f, struct import *x, const struct import_lines *to,
		     struct err *e)
{
	struct splitter s = { .len = 0 };
	char buf[65536];
	size_t got;

	while ((got = fread(buf, 1, sizeof(buf), f)) > 0) {
		for (size_t i = 0; i < got; i++) {
			if (buf[i] == '\n') {
				if (end_line(&s, to, false, e) < 0) {
					return -1;
				}
			} else if (s.len < sizeof(s.line) - 1) {
				s.line[s.len++] = buf[i];
			}
		}
	}
	if (ferror(f)) {
		return err_set(e, errno, "cannot read '%s'", x->file);
	}
	if (s.len > 0 && end_line(&s, to, true, e) < 0) {
		return -1;
	}
	x->lines += s.number;
	return 0;
}
