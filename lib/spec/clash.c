/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/spec/spec.h"

#include <string.h>

#include "lib/base/units.h"

#define SSH_HINT "--ssh=gpu[01-04], or a file of names"

/* ---- where ------------------------------------------------------------- */

static bool local_nodes(const struct spec *s)
{
	return s->local && s->nodes;
}

static bool local_gpus(const struct spec *s)
{
	return s->local && s->gpus_per_node;
}

static bool node_elsewhere(const struct spec *s)
{
	return s->node && (s->local || s->nodes || s->launcher[0] ||
			   s->no_wait);
}

static bool by_ssh(const struct spec *s)
{
	return s->ssh[0] || spec_launcher_is(s->launcher, LAUNCHER_HOSTS);
}

static bool ssh_elsewhere(const struct spec *s)
{
	return by_ssh(s) && (s->local || s->nodes || s->node ||
			     (s->launcher[0] &&
			      !spec_launcher_is(s->launcher, LAUNCHER_HOSTS)));
}

static bool ssh_nowhere(const struct spec *s)
{
	return by_ssh(s) && strcmp(s->ssh[0] ? s->ssh : "-", "-") == 0 &&
	       !s->hosts[0] && !s->nodelist[0];
}

static bool hosts_alone(const struct spec *s)
{
	return s->hosts[0] && !by_ssh(s);
}

static bool none_left(const struct spec *s)
{
	return s->nodelist[0] && s->exclude[0] &&
	       spec_nodes_left(s, s->nodelist, NULL) == 0;
}

static bool ssh_path_alone(const struct spec *s)
{
	return s->ssh_path[0] && !by_ssh(s);
}

static bool local_batch(const struct spec *s)
{
	return s->local && s->launcher[0] &&
	       !spec_launcher_is(s->launcher, LAUNCHER_PRETENDS);
}

static bool local_no_wait(const struct spec *s)
{
	return s->local && s->no_wait;
}

static bool no_wait_here(const struct spec *s)
{
	return s->no_wait && s->launcher[0] &&
	       !spec_launcher_is(s->launcher, LAUNCHER_JOB);
}

static bool diagnose_env(const struct spec *s)
{
	return s->diagnose && spec_launcher_is(s->launcher, LAUNCHER_ONCE);
}

static void say_local_batch(const struct spec_clash *c, const struct spec *s,
			    struct err *e)
{
	(void)c;
	err_set(e, 0, "--local does not go with --launcher=%s", s->launcher);
}

static void say_no_wait(const struct spec_clash *c, const struct spec *s,
			struct err *e)
{
	(void)c;
	err_set(e, 0, "--no-wait needs a batch job, and launcher '%s' submits "
		"none", s->launcher);
}

/* ---- what -------------------------------------------------------------- */

static bool end_alone(const struct spec *s)
{
	return s->size_end_B && !s->size_begin_B;
}

static bool end_first(const struct spec *s)
{
	return s->size_end_B && s->size_begin_B > s->size_end_B;
}

static void say_sizes(const struct spec_clash *c, const struct spec *s,
		      struct err *e)
{
	char begin[32], end[32];

	(void)c;
	err_set(e, 0, "--minbytes %s is above --maxbytes %s",
		units_size_arg((uint64_t)s->size_begin_B, begin, sizeof(begin)),
		units_size_arg((uint64_t)s->size_end_B, end, sizeof(end)));
}

static bool json_csv(const struct spec *s)
{
	return s->json && s->csv;
}

/* A contrast decides itself what it varies. */

static bool contrast_schedule(const struct spec *s)
{
	return s->contrast == CONTRAST_SCHEDULE && s->schedule != SCHEDULE_NIC;
}

static bool contrast_pxn(const struct spec *s)
{
	return s->contrast == CONTRAST_PXN && s->pxn;
}

static bool contrast_memory(const struct spec *s)
{
	return s->contrast == CONTRAST_MEMORY && s->memory != MEMORY_HOST;
}

/* What is said to NCCL goes with nccl, and with auto, which may be it. */

static bool no_nccl(const struct spec *s)
{
	return !spec_transport_is(s->transport, XPORT_SETTINGS) &&
	       strcmp(s->transport, "auto") != 0;
}

static bool force_net_alone(const struct spec *s)
{
	return s->force_net && no_nccl(s);
}

static bool pxn_alone(const struct spec *s)
{
	return s->pxn && no_nccl(s);
}

static bool settings_alone(const struct spec *s)
{
	return s->production_settings && no_nccl(s);
}

static bool libs_alone(const struct spec *s)
{
	return s->nccl_libs[0] && no_nccl(s);
}

static bool contrast_pxn_alone(const struct spec *s)
{
	return s->contrast == CONTRAST_PXN && no_nccl(s) &&
	       !spec_transport_is(s->transport, XPORT_MODEL);
}

static void say_nccl(const struct spec_clash *c, const struct spec *s,
		     struct err *e)
{
	bool pxn = c->holds == contrast_pxn_alone;

	err_set(e, 0, "--%s%s is for NCCL, which --transport=%s does not use",
		c->options[0], pxn ? "=pxn" : "", s->transport);
}

const struct spec_clash spec_clashes[] = {
	{ .holds = local_nodes, .options = { "nodes", "local" },
	  .text = "--local does not go with --nodes or --gpus-per-node",
	  .hint = "write --local=NxG, such as --local=2x8" },
	{ .holds = local_gpus, .options = { "gpus-per-node", "local" },
	  .text = "--local does not go with --nodes or --gpus-per-node",
	  .hint = "write --local=NxG, such as --local=2x8" },
	{ .holds = node_elsewhere,
	  .options = { "local", "nodes", "launcher", "no-wait", "node" },
	  .text = "--node checks this machine only: it does not go with "
		  "another place or launcher" },
	{ .holds = ssh_elsewhere,
	  .options = { "ssh", "local", "nodes", "launcher", "node" },
	  .text = "--ssh does not go with another place or launcher" },
	{ .holds = ssh_nowhere, .options = { "ssh", "launcher" },
	  .text = "--ssh needs a list of hosts", .hint = SSH_HINT },
	{ .holds = hosts_alone, .options = { "hosts" },
	  .text = "--hosts needs --ssh", .hint = SSH_HINT },
	{ .holds = ssh_path_alone, .options = { "ssh-path" },
	  .text = "--ssh-path needs --ssh", .hint = SSH_HINT },
	{ .holds = none_left, .options = { "exclude", "nodelist" },
	  .text = "--exclude leaves no node of --nodelist" },
	{ .holds = local_batch, .options = { "launcher", "local" },
	  .say = say_local_batch },
	{ .holds = local_no_wait, .options = { "no-wait", "local" },
	  .text = "--no-wait needs a batch job, and --local submits none" },
	{ .holds = no_wait_here, .options = { "no-wait", "launcher" },
	  .say = say_no_wait },
	{ .holds = diagnose_env, .options = { "diagnose", "launcher" },
	  .text = "launcher 'env' starts agents for one probe, not for several "
		  "in sequence",
	  .hint = "leave out --diagnose" },
	{ .holds = end_first, .options = { "maxbytes", "minbytes" },
	  .say = say_sizes },
	{ .holds = end_alone, .options = { "maxbytes" },
	  .text = "--maxbytes needs --minbytes", .hint = "such as -b 8" },
	{ .holds = json_csv, .options = { "csv", "json" },
	  .text = "--json does not go with --csv" },
	{ .holds = contrast_schedule, .options = { "schedule", "contrast" },
	  .text = "--schedule does not go with --contrast=schedule, which runs "
		  "serial and parallel" },
	{ .holds = contrast_pxn, .options = { "pxn", "contrast" },
	  .text = "--pxn does not go with --contrast=pxn, which runs with and "
		  "without" },
	{ .holds = contrast_memory, .options = { "memory", "contrast" },
	  .text = "--memory does not go with --contrast=memory, which runs "
		  "host and gpu" },
	{ .holds = contrast_pxn_alone, .options = { "contrast", "transport" },
	  .say = say_nccl },
	{ .holds = force_net_alone, .options = { "force-net", "transport" },
	  .say = say_nccl },
	{ .holds = pxn_alone, .options = { "pxn", "transport" },
	  .say = say_nccl },
	{ .holds = settings_alone,
	  .options = { "production-settings", "transport" },
	  .say = say_nccl },
	{ .holds = libs_alone, .options = { "nccl-lib", "transport" },
	  .say = say_nccl },
	{ .holds = NULL }
};

int spec_check(const struct spec *s, struct err *e)
{
	for (const struct spec_clash *c = spec_clashes; c->holds; c++) {
		if (!c->holds(s)) {
			continue;
		}
		if (c->say) {
			c->say(c, s, e);
			return -1;
		}
		err_set(e, 0, "%s", c->text);
		return c->hint ? err_hint(e, "%s", c->hint) : -1;
	}
	return 0;
}
