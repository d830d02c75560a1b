/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/data/hosts.h"
#include "lib/data/rundir.h"
#include "sbatch/args.h"
#include "sbatch/launch_child.h"
#include "sbatch/launcher.h"

/** Exit code of an agent that could not measure. */
#define UNABLE 3

/** This machine as N pretend nodes: an agent each, forked here. */
struct launch {
	size_t n;
	bool in_vain;		/* without a coordinator, so all were ended */
	struct launch_child agents[];
};

/** n0, n1, ..., those that are not left out; 0, or -1 with @e. */
static int pretended(const struct spec *s, struct hosts *h, struct err *e)
{
	char list[48];
	int n = snprintf(list, sizeof(list), "n[0-%" PRId64 "]\n",
			 s->local_nodes > 0 ? s->local_nodes - 1 : 0);

	if (hosts_parse(list, (size_t)n, h, e) == 0 &&
	    hosts_choose(h, s->nodelist, s->exclude, e) == 0) {
		return 0;
	}
	hosts_release(h);
	return -1;
}

static int local_check(const struct spec *s, struct err *e)
{
	struct hosts h;
	int rc = pretended(s, &h, e);

	hosts_release(&h);
	return rc;
}

static void local_usual(const struct spec *s, int64_t *nodes, int64_t *gpus)
{
	struct hosts h;

	(void)gpus;
	if (pretended(s, &h, NULL) == 0) {
		*nodes = (int64_t)h.n;
	}
	hosts_release(&h);
}

static int local_usable(struct err *why)
{
	(void)why;
	return 0;
}

static bool local_meant(const struct spec *s, char *why, size_t size)
{
	snprintf(why, size, "on this machine (--local)");
	return s->local;
}

static int local_describe(const struct launch_request *r, struct str *out,
			  struct err *e)
{
	struct hosts h;

	if (pretended(r->spec, &h, e) < 0) {
		return -1;
	}
	for (size_t k = 0; k < h.n; k++) {
		str_addf(out, "GPUCHECK_BOOT_RANK=%zu GPUCHECK_BOOT_SIZE=%zu "
			 "GPUCHECK_BOOT_NODE=%s ", k, h.n, h.names[k]);
		args_quote(r->self, out);
		str_add(out, " agent ");
		args_quote(r->dir, out);
		str_add(out, " &\n");
	}
	hosts_release(&h);
	return 0;
}

static int start_agent(struct launch *l, size_t k, const char *name,
		       const struct launch_request *r, const char *out_path,
		       struct err *e)
{
	char rank[48], size[48], node[48];
	char *const env[] = { rank, size, node, NULL };
	char *const argv[] = { (char *)r->self, (char *)"agent",
			       (char *)r->dir, NULL };

	snprintf(rank, sizeof(rank), "GPUCHECK_BOOT_RANK=%zu", k);
	snprintf(size, sizeof(size), "GPUCHECK_BOOT_SIZE=%zu", l->n);
	snprintf(node, sizeof(node), "GPUCHECK_BOOT_NODE=%s", name);
	return launch_child_start(&l->agents[k], argv, env, out_path, e);
}

static void local_stop(struct launch *l, bool hard)
{
	for (size_t k = 0; k < l->n; k++) {
		launch_child_signal(&l->agents[k], hard ? SIGKILL : SIGTERM);
	}
}

static struct launch *local_start(const struct launch_request *r,
				  struct err *e)
{
	char out_path[PATH_MAX];
	struct launch *l;
	struct hosts h;

	if (rundir_path(r->dir, RUN_JOB_OUT, out_path, e) < 0 ||
	    pretended(r->spec, &h, e) < 0) {
		return NULL;
	}
	l = calloc(1, sizeof(*l) + h.n * sizeof(l->agents[0]));
	if (!l) {
		err_set(e, 0, "no memory for %zu agents", h.n);
	}
	for (size_t k = 0; l && k < h.n; k++) {
		l->n = h.n;
		if (start_agent(l, k, h.names[k], r, out_path, e) < 0) {
			local_stop(l, true);
			free(l);
			l = NULL;
		}
	}
	hosts_release(&h);
	return l;
}

/** The first has the coordinator, and says so when that does not start: the
 *  others would wait for it as long as they may. */
static bool lacks_coordinator(const struct launch *l, size_t running)
{
	return running > 0 && l->agents[0].ended &&
	       l->agents[0].exit_code == UNABLE;
}

static int local_poll(struct launch *l, struct launch_state *st,
		      struct err *e)
{
	size_t running = 0;
	int worst = -1;

	(void)e;
	for (size_t k = 0; k < l->n; k++) {
		if (!launch_child_ended(&l->agents[k])) {
			running++;
		} else if (l->agents[k].exit_code > worst) {
			worst = l->agents[k].exit_code;
		}
	}
	if (!l->in_vain && lacks_coordinator(l, running)) {
		l->in_vain = true;
		local_stop(l, false);
	}
	if (l->in_vain) {
		worst = UNABLE;		/* not how we ended them */
	}
	*st = (struct launch_state){
		.phase = running ? LAUNCH_RUNNING : LAUNCH_ENDED,
		.exit_code = running ? -1 : worst,
	};
	if (running) {
		snprintf(st->text, sizeof(st->text),
			 "%zu of %zu agents are running", running, l->n);
	} else {
		snprintf(st->text, sizeof(st->text),
			 "all agents have ended, the highest exit code is %d",
			 worst);
	}
	return 0;
}

static void local_cancel_hint(const struct launch *l, char *buf, size_t size)
{
	(void)l;
	snprintf(buf, size, "%s", "");
}

static void local_free(struct launch *l)
{
	free(l);
}

const struct launcher_ops launcher_local = {
	.name = "local",
	.usable = local_usable,
	.check = local_check,
	.describe = local_describe,
	.start = local_start,
	.poll = local_poll,
	.stop = local_stop,
	.meant = local_meant,
	.usual = local_usual,
	.cancel_hint = local_cancel_hint,
	.free = local_free,
};
