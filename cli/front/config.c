/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration files of the site and the user. */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/options.h"
#include "lib/base/grow.h"
#include "lib/base/str.h"

/* ---- config file --------------------------------------------------------- */

/* Which files of options are read, and whether they may be believed. */

#define OTHERWISE "or " CONFIG_ENV "=" CONFIG_NONE " to read none"

int config_check_file(const char *path, const struct stat *st, unsigned me,
		      struct err *e)
{
	const unsigned wide = st->st_mode & (me == 0 ? 022 : 002);
	char quoted[160];

	str_quoted_dir(path, quoted, sizeof(quoted));
	if (!S_ISREG(st->st_mode)) {
		return err_set(e, 0, "'%.160s' is not a regular file", path);
	}
	if (st->st_uid != 0 && st->st_uid != me) {
		err_set(e, 0, "'%.160s' belongs to user %u, and can name "
			"programs to run", path, (unsigned)st->st_uid);
		return me == 0 ? err_hint(e, "root reads only files of root: "
					     "sudo -H sets root's home "
					     "directory, "
					     OTHERWISE) :
				 err_hint(e, "use a file of your own or of "
					     "root's in place of %s, "
					     OTHERWISE, quoted);
	}
	if (wide) {
		err_set(e, 0, "'%.160s' is writable by %s, and can name "
			"programs to run", path,
			wide & 002 ? "all users" : "a group");
		return err_hint(e, "chmod go-w %s, " OTHERWISE, quoted);
	}
	if (st->st_size > CONFIG_MAX_BYTES) {
		return err_set(e, EFBIG, "'%.160s' has %lld bytes, more than "
			       "%d", path, (long long)st->st_size,
			       CONFIG_MAX_BYTES);
	}
	return 0;
}

void config_find(struct config files[CONFIG_FILES])
{
	const char *named = getenv(CONFIG_ENV);
	const char *base = getenv("XDG_CONFIG_HOME"), *below = "";
	int n = 0;

	for (int i = 0; i < CONFIG_FILES; i++) {
		files[i] = (struct config){ 0 };
	}
	if (named && named[0]) {
		/* a truncated path never exists */
		files[1].must = strcmp(named, CONFIG_NONE) != 0;
		snprintf(files[1].path, PATH_MAX, "%s",
			 files[1].must ? named : "");
		return;
	}
	snprintf(files[0].path, PATH_MAX, "%s", CONFIG_SITE);
	if (!base || base[0] != '/') {
		base = getenv("HOME");
		below = "/.config";
	}
	if (base && base[0] == '/') {
		n = snprintf(files[1].path, PATH_MAX, "%s%s/" CONFIG_NAME,
			     base, below);
	}
	if (n < 0 || n >= PATH_MAX) {
		files[1].path[0] = '\0';
	}
}

/** The text of @c into @text; 0, with c->here when there is one, or -1. */
static int read_file(struct config *c, struct str *text, struct err *e)
{
	/* symbolic links are followed: the owner of their target counts.  A
	 * pipe does not block */
	int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int code;

	if (fd < 0) {
		code = errno;
		/* the home of another user, as after su, may not be readable */
		if (!c->must && (code == ENOENT || code == ENOTDIR ||
				 (code == EACCES &&
				  strcmp(c->path, CONFIG_SITE) != 0))) {
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

/* ---- config -------------------------------------------------------------- */

/** More than there are commands, and names of options. */
#define NAMES_MAX (SPEC_OPTIONS_MAX + 1)

/** A text that inih asks for line by line. */
struct config_reading {
	const char *at, *end;
	int line;		/* that was asked for last */
	const struct command *const *all;
	struct config *c;
	struct err why;		/* of the first line that is wrong */
	int wrong;		/* number of that line; 0 = none */
};

/** Like fgets(3), but removes leading blanks: inih would append a line that
 *  begins with blanks to the previous value. */
static char *read_line(char *buf, int size, void *stream)
{
	struct config_reading *r = stream;
	const char *feed = memchr(r->at, '\n', (size_t)(r->end - r->at));
	const char *end = feed ? feed + 1 : r->end;
	size_t len;

	if (r->at == r->end) {
		return NULL;
	}
	while (r->at < end && (*r->at == ' ' || *r->at == '\t')) {
		r->at++;
	}
	len = (size_t)(end - r->at);
	len = len < (size_t)size ? len : (size_t)size - 1;
	memcpy(buf, r->at, len);
	buf[len] = '\0';
	r->at = end;
	r->line++;
	return buf;
}

/** Return true if @cmd has options that a file may set. */
static bool has_section(const struct command *cmd)
{
	const struct spec_option *o = spec_options;

	while (o->name && (o->once || !options_apply(cmd, o))) {
		o++;
	}
	return o->name && !cmd->hidden && !cmd->raw &&
	       !(cmd->takes & SPEC_CMD_PLAIN);
}

/** Return the option @name that @of (NULL: any command) takes; NULL with @e if
 *  there is none. */
static const struct spec_option *find_option(const char *name,
					     const struct command *of,
					     struct err *e)
{
	const char *names[NAMES_MAX] = { NULL }, *nearest;
	const unsigned takes = of ? of->takes : ~0U;
	const struct spec_option *found = option_find(takes, name);
	size_t n = 0;

	if (found) {
		return found;
	}
	for (const struct spec_option *o = spec_options;
	     o->name && n < NAMES_MAX - 1; o++) {
		if (!o->once && (o->commands & takes)) {
			names[n++] = o->name;
		}
		if (!o->once && (o->commands & takes) && o->was &&
		    n < NAMES_MAX - 1) {
			names[n++] = o->was;
		}
	}
	name += strspn(name, "-");	/* as on the command line */
	nearest = str_nearest(name, names);
	if (of && spec_find(name)) {
		err_set(e, 0, "'%s' has no option '%s'", of->name, name);
		err_hint(e, "\"gpucheck %s --help=all\" lists those that it "
			    "has", of->name);
		return NULL;
	}
	err_set(e, 0, "there is no option '%s'", name);
	if (nearest) {
		err_hint(e, "did you mean '%s'?", spec_find(nearest)->name);
	} else {
		err_hint(e, "options are written without dashes: time-limit=10m");
	}
	return NULL;
}

static int check_value(const struct spec_option *o, const struct command *of,
		       const char *value, struct err *e)
{
	struct spec s;

	if (o->once) {
		err_set(e, 0, "'%s' is allowed only on the command line",
			o->name);
		return err_hint(e, "give it with the command: it applies to "
				   "one use, or to output that a script reads");
	}
	if (strstr(value, " #")) {
		err_set(e, 0, "'%s' has a ' #'", value);
		return err_hint(e, "put a comment on its own line, or after ' "
				   ";'");
	}
	spec_init(&s);
	s.commands = of ? of->takes : 0;
	if (spec_set(&s, o, value, e) < 0) {
		return -1;
	}
	if (of && o->words && !spec_word_of(spec_word(o, value), of->takes)) {
		return err_set(e, 0, "--%s=%s is not a value of 'gpucheck %s'",
			       o->name, value, of->name);
	}
	return 0;
}

/** Append a value to @c.  Only a list may have a line for each value. */
static int add_value(struct config *c, const struct spec_option *o,
		     const struct command *of, int line, const char *value,
		     struct err *e)
{
	struct config_value new = { .name = o->name, .of = of, .line = line };

	for (size_t i = 0; i < c->n && o->type != SPEC_LIST; i++) {
		if (c->list[i].of == of &&
		    strcmp(c->list[i].name, o->name) == 0) {
			err_set(e, 0, "'%s' is already set in line %d",
				o->name, c->list[i].line);
			return err_hint(e, "remove one of the two");
		}
	}
	if (c->n == CONFIG_MAX) {
		return err_set(e, 0, "more than %d values", CONFIG_MAX);
	}
	snprintf(new.text, sizeof(new.text), "%s", value);
	return grow_add(&c->list, &c->n, &new, sizeof(new)) ?
		       0 : err_set(e, ENOMEM, "no memory");
}

/** inih's handler: 1 is good. */
static int take(void *user, const char *section, const char *name,
		const char *value)
{
	struct config_reading *r = user;
	const char *names[NAMES_MAX] = { NULL }, *nearest;
	const struct command *of = section[0] ? command_find(r->all, section) :
						NULL;
	const struct spec_option *o = NULL;
	size_t n = 0;

	if (r->wrong) {
		return 0;
	}
	if (section[0] && (!of || !has_section(of))) {
		for (int i = 0; r->all[i] && n < NAMES_MAX - 1; i++) {
			if (has_section(r->all[i])) {
				names[n++] = r->all[i]->name;
			}
		}
		nearest = str_nearest(section, names);
		err_set(&r->why, 0, "[%s] is not a command with options",
			section);
		if (nearest) {
			err_hint(&r->why, "did you mean [%s]?", nearest);
		} else {
			err_hint(&r->why, "a section is named after its "
				 "command, such as [p2p]; options for all "
				 "commands come before the first section");
		}
	} else {
		o = find_option(name, of, &r->why);
	}
	if (!o || check_value(o, of, value, &r->why) < 0 ||
	    add_value(r->c, o, of, r->line, value, &r->why) < 0) {
		r->wrong = r->line;
		return 0;
	}
	return 1;
}

int config_fail(const struct config *c, int line, const struct err *why,
		struct err *e)
{
	struct err copy = *why;

	err_set(e, why->code, "%.160s:%d: %s", c->path, line, copy.text);
	return copy.hint[0] ? err_hint(e, "%s", copy.hint) : -1;
}

int config_parse(const char *text, size_t len,
		 const struct command *const *all, struct config *c,
		 struct err *e)
{
	struct config_reading r = { .at = text, .end = text + len, .all = all,
			     .c = c };
	size_t begin = 0;
	int line = 1;

	/* refuse lines that inih would split or skip */
	for (size_t i = 0; i < len; i++) {
		const unsigned char ch = (unsigned char)text[i];

		if (ch == '\n') {
			begin = i + 1;
			line++;
		} else if (ch < ' ' && ch != '\t' && ch != '\r') {
			err_set(&r.why, 0, "a control character (byte %u)", ch);
			return config_fail(c, line, &r.why, e);
		} else if (i - begin >= CONFIG_MAX_LINE) {
			err_set(&r.why, 0, "it is longer than %d bytes",
				CONFIG_MAX_LINE);
			return config_fail(c, line, &r.why, e);
		}
	}
	line = ini_parse_stream(read_line, &r, take, &r);
	if (line < 0) {
		return err_set(e, ENOMEM, "no memory");
	}
	/* the first of both errors: inih continues after a line that it cannot
	 * read */
	if (line > 0 && (!r.wrong || line < r.wrong)) {
		err_set(&r.why, 0, "neither NAME=VALUE nor [COMMAND]");
		err_hint(&r.why, "such as time-limit=10m; a comment begins with "
				 "#");
		return config_fail(c, line, &r.why, e);
	}
	return r.wrong ? config_fail(c, r.wrong, &r.why, e) : 0;
}
