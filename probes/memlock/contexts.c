/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/host/process.h"
#include "probes/host/sysfile.h"

#define MAX_LOCKED "Max locked memory"

/* ---- one context ------------------------------------------------------- */

void memlock_say_limit(const struct memlock *m, enum memlock_context context,
		       const struct limit_pair *limit, const char *source)
{
	char have[32], need[32];
	struct memlock_row row;

	memlock_row_init(m, &row, context, CHECK_SOFT, source);
	row.limit_B = limit->soft;
	row.needed_B = m->needed_B;
	if (limit->soft < m->needed_B) {
		row.outcome = OUTCOME_ERROR;
		STR_COPY(row.code, CODE_BELOW_NEED);
		snprintf(row.detail, sizeof(row.detail),
			 "%s, and an NCCL job is estimated to need %s",
			 memlock_text(limit->soft, have, sizeof(have)),
			 memlock_text(m->needed_B, need, sizeof(need)));
	}
	memlock_row_say(m, &row);
	memlock_row_init(m, &row, context, CHECK_HARD, source);
	row.limit_B = limit->hard;
	memlock_row_say(m, &row);
}

static void say_cap(const struct memlock *m, enum memlock_context context,
		    const struct proc_status *status, const char *source)
{
	struct memlock_row row;

	memlock_row_init(m, &row, context, CHECK_CAP, source);
	if (status->has_ipc_lock) {
		STR_COPY(row.code, CODE_HAS_CAP);
		STR_COPY(row.detail, "holds CAP_IPC_LOCK: this process is "
				     "exempt from the limit; others of the job "
				     "are not");
	}
	memlock_row_say(m, &row);
}

/*
 * Rows of @context from the limits and status of process @pid ("self", "123").
 * True with @limit when it can be read.
 */
static bool look_process(struct memlock *m, enum memlock_context context,
			 const char *pid, struct limit_pair *limit,
			 struct proc_status *status)
{
	struct err e = { 0 };
	char path[64];
	bool known;

	snprintf(path, sizeof(path), "/proc/%.20s/limits", pid);
	known = memlock_read(m, path, &e) == 0 &&
		proc_limit_parse(&m->text, MAX_LOCKED, limit, &e) == 0;
	if (known) {
		memlock_say_limit(m, context, limit, path);
	} else {
		memlock_say_unknown(m, context, CHECK_SOFT, path, &e);
	}
	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	if (memlock_read(m, path, &e) == 0 &&
	    proc_status_parse(&m->text, status, &e) == 0) {
		say_cap(m, context, status, path);
	} else {
		memlock_say_unknown(m, context, CHECK_CAP, path, &e);
	}
	return known;
}

/* ---- slurmd ------------------------------------------------------------ */

static void look_slurmd(struct memlock *m)
{
	long pid = process_find(m->root, "slurmd");
	struct proc_status status;
	struct err e = { 0 };
	char name[24];

	if (pid > 0) {
		snprintf(name, sizeof(name), "%ld", pid);
		m->slurmd_known = look_process(m, MEMLOCK_SLURMD, name,
					       &m->slurmd, &status);
		memlock_look_unit(m, pid);
	} else if (m->in_step) {
		err_set(&e, 0, "no slurmd is visible in /proc, although this "
			       "is a job (hidepid? a container?)");
		memlock_say_unknown(m, MEMLOCK_SLURMD, CHECK_SOFT, "/proc",
				    &e);
	} else {
		memlock_say_absent(m, MEMLOCK_SLURMD, CHECK_SOFT,
				   "no slurmd runs on this node");
	}
}

/* ---- batch ------------------------------------------------------------- */

/* KiB or "unlimited", as ulimit prints them. */
static bool read_ulimit(const char **at, int64_t *out)
{
	char word[24];

	return text_word(at, word, sizeof(word)) &&
	       text_limit(word, 1024, out, NULL) == 0;
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
		memlock_say_absent(m, MEMLOCK_BATCH, CHECK_SOFT,
				   "no batch script of this run on this node");
	} else if (!read_ulimit(&said, &limit.soft) ||
		   !read_ulimit(&said, &limit.hard)) {
		struct err e = { 0 };

		err_set(&e, 0, "the batch script reported no limits");
		memlock_say_unknown(m, MEMLOCK_BATCH, CHECK_SOFT, "ulimit -l",
				    &e);
	} else {
		memlock_say_limit(m, MEMLOCK_BATCH, &limit, "ulimit -l");
	}
}

/* ---- this process ------------------------------------------------------ */

static void look_own(struct memlock *m)
{
	enum memlock_context own = m->in_step ? MEMLOCK_STEP : MEMLOCK_HERE;
	enum memlock_context other = m->in_step ? MEMLOCK_HERE : MEMLOCK_STEP;
	struct proc_status status = { .uid = -1 };
	struct limit_pair limit;

	look_process(m, own, "self", &limit, &status);
	m->is_root = status.uid == 0;
	memlock_say_absent(m, other, CHECK_SOFT,
			   m->in_step ? "this process is part of a job" :
					"this process is not part of a job");
	if (!m->in_step && status.uid >= 0) {
		memlock_look_conf(m, own, status.uid);
	}
}

/* ---- container --------------------------------------------------------- */

/* Files and variables that runtimes leave in the containers they make. */
static const struct mark {
	const char *path, *env;
	const char *name;
	bool keeps;	/* the limit of the process that starts it */
} marks[] = {
	{ .path = "/.dockerenv", .name = "docker" },
	{ .path = "/run/.containerenv", .name = "podman" },
	{ .path = "/.singularity.d", .name = "apptainer", .keeps = true },
	{ .env = "APPTAINER_CONTAINER", .name = "apptainer", .keeps = true },
	{ .env = "SINGULARITY_CONTAINER", .name = "apptainer", .keeps = true },
	{ .env = "ENROOT_ROOTFS", .name = "enroot", .keeps = true },
	{ .env = "KUBERNETES_SERVICE_HOST", .name = "kubernetes" },
	{ 0 }
};

static bool group_of(struct memlock *m, const char *pid,
		     struct proc_cgroup *group)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/cgroup", pid);
	return memlock_read(m, path, NULL) == 0 &&
	       proc_cgroup_parse(&m->text, group, NULL) == 0;
}

static void find_container(struct memlock *m)
{
	struct proc_cgroup group;

	if (group_of(m, "self", &group)) {
		STR_COPY(m->container, group.container);
	}
	for (const struct mark *k = marks; k->name != NULL; k++) {
		if (k->path != NULL ? sysfile_there("%s%s", m->root, k->path) :
				      m->root[0] == '\0' && getenv(k->env)) {
			STR_COPY(m->container, k->name);
			m->container_keeps = k->keeps;
			return;
		}
	}
}

/* What a container was given is the limit of its first process: a shell in it
 * may have less.  Where that is none of the container's it is this process. */
static const char *first_process(struct memlock *m)
{
	struct proc_cgroup own, first;

	return group_of(m, "self", &own) && group_of(m, "1", &first) &&
			       strcmp(own.group, first.group) == 0 ?
		       "1" :
		       "self";
}

static void look_container(struct memlock *m)
{
	struct proc_status status;
	struct limit_pair limit;
	char why[80];

	if (m->container[0] == '\0') {
		memlock_say_absent(m, MEMLOCK_CONTAINER, CHECK_SOFT,
				   "not in a container");
	} else if (m->container_keeps) {
		snprintf(why, sizeof(why), "%s keeps the limit of the process "
			 "that starts it", m->container);
		memlock_say_absent(m, MEMLOCK_CONTAINER, CHECK_SOFT, why);
	} else {
		look_process(m, MEMLOCK_CONTAINER, first_process(m), &limit,
			     &status);
	}
}

void memlock_look_contexts(struct memlock *m)
{
	find_container(m);
	look_slurmd(m);
	look_batch(m);
	look_own(m);
	look_container(m);
}
