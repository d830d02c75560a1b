/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/data/json.h"

#define RUNDIR_JSON_MAX (64 * 1024 * 1024)
/** The inode of the namespace of users that a machine begins with, a constant
 *  of Linux (PROC_USER_INIT_INO). */
#define FIRST_USER_NS 0xeffffffd

/** Root of the machine, which users may try to mislead; not that of a user's
 *  own container. */
static bool is_root(void)
{
	struct stat st;

	return geteuid() == 0 && (stat("/proc/self/ns/user", &st) < 0 ||
				  st.st_ino == FIRST_USER_NS);
}

void rundir_umask(void)
{
	const mode_t was = umask(077);

	/* a umask that gives others the right to write is none */
	umask(is_root() ? was | 077 : was & 002 ? was : was | 022);
}

/** Close @fd, errno kept. */
static void shut(int fd)
{
	const int why = errno;

	if (fd >= 0) {
		close(fd);
	}
	errno = why;
}

/**
 * The folder that DIR/@name is in, without following a link below DIR, which
 * was typed; @last is what it is called there.  -1 with errno.
 */
static int open_folder(const char *dir, const char *name, const char **last)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	int fd = open(dir, flags);
	const char *slash;

	while (fd >= 0 && (slash = strchr(name, '/'))) {
		char part[NAME_MAX + 1];
		int below;

		snprintf(part, sizeof(part), "%.*s", (int)(slash - name),
			 name);
		below = openat(fd, part, flags | O_NOFOLLOW);
		shut(fd);
		fd = below;
		name = slash + 1;
	}
	*last = name;
	return fd;
}

int rundir_open_fd(const char *dir, const char *name, int flags, struct err *e)
{
	const char *last;
	int folder = open_folder(dir, name, &last), fd = -1;
	struct stat st;

	if (folder >= 0) {
		/* a FIFO would wait for its other end */
		fd = openat(folder, last, flags | O_NOFOLLOW | O_NONBLOCK |
			    O_CLOEXEC, 0666);
		shut(folder);
	}
	if (fd < 0 && errno == ELOOP) {
		return err_set(e, 0, "'%s/%s' is a link, and none is followed "
				     "in a run directory", dir, name);
	}
	if (fd < 0 && errno != ENXIO) {
		return err_set(e, errno, "cannot open '%s/%s'", dir, name);
	}
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		return fd;
	}
	shut(fd);
	return err_set(e, 0, "'%s/%s' is not a file", dir, name);
}

/** A few hex digits that keep names made in the same second apart. */
#define ID_LEN 6
static void random_id(char id[ID_LEN + 1])
{
	uint32_t bits = 0;

	if (hash_random(&bits, sizeof(bits)) < 0) {
		bits = (uint32_t)getpid();
	}
	snprintf(id, ID_LEN + 1, "%06x", bits & 0xffffff);
}

static void default_name(const char *probe, char *name, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;
	char utc[32], id[ID_LEN + 1];

	gmtime_r(&now, &tm);
	strftime(utc, sizeof(utc), "%Y%m%dT%H%M%SZ", &tm);
	random_id(id);
	snprintf(name, size, "gpucheck-%s-%s-%s", probe, utc, id);
}

/** What a run that has not begun may have in its directory, which is asked
 *  for in this order when it is taken back. */
static const char *const prepared[] = {
	RUN_LOGS, RUN_JSON, RUN_EXPECTED, RUN_SWITCHES, RUN_JOB_SCRIPT,
	RUN_HOLDER, NULL
};

/** 0 when @dir is a directory with nothing in it but @known, NULL-ended, else
 *  the errno why not. */
static int holds_more(const char *dir, const char *const known[])
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	int why = 0;

	if (!d) {
		return errno;
	}
	while (!why && (entry = readdir(d))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
		    str_index(known, name) < 0) {
			why = ENOTEMPTY;
		}
	}
	closedir(d);
	return why;
}

/** Make @name, or take it as it is when empty; *@made tells which. */
static int make_dir(const char *name, bool *made, struct err *e)
{
	int why;

	*made = mkdir(name, 0777) == 0;
	if (*made) {
		return 0;
	}
	if (errno != EEXIST) {
		why = errno;
		err_set(e, why, "cannot make run directory '%s'", name);
		if (why == ENOENT) {
			err_hint(e, "the folder above it is not there: make "
				 "that first");
		} else if (why == EACCES || why == EROFS) {
			err_hint(e, "-o DIR names one where you may write, and "
				 "that all nodes share");
		}
		return -1;
	}
	why = holds_more(name, (const char *const[]){ NULL });
	if (why == 0) {
		return 0;
	}
	err_set(e, why, "cannot use '%s' as run directory", name);
	if (why == ENOTEMPTY || why == ENOTDIR) {
		err_hint(e, "name a new directory with --out, or leave it out");
	}
	return -1;
}

/** Do all folders above @path, which is absolute, let root alone rename what is
 *  in them?  -1 with @e. */
static int check_above(const char *path, struct err *e)
{
	char above[PATH_MAX], *slash;
	struct stat st;

	STR_COPY(above, path);
	while ((slash = strrchr(above, '/')) && above[1]) {
		slash[slash == above] = '\0';
		if (stat(above, &st) < 0) {
			return err_set(e, errno, "cannot look at '%s'", above);
		}
		if (st.st_uid != 0 ||
		    (st.st_mode & 022 && !(st.st_mode & S_ISVTX))) {
			err_set(e, 0, "root does not write to '%.100s': others "
				      "may rename what is in '%.100s'", path,
				above);
			return err_hint(e, "name a directory with --out that "
					   "only root can replace, or do not "
					   "run as root");
		}
	}
	return 0;
}

bool rundir_is_own(const char *dir, unsigned *owner)
{
	struct stat st;
	bool is_there = stat(dir, &st) == 0;

	*owner = is_there ? st.st_uid : 0;
	return !is_there || st.st_uid == geteuid();
}

int rundir_check_trust(const char *dir, struct err *e)
{
	struct stat st;

	if (stat(dir, &st) < 0) {
		return err_set(e, errno, "cannot open run directory '%s'", dir);
	}
	if ((st.st_uid != geteuid() && st.st_uid != 0) ||
	    st.st_mode & S_IWOTH) {
		err_set(e, 0, "run directory '%.200s' on this node is not that "
			"of user %u alone", dir, geteuid());
		return err_hint(e, "name one with --out that other users "
				"cannot make");
	}
	return 0;
}

int rundir_check_own_as(const char *what, const char *dir, struct err *e)
{
	const bool root = is_root();
	struct stat st;

	if (stat(dir, &st) < 0) {
		return err_set(e, errno, "cannot open %s '%s'", what, dir);
	}
	if (st.st_uid != geteuid()) {
		err_set(e, 0, "%s '%.200s' belongs to user %u, not to user %u",
			what, dir, st.st_uid, geteuid());
		return err_hint(e, "name a new directory with --out, where "
				   "yours stay yours");
	}
	if (st.st_mode & S_IWOTH || (root && st.st_mode & S_IWGRP)) {
		err_set(e, 0, "%s may write to %s '%.200s'",
			st.st_mode & S_IWOTH ? "all users" : "a group", what,
			dir);
		return err_hint(e, "chmod %s '%.200s', or name a new directory "
				   "with --out", root ? "go-w" : "o-w", dir);
	}
	return root ? check_above(dir, e) : 0;
}

int rundir_check_own(const char *dir, struct err *e)
{
	return rundir_check_own_as("run directory", dir, e);
}

int rundir_create(const char *wanted, const char *probe, char path[PATH_MAX],
		  struct err *e)
{
	char name[256], full[PATH_MAX], logs[PATH_MAX];
	bool made;

	if (!wanted) {
		default_name(probe, name, sizeof(name));
		wanted = name;
	}
	if (make_dir(wanted, &made, e) < 0) {
		return -1;
	}
	if (!realpath(wanted, full)) {
		err_set(e, errno, "cannot find '%s'", wanted);
		goto remove_dir;
	}
	if (rundir_check_own(full, e) < 0 ||
	    rundir_path(full, RUN_LOGS, logs, e) < 0) {
		goto remove_dir;
	}
	if (mkdir(logs, 0777) < 0) {
		err_set(e, errno, "cannot make '%s'", logs);
		goto remove_dir;
	}
	memcpy(path, full, PATH_MAX);
	return 0;
remove_dir:
	if (made) {
		rmdir(wanted);
	}
	return -1;
}

int rundir_discard(const char *dir, bool whole)
{
	char path[PATH_MAX];

	if (holds_more(dir, prepared) != 0) {
		return -1;
	}
	for (size_t i = 0; prepared[i]; i++) {
		/* of them logs/ may hold something */
		if (rundir_path(dir, prepared[i], path, NULL) < 0 ||
		    (remove(path) < 0 && errno != ENOENT)) {
			return -1;
		}
	}
	return whole ? rmdir(dir) : 0;
}

/** How a file is called until it is whole: ".NAME.ID". */
static void hidden_name(char hidden[NAME_MAX + 1], const char *name)
{
	char id[ID_LEN + 1];

	random_id(id);
	snprintf(hidden, NAME_MAX + 1, ".%s.%s", name, id);
}

static bool is_hidden_name(const char *name)
{
	const char *id = strrchr(name, '.');

	return name[0] == '.' && id > name + 1 &&
	       strspn(id + 1, "0123456789abcdef") == ID_LEN &&
	       !id[1 + ID_LEN];
}

DIR *rundir_folder(const char *dir, const char *folder)
{
	char inside[PATH_MAX];
	const char *last;
	int at = -1, fd;
	DIR *d;

	if (snprintf(inside, sizeof(inside), "%s%s.", folder,
		     folder[0] ? "/" : "") < (int)sizeof(inside)) {
		at = open_folder(dir, inside, &last);
	}
	fd = at < 0 ? -1 : openat(at, last, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		shut(fd);
	}
	shut(at);
	return d;
}

static void sweep(const char *dir, const char *folder)
{
	DIR *d = rundir_folder(dir, folder);
	const struct dirent *entry;

	while (d && (entry = readdir(d))) {
		if (is_hidden_name(entry->d_name)) {
			unlinkat(dirfd(d), entry->d_name, 0);
		}
	}
	if (d) {
		closedir(d);
	}
}

void rundir_sweep(const char *dir)
{
	sweep(dir, "");
	sweep(dir, RUN_LOGS);
}

int rundir_path(const char *dir, const char *name, char buf[PATH_MAX],
		struct err *e)
{
	if (snprintf(buf, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX) {
		return err_set(e, ENAMETOOLONG, "cannot use '%s'", name);
	}
	return 0;
}

/** Make @name of @folder hold what @write writes before anyone looks; 0 or
 *  errno. */
static int write_whole(int folder, const char *name, unsigned mode,
		       int (*write)(void *arg, FILE *f), void *arg)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			mode);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	int why = f ? 0 : errno;

	if (!f) {
		shut(fd);
		return why;
	}
	errno = 0;
	if (write(arg, f) < 0 || fflush(f) != 0) {
		why = errno ? errno : EIO;
	}
	if (fclose(f) != 0 && !why) {
		why = errno;	/* where NFS tells of a full disk */
	}
	return why;
}

int rundir_write_with(const char *dir, const char *name, unsigned mode,
		      int (*write)(void *arg, FILE *f), void *arg,
		      struct err *e)
{
	char hidden[NAME_MAX + 1];
	const char *last;
	int folder = open_folder(dir, name, &last);
	int why = folder < 0 ? errno : 0;

	hidden_name(hidden, last);
	if (!why) {
		why = write_whole(folder, hidden, mode, write, arg);
	}
	if (!why && renameat(folder, hidden, folder, last) < 0) {
		why = errno;
	}
	if (why && folder >= 0) {
		unlinkat(folder, hidden, 0);
	}
	shut(folder);
	return why ? err_set(e, why, "cannot write '%s/%s'", dir, name) : 0;
}

static int put_text(void *arg, FILE *f)
{
	return fputs(arg, f) < 0 || fflush(f) != 0 ? -1 : fsync(fileno(f));
}

int rundir_write_text(const char *dir, const char *name, const char *text,
		      unsigned mode, struct err *e)
{
	return rundir_write_with(dir, name, mode, put_text, (void *)text, e);
}

/** Nobody reads more bytes of JSON: of a sample of 32,768 ranks the pairs that
 *  are planned would be 9 MB, a number a line; on one line they are 3. */
#define READ_BY_PEOPLE ((size_t)256 * 1024)

int rundir_write_json(const char *dir, const char *name, const json_t *json,
		      struct err *e)
{
	/* 15 digits: 0.94 stays 0.94 */
	const size_t flags = JSON_REAL_PRECISION(15);
	const bool long_list = json_dumpb(json, NULL, 0, JSON_COMPACT) >
			       READ_BY_PEOPLE;
	struct str text = STR_INIT;
	int rc;

	json_add(json, flags | (long_list ? JSON_COMPACT : JSON_INDENT(2)),
		 &text);
	str_addch(&text, '\n');
	rc = text.failed ? err_set(e, ENOMEM, "cannot write '%s'", name) :
			   rundir_write_text(dir, name, str_text(&text), 0666,
					     e);
	str_release(&text);
	return rc;
}

/** @bytes that no file system can store in less, and on the disk. */
static bool fill_up(int fd, size_t bytes)
{
	uint64_t block[512];

	for (size_t at = 0; at < bytes; at += sizeof(block)) {
		for (size_t i = 0; i < sizeof(block) / sizeof(*block); i++) {
			block[i] = hash_mix(at, i, 0, 0);
		}
		if (write(fd, block, sizeof(block)) != sizeof(block)) {
			return false;
		}
	}
	return fsync(fd) == 0;
}

int rundir_keep_room(const char *dir, size_t bytes)
{
	char hidden[NAME_MAX + 1];
	const char *last;
	int folder = open_folder(dir, "room", &last), fd = -1;
	struct statvfs fs;
	size_t most;

	hidden_name(hidden, last);
	if (folder >= 0 && fstatvfs(folder, &fs) == 0) {
		most = (size_t)(fs.f_bavail * fs.f_frsize / 4);
		fd = openat(folder, hidden, O_WRONLY | O_CREAT | O_EXCL |
			    O_CLOEXEC, 0600);
	}
	if (fd >= 0) {
		unlinkat(folder, hidden, 0);	/* who is killed leaves
						 * nothing */
		if (!fill_up(fd, bytes < most ? bytes : most)) {
			close(fd);
			fd = -1;
		}
	}
	shut(folder);
	return fd;
}

FILE *rundir_open(const char *dir, const char *name, struct err *e)
{
	int fd = rundir_open_fd(dir, name, O_RDONLY, e);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !f) {
		err_set(e, errno, "cannot read '%s/%s'", dir, name);
		close(fd);
	}
	return f;
}

char *rundir_read_text(const char *dir, const char *name, size_t max,
		       size_t *len, struct err *e)
{
	struct str text = STR_INIT;
	int fd = rundir_open_fd(dir, name, O_RDONLY, e), why;

	if (fd < 0) {
		return NULL;
	}
	why = str_add_file(&text, fd, max);
	if (why) {
		err_set(e, why, "cannot read '%s/%s'", dir, name);
		str_release(&text);
		return NULL;
	}
	if (len) {
		*len = text.len;
	}
	return text.data;
}

#define RUN_DIR_HINT \
	"the run directory is the DIR of -o DIR, or gpucheck-<command>-<UTC>-" \
	"<id>"

int rundir_missing(const char *dir, struct err *e)
{
	err_set(e, errno, "cannot open run directory '%s'", dir);
	return err_hint(e, RUN_DIR_HINT);
}

/** What to name in place of @dir, which has no run.json. */
static void hint_no_run(struct err *e)
{
	if (e && e->code == ENOTDIR) {
		err_hint(e, "that is a file: name the run directory that it "
			 "is in");
	} else if (e && e->code == ENOENT) {
		err_hint(e, "there is no run in it; " RUN_DIR_HINT);
	} else if (e && e->code == EACCES) {
		err_hint(e, "another user has made this run: read it as that "
			 "user or as root");
	}
}

json_t *rundir_read_json(const char *dir, const char *name, struct err *e)
{
	struct err why;
	json_t *json;
	size_t len;
	char *text = rundir_read_text(dir, name, RUNDIR_JSON_MAX, &len, e);

	if (!text) {
		if (strcmp(name, RUN_JSON) == 0) {
			hint_no_run(e);
		}
		return NULL;
	}
	json = json_parse(text, len, &why);
	if (!json) {
		err_set(e, 0, "'%s/%s': %s", dir, name, why.text);
	}
	free(text);
	return json;
}
