/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/launcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY(name) &launcher_##name,
static const struct launcher_ops *const launchers[] = { LAUNCHERS(ENTRY) NULL };

const struct launcher_ops *launcher_find(const char *name)
{
	for (size_t i = 0; launchers[i]; i++) {
		if (strcmp(launchers[i]->name, name) == 0) {
			return launchers[i];
		}
	}
	return NULL;
}

int launcher_find_job(const char *job, char dir[PATH_MAX], struct err *e)
{
	size_t i = 0;

	while (!launchers[i]->find) {
		i++;
	}
	return launcher_usable(launchers[i], e) < 0 ?
		       -1 : launchers[i]->find(job, dir, e);
}

const struct launcher_ops *launcher_choose(const struct spec *s, char *why,
					   size_t size, struct err *e)
{
	const struct launcher_ops *ops;
	const char *of;

	if (s->launcher[0]) {
		ops = launcher_find(s->launcher);
		if (!ops) {
			err_set(e, EINVAL, "no launcher '%s'", s->launcher);
			return NULL;
		}
		snprintf(why, size, "with --launcher=%s", ops->name);
		/* --dry-run is for looking at a script where there is no Slurm,
		 * too */
		return s->dry_run || launcher_usable(ops, e) == 0 ? ops : NULL;
	}
	/* the first one that an option implies, or that can be used */
	for (size_t i = 0; launchers[i]; i++) {
		ops = launchers[i];
		of = ops->variable ? getenv(ops->variable) : NULL;
		if (ops->chosen &&
		    (ops->option ? !spec_is_default(s, spec_find(ops->option)) :
				   launcher_usable(ops, NULL) == 0)) {
			snprintf(why, size, of ? "%s %.32s (%s)" : "%s",
				 ops->chosen, of, ops->variable);
			return ops;
		}
	}
	if (s->nodes > 1) {
		err_set(e, ENOENT, "%lld nodes need a launcher, and there is "
			"no 'sbatch' on PATH", (long long)s->nodes);
		err_hint(e, "--local=%lldx8 uses this machine as the nodes, "
			    "--ssh=HOSTS starts on others, --launcher=env "
			    "waits for agents that mpirun starts",
			 (long long)s->nodes);
		return NULL;
	}
	snprintf(why, size, "on this machine (no Slurm here)");
	return &launcher_local;
}
