/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/parse.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

int text_lines_init(struct text_lines *l, const char *text, size_t len,
		    struct err *e)
{
	if (len > MEMLOCK_TEXT_MAX) {
		return err_set(e, 0, "larger than %d bytes", MEMLOCK_TEXT_MAX);
	}
	if (len > 0 && memchr(text, '\0', len) != NULL) {
		return err_set(e, 0, "there is a NUL byte in it");
	}
	*l = (struct text_lines){ .at = text, .end = text + len };
	return 0;
}

int text_lines_next(struct text_lines *l, struct err *e)
{
	const char *from = l->at, *to, *next;

	if (from == l->end) {
		return 0;
	}
	to = memchr(from, '\n', (size_t)(l->end - from));
	next = to != NULL ? to + 1 : l->end;
	to = to != NULL ? to : l->end;
	while (from < to && isspace((unsigned char)*from)) {
		from++;
	}
	while (to > from && isspace((unsigned char)to[-1])) {
		to--;
	}
	l->line++;
	l->at = next;
	l->text[0] = '\0';
	if ((size_t)(to - from) >= sizeof(l->text)) {
		return err_set(e, 0, "line %d is longer than %zu bytes",
			       l->line, sizeof(l->text) - 1);
	}
	for (char *put = l->text; from < to; from++) {
		*put++ = isspace((unsigned char)*from) ? ' ' : *from;
		*put = '\0';
	}
	return 1;
}

bool text_word(const char **at, char *word, size_t size)
{
	size_t len;

	*at += strspn(*at, " \t");
	len = strcspn(*at, " \t");
	if (len == 0) {
		return false;
	}
	if (len < size) {
		memcpy(word, *at, len);
		word[len] = '\0';
	} else {
		word[0] = '\0';	/* longer than any word that is looked for */
	}
	*at += len;
	return true;
}

bool text_equal(const char *a, const char *b)
{
	return strcasecmp(a, b) == 0;
}
