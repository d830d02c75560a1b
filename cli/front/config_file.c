/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files of options are read, and whether they may be believed. */
#include "cli/front/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"

#define OTHERWISE "or " CONFIG_ENV "=" CONFIG_NONE " to read none"

int config_check_file(const char *path, const struct stat *st, unsigned me,
		      struct err *e)
{
	const unsigned wide = st->st_mode & (me == 0 ? 022 : 002);
	char quoted[160];

	str_quoted_dir(path, quoted, sizeof(quoted));
	if (!S_ISREG(st->st_mode)) {
		return err_set(e, 0, "'%.160s' is no regular file", path);
	}
	if (st->st_uid != 0 && st->st_uid != me) {
		err_set(e, 0, "'%.160s' belongs to user %u, and may name "
			"programs to run", path, (unsigned)st->st_uid);
		return me == 0 ? err_hint(e, "root follows files of root alone: "
					     "sudo -H has a home of root's, "
					     OTHERWISE) :
				 err_hint(e, "use a file of your own or of "
					     "root's in place of %s, "
					     OTHERWISE, quoted);
	}
	if (wide) {
		err_set(e, 0, "'%.160s' may be written by %s, and may name "
			"programs to run", path,
			wide & 002 ? "everybody" : "a group");
		return err_hint(e, "chmod go-w %s, " OTHERWISE, quoted);
	}
	if (st->st_size > CONFIG_MAX_BYTES) {
		return err_set(e, EFBIG, "'%.160s' has %lld bytes, more than "
			       "%d", path, (long long)st->st_size,
			       CONFIG_MAX_BYTES);
	}
	return 0;
}

/** "BASE/MORE/gpucheck.conf", where @base is an absolute path; else "". */
static void make_path(const char *base, const char *more, char path[PATH_MAX])
{
	int n = 0;

	path[0] = '\0';
	if (base && base[0] == '/') {
		n = snprintf(path, PATH_MAX, "%s%s/" CONFIG_NAME, base, more);
	}
	if (n < 0 || n >= PATH_MAX) {
		path[0] = '\0';
	}
}

void config_find(struct config files[CONFIG_FILES])
{
	const char *named = getenv(CONFIG_ENV);
	const char *xdg = getenv("XDG_CONFIG_HOME");

	for (int i = 0; i < CONFIG_FILES; i++) {
		files[i] = (struct config){ 0 };
	}
	if (named && named[0]) {
		/* a path that is cut is none that is there */
		files[1].must = strcmp(named, CONFIG_NONE) != 0;
		snprintf(files[1].path, PATH_MAX, "%s",
			 files[1].must ? named : "");
		return;
	}
	snprintf(files[0].path, PATH_MAX, "%s", CONFIG_SITE);
	if (xdg && xdg[0] == '/') {
		make_path(xdg, "", files[1].path);
	} else {
		make_path(getenv("HOME"), "/.config", files[1].path);
	}
}

/** Is it as good as not there?  A home that is not ours, as after su, may not
 *  be looked into. */
static bool is_absent(const struct config *c, int code)
{
	return !c->must && (code == ENOENT || code == ENOTDIR ||
			    (code == EACCES &&
			     strcmp(c->path, CONFIG_SITE) != 0));
}

/** The text of @c into @text; 0, with c->here when there is one, or -1. */
static int read_file(struct config *c, struct str *text, struct err *e)
{
	/* links are followed: whose the file is counts; a pipe holds nobody */
	int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int code;

	if (fd < 0) {
		code = errno;
		if (is_absent(c, code)) {
			return 0;
		}
		err_set(e, code, "cannot read '%.160s'", c->path);
		return c->must ? err_hint(e, CONFIG_ENV " names it") : -1;
	}
	if (fstat(fd, &st) < 0) {
		err_set(e, errno, "cannot read '%.160s'", c->path);
		close(fd);
		return -1;
	}
	if (config_check_file(c->path, &st, geteuid(), e) < 0) {
		close(fd);
		return -1;
	}
	code = str_add_file(text, fd, CONFIG_MAX_BYTES);
	c->here = code == 0;
	return code == 0 ? 0 : err_set(e, code, "cannot read '%.160s'",
				       c->path);
}

int config_read(struct config files[CONFIG_FILES],
		const struct command *const *all, struct err *e)
{
	int rc = 0;

	config_find(files);
	for (int i = 0; i < CONFIG_FILES && rc == 0; i++) {
		struct str text = STR_INIT;

		if (files[i].path[0]) {
			rc = read_file(&files[i], &text, e);
		}
		if (rc == 0 && files[i].here) {
			rc = config_parse(str_text(&text), text.len, all,
					  &files[i], e);
		}
		str_release(&text);
	}
	return rc;
}

void config_release(struct config files[CONFIG_FILES])
{
	for (int i = 0; i < CONFIG_FILES; i++) {
		free(files[i].list);
		files[i] = (struct config){ 0 };
	}
}
