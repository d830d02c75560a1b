/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** Of a read; longer lines count as several. */
#define CHUNK (1024 * 1024)

int explain_begin(struct explain *x, const struct symptoms *s, struct err *e)
{
	*x = (struct explain){ .symptoms = s };
	x->met = calloc(s->n + 1, sizeof(*x->met));
	x->order = calloc(s->n + 1, sizeof(*x->order));
	if (!x->met || !x->order) {
		explain_release(x);
		return err_set(e, ENOMEM, "cannot hold the symptoms");
	}
	return 0;
}

void explain_release(struct explain *x)
{
	free(x->met);
	free(x->order);
	*x = (struct explain){ 0 };
}

static uint64_t count_lines(const char *from, const char *to)
{
	uint64_t n = 0;

	while ((from = memchr(from, '\n', (size_t)(to - from)))) {
		from++;
		n++;
	}
	return n;
}

/** Keep the line as it can be printed; what is too long is cut. */
static void keep_text(struct met *m, const char *line, size_t len)
{
	char text[sizeof(m->text) + 8];

	/* str_copy() cuts between characters, and needs to see one more */
	len = len < sizeof(text) - 1 ? len : sizeof(text) - 1;
	for (size_t i = 0; i < len; i++) {
		text[i] = line[i] ? line[i] : '?';
	}
	text[len] = '\0';
	STR_COPY(m->text, text);
}

static void add_line(struct explain *x, const char *line, size_t len,
		     uint64_t number)
{
	const struct symptom *s;
	struct met *m;

	if (len > 0 && line[len - 1] == '\r') {
		len--;
	}
	s = symptom_match(x->symptoms, line, len);
	if (!s) {
		return;
	}
	m = &x->met[s - x->symptoms->list];
	if (m->count++ == 0) {
		m->symptom = s;
		m->line = number;
		keep_text(m, line, len);
		x->order[x->n++] = m;
	}
}

/** What else is in a line that something was found in is seen to by
 *  symptom_match(): every line is looked at twice at most. */
void explain_feed(struct explain *x, const char *text, size_t len)
{
	const char *end = text + len, *line = text, *p = text;
	uint64_t number = x->lines + 1;
	uint16_t state = 0;

	while (x->symptoms->n_matches &&
	       (p = literals_find(&x->symptoms->anchors, &state, p, end))) {
		const char *from = memrchr(line, '\n', (size_t)(p - line));
		const char *to = memchr(p, '\n', (size_t)(end - p));

		from = from ? from + 1 : line;
		to = to ? to : end;
		number += count_lines(line, from);
		add_line(x, from, (size_t)(to - from), number);
		line = p = to;
		state = 0;
	}
	x->lines = number - 1 + count_lines(line, end);
	x->bytes += len;
	x->open_line = len > 0 && end[-1] != '\n';
}

static int by_place(const void *a, const void *b)
{
	const struct met *x = *(struct met *const *)a;
	const struct met *y = *(struct met *const *)b;
	int of_x = (int)x->symptom->effect + (x->overruled_by ? EFFECTS : 0);
	int of_y = (int)y->symptom->effect + (y->overruled_by ? EFFECTS : 0);

	if (of_x != of_y) {
		return of_x < of_y ? -1 : 1;
	}
	return x->line < y->line ? -1 : x->line > y->line;
}

static void overrule(struct explain *x, const struct met *fact)
{
	for (size_t i = 0; i < x->n; i++) {
		if (symptom_lists(&fact->symptom->overrules,
				  x->order[i]->symptom->code)) {
			x->order[i]->overruled_by = fact->line;
		}
	}
}

void explain_end(struct explain *x)
{
	x->lines += x->open_line;
	for (size_t i = 0; i < x->n; i++) {
		overrule(x, x->order[i]);
	}
	if (x->n > 0) {
		qsort(x->order, x->n, sizeof(struct met *), by_place);
	}
}

int explain_file(struct explain *x, FILE *f, struct err *e)
{
	char *buf = malloc(CHUNK);
	size_t have = 0, got;
	int rc = 0;

	if (!buf) {
		return err_set(e, ENOMEM, "cannot read the log");
	}
	while ((got = fread(buf + have, 1, CHUNK - have, f)) > 0) {
		const char *last;
		size_t whole;

		have += got;
		last = memrchr(buf, '\n', have);
		whole = last ? (size_t)(last - buf) + 1 :
			have == CHUNK ? have : 0;
		explain_feed(x, buf, whole);
		have -= whole;
		memmove(buf, buf + whole, have);
	}
	if (ferror(f)) {
		rc = err_set(e, errno, "cannot read the log");
	}
	if (have > 0) {
		explain_feed(x, buf, have);
	}
	free(buf);
	explain_end(x);
	return rc;
}

bool explain_fault(const struct explain *x)
{
	for (size_t i = 0; i < x->n; i++) {
		if (x->order[i]->symptom->effect != EFFECT_FACT) {
			return true;
		}
	}
	return false;
}
