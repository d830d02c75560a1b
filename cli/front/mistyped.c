/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/mistyped.h"

#include <stdio.h>
#include <string.h>

#include "cli/front/options.h"
#include "lib/base/str.h"

#define MAX_NAMES 100

/** What other programs call an option of ours. */
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

/** The option @name of a command that @takes it, else NULL. */
static const struct spec_option *option_of(unsigned takes, const char *name)
{
	for (const struct spec_option *o = spec_options; o->name; o++) {
		if (strcmp(o->name, name) == 0 && (o->commands & takes)) {
			return o;
		}
	}
	return NULL;
}

static const char *our_name(const struct command *cmd, const char *name)
{
	for (size_t i = 0; others[i].theirs; i++) {
		if (strcmp(others[i].theirs, name) == 0 &&
		    option_of(cmd->takes, others[i].ours)) {
			return others[i].ours;
		}
	}
	return NULL;
}

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

/** "nods" -> the option of @cmd nearest to it, NULL when none is near. */
static const char *nearest_name(const struct command *cmd, const char *name)
{
	const char *names[MAX_NAMES] = { "help" };
	size_t n = 1;

	for (const struct spec_option *o = spec_options;
	     o->name && n < MAX_NAMES - 1; o++) {
		if (options_apply(cmd, o)) {
			names[n++] = o->name;
		}
	}
	return str_nearest(name, names);
}

int mistyped_option(const struct command *cmd, const char *bad, struct err *e)
{
	const bool is_long = str_starts(bad, "--");
	const char *meant = NULL;
	char name[64] = "";

	if (is_long) {
		snprintf(name, sizeof(name), "%.*s",
			 (int)strcspn(bad + 2, "="), bad + 2);
		meant = our_name(cmd, name);
	}
	if (!meant && is_of_slurm(cmd, bad, name)) {
		return err_hint(e, "options of Slurm come last: gpucheck %s "
				   "-N 4 -- --partition=gpu", cmd->name);
	}
	if (!meant && is_long) {
		meant = nearest_name(cmd, name);
	}
	if (meant) {
		return err_hint(e, "did you mean '--%s'?", meant);
	}
	return err_hint(e, "\"gpucheck %s -h\" lists its options", cmd->name);
}

/** Was the option of @letter typed by that? */
static bool by_letter(char letter, char *const argv[])
{
	for (; argv[0] && strcmp(argv[0], "--") != 0; argv++) {
		if (argv[0][0] == '-' && argv[0][1] == letter) {
			return true;
		}
	}
	return false;
}

int mistyped_letter(unsigned takes, const struct spec_option *o,
		    const char *text, char *const argv[], struct err *e)
{
	struct str word = STR_INIT;

	if (o->letter == 'w' && option_of(takes, "nodelist") &&
	    strspn(text, "0123456789") == 0 && by_letter(o->letter, argv)) {
		str_add_quoted(&word, text);
		err_hint(e, "nodes are chosen by --nodelist=%.60s",
			 str_text(&word));
		str_release(&word);
	}
	return -1;
}

/** Can @word be a value of @o?  One of a choice, or what is no rank. */
static bool can_be_value(const struct spec_option *o, const char *word)
{
	return o->words ? spec_word(o, word) != NULL :
			  word[strspn(word, "0123456789")] != '\0';
}

bool mistyped_value(unsigned takes, char *const argv[], struct err *e)
{
	for (; argv[0] && argv[1] && strcmp(argv[1], "--") != 0; argv++) {
		const struct spec_option *o =
			str_starts(argv[0], "--") ?
				option_of(takes, argv[0] + 2) : NULL;

		if (o && o->optional_value && argv[1][0] != '-' &&
		    can_be_value(o, argv[1])) {
			err_hint(e, "did you mean '--%s=%s'?", o->name,
				 argv[1]);
			return true;
		}
	}
	return false;
}
