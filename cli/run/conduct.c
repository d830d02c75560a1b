/* SPDX-License-Identifier: BSD-3-Clause */
/* Run the steps of a conductor, here or as a hidden command inside a job. */
#include "cli/run/probe_run.h"

#include <limits.h>
#include <signal.h>
#include <string.h>

#include "cli/front/follow.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/spawn.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"

int conduct_run(const struct conductor *c, struct step_place *place,
		struct err *e)
{
	const int64_t max_ns = place->spec->max_time_ns;
	sigset_t before;
	int rc;

	place->takes = c->takes;
	if (place->deadline_ns == 0 && max_ns) {
		place->deadline_ns = clock_now_ns() + max_ns;
	}
	follow_hold_signals(&before);
	rc = c->run(place, e);
	/* it has ended; only the report is left */
	follow_release_signals(&before);
	return rc;
}

/** Runs the agents of the first probe, with their exit code in *@code.  Returns
 *  true if it ended in order. */
static bool run_probe(const char *probe, const struct step_place *place,
		      int *code, struct err *e)
{
	const struct launch_request r = {
		.self = place->self, .dir = place->dir, .probe = probe,
		.spec = place->spec,
	};
	const struct launcher_ops *ops = launcher_find(place->launcher);
	struct launch_state last;
	struct launch *l;
	struct watch watch;
	enum follow_end end;
	sigset_t before;

	follow_hold_signals(&before);
	l = launcher_start(ops, &r, e);
	if (!l) {
		follow_release_signals(&before);
		*code = CODE_UNABLE;
		return false;
	}
	end = follow_run(place->dir, probe, place->spec, ops, l, &watch,
			 &last);
	follow_release_signals(&before);
	follow_leave(ops, l);
	launcher_free(ops, l);
	*code = last.exit_code > 0 ? last.exit_code :
		watch.planned	   ? CODE_HEALTHY : CODE_UNABLE;
	return end == FOLLOW_OVER && watch.planned && watch.ended;
}

static const struct conductor *const conductors[] = {
	&conductor_all, &conductor_diagnose, NULL
};

/** Read the order in run.json. Returns 0, or -1 with @e. */
static int read_job(const char *dir, struct spec *s,
		    const struct conductor **c, char probe[32],
		    struct step_place *place, struct err *e)
{
	json_t *run = rundir_check_own(dir, e) == 0 ? rundir_read_run(dir, e) :
						      NULL;
	const struct launcher_ops *ops = launcher_find(
		run_file(run).launcher);
	char name[32] = "";
	int rc = -1;

	spec_init(s);
	if (run && json_get_text(run, "probe", probe, 32, e) == 0 &&
	    json_get_text(run, "conductor", name, sizeof(name), e) == 0) {
		*c = NULL;
		for (int i = 0; conductors[i]; i++) {
			if (strcmp(conductors[i]->name, name) == 0) {
				*c = conductors[i];
			}
		}
		place->launcher = ops && ops->inside ? ops->inside->name :
						       NULL;
		rc = *c && place->launcher ?
			     spec_from_json(s, run_file(run).options, e) :
			     err_set(e, 0, "cannot start the probes of '%s'",
				     name);
		if (rc == 0 && !(*c)->after && !rundir_has(dir, RUN_RESUME)) {
			rc = run_check_new(run, dir, e);
		}
	}
	json_decref(run);
	return rc;
}

int conduct_main(const char *dir, const struct command *const *commands,
		 struct err *e)
{
	char self[PATH_MAX], probe[32];
	struct spec spec;
	const struct conductor *c;
	struct step_place place = {
		.self = self, .dir = dir, .whole = dir, .spec = &spec,
		.commands = commands,
	};
	int code = CODE_HEALTHY;

	if (read_job(dir, &spec, &c, probe, &place, e) < 0) {
		return CODE_USAGE;
	}
	if (spawn_self(self, sizeof(self), e) < 0) {
		return CODE_UNABLE;
	}
	if (c->after) {
		/* --time-limit is the limit of both */
		if (spec.max_time_ns) {
			place.deadline_ns = clock_now_ns() + spec.max_time_ns;
		}
		if (!run_probe(probe, &place, &code, e)) {
			return code;
		}
	}
	return conduct_run(c, &place, e) < 0 ? CODE_UNABLE : code;
}
