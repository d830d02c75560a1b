/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/look.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "probes/host/sysfile.h"

#define CONF_FILE   "/etc/security/limits.conf"
#define CONF_FOLDER "/etc/security/limits.d"
#define CONF_FILES  64
#define GROUPS_MAX  128

struct user {
	char name[64];
	char groups[GROUPS_MAX][64];
	const char *group_list[GROUPS_MAX + 1];
};

/* Of a recorded machine only what its /etc/passwd says is known. */
static void recorded_user(const struct memlock *m, int64_t uid, struct user *u)
{
	char path[PATH_MAX];
	struct passwd *p;
	FILE *f;

	snprintf(path, sizeof(path), "%.2000s/etc/passwd", m->root);
	f = fopen(path, "re");
	while (f != NULL && (p = fgetpwent(f)) != NULL) {
		if ((int64_t)p->pw_uid == uid) {
			STR_COPY(u->name, p->pw_name);
			break;
		}
	}
	if (f != NULL) {
		fclose(f);
	}
}

static void real_user(int64_t uid, struct user *u)
{
	const struct passwd *p = getpwuid((uid_t)uid);
	gid_t gids[GROUPS_MAX];
	int n = GROUPS_MAX, kept = 0;

	if (p == NULL) {
		return;
	}
	STR_COPY(u->name, p->pw_name);
	if (getgrouplist(p->pw_name, p->pw_gid, gids, &n) < 0) {
		n = 0;		/* more groups than anybody has */
	}
	for (int i = 0; i < n; i++) {
		const struct group *g = getgrgid(gids[i]);

		if (g != NULL && STR_COPY(u->groups[kept], g->gr_name)) {
			u->group_list[kept] = u->groups[kept];
			kept++;
		}
	}
}

static bool is_conf(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot != NULL && strcmp(dot, ".conf") == 0;
}

/* The lines of limits.conf, then of limits.d, in the order of pam_limits.
 * Returns how many of these files there are, or -1 with @e and @path. */
static int read_files(struct memlock *m, const struct conf_user *who,
		      struct conf_limit *limit, char path[160], struct err *e)
{
	char names[CONF_FILES][64];
	size_t n = sysfile_list(names + 1, CONF_FILES - 1, "%s" CONF_FOLDER,
				m->root);
	int seen = 0;

	STR_COPY(names[0], CONF_FILE);
	for (size_t i = 0; i <= n; i++) {
		snprintf(path, 160, "%s%s", i > 0 ? CONF_FOLDER "/" : "",
			 names[i]);
		if (!is_conf(path)) {
			continue;
		}
		if (memlock_read(m, path, e) == 0) {
			seen++;
			if (conf_parse(&m->text, path, who, limit, e) < 0) {
				return -1;
			}
		} else if (e->code != ENOENT) {
			path[0] = '\0';
			return -1;
		}
	}
	return seen;
}

static void fill_row(struct memlock_row *row, const struct conf_limit *limit,
		     const char *user)
{
	const struct conf_value *v = limit->soft.match != CONF_NONE ?
					     &limit->soft :
					     &limit->hard;

	if (v->match == CONF_NONE) {
		STR_COPY(row->code, "unset");
		snprintf(row->detail, sizeof(row->detail),
			 "no memlock line applies to user '%s'", user);
		return;
	}
	row->limit_B = v->value_B;
	STR_COPY(row->source, v->source);
	STR_COPY(row->detail, v->text);
}

void memlock_look_conf(struct memlock *m, enum memlock_context context,
		       int64_t uid)
{
	struct conf_limit limit = { 0 };
	struct user u = { .name = "" };
	struct conf_user who = { .name = u.name, .uid = uid,
				 .groups = u.group_list };
	struct memlock_row row;
	struct err e = { 0 };
	char path[160];
	int seen;

	memlock_row_init(m, &row, context, CHECK_LIMITS_CONF, "");
	if (m->root[0] != '\0') {
		recorded_user(m, uid, &u);
	} else {
		real_user(uid, &u);
	}
	seen = read_files(m, &who, &limit, path, &e);
	if (seen < 0) {
		STR_COPY(row.source, path);
		memlock_row_unknown(&row, &e);
	} else if (seen == 0) {
		memlock_row_absent(&row, "there is no " CONF_FILE);
	} else {
		fill_row(&row, &limit, u.name);
	}
	memlock_row_say(m, &row);
}
