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

/**
 * The folder that DIR/@name is in, without following a link below DIR, which
 * was typed; @last is what it is called there.  -1 with errno.
 */
static int open_folder(const char *dir, const char *name, const char **last)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	int fd = rundir_at(dir);
	const char *slash;

	while (fd >= 0 && (slash = strchr(name, '/'))) {
		char part[NAME_MAX + 1];
		int below;

		snprintf(part, sizeof(part), "%.*s", (int)(slash - name),
			 name);
		errno = EINVAL;	/* no name leads out of the directory */
		below = strcmp(part, "..") == 0 ?
				-1 : openat(fd, part, flags | O_NOFOLLOW);
		rundir_shut(fd);
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
		rundir_shut(folder);
	}
	if (fd < 0 && errno == ELOOP) {
		return err_set(e, 0,
			       "'%s/%s' is a symbolic link; links in a "
			       "run directory are not followed",
			       dir, name);
	}
	if (fd < 0 && errno != ENXIO) {
		return err_set(e, errno, "cannot open '%s/%s'", dir, name);
	}
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		return fd;
	}
	rundir_shut(fd);
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

/** Files that a run that has not begun may have in its directory, in the order
 *  in which they are removed when the directory is taken back. */
static const char *const prepared[] = {
	RUN_LOGS, RUN_JSON, RUN_EXPECTED, RUN_SWITCHES, RUN_JOB_SCRIPT,
	RUN_HOLDER, RUN_ACCEPT, NULL
};

/** 0 when @d holds nothing but @known, NULL-ended, else the errno why not.
 *  Closes @d, which is NULL with errno where it could not be opened. */
static int holds_more(DIR *d, const char *const known[])
{
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

/** The folder @at, which is opened anew; NULL with errno. */
static DIR *open_list(int at)
{
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		rundir_shut(fd);
	}
	return d;
}

/** Make @name, or take it as it is when empty; *@made tells which.  The
 *  directory, or -1 with @e. */
static int make_dir(const char *name, bool *made, struct err *e)
{
	char above[PATH_MAX], *last;
	size_t len = strlen(name);
	int at, fd = -1, why;

	while (len > 1 && name[len - 1] == '/') {
		len--;
	}
	snprintf(above, sizeof(above), "%.*s", (int)len, name);
	last = strrchr(above, '/');
	at = rundir_find(AT_FDCWD, !last ? "." : last == above ? "/" :
			 (*last = '\0', above), 0, e);
	last = last ? last + 1 : above;
	*made = at >= 0 && mkdirat(at, last, 0777) == 0;
	if (*made || (at >= 0 && errno == EEXIST)) {
		fd = rundir_find(at, last, 0, e);
	}
	why = errno;
	rundir_shut(at);
	if (fd < 0) {
		if (e && e->text[0]) {
			return -1;	/* rundir_find() says more */
		}
		err_set(e, why, "cannot create directory '%s'", name);
		if (why == ENOENT) {
			err_hint(e, "its parent directory does not exist: "
				 "create it first");
		} else if (why == EACCES || why == EROFS) {
			err_hint(e, "choose with -o DIR a writable directory "
				 "that all nodes share");
		}
		return -1;
	}
	why = *made ? 0 : holds_more(open_list(fd), (const char *const[]){
						NULL });
	if (why == 0) {
		return fd;
	}
	rundir_shut(fd);
	err_set(e, why, "cannot write into '%s'", name);
	if (why == ENOTEMPTY || why == ENOTDIR) {
		err_hint(e, "choose a new directory with -o, or omit -o");
	}
	return -1;
}

int rundir_create(const char *wanted, const char *probe, char path[PATH_MAX],
		  struct err *e)
{
	char name[256], full[PATH_MAX];
	struct err why = { 0 };
	bool made;
	int fd, rc;

	if (!wanted) {
		size_t size = sizeof(name);
		time_t now = time(NULL);
		struct tm tm;
		char utc[32], id[ID_LEN + 1];

		gmtime_r(&now, &tm);
		strftime(utc, sizeof(utc), "%Y%m%dT%H%M%SZ", &tm);
		random_id(id);
		snprintf(name, size, "gpucheck-%s-%s-%s", probe, utc, id);
		wanted = name;
	}
	fd = make_dir(wanted, &made, &why);
	rc = fd < 0 || rundir_real_path(fd, full, &why) < 0 ||
			     rundir_check_own(full, &why) < 0 ? -1 : 0;
	if (rc == 0 && mkdirat(fd, RUN_LOGS, 0777) < 0) {
		rc = err_set(&why, errno, "cannot create '%s/" RUN_LOGS "'",
			     full);
	}
	rundir_shut(fd);
	if (rc == 0) {
		memcpy(path, full, PATH_MAX);
		return 0;
	}
	if (made) {
		rmdir(wanted);
	}
	if (e) {
		*e = why;
	}
	return -1;
}

int rundir_discard(const char *dir, bool whole)
{
	int at = rundir_at(dir), rc = holds_more(open_list(at), prepared);

	for (size_t i = 0; rc == 0 && prepared[i]; i++) {
		rc = unlinkat(at, prepared[i], 0);
		if (rc < 0 && errno == EISDIR) {	/* it may hold more */
			rc = unlinkat(at, prepared[i], AT_REMOVEDIR);
		}
		rc = rc < 0 && errno == ENOENT ? 0 : rc;
	}
	rundir_shut(at);
	return rc != 0 ? -1 : whole ? rmdir(dir) : 0;
}

/** How a file is called until it is whole: ".NAME.ID". */
static void hidden_name(char hidden[NAME_MAX + 1], const char *name)
{
	char id[ID_LEN + 1];

	random_id(id);
	snprintf(hidden, NAME_MAX + 1, ".%s.%s", name, id);
}

DIR *rundir_folder(const char *dir, const char *folder)
{
	char inside[PATH_MAX];
	const char *last;
	int at = -1;
	DIR *d;

	if (snprintf(inside, sizeof(inside), "%s%s.", folder,
		     folder[0] ? "/" : "") < (int)sizeof(inside)) {
		at = open_folder(dir, inside, &last);
	}
	d = at < 0 ? NULL : open_list(at);
	rundir_shut(at);
	return d;
}

static void sweep(const char *dir, const char *folder)
{
	DIR *d = rundir_folder(dir, folder);
	const struct dirent *entry;

	while (d && (entry = readdir(d))) {
		const char *name = entry->d_name, *id = strrchr(name, '.');

		/* as hidden_name() made it */
		if (name[0] == '.' && id > name + 1 &&
		    strspn(id + 1, "0123456789abcdef") == ID_LEN &&
		    !id[1 + ID_LEN]) {
			unlinkat(dirfd(d), entry->d_name, 0);
		}
	}
	if (d) {
		closedir(d);
	}
}

bool rundir_has(const char *dir, const char *name)
{
	const int at = rundir_at(dir);
	const bool has = at >= 0 && faccessat(at, name, F_OK, 0) == 0;

	rundir_shut(at);
	return has;
}

void rundir_remove(const char *dir, const char *name)
{
	const int at = rundir_at(dir);

	if (at >= 0) {
		unlinkat(at, name, 0);
	}
	rundir_shut(at);
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

int rundir_write_with(const char *dir, const char *name, unsigned mode,
		      int (*write)(void *arg, FILE *f), void *arg,
		      struct err *e)
{
	char hidden[NAME_MAX + 1];
	const char *last;
	int folder = open_folder(dir, name, &last), fd = -1;
	int why = folder < 0 ? errno : 0;
	FILE *f = NULL;

	hidden_name(hidden, last);
	if (!why) {
		fd = openat(folder, hidden, O_WRONLY | O_CREAT | O_EXCL |
			    O_CLOEXEC, mode);
		f = fd < 0 ? NULL : fdopen(fd, "w");
		why = f ? 0 : errno;
	}
	if (!f) {
		rundir_shut(fd);
	} else {
		errno = 0;
		if (write(arg, f) < 0 || fflush(f) != 0 || ferror(f)) {
			why = errno ? errno : EIO;
		}
		if (fclose(f) != 0 && !why) {
			why = errno;	/* where NFS reports a full disk */
		}
	}
	if (!why && renameat(folder, hidden, folder, last) < 0) {
		why = errno;
	}
	if (why && folder >= 0) {
		unlinkat(folder, hidden, 0);
	}
	rundir_shut(folder);
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

int rundir_keep_room(const char *dir, size_t bytes)
{
	char hidden[NAME_MAX + 1];
	const char *last;
	int folder = open_folder(dir, "room", &last), fd = -1;
	struct statvfs fs;
	uint64_t block[512];
	size_t most = 0;
	bool whole = true;

	hidden_name(hidden, last);
	if (folder >= 0 && fstatvfs(folder, &fs) == 0) {
		most = (size_t)(fs.f_bavail * fs.f_frsize / 4);
		fd = openat(folder, hidden, O_WRONLY | O_CREAT | O_EXCL |
			    O_CLOEXEC, 0600);
	}
	if (fd >= 0) {
		unlinkat(folder, hidden, 0);	/* who is killed leaves
						 * nothing */
		/* bytes that no file system can store in less */
		most = bytes < most ? bytes : most;
		for (size_t at = 0; at < most && whole; at += sizeof(block)) {
			for (size_t i = 0; i < 512; i++) {
				block[i] = hash_mix(at, i, 0, 0);
			}
			whole = write(fd, block, sizeof(block)) ==
				sizeof(block);
		}
		if (!whole || fsync(fd) < 0) {
			close(fd);
			fd = -1;
		}
	}
	rundir_shut(folder);
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

json_t *rundir_read_json(const char *dir, const char *name, struct err *e)
{
	struct err why;
	json_t *json;
	size_t len;
	char *text = rundir_read_text(dir, name, RUNDIR_JSON_MAX, &len, e);

	if (!text && e && strcmp(name, RUN_JSON) == 0) {
		if (e->code == ENOTDIR) {
			err_hint(e, "this is a file: specify the run directory "
				 "that contains it");
		} else if (e->code == ENOENT) {
			err_hint(e, "there is no run in it; " RUN_DIR_HINT);
		} else if (e->code == EACCES) {
			err_hint(e, "the run belongs to another user: read it "
				 "as that user or as root");
		}
	}
	if (!text) {
		return NULL;
	}
	json = json_parse(text, len, &why);
	if (!json) {
		err_set(e, 0, "'%s/%s': %s", dir, name, why.text);
	}
	free(text);
	return json;
}

json_t *rundir_read_run(const char *dir, struct err *e)
{
	json_t *run = rundir_read_json(dir, RUN_RESUME, NULL);

	return run ? run : rundir_read_json(dir, RUN_JSON, e);
}
