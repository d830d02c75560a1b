/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/base/exit_code.h"
#include "cli/front/screen.h"
#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/version.h"
#include "probes/probes.h"
#include "report/base/wrap.h"

#define NAME_WIDTH 10

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

/** "NAME      TEXT", in lines that fit. */
__attribute__((format(printf, 2, 3)))
static void print_line(const char *name, const char *fmt, ...)
{
	struct str out = STR_INIT;
	struct wrap w = { .out = &out, .width = screen_width(STDOUT_FILENO) };
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	str_addf(&out, "%-*s", NAME_WIDTH, name);
	wrap_text(&w, NAME_WIDTH, text);
	screen_print(&out, stdout);
	str_release(&out);
}

/** Every key of @all but the reasons is a library. */
static void print_libraries(json_t *all)
{
	char why[32];
	const char *name;
	json_t *library;

	json_object_foreach(all, name, library) {
		snprintf(why, sizeof(why), "%s_why", name);
		if (json_is_object(library)) {
			print_line(name, "%s %s", text_of(library, "version"),
				   text_of(library, "path"));
		} else if (!json_is_string(library)) {
			print_line(name, "not found: %s", text_of(all, why));
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
		print_line("gnuplot", "not found: needed for pictures, not for "
			   "text and CSV");
	} else {
		const char *text = str_text(&out);
		const char *number = str_starts(text, "gnuplot ") ? text + 8 :
								    text;

		print_line("gnuplot", "%.*s", (int)strcspn(number, "\n"),
			   number);
	}
	str_release(&out);
}

static int run_version(struct session *s)
{
	json_t *libraries = probes_libraries();
	struct str built = STR_INIT;

	(void)s;
	for (const struct header *h = headers; h->name; h++) {
		str_addf(&built, "%s%s %s", h == headers ? "" : ", ",
			 h->found ? "with" : "without", h->name);
	}
	print_line("gpucheck", "%s", version_own());
	print_line("built", "%s", str_text(&built));
	str_release(&built);
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
