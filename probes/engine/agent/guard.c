/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/agent/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/plan/plan.h"

/** More than one run can vary. */
#define ENV_MAX	   64
#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/** Settings: all that begin so, or only the one. */
static const struct {
	const char *text;
	bool whole;
} settings[] = {
	{ .text = "NCCL_" },
	{ .text = "UCX_" },
	{ .text = "CUDA_VISIBLE_DEVICES", .whole = true },
	{ .text = "CUDA_DEVICE_ORDER", .whole = true },
	{ .text = "CUDA_DEVICE_MAX_CONNECTIONS", .whole = true },
};

/** How a word of a name is compared: "_" separates words. */
enum match { WHOLE, BEGIN, END };

/** Those of them that are no mere setting, by a word that their names have: as
 *  NCCL, RCCL and UCX have them, and as the next one will be called. */
static const struct {
	const char *text;
	enum match match;
} words[] = {
	/* loaded: NCCL_{NET,TUNER,PROFILER,ENV,GIN,RMA}_PLUGIN,
	 * NCCL_IBVERBS_LIB, NCCL_LIBIBVERBS_SO, NCCL_CUDA_PATH, UCX_MODULES,
	 * UCX_MODULE_DIR, UCX_PLUGIN_PATH, UCX_DLOPEN_PROCESS_RPATH */
	{ .text = "PLUGIN", .match = BEGIN },
	{ .text = "LIB", .match = BEGIN },
	{ .text = "MODULE", .match = BEGIN },
	{ .text = "PATH", .match = END },
	/* run: UCX_GDB_COMMAND, UCX_ERROR_MAIL_TO */
	{ .text = "COMMAND", .match = WHOLE },
	{ .text = "CMD", .match = WHOLE },
	{ .text = "MAIL", .match = WHOLE },
	/* read or written: NCCL_{CONF,TOPO,GRAPH,DEBUG}_FILE,
	 * NCCL_TUNER_CONFIG_FILE, NCCL_{TOPO,GRAPH}_DUMP_FILE,
	 * NCCL_INSPECTOR_DUMP_DIR, NCCL_PROXY_PROFILE, UCX_LOG_FILE,
	 * UCX_{STATS,MEMTRACK}_DEST, UCX_POSIX_DIR, UCX_CONFIG_DIR */
	{ .text = "FILE", .match = END },
	{ .text = "FILES", .match = END },
	{ .text = "DIR", .match = WHOLE },
	{ .text = "DUMP", .match = BEGIN },
	{ .text = "DEST", .match = WHOLE },
	/* opened, and any process may ask there: NCCL_RAS_ADDR */
	{ .text = "RAS", .match = WHOLE },
};

/* Returns true if a word of @name is one of those that name a file, a library
 * or a command. */
static bool names_file(const char *name)
{
	for (const char *at = name; *at != '\0'; at += *at == '_') {
		size_t len = strcspn(at, "_");

		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
			const size_t n = strlen(words[k].text);
			if ((words[k].match == WHOLE ? len == n : len >= n) &&
			    strncmp(words[k].match == END ? at + len - n : at,
				    words[k].text, n) == 0) {
				return true;
			}
		}
		at += len;
	}
	return false;
}

/** Why a coordinator may not set @name; NULL: it may. */
static const char *refusal(const char *name, const char *value)
{
	bool known = false;

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		known |= settings[i].whole ?
				 strcmp(name, settings[i].text) == 0 :
				 str_starts(name, settings[i].text);
	}
	if (!known || name[strspn(name, NAME_CHARS)] != '\0') {
		return "it is not a setting of NCCL or UCX";
	}
	if (names_file(name)) {
		return "it may name a file, a library or a command";
	}
	if (value == NULL || strlen(value) >= SPEC_LIST_MAX) {
		return "its value is not a short text";
	}
	return strchr(value, '/') != NULL ? "its value is a path" : NULL;
}

/** Returns true if @name=@value is in this process's environment or in a
 *  variant of the run's command line. */
static bool is_own(const struct spec *own, const char *name, const char *value)
{
	const char *ours = getenv(name);
	struct variant v[VARIANTS_MAX];
	bool found = ours != NULL && value != NULL && strcmp(ours, value) == 0;
	int n = found || value == NULL ? 0 : variants_make(own, v, NULL);

	for (int i = 0; i < n && !found; i++) {
		const char *set = json_string_value(
			json_object_get(v[i].env, name));

		found = set != NULL && strcmp(set, value) == 0;
	}
	if (n > 0) {
		variants_release(v, n);
	}
	return found;
}

int guard_env(const json_t *env, const struct spec *own, struct err *e)
{
	const char *name;
	json_t *v;

	if (json_object_size(env) > ENV_MAX) {
		return err_set(e, EPERM, "refused to set %zu variables from "
					 "the connection: more than %d",
			       json_object_size(env), ENV_MAX);
	}
	json_object_foreach((json_t *)env, name, v) {
		const char *value = json_string_value(v);
		const char *why = refusal(name, value);

		if (why == NULL || is_own(own, name, value)) {
			continue;
		}
		err_set(e, EPERM, "refused to set %.64s from the connection: "
				  "%s", name, why);
		return err_hint(e, "set %.64s where the agent is started, or "
				"put the run directory where this node can "
				"read it", name);
	}
	return 0;
}

int guard_options(const json_t *options, const struct spec *own, struct err *e)
{
	const struct {
		const char *does, *wanted, *own;
	} paths[] = {
		{ "read", json_member(options, "sysroot"), own->sysroot },
		{ "write", json_member(options, "record"), own->record },
	};
	size_t i = 0, n = sizeof(paths) / sizeof(paths[0]);

	while (i < n && (paths[i].wanted[0] == '\0' ||
			 strcmp(paths[i].wanted, paths[i].own) == 0)) {
		i++;
	}
	if (i == n) {
		return 0;
	}
	err_set(e, EPERM, "refused to %s below '%.64s' as the connection asks",
		paths[i].does, paths[i].wanted);
	return err_hint(e, "put the run directory where this node can read it");
}
