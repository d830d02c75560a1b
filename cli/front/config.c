/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/config.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/options.h"
#include "lib/base/str.h"

/** More than there are commands, and names of options. */
#define NAMES_MAX (SPEC_OPTIONS_MAX + 1)

/** A text that inih asks for line by line. */
struct reading {
	const char *at, *end;
	int line;		/* that was asked for last */
	const struct command *const *all;
	struct config *c;
	struct err why;		/* of the first line that is wrong */
	int wrong;		/* that line; 0 = none */
};

/** As fgets(3), but a line begins behind its blanks: to inih one that begins
 *  with some would go on with the value before. */
static char *read_line(char *buf, int size, void *stream)
{
	struct reading *r = stream;
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

/** Has @cmd options that a file may set? */
static bool has_section(const struct command *cmd)
{
	const struct spec_option *o = spec_options;

	while (o->name && (o->once || !options_apply(cmd, o))) {
		o++;
	}
	return o->name && !cmd->hidden && !cmd->raw &&
	       !(cmd->takes & SPEC_CMD_PLAIN);
}

static int no_section(const struct reading *r, const char *name, struct err *e)
{
	const char *names[NAMES_MAX] = { NULL }, *nearest;
	size_t n = 0;

	for (int i = 0; r->all[i] && n < NAMES_MAX - 1; i++) {
		if (has_section(r->all[i])) {
			names[n++] = r->all[i]->name;
		}
	}
	nearest = str_nearest(name, names);
	err_set(e, 0, "[%s] is no command that has options", name);
	return nearest ? err_hint(e, "did you mean [%s]?", nearest) :
			 err_hint(e, "a section is named as its command, such "
				     "as [p2p]; what is for all stands before "
				     "the first");
}

/** The command of section @name, NULL for ""; -1 with @e. */
static int find_section(const struct reading *r, const char *name,
			const struct command **of, struct err *e)
{
	*of = name[0] ? command_find(r->all, name) : NULL;
	return name[0] && (!*of || !has_section(*of)) ? no_section(r, name, e) :
							0;
}

/** The first option of @name that @of takes (NULL: any command); NULL. */
static const struct spec_option *find_option(const char *name,
					     const struct command *of)
{
	const struct spec_option *o = spec_options;

	while (o->name && (strcmp(o->name, name) != 0 ||
			   (of && !options_apply(of, o)))) {
		o++;
	}
	return o->name ? o : NULL;
}

/** @name is none that @of takes (NULL: any command). */
static int no_option(const char *name, const struct command *of,
		     struct err *e)
{
	const char *names[NAMES_MAX] = { NULL }, *nearest;
	size_t n = 0;

	for (const struct spec_option *o = spec_options;
	     o->name && n < NAMES_MAX - 1; o++) {
		if (!o->once && (!of || options_apply(of, o))) {
			names[n++] = o->name;
		}
	}
	name += strspn(name, "-");	/* as on the command line */
	nearest = str_nearest(name, names);
	if (of && spec_find(name)) {
		err_set(e, 0, "'%s' has no option '%s'", of->name, name);
		return err_hint(e, "\"gpucheck %s --help=all\" lists those "
				   "that it has", of->name);
	}
	err_set(e, 0, "there is no option '%s'", name);
	return nearest ? err_hint(e, "did you mean '%s'?", nearest) :
			 err_hint(e, "options are written without dashes: "
				     "max-time=10m");
}

/** Is there another line for the same?  Lists have one a value. */
static int check_once(const struct config *c, const struct spec_option *o,
		      const struct command *of, struct err *e)
{
	for (size_t i = 0; i < c->n && o->type != SPEC_LIST; i++) {
		if (c->list[i].of == of &&
		    strcmp(c->list[i].name, o->name) == 0) {
			err_set(e, 0, "'%s' is set in line %d already",
				o->name, c->list[i].line);
			return err_hint(e, "leave one of the two");
		}
	}
	return 0;
}

static int check_value(const struct spec_option *o, const struct command *of,
		       const char *value, struct err *e)
{
	struct spec s;

	if (o->once) {
		err_set(e, 0, "'%s' is for the command line alone", o->name);
		return err_hint(e, "type it with the command: it is about one "
				   "use, or about what a script reads");
	}
	if (strstr(value, " #")) {
		err_set(e, 0, "'%s' has a ' #'", value);
		return err_hint(e, "a comment stands on a line of its own, or "
				   "behind ' ;'");
	}
	spec_init(&s);
	s.commands = of ? of->takes : 0;
	if (spec_set(&s, o, value, e) < 0) {
		return -1;
	}
	if (of && o->words && !spec_word_of(spec_word(o, value), of->takes)) {
		return err_set(e, 0, "--%s=%s is none of 'gpucheck %s'",
			       o->name, value, of->name);
	}
	return 0;
}

static int add_value(struct config *c, const struct spec_option *o,
		     const struct command *of, int line, const char *value,
		     struct err *e)
{
	struct config_value *grown;

	if (c->n == CONFIG_MAX) {
		return err_set(e, 0, "more than %d values", CONFIG_MAX);
	}
	grown = realloc(c->list, (c->n + 1) * sizeof(*grown));
	if (!grown) {
		return err_set(e, ENOMEM, "no memory");
	}
	c->list = grown;
	grown += c->n++;
	*grown = (struct config_value){ .name = o->name, .of = of,
					.line = line };
	snprintf(grown->text, sizeof(grown->text), "%s", value);
	return 0;
}

static int take_value(struct reading *r, const char *section, const char *name,
		      const char *value, struct err *e)
{
	const struct command *of;
	const struct spec_option *o;

	if (find_section(r, section, &of, e) < 0) {
		return -1;
	}
	o = find_option(name, of);
	if (!o) {
		return no_option(name, of, e);
	}
	return check_value(o, of, value, e) < 0 ||
	       check_once(r->c, o, of, e) < 0 ||
	       add_value(r->c, o, of, r->line, value, e) < 0 ? -1 : 0;
}

/** inih's handler: 1 is good. */
static int take(void *user, const char *section, const char *name,
		const char *value)
{
	struct reading *r = user;

	if (r->wrong) {
		return 0;
	}
	if (take_value(r, section, name, value, &r->why) < 0) {
		r->wrong = r->line;
		return 0;
	}
	return 1;
}

/** What inih cuts in two or does not see: the number of such a line in @line,
 *  and -1 with @e. */
static int check_lines(const char *text, size_t len, int *line, struct err *e)
{
	size_t begin = 0;

	*line = 1;
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c == '\n') {
			begin = i + 1;
			++*line;
		} else if (c < ' ' && c != '\t' && c != '\r') {
			return err_set(e, 0, "a control character (byte %u)",
				       c);
		} else if (i - begin >= CONFIG_MAX_LINE) {
			return err_set(e, 0, "it is longer than %d bytes",
				       CONFIG_MAX_LINE);
		}
	}
	return 0;
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
	struct reading r = { .at = text, .end = text + len, .all = all,
			     .c = c };
	int line;

	if (check_lines(text, len, &line, &r.why) < 0) {
		return config_fail(c, line, &r.why, e);
	}
	line = ini_parse_stream(read_line, &r, take, &r);
	if (line < 0) {
		return err_set(e, ENOMEM, "no memory");
	}
	/* the first of both: inih goes on after a line that it cannot read */
	if (line > 0 && (!r.wrong || line < r.wrong)) {
		err_set(&r.why, 0, "neither NAME=VALUE nor [COMMAND]");
		err_hint(&r.why, "such as max-time=10m; a comment begins with "
				 "#");
		return config_fail(c, line, &r.why, e);
	}
	return r.wrong ? config_fail(c, r.wrong, &r.why, e) : 0;
}
