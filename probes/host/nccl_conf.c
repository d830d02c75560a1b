/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/nccl_conf.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "probes/host/inventory.h"
#include "probes/host/sysfile.h"

#define SITE_FILE   "/etc/nccl.conf"
#define OWN_FILE    "NCCL_CONF_FILE"
#define ENVIRONMENT "environment"
#define FILE_MAX    (64 * 1024)
/* NCCL has some 300; a message to the coordinator has to hold them. */
#define SETTINGS_MAX 512

/* NCCL's numbers of the versions that changed something. */
#define SINCE_OWN_FILE 22300
#define SINCE_HOME     23000

extern char **environ;

static bool since(int version, int then)
{
	return version == 0 || version >= then;
}

/* ---- one file ------------------------------------------------------------ */

const char *nccl_conf_next(const char *text, int version,
			   char name[NCCL_CONF_NAME],
			   char value[NCCL_CONF_VALUE])
{
	while (*text != '\0') {
		size_t len = strcspn(text, "\n"), n = strcspn(text, "=\n");
		const char *line = text;

		text += len + (text[len] == '\n');
		if (!str_starts(line, "NCCL_") || line[n] != '=' ||
		    n >= NCCL_CONF_NAME) {
			continue;
		}
		len -= since(version, SINCE_HOME) && line[len - 1] == '\r';
		snprintf(name, NCCL_CONF_NAME, "%.*s", (int)n, line);
		snprintf(value, NCCL_CONF_VALUE, "%.*s", (int)(len - n - 1),
			 line + n + 1);
		return text;
	}
	return NULL;
}

/* ---- all settings -------------------------------------------------------- */

static void add_setting(json_t *conf, const char *name, const char *value,
			const char *source)
{
	if (json_object_get(conf, name) == NULL &&
	    json_object_size(conf) < SETTINGS_MAX) {
		/* null without memory or valid UTF-8: then it is left out */
		json_object_set_new(conf, name,
				    json_pack("{s:s,s:s}", "value", value,
					      "source", source));
	}
}

static void add_file(json_t *conf, int version, const char *root,
		     const char *path)
{
	char name[NCCL_CONF_NAME], value[NCCL_CONF_VALUE];
	char *text = sysfile_whole(FILE_MAX, "%s%s", root, path);
	const char *at = text;

	while (at != NULL &&
	       (at = nccl_conf_next(at, version, name, value)) != NULL) {
		/* too late to name a file here, for NCCL as well */
		if (strcmp(name, OWN_FILE) != 0) {
			add_setting(conf, name, value, path);
		}
	}
	free(text);
}

json_t *nccl_conf_read(const char *root, int version)
{
	json_t *conf = json_object();
	const char *named;
	char path[PATH_MAX];
	char name[NCCL_CONF_NAME];

	for (char **at = environ; *at != NULL; at++) {
		size_t n = strcspn(*at, "=");

		if (str_starts(*at, "NCCL_") && (*at)[n] == '=' &&
		    n < sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)n, *at);
			add_setting(conf, name, *at + n + 1, ENVIRONMENT);
		}
	}
	named = since(version, SINCE_OWN_FILE) ? getenv(OWN_FILE) :
							     NULL;
	if (named == NULL || named[0] == '\0') {
		const struct passwd *user =
			since(version, SINCE_HOME) ? NULL : getpwuid(getuid());
		const char *home = since(version, SINCE_HOME) ? getenv("HOME") :
				   user			      ? user->pw_dir :
								NULL;

		snprintf(path, sizeof(path), "%.2000s/.nccl.conf",
			 home ? home : "");
		named = path;
	}
	add_file(conf, version, root, named);
	add_file(conf, version, root, SITE_FILE);
	return conf;
}

/* ---- one setting --------------------------------------------------------- */

const char *nccl_conf_get(const json_t *conf, const char *name,
			  const char **source)
{
	const json_t *setting = json_object_get(conf, name);
	const struct fact f = fact_of(setting);

	if (setting != NULL && source != NULL) {
		*source = f.source;
	}
	return setting != NULL ? f.value : NULL;
}

bool nccl_conf_of_file(const json_t *conf, const char *name)
{
	const char *source = ENVIRONMENT;

	nccl_conf_get(conf, name, &source);
	return strcmp(source, ENVIRONMENT) != 0;
}

bool nccl_conf_int(const json_t *conf, const char *name, int64_t min,
		   int64_t max, int64_t *value, const char **source)
{
	const char *from, *text = nccl_conf_get(conf, name, &from);
	long long number;

	if (text == NULL || text[0] == '\0') {
		return false;
	}
	errno = 0;
	number = strtoll(text, NULL, 0);
	if (errno != 0 || number < min || number > max) {
		return false;
	}
	*value = number;
	*source = from;
	return true;
}

void nccl_conf_apply(const json_t *conf)
{
	const char *name;
	json_t *setting;

	json_object_foreach((json_t *)conf, name, setting) {
		setenv(name, fact_of(setting).value, 0);
	}
}

void nccl_conf_facts(const json_t *conf, const char *root, json_t *facts)
{
	const char *name;
	json_t *setting;

	facts_add(facts, "node", "nccl_conf",
		  sysfile_there("%s" SITE_FILE, root) ? "yes" : "no", "",
		  SITE_FILE);
	json_object_foreach((json_t *)conf, name, setting) {
		if (nccl_conf_of_file(conf, name)) {
			const struct fact f = fact_of(setting);

			facts_add(facts, "node", name, f.value, "", f.source);
		}
	}
}
