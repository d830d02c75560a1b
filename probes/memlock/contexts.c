/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LOCKED "Max locked memory"

/* ---- one context ------------------------------------------------------- */

void memlock_judge_soft(struct memlock_row *row, int64_t soft_B,
			int64_t needed_B)
{
	char have[32], need[32];

	row->limit_B = soft_B;
	row->needed_B = needed_B;
	row->outcome = OUTCOME_OK;
	if (soft_B < needed_B) {
		row->outcome = OUTCOME_ERROR;
		STR_COPY(row->code, CODE_BELOW_NEED);
		snprintf(row->detail, sizeof(row->detail),
			 "%s, and an NCCL job is estimated to need %s",
			 memlock_text(soft_B, have, sizeof(have)),
			 memlock_text(needed_B, need, sizeof(need)));
	}
}

static void say_limit(const struct memlock *m, enum memlock_context context,
		      const struct limit_pair *limit, const char *source)
{
	struct memlock_row row;

	memlock_row_init(m, &row, context, CHECK_SOFT);
	STR_COPY(row.source, source);
	memlock_judge_soft(&row, limit->soft, m->needed_B);
	memlock_row_say(&row);
	memlock_row_init(m, &row, context, CHECK_HARD);
	STR_COPY(row.source, source);
	row.limit_B = limit->hard;
	row.outcome = OUTCOME_OK;
	memlock_row_say(&row);
}

static void say_cap(const struct memlock *m, enum memlock_context context,
		    const struct proc_status *status, const char *source)
{
	struct memlock_row row;

	memlock_row_init(m, &row, context, CHECK_CAP);
	STR_COPY(row.source, source);
	row.outcome = OUTCOME_OK;
	if (status->has_ipc_lock) {
		STR_COPY(row.code, CODE_HAS_CAP);
		STR_COPY(row.detail, "holds CAP_IPC_LOCK: this process is "
				     "exempt from the limit; others of the job "
				     "are not");
	}
	memlock_row_say(&row);
}

static void say_unknown(const struct memlock *m, enum memlock_context context,
			const char *check, const char *source,
			const struct err *why)
{
	struct memlock_row row;

	memlock_row_init(m, &row, context, check);
	STR_COPY(row.source, source);
	memlock_row_unknown(&row, why);
	memlock_row_say(&row);
}

static void say_absent(const struct memlock *m, enum memlock_context context,
		       const char *check, const char *why)
{
	struct memlock_row row;

	memlock_row_init(m, &row, context, check);
	memlock_row_absent(&row, why);
	memlock_row_say(&row);
}

/*
 * Rows of @context from the limits and status of process @pid ("self", "123").
 * True with @limit when it can be read.
 */
static bool look_process(const struct memlock *m, enum memlock_context context,
			 const char *pid, struct limit_pair *limit,
			 struct proc_status *status)
{
	struct str text = STR_INIT;
	struct err e = { 0 };
	char path[64];
	bool known;

	snprintf(path, sizeof(path), "/proc/%.20s/limits", pid);
	known = memlock_read(m, path, &text, &e) == 0 &&
		proc_limit_parse(str_text(&text), text.len, MAX_LOCKED, limit,
				 &e) == 0;
	if (known) {
		say_limit(m, context, limit, path);
	} else {
		say_unknown(m, context, CHECK_SOFT, path, &e);
	}
	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	if (memlock_read(m, path, &text, &e) == 0 &&
	    proc_status_parse(str_text(&text), text.len, status, &e) == 0) {
		say_cap(m, context, status, path);
	} else {
		say_unknown(m, context, CHECK_CAP, path, &e);
	}
	str_release(&text);
	return known;
}

/* ---- slurmd ------------------------------------------------------------ */

static void look_unit(const struct memlock *m, long pid)
{
	struct memlock_row row;

	memlock_row_init(m, &row, MEMLOCK_SLURMD, CHECK_UNIT);
	memlock_look_unit(m, &row, pid);
	memlock_row_say(&row);
}

static void look_slurmd(struct memlock *m)
{
	long pid = memlock_find_process(m, "slurmd");
	struct proc_status status = { 0 };
	struct err e = { 0 };
	char name[24];

	m->has_slurmd = pid > 0 || m->in_step;
	if (pid > 0) {
		snprintf(name, sizeof(name), "%ld", pid);
		m->slurmd_known = look_process(m, MEMLOCK_SLURMD, name,
					       &m->slurmd, &status);
		look_unit(m, pid);
	} else if (m->in_step) {
		err_set(&e, 0, "no slurmd is visible in /proc, although this "
			       "is a job (hidepid? a container?)");
		say_unknown(m, MEMLOCK_SLURMD, CHECK_SOFT, "/proc", &e);
	} else {
		say_absent(m, MEMLOCK_SLURMD, CHECK_SOFT,
			   "no slurmd runs on this node");
	}
}

/* ---- batch ------------------------------------------------------------- */

/* KiB or "unlimited", as ulimit prints them. */
static bool read_ulimit(const char **at, int64_t *out)
{
	char word[24], *end;

	if (!text_word(at, word, sizeof(word))) {
		return false;
	}
	if (strcmp(word, "unlimited") == 0) {
		*out = MEMLOCK_UNLIMITED;
		return true;
	}
	*out = (int64_t)strtoull(word, &end, 10);
	if (end == word || *end != '\0' || *out < 0 ||
	    *out > INT64_MAX / 1024) {
		return false;
	}
	*out *= 1024;
	return true;
}

/* The batch script says "NODE SOFT HARD" in the environment of its step. */
static void look_batch(struct memlock *m)
{
	const char *said = getenv("GPUCHECK_BATCH_MEMLOCK");
	const char *host = getenv("SLURMD_NODENAME");
	struct limit_pair limit;
	char node[64] = "";

	if (said == NULL || host == NULL || !m->in_step ||
	    !text_word(&said, node, sizeof(node)) ||
	    strcmp(node, host) != 0) {
		say_absent(m, MEMLOCK_BATCH, CHECK_SOFT,
			   "no batch script of this run on this node");
	} else if (!read_ulimit(&said, &limit.soft) ||
		   !read_ulimit(&said, &limit.hard)) {
		struct err e = { 0 };

		err_set(&e, 0, "the batch script reported no limits");
		say_unknown(m, MEMLOCK_BATCH, CHECK_SOFT, "ulimit -l", &e);
	} else {
		say_limit(m, MEMLOCK_BATCH, &limit, "ulimit -l");
	}
}

/* ---- this process ------------------------------------------------------ */

static void look_own(struct memlock *m)
{
	enum memlock_context own = m->in_step ? MEMLOCK_STEP : MEMLOCK_HERE;
	enum memlock_context other = m->in_step ? MEMLOCK_HERE : MEMLOCK_STEP;
	struct proc_status status = { .uid = -1 };
	struct memlock_row row;

	m->own_known = look_process(m, own, "self", &m->own, &status);
	m->is_root = status.uid == 0;
	say_absent(m, other, CHECK_SOFT,
		   m->in_step ? "this process is part of a job" :
				"this process is not part of a job");
	if (!m->in_step && status.uid >= 0) {
		memlock_row_init(m, &row, own, CHECK_LIMITS_CONF);
		memlock_look_conf(m, &row, status.uid);
		memlock_row_say(&row);
	}
}

/* ---- container --------------------------------------------------------- */

/* Files and variables that runtimes leave in the containers they make. */
static const struct mark {
	const char *path, *env;
	const char *name;
} marks[] = {
	{ .path = "/.dockerenv", .name = "docker" },
	{ .path = "/run/.containerenv", .name = "podman" },
	{ .path = "/.singularity.d", .name = "apptainer" },
	{ .env = "APPTAINER_CONTAINER", .name = "apptainer" },
	{ .env = "SINGULARITY_CONTAINER", .name = "apptainer" },
	{ .env = "ENROOT_ROOTFS", .name = "enroot" },
	{ .env = "KUBERNETES_SERVICE_HOST", .name = "kubernetes" },
};

static void find_container(struct memlock *m)
{
	struct proc_cgroup group = { 0 };
	struct str text = STR_INIT;

	if (memlock_read(m, "/proc/self/cgroup", &text, NULL) == 0 &&
	    proc_cgroup_parse(str_text(&text), text.len, &group, NULL) == 0) {
		STR_COPY(m->container, group.container);
	}
	str_release(&text);
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const struct mark *k = &marks[i];

		if ((k->path != NULL && memlock_exists(m, k->path)) ||
		    (k->env != NULL && m->root[0] == '\0' &&
		     getenv(k->env) != NULL)) {
			STR_COPY(m->container, k->name);
			return;
		}
	}
}

/* Inside a container its limits are those of this process. */
static void look_container(struct memlock *m)
{
	struct proc_status status;
	struct limit_pair limit;

	if (m->container[0] == '\0') {
		say_absent(m, MEMLOCK_CONTAINER, CHECK_SOFT,
			   "not in a container");
		return;
	}
	look_process(m, MEMLOCK_CONTAINER, "self", &limit, &status);
}

void memlock_look_contexts(struct memlock *m)
{
	find_container(m);
	look_slurmd(m);
	look_batch(m);
	look_own(m);
	look_container(m);
}
