/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a command from its command line, the environment and files. */
#include "cli/front/options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"

/* ---- option words -------------------------------------------------------- */

/** In no table, and taken by every command. */
static const struct spec_option help_option = {
	.name = "help", .letter = 'h', .type = SPEC_FLAG,
};

/** The one behind @o that @takes has, the first for NULL; help_option is the
 *  last, behind which comes NULL. */
static const struct spec_option *next_option(unsigned takes,
					     const struct spec_option *o)
{
	if (o == &help_option) {
		return NULL;
	}
	o = o ? o + 1 : spec_options;
	while (o->name && !(o->commands & takes)) {
		o++;
	}
	return o->name ? o : &help_option;
}

int option_word(unsigned takes, const char *word,
		const struct spec_option **found, struct err *e)
{
	const char *name = str_starts(word, "--") ? word + 2 : "";
	const size_t len = strcspn(name, "=");
	const struct spec_option *exact = NULL, *old = NULL;
	struct str all = STR_INIT;
	int n = 0, n_old = 0;

	*found = NULL;
	for (const struct spec_option *o = NULL;
	     len > 0 && (o = next_option(takes, o));) {
		const char *was = o->was ? o->was : o->name;

		if (strncmp(o->name, name, len) == 0) {
			str_addf(&all, "%s--%s", n++ ? ", " : "", o->name);
			*found = o;
			exact = o->name[len] ? exact : o;
		}
		if (strncmp(was, name, len) == 0) {
			n_old++;
			old = o;
			exact = was[len] ? exact : o;
		}
	}
	/* A script may abbreviate the names that options had earlier: what was
	 * unique among them keeps its meaning. */
	if (exact || n_old == 1) {
		*found = exact ? exact : old;
		n = 1;
	}
	if (n > 1) {
		*found = NULL;
		err_set(e, 0, "'%.*s' may be %s",
			(int)(len < 60 ? len : 60) + 2, word, str_text(&all));
		err_hint(e, "type enough of the name to make it unique");
	}
	str_release(&all);
	return n > 1 ? -1 : 0;
}

/** Returns true if popt takes the word after @word, a cluster of letters such
 *  as "-qN", as the value of its last letter. */
static bool letters_take_next(unsigned takes, const char *word)
{
	const struct spec_option *o = NULL;

	if (word[0] != '-' || word[1] == '-') {
		return false;
	}
	for (const char *c = word + 1; *c; c++) {
		do {
			o = next_option(takes, o);
		} while (o && o->letter != *c);
		if (!o || spec_has_value(o)) {
			return o && !c[1];
		}
		o = NULL;
	}
	return false;
}

/* Rewrites @argv (ended by NULL) for popt into @out: long names are complete,
 * and an option whose value is optional always has one, or popt would take the
 * next word for it.  A flag may have a value: --strict=0 overrides a file or
 * the environment.  Ends before "--".  Returns how many words of @argv were
 * used, or -1 with @e. */
static int option_words(unsigned takes, char *const argv[], struct args *out,
			struct err *e)
{
	const struct spec_option *o;
	bool is_value = false;		/* of the option before it */
	int n = 0;

	for (; argv[n] && strcmp(argv[n], "--") != 0; n++) {
		const char *value = strchr(argv[n], '=');

		if (is_value) {
			args_add(out, argv[n]);
			is_value = false;
			continue;
		}
		if (option_word(takes, argv[n], &o, e) < 0) {
			return -1;
		}
		if (!o) {
			args_add(out, argv[n]);
			is_value = letters_take_next(takes, argv[n]);
		} else if (o == &help_option && value &&
			   strcmp(value + 1, "all") == 0) {
			args_add(out, "--" OPTION_WORDS_HELP_ALL);
		} else if (value) {
			args_addf(out, "--%s=%s", o->name, value + 1);
		} else if (o->type == SPEC_FLAG && o != &help_option) {
			args_addf(out, "--%s=1", o->name);
		} else if (o->type == SPEC_COUNT) {
			args_addf(out, "-%c", o->letter);
		} else if (o->optional_value) {
			args_addf(out, "--%s=", o->name);
		} else {
			args_addf(out, "--%s", o->name);
			is_value = o != &help_option;
		}
	}
	return n;
}

/* ---- mistyped ------------------------------------------------------------ */

#define MAX_NAMES 100

/** Names of options in other programs, and ours for them. */
static const struct {
	const char *theirs;
	const char *ours;
} others[] = {
	{ .theirs = "dir", .ours = "out" },
	{ .theirs = "directory", .ours = "out" },
	{ .theirs = "outdir", .ours = "out" },
	{ .theirs = "out-dir", .ours = "out" },
	{ .theirs = "output", .ours = "out" },
	{ .theirs = "output-dir", .ours = "out" },
	{ .theirs = "host", .ours = "ssh" },
	{ .theirs = "hosts", .ours = "ssh" },
	{ .theirs = "hostfile", .ours = "ssh" },
	{ .theirs = "ngpus", .ours = "gpus-per-node" },
	{ .theirs = "size", .ours = "minbytes" },
	{ .theirs = "format", .ours = "json" },
	{ .theirs = "debug", .ours = "verbose" },
	{ 0 }
};

/** Options of sbatch that people type, without those that we have. */
static const char *const slurm_names[] = {
	"partition", "account", "qos", "reservation", "constraint", "time",
	"gres", "cpus-per-task", "mem", "exclusive", "ntasks",
	"ntasks-per-node", "job-name", "comment", "clusters", "begin",
	"dependency", "export", "wckey", "licenses", "mail-user", NULL
};

#define SLURM_LETTERS "pACtJMD"

static bool is_of_slurm(const struct command *cmd, const char *bad,
			const char *name)
{
	if (!strstr(cmd->usage, "SLURM-OPTION")) {
		return false;
	}
	if (bad[0] == '-' && bad[1] && bad[1] != '-') {
		return strchr(SLURM_LETTERS, bad[1]) != NULL;
	}
	for (size_t i = 0; slurm_names[i]; i++) {
		if (strcmp(slurm_names[i], name) == 0) {
			return true;
		}
	}
	return false;
}

/* Hint at what @bad may mean, such as "--output=x" or "-p", which @cmd does not
 * take: the name that the option has here, an option of Slurm, or one that is
 * spelt alike.  Returns -1, as err_hint() does. */
static int mistyped_option(const struct command *cmd, const char *bad,
			   struct err *e)
{
	const bool is_long = str_starts(bad, "--");
	const char *names[MAX_NAMES] = { "help" }, *meant = NULL;
	char name[64] = "";
	size_t n = 1;

	if (is_long) {
		snprintf(name, sizeof(name), "%.*s",
			 (int)strcspn(bad + 2, "="), bad + 2);
	}
	for (size_t i = 0; is_long && !meant && others[i].theirs; i++) {
		if (strcmp(others[i].theirs, name) == 0 &&
		    option_find(cmd->takes, others[i].ours)) {
			meant = others[i].ours;
		}
	}
	if (!meant && is_of_slurm(cmd, bad, name)) {
		return err_hint(e, "options of Slurm come last: gpucheck %s "
				   "-N 4 -- --partition=gpu", cmd->name);
	}
	if (!meant && is_long) {
		for (const struct spec_option *o = spec_options;
		     o->name && n < MAX_NAMES - 1; o++) {
			if (options_apply(cmd, o)) {
				names[n++] = o->name;
			}
			if (options_apply(cmd, o) && o->was &&
			    n < MAX_NAMES - 1) {
				names[n++] = o->was;
			}
		}
		meant = str_nearest(name, names);
		meant = meant && spec_find(meant) ? spec_find(meant)->name :
						    meant;
	}
	if (meant) {
		return err_hint(e, "did you mean '--%s'?", meant);
	}
	return err_hint(e, "\"gpucheck %s -h\" lists its options", cmd->name);
}

/* Adds a hint to @e, which is set, if @o was typed in @argv (ended by NULL)
 * with an invalid value @text that Slurm's option of the same letter takes, as
 * in "-w gpu01".  Returns -1. */
static int mistyped_letter(unsigned takes, const struct spec_option *o,
			   const char *text, char *const argv[], struct err *e)
{
	struct str word = STR_INIT;
	bool by_letter = false;

	for (; argv[0] && strcmp(argv[0], "--") != 0; argv++) {
		by_letter |= argv[0][0] == '-' && argv[0][1] == o->letter;
	}
	if (o->letter == 'w' && option_find(takes, "nodelist") &&
	    strspn(text, "0123456789") == 0 && by_letter) {
		str_add_quoted(&word, text);
		err_hint(e, "nodes are chosen by --nodelist=%.60s",
			 str_text(&word));
		str_release(&word);
	}
	return -1;
}

bool mistyped_value(unsigned takes, char *const argv[], struct err *e)
{
	for (; argv[0] && argv[1] && strcmp(argv[1], "--") != 0; argv++) {
		const struct spec_option *o =
			str_starts(argv[0], "--") ?
				option_find(takes, argv[0] + 2) : NULL;

		/* a text that is not a rank, or a word of the option */
		if (o && o->optional_value && argv[1][0] != '-' &&
		    (o->words ? spec_word(o, argv[1]) != NULL :
				argv[1][strspn(argv[1], "0123456789")])) {
			err_hint(e, "did you mean '--%s=%s'?", o->name,
				 argv[1]);
			return true;
		}
	}
	return false;
}

/* ---- options ------------------------------------------------------------- */

#define MAX_OPTIONS 100

const char *options_env_name(const char *option, char *buf, size_t size)
{
	snprintf(buf, size, "GPUCHECK_%s", option);
	for (char *c = buf; *c; c++) {
		*c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
	}
	return buf;
}

const char *options_env(const struct spec_option *o, char *buf, size_t size)
{
	const char *text = getenv(options_env_name(o->name, buf, size));
	const char *old = o->was && !text ?
			  getenv(options_env_name(o->was, buf, size)) : NULL;

	return old ? old : text ? text :
	       getenv(options_env_name(o->name, buf, size));
}

/** Sets the option from @text, found in @source.  A list starts empty for each
 *  source: sources do not add to each other. */
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
	const char *bad;
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
	if (rc < 0 || val >= -1) {
		return rc;
	}
	bad = poptBadOption(popt, POPT_BADOPTION_NOALIAS);
	if (val != POPT_ERROR_BADOPT) {
		return err_set(e, 0, "%s: %s", bad, poptStrerror(val));
	}
	err_set(e, 0, "'%s' has no option '%s'", cmd->name, bad);
	return mistyped_option(cmd, bad, e);
}

/** Keep the words that are left, which outlive popt. */
static int take_args(struct session *s, const struct command *cmd,
		     poptContext popt, struct err *e)
{
	const char **left = poptGetArgs(popt);
	const char *args;

	while (left && left[s->n_args]) {
		s->n_args++;
	}
	if (s->n_args < cmd->min_args) {
		/* "[OPTION...] OLD NEW" -> "OLD NEW" */
		args = cmd->usage[0] == '[' ? strstr(cmd->usage, "] ") : NULL;
		return err_set(e, 0, "%s needs %s: gpucheck %s %s", cmd->name,
			       cmd->needs, cmd->name,
			       args ? args + 2 : cmd->usage);
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

/** Return true if option @o of @cmd has the value @text; false if @text is a
 *  word for other commands. */
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
		const char *text = options_env(o, name, sizeof(name));
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

/** The values of @c that are for @cmd alone, or those that are for all. */
static int take_file(struct session *s, const struct command *cmd,
		     const struct config *c, bool alone,
		     enum option_source source, struct err *e)
{
	/* such a command judges a run with the settings of that run */
	const bool reads_runs = cmd->takes & (SPEC_CMD_REPORT | SPEC_CMD_DIFF |
					      SPEC_CMD_IMPORT);

	for (size_t k = 0; k < c->n; k++) {
		const struct config_value *v = &c->list[k];
		const struct spec_option *o = option_find(cmd->takes, v->name);
		struct err why = { 0 };

		if (!o || (alone ? v->of != cmd : v->of != NULL)) {
			continue;
		}
		if (!alone && (!is_meant(cmd, o, v->text) ||
			       (reads_runs && o->resumed != SPEC_COMMANDS))) {
			continue;
		}
		if (set_option(s, (int)(o - spec_options), v->text, source,
			       &why) < 0) {
			return config_fail(c, v->line, &why, e);
		}
		s->filed[o - spec_options] = true;
	}
	return 0;
}

/** Read all option files, the site's first. */
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
	size_t rows = 0;
	int n, rc = 0;

	/* the options that @cmd takes, whose val is their index plus 1, and -h.
	 * An option that takes no value as a letter takes one as a word, see
	 * option_words(). */
	for (int i = 0; spec_options[i].name && rows < MAX_OPTIONS - 4; i++) {
		const struct spec_option *o = &spec_options[i];
		bool bare = !spec_has_value(o);

		if (!options_apply(cmd, o)) {
			continue;
		}
		table[rows++] = (struct poptOption){
			.longName = o->name,
			.shortName = bare ? '\0' : o->letter,
			.argInfo = POPT_ARG_STRING, .val = i + 1,
		};
		if (bare && o->letter) {
			table[rows++] = (struct poptOption){
				.shortName = o->letter, .val = i + 1,
			};
		}
	}
	table[rows++] = (struct poptOption){
		.longName = "help", .shortName = 'h', .val = OPTIONS_HELP,
	};
	table[rows++] = (struct poptOption){
		.longName = OPTION_WORDS_HELP_ALL, .val = OPTIONS_HELP_ALL,
	};
	table[rows] = (struct poptOption)POPT_TABLEEND;
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

/** For each two options that exclude each other, drops the one from the weaker
 *  source.  If both were typed, later checks report it. */
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

int options_parse(struct session *s, const struct command *cmd, struct err *e)
{
	struct session other = { .argc = s->argc, .argv = s->argv };
	int rc, help;

	spec_init(&s->spec);
	s->spec.commands = cmd->takes;
	if (cmd->defaults) {
		cmd->defaults(&s->spec);
	}
	rc = take_files(s, cmd, e);
	rc = rc ? rc : take_environment(s, cmd, e);
	if (rc < 0) {
		/* -h prints help whatever else is wrong */
		spec_init(&other.spec);
		help = parse_words(&other, cmd, NULL);
		options_release(&other);
		return help > 0 ? help : rc;
	}
	rc = rc ? rc : parse_words(s, cmd, e);
	if (rc == 0) {
		drop_rivals(s);
	}
	return rc;
}

void options_absolute(struct spec *spec)
{
	for (const struct spec_option *o = spec_options; o->name; o++) {
		const bool file = o->type == SPEC_TEXT && o->argh &&
				  (strstr(o->argh, "FILE") ||
				   strstr(o->argh, "DIR"));
		char *value = (char *)spec + o->offset, path[PATH_MAX];
		struct str text = STR_INIT;

		if (!file || !value[0] || strcmp(value, "-") == 0) {
			continue;
		}
		if (realpath(value, path)) {
			str_add(&text, path);
		} else if (value[0] != '/' && !strstr(o->argh, "NAME") &&
			   !strstr(o->argh, "LIST") &&
			   getcwd(path, sizeof(path))) {
			/* made by the run */
			str_addf(&text, "%s/%s", path, value);
		}
		if (text.len > 0 && text.len < o->size) {
			str_copy(value, o->size, str_text(&text));
		}
		str_release(&text);
	}
}

json_t *options_json(const struct session *s, const struct spec *spec)
{
	struct spec whole = *spec;
	json_t *json;

	options_absolute(&whole);
	json = spec_json(&whole);
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
