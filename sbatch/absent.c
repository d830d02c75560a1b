/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/absent.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"

/** The longest DIR/absent that is taken over. */
#define TEXT_MAX (16 << 20)

static bool leaves_out(const struct launch_request *r, const char *name)
{
	return hostlist_has(r->spec->exclude, name) ||
	       (r->nodelist ? !hostlist_has(r->nodelist, name) :
			      spec_leaves_out(r->spec, name));
}

void absent_list(const struct launch_request *r, struct str *names)
{
	FILE *f = rundir_open(r->dir, RUN_ABSENT, NULL);
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		json_t *news = json_loads(line, 0, NULL);
		const char *node = run_entry_of(news).node;

		if (node[0] && strspn(node, HOSTLIST_NAME_CHARS) ==
					strlen(node) &&
		    !leaves_out(r, node) &&
		    !hostlist_has(str_text(names), node)) {
			str_addf(names, "%s%s", names->len > 0 ? "," : "",
				 node);
		}
		json_decref(news);
	}
	free(line);
	if (f) {
		fclose(f);
	}
}

void absent_forget(const char *dir, const char *whole)
{
	char path[PATH_MAX];
	char *text = whole ? rundir_read_text(whole, RUN_ABSENT, TEXT_MAX,
					      NULL, NULL) : NULL;

	if (text) {
		rundir_write_text(dir, RUN_ABSENT, text, 0666, NULL);
	} else if (rundir_path(dir, RUN_ABSENT, path, NULL) == 0) {
		unlink(path);
	}
	free(text);
}
