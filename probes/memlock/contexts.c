/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "probes/host/sysfile.h"
#include "probes/memlock/look.h"

/* ---- unit ---------------------------------------------------------------- */

/* Which key counts in which section of a systemd file. */
static const struct {
	const char *name, *section;
} unit_keys[] = {
	{ .name = "LimitMEMLOCK", .section = "[Service]" },
	{ .name = "DefaultLimitMEMLOCK", .section = "[Manager]" },
};

/*
 * "infinity", "64M", "1G 512M", "65536": as parse_size() of systemd reads it:
 * powers of 1024, capitals only, each unit smaller than the one before, and no
 * "KB" or "KiB".
 */
static bool read_value(const char *at, int64_t *out)
{
	static const char units[] = " BKMGTPE";
	size_t above = SIZE_MAX; /* the unit before */
	double bytes = 0;

	if (strcmp(at, "infinity") == 0) {
		*out = MEMLOCK_UNLIMITED;
		return true;
	}
	do {
		size_t digits = strspn(at, "0123456789"), all = digits;
		size_t unit = 0;
		char number[32];

		if (at[digits] == '.') {
			all += 1 + strspn(at + digits + 1, "0123456789");
		}
		if (digits == 0 || all >= sizeof(number)) {
			return false;
		}
		snprintf(number, sizeof(number), "%.*s", (int)all, at);
		at += all + strspn(at + all, " ");
		if (*at != '\0' && strchr(units, *at) != NULL) {
			unit = (size_t)(strchr(units, *at) - units);
			at += 1 + strspn(at + 1, " ");
		}
		if (unit >= above) {
			return false;
		}
		above = unit;
		bytes += strtod(number, NULL) *
			 (double)(UINT64_C(1)
				  << (unit > 1 ? 10 * (unit - 1) : 0));
	} while (*at != '\0');
	*out = bytes < 0x1p63 ? (int64_t)bytes : MEMLOCK_UNLIMITED;
	return true;
}

/* Read "VALUE" or "SOFT:HARD"; returns the fault in words, or NULL. */
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

/* @before is what earlier files set. */
static void take_line(struct unit_limit *u, const struct unit_limit *before,
		      const char *file, const struct text_lines *l,
		      const char *section)
{
	const char *key = "", *its_section = "";
	struct limit_pair limit = u->limit;
	char why[160];
	const char *value = NULL, *fault = NULL;
	const char *equals = strchr(l->text, '=');

	/* "KEY = VALUE", case ignored */
	for (size_t i = 0; equals != NULL && value == NULL &&
	     i < sizeof(unit_keys) / sizeof(unit_keys[0]); i++) {
		const size_t len = strlen(unit_keys[i].name);

		key = unit_keys[i].name;
		its_section = unit_keys[i].section;
		if (strncasecmp(l->text, key, len) == 0 &&
		    l->text[len + strspn(l->text + len, " ")] == '=') {
			value = equals + 1 + strspn(equals + 1, " ");
		}
	}
	/* a section whose name begins with X- is meant to be ignored */
	if (value == NULL || str_starts(section, "[X-")) {
		return;
	}
	/* systemd ignores a line that has a fault */
	if (strcmp(section, its_section) != 0) {
		fault = section[0] != '\0' ? "is in the wrong section" :
					     "is in no section";
	} else if (!str_starts(l->text, key)) {
		fault = "is spelled otherwise";
	} else if (*value != '\0') {
		fault = read_pair(value, &limit);
	}
	if (fault != NULL) {
		snprintf(why, sizeof(why), "\"%.64s\" %s: it takes "
			 "%s=infinity in section %s", l->text, fault, key,
			 its_section);
		snprintf(u->ignored, sizeof(u->ignored), "%.140s:%d: %s", file,
			 l->line, why);
	} else if (*value == '\0') {
		*u = *before;
	} else {
		u->limit = limit;
		u->ignored[0] = '\0';
		snprintf(u->source, sizeof(u->source), "%.140s:%d", file,
			 l->line);
	}
}

int unit_parse(const struct str *text, const char *file, struct unit_limit *u,
	       struct err *e)
{
	const struct unit_limit before = *u;
	bool continued = false;
	char section[32] = "";
	struct text_lines l;

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
		take_line(u, &before, file, &l, section);
	}
	return l.rc;
}

/* ---- service ------------------------------------------------------------- */

#define UNIT	   "slurmd.service"
#define DROP_INS   64	/* in all folders */

/* Where systemd looks, the first place winning. */
static const char *const unit_folders[] = {
	"/etc/systemd/system", "/run/systemd/system",
	"/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
	"/lib/systemd/system",
};

#define FOLDERS (sizeof(unit_folders) / sizeof(unit_folders[0]))

/* Read @path into @u: 1, 0 when it is not there, -1 with @e when it cannot be
 * read. */
static int read_file(struct memlock *m, const char *path, struct unit_limit *u,
		     struct err *e)
{
	char why[200];

	if (memlock_read(m, path, e) < 0) {
		return e->code == ENOENT ? 0 : -1;
	}
	if (unit_parse(&m->text, path, u, e) < 0) {
		STR_COPY(why, e->text);
		return err_set(e, 0, "'%.80s': %s", path, why);
	}
	return 1;
}

/* Unit or drop-in @name, from the first folder that has one. */
static int read_first(struct memlock *m, const char *name,
		      struct unit_limit *u, struct err *e)
{
	char path[200];
	int rc = 0;

	for (size_t i = 0; i < FOLDERS && rc == 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", unit_folders[i], name);
		rc = read_file(m, path, u, e);
	}
	return rc;
}

/* Read all files that set the limit of the unit, in systemd's order.  Returns 1
 * if there is a unit or a drop-in, 0, or -1 with @e. */
static int read_service(struct memlock *m, struct unit_limit *u, struct err *e)
{
	char names[DROP_INS][64], name[96];
	size_t n = 0;
	int rc, exists;

	/* the default of the manager comes first: it is no unit */
	if (read_file(m, "/etc/systemd/system.conf", u, e) < 0) {
		return -1;
	}
	exists = rc = read_first(m, UNIT, u, e);
	/* the drop-ins of all folders, those of one name once */
	for (size_t i = 0; i < FOLDERS; i++) {
		n += sysfile_list(names + n, DROP_INS - n, "%s%s/" UNIT ".d",
				  m->root, unit_folders[i]);
	}
	qsort(names, n, sizeof(names[0]), str_order);
	for (size_t i = 0; i < n && rc >= 0; i++) {
		snprintf(name, sizeof(name), UNIT ".d/%.63s", names[i]);
		if ((i == 0 || strcmp(names[i], names[i - 1]) != 0) &&
		    str_ends(names[i], ".conf")) {
			rc = read_first(m, name, u, e);
			exists |= rc;
		}
	}
	return rc < 0 ? -1 : exists;
}

static bool group_of(struct memlock *m, const char *pid,
		     struct proc_cgroup *group)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/cgroup", pid);
	return memlock_read(m, path, NULL) == 0 &&
	       proc_cgroup_parse(&m->text, group, NULL) == 0;
}

/* Report, in a row, the limit that systemd sets for slurmd, process @pid. */
static void look_unit(struct memlock *m, const char *pid)
{
	struct unit_limit u = { .source = "" };
	struct proc_cgroup group;
	struct memlock_row row;
	struct err e = { 0 };
	int exists = read_service(m, &u, &e);

	memlock_row_init(m, &row, MEMLOCK_SLURMD, CHECK_UNIT, "");
	if (exists < 0) {
		memlock_row_unknown(&row, &e);
		memlock_row_say(m, &row);
		return;
	}
	if (exists == 0) {
		memlock_row_absent(&row, "there is no " UNIT);
		memlock_row_say(m, &row);
		return;
	}
	if (u.source[0] != '\0') {
		row.limit_B = u.limit.soft;
		STR_COPY(row.source, u.source);
	}
	if (!group_of(m, pid, &group) || strcmp(group.unit, UNIT) != 0) {
		STR_COPY(row.code, CODE_UNUSED);
		STR_COPY(row.detail, "slurmd runs outside systemd: the unit's "
				     "limits do not apply");
	} else if (u.ignored[0] != '\0') {
		row.outcome = OUTCOME_ERROR;
		STR_COPY(row.code, CODE_IGNORED);
		snprintf(row.detail, sizeof(row.detail), "systemd ignores %s",
			 u.ignored);
	} else if (u.source[0] == '\0') {
		STR_COPY(row.code, "unit_unset");
		STR_COPY(row.detail, UNIT " sets no LimitMEMLOCK: the default "
					  "of systemd applies, 8 MiB or 64 "
					  "KiB");
	} else if (m->slurmd_known && m->slurmd.hard != u.limit.hard) {
		STR_COPY(row.code, "unit_not_in_force");
		STR_COPY(row.detail, "the limit of slurmd differs from that "
				     "of " UNIT ": it was not restarted since");
	} else {
		STR_COPY(row.detail, "LimitMEMLOCK of " UNIT);
	}
	memlock_row_say(m, &row);
}

/* ---- conf ---------------------------------------------------------------- */

/* Returns true if the range "1000:", "1000:2000" or ":2000" includes @id; a
 * single number is not a range. */
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
	if (domain[0] == '@' && user->groups != NULL &&
	    str_index(user->groups, domain + 1) >= 0) {
		return CONF_GROUP;
	}
	return in_range(domain, user->uid) ? CONF_USER : CONF_NONE;
}

static void take_value(struct conf_value *v, const struct conf_value *found)
{
	if (found->match >= v->match) {
		*v = *found;
	}
}

int conf_parse(const struct str *text, const char *file,
	       const struct conf_user *user, struct conf_value *soft,
	       struct conf_value *hard, struct err *e)
{
	char domain[64], type[16], item[32], value[32];
	struct text_lines l;
	bool both;

	text_lines_init(&l, text, e);
	while (text_lines_next(&l)) {
		struct conf_value found = { .match = CONF_NONE };

		snprintf(found.source, sizeof(found.source), "%.140s:%d", file,
			 l.line);
		l.text[strcspn(l.text, "#")] = '\0';
		STR_COPY(found.text, l.text);
		if (sscanf(l.text, "%63s %15s %31s %31s", domain, type, item,
			   value) != 4 ||
		    strcasecmp(item, "memlock") != 0) {
			continue; /* another limit, or ignored by pam */
		}
		found.match = match_domain(user, domain);
		if (found.match == CONF_NONE) {
			continue;
		}
		/* KiB, or one of three words for no limit */
		if (text_limit(strcmp(value, "-1") == 0 ? "unlimited" : value,
			       1024, &found.value_B, e) < 0) {
			return text_lines_fail(&l);
		}
		both = strcmp(type, "-") == 0;
		if (both || strcasecmp(type, "soft") == 0) {
			take_value(soft, &found);
		}
		if (both || strcasecmp(type, "hard") == 0) {
			take_value(hard, &found);
		}
	}
	return l.rc;
}

/* ---- user ---------------------------------------------------------------- */

#define CONF_FILE   "/etc/security/limits.conf"
#define CONF_FOLDER "/etc/security/limits.d"
#define CONF_FILES  64
#define GROUPS_MAX  128

/* Look up user @uid: its @name, and its groups as @list, stored in @groups.  A
 * recorded machine has no source but its /etc/passwd. */
static void find_user(const struct memlock *m, int64_t uid, char name[64],
		      char groups[GROUPS_MAX][64], const char **list)
{
	char path[PATH_MAX];
	gid_t gids[GROUPS_MAX];
	int n = GROUPS_MAX, kept = 0;
	const struct passwd *p = NULL;
	FILE *f;

	if (m->root[0] != '\0') {
		snprintf(path, sizeof(path), "%.2000s/etc/passwd", m->root);
		f = fopen(path, "re");
		while (f != NULL && (p = fgetpwent(f)) != NULL &&
		       (int64_t)p->pw_uid != uid) {
		}
		str_copy(name, 64, p != NULL ? p->pw_name : "");
		if (f != NULL) {
			fclose(f);
		}
		return;
	}
	p = getpwuid((uid_t)uid);
	if (p == NULL) {
		return;
	}
	str_copy(name, 64, p->pw_name);
	if (getgrouplist(p->pw_name, p->pw_gid, gids, &n) < 0) {
		n = 0; /* more groups than any user has */
	}
	for (int i = 0; i < n; i++) {
		const struct group *g = getgrgid(gids[i]);

		if (g != NULL && STR_COPY(groups[kept], g->gr_name)) {
			list[kept] = groups[kept];
			kept++;
		}
	}
}

/* The lines of limits.conf, then of limits.d, in the order of pam_limits.
 * Returns how many of these files there are, or -1 with @e and @path. */
static int read_files(struct memlock *m, const struct conf_user *who,
		      struct conf_value *soft, struct conf_value *hard,
		      char path[160], struct err *e)
{
	char names[CONF_FILES][64];
	size_t n = sysfile_list(names + 1, CONF_FILES - 1, "%s" CONF_FOLDER,
				m->root);
	int seen = 0;

	STR_COPY(names[0], CONF_FILE);
	for (size_t i = 0; i <= n; i++) {
		snprintf(path, 160, "%s%s", i > 0 ? CONF_FOLDER "/" : "",
			 names[i]);
		if (!str_ends(path, ".conf")) {
			continue;
		}
		if (memlock_read(m, path, e) == 0) {
			seen++;
			if (conf_parse(&m->text, path, who, soft, hard, e) <
			    0) {
				return -1;
			}
		} else if (e->code != ENOENT) {
			path[0] = '\0';
			return -1;
		}
	}
	return seen;
}

void memlock_look_conf(struct memlock *m, enum memlock_context context,
		       int64_t uid)
{
	struct conf_value soft = { .match = CONF_NONE }, hard = soft;
	char name[64] = "", groups[GROUPS_MAX][64], path[160];
	const char *list[GROUPS_MAX + 1] = { NULL };
	struct conf_user who = { .name = name, .uid = uid, .groups = list };
	struct memlock_row row;
	struct err e = { 0 };
	int seen;

	memlock_row_init(m, &row, context, CHECK_LIMITS_CONF, "");
	find_user(m, uid, name, groups, list);
	seen = read_files(m, &who, &soft, &hard, path, &e);
	if (seen < 0) {
		STR_COPY(row.source, path);
		memlock_row_unknown(&row, &e);
	} else if (seen == 0) {
		memlock_row_absent(&row, "there is no " CONF_FILE);
	} else {
		const struct conf_value *v =
			soft.match != CONF_NONE ? &soft : &hard;

		if (v->match == CONF_NONE) {
			STR_COPY(row.code, "unset");
			snprintf(row.detail, sizeof(row.detail),
				 "no memlock line applies to user '%s'", name);
		} else {
			row.limit_B = v->value_B;
			STR_COPY(row.source, v->source);
			STR_COPY(row.detail, v->text);
		}
	}
	memlock_row_say(m, &row);
}

/* ---- contexts ------------------------------------------------------------ */

#define MAX_LOCKED "Max locked memory"

/* ---- one context ------------------------------------------------------- */

void memlock_say_limit(const struct memlock *m, enum memlock_context context,
		       const struct limit_pair *limit, const char *source)
{
	char have[32], need[32];
	struct memlock_row row;

	memlock_row_init(m, &row, context, CHECK_SOFT, source);
	row.limit_B = limit->soft;
	row.needed_B = m->needed_B;
	if (limit->soft < m->needed_B) {
		row.outcome = OUTCOME_ERROR;
		STR_COPY(row.code, CODE_BELOW_NEED);
		snprintf(row.detail, sizeof(row.detail),
			 "%s, and an NCCL job is estimated to need %s",
			 memlock_text(limit->soft, have, sizeof(have)),
			 memlock_text(m->needed_B, need, sizeof(need)));
	}
	memlock_row_say(m, &row);
	memlock_row_init(m, &row, context, CHECK_HARD, source);
	row.limit_B = limit->hard;
	memlock_row_say(m, &row);
}

/*
 * Rows of @context from the limits and status of process @pid ("self", "123").
 * True with @limit when it can be read; @uid is its
 * user, unless status cannot be read.
 */
static bool look_process(struct memlock *m, enum memlock_context context,
			 const char *pid, struct limit_pair *limit,
			 int64_t *uid)
{
	struct err e = { 0 };
	char path[64];
	bool known, has_ipc_lock;

	snprintf(path, sizeof(path), "/proc/%.20s/limits", pid);
	known = memlock_read(m, path, &e) == 0 &&
		proc_limit_parse(&m->text, MAX_LOCKED, limit, &e) == 0;
	if (known) {
		memlock_say_limit(m, context, limit, path);
	} else {
		memlock_say_unknown(m, context, CHECK_SOFT, path, &e);
	}
	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	if (memlock_read(m, path, &e) == 0 &&
	    proc_status_parse(&m->text, &has_ipc_lock, uid, &e) == 0) {
		struct memlock_row row;

		memlock_row_init(m, &row, context, CHECK_CAP, path);
		if (has_ipc_lock) {
			STR_COPY(row.code, CODE_HAS_CAP);
			STR_COPY(row.detail,
				 "holds CAP_IPC_LOCK: this process is "
				 "exempt from the limit; others of the job "
				 "are not");
		}
		memlock_row_say(m, &row);
	} else {
		memlock_say_unknown(m, context, CHECK_CAP, path, &e);
	}
	return known;
}

/* ---- slurmd ------------------------------------------------------------ */

/* ---- batch ------------------------------------------------------------- */

/* KiB or "unlimited", as ulimit prints them. */
static bool read_ulimit(const char **at, int64_t *out)
{
	char word[24];

	return text_word(at, word, sizeof(word)) &&
	       text_limit(word, 1024, out, NULL) == 0;
}

/* The batch script says "NODE SOFT HARD" in the environment of its step. */
static void look_batch(struct memlock *m)
{
	const char *said = getenv("GPUCHECK_BATCH_MEMLOCK");
	const char *host = getenv("SLURMD_NODENAME");
	struct limit_pair limit;
	char node[64] = "";

	if (said == NULL || host == NULL || !m->in_step ||
	    !text_word(&said, node, sizeof(node)) ||
	    strcmp(node, host) != 0) {
		memlock_say_absent(m, MEMLOCK_BATCH, CHECK_SOFT,
				   "no batch script of this run on this node");
	} else if (!read_ulimit(&said, &limit.soft) ||
		   !read_ulimit(&said, &limit.hard)) {
		struct err e = { 0 };

		err_set(&e, 0, "the batch script reported no limits");
		memlock_say_unknown(m, MEMLOCK_BATCH, CHECK_SOFT, "ulimit -l",
				    &e);
	} else {
		memlock_say_limit(m, MEMLOCK_BATCH, &limit, "ulimit -l");
	}
}

/* ---- this process ------------------------------------------------------ */

/* ---- container --------------------------------------------------------- */

/* Files and variables that runtimes leave in the containers they make. */
static const struct mark {
	const char *path, *env;
	const char *name;
	bool keeps;	/* the limit of the process that starts it */
} marks[] = {
	{ .path = "/.dockerenv", .name = "docker" },
	{ .path = "/run/.containerenv", .name = "podman" },
	{ .path = "/.singularity.d", .name = "apptainer", .keeps = true },
	{ .env = "APPTAINER_CONTAINER", .name = "apptainer", .keeps = true },
	{ .env = "SINGULARITY_CONTAINER", .name = "apptainer", .keeps = true },
	{ .env = "ENROOT_ROOTFS", .name = "enroot", .keeps = true },
	{ .env = "KUBERNETES_SERVICE_HOST", .name = "kubernetes" },
	{ 0 }
};

static void look_container(struct memlock *m)
{
	bool grouped, keeps = false;
	struct proc_cgroup own = { .container = "" }, first;
	struct limit_pair limit;
	const char *runtime = own.container;
	char why[80];
	int64_t uid;

	grouped = group_of(m, "self", &own);
	for (const struct mark *k = marks; k->name != NULL; k++) {
		if (k->path != NULL ? sysfile_there("%s%s", m->root, k->path) :
				      m->root[0] == '\0' && getenv(k->env)) {
			runtime = k->name;
			keeps = k->keeps;
			break;
		}
	}
	if (runtime[0] == '\0') {
		memlock_say_absent(m, MEMLOCK_CONTAINER, CHECK_SOFT,
				   "not in a container");
	} else if (keeps) {
		snprintf(why, sizeof(why),
			 "%s keeps the limit of the process "
			 "that starts it",
			 runtime);
		memlock_say_absent(m, MEMLOCK_CONTAINER, CHECK_SOFT, why);
	} else {
		/* the limit of the container's first process is that of the
		 * container; a shell in it may have less */
		look_process(m, MEMLOCK_CONTAINER,
			     grouped && group_of(m, "1", &first) &&
					     strcmp(own.group, first.group) ==
						     0 ?
				     "1" :
				     "self",
			     &limit, &uid);
	}
}

void memlock_look_contexts(struct memlock *m)
{
	enum memlock_context own = m->in_step ? MEMLOCK_STEP : MEMLOCK_HERE;
	enum memlock_context other = m->in_step ? MEMLOCK_HERE : MEMLOCK_STEP;
	long pid = process_find(m->root, "slurmd");
	struct limit_pair limit;
	struct err e = { 0 };
	int64_t uid = -1;
	char name[24];

	if (pid > 0) {
		snprintf(name, sizeof(name), "%ld", pid);
		m->slurmd_known =
			look_process(m, MEMLOCK_SLURMD, name, &m->slurmd, &uid);
		look_unit(m, name);
	} else if (m->in_step) {
		err_set(&e, 0, "no slurmd is visible in /proc, although this "
			       "is a job (hidepid? a container?)");
		memlock_say_unknown(m, MEMLOCK_SLURMD, CHECK_SOFT, "/proc",
				    &e);
	} else {
		memlock_say_absent(m, MEMLOCK_SLURMD, CHECK_SOFT,
				   "no slurmd runs on this node");
	}
	look_batch(m);
	uid = -1;
	look_process(m, own, "self", &limit, &uid);
	m->is_root = uid == 0;
	memlock_say_absent(m, other, CHECK_SOFT,
			   m->in_step ? "this process is part of a job" :
					"this process is not part of a job");
	if (!m->in_step && uid >= 0) {
		memlock_look_conf(m, own, uid);
	}
	look_container(m);
}
