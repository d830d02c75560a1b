/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_ARGS_H
#define SBATCH_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/str.h"
#include "lib/spec/spec.h"

/** A growing argument vector; check @failed once, before use. */
struct args {
	char **argv;	/* NULL-ended once something was added */
	size_t n;
	bool failed;	/* memory ran out */
};

void args_add(struct args *a, const char *arg);
void args_addf(struct args *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** Each of @words, which one blank parts. */
void args_words(struct args *a, const char *words);
/** Start a command without variable @name of the environment: "env -u NAME", to
 *  which the next one adds.  First of all. */
void args_unset(struct args *a, const char *name);
/** All of @more, NULL-ended; NULL adds nothing. */
void args_add_all(struct args *a, char *const more[]);
/** Which nodes, for a command of Slurm: @list, or NULL for what @s says. */
void args_add_places(struct args *a, const char *list, const struct spec *s);
/** What --srun-args of @s has, parted and quoted as in a shell. */
void args_add_srun(struct args *a, const struct spec *s);
/** Append them to @out as a line for a shell. */
void args_line(const struct args *a, struct str *out);
void args_release(struct args *a);	/* safe on a zeroed one */

#endif
