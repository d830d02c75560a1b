/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/spec/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SSH_HINT "--ssh='gpu[01-04]', or a file of names"
#define NCCL_ONLY " applies to NCCL, which --transport={transport} does not use"

/* ---- where ------------------------------------------------------------- */

static bool by_ssh(const struct spec *s)
{
	return s->ssh[0] || spec_launcher_is(s->launcher, LAUNCHER_HOSTS);
}

static bool not_by_ssh(const struct spec *s)
{
	return !by_ssh(s);
}

static bool ssh_nowhere(const struct spec *s)
{
	return by_ssh(s) && strcmp(s->ssh[0] ? s->ssh : "-", "-") == 0 &&
	       !s->hosts[0] && !s->nodelist[0];
}

static bool without_srun(const struct spec *s)
{
	return s->local || by_ssh(s) ||
	       (s->launcher[0] &&
		!spec_launcher_is(s->launcher, LAUNCHER_SLURM));
}

static bool open_quote(const struct spec *s)
{
	char **words = spec_words(s->srun_args);
	bool open = !words;

	free(words);
	return open;
}

static bool none_left(const struct spec *s)
{
	return spec_nodes_left(s, s->nodelist, NULL) == 0;
}

/* A list of one node asks Slurm for that node among others. */
static bool too_few_left(const struct spec *s)
{
	const int64_t left = spec_nodes_left(s, s->nodelist, NULL);

	return s->nodes > left && left != 1;
}

static bool launches_no_batch(const struct spec *s)
{
	return s->local || by_ssh(s) ||
	       !spec_launcher_is(s->launcher, LAUNCHER_SLURM) ||
	       !spec_launcher_is(s->launcher, LAUNCHER_JOB);
}

/* ---- what -------------------------------------------------------------- */

static bool end_first(const struct spec *s)
{
	return s->size_begin_B > s->size_end_B;
}

static bool metrics_on_stdout(const struct spec *s)
{
	return strcmp(s->metrics, "-") == 0;
}

const struct spec_clash spec_clashes[] = {
	{ .options = { "nodes", "local" },
	  .text = "--local does not go with --nodes or --gpus-per-node",
	  .hint = "write --local=NxG, such as --local=2x8" },
	{ .options = { "gpus-per-node", "local" },
	  .text = "--local does not go with --nodes or --gpus-per-node",
	  .hint = "write --local=NxG, such as --local=2x8" },
	{ .options = { "local", "nodes", "ssh", "launcher", "no-wait", "node" },
	  .text = "--node checks this machine only: it cannot be used with "
		  "--local, --nodes, --ssh, --launcher or --no-wait" },
	{ .options = { "dry-run", "node" },
	  .text = "--dry-run does not go with --node, which submits nothing and "
		  "starts no agent" },
	{ .options = { "ssh", "launcher", "nodes" }, .holds = by_ssh,
	  .text = "--nodes={nodes} does not go with --ssh, which uses all "
		  "hosts of its list",
	  .hint = "leave out --nodes; --nodelist takes some of the hosts" },
	{ .options = { "ssh", "launcher", "local" }, .holds = by_ssh,
	  .text = "--local tests this machine and --ssh tests others",
	  .hint = "leave out one of them" },
	{ .options = { "launcher", "ssh" }, .launcher_lacks = LAUNCHER_HOSTS,
	  .text = "--launcher={launcher} does not go with --ssh, which "
		  "starts the agents",
	  .hint = "leave out --launcher" },
	{ .options = { "ssh", "launcher" },
	  .holds = ssh_nowhere, .alone = true,
	  .text = "--ssh needs a list of hosts", .hint = SSH_HINT },
	{ .options = { "hosts" }, .holds = not_by_ssh,
	  .text = "--hosts needs --ssh", .hint = SSH_HINT },
	{ .options = { "ssh-path" }, .holds = not_by_ssh,
	  .text = "--ssh-path needs --ssh", .hint = SSH_HINT },
	{ .options = { "ssh", "local", "launcher", "srun-args" },
	  .holds = without_srun,
	  .text = "--srun-args needs Slurm" },
	{ .options = { "srun-args" }, .holds = open_quote,
	  .text = "--srun-args has an unterminated quote",
	  .hint = "write it as for a shell: --srun-args='--a=1 --b=\"x y\"'" },
	{ .options = { "exclude", "nodelist" }, .holds = none_left,
	  .text = "--exclude leaves no node of --nodelist" },
	/* Slurm would take others as well */
	{ .options = { "nodes", "nodelist" }, .holds = too_few_left,
	  .text = "--nodes={nodes} is more than --nodelist and --exclude leave",
	  .hint = "leave out --nodes to use all nodes of the list" },
	{ .options = { "launcher", "local" },
	  .launcher_lacks = LAUNCHER_PRETENDS,
	  .text = "--local does not go with --launcher={launcher}" },
	{ .options = { "no-wait", "local" },
	  .text = "--no-wait needs a batch job, and --local submits none" },
	{ .options = { "no-wait", "launcher" },
	  .launcher_lacks = LAUNCHER_JOB,
	  .text = "--no-wait needs a batch job, and launcher '{launcher}' "
		  "submits none" },
	{ .options = { "diagnose", "launcher" },
	  .launcher_is = LAUNCHER_ONCE,
	  .text = "launcher 'env' starts agents for one probe, not for several "
		  "in sequence",
	  .hint = "leave out --diagnose" },
	/* many jobs, each of which measures what it has once */
	{ .options = { "local", "ssh", "launcher", "jobs" },
	  .holds = launches_no_batch,
	  .text = "--jobs=pairs submits batch jobs of Slurm, which --local, "
		  "--ssh and other launchers do not" },
	{ .options = { "inject", "diagnose", "compare", "jobs" },
	  .text = "--jobs=pairs cannot be used with --inject, --diagnose "
		  "or --compare, which need a single job" },
	{ .options = { "sample", "quick", "time-budget", "retest", "jobs" },
	  .text = "--jobs=pairs measures all pairs: it cannot be used with "
		  "--sample, --quick, --time-budget or --retest" },
	{ .options = { "local", "jobs", "resume", "retest", "stale" },
	  .text = "--stale chooses nodes of a cluster for a new run of one "
		  "job: it cannot be used with --local, --jobs, --resume or "
		  "--retest" },
	{ .options = { "max-jobs" }, .lacks = "jobs",
	  .text = "--max-jobs needs --jobs=pairs" },
	{ .options = { "deadline" }, .lacks = "jobs",
	  .text = "--deadline needs --jobs=pairs" },
	{ .options = { "resume", "retest" },
	  .text = "--resume does not go with --retest" },
	{ .options = { "deep", "quick" },
	  .text = "--quick does not go with --deep" },
	{ .options = { "maxbytes", "minbytes" }, .holds = end_first,
	  .text = "--minbytes {minbytes} is above --maxbytes {maxbytes}" },
	{ .options = { "register", "variant" },
	  .text = "--variant does not go with --register" },
	{ .options = { "algo", "proto", "env", "nccl-lib", "variant" },
	  .text = "--variant does not go with --algo, --proto, --env or "
		  "--nccl-lib, which it replaces",
	  .hint = "--variant=NAME:NCCL_ALGO=Ring,NCCL_PROTO=LL,"
		  "GPUCHECK_NCCL_LIB=PATH" },
	{ .options = { "csv", "json" },
	  .text = "--json does not go with --csv" },
	{ .options = { "csv", "json", "metrics" }, .holds = metrics_on_stdout,
	  .text = "--metrics=- does not go with --json or --csv",
	  .hint = "--metrics=FILE does" },
	/* a contrast decides itself what it varies */
	{ .options = { "schedule", "compare" }, .contrast = CONTRAST_SCHEDULE,
	  .text = "--schedule does not go with --compare=schedule, which runs "
		  "serial and parallel" },
	{ .options = { "pxn", "compare" }, .contrast = CONTRAST_PXN,
	  .text = "--pxn does not go with --compare=pxn, which runs with and "
		  "without" },
	{ .options = { "memory", "compare" }, .contrast = CONTRAST_MEMORY,
	  .text = "--memory does not go with --compare=memory, which runs "
		  "host and gpu" },
	{ .options = { "compare", "transport" }, .contrast = CONTRAST_PXN,
	  .transport_lacks = XPORT_SETTINGS | XPORT_MODEL,
	  .text = "--compare=pxn" NCCL_ONLY },
	{ .options = { "compare", "transport" }, .contrast = CONTRAST_FAILOVER,
	  .transport_lacks = XPORT_SETTINGS,
	  .text = "--compare=failover" NCCL_ONLY },
	{ .options = { "layer", "transport" }, .transport_lacks = XPORT_MODEL,
	  .text = "--layer is of a simulated cluster",
	  .hint = "add --transport=sim" },
	{ .options = { "force-net", "transport" },
	  .transport_lacks = XPORT_SETTINGS,
	  .text = "--force-net" NCCL_ONLY },
	{ .options = { "pxn", "transport" },
	  .transport_lacks = XPORT_SETTINGS,
	  .text = "--pxn" NCCL_ONLY },
	{ .options = { "production-settings", "transport" },
	  .transport_lacks = XPORT_SETTINGS,
	  .text = "--production-settings" NCCL_ONLY },
	{ .options = { "nccl-lib", "transport" },
	  .transport_lacks = XPORT_SETTINGS,
	  .text = "--nccl-lib" NCCL_ONLY },
	{ .text = NULL }
};

bool spec_clash_holds(const struct spec_clash *c, const struct spec *s)
{
	bool others = !c->options[1], last = false;

	/* the last option is set and, if there are others, one of those too */
	for (int i = 0; c->options[i] && !c->alone; i++) {
		others = others || last;
		last = !spec_is_default(s, spec_find(c->options[i]));
	}
	return (c->alone || (last && others)) &&
	       (!c->lacks || spec_is_default(s, spec_find(c->lacks))) &&
	       (!c->contrast || c->contrast == s->contrast) &&
	       (!c->launcher_is ||
		spec_launcher_is(s->launcher, c->launcher_is)) &&
	       !(c->launcher_lacks &&
		 spec_launcher_is(s->launcher, c->launcher_lacks)) &&
	       !(c->transport_lacks &&
		 spec_transport_is(s->transport, c->transport_lacks)) &&
	       (!c->holds || c->holds(s));
}

int spec_check(const struct spec *s, struct err *e)
{
	const struct spec_clash *c = spec_clashes;
	char name[32], value[PATH_MAX];
	struct str text = STR_INIT;

	while (c->text && !spec_clash_holds(c, s)) {
		c++;
	}
	if (!c->text) {
		return 0;
	}
	for (const char *at = c->text; *at; at++) {
		if (sscanf(at, "{%31[^}]", name) == 1) {
			spec_text(s, spec_find(name), value, sizeof(value));
			str_add(&text, value);
			at = strchr(at, '}');
		} else {
			str_addch(&text, *at);
		}
	}
	err_set(e, 0, "%s", str_text(&text));
	str_release(&text);
	return c->hint ? err_hint(e, "%s", c->hint) : -1;
}
