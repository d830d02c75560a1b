/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/symptoms/xids.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"

#define NUMBER_MAX 99999
#define RANGE_MAX  100

__asm__(".section .rodata\n"
	"xids_text:\n"
	".incbin \"data/xids.txt\"\n"
	".byte 0\n"
	".previous\n");
extern const char xids_text[];

/** A line of the table. */
struct row {
	struct symptoms *s;
	size_t own;	/* sections that are not of the table */
	char kind[8], numbers[160], action[24];
	const char *meaning;
	size_t meaning_len;
};

/** The one named @name among the first @n. */
static const struct symptom *section(const struct symptoms *s, size_t n,
				     const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(s->list[i].code, name) == 0) {
			return &s->list[i];
		}
	}
	return NULL;
}

static bool add_number(const struct row *r, unsigned long number)
{
	struct symptom new = { .n_matches = 0 }, *x;
	const struct symptom *kind, *action;
	char name[48];

	snprintf(new.code, sizeof(new.code), "%s_%lu", r->kind, number);
	if (section(r->s, r->own, new.code)) {
		return true;
	}
	x = grow_add(&r->s->list, &r->s->n, &new, sizeof(new));
	snprintf(name, sizeof(name), "%s %s", r->kind, r->action);
	kind = section(r->s, r->own, r->kind);
	action = section(r->s, r->own, name);
	if (!x || !kind || !action) {
		return false;
	}
	x->effect = action->effect;
	str_addmem(&x->cause, r->meaning, r->meaning_len);
	str_add(&x->remedy, str_text(&action->remedy));
	str_add(&x->source, str_text(&kind->source));
	return true;
}

/** "10001-10002" or "12": the numbers from @from to @to; where it ends, or NULL
 *  when it is none. */
static const char *take_range(const char *text, unsigned long *from,
			      unsigned long *to)
{
	char *end;

	if (*text < '0' || *text > '9') {
		return NULL;
	}
	*from = *to = strtoul(text, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9') {
		*to = strtoul(end + 1, &end, 10);
	}
	return *to <= NUMBER_MAX && *from <= *to && *to - *from < RANGE_MAX ?
		       end : NULL;
}

static bool add_row(const struct row *r)
{
	const char *at = r->numbers;
	unsigned long from, to;

	do {
		at = take_range(at, &from, &to);
		if (!at) {
			return false;
		}
		for (; from <= to; from++) {
			if (!add_number(r, from)) {
				return false;
			}
		}
	} while (*at++ == ',');
	return at[-1] == '\0';
}

static bool take_line(struct row *r, const char *line, size_t len)
{
	char copy[256];
	int at = 0;

	if (len == 0 || *line == '#') {
		return true;
	}
	if (len >= sizeof(copy)) {
		return false;
	}
	memcpy(copy, line, len);
	copy[len] = '\0';
	if (sscanf(copy, "%7s %159s %23s %n", r->kind, r->numbers, r->action,
		   &at) != 3 || at == 0) {
		return false;
	}
	r->meaning = line + at;
	r->meaning_len = len - (size_t)at;
	return r->meaning_len > 0 && add_row(r);
}

int xids_add(struct symptoms *s, const char *text, struct err *e)
{
	struct row r = { .s = s, .own = s->n };

	text = text ? text : xids_text;
	for (int line = 1; *text; line++) {
		size_t len = strcspn(text, "\n");

		if (!take_line(&r, text, len)) {
			return err_set(e, EINVAL, "line %d: not KIND NUMBERS "
				       "ACTION MEANING", line);
		}
		text += len + (text[len] == '\n');
	}
	return 0;
}
