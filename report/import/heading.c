/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/import/heading.h"

#include <ctype.h>
#include <string.h>

#include "lib/data/record_collective.h"
#include "lib/base/str.h"

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
