/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shell that submits, and what Slurm makes of its limits: known where the
 * user typed, carried to the rows by run.json.
 */
#include "probes/memlock/memlock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "probes/memlock/look.h"

#define SCONTROL_NS   (5 * NS_PER_S)
#define QUICK_NS      (400 * NS_PER_MS)
#define SCONTROL_FILE "/scontrol-show-config"

static int64_t limit_of(rlim_t value)
{
	return value == RLIM_INFINITY || value > INT64_MAX ?
		       MEMLOCK_UNLIMITED :
		       (int64_t)value;
}

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

static void add_row(json_t *rows, const struct memlock_row *row)
{
	json_array_append_new(rows, record_json(&schema_memlock, row));
}

static void add_limits(const struct memlock *m, json_t *rows,
		       enum memlock_context context)
{
	struct memlock_row row;
	struct rlimit r;

	if (getrlimit(RLIMIT_MEMLOCK, &r) < 0) {
		return;
	}
	memlock_row_init(m, &row, context, CHECK_SOFT);
	STR_COPY(row.source, "getrlimit");
	memlock_judge_soft(&row, limit_of(r.rlim_cur), m->needed_B);
	add_row(rows, &row);
	memlock_row_init(m, &row, context, CHECK_HARD);
	STR_COPY(row.source, "getrlimit");
	row.limit_B = limit_of(r.rlim_max);
	row.outcome = OUTCOME_OK;
	add_row(rows, &row);
	memlock_row_init(m, &row, context, CHECK_LIMITS_CONF);
	memlock_look_conf(m, &row, geteuid());
	add_row(rows, &row);
}

/* What scontrol says; ENOENT in @e: there is no scontrol. */
static int ask_slurm(const struct memlock *m, int64_t patience_ns,
		     struct str *text, struct err *e)
{
	char *const argv[] = { (char *)"scontrol", (char *)"show",
			       (char *)"config", NULL };
	struct spawn_status st;
	char why[64];

	if (m->root[0] != '\0') {
		return memlock_read(m, SCONTROL_FILE, text, e);
	}
	if (!spawn_find("scontrol", NULL, 0)) {
		return err_set(e, ENOENT, "there is no scontrol");
	}
	if (spawn_capture(argv, text, NULL, MEMLOCK_TEXT_MAX,
			  clock_now_ns() + patience_ns, &st, e) < 0) {
		return -1;
	}
	if (st.exit_code != 0) {
		return err_set(e, 0, "scontrol show config: %s",
			       spawn_status_text(&st, why, sizeof(why)));
	}
	return 0;
}

static void add_propagation(const struct memlock *m, int64_t patience_ns,
			    json_t *rows)
{
	struct slurm_limits s;
	struct str text = STR_INIT;
	struct memlock_row row;
	struct err e = { 0 };

	memlock_row_init(m, &row, MEMLOCK_LOGIN, CHECK_PROPAGATION);
	STR_COPY(row.source, "scontrol show config");
	if (ask_slurm(m, patience_ns, &text, &e) < 0 && e.code == ENOENT) {
		memlock_row_absent(&row, "there is no Slurm here");
	} else if (e.text[0] != '\0' ||
		   slurm_config_parse(str_text(&text), text.len, &s, &e) < 0) {
		memlock_row_unknown(&row, &e);
	} else {
		row.outcome = OUTCOME_OK;
		STR_COPY(row.code, s.propagates ? CODE_PROPAGATED : CODE_KEPT);
		snprintf(row.detail, sizeof(row.detail),
			 "PropagateResourceLimits=%s, "
			 "PropagateResourceLimitsExcept=%s", s.limits,
			 s.except[0] != '\0' ? s.except : "(null)");
	}
	str_release(&text);
	add_row(rows, &row);
}

json_t *memlock_shell(const char *launcher, const struct spec *s)
{
	enum memlock_context context = shell_context(launcher);
	struct memlock m = { .needed_B = memlock_needed(s, 0) };
	const char *node = getenv("SLURMD_NODENAME");
	json_t *rows = json_array();
	struct memlock_row row;

	STR_COPY(m.root, s->sysroot);
	gethostname(m.node, sizeof(m.node) - 1);
	if (context == MEMLOCK_BATCH && node != NULL) {
		STR_COPY(m.node, node);
	}
	if (context != MEMLOCK_CONTEXTS) {
		add_limits(&m, rows, context);
	}
	if (context != MEMLOCK_LOGIN) {
		memlock_row_init(&m, &row, MEMLOCK_LOGIN, CHECK_SOFT);
		memlock_row_absent(&row, "no job was submitted from here");
		add_row(rows, &row);
	}
	add_propagation(&m, s->quiet ? QUICK_NS : SCONTROL_NS, rows);
	return rows;
}
