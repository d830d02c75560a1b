/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/parse.h"

#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"

/* Which key counts in which section of a systemd file. */
static const struct unit_key {
	const char *section, *key;
} unit_keys[] = {
	{ .section = "[Service]", .key = "LimitMEMLOCK" },
	{ .section = "[Manager]", .key = "DefaultLimitMEMLOCK" },
};

/* "infinity", "64M", "65536" */
static int read_value(const char *text, int64_t *out, struct err *e)
{
	uint64_t bytes;

	if (strcmp(text, "infinity") == 0) {
		*out = MEMLOCK_UNLIMITED;
		return 0;
	}
	if (units_parse_size(text, &bytes, e) < 0) {
		return -1;
	}
	if (bytes > INT64_MAX) {
		return err_set(e, 0, "'%.40s' is too large", text);
	}
	*out = (int64_t)bytes;
	return 0;
}

/* "VALUE" or "SOFT:HARD" */
static int read_pair(const char *text, struct limit_pair *out, struct err *e)
{
	const char *colon = strchr(text, ':');
	char soft[64];

	snprintf(soft, sizeof(soft), "%.*s",
		 colon != NULL ? (int)(colon - text) : 60, text);
	if (read_value(soft, &out->soft, e) < 0) {
		return -1;
	}
	out->hard = out->soft;
	return colon != NULL ? read_value(colon + 1, &out->hard, e) : 0;
}

/* Value of @line when it is "KEY = VALUE" of one of unit_keys, else NULL. */
static const char *wanted_value(const char *section, const char *line)
{
	for (size_t i = 0; i < sizeof(unit_keys) / sizeof(unit_keys[0]); i++) {
		size_t len = strlen(unit_keys[i].key);
		const char *at = line + len;

		if (strcmp(section, unit_keys[i].section) != 0 ||
		    strncmp(line, unit_keys[i].key, len) != 0) {
			continue;
		}
		at += strspn(at, " \t");
		if (*at == '=') {
			return at + 1 + strspn(at + 1, " \t");
		}
	}
	return NULL;
}

int unit_parse(const char *text, size_t len, struct unit_limit *out,
	       struct err *e)
{
	char section[32] = "";
	bool continued = false;
	struct text_lines l;
	struct err why = { 0 };
	int got;

	*out = (struct unit_limit){ 0 };
	if (text_lines_init(&l, text, len, e) < 0) {
		return -1;
	}
	while ((got = text_lines_next(&l, e)) == 1) {
		size_t n = strlen(l.text);
		bool goes_on = n > 0 && l.text[n - 1] == '\\';
		const char *value;

		if (l.text[0] == '[' && !continued) {
			STR_COPY(section, l.text);
		}
		value = continued ? NULL : wanted_value(section, l.text);
		continued = goes_on;
		if (value == NULL) {
			continue;
		}
		if (*value == '\0') {	/* back to what it was before */
			out->line = 0;
		} else if (read_pair(value, &out->limit, &why) < 0) {
			return err_set(e, 0, "line %d: %s", l.line, why.text);
		} else {
			out->line = l.line;
		}
	}
	return got;
}
