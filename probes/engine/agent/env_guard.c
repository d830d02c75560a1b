/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/agent/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "probes/plan/variant.h"

/** How a word of a name is compared: "_" separates words. */
enum match { WHOLE, BEGIN, END };

/* GPUCHECK_NCCL_LIB, NCCL_NET_PLUGIN, LD_PRELOAD, CUDA_INJECTION64_PATH,
 * RDMAV_DRIVERS, UCX_MODULE_DIR, PYTHONPATH, NCCL_DEBUG_FILE, ... */
static const struct {
	const char *text;
	enum match match;
} words[] = {
	{ .text = "LIB", .match = BEGIN },
	{ .text = "PLUGIN", .match = BEGIN },
	{ .text = "PRELOAD", .match = BEGIN },
	{ .text = "AUDIT", .match = WHOLE },
	{ .text = "INJECTION", .match = BEGIN },
	{ .text = "DRIVER", .match = BEGIN },
	{ .text = "MODULE", .match = BEGIN },
	{ .text = "PATH", .match = END },
	{ .text = "DIR", .match = WHOLE },
	{ .text = "HOME", .match = WHOLE },
	{ .text = "FILE", .match = END },
};

static bool word_matches(const char *word, size_t len, size_t k)
{
	const size_t n = strlen(words[k].text);

	if (len < n || (words[k].match == WHOLE && len != n)) {
		return false;
	}
	return strncasecmp(words[k].match == END ? word + len - n : word,
			   words[k].text, n) == 0;
}

/** Does the variable @name say which file a process loads, runs, reads or
 *  writes: a library, a plugin, a path? */
static bool names_file(const char *name)
{
	for (const char *at = name; *at != '\0'; at += *at == '_') {
		size_t len = strcspn(at, "_");

		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
			if (word_matches(at, len, k)) {
				return true;
			}
		}
		at += len;
	}
	return false;
}

/** Is @name=@value in one of the variants of the run's command line? */
static bool typed(const struct spec *own, const char *name, const char *value)
{
	struct variant v[VARIANTS_MAX];
	int n = variants_make(own, v, NULL);
	bool found = false;

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

int env_guard_check(const json_t *env, const struct spec *own, struct err *e)
{
	const char *name, *value, *ours;
	json_t *v;

	json_object_foreach((json_t *)env, name, v) {
		value = json_string_value(v);
		ours = getenv(name);
		if (!names_file(name) ||
		    (value != NULL && ours != NULL &&
		     strcmp(ours, value) == 0) ||
		    (value != NULL && typed(own, name, value))) {
			continue;
		}
		err_set(e, EPERM, "refused to set %s from the connection: it "
				  "names a file", name);
		return err_hint(e, "set %s where the agent is started, or put "
				"the run directory where this node can read "
				"it", name);
	}
	return 0;
}
