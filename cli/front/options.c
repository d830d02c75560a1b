/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/options.h"

#include <ctype.h>
#include <errno.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define MAX_OPTIONS 80

bool options_apply(const struct command *cmd, const struct spec_option *o)
{
	return o->commands & cmd->takes;
}

const char *options_env_name(const struct spec_option *o, char *buf,
			     size_t size)
{
	snprintf(buf, size, "GPUCHECK_%s", o->name);
	for (char *c = buf; *c; c++) {
		*c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
	}
	return buf;
}

/** popt's table of the options that @cmd takes, whose val is their index plus
 *  1, and -h. */
static void make_table(const struct command *cmd,
		       struct poptOption table[MAX_OPTIONS])
{
	size_t n = 0;

	for (int i = 0; spec_options[i].name && n < MAX_OPTIONS - 3; i++) {
		const struct spec_option *o = &spec_options[i];

		if (options_apply(cmd, o)) {
			table[n++] = (struct poptOption){
				.longName = o->name,
				.shortName = o->letter,
				.argInfo = spec_has_value(o) ?
						   POPT_ARG_STRING :
						   POPT_ARG_NONE,
				.val = i + 1,
			};
		}
	}
	table[n++] = (struct poptOption){
		.longName = "help", .shortName = 'h', .val = OPTIONS_HELP,
	};
	table[n++] = (struct poptOption){
		.longName = "help-all", .val = OPTIONS_HELP_ALL,
	};
	table[n] = (struct poptOption)POPT_TABLEEND;
}

/** "--nods=2" -> the option of @cmd nearest to it, NULL when none is near. */
static const char *nearest_option(const struct command *cmd, const char *bad)
{
	const char *names[MAX_OPTIONS] = { "help" };
	char word[64];
	size_t n = 1;

	if (!str_starts(bad, "--")) {
		return NULL;
	}
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(bad + 2, "="),
		 bad + 2);
	for (const struct spec_option *o = spec_options;
	     o->name && n < MAX_OPTIONS - 1; o++) {
		if (options_apply(cmd, o)) {
			names[n++] = o->name;
		}
	}
	return str_nearest(word, names);
}

static int bad_option(const struct command *cmd, poptContext popt, int code,
		      struct err *e)
{
	const char *bad = poptBadOption(popt, POPT_BADOPTION_NOALIAS);
	const char *nearest;

	if (code != POPT_ERROR_BADOPT) {
		return err_set(e, 0, "%s: %s", bad, poptStrerror(code));
	}
	err_set(e, 0, "'%s' has no option '%s'", cmd->name, bad);
	nearest = nearest_option(cmd, bad);
	if (nearest) {
		return err_hint(e, "did you mean '--%s'?", nearest);
	}
	return err_hint(e, "\"gpucheck %s -h\" lists its options", cmd->name);
}

/** Set what popt finds; as options_parse(). */
static int take_options(struct session *s, const struct command *cmd,
			poptContext popt, struct err *e)
{
	int val, rc = 0;

	while (rc == 0 && (val = poptGetNextOpt(popt)) > 0) {
		char *text;

		if (val >= OPTIONS_HELP) {
			return val;
		}
		text = poptGetOptArg(popt);
		rc = spec_set(&s->spec, &spec_options[val - 1], text, e);
		s->typed[val - 1] = true;
		free(text);
	}
	return rc == 0 && val < -1 ? bad_option(cmd, popt, val, e) : rc;
}

/** "[OPTION...] OLD NEW" -> "OLD NEW" */
static const char *what_args(const char *usage)
{
	const char *end = usage[0] == '[' ? strstr(usage, "] ") : NULL;

	return end ? end + 2 : usage;
}

/** Keep the words that are left, which outlive popt. */
static int take_args(struct session *s, const struct command *cmd,
		     poptContext popt, struct err *e)
{
	const char **left = poptGetArgs(popt);

	while (left && left[s->n_args]) {
		s->n_args++;
	}
	if (s->n_args < cmd->min_args) {
		return err_set(e, 0, "%s needs %s: gpucheck %s %s", cmd->name,
			       cmd->needs, cmd->name, what_args(cmd->usage));
	}
	if (s->n_args > cmd->max_args) {
		err_set(e, 0, "unexpected argument '%.100s'",
			left[cmd->max_args]);
		return err_hint(e, "gpucheck %s %s", cmd->name, cmd->usage);
	}
	return s->n_args > 0 &&
			       poptDupArgv(s->n_args, left, NULL, &s->args) ?
		       err_set(e, ENOMEM, "cannot read the command line") :
		       0;
}

static int take_environment(struct spec *s, const struct command *cmd,
			    struct err *e)
{
	for (const struct spec_option *o = spec_options; o->name; o++) {
		char name[64];
		const char *text = getenv(options_env_name(o, name,
							   sizeof(name)));
		const struct spec_word *word =
			o->words && text ? spec_word(o, text) : NULL;
		struct err why = { 0 };

		if (!options_apply(cmd, o) || o->type == SPEC_LIST || !text ||
		    !text[0]) {
			continue;
		}
		if (word && !spec_word_of(word, cmd->takes)) {
			continue;	/* it is meant for another command */
		}
		if (spec_set(s, o, text, &why) < 0) {
			err_set(e, 0, "%s in the environment: %s", name,
				why.text);
			return err_hint(e, "%s", why.hint);
		}
	}
	return 0;
}

/** A value that may be left out: else popt takes the next word for it. */
static const char *popt_word(const char *word)
{
	static const char *const words[][2] = {
		{ "--local", "--local=" },
		{ "--ssh", "--ssh=" },
		{ "--json", "--json=" },
		{ "--help=all", "--help-all" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word, words[i][0]) == 0) {
			return words[i][1];
		}
	}
	return word;
}

/** What popt is to see: argv behind the command, up to "--"; how many words. */
static int copy_words(struct session *s, const char **words)
{
	int n = 0;

	words[n++] = s->argv[0];
	s->extra = &s->argv[s->argc];
	for (int i = 2; i < s->argc; i++) {
		if (strcmp(s->argv[i], "--") == 0) {
			s->extra = &s->argv[i + 1];
			break;
		}
		words[n++] = popt_word(s->argv[i]);
	}
	return n;
}

static int parse_words(struct session *s, const struct command *cmd,
		       struct err *e)
{
	const char **words = calloc((size_t)s->argc + 2, sizeof(*words));
	struct poptOption table[MAX_OPTIONS] = { 0 };
	poptContext popt = NULL;
	int rc;

	make_table(cmd, table);
	if (words) {
		popt = poptGetContext(NULL, copy_words(s, words), words, table,
				      0);
	}
	if (!popt) {
		rc = err_set(e, ENOMEM, "cannot read the command line");
	} else {
		rc = take_options(s, cmd, popt, e);
		rc = rc ? rc : take_args(s, cmd, popt, e);
	}
	poptFreeContext(popt);
	free(words);
	return rc;
}

/** What was typed wins; two that were typed are an error of checks to come. */
static void drop_rivals(struct session *s)
{
	for (const struct spec_clash *c = spec_clashes; c->text; c++) {
		for (int i = 0;
		     c->options[i] && spec_clash_holds(c, &s->spec); i++) {
			options_stray(s, (const char *const[]){
						c->options[i], NULL });
		}
	}
}

int options_parse(struct session *s, const struct command *cmd, struct err *e)
{
	int rc;

	spec_init(&s->spec);
	s->spec.commands = cmd->takes;
	if (cmd->defaults) {
		cmd->defaults(&s->spec);
	}
	rc = take_environment(&s->spec, cmd, e);
	rc = rc ? rc : parse_words(s, cmd, e);
	if (rc == 0) {
		drop_rivals(s);
	}
	return rc;
}

bool options_typed(const struct session *s, const char *name)
{
	return s->typed[spec_find(name) - spec_options];
}

const char *options_stray(struct session *s, const char *const *names)
{
	struct spec defaults;

	spec_init(&defaults);
	for (; *names; names++) {
		const struct spec_option *o = spec_find(*names);

		if (options_typed(s, *names) && !spec_is_default(&s->spec, o)) {
			return *names;
		}
		spec_take(&s->spec, &defaults, o);
	}
	return NULL;
}

void options_release(struct session *s)
{
	free(s->args);
	s->args = NULL;
	s->n_args = 0;
}
