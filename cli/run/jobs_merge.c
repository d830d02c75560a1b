/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a run become one, and no older look undoes what a newer one has
 * written. */
#include "cli/run/jobs_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"

/** For another one who merges; then it is done beside him. */
#define WAIT_NS	    (20 * NS_PER_S)

/* ---- one at a time ------------------------------------------------------- */

/** The claim of who merges the run in @dir; -1 where there are no locks, or
 *  another one holds it for long. */
static int take_turn(const char *dir, char parts[PATH_MAX])
{
	const int64_t deadline_ns = clock_now_ns() + WAIT_NS;
	char who[64];
	int claim = -1;

	if (rundir_path(dir, JOBS_PARTS, parts, NULL) < 0) {
		return -1;
	}
	while (rundir_claim(parts, &claim, who, sizeof(who)) < 0 &&
	       clock_now_ns() < deadline_ns) {
		clock_sleep(100 * NS_PER_MS);
	}
	return claim;
}

/** Have others gone on since @j was looked at, @now being run.json as it is?
 *  Then they have written, or will write, what is newer. */
static bool is_stale(const struct jobs *j, const json_t *now)
{
	char name[32], path[PATH_MAX];

	if (jobs_go_on(j)) {
		return json_member(now, "ended_utc")[0] != '\0';
	}
	for (size_t i = 0; i < j->n; i++) {
		jobs_try_name(i, j->list[i].tries + 1, name);
		if (rundir_path(j->left.dir, name, path, NULL) == 0 &&
		    access(path, F_OK) == 0) {
			return true;
		}
	}
	return false;
}

int jobs_reopen(const struct jobs *j, struct err *e)
{
	char parts[PATH_MAX];
	const int claim = take_turn(j->left.dir, parts);
	json_t *now = rundir_read_json(j->left.dir, RUN_JSON, e);
	int rc = now ? 0 : -1;

	if (json_object_del(now, "ended_utc") == 0) {
		rc = rundir_write_json(j->left.dir, RUN_JSON, now, e);
	}
	json_decref(now);
	rundir_unclaim(parts, claim);
	return rc;
}

static void release(struct merge *m)
{
	for (size_t i = 0; i < m->n_tries; i++) {
		json_decref(m->tries[i].run);
	}
	free(m->tries);
	free(m->nodes);
	free(m->cells);
	free(m->growth);
}

static int merge(const struct jobs *j, bool ended, const json_t *now,
		 struct err *e)
{
	static const struct schema *const schemas[] = {
		&schema_p2p, &schema_facts, &schema_events
	};
	struct merge m = { .j = j, .ended = ended };
	int rc = merge_find(&m, e);

	rc = rc == 0 && m.n_tries > 0 ? merge_claim(&m, e) : rc;
	for (size_t i = 0; rc == 0 && m.n_tries > 0 &&
			   i < sizeof(schemas) / sizeof(*schemas); i++) {
		m.schema = schemas[i];
		rc = rundir_write_with(j->left.dir, schemas[i]->name, 0666,
				       merge_table, &m, e);
	}
	rc = rc == 0 ? merge_run(&m, now, e) : rc;
	release(&m);
	return rc;
}

int jobs_merge(const struct jobs *j, bool ends, struct err *e)
{
	char parts[PATH_MAX];
	const int claim = take_turn(j->left.dir, parts);
	json_t *now = rundir_read_json(j->left.dir, RUN_JSON, NULL);
	int rc = 0;

	if (!is_stale(j, now)) {
		rc = merge(j, ends && !jobs_go_on(j), now ? now : j->left.run,
			   e);
	}
	json_decref(now);
	rundir_unclaim(parts, claim);
	return rc;
}
