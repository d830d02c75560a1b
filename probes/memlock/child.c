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
#include "probes/node/child.h"

/* ---- need ---------------------------------------------------------------- */

/* Return the locked memory that a job needs with @hcas HCAs (at least one is
 * counted), or as the user says. */
static int64_t needed_bytes(const struct spec *s, int hcas)
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

int slurm_config_parse(const struct str *text, struct slurm_limits *out,
		       struct err *e)
{
	const char *limits, *except;
	bool seen = false, unset;
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
	/* Slurm takes all limits along unless told otherwise; a list of
	 * exceptions means all but these */
	unset = out->limits[0] == '\0' || out->limits[0] == '(';
	if (out->except[0] != '\0' && out->except[0] != '(' &&
	    strcasecmp(out->except, "NONE") != 0 &&
	    (unset || strcasecmp(out->limits, "NONE") == 0 ||
	     strcasecmp(out->limits, "ALL") == 0)) {
		out->propagates = !list_has(out->except, "MEMLOCK");
	} else {
		out->propagates = unset || list_has(out->limits, "MEMLOCK");
	}
	return 0;
}

/* ---- shell --------------------------------------------------------------- */

/*
 * The shell that submits, and whether Slurm propagates its limits: read where
 * the command was typed, and passed on to the rows in run.json.
 */

#define SCONTROL_NS   (5 * NS_PER_S)
#define QUICK_NS      (400 * NS_PER_MS)
#define SCONTROL_FILE "/scontrol-show-config"

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

json_t *memlock_shell(const char *launcher, const struct spec *s)
{
	/* of no context where no job is submitted: the shell is as "here" */
	enum memlock_context context = MEMLOCK_CONTEXTS;
	struct memlock m = { .needed_B = needed_bytes(s, 0),
			     .rows = json_array() };
	const char *node = getenv("SLURMD_NODENAME");
	struct slurm_limits limits;
	struct memlock_row row;
	struct err e = { 0 };

	if (spec_launcher_is(launcher, LAUNCHER_SLURM)) {
		/* a command inside a batch script runs in the batch step */
		context = getenv("SLURM_JOB_ID") != NULL && node != NULL ?
				  MEMLOCK_BATCH :
				  MEMLOCK_LOGIN;
	}
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
	memlock_row_init(&m, &row, MEMLOCK_LOGIN, CHECK_PROPAGATION,
			 "scontrol show config");
	if (ask_slurm(&m, s->quiet ? QUICK_NS : SCONTROL_NS, &e) == 0 &&
	    slurm_config_parse(&m.text, &limits, &e) == 0) {
		STR_COPY(row.code,
			 limits.propagates ? CODE_PROPAGATED : CODE_KEPT);
		snprintf(row.detail, sizeof(row.detail),
			 "PropagateResourceLimits=%s, "
			 "PropagateResourceLimitsExcept=%s", limits.limits,
			 limits.except[0] != '\0' ? limits.except : "(null)");
	} else if (e.code == ENOENT) {
		memlock_row_absent(&row, "there is no Slurm here");
	} else {
		memlock_row_unknown(&row, &e);
	}
	memlock_row_say(&m, &row);
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
	m.needed_B = needed_bytes(&args->spec, m.hcas);
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
