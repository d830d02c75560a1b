/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/symptom.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "report/grow.h"

#define SYMPTOMS_MAX 1000

/** data/symptoms.ini as text, part of the program. */
__asm__(".section .rodata\n"
	"symptoms_text:\n"
	".incbin \"data/symptoms.ini\"\n"
	".byte 0\n"
	".previous\n");
extern const char symptoms_text[];

struct reading {
	struct symptoms *s;
	const char *why;	/* of a line that is wrong */
};

static struct symptom *section(struct reading *r, const char *code)
{
	struct symptoms *s = r->s;
	struct symptom *list;

	if (s->n > 0 && strcmp(s->list[s->n - 1].code, code) == 0) {
		return &s->list[s->n - 1];
	}
	if (symptom_find(s, code) || s->n == SYMPTOMS_MAX) {
		r->why = "section twice, or too many of them";
		return NULL;
	}
	list = grow(s->list, s->n, sizeof(*list));
	if (!list) {
		r->why = "no memory";
		return NULL;
	}
	s->list = list;
	list[s->n] = (struct symptom){ 0 };
	if (!STR_COPY(list[s->n].code, code)) {
		r->why = "the name of the section is too long";
		return NULL;
	}
	return &list[s->n++];
}

/** A value, or the next line of one: joined by a blank. */
static void add_text(struct str *to, const char *value)
{
	str_add(to, to->len ? " " : "");
	str_add(to, value);
}

static const struct key {
	const char *name;
	size_t offset;
} keys[] = {
	{ .name = "cause", .offset = offsetof(struct symptom, cause) },
	{ .name = "remedy", .offset = offsetof(struct symptom, remedy) },
	{ .name = "source", .offset = offsetof(struct symptom, source) },
};

/** inih's handler: 1 is good. */
static int take(void *user, const char *code, const char *name,
		const char *value)
{
	struct reading *r = user;
	struct symptom *x = section(r, code);

	if (!x) {
		return 0;
	}
	if (strcmp(name, "match") == 0) {
		if (x->n_matches == SYMPTOM_MATCHES || !value[0]) {
			r->why = "an empty match, or too many";
			return 0;
		}
		add_text(&x->match[x->n_matches++], value);
		return 1;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(name, keys[i].name) == 0) {
			add_text((struct str *)((char *)x + keys[i].offset),
				 value);
			return 1;
		}
	}
	r->why = "no such key";
	return 0;
}

int symptoms_parse(const char *text, struct symptoms *s, struct err *e)
{
	struct reading r = { .s = s, .why = "not KEY=VALUE" };
	int line;

	*s = (struct symptoms){ 0 };
	line = ini_parse_string(text, take, &r);
	if (line != 0) {
		symptoms_release(s);
		return err_set(e, EINVAL, "line %d: %s", line, r.why);
	}
	return 0;
}

void symptoms_release(struct symptoms *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct symptom *x = &s->list[i];

		for (size_t k = 0; k < x->n_matches; k++) {
			str_release(&x->match[k]);
		}
		str_release(&x->cause);
		str_release(&x->remedy);
		str_release(&x->source);
	}
	free(s->list);
	*s = (struct symptoms){ 0 };
}

const struct symptoms *symptoms_builtin(void)
{
	static struct symptoms all;

	if (all.n == 0) {
		symptoms_parse(symptoms_text, &all, NULL);
	}
	return &all;
}

const struct symptom *symptom_find(const struct symptoms *s, const char *code)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->list[i].code, code) == 0) {
			return &s->list[i];
		}
	}
	return NULL;
}

/** Has @line the parts of @pattern, which stars separate, in that order? */
static bool has_pattern(const char *line, const char *pattern)
{
	while (*pattern) {
		size_t len = strcspn(pattern, "*");
		const char *at = memmem(line, strlen(line), pattern, len);

		if (!at) {
			return false;
		}
		line = at + len;
		pattern += len;
		pattern += strspn(pattern, "*");
	}
	return true;
}

const struct symptom *symptom_match(const struct symptoms *s, const char *line)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct symptom *x = &s->list[i];

		for (size_t k = 0; k < x->n_matches; k++) {
			if (has_pattern(line, str_text(&x->match[k]))) {
				return x;
			}
		}
	}
	return NULL;
}
