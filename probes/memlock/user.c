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
	char full[PATH_MAX];
	FILE *f = fopen(memlock_below(m, "/etc/passwd", full), "re");
	struct passwd *p;

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

/* limits.conf, then limits.d, in the order of pam_limits. */
static int conf_files(const struct memlock *m, char files[][160], int max)
{
	char full[PATH_MAX], names[CONF_FILES][64];
	size_t n = sysfile_list(memlock_below(m, CONF_FOLDER, full), names,
				CONF_FILES - 1);
	int count = 0;

	snprintf(files[count++], 160, "%s", CONF_FILE);
	for (size_t i = 0; i < n && count < max; i++) {
		const char *dot = strrchr(names[i], '.');

		if (dot != NULL && strcmp(dot, ".conf") == 0) {
			snprintf(files[count++], 160, "%s/%s", CONF_FOLDER,
				 names[i]);
		}
	}
	return count;
}

static void fill_row(struct memlock_row *row, const struct conf_limit *limit,
		     char files[][160], const char *user)
{
	const struct conf_value *v = limit->soft.match != CONF_NONE ?
					     &limit->soft :
					     &limit->hard;

	row->outcome = OUTCOME_OK;
	if (v->match == CONF_NONE) {
		STR_COPY(row->code, "unset");
		snprintf(row->detail, sizeof(row->detail),
			 "no memlock line applies to user '%s'", user);
		return;
	}
	row->limit_B = v->value_B;
	snprintf(row->source, sizeof(row->source), "%.140s:%d",
		 files[v->file], v->line);
	STR_COPY(row->detail, v->text);
}

void memlock_look_conf(const struct memlock *m, struct memlock_row *row,
		       int64_t uid)
{
	char files[CONF_FILES][160];
	struct conf_limit limit = { 0 };
	struct user u = { .name = "" };
	struct conf_user who = { .name = u.name, .uid = uid,
				 .groups = u.group_list };
	struct str text = STR_INIT;
	struct err e = { 0 };
	int n, seen = 0;

	if (m->root[0] != '\0') {
		recorded_user(m, uid, &u);
	} else {
		real_user(uid, &u);
	}
	n = conf_files(m, files, CONF_FILES);
	for (int i = 0; i < n; i++) {
		if (memlock_read(m, files[i], &text, &e) < 0) {
			if (e.code != ENOENT) {
				goto unknown;
			}
			continue;
		}
		seen++;
		if (conf_parse(str_text(&text), text.len, i, &who, &limit,
			       &e) < 0) {
			STR_COPY(row->source, files[i]);
			goto unknown;
		}
	}
	if (seen == 0) {
		memlock_row_absent(row, "there is no " CONF_FILE);
	} else {
		fill_row(row, &limit, files, u.name);
	}
	str_release(&text);
	return;
unknown:
	memlock_row_unknown(row, &e);
	str_release(&text);
}
