/* SPDX-License-Identifier: BSD-3-Clause */
/* The units of systemd that make the turns of a watch. */
#include "cli/run/chain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/config.h"
#include "cli/front/options.h"
#include "cli/front/site.h"
#include "sbatch/args.h"

/* ---- what a run goes by -------------------------------------------------- */

static void add_variable(const char *name, struct args *env)
{
	const char *value = getenv(name);

	if (value && value[0]) {
		args_addf(env, "%s=%s", name, value);
	}
}

void chain_environment(const struct command *cmd, struct args *env)
{
	/* a service of the system has no home */
	static const char *const names[] = {
		"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", CONFIG_ENV,
		SITE_EXPECTED_ENV, "GPUCHECK_NCCL_LIB", "GPUCHECK_CUDA_LIB",
		"GPUCHECK_NVML_LIB", "GPUCHECK_VERBS_LIB",
		"GPUCHECK_RDMACM_LIB",
	};
	char name[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		add_variable(names[i], env);
	}
	for (const struct spec_option *o = spec_options; o->name; o++) {
		if (options_apply(cmd, o) && o->type != SPEC_LIST) {
			add_variable(options_env_name(o, name, sizeof(name)),
				     env);
		}
	}
}

/* ---- words of a unit ----------------------------------------------------- */

/** A line of a unit is UTF-8, and ends where it ends. */
static bool fits(const char *text)
{
	json_t *json = json_string(text);
	const bool is = json != NULL;

	json_decref(json);
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f) {
			return false;
		}
	}
	return is;
}

static int refuse(const char *what, const char *text, const char *why,
		  struct err *e)
{
	return err_set(e, 0, "%s '%.200s' cannot stand in a unit of systemd: "
		       "%s", what, text, why);
}

static int check(const struct chain_place *p, struct err *e)
{
	static const char why[] = "control characters, or no UTF-8";
	const size_t n = strlen(p->cwd);

	if (!fits(p->self)) {
		return refuse("program", p->self, why, e);
	}
	if (!fits(p->dir)) {
		return refuse("directory", p->dir, why, e);
	}
	if (!fits(p->cwd)) {
		return refuse("working directory", p->cwd, why, e);
	}
	if (n == 0 || strchr(" \\", p->cwd[n - 1])) {
		return refuse("working directory", p->cwd,
			      "a blank or backslash at its end", e);
	}
	for (char *const *v = p->env; v && *v; v++) {
		if (!fits(*v)) {
			return refuse("variable", *v, why, e);
		}
	}
	return 0;
}

/** One word in quotes, where also each of @twice stands for itself when there
 *  are two. */
static void add_word(const char *word, const char *twice, struct str *out)
{
	str_addch(out, '"');
	for (; *word; word++) {
		if (*word == '"' || *word == '\\') {
			str_addch(out, '\\');
		} else if (strchr(twice, *word)) {
			str_addch(out, *word);
		}
		str_addch(out, *word);
	}
	str_addch(out, '"');
}

/** A path that is not quoted: all of the line. */
static void add_path(const char *path, struct str *out)
{
	for (; *path; path++) {
		str_add(out, *path == '%' ? "%" : "");
		str_addch(out, *path);
	}
}

int chain_units(const struct chain *c, const struct chain_place *p,
		struct str *service, struct str *timer, struct err *e)
{
	if (check(p, e) < 0) {
		return -1;
	}
	str_addf(service, "[Unit]\nDescription=gpucheck %s, again and again\n\n"
		 "[Service]\nType=oneshot\nWorkingDirectory=", c->words[1]);
	add_path(p->cwd, service);
	for (char *const *v = p->env; v && *v; v++) {
		str_add(service, "\nEnvironment=");
		add_word(*v, "%", service);
	}
	/* variables are looked for in all words but the program */
	str_add(service, "\nExecStart=");
	add_word(p->self, "%", service);
	str_add(service, " " CHAIN_TURN " ");
	add_word(p->dir, "%$", service);
	/* a oneshot is never started twice at a time */
	str_addf(service, "\nNice=10\nTimeoutStartSec=%" PRId64 "\n",
		 c->max_time_s + 900);
	str_addf(timer, "[Unit]\nDescription=gpucheck %s, every %" PRId64
		 " s\n\n[Timer]\nOnActiveSec=1\nOnUnitActiveSec=%" PRId64
		 "\nAccuracySec=1\n\n[Install]\nWantedBy=timers.target\n",
		 c->words[1], c->every_s, c->every_s);
	return 0;
}
