/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/args.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Take @arg (malloc'ed, or NULL when that failed) as the last argument. */
static void take(struct args *a, char *arg)
{
	char **grown = arg ? realloc(a->argv, (a->n + 2) * sizeof(char *)) :
			     NULL;

	if (!grown) {
		free(arg);
		a->failed = true;
		return;
	}
	a->argv = grown;
	a->argv[a->n++] = arg;
	a->argv[a->n] = NULL;
}

void args_add(struct args *a, const char *arg)
{
	take(a, strdup(arg));
}

void args_addf(struct args *a, const char *fmt, ...)
{
	char *arg;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&arg, fmt, ap) < 0) {
		arg = NULL;
	}
	va_end(ap);
	take(a, arg);
}

void args_words(struct args *a, const char *words)
{
	for (size_t n; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		args_addf(a, "%.*s", (int)n, words);
	}
}

void args_unset(struct args *a, const char *name)
{
	args_words(a, a->n > 0 ? "-u" : "env -u");
	args_add(a, name);
}

void args_add_all(struct args *a, char *const more[])
{
	for (; more && *more; more++) {
		args_add(a, *more);
	}
}

void args_add_places(struct args *a, const char *list, const struct spec *s)
{
	struct str left = STR_INIT;

	list = list ? list : s->nodelist;
	/* Slurm refuses a job of which the two lists overlap */
	if (list[0] && s->exclude[0]) {
		spec_nodes_left(s, list, &left);
		a->failed = a->failed || left.failed;
		list = str_text(&left);
	}
	if (list[0]) {
		args_addf(a, "--nodelist=%s", list);
	}
	str_release(&left);
	if (s->exclude[0]) {
		args_addf(a, "--exclude=%s", s->exclude);
	}
}

void args_add_srun(struct args *a, const struct spec *s)
{
	char **words = spec_words(s->srun_args);

	a->failed = a->failed || !words;
	args_add_all(a, words);
	free(words);
}

void args_line(const struct args *a, struct str *out)
{
	for (size_t i = 0; i < a->n; i++) {
		str_add(out, i ? " " : "");
		str_add_quoted(out, a->argv[i]);
	}
}

void args_release(struct args *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->argv[i]);
	}
	free(a->argv);
	*a = (struct args){ 0 };
}
