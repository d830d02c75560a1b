/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/data/json.h"

#define RUNDIR_JSON_MAX (64 * 1024 * 1024)

/** A few hex digits that keep names made in the same second apart. */
static void random_id(char id[7])
{
	uint32_t bits = 0;

	if (hash_random(&bits, sizeof(bits)) < 0) {
		bits = (uint32_t)getpid();
	}
	snprintf(id, 7, "%06x", bits & 0xffffff);
}

static void default_name(const char *probe, char *name, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;
	char utc[32], id[7];

	gmtime_r(&now, &tm);
	strftime(utc, sizeof(utc), "%Y%m%dT%H%M%SZ", &tm);
	random_id(id);
	snprintf(name, size, "gpucheck-%s-%s-%s", probe, utc, id);
}

/** What a run that has not begun may have in its directory, which is asked
 *  for in this order when it is taken back. */
static const char *const prepared[] = {
	RUN_LOGS, RUN_JSON, RUN_EXPECTED, RUN_JOB_SCRIPT, NULL
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
		return err_set(e, errno, "cannot make run directory '%s'", name);
	}
	why = holds_more(name, (const char *const[]){ NULL });
	if (why == 0) {
		return 0;
	}
	err_set(e, why, "cannot use '%s' as run directory", name);
	if (why == ENOTEMPTY) {
		err_hint(e, "name a new directory with --out, or leave it out");
	}
	return -1;
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
	if (rundir_path(full, RUN_LOGS, logs, e) < 0) {
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

int rundir_path(const char *dir, const char *name, char buf[PATH_MAX],
		struct err *e)
{
	if (snprintf(buf, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX) {
		return err_set(e, ENAMETOOLONG, "cannot use '%s'", name);
	}
	return 0;
}

/** Make @path hold @text, and on the disk, before anyone looks; 0 or errno. */
static int write_whole(const char *path, const char *text, unsigned mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	int why = 0;

	if (fd < 0) {
		return errno;
	}
	if (dprintf(fd, "%s", text) < 0 || fsync(fd) < 0) {
		why = errno;
	}
	if (close(fd) < 0 && !why) {
		why = errno;	/* where NFS tells of a full disk */
	}
	return why;
}

int rundir_write_text(const char *dir, const char *name, const char *text,
		      unsigned mode, struct err *e)
{
	char path[PATH_MAX], beside[PATH_MAX], hidden[256], id[7];
	int why;

	random_id(id);
	snprintf(hidden, sizeof(hidden), ".%s.%s", name, id);
	if (rundir_path(dir, name, path, e) < 0 ||
	    rundir_path(dir, hidden, beside, e) < 0) {
		return -1;
	}
	why = write_whole(beside, text, mode);
	if (!why && rename(beside, path) < 0) {
		why = errno;
	}
	if (why) {
		unlink(beside);
		return err_set(e, why, "cannot write '%s'", path);
	}
	return 0;
}

int rundir_write_json(const char *dir, const char *name, const json_t *json,
		      struct err *e)
{
	struct str text = STR_INIT;
	int rc;

	/* 15 digits: 0.94 stays 0.94 */
	json_add(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15), &text);
	str_addch(&text, '\n');
	rc = text.failed ? err_set(e, ENOMEM, "cannot write '%s'", name) :
			   rundir_write_text(dir, name, str_text(&text), 0666,
					     e);
	str_release(&text);
	return rc;
}

/** Open @path for reading, unless it is no file: a FIFO would hang us. */
static int open_file(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0) {
		return err_set(e, errno, "cannot open '%s'", path);
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		return fd;
	}
	close(fd);
	return err_set(e, 0, "'%s' is not a file", path);
}

FILE *rundir_open(const char *dir, const char *name, struct err *e)
{
	char path[PATH_MAX];
	int fd = rundir_path(dir, name, path, e) < 0 ? -1 : open_file(path, e);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !f) {
		err_set(e, errno, "cannot read '%s'", path);
		close(fd);
	}
	return f;
}

char *rundir_read_text(const char *dir, const char *name, size_t max,
		       size_t *len, struct err *e)
{
	struct str text = STR_INIT;
	char path[PATH_MAX];
	int fd, why;

	if (rundir_path(dir, name, path, e) < 0) {
		return NULL;
	}
	fd = open_file(path, e);
	if (fd < 0) {
		return NULL;
	}
	why = str_add_file(&text, fd, max);
	if (why) {
		err_set(e, why, "cannot read '%s'", path);
		str_release(&text);
		return NULL;
	}
	if (len) {
		*len = text.len;
	}
	return text.data;
}

json_t *rundir_read_json(const char *dir, const char *name, struct err *e)
{
	struct err why;
	json_t *json;
	size_t len;
	char *text = rundir_read_text(dir, name, RUNDIR_JSON_MAX, &len, e);

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
