/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/parse.h"

#include <stdlib.h>
#include <string.h>

/* Which key counts in which section of a systemd file. */
static const struct unit_key {
	const char *section, *key;
} unit_keys[] = {
	{ .section = "[Service]", .key = "LimitMEMLOCK" },
	{ .section = "[Manager]", .key = "DefaultLimitMEMLOCK" },
};

/*
 * One number of a size, with its unit; NULL: it is none.  As parse_size() of
 * systemd: powers of 1024, capitals only, each smaller than the one before
 * (*@above), and no "KB" or "KiB".
 */
static const char *read_part(const char *at, size_t *above, double *bytes)
{
	static const char units[] = " BKMGTPE";
	size_t digits = strspn(at, "0123456789"), all = digits, unit = 0;
	char number[32];

	if (at[digits] == '.') {
		all += 1 + strspn(at + digits + 1, "0123456789");
	}
	if (digits == 0 || all >= sizeof(number)) {
		return NULL;
	}
	snprintf(number, sizeof(number), "%.*s", (int)all, at);
	at += all + strspn(at + all, " ");
	if (*at != '\0' && strchr(units, *at) != NULL) {
		unit = (size_t)(strchr(units, *at) - units);
		at += 1 + strspn(at + 1, " ");
	}
	if (unit >= *above) {
		return NULL;
	}
	*above = unit;
	*bytes += strtod(number, NULL) *
		  (double)(UINT64_C(1) << (unit > 1 ? 10 * (unit - 1) : 0));
	return at;
}

/* "infinity", "64M", "1G 512M", "65536" */
static bool read_value(const char *text, int64_t *out)
{
	size_t above = SIZE_MAX;
	double bytes = 0;

	if (strcmp(text, "infinity") == 0) {
		*out = MEMLOCK_UNLIMITED;
		return true;
	}
	do {
		text = read_part(text, &above, &bytes);
	} while (text != NULL && *text != '\0');
	*out = bytes < 0x1p63 ? (int64_t)bytes : MEMLOCK_UNLIMITED;
	return text != NULL;
}

/* "VALUE" or "SOFT:HARD"; what is wrong with it, or NULL. */
static const char *read_pair(const char *text, struct limit_pair *out)
{
	char pair[64], *hard = pair;
	const char *soft;

	STR_COPY(pair, text);
	soft = strsep(&hard, ":");
	if (!read_value(soft, &out->soft) ||
	    !read_value(hard != NULL ? hard : soft, &out->hard)) {
		return "is neither a size nor \"infinity\"";
	}
	return out->soft > out->hard ? "has a soft limit above the hard one" :
				       NULL;
}

/* Is @line "KEY = VALUE", in whatever letters?  VALUE, or NULL. */
static const char *value_of(const char *line, const char *key)
{
	const char *equals = strchr(line, '=');
	size_t len = strlen(key);

	return equals != NULL && strncasecmp(line, key, len) == 0 &&
			       line[len + strspn(line + len, " ")] == '=' ?
		       equals + 1 + strspn(equals + 1, " ") :
		       NULL;
}

/* The key of unit_keys that @line is about, with its @value; NULL: none. */
static const struct unit_key *key_of(const char *line, const char **value)
{
	for (size_t i = 0; i < sizeof(unit_keys) / sizeof(unit_keys[0]); i++) {
		*value = value_of(line, unit_keys[i].key);
		if (*value != NULL) {
			return &unit_keys[i];
		}
	}
	return NULL;
}

/* What keeps systemd from heeding @line, of @key in @section; NULL: nothing,
 * and @limit is what it says. */
static const char *fault_of(const struct unit_key *key, const char *section,
			    const char *line, const char *value,
			    struct limit_pair *limit)
{
	if (strcmp(section, key->section) != 0) {
		return section[0] != '\0' ? "is in the wrong section" :
					    "is in no section";
	}
	return !str_starts(line, key->key) ? "is spelled otherwise" :
	       *value != '\0'		   ? read_pair(value, limit) :
					     NULL;
}

static void take_line(struct unit_limit *out, const struct text_lines *l,
		      const char *section)
{
	struct limit_pair limit = out->limit;
	const char *value, *fault;
	const struct unit_key *key = key_of(l->text, &value);

	/* a section whose name begins with X- is meant to be ignored */
	if (key == NULL || str_starts(section, "[X-")) {
		return;
	}
	fault = fault_of(key, section, l->text, value, &limit);
	if (fault != NULL) {
		out->ignored = l->line;
		snprintf(out->why, sizeof(out->why), "\"%.64s\" %s: it takes "
			 "%s=infinity in section %s", l->text, fault, key->key,
			 key->section);
		return;
	}
	out->ignored = 0;
	/* an empty one: back to what it was before */
	out->line = *value != '\0' ? l->line : 0;
	out->limit = limit;
}

int unit_parse(const struct str *text, struct unit_limit *out, struct err *e)
{
	bool continued = false;
	char section[32] = "";
	struct text_lines l;

	*out = (struct unit_limit){ 0 };
	text_lines_init(&l, text, e);
	while (text_lines_next(&l)) {
		size_t n = strlen(l.text);
		bool inside = continued;

		continued = n > 0 && l.text[n - 1] == '\\';
		if (inside) {
			continue;
		}
		if (l.text[0] == '[') {
			STR_COPY(section, l.text);
		}
		take_line(out, &l, section);
	}
	return l.rc;
}
