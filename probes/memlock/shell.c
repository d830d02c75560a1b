/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shell that submits, and what Slurm makes of its limits: known where the
 * user typed, carried to the rows by run.json.
 */
#include "probes/memlock/memlock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "probes/memlock/look.h"

#define SCONTROL_NS   (5 * NS_PER_S)
#define QUICK_NS      (400 * NS_PER_MS)
#define SCONTROL_FILE "/scontrol-show-config"

/* Inside a batch script it is the batch step that typed. */
static enum memlock_context shell_context(const char *launcher)
{
	if (!spec_launcher_is(launcher, LAUNCHER_SLURM)) {
		return MEMLOCK_CONTEXTS;	/* none: the same as "here" */
	}
	return getenv("SLURM_JOB_ID") != NULL &&
			       getenv("SLURMD_NODENAME") != NULL ?
		       MEMLOCK_BATCH :
		       MEMLOCK_LOGIN;
}

static void say_limits(struct memlock *m, enum memlock_context context)
{
	struct limit_pair limit = memlock_limit_now();

	memlock_say_limit(m, context, &limit, "getrlimit");
	memlock_look_conf(m, context, geteuid());
}

/* What scontrol says; ENOENT in @e: there is no scontrol. */
static int ask_slurm(struct memlock *m, int64_t patience_ns, struct err *e)
{
	char *const argv[] = { (char *)"scontrol", (char *)"show",
			       (char *)"config", NULL };
	struct spawn_status st;
	char why[64];

	if (m->root[0] != '\0') {
		return memlock_read(m, SCONTROL_FILE, e);
	}
	if (!spawn_find("scontrol", NULL, 0)) {
		return err_set(e, ENOENT, "there is no scontrol");
	}
	str_reset(&m->text);
	if (spawn_capture(argv, &m->text, NULL, MEMLOCK_TEXT_MAX,
			  clock_now_ns() + patience_ns, &st, e) < 0) {
		return -1;
	}
	return st.exit_code == 0 ?
		       0 :
		       err_set(e, 0, "scontrol show config: %s",
			       spawn_status_text(&st, why, sizeof(why)));
}

static void say_propagation(struct memlock *m, int64_t patience_ns)
{
	struct slurm_limits s;
	struct memlock_row row;
	struct err e = { 0 };

	memlock_row_init(m, &row, MEMLOCK_LOGIN, CHECK_PROPAGATION,
			 "scontrol show config");
	if (ask_slurm(m, patience_ns, &e) == 0 &&
	    slurm_config_parse(&m->text, &s, &e) == 0) {
		STR_COPY(row.code, s.propagates ? CODE_PROPAGATED : CODE_KEPT);
		snprintf(row.detail, sizeof(row.detail),
			 "PropagateResourceLimits=%s, "
			 "PropagateResourceLimitsExcept=%s", s.limits,
			 s.except[0] != '\0' ? s.except : "(null)");
	} else if (e.code == ENOENT) {
		memlock_row_absent(&row, "there is no Slurm here");
	} else {
		memlock_row_unknown(&row, &e);
	}
	memlock_row_say(m, &row);
}

json_t *memlock_shell(const char *launcher, const struct spec *s)
{
	enum memlock_context context = shell_context(launcher);
	struct memlock m = { .needed_B = memlock_needed(s, 0),
			     .rows = json_array() };
	const char *node = getenv("SLURMD_NODENAME");

	snprintf(m.root, sizeof(m.root), "%s", s->sysroot);
	gethostname(m.node, sizeof(m.node) - 1);
	if (context == MEMLOCK_BATCH && node != NULL) {
		STR_COPY(m.node, node);
	}
	if (context != MEMLOCK_CONTEXTS) {
		say_limits(&m, context);
	}
	if (context != MEMLOCK_LOGIN) {
		memlock_say_absent(&m, MEMLOCK_LOGIN, CHECK_SOFT,
				   "no job was submitted from here");
	}
	say_propagation(&m, s->quiet ? QUICK_NS : SCONTROL_NS);
	str_release(&m.text);
	return m.rows;
}
