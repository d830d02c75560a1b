/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/parse.h"

#include <string.h>

#include "lib/base/units.h"

/* "1000:", "1000:2000", ":2000", "1000": does the range have @id? */
static bool in_range(const char *range, int64_t id)
{
	const char *colon = strchr(range, ':');
	int64_t low = 0, high = UINT32_MAX;
	char first[24];

	if (colon == NULL || strcmp(range, ":") == 0) {
		return false;
	}
	snprintf(first, sizeof(first), "%.*s", (int)(colon - range), range);
	return (first[0] == '\0' ||
		units_parse_int(first, 0, UINT32_MAX, &low, NULL) == 0) &&
	       (colon[1] == '\0' ||
		units_parse_int(colon + 1, 0, UINT32_MAX, &high, NULL) == 0) &&
	       id >= low && id <= high;
}

static bool has_group(const struct conf_user *user, const char *name)
{
	const char *const *g = user->groups;

	while (g != NULL && *g != NULL && strcmp(*g, name) != 0) {
		g++;
	}
	return g != NULL && *g != NULL;
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
	bool both;

	if (sscanf(line, "%63s %15s %31s %31s", domain, type, item, value) !=
		    4 ||
	    strcasecmp(item, "memlock") != 0) {
		return 0;	/* another limit, or nothing pam understands */
	}
	found->match = match_domain(user, domain);
	if (found->match == CONF_NONE) {
		return 0;
	}
	/* KiB, or one of three words for no limit */
	if (text_limit(strcmp(value, "-1") == 0 ? "unlimited" : value, 1024,
		       &found->value_B, e) < 0) {
		return -1;
	}
	both = strcmp(type, "-") == 0;
	if (both || strcasecmp(type, "soft") == 0) {
		take(&out->soft, found);
	}
	if (both || strcasecmp(type, "hard") == 0) {
		take(&out->hard, found);
	}
	return 0;
}

int conf_parse(const struct str *text, const char *file,
	       const struct conf_user *user, struct conf_limit *out,
	       struct err *e)
{
	struct text_lines l;

	text_lines_init(&l, text, e);
	while (text_lines_next(&l)) {
		struct conf_value found = { .match = CONF_NONE };

		snprintf(found.source, sizeof(found.source), "%.140s:%d", file,
			 l.line);
		l.text[strcspn(l.text, "#")] = '\0';
		STR_COPY(found.text, l.text);
		if (read_line(l.text, &found, user, out, e) < 0) {
			return text_lines_fail(&l);
		}
	}
	return l.rc;
}
