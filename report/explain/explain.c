/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/explain/explain.h"

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
static void keep_text(struct met *m, const char *line, const char *end)
{
	char text[sizeof(m->text) + 8];
	size_t len = (size_t)(end - line);

	/* str_copy() cuts between characters, and needs to see one more */
	len = len < sizeof(text) - 1 ? len : sizeof(text) - 1;
	for (size_t i = 0; i < len; i++) {
		text[i] = line[i] ? line[i] : '?';
	}
	text[len] = '\0';
	STR_COPY(m->text, text);
}

/** The bytes of one explain_feed(). */
struct feed {
	struct explain *x;
	const char *text, *end;
};

static const char *end_of_line(const struct feed *f, const char *in)
{
	const char *end = memchr(in, '\n', (size_t)(f->end - in));

	return end ? end : f->end;
}

/** The end of the line of @in that begins at @from, less the carriage return of
 *  logs that have one. */
static const char *end_of_text(const struct feed *f, const char *from,
			       const char *in)
{
	const char *end = end_of_line(f, in);

	return end > from && end[-1] == '\r' ? end - 1 : end;
}

static void add_line(struct explain *x, const char *line, const char *end)
{
	const struct symptom *s = symptom_match(x->symptoms, line,
						(size_t)(end - line));
	struct met *m;

	if (!s) {
		return;
	}
	m = &x->met[s - x->symptoms->list];
	if (m->count++ == 0) {
		m->symptom = s;
		m->first = line;
		x->order[x->n++] = m;
	}
}

/** What else is in a line that has something is seen to by symptom_match():
 *  every line is looked at twice at most. */
static void search(const struct feed *f)
{
	const struct literals *l = &f->x->symptoms->anchors;
	const char *p = f->text, *from;

	while ((p = literals_find(l, f->text, p, f->end, NULL, NULL))) {
		from = memrchr(f->text, '\n', (size_t)(p - f->text));
		from = from ? from + 1 : f->text;
		add_line(f->x, from, end_of_text(f, from, p));
		p = end_of_line(f, p);
	}
}

void explain_feed(struct explain *x, const char *text, size_t len)
{
	struct feed f = { .x = x, .text = text, .end = text + len };
	size_t met_before = x->n;

	if (x->symptoms->n_matches) {
		search(&f);
	}
	for (size_t i = met_before; i < x->n; i++) {
		struct met *m = x->order[i];

		m->line = x->lines + 1 + count_lines(text, m->first);
		keep_text(m, m->first, end_of_text(&f, m->first, m->first));
		m->first = NULL;
	}
	x->lines += count_lines(text, f.end);
	x->bytes += len;
	x->open_line = len > 0 && f.end[-1] != '\n';
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
