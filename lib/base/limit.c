/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/limit.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/base/units.h"

/** The soft limit of open files as it was before we raised it. */
#define FILES_ENV "GPUCHECK_NOFILE"

/* ---- what there is ------------------------------------------------------ */

/** The first number behind "@key" in the small file @path; -1: none. */
static int64_t number_in(const char *path, const char *key)
{
	char text[4096];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	const char *at;

	if (f) {
		fclose(f);
	}
	text[n] = '\0';
	at = n > 0 ? strstr(text, key) : NULL;
	return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static void add_bytes(struct str *out, int64_t bytes)
{
	char text[32];

	str_add(out, units_size_text(bytes > 0 ? (uint64_t)bytes : 0, text,
				     sizeof(text)));
}

static void say_files(const struct limit_user *u, struct str *out)
{
	struct rlimit r = { 0 };

	getrlimit(RLIMIT_NOFILE, &r);
	str_addf(out, "open files are limited to %llu (ulimit -n; hard limit "
		 "%llu)", (unsigned long long)r.rlim_cur,
		 (unsigned long long)r.rlim_max);
	if (u->files > 0) {
		str_addf(out, ", but %ld are needed", u->files);
	}
}

/** The cgroup where that is what is used up, else the limit of the user. */
static void say_tasks(const struct limit_user *u, struct str *out)
{
	struct cgroup_limit group;
	struct rlimit r = { 0 };
	struct dirent *entry;
	char path[300];
	struct stat st;
	long running = 0;
	DIR *proc;

	if (cgroup_find(CGROUP_TASKS, &group) && group.now >= group.max - 1) {
		str_addf(out, "processes and threads of the cgroup are limited "
			 "to %" PRId64 " (%s), %" PRId64 " are running",
			 group.max, group.path, group.now);
		running = (long)group.now;
	} else {
		getrlimit(RLIMIT_NPROC, &r);
		/* threads of this user, as far as they are visible */
		proc = opendir("/proc");
		while (proc && (entry = readdir(proc))) {
			snprintf(path, sizeof(path), "/proc/%s",
				 entry->d_name);
			if (entry->d_name[0] >= '1' &&
			    entry->d_name[0] <= '9' && stat(path, &st) == 0 &&
			    st.st_uid == getuid()) {
				snprintf(path, sizeof(path), "/proc/%s/status",
					 entry->d_name);
				running += (long)number_in(path,
							   "\nThreads:");
			}
		}
		if (proc) {
			closedir(proc);
		}
		str_addf(out, "processes and threads of user %u are limited to "
			 "%llu (ulimit -u), %ld are running", getuid(),
			 (unsigned long long)r.rlim_cur, running);
	}
	if (u->tasks > 0) {
		str_addf(out, ", but %ld are needed", running + u->tasks);
	}
}

static void say_memory(const struct limit_user *u, struct str *out)
{
	const int64_t used = number_in("/proc/self/status", "\nVmSize:");
	struct cgroup_limit group;
	struct rlimit r = { 0 };

	(void)u;
	getrlimit(RLIMIT_AS, &r);
	if (r.rlim_cur != RLIM_INFINITY) {
		str_add(out, "the address space of a process is limited to ");
		add_bytes(out, (int64_t)r.rlim_cur);
		str_add(out, " (ulimit -v), ");
		add_bytes(out, used * 1024);
		str_add(out, " are used");
	} else if (cgroup_find(CGROUP_MEMORY, &group)) {
		str_add(out, "the memory of the cgroup is limited to ");
		add_bytes(out, group.max);
		str_addf(out, " (%s), ", group.path);
		add_bytes(out, group.now);
		str_add(out, " are used");
	} else {
		str_add(out, "the machine has ");
		add_bytes(out, number_in("/proc/meminfo", "MemAvailable:") *
				       1024);
		str_add(out, " of memory left");
	}
}

static void say_disk(const struct limit_user *u, struct str *out)
{
	struct statvfs fs;

	if (!u->dir || statvfs(u->dir, &fs) < 0) {
		str_add(out, "a file system is full");
		return;
	}
	str_addf(out, "the file system of '%.150s' has ", u->dir);
	add_bytes(out, (int64_t)(fs.f_bavail * fs.f_frsize));
	str_add(out, " of ");
	add_bytes(out, (int64_t)(fs.f_blocks * fs.f_frsize));
	str_addf(out, " and %llu of %llu files left",
		 (unsigned long long)fs.f_favail,
		 (unsigned long long)fs.f_files);
}

static void say_quota(const struct limit_user *u, struct str *out)
{
	str_addf(out, "the disk quota of user %u", getuid());
	if (u->dir) {
		str_addf(out, " for '%.150s'", u->dir);
	}
	str_add(out, " is used up");
}

/* ---- the table ---------------------------------------------------------- */

#define UNIT "of the service that starts it"

static const struct limit {
	int why;
	const char *code;
	void (*say)(const struct limit_user *u, struct str *out);
	const char *says;	/* instead of that */
	const char *set;	/* where, and how */
} limits[] = {
	{ .why = EMFILE, .code = LIMIT_FILES, .say = say_files,
	  .set = "raise it with ulimit -n, nofile in limits.conf, LimitNOFILE= "
		 UNIT },
	{ .why = ENFILE, .code = LIMIT_FILES,
	  .says = "the machine has reached its limit of open files (sysctl "
		  "fs.file-max)",
	  .set = "raise it as root" },
	{ .why = EAGAIN, .code = LIMIT_TASKS, .say = say_tasks,
	  .set = "raise it with ulimit -u, nproc in limits.conf, TasksMax= "
		 UNIT },
	{ .why = ENOMEM, .code = LIMIT_MEMORY, .say = say_memory,
	  .set = "raise it with ulimit -v, --mem of the job, MemoryMax= "
		 UNIT },
	{ .why = ENOSPC, .code = LIMIT_DISK, .say = say_disk,
	  .set = "choose another directory with -o" },
	{ .why = EDQUOT, .code = LIMIT_DISK, .say = say_quota,
	  .set = "choose another directory with -o; show the quota with quota "
		 "-s" },
};

#define LIMITS (sizeof(limits) / sizeof(*limits))

static const struct limit *find(int why)
{
	for (size_t i = 0; i < LIMITS; i++) {
		if (limits[i].why == why) {
			return &limits[i];
		}
	}
	return NULL;
}

const char *limit_code(int why)
{
	const struct limit *l = find(why);

	return l ? l->code : NULL;
}

const char *limit_in_text(const char *text)
{
	for (size_t i = 0; i < LIMITS; i++) {
		if (strstr(text, strerror(limits[i].why))) {
			return limits[i].code;
		}
	}
	return NULL;
}

bool limit_is(const char *code)
{
	return code[0] != '\0' &&
	       STR_FIND(limits, LIMITS, code, code) < LIMITS;
}

const char *limit_says(int why, const struct limit_user *u, char *buf,
		       size_t size)
{
	static const struct limit_user nobody;
	const struct limit *l = find(why);
	struct str text = STR_INIT;

	if (l && l->say) {
		l->say(u ? u : &nobody, &text);
	} else if (l) {
		str_add(&text, l->says);
	}
	str_copy(buf, size, str_text(&text));
	str_release(&text);
	return buf;
}

const char *limit_text(const struct err *e, const struct limit_user *u,
		       char *buf, size_t size)
{
	char says[320];

	limit_says(e->code, u, says, sizeof(says));
	snprintf(buf, size, "%s%s%s", e->text, says[0] ? ": " : "", says);
	return buf;
}

bool limit_hint(struct err *e, const struct limit_user *u)
{
	const struct limit *l = find(e->code);
	char says[sizeof(e->hint)], host[65] = "?";

	gethostname(host, sizeof(host) - 1);
	limit_says(e->code, u, says, sizeof(says));
	if (l && !e->hint[0] && u && u->who) {
		err_hint(e, "%s on %s: %s; %s", u->who, host, says, l->set);
	} else if (l && !e->hint[0]) {
		err_hint(e, "%s; %s", says, l->set);
	}
	return l;
}

/* ---- open files --------------------------------------------------------- */

long limit_files(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) < 0 ||
			       r.rlim_cur == RLIM_INFINITY ?
		       LONG_MAX : (long)r.rlim_cur;
}

int limit_files_check(const struct limit_user *u, struct err *e)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_max == RLIM_INFINITY ||
	    (rlim_t)u->files <= r.rlim_max) {
		return 0;
	}
	err_set(e, EMFILE, "too few open files for this run");
	limit_hint(e, u);
	return -1;
}

void limit_files_raise(void)
{
	struct rlimit r;
	char was[32];

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur == r.rlim_max) {
		return;
	}
	snprintf(was, sizeof(was), "%llu", (unsigned long long)r.rlim_cur);
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) == 0) {
		setenv(FILES_ENV, was, 0);
	}
}

void limit_files_back(void)
{
	const char *was = getenv(FILES_ENV);
	struct rlimit r;
	int64_t n;

	if (was && units_parse_int(was, 0, INT64_MAX, &n, NULL) == 0 &&
	    getrlimit(RLIMIT_NOFILE, &r) == 0 && (rlim_t)n <= r.rlim_max) {
		r.rlim_cur = (rlim_t)n;
		setrlimit(RLIMIT_NOFILE, &r);
		unsetenv(FILES_ENV);
	}
}
