/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_OPTION_WORDS_H
#define CLI_FRONT_OPTION_WORDS_H

#include "lib/base/err.h"
#include "lib/spec/spec.h"
#include "sbatch/args.h"

/** What --help=all is to popt, for which it has no value. */
#define OPTION_WORDS_HELP_ALL "help-all"

/**
 * The option of @takes, a mask of enum spec_command, that the word @word of a
 * command line names: "--transport=tcp", "--transport", or "--tr" where no
 * other begins so.  A whole name is that option, whatever else begins so.
 * NULL in *@found: none, or no option at all; --help is none of the table and
 * has the name "help".  Returns 0, or -1 with @e: there are several.
 */
int option_word(unsigned takes, const char *word,
		const struct spec_option **found, struct err *e);

/**
 * The words of @argv (NULL ends) as popt is to see them, to @out: long names
 * are whole, and an option whose value may be left out always has one, or else
 * popt takes the next word for it.  A flag may have one: --strict=0 takes back
 * what a file or the environment says.  Ends before "--".  Returns how many of
 * @argv that are, or -1 with @e.
 */
int option_words(unsigned takes, char *const argv[], struct args *out,
		 struct err *e);

#endif
