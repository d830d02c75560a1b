/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/conduct.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

#include "cli/exit_code.h"
#include "cli/follow.h"
#include "lib/clock.h"
#include "lib/json.h"
#include "lib/rundir.h"
#include "lib/spawn.h"

static const struct conductor *const conductors[] = { &conductor_all, NULL };

/** Who runs the rungs of a job: it is inside an allocation. */
#define IN_JOB "srun"

static const struct conductor *find(const char *name)
{
	for (int i = 0; conductors[i]; i++) {
		if (strcmp(conductors[i]->name, name) == 0) {
			return conductors[i];
		}
	}
	return NULL;
}

int conduct_run(const struct conductor *c, struct rung_place *place,
		struct err *e)
{
	const int64_t max_ns = place->spec->max_time_ns;
	sigset_t before;
	int rc;

	place->takes = c->takes;
	place->deadline_ns = max_ns ? clock_now_ns() + max_ns : 0;
	follow_hold_signals(SIG_BLOCK, &before);
	rc = c->run(place, e);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/** What run.json says is to be done: 0, or -1 with @e. */
static int read_job(const char *dir, struct spec *s,
		    const struct conductor **c, struct err *e)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, e);
	char name[32] = "";
	int rc = -1;

	spec_init(s);
	if (run && json_get_text(run, "conductor", name, sizeof(name), e) == 0) {
		*c = find(name);
		rc = *c ? spec_from_json(s, json_object_get(run, "options"),
					 e) :
			  err_set(e, 0, "nobody conducts a run of '%s'", name);
	}
	json_decref(run);
	return rc;
}

int conduct_main(const char *dir, struct err *e)
{
	char self[PATH_MAX];
	struct spec spec;
	const struct conductor *c;
	struct rung_place place = {
		.self = self, .dir = dir, .spec = &spec, .launcher = IN_JOB,
	};

	if (read_job(dir, &spec, &c, e) < 0) {
		return CODE_USAGE;
	}
	if (spawn_self(self, sizeof(self), e) < 0 ||
	    conduct_run(c, &place, e) < 0) {
		return CODE_UNABLE;
	}
	return CODE_HEALTHY;
}

int conduct_note(const char *dir, json_t *more, struct err *e)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, e);
	int rc = -1;

	if (run && more && json_object_update(run, more) == 0) {
		rc = rundir_write_json(dir, RUN_JSON, run, e);
	} else if (run) {
		err_set(e, ENOMEM, "cannot write '%s'", RUN_JSON);
	}
	json_decref(more);
	json_decref(run);
	return rc;
}
