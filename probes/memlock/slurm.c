/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/parse.h"

#include <string.h>

#include "lib/base/str.h"

/* Value of "KEY = VALUE", NULL when @line is about something else. */
static const char *value_of(const char *line, const char *key)
{
	const char *at = line + strlen(key);

	if (!str_starts(line, key)) {
		return NULL;
	}
	at += strspn(at, " \t");
	return *at == '=' ? at + 1 + strspn(at + 1, " \t") : NULL;
}

/* Has the list "CPU,MEMLOCK" the word @name, or ALL? */
static bool list_has(const char *list, const char *name)
{
	char word[32];

	while (*list != '\0') {
		size_t len = strcspn(list, ", \t");

		snprintf(word, sizeof(word), "%.*s", (int)len, list);
		if (text_equal(word, name) || text_equal(word, "ALL") ||
		    (str_starts(word, "RLIMIT_") &&
		     text_equal(word + 7, name))) {
			return true;
		}
		list += len;
		list += strspn(list, ", \t");
	}
	return false;
}

/*
 * Slurm takes all limits along unless told otherwise; a list of exceptions
 * means all but these.
 */
static bool propagates(const struct slurm_limits *s)
{
	bool unset = s->limits[0] == '\0' || s->limits[0] == '(';
	bool excepts = s->except[0] != '\0' && s->except[0] != '(' &&
		       !text_equal(s->except, "NONE");

	if (excepts && (unset || text_equal(s->limits, "NONE") ||
			text_equal(s->limits, "ALL"))) {
		return !list_has(s->except, "MEMLOCK");
	}
	return unset || list_has(s->limits, "MEMLOCK");
}

int slurm_config_parse(const char *text, size_t len, struct slurm_limits *out,
		       struct err *e)
{
	bool seen = false;
	struct text_lines l;
	int got;

	*out = (struct slurm_limits){ 0 };
	if (text_lines_init(&l, text, len, e) < 0) {
		return -1;
	}
	while ((got = text_lines_next(&l, e)) == 1) {
		const char *limits = value_of(l.text,
					      "PropagateResourceLimits");
		const char *except = value_of(l.text,
					      "PropagateResourceLimitsExcept");

		if (limits != NULL) {
			STR_COPY(out->limits, limits);
			seen = true;
		}
		if (except != NULL) {
			STR_COPY(out->except, except);
		}
	}
	if (got < 0) {
		return -1;
	}
	if (!seen) {
		return err_set(e, 0, "no line 'PropagateResourceLimits'");
	}
	out->propagates = propagates(out);
	return 0;
}
