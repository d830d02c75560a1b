/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/process.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/host/sysfile.h"

const char *process_env(const char *vars, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = vars; at < vars + len;
	     at += strlen(at) + 1) {
		if (strncmp(at, name, n) == 0 && at[n] == '=') {
			return at + n + 1;
		}
	}
	return "";
}

long process_find(const char *root, const char *comm)
{
	char proc[PATH_MAX], name[64];
	struct dirent *entry;
	long found = 0;
	DIR *dir;

	snprintf(proc, sizeof(proc), "%.2000s/proc", root);
	dir = opendir(proc);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || (found > 0 && pid > found)) {
			continue;
		}
		sysfile_read(name, sizeof(name), "%s/%ld/comm", proc, pid);
		if (strcmp(name, comm) == 0) {
			found = pid;
		}
	}
	if (dir != NULL) {
		closedir(dir);
	}
	return found;
}
