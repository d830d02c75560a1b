/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose a run directory is.  One that was checked stays open, and its files are
 * opened from there: another user may put a different directory in its place.
 */
#include "lib/data/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/str.h"

/** The inode of the namespace of users that a machine begins with, a constant
 *  of Linux (PROC_USER_INIT_INO). */
#define FIRST_USER_NS 0xeffffffd
/** Links followed in one path; as many as the kernel follows. */
#define MAX_LINKS 40
#define OPEN_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

/** A directory that was checked; a process has few. */
struct checked {
	struct checked *next;
	int fd;
	char path[];
};

static struct checked *all_checked;

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

void rundir_shut(int fd)
{
	const int why = errno;

	if (fd >= 0) {
		close(fd);
	}
	errno = why;
}

/** The checked directory that @dir is, or that is nearest above it; @below is
 *  the path from there.  NULL: none. */
static const struct checked *find_checked(const char *dir, const char **below)
{
	const struct checked *found = NULL;
	size_t longest = 0;

	for (const struct checked *c = all_checked; c; c = c->next) {
		const size_t len = strlen(c->path);

		if (len > longest && strncmp(dir, c->path, len) == 0 &&
		    (dir[len] == '/' || !dir[len])) {
			found = c;
			longest = len;
		}
	}
	*below = found ? dir + longest + strspn(dir + longest, "/") : dir;
	return found;
}

int rundir_at(const char *dir)
{
	const char *below;
	const struct checked *c = find_checked(dir, &below);

	return c ? openat(c->fd, *below ? below : ".", OPEN_FLAGS) :
		   open(dir, OPEN_FLAGS);
}

void rundir_forget(const char *dir)
{
	for (struct checked **at = &all_checked; *at; at = &(*at)->next) {
		struct checked *c = *at;

		if (strcmp(c->path, dir) == 0) {
			*at = c->next;
			close(c->fd);
			free(c);
			return;
		}
	}
}

/** Check that only root can rename entries in every folder above the absolute
 *  @path. Returns 0, or -1 with @e. */
static int check_above(const char *path, struct err *e)
{
	char above[PATH_MAX], *slash;
	struct stat st;

	STR_COPY(above, path);
	while ((slash = strrchr(above, '/')) && above[1]) {
		slash[slash == above] = '\0';
		if (stat(above, &st) < 0) {
			return err_set(e, errno, "cannot check '%s'", above);
		}
		if (st.st_uid != 0 ||
		    (st.st_mode & 022 && !(st.st_mode & S_ISVTX))) {
			err_set(e, 0,
				"root does not write to '%.100s': other "
				"users can rename entries of '%.100s'",
				path, above);
			return err_hint(e, "choose with -o a directory that "
					   "only root can replace, or do not "
					   "run as root");
		}
	}
	return 0;
}

int rundir_real_path(int fd, char path[PATH_MAX], struct err *e)
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	if (n <= 0) {
		return err_set(e, errno, "cannot resolve the path '%s'", link);
	}
	path[n] = '\0';
	return 0;
}

/** Open the target of the link @link in @folder. Returns a descriptor, or -1
 *  with errno, and with @e if root must not follow the link. */
static int follow(int folder, int link, int links, struct err *e)
{
	char to[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstat(link, &st) < 0) {
		return -1;
	}
	n = readlinkat(link, "", to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	if (is_root() && st.st_uid != 0) {
		err_set(e, 0, "root does not follow the link to '%.200s', "
			"which belongs to user %u", to, st.st_uid);
		err_hint(e, "specify the directory itself with -o");
		errno = EPERM;
		return -1;
	}
	if (n <= 0 || links >= MAX_LINKS) {
		errno = n < 0 ? errno : ELOOP;
		return -1;
	}
	return rundir_find(folder, to, links + 1, e);
}

int rundir_find(int from, const char *path, int links, struct err *e)
{
	int at = openat(from, *path == '/' ? "/" : ".", OPEN_FLAGS);

	while (at >= 0 && *(path += strspn(path, "/"))) {
		const size_t len = strcspn(path, "/");
		char part[PATH_MAX];
		struct stat st;
		int next, to;

		snprintf(part, sizeof(part), "%.*s", (int)len, path);
		next = openat(at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next >= 0 && fstat(next, &st) == 0 &&
		    S_ISLNK(st.st_mode)) {
			to = follow(at, next, links, e);
			rundir_shut(next);
			next = to;
		}
		rundir_shut(at);
		at = next;
		path += len;
	}
	return at;
}

/** Check that the directory of @st belongs to the caller (with @roots also to
 *  root) and that no other user can write there. Returns 0, or -1 with @e. */
static int check_owner(const char *dir, const struct stat *st, bool roots,
		       struct err *e)
{
	const bool root = is_root();

	if (st->st_uid != geteuid() && !(roots && st->st_uid == 0)) {
		err_set(e, 0, "run directory '%.200s' belongs to user %u, not "
			"to user %u", dir, st->st_uid, geteuid());
		return err_hint(e, "only that user can continue the run; a new "
				   "run needs a directory (-o) on a file "
				   "system that keeps the owner of files");
	}
	if (st->st_mode & S_IWOTH || (root && st->st_mode & S_IWGRP)) {
		err_set(e, 0, "%s can write to run directory '%.200s'",
			st->st_mode & S_IWOTH ? "all users" : "a group", dir);
		return err_hint(e,
				"run chmod %s '%.200s', or choose a new "
				"directory with -o",
				root ? "go-w" : "o-w", dir);
	}
	return 0;
}

static int check(const char *dir, bool roots, struct err *e)
{
	const char *below;
	const struct checked *before = find_checked(dir, &below);
	struct checked *c;
	char path[PATH_MAX];
	struct stat st;
	int fd, rc;

	if (before && !*below &&
	    (fstat(before->fd, &st) < 0 || st.st_nlink == 0)) {
		rundir_forget(dir);	/* removed, perhaps to be made again */
	}
	fd = rundir_at(dir);
	if (fd < 0 || fstat(fd, &st) < 0) {
		return err_set(e, errno, "cannot open run directory '%s'", dir);
	}
	rc = check_owner(dir, &st, roots, e);
	if (rc == 0 && is_root()) {
		rc = rundir_real_path(fd, path, e) < 0 ?
			     -1 : check_above(path, e);
	}
	if (rc < 0) {
		rundir_forget(dir);
		close(fd);
		return -1;
	}
	/* keep it, unless it is kept already */
	before = find_checked(dir, &below);
	if (before && !*below) {
		close(fd);
		return 0;
	}
	c = malloc(sizeof(*c) + strlen(dir) + 1);
	if (!c) {
		close(fd);
		return err_set(e, ENOMEM, "no memory for '%s'", dir);
	}
	c->fd = fd;
	memcpy(c->path, dir, strlen(dir) + 1);
	c->next = all_checked;
	all_checked = c;
	return 0;
}

int rundir_check_trust(const char *dir, struct err *e)
{
	return check(dir, true, e);
}

int rundir_check_own(const char *dir, struct err *e)
{
	return check(dir, false, e);
}
