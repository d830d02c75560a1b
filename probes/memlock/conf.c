/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/parse.h"

#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"

/* "1000:", "1000:2000", ":2000", "1000": does the range have @id? */
static bool in_range(const char *range, int64_t id)
{
	const char *colon = strchr(range, ':');
	int64_t low = 0, high = UINT32_MAX;
	char first[24];

	if (colon == NULL || (size_t)(colon - range) >= sizeof(first)) {
		return false;
	}
	snprintf(first, sizeof(first), "%.*s", (int)(colon - range), range);
	if (first[0] == '\0' && colon[1] == '\0') {
		return false;
	}
	if (first[0] != '\0' &&
	    units_parse_int(first, 0, UINT32_MAX, &low, NULL) < 0) {
		return false;
	}
	if (colon[1] != '\0' &&
	    units_parse_int(colon + 1, 0, UINT32_MAX, &high, NULL) < 0) {
		return false;
	}
	return id >= low && id <= high;
}

static bool has_group(const struct conf_user *user, const char *name)
{
	for (size_t i = 0; user->groups != NULL && user->groups[i] != NULL;
	     i++) {
		if (strcmp(user->groups[i], name) == 0) {
			return true;
		}
	}
	return false;
}

/* pam_limits: a wildcard or a group does not mean root; a name does. */
static enum conf_match match_domain(const struct conf_user *user,
				    const char *domain)
{
	if (strcmp(domain, user->name) == 0) {
		return CONF_USER;
	}
	if (user->uid == 0) {
		return CONF_NONE;
	}
	if (strcmp(domain, "*") == 0) {
		return CONF_ANYONE;
	}
	if (domain[0] == '@' && has_group(user, domain + 1)) {
		return CONF_GROUP;
	}
	return in_range(domain, user->uid) ? CONF_USER : CONF_NONE;
}

/* KiB, or one of three words for no limit. */
static int read_value(const char *word, int64_t *out, struct err *e)
{
	int64_t kib;

	if (strcmp(word, "unlimited") == 0 || strcmp(word, "infinity") == 0 ||
	    strcmp(word, "-1") == 0) {
		*out = MEMLOCK_UNLIMITED;
		return 0;
	}
	if (units_parse_int(word, 0, INT64_MAX / 1024, &kib, e) < 0) {
		return -1;
	}
	*out = kib * 1024;
	return 0;
}

static void take(struct conf_value *v, const struct conf_value *found)
{
	if (found->match >= v->match) {
		*v = *found;
	}
}

/* One line without its comment; 0, or -1 with @e. */
static int read_line(const char *line, struct conf_value *found,
		     const struct conf_user *user, struct conf_limit *out,
		     struct err *e)
{
	char domain[64], type[16], item[32], value[32];
	const char *at = line;
	bool both;

	if (!text_word(&at, domain, sizeof(domain)) ||
	    !text_word(&at, type, sizeof(type)) ||
	    !text_word(&at, item, sizeof(item)) ||
	    !text_word(&at, value, sizeof(value)) ||
	    !text_equal(item, "memlock")) {
		return 0;	/* another limit, or nothing pam understands */
	}
	found->match = match_domain(user, domain);
	if (found->match == CONF_NONE) {
		return 0;
	}
	if (read_value(value, &found->value_B, e) < 0) {
		return -1;
	}
	both = strcmp(type, "-") == 0;
	if (both || text_equal(type, "soft")) {
		take(&out->soft, found);
	}
	if (both || text_equal(type, "hard")) {
		take(&out->hard, found);
	}
	return 0;
}

int conf_parse(const char *text, size_t len, int file,
	       const struct conf_user *user, struct conf_limit *out,
	       struct err *e)
{
	struct text_lines l;
	struct err why = { 0 };
	int got;

	if (text_lines_init(&l, text, len, e) < 0) {
		return -1;
	}
	while ((got = text_lines_next(&l, e)) == 1) {
		struct conf_value found = { .file = file, .line = l.line };

		l.text[strcspn(l.text, "#")] = '\0';
		STR_COPY(found.text, l.text);
		if (read_line(l.text, &found, user, out, &why) < 0) {
			return err_set(e, 0, "line %d: %s", l.line, why.text);
		}
	}
	return got;
}
