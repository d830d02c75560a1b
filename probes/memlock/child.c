/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "probes/host/sysfile.h"
#include "probes/memlock/look.h"
#include "probes/memlock/memlock.h"
#include "probes/node/child.h"

/* ---- need ---------------------------------------------------------------- */

/* For a job that uses @hcas HCAs, at least one is counted; or what the user
 * says. */
static int64_t memlock_needed(const struct spec *s, int hcas)
{
	if (s->need_B > 0) {
		return s->need_B;
	}
	return (hcas > 0 ? hcas : 1) * NEED_HCA_B;
}

/* ---- slurm --------------------------------------------------------------- */

/* Returns true if the list "CPU,MEMLOCK" has the word @name, or ALL. */
static bool list_has(const char *list, const char *name)
{
	char word[32];

	while (*list != '\0') {
		size_t len = strcspn(list, ", \t");

		snprintf(word, sizeof(word), "%.*s", (int)len, list);
		if (strcasecmp(word, name) == 0 ||
		    strcasecmp(word, "ALL") == 0 ||
		    (str_starts(word, "RLIMIT_") &&
		     strcasecmp(word + 7, name) == 0)) {
			return true;
		}
		list += len;
		list += strspn(list, ", \t");
	}
	return false;
}

/*
 * Slurm takes all limits along unless told otherwise; a list of exceptions
 * means all but these.
 */
static bool propagates(const struct slurm_limits *s)
{
	bool unset = s->limits[0] == '\0' || s->limits[0] == '(';
	bool excepts = s->except[0] != '\0' && s->except[0] != '(' &&
		       strcasecmp(s->except, "NONE") != 0;

	if (excepts && (unset || strcasecmp(s->limits, "NONE") == 0 ||
			strcasecmp(s->limits, "ALL") == 0)) {
		return !list_has(s->except, "MEMLOCK");
	}
	return unset || list_has(s->limits, "MEMLOCK");
}

int slurm_config_parse(const struct str *text, struct slurm_limits *out,
		       struct err *e)
{
	const char *limits, *except;
	bool seen = false;
	struct text_lines l;

	*out = (struct slurm_limits){ 0 };
	text_lines_init(&l, text, e);
	while (text_lines_next(&l)) {
		limits = text_value(l.text, "PropagateResourceLimits");
		except = text_value(l.text, "PropagateResourceLimitsExcept");
		if (limits != NULL) {
			STR_COPY(out->limits, limits);
			seen = true;
		}
		if (except != NULL) {
			STR_COPY(out->except, except);
		}
	}
	if (l.rc < 0) {
		return -1;
	}
	if (!seen) {
		return err_set(e, 0, "no line 'PropagateResourceLimits'");
	}
	out->propagates = propagates(out);
	return 0;
}

/* ---- shell --------------------------------------------------------------- */

/*
 * The shell that submits, and what Slurm makes of its limits: known where the
 * user typed, carried to the rows by run.json.
 */

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

/* Ask scontrol; ENOENT in @e: there is no scontrol. */
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
		struct limit_pair limit = memlock_limit_now();

		memlock_say_limit(&m, context, &limit, "getrlimit");
		memlock_look_conf(&m, context, geteuid());
	}
	if (context != MEMLOCK_LOGIN) {
		memlock_say_absent(&m, MEMLOCK_LOGIN, CHECK_SOFT,
				   "no job was submitted from here");
	}
	say_propagation(&m, s->quiet ? QUICK_NS : SCONTROL_NS);
	str_release(&m.text);
	return m.rows;
}

/* ---- child --------------------------------------------------------------- */

#define HCAS_MAX 64

static int look(const struct node_args *args, void (*then)(struct memlock *m))
{
	struct memlock m = { .cgroup_B = MEMLOCK_UNLIMITED };
	char hcas[HCAS_MAX][64];

	STR_COPY(m.node, args->node);
	snprintf(m.root, sizeof(m.root), "%s", args->spec.sysroot);
	m.hcas = (int)sysfile_list(hcas, HCAS_MAX, "%s/sys/class/infiniband",
				   m.root);
	m.needed_B = memlock_needed(&args->spec, m.hcas);
	m.in_step = m.root[0] == '\0' && getenv("SLURM_JOB_ID") != NULL &&
		    getenv("SLURM_PROCID") != NULL;
	memlock_look_contexts(&m);
	memlock_look_neighbours(&m, m.in_step ? MEMLOCK_STEP : MEMLOCK_HERE);
	if (then != NULL) {
		then(&m);
	}
	str_release(&m.text);
	return 0;
}

int memlock_child(const struct node_args *args, struct err *e)
{
	(void)e;
	return look(args, memlock_prove);
}

int memlock_limits_child(const struct node_args *args, struct err *e)
{
	(void)e;
	return look(args, NULL);
}
