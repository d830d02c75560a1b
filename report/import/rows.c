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
		const char *name = collective_names[c];

		if (strlen(name) > longest && strstr(letters, name)) {
			found = name;
			longest = strlen(name);
		}
	}
	return found;
}

int import_add(struct import *x, const struct schema *s, const void *row,
	       struct err *e)
{
	if (x->rows.schema && x->rows.schema != s) {
		err_set(e, EINVAL, "'%s' has results of a different type than "
			"the previous files", x->file);
		return err_hint(e, "import each type separately");
	}
	x->rows.schema = s;
	return record_list_add(&x->rows, row) < 0 ?
		       err_set(e, ENOMEM, "not enough memory for the rows") : 0;
}

void import_unknown(struct import *x, const char *line)
{
	x->unknown++;
	if (x->n_shown < IMPORT_SHOWN_MAX) {
		x->n_shown++;
		str_addf(&x->shown, "%s:%zu: %.200s\n", x->file,
			 x->number, line);
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

bool import_has_any(const char *line, const char *const words[], bool begins)
{
	while (*words && !(begins ? str_starts(line, *words) :
				    strstr(line, *words) != NULL)) {
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

bool import_next_line(struct import *x, FILE *f)
{
	size_t len = 0;
	int c;

	while ((c = getc_unlocked(f)) != '\n' && c != EOF) {
		if (len < sizeof(x->text) - 1) {
			x->text[len++] = (char)(c == '\t' ? ' ' :
						c == '\0' ? '?' : c);
		}
	}
	if (c == EOF && (ferror(f) || len == 0)) {
		return false;
	}
	len -= len > 0 && x->text[len - 1] == '\r';
	x->text[len] = '\0';
	x->unended = c == EOF;
	x->number++;
	x->lines++;
	str_harmless(x->text, 0);
	x->line = x->text;
	while (str_starts(x->line, "> ")) {	/* a quotation */
		x->line += 2;
	}
	return true;
}
