/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

/** The loader of glibc reports a missing file by this text alone. */
#define ABSENT "cannot open shared object file: No such file"

/** dlerror() as text that is never NULL, less the @name it may begin with. */
static const char *dl_why(const char *name)
{
	const char *why = dlerror();
	size_t len = strlen(name);

	if (!why) {
		return "no reason given";
	}
	return str_starts(why, name) && str_starts(why + len, ": ") ?
		       why + len + 2 : why;
}

static void *find_symbol(void *handle, const struct dl_sym *s)
{
	return s->version ? dlvsym(handle, s->name, s->version) :
			    dlsym(handle, s->name);
}

const char *dl_reason(const char *text, char *buf, size_t size)
{
	const char *name = strchr(text, '\'');
	const char *end = name ? strchr(++name, '\'') : NULL;

	if (!end || !str_starts(text, "cannot load '")) {
		return text;
	}
	snprintf(buf, size, "%.*s cannot be loaded", (int)(end - name), name);
	return buf;
}

void *dl_load(const char *env, const char *const names[],
	      const struct dl_sym *syms, void *table, struct err *e)
{
	const char *wanted = env ? getenv(env) : NULL;
	const char *const from_env[] = { wanted, NULL };
	const char *const *name = wanted && *wanted ? from_env : names;
	struct err why = { 0 };
	void *handle = NULL, *found;

	/* the first one that loads; if none does, the reason of the first */
	for (size_t i = 0; name[i] && !handle; i++) {
		dlerror();
		handle = dlopen(name[i], RTLD_NOW | RTLD_LOCAL);
		if (!handle && i == 0) {
			const char *text = dl_why(name[i]);
			const bool absent = str_starts(text, ABSENT);

			err_set(&why, absent ? ENOENT : 0,
				"cannot load '%s': %s", name[i],
				absent ? "cannot open shared object file" :
					 text);
		}
	}
	for (const struct dl_sym *s = syms; handle && s->name; s++) {
		dlerror();
		if (!s->optional && !find_symbol(handle, s)) {
			err_set(&why, 0, "cannot find '%s': %s", s->name,
				dl_why(""));
			/* not closed: a CUDA library does not survive it */
			handle = NULL;
			break;
		}
	}
	if (!handle) {
		if (e) {
			*e = why;
		}
		return NULL;
	}
	for (const struct dl_sym *s = syms; s->name; s++) {
		found = find_symbol(handle, s);
		memcpy((char *)table + s->offset, &found, sizeof(found));
	}
	return handle;
}

const char *dl_path(const void *inside, char *path)
{
	Dl_info info;

	path[0] = '\0';
	if (dladdr(inside, &info) != 0 && info.dli_fname != NULL &&
	    !realpath(info.dli_fname, path)) {
		snprintf(path, PATH_MAX, "%s", info.dli_fname);
	}
	return path;
}
