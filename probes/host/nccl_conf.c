/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/nccl_conf.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "probes/host/facts.h"
#include "probes/host/sysfile.h"

#define SITE_FILE "/etc/nccl.conf"
#define FILE_TEXT 16384

const char *nccl_conf_next(const char *text, char name[NCCL_CONF_NAME],
			   char value[NCCL_CONF_VALUE])
{
	while (*text != '\0') {
		size_t len = strcspn(text, "\n"), n = strcspn(text, "=\n");
		const char *end = text + len + (text[len] == '\n');

		if (str_starts(text, "NCCL_") && text[n] == '=' &&
		    n < NCCL_CONF_NAME && len - n - 1 < NCCL_CONF_VALUE) {
			snprintf(name, NCCL_CONF_NAME, "%.*s", (int)n, text);
			snprintf(value, NCCL_CONF_VALUE, "%.*s",
				 (int)(len - n - 1), text + n + 1);
			return end;
		}
		text = end;
	}
	return NULL;
}

/* The first file that has a setting is the one that counts. */
static void add_file(const char *path, const char *source, json_t *seen,
		     json_t *facts)
{
	char name[NCCL_CONF_NAME], value[NCCL_CONF_VALUE];
	static char text[FILE_TEXT];
	const char *at = text;

	sysfile_read(text, sizeof(text), "%s", path);
	while ((at = nccl_conf_next(at, name, value)) != NULL) {
		if (getenv(name) == NULL && !json_object_get(seen, name)) {
			json_object_set_new(seen, name, json_true());
			facts_add(facts, "node", name, value, "", source);
		}
	}
}

/* As NCCL looks for it. */
static void add_own_file(json_t *seen, json_t *facts)
{
	const char *named = getenv("NCCL_CONF_FILE"), *home = getenv("HOME");
	char path[PATH_MAX];

	if (named != NULL && named[0] != '\0') {
		snprintf(path, sizeof(path), "%s", named);
	} else {
		snprintf(path, sizeof(path), "%.2000s/.nccl.conf",
			 home != NULL ? home : "");
	}
	add_file(path, path, seen, facts);
}

void nccl_conf_facts(const char *root, json_t *facts)
{
	json_t *seen = json_object();
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.2000s" SITE_FILE, root);
	facts_add(facts, "node", "nccl_conf",
		  access(path, R_OK) == 0 ? "yes" : "no", "", SITE_FILE);
	if (root[0] == '\0') {
		add_own_file(seen, facts);
	}
	add_file(path, SITE_FILE, seen, facts);
	json_decref(seen);
}
