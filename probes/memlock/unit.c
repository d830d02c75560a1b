/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/parse.h"

#include <string.h>

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
	uint64_t bytes = INT64_MAX;

	if (strcmp(text, "infinity") != 0 &&
	    units_parse_size(text, &bytes, e) < 0) {
		return -1;
	}
	*out = (int64_t)bytes;
	return bytes <= INT64_MAX ?
		       0 :
		       err_set(e, 0, "'%.40s' is too large", text);
}

/* "VALUE" or "SOFT:HARD" */
static int read_pair(char *text, struct limit_pair *out, struct err *e)
{
	const char *soft = strsep(&text, ":");

	return read_value(soft, &out->soft, e) < 0 ?
		       -1 :
		       read_value(text != NULL ? text : soft, &out->hard, e);
}

/* Value of @line when it is "KEY = VALUE" of one of unit_keys, else NULL. */
static const char *wanted_value(const char *section, const char *line)
{
	const char *value = NULL;

	for (size_t i = 0; i < sizeof(unit_keys) / sizeof(unit_keys[0]); i++) {
		if (strcmp(section, unit_keys[i].section) == 0) {
			value = text_value(line, unit_keys[i].key);
		}
	}
	return value;
}

int unit_parse(const struct str *text, struct unit_limit *out, struct err *e)
{
	char section[32] = "", pair[64];
	bool continued = false;
	struct text_lines l;

	*out = (struct unit_limit){ 0 };
	text_lines_init(&l, text, e);
	while (text_lines_next(&l)) {
		size_t n = strlen(l.text);
		bool inside = continued;
		const char *value;

		continued = n > 0 && l.text[n - 1] == '\\';
		if (inside) {
			continue;
		}
		if (l.text[0] == '[') {
			STR_COPY(section, l.text);
		}
		value = wanted_value(section, l.text);
		if (value == NULL) {
			continue;
		}
		STR_COPY(pair, value);
		if (*value == '\0') {	/* back to what it was before */
			out->line = 0;
		} else if (read_pair(pair, &out->limit, e) < 0) {
			return text_lines_fail(&l);
		} else {
			out->line = l.line;
		}
	}
	return l.rc;
}
