/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/options.h"

#include <ctype.h>
#include <errno.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/config.h"
#include "cli/front/mistyped.h"
#include "cli/front/option_words.h"
#include "lib/base/str.h"

#define MAX_OPTIONS 100

const char *options_env_name(const struct spec_option *o, char *buf,
			     size_t size)
{
	snprintf(buf, size, "GPUCHECK_%s", o->name);
	for (char *c = buf; *c; c++) {
		*c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
	}
	return buf;
}

/**
 * popt's table of the options that @cmd takes, whose val is their index plus 1,
 * and -h.  What has no value as a letter has one as a word: see option_words().
 */
static void make_table(const struct command *cmd,
		       struct poptOption table[MAX_OPTIONS])
{
	size_t n = 0;

	for (int i = 0; spec_options[i].name && n < MAX_OPTIONS - 4; i++) {
		const struct spec_option *o = &spec_options[i];
		bool bare = !spec_has_value(o);

		if (!options_apply(cmd, o)) {
			continue;
		}
		table[n++] = (struct poptOption){
			.longName = o->name,
			.shortName = bare ? '\0' : o->letter,
			.argInfo = POPT_ARG_STRING, .val = i + 1,
		};
		if (bare && o->letter) {
			table[n++] = (struct poptOption){
				.shortName = o->letter, .val = i + 1,
			};
		}
	}
	table[n++] = (struct poptOption){
		.longName = "help", .shortName = 'h', .val = OPTIONS_HELP,
	};
	table[n++] = (struct poptOption){
		.longName = OPTION_WORDS_HELP_ALL, .val = OPTIONS_HELP_ALL,
	};
	table[n] = (struct poptOption)POPT_TABLEEND;
}

static int bad_option(const struct command *cmd, poptContext popt, int code,
		      struct err *e)
{
	const char *bad = poptBadOption(popt, POPT_BADOPTION_NOALIAS);

	if (code != POPT_ERROR_BADOPT) {
		return err_set(e, 0, "%s: %s", bad, poptStrerror(code));
	}
	err_set(e, 0, "'%s' has no option '%s'", cmd->name, bad);
	return mistyped_option(cmd, bad, e);
}

/** Set it from @text, which @source has.  What adds to what is there begins
 *  anew: no source adds to another. */
static int set_option(struct session *s, int i, const char *text,
		      enum option_source source, struct err *e)
{
	const struct spec_option *o = &spec_options[i];
	struct spec none;
	int rc;

	if (s->source[i] != source &&
	    (o->type == SPEC_LIST || o->type == SPEC_COUNT)) {
		spec_init(&none);
		spec_take(&s->spec, &none, o);
	}
	rc = spec_set(&s->spec, o, text, e);
	s->source[i] = (unsigned char)source;
	return rc;
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
		rc = set_option(s, val - 1, text, SOURCE_LINE, e);
		rc = rc < 0 ? mistyped_letter(cmd->takes,
					      &spec_options[val - 1], text,
					      s->argv + 2, e) : rc;
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
		return mistyped_value(cmd->takes, s->argv + 2, e) ? -1 :
			err_hint(e, "gpucheck %s %s", cmd->name, cmd->usage);
	}
	return s->n_args > 0 &&
			       poptDupArgv(s->n_args, left, NULL, &s->args) ?
		       err_set(e, ENOMEM, "cannot read the command line") :
		       0;
}

/** Has option @o the value @text where @cmd takes it, or is that a word for
 *  other commands? */
static bool is_meant(const struct command *cmd, const struct spec_option *o,
		     const char *text)
{
	const struct spec_word *word = o->words ? spec_word(o, text) : NULL;

	return !word || spec_word_of(word, cmd->takes);
}

static int take_environment(struct session *s, const struct command *cmd,
			    struct err *e)
{
	for (int i = 0; spec_options[i].name; i++) {
		const struct spec_option *o = &spec_options[i];
		char name[64];
		const char *text = getenv(options_env_name(o, name,
							   sizeof(name)));
		struct err why = { 0 };

		if (!options_apply(cmd, o) || o->type == SPEC_LIST || !text ||
		    !text[0] || !is_meant(cmd, o, text)) {
			continue;
		}
		if (set_option(s, i, text, SOURCE_ENVIRONMENT, &why) < 0) {
			err_set(e, 0, "%s in the environment: %s", name,
				why.text);
			return err_hint(e, "%s", why.hint);
		}
	}
	return 0;
}

/** What is said for all commands is also said for one that reads a run, but it
 *  judges that as the run was. */
static bool is_of_runs(const struct command *cmd, const struct spec_option *o)
{
	return o->resumed != SPEC_COMMANDS &&
	       (cmd->takes & (SPEC_CMD_REPORT | SPEC_CMD_DIFF |
			      SPEC_CMD_IMPORT));
}

/** The values of @c that are for @cmd alone, or those that are for all. */
static int take_file(struct session *s, const struct command *cmd,
		     const struct config *c, bool alone,
		     enum option_source source, struct err *e)
{
	for (size_t k = 0; k < c->n; k++) {
		const struct config_value *v = &c->list[k];
		struct err why = { 0 };
		int i = 0;

		if (alone ? v->of != cmd : v->of != NULL) {
			continue;
		}
		while (spec_options[i].name &&
		       (strcmp(spec_options[i].name, v->name) != 0 ||
			!options_apply(cmd, &spec_options[i]))) {
			i++;
		}
		if (!spec_options[i].name ||
		    (!alone && (!is_meant(cmd, &spec_options[i], v->text) ||
				is_of_runs(cmd, &spec_options[i])))) {
			continue;
		}
		if (set_option(s, i, v->text, source, &why) < 0) {
			return config_fail(c, v->line, &why, e);
		}
		s->filed[i] = true;
	}
	return 0;
}

/** Of all files of options, the site's first. */
static int take_files(struct session *s, const struct command *cmd,
		      struct err *e)
{
	struct config files[CONFIG_FILES];
	int rc = 0;

	if (cmd->hidden || (cmd->takes & SPEC_CMD_PLAIN) || !s->commands ||
	    s->whole) {
		return 0;
	}
	rc = config_read(files, s->commands, e);
	for (int i = 0; i < CONFIG_FILES && rc == 0; i++) {
		const enum option_source all = SOURCE_SITE + 2 * (unsigned)i;

		rc = take_file(s, cmd, &files[i], false, all, e);
		rc = rc ? rc : take_file(s, cmd, &files[i], true, all + 1, e);
	}
	config_release(files);
	return rc;
}

static int parse_words(struct session *s, const struct command *cmd,
		       struct err *e)
{
	struct poptOption table[MAX_OPTIONS] = { 0 };
	poptContext popt = NULL;
	struct args words = { 0 };
	int n, rc = 0;

	make_table(cmd, table);
	args_add(&words, s->argv[0]);
	n = option_words(cmd->takes, s->argv + 2, &words, e);
	if (n >= 0) {
		s->extra = s->argv + 2 + n;
		s->extra += *s->extra ? 1 : 0;	/* the "--" */
		popt = words.failed ? NULL :
		       poptGetContext(NULL, (int)words.n,
				      (const char **)words.argv, table, 0);
	}
	if (n < 0) {
		rc = -1;
	} else if (!popt) {
		rc = err_set(e, ENOMEM, "cannot read the command line");
	} else {
		rc = take_options(s, cmd, popt, e);
		rc = rc ? rc : take_args(s, cmd, popt, e);
	}
	poptFreeContext(popt);
	args_release(&words);
	return rc;
}

/** Of values that do not go together that of the lesser source gives way, but
 *  two that were typed are an error of checks to come. */
static void drop_rivals(struct session *s)
{
	struct spec none;

	spec_init(&none);
	for (const struct spec_clash *c = spec_clashes; c->text; c++) {
		for (int from = SOURCE_DEFAULT; from < SOURCE_LINE; from++) {
			for (int i = 0; c->options[i] &&
					spec_clash_holds(c, &s->spec); i++) {
				const struct spec_option *o =
					spec_find(c->options[i]);

				if (s->source[o - spec_options] == from) {
					spec_take(&s->spec, &none, o);
				}
			}
		}
	}
}

/** Help is there whatever else is wrong. */
static bool asks_for_help(const struct session *s, const struct command *cmd,
			  int *which)
{
	struct session other = { .argc = s->argc, .argv = s->argv };

	spec_init(&other.spec);
	*which = parse_words(&other, cmd, NULL);
	options_release(&other);
	return *which > 0;
}

int options_parse(struct session *s, const struct command *cmd, struct err *e)
{
	int rc, help;

	spec_init(&s->spec);
	s->spec.commands = cmd->takes;
	if (cmd->defaults) {
		cmd->defaults(&s->spec);
	}
	rc = take_files(s, cmd, e);
	rc = rc ? rc : take_environment(s, cmd, e);
	if (rc < 0 && asks_for_help(s, cmd, &help)) {
		return help;
	}
	rc = rc ? rc : parse_words(s, cmd, e);
	if (rc == 0) {
		drop_rivals(s);
	}
	return rc;
}

json_t *options_json(const struct session *s, const struct spec *spec)
{
	json_t *json = spec_json(spec);

	for (int i = 0; json && spec_options[i].name; i++) {
		const struct spec_option *o = &spec_options[i];

		if (s->filed[i] && s->source[i] >= SOURCE_ENVIRONMENT &&
		    spec_is_default(spec, o) &&
		    spec_json_put(json, spec, o) < 0) {
			json_decref(json);
			json = NULL;
		}
	}
	return json;
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
