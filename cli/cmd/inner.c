/* SPDX-License-Identifier: BSD-3-Clause */
/* Hidden commands: agent, coordinator, judge and other processes of a run. */
#include "cli/front/help.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/front/talk.h"
#include "cli/run/probe_run.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/limit.h"
#include "lib/base/spawn.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "probes/transport/order.h"
#include "probes/host/inventory.h"
#include "probes/node/child.h"
#include "probes/probe.h"
#include "probes/self/self.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "sbatch/srun_step.h"

/**
 * The processes of a run: started by a launcher, by mpirun or torchrun, or by
 * each other; not for people.
 */

/** Prints the error in @e, if any; returns @code. */
static int ended(int code, const struct err *e)
{
	if (e->text[0]) {
		talk_err(e);
	}
	return code;
}

static int run_agent(struct session *s)
{
	struct err e = { 0 };

	return ended(agent_main(s->args[0], &e), &e);
}

static int run_coordinator(struct session *s)
{
	struct err e = { 0 };

	return ended(coordinator_main(s->args[0], &e), &e);
}

/** Print the verdict so far, for a coordinator: it needs only the parts and
 *  codes of the findings, not their sentences. */
static int run_judge(struct session *s)
{
	static const char *const words[] = { "says", "do", "evidence" };
	json_t *json = NULL, *finding;
	struct err e = { 0 };
	struct verdict v;
	struct run run;
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (rundir_check_trust(s->args[0], &e) < 0 ||
	    levels_read(s->args[0], &run, &e) < 0) {
		return ended(CODE_UNABLE, &e);
	}
	if (verdict_compute(&run, &v) == 0) {
		json = verdict_json(&run, &v);
		verdict_release(&v);
	}
	run_release(&run);
	json_array_foreach(verdict_file(json).findings, i, finding) {
		for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++) {
			json_object_del(finding, words[k]);
		}
	}
	if (!json || json_print(json, stdout, JSON_COMPACT) < 0) {
		err_set(&e, 0, "no memory for a verdict");
	}
	json_decref(json);
	return ended(e.text[0] ? CODE_UNABLE : CODE_HEALTHY, &e);
}

static int run_conductor(struct session *s)
{
	struct err e = { 0 };

	return ended(conduct_main(s->args[0], s->commands, &e), &e);
}

/** In a batch job: call the nodes, so that the step leaves out those that
 *  cannot start a program. Without a directory: answer such a call on a
 *  node. */
static int run_muster(struct session *s)
{
	const char *node = getenv("SLURMD_NODENAME");
	char self[PATH_MAX];
	const struct launch_request r = {
		.self = self, .dir = s->n_args ? s->args[0] : NULL,
		.spec = &s->spec, .extra = s->extra,
	};
	struct spec whole;
	struct muster m;
	struct err e = { 0 };
	json_t *run;
	int rc;

	if (s->n_args == 0) {
		printf("%s%s\n", MUSTER_HERE, node ? node : "");
		return ended(CODE_HEALTHY, &e);
	}
	if (spawn_self(self, sizeof(self), &e) < 0) {
		return ended(CODE_UNABLE, &e);
	}
	/* wait for the nodes as long as the run does */
	run = rundir_read_json(s->args[0], RUN_JSON, &e);
	spec_init(&whole);
	rc = run ? spec_from_json(&whole, run_file(run).options, &e) : -1;
	json_decref(run);
	if (rc < 0) {
		return ended(CODE_UNABLE, &e);
	}
	s->spec.boot_timeout_ns = whole.boot_timeout_ns;
	s->spec.start_timeout_ns = whole.start_timeout_ns;
	muster_begin(&m, &r);
	while (muster_goes_on(&m)) {
		clock_sleep(20 * NS_PER_MS);
	}
	muster_release(&m);
	return CODE_HEALTHY;
}

/** In a batch job: run its one step, srun with the words after "--". */
static int run_step(struct session *s)
{
	char self[PATH_MAX];
	const struct launch_request r = {
		.self = self, .dir = s->args[0], .spec = &s->spec,
		.extra = s->extra,
	};
	struct srun_step step = { 0 };
	struct err e = { 0 };

	if (spawn_self(self, sizeof(self), &e) == 0) {
		srun_step_ask(&step);
		srun_step_compose(&step, &r, NULL, environ);
		srun_step_become(&step, &e);
	}
	srun_step_release(&step);
	return ended(CODE_UNABLE, &e);
}

/** Those of "gpucheck node". */
static const struct {
	const char *name;
	int (*child)(const struct node_args *args, struct err *e);
} self_children[] = {
	{ "node_gpus", self_gpus_child },
	{ "node_host", self_host_child },
	{ "node_limits", memlock_limits_child },
};

static int run_worker(struct session *s)
{
	const size_t n = sizeof(self_children) / sizeof(self_children[0]);
	const struct probe *probe;
	struct err e = { 0 };

	/* no child outlives its agent, whatever kills the agent */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	limit_files_back();
	if (s->n_args == 0) {
		return ended(worker_main(&e), &e);
	}
	if (strcmp(s->args[0], "inventory") == 0) {
		return inventory_child_main();
	}
	/* a child that looks at its node, for "gpucheck node" or a probe */
	for (size_t i = 0; i < n; i++) {
		if (strcmp(self_children[i].name, s->args[0]) == 0) {
			return ended(node_task_child_main(
					self_children[i].child, &e), &e);
		}
	}
	probe = probe_find(s->args[0]);
	if (!probe || probe->kind != PROBE_NODES) {
		err_set(&e, 0, "there is no worker '%s'", s->args[0]);
		return ended(CODE_USAGE, &e);
	}
	return ended(node_task_child_main(probe->child, &e), &e);
}

#define IN_RUN_DIRECTORY \
	.usage = "DIR", .hidden = true, .takes = SPEC_CMD_INNER, \
	.min_args = 1, .max_args = 1, .needs = "a run directory"

const struct command cmd_agent = {
	.name = "agent",
	.summary = "The process that watches over one node of a run.",
	IN_RUN_DIRECTORY,
	.run = run_agent,
	.excuse = agent_excuse,
};

const struct command cmd_coordinator = {
	.name = "coordinator",
	.summary = "The process that plans a run and collects its rows.",
	IN_RUN_DIRECTORY,
	.run = run_coordinator,
};

const struct command cmd_judge = {
	.name = "judge",
	.summary = "The process that tells a coordinator the verdict so far.",
	IN_RUN_DIRECTORY,
	.run = run_judge,
};

const struct command cmd_conductor = {
	.name = CONDUCT_COMMAND,
	.summary = "The process that runs several probes inside a job.",
	IN_RUN_DIRECTORY,
	.run = run_conductor,
};

const struct command cmd_step = {
	.name = "step",
	.summary = "The process that becomes the srun of a batch job.",
	IN_RUN_DIRECTORY,
	.run = run_step,
};

const struct command cmd_muster = {
	.name = MUSTER_COMMAND,
	.summary = "The process that finds nodes that cannot start agents.",
	.usage = "[DIR]",
	.hidden = true,
	.takes = SPEC_CMD_INNER,
	.max_args = 1,
	.run = run_muster,
};

const struct command cmd_worker = {
	.name = "worker",
	.summary = "The process that owns one GPU, or looks at one node.",
	.usage = "[inventory|PROBE]",
	.hidden = true,
	.takes = SPEC_CMD_INNER,
	.max_args = 1,
	.run = run_worker,
};
