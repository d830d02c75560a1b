/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"

/** This machine as N pretend nodes: an agent each, forked here, or one for many
 *  of a large model, which has the name of the first. */
struct launch {
	struct hosts nodes;
	size_t n_agents, hosted;
	struct {
		struct launch_child child;
		bool told;	/* that it has ended */
	} *agents;
	int news;		/* the coordinator's stdin: agents that will not
				 * connect */
	bool in_vain;		/* without a coordinator, so all were ended */
};

/** n0, n1, ... */
static int local_hosts(const struct spec *s, struct hosts *h, struct err *e)
{
	char list[48];
	int n = snprintf(list, sizeof(list), "n[0-%" PRId64 "]",
			 s->local_nodes > 0 ? s->local_nodes - 1 : 0);

	return hosts_parse(list, (size_t)n, h, e);
}

/** Compose the environment that tells agent @k its identity. */
static void compose_env(const struct launch *l, size_t k, struct args *env)
{
	args_addf(env, "GPUCHECK_BOOT_RANK=%zu", k);
	args_addf(env, "GPUCHECK_BOOT_SIZE=%zu", l->n_agents);
	args_addf(env, "GPUCHECK_BOOT_NODE=%s", l->nodes.names[k * l->hosted]);
}

static int find_agents(struct launch *l, const struct spec *s, struct err *e)
{
	if (launcher_hosts(&launcher_local, s, &l->nodes, e) < 0) {
		return -1;
	}
	/* of the nodes that are left: -x */
	l->hosted = (size_t)spec_hosted(s);
	l->n_agents = (l->nodes.n + l->hosted - 1) / l->hosted;
	return 0;
}

static int local_describe(const struct launch_request *r, struct str *out,
			  struct err *e)
{
	struct launch l = { 0 };

	if (find_agents(&l, r->spec, e) < 0) {
		return -1;
	}
	for (size_t k = 0; k < l.n_agents; k++) {
		struct args a = { 0 };

		compose_env(&l, k, &a);
		launcher_add_agent(r, &a);
		args_line(&a, out);
		str_add(out, " &\n");
		args_release(&a);
	}
	hosts_release(&l.nodes);
	return 0;
}

static void local_stop(struct launch *l, bool hard)
{
	for (size_t k = 0; k < l->n_agents; k++) {
		launch_child_signal(&l->agents[k].child,
				    hard ? SIGKILL : SIGTERM);
	}
}

static int local_start(struct launch *l, const struct launch_request *r,
		       struct err *e)
{
	struct args a = { 0 };
	int rc = 0;

	if (find_agents(l, r->spec, e) < 0) {
		return -1;
	}
	l->agents = calloc(l->n_agents, sizeof(*l->agents));
	l->news = memfd_create("news", MFD_CLOEXEC);
	if (l->news < 0) {
		return err_set(e, errno, "cannot create a file in memory");
	}
	if (!l->agents) {
		return err_set(e, ENOMEM, "no memory for %zu agents",
			       l->n_agents);
	}
	launcher_add_agent(r, &a);
	for (size_t k = 0; rc == 0 && k < l->n_agents; k++) {
		struct args env = { 0 };

		compose_env(l, k, &env);
		/* the first starts the coordinator, and hands it on */
		rc = launch_child_start(&l->agents[k].child, &a, &env,
					k == 0 ? l->news : -1, r->dir,
					RUN_JOB_OUT, e);
		args_release(&env);
	}
	args_release(&a);
	if (rc < 0) {
		local_stop(l, true);
	}
	return rc;
}

static int local_poll(struct launch *l, struct launch_state *st,
		      struct err *e)
{
	size_t running = 0;
	int worst = -1, code;
	char text[60];

	(void)e;
	for (size_t k = 0; k < l->n_agents; k++) {
		if (!launch_child_ended(&l->agents[k].child)) {
			running++;
			continue;
		}
		code = l->agents[k].child.exit_code;
		/* report an agent that died before it connected, so that it is
		 * neither waited for nor called late; the coordinator notices
		 * later ends by itself.  An agent that waited in vain for the
		 * coordinator is not reported. */
		if (!l->agents[k].told && code != 0 && code != CODE_PARTIAL) {
			snprintf(text, sizeof(text), code > 128 ?
				 "its agent was killed by signal %d" :
				 "its agent ended with exit code %d",
				 code > 128 ? code - 128 : code);
			run_absent_tell(l->news, &(struct run_entry){
				RUN_ENTRY_NONE,
				.node = l->nodes.names[k * l->hosted],
				.code = "agent_missing", .source = "front",
				.detail = text });
		}
		l->agents[k].told = true;
		worst = code > worst ? code : worst;
	}
	/* the first has the coordinator, and reports when that does not start:
	 * the others would wait for it as long as they may */
	if (!l->in_vain && running > 0 && l->agents[0].child.ended &&
	    l->agents[0].child.exit_code == CODE_UNABLE) {
		l->in_vain = true;
		local_stop(l, false);
	}
	if (l->in_vain) {
		worst = CODE_UNABLE;	/* not how we ended them */
	}
	if (running) {
		launch_say(st, LAUNCH_RUNNING, -1,
			   "%zu of %zu agents are running", running,
			   l->n_agents);
	} else {
		launch_say(st, LAUNCH_ENDED, worst, "all agents have ended, "
			   "the highest exit code is %d", worst);
	}
	return 0;
}

static void local_release(struct launch *l)
{
	for (size_t k = 0; l->agents && k < l->n_agents; k++) {
		launch_child_end(&l->agents[k].child);
	}
	if (l->news > 0) {	/* 0: it came to nothing before */
		close(l->news);
	}
	hosts_release(&l->nodes);
	free(l->agents);
}

const struct launcher_ops launcher_local = {
	.name = "local",
	.size = sizeof(struct launch),
	.hosts = local_hosts,
	.describe = local_describe,
	.start = local_start,
	.poll = local_poll,
	.stop = local_stop,
	.chosen = "on this machine (--local)",
	.option = "local",
	.release = local_release,
};
