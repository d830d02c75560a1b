/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/parse.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/units.h"

void text_lines_init(struct text_lines *l, const struct str *text,
		     struct err *e)
{
	*l = (struct text_lines){ .at = str_text(text), .e = e };
	if (text->len > MEMLOCK_TEXT_MAX) {
		l->rc = err_set(e, 0, "larger than %d bytes", MEMLOCK_TEXT_MAX);
	} else if (strlen(l->at) < text->len) {
		l->rc = err_set(e, 0, "there is a NUL byte in it");
	}
}

bool text_lines_next(struct text_lines *l)
{
	const char *from = l->at;
	size_t len = strcspn(from, "\n");

	if (l->rc < 0 || *from == '\0') {
		return false;
	}
	l->line++;
	l->at += len + (from[len] == '\n');
	while (len > 0 && isspace((unsigned char)from[len - 1])) {
		len--;
	}
	while (len > 0 && isspace((unsigned char)*from)) {
		from++;
		len--;
	}
	if (len >= sizeof(l->text)) {
		l->rc = err_set(l->e, 0, "line %d is longer than %zu bytes",
				l->line, sizeof(l->text) - 1);
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		l->text[i] = isspace((unsigned char)from[i]) ? ' ' : from[i];
	}
	l->text[len] = '\0';
	return true;
}

int text_lines_fail(const struct text_lines *l)
{
	struct err why = { 0 };

	if (l->e != NULL) {
		why = *l->e;
	}
	return err_set(l->e, 0, "line %d: %s", l->line, why.text);
}

bool text_word(const char **at, char *word, size_t size)
{
	size_t len;

	*at += strspn(*at, " \t");
	len = strcspn(*at, " \t");
	/* none is longer than what is looked for */
	snprintf(word, size, "%.*s", len < size ? (int)len : 0, *at);
	*at += len;
	return len > 0;
}

const char *text_value(const char *line, const char *key)
{
	const char *at = line + strlen(key);

	if (!str_starts(line, key)) {
		return NULL;
	}
	at += strspn(at, " ");
	return *at == '=' ? at + 1 + strspn(at + 1, " ") : NULL;
}

int text_limit(const char *word, int64_t unit_B, int64_t *out, struct err *e)
{
	int64_t n;

	if (strcmp(word, "unlimited") == 0 || strcmp(word, "infinity") == 0) {
		*out = MEMLOCK_UNLIMITED;
		return 0;
	}
	if (units_parse_int(word, 0, INT64_MAX / unit_B, &n, e) < 0) {
		return -1;
	}
	*out = n * unit_B;
	return 0;
}
