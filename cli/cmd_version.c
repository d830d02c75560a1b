/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "cli/exit_code.h"
#include "lib/clock.h"
#include "lib/spawn.h"
#include "lib/str.h"
#include "probes/probes.h"

static const struct header {
	const char *name;
	int found;
} headers[] = {
	{ .name = "cuda.h", .found = HAVE_CUDA },
	{ .name = "nccl.h", .found = HAVE_NCCL },
	{ .name = "infiniband/verbs.h", .found = HAVE_VERBS },
	{ 0 }
};

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void print_library(const json_t *all, const char *name,
			  const json_t *library)
{
	char why[32];

	snprintf(why, sizeof(why), "%s_why", name);
	if (json_is_object(library)) {
		printf("%-10s%s  %s\n", name, text_of(library, "version"),
		       text_of(library, "path"));
	} else {
		printf("%-10snot found: %s\n", name, text_of(all, why));
	}
}

/** Every key of @all but the reasons is a library. */
static void print_libraries(const json_t *all)
{
	const char *name;
	json_t *library;

	json_object_foreach((json_t *)all, name, library) {
		if (!json_is_string(library)) {
			print_library(all, name, library);
		}
	}
}

static void print_gnuplot(void)
{
	char *const argv[] = { (char *)"gnuplot", (char *)"--version", NULL };
	struct str out = STR_INIT;
	struct spawn_status st;
	struct err e;

	if (spawn_capture(argv, &out, NULL, 256,
			  clock_now_ns() + 5 * NS_PER_S, &st, &e) < 0) {
		printf("%-10snot found: pictures need it, words and CSV do "
		       "not\n", "gnuplot");
	} else {
		const char *text = str_text(&out);
		const char *number = str_starts(text, "gnuplot ") ? text + 8 :
								    text;

		printf("%-10s%.*s\n", "gnuplot",
		       (int)strcspn(number, "\n"), number);
	}
	str_release(&out);
}

static int run_version(struct session *s)
{
	json_t *libraries = probes_libraries();

	(void)s;
	printf("gpucheck  %s\n", GPUCHECK_VERSION);
	printf("%-10s", "built");
	for (const struct header *h = headers; h->name; h++) {
		printf("%s%s %s", h == headers ? "" : ", ",
		       h->found ? "with" : "without", h->name);
	}
	putchar('\n');
	print_libraries(libraries);
	print_gnuplot();
	json_decref(libraries);
	return CODE_HEALTHY;
}

static const char *const examples[] = { "gpucheck version", NULL };

const struct command cmd_version = {
	.name = "version",
	.summary = "Print the version and the libraries found here.",
	.usage = "",
	.examples = examples,
	.takes = SPEC_CMD_PLAIN,
	.run = run_version,
};
