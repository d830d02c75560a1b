/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/history_dir.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/hash.h"
#include "lib/data/rundir.h"

/** "$VARIABLE/TAIL", or "$HOME/BELOW/TAIL"; false where neither is set or it
 *  is too long. */
static bool below_home(const char *variable, const char *below,
		       const char *tail, char path[PATH_MAX])
{
	const char *base = getenv(variable), *home = getenv("HOME");
	int n;

	/* a relative one is to be ignored, says the specification */
	if (base && base[0] == '/') {
		n = snprintf(path, PATH_MAX, "%s/%s", base, tail);
	} else if (below && home && home[0] == '/') {
		n = snprintf(path, PATH_MAX, "%s/%s/%s", home, below, tail);
	} else {
		return false;
	}
	return n < PATH_MAX;
}

/** Make @path and the folders above it, for nobody else; 0 or -1. */
static int make_folders(const char *path)
{
	char part[PATH_MAX];

	for (const char *c = path + 1; *c; c++) {
		if (*c == '/') {
			snprintf(part, sizeof(part), "%.*s", (int)(c - path),
				 path);
			mkdir(part, 0700);
		}
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -1 : 0;
}

static int make(const char *name, bool usual)
{
	return usual ? make_folders(name) :
	       mkdir(name, 0777) < 0 && errno != EEXIST ? -1 : 0;
}

int history_dir(const char *wanted, bool write, char path[PATH_MAX],
		struct err *e)
{
	const bool usual = !wanted[0] || strcmp(wanted, "-") == 0;
	char name[PATH_MAX];

	if (!usual) {
		snprintf(name, sizeof(name), "%s", wanted);
	} else if (!below_home("XDG_DATA_HOME", ".local/share",
			       "gpucheck/history", name)) {
		err_set(e, 0, "there is no home directory for the history");
		return err_hint(e, "name a directory with --history=DIR");
	}
	if (write && make(name, usual) < 0) {
		return err_set(e, errno, "cannot make the history '%s'", name);
	}
	if (!realpath(name, path)) {
		err_set(e, errno, "cannot open the history '%s'", name);
		return err_hint(e, "runs with --history make it; --history=DIR "
				   "names another one");
	}
	if (write && rundir_check_own_as("history", path, e) < 0) {
		return err_hint(e, "name a directory of your own with "
				   "--history=DIR");
	}
	return 0;
}

static bool cache_folder(const char *variable, const char *below,
			 char path[PATH_MAX])
{
	char name[PATH_MAX];

	return below_home(variable, below, "gpucheck", name) &&
	       make_folders(name) == 0 && realpath(name, path) &&
	       rundir_is_here(path) && rundir_check_own(path, NULL) == 0;
}

bool history_index(const char *dir, char path[PATH_MAX])
{
	char folder[PATH_MAX];
	uint64_t hash = 0;

	if (!cache_folder("XDG_CACHE_HOME", ".cache", folder) &&
	    !cache_folder("XDG_RUNTIME_DIR", NULL, folder)) {
		return false;
	}
	for (const char *c = dir; *c; c++) {
		hash = hash_mix(hash, (uint64_t)(unsigned char)*c, 0, 0);
	}
	return snprintf(path, PATH_MAX, "%s/history-%016llx.sqlite", folder,
			(unsigned long long)hash) < PATH_MAX;
}
