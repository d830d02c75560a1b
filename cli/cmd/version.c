/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck version: print the version, libraries and configuration. */
#include "cli/front/help.h"

#include <stdarg.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/front/options.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "probes/host/inventory.h"
#include "report/base/wrap.h"

#define NAME_WIDTH 10

#define WITH(found) ((found) ? "with" : "without")

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

/** The source of an option's value. */
struct version_setting {
	const char *name, *text;
	const struct command *of;	/* NULL: all that take it */
	enum option_source source;
	char where[320];
};

#define SETTINGS_MAX (CONFIG_FILES * CONFIG_MAX + SPEC_OPTIONS_MAX)

/** Print each of the @n settings of @all, and which one overrides it. */
static void print_settings(const struct version_setting *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct version_setting *x = &all[i], *best = x;

		for (size_t k = 0; k < n; k++) {
			if (strcmp(all[k].name, x->name) == 0 &&
			    all[k].source > best->source &&
			    (!all[k].of || all[k].of == x->of)) {
				best = &all[k];
			}
		}
		print_line(i ? "" : "options", "%s%s%s%s=%s, from %s%s%s",
			   x->of ? "[" : "", x->of ? x->of->name : "",
			   x->of ? "] " : "", x->name, x->text, x->where,
			   best != x ? "; not used: " : "",
			   best != x ? best->where : "");
	}
	if (n == 0) {
		print_line("options", "all as they are built in");
	}
}

/** Files of options, what they set, and what the environment does. */
static int print_config(const struct command *const *commands)
{
	struct version_setting *all = calloc(SETTINGS_MAX, sizeof(*all));
	struct config files[CONFIG_FILES];
	size_t n = 0;
	struct err e = { 0 };
	int rc = config_read(files, commands, &e);
	bool none = true;

	for (int i = 0; i < CONFIG_FILES; i++) {
		if (files[i].path[0]) {
			print_line(none ? "config" : "", "%s%s", files[i].path,
				   files[i].here ? "" :
				   rc < 0	 ? ": not read" :
						   ": not there");
			none = false;
		}
		for (size_t k = 0; rc == 0 && all && k < files[i].n; k++) {
			const struct config_value *v = &files[i].list[k];

			snprintf(all[n].where, sizeof(all[n].where),
				 "%.300s:%d", files[i].path, v->line);
			all[n].name = v->name;
			all[n].text = v->text;
			all[n].of = v->of;
			all[n++].source = SOURCE_SITE + 2 * (unsigned)i;
		}
	}
	if (none) {
		print_line("config", "no file is read: %s",
			   getenv(CONFIG_ENV) ? CONFIG_ENV "=" CONFIG_NONE :
						"HOME is not set");
	}
	if (rc == 0 && all) {
		for (const struct spec_option *o = spec_options; o->name; o++) {
			struct version_setting to = { .name = o->name,
					      .source = SOURCE_ENVIRONMENT };

			to.text = options_env(o, to.where, sizeof(to.where));
			if (to.text && to.text[0] && o->type != SPEC_LIST &&
			    spec_find(o->name) == o) {
				all[n++] = to;
			}
		}
		print_settings(all, n);
	}
	free(all);
	config_release(files);
	return rc < 0 ? talk_fail(&e, CODE_USAGE) : CODE_HEALTHY;
}

static int run_version(struct session *s)
{
	char *const argv[] = { (char *)"gnuplot", (char *)"--version", NULL };
	json_t *libraries = probes_libraries(), *library;
	struct str out = STR_INIT;
	struct spawn_status st;
	const char *name, *text;
	struct err e;
	char why[32];

	print_line("gpucheck", "%s", version_own());
	print_line("built", "%s cuda.h, %s nccl.h, %s infiniband/verbs.h",
		   WITH(HAVE_CUDA), WITH(HAVE_NCCL), WITH(HAVE_VERBS));
	/* every key but the reasons is a library */
	json_object_foreach(libraries, name, library) {
		snprintf(why, sizeof(why), "%s_why", name);
		if (json_is_object(library)) {
			print_line(name, "%s %s", text_of(library, "version"),
				   text_of(library, "path"));
			text = text_of(library, "also");
			if (text_of(library, "in")[0]) {
				print_line("", "found in %s%s%s",
					   text_of(library, "in"), text[0] ?
					   "; not used: " : "", text);
			}
		} else if (!json_is_string(library)) {
			print_line(name, "not found: %s",
				   text_of(libraries, why));
		}
	}
	if (spawn_capture(argv, &out, NULL, 256,
			  clock_now_ns() + 5 * NS_PER_S, &st, &e) < 0) {
		print_line("gnuplot", "not found: needed for pictures, not for "
			   "text and CSV");
	} else {
		text = str_text(&out);
		text += str_starts(text, "gnuplot ") ? 8 : 0;
		print_line("gnuplot", "%.*s", (int)strcspn(text, "\n"), text);
	}
	str_release(&out);
	json_decref(libraries);
	return s->spec.verbose ? print_config(s->commands) : CODE_HEALTHY;
}

static const char *const examples[] = {
	"gpucheck version", "gpucheck version -v", NULL
};

const struct command cmd_version = {
	.name = "version",
	.summary = "Print the version and the libraries found here.",
	.usage = "[OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_PLAIN | SPEC_CMD_VERSION,
	.run = run_version,
};
