/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/parse.h"

#include <string.h>

/* Has the list "CPU,MEMLOCK" the word @name, or ALL? */
static bool list_has(const char *list, const char *name)
{
	char word[32];

	while (*list != '\0') {
		size_t len = strcspn(list, ", \t");

		snprintf(word, sizeof(word), "%.*s", (int)len, list);
		if (strcasecmp(word, name) == 0 ||
		    strcasecmp(word, "ALL") == 0 ||
		    (str_starts(word, "RLIMIT_") &&
		     strcasecmp(word + 7, name) == 0)) {
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
		       strcasecmp(s->except, "NONE") != 0;

	if (excepts && (unset || strcasecmp(s->limits, "NONE") == 0 ||
			strcasecmp(s->limits, "ALL") == 0)) {
		return !list_has(s->except, "MEMLOCK");
	}
	return unset || list_has(s->limits, "MEMLOCK");
}

int slurm_config_parse(const struct str *text, struct slurm_limits *out,
		       struct err *e)
{
	const char *limits, *except;
	bool seen = false;
	struct text_lines l;

	*out = (struct slurm_limits){ 0 };
	text_lines_init(&l, text, e);
	while (text_lines_next(&l)) {
		limits = text_value(l.text, "PropagateResourceLimits");
		except = text_value(l.text, "PropagateResourceLimitsExcept");
		if (limits != NULL) {
			STR_COPY(out->limits, limits);
			seen = true;
		}
		if (except != NULL) {
			STR_COPY(out->except, except);
		}
	}
	if (l.rc < 0) {
		return -1;
	}
	if (!seen) {
		return err_set(e, 0, "no line 'PropagateResourceLimits'");
	}
	out->propagates = propagates(out);
	return 0;
}
