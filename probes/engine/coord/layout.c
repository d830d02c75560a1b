/* SPDX-License-Identifier: BSD-3-Clause */
/* Which agents, and GPUs or HCA ports of theirs, are ranks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/dl.h"
#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/engine/coord/ranks.h"
#include "probes/engine/coord/work.h"
#include "probes/probe.h"

/* ---- gpus ---------------------------------------------------------------- */

/* GPUs that a node has and that are no ranks: what keeps them back. */

#define REMEDY_HIDDEN "unset CUDA_VISIBLE_DEVICES, or let it name GPUs that " \
		      "'nvidia-smi -L' shows, not parts of them (MIG)"
#define REMEDY_MIG    "use nodes without MIG; to turn it off, as root: " \
		      "nvidia-smi -mig 0"
#define WHY_SIZE      160

/* "2 of the 8 GPUs", "all 8 GPUs" */
static const char *share(int n, int all, char buf[40])
{
	if (n == all) {
		snprintf(buf, 40, "%s%d GPU%s", n > 1 ? "all " : "", n,
			 n > 1 ? "s" : "");
	} else {
		snprintf(buf, 40, "%d of the %d GPUs", n, all);
	}
	return buf;
}

/* Returns the code of why GPUs of @a, hidden or divided by MIG, are no ranks,
 * with @why in words and the @remedy; NULL: no GPU is kept back. */
static const char *gpus_held_back(const struct coord_agent *a,
				  char why[WHY_SIZE], const char **remedy)
{
	const struct inventory_seen seen = inventory_seen(a->inventory);
	int hidden = seen.gpus_hidden, divided = seen.gpus_divided;
	int all = a->gpus_found + hidden + divided;
	char part[40];

	if (hidden > 0) {
		*remedy = REMEDY_HIDDEN;
		snprintf(why, WHY_SIZE,
			 "CUDA_VISIBLE_DEVICES='%.60s' hides %s",
			 seen.gpus_shown, share(hidden, all, part));
		return "gpu_hidden";
	}
	if (divided > 0) {
		*remedy = REMEDY_MIG;
		snprintf(why, WHY_SIZE, "MIG divides %s, and a MIG instance "
			 "has no path to another GPU",
			 share(divided, all, part));
		return "gpu_mig";
	}
	return NULL;
}

/* The first agent with such GPUs; NULL. */
static const struct coord_agent *gpus_first_held_back(const struct agents *s,
						      char why[WHY_SIZE],
						      const char **remedy)
{
	const struct coord_agent *a = NULL;

	while ((a = agents_next(s, a)) != NULL &&
	       gpus_held_back(a, why, remedy) == NULL) {
		continue;
	}
	return a;
}

/* Set @e: no node has a GPU, and why; a @collective needs one.  Returns 3, the
 * exit code. */
static int gpus_none(const struct agents *s, bool expected, bool collective,
		     struct err *e)
{
	const char *note = "", *remedy;
	char why[200];
	const struct coord_agent *a = gpus_first_held_back(s, why, &remedy);

	if (a != NULL) {
		err_set(e, ENXIO, "no GPU on any node: on '%s' %s", a->node,
			why);
		err_hint(e, "%s", remedy);
		return 3;
	}
	while (note[0] == '\0' && (a = agents_next(s, a)) != NULL) {
		note = inventory_seen(a->inventory).gpu_note;
	}
	note = expected ? dl_reason(note, why, sizeof(why)) : "";
	err_set(e, expected ? ENXIO : ENODEV, "no GPU on any node%s%.150s",
		note[0] != '\0' ? ": " : "", note);
	err_hint(e, "check 'nvidia-smi -L' in a job%s", collective ? "" :
		 "; a run without GPUs: --transport=tcp");
	return 3;
}

/* ---- ranks --------------------------------------------------------------- */

/* Returns true if any node should have GPUs: it has a driver, visible or hidden
 * GPUs, or Slurm allocated some. */
static bool expects_gpus(const struct coord *c)
{
	const struct coord_agent *a = NULL;
	char why[WHY_SIZE];
	const char *remedy;
	bool gpu = false;

	while ((a = agents_next(c->agents, a)) != NULL) {
		gpu = gpu || a->driver || a->gpus_found > 0 ||
		      a->gpus_on_node > 0 || gpus_held_back(a, why, &remedy);
	}
	return gpu;
}

static const struct xport_ops *choose_transport(const struct coord *c)
{
	const char *name =
		c->before != NULL ? run_file(c->before).transport
		: strcmp(c->spec.transport, "auto") != 0 ? c->spec.transport
							 : c->probe->transport;

	/* a GPU that should be there and is not must be seen, not avoided */
	return name != NULL ? xport_find(name) : xport_auto(expects_gpus(c));
}

/* Returns true if a rank needs a GPU or port of the machine, not only a worker
 * slot. */
static bool needs_part(const struct ranks *r)
{
	return xport_is(r->ops, XPORT_GPU) ||
	       (r->c->probe->ports && !ranks_model(r));
}

/* Ranks that every whole-node agent should have. */
static int expected_gpus(const struct ranks *r)
{
	const struct coord *c = r->c;
	const struct coord_agent *a = NULL;
	int64_t n = c->probe->ports ? 0 : c->spec.gpus_per_node;
	int count[SPEC_MAX_GPUS + 1] = { 0 };

	if (n == 0) {
		n = c->spec.local_gpus;
	}
	if (n == 0 && c->probe->ports) {
		n = r->ports.n;
	}
	while (n == 0 && (a = agents_next(c->agents, a)) != NULL) {
		n = a->gpus_on_node;
	}
	/* else the most frequent count of GPUs among the agents, the larger on
	 * a tie */
	while (n == 0 && (a = agents_next(c->agents, a)) != NULL) {
		if (a->gpus_found <= SPEC_MAX_GPUS) {
			count[a->gpus_found]++;
		}
	}
	for (int g = 1, most = count[0]; g <= SPEC_MAX_GPUS; g++) {
		if (count[g] > 0 && count[g] >= most) {
			most = count[g];
			n = g;
		}
	}
	if (n == 0 && !needs_part(r)) {
		n = c->spec.local ? 8 : 1;
	}
	return (int)n;
}

/* Ranks of the node @d, of which most have @usual: each as many GPUs as it was
 * given, and one that is not in the job by Slurm's word is short of none. */
static int node_gpus(const struct ranks *r, const struct node_draft *d,
		     int usual)
{
	const struct spec *s = &r->c->spec;
	int given = d->whole != NULL ? (int)d->whole->gpus_on_node : 0;
	bool any = false;	/* the job has GPUs, Slurm says */

	if (d->gpus > 0 || d->n_single > 0) {
		return d->gpus > 0 ? d->gpus : d->n_single;
	}
	if (r->c->probe->ports || s->gpus_per_node > 0 || s->local_gpus > 0) {
		return usual;
	}
	for (size_t i = 0; i < r->given.n; i++) {
		any = any || r->given.parts[i].gpus > 0;
	}
	if (given <= 0 && needs_part(r) && any &&
	    allocation_gpus(&r->given, d->host) == 0) {
		return 0;
	}
	given = given > 0 ? given : allocation_gpus(&r->given, d->host);
	return given > 0 && given <= SPEC_MAX_GPUS ? given : usual;
}

static void rank_missing(struct rank *k, const char *code, const char *detail)
{
	k->state = RANK_MISSING;
	STR_COPY(k->code, code);
	STR_COPY(k->detail, detail);
}

/* The node @node lacks the GPU or port of @k. */
static void part_missing(const struct ranks *r, int node, struct rank *k)
{
	const struct probe *probe = r->c->probe;
	const char *code = NULL, *remedy;
	char why[200];

	if (!probe->ports) {
		code = gpus_held_back(k->agent, why, &remedy);
	}
	if (code != NULL) {
		rank_missing(k, code, why);
		return;
	}
	if (probe->ports && k->slot < r->ports.n) {
		snprintf(why, sizeof(why), "%.80s is missing on this node, but "
			 "present on others", r->ports.slot[k->slot].name);
	} else {
		snprintf(why, sizeof(why),
			 "the %s shows %d of %d %s",
			 ranks_pretend(r) ? "machine" : "node",
			 k->agent->gpus_found,
			 ranks_pretend(r) ? r->layout.n_ranks
					  : r->layout.nodes[node].gpus,
			 probe->parts);
	}
	rank_missing(k, probe->missing, why);
}

static void fill_rank(struct ranks *r, const struct node_draft *d, int node,
		      int slot)
{
	const struct probe *probe = r->c->probe;
	int rank = r->layout.nodes[node].first_rank + slot;
	struct rank *k = &r->all[rank];
	struct run_entry gone = agents_absent(r->c->agents, d->name);
	const char *absent = gone.detail, *code = gone.code;
	char why[200];
	/* each node of the model is a recorded machine */
	bool recorded = ranks_model(r) && r->c->spec.sysroot[0] != '\0';
	bool there;
	int found;

	k->slot = slot;
	k->line_GB_s = NAN;
	k->boot_rank = d->boot_rank;
	r->layout.ranks[rank].group = ports_group(r, slot);
	if (d->whole == NULL && slot < d->n_single && d->absent[slot] != 0) {
		k->boot_rank = d->absent[slot];
		gone = agents_absent_rank(r->c->agents, k->boot_rank - 1);
		snprintf(why, sizeof(why), "the launcher's rank %d did not "
					   "report", k->boot_rank - 1);
		rank_missing(k, limit_is(gone.code) ? gone.code :
				coord_missing(r->c, "rank_missing"),
			     gone.detail[0] != '\0' ? gone.detail : why);
		return;
	}
	if (!d->present || (d->whole == NULL && slot >= d->n_single)) {
		rank_missing(k, limit_is(code) ? code :
				absent[0] != '\0' ? "agent_missing" :
				coord_missing(r->c, "agent_missing"),
			     absent[0] != '\0' ? absent :
			     "no agent of this node reported in time");
		return;
	}
	k->agent = d->whole != NULL ? d->whole : d->single[slot];
	found = k->agent->gpus_found;
	if (d->whole == NULL && found == 1 && xport_is(r->ops, XPORT_GPU)) {
		/* srun --gpus-per-task=1: its one GPU has number 0 for it */
		k->agent->only_gpu = slot;
		k->slot = 0;
	} else if (d->whole == NULL) {
		k->slot = (int)k->agent->local_rank;
	}
	if (!needs_part(r) && found == 0) {
		return;
	}
	if (ranks_pretend(r) && !recorded && found > 0) {
		/* pretend hosts share GPUs, and ports too where none is
		 * measured: a port with itself is no pair */
		k->slot = probe->ports && needs_part(r) ? rank : rank % found;
	}
	r->layout.ranks[rank].group = ports_group(r, k->slot);
	there = probe->ports ? ports_take(r, k) : k->slot < found;
	if (there || !needs_part(r)) {
		return;
	}
	part_missing(r, node, k);
}

/*
 * Pretend nodes share GPUs, and so do nodes of one machine in containers: what
 * one rank does there is felt by the other.  Two processes of one node that
 * were given one GPU are no pair, for NCCL neither: the second does not take
 * part.
 */
static int find_twins(struct ranks *r)
{
	int n = r->layout.n_ranks;
	const char **gpu = calloc((size_t)n + 1, sizeof(*gpu));
	char why[120];

	if (gpu == NULL) {
		return -1;
	}
	for (int a = 0; a < n; a++) {
		int b = 0;

		gpu[a] = ranks_part(r, a);
		while (b < a && strcmp(gpu[a], gpu[b]) != 0) {
			b++;
		}
		if (b == a || gpu[a][0] == '\0') {
			continue;
		}
		if (ranks_pretend(r) || !layout_same_node(&r->layout, a, b)) {
			layout_share_gpu(&r->layout, a, b);
			continue;
		}
		snprintf(why, sizeof(why), "%.60s is already used by rank %d",
			 gpu[a], b);
		rank_missing(&r->all[a], "gpu_shared", why);
	}
	free(gpu);
	return 0;
}

static int build_layout(struct ranks *r, struct node_draft *d, int n,
			struct err *e)
{
	int expected = expected_gpus(r), rc = layout_init(&r->layout, n);

	r->gpus_found = calloc((size_t)n, sizeof(*r->gpus_found));
	rc = r->gpus_found != NULL ? rc : -1;
	for (int i = 0; rc == 0 && i < n; i++) {
		struct cluster_node *node = &r->layout.nodes[i];

		STR_COPY(node->name, d[i].name);
		node->gpus = node_gpus(r, &d[i], expected);
		node->nics = (int)r->c->spec.nics;
		r->gpus_found[i] = !d[i].present      ? -1 :
				   d[i].whole == NULL ? 0 :
							d[i].whole->gpus_found;
		for (int k = 0; d[i].present && d[i].whole == NULL &&
				k < d[i].n_single; k++) {
			r->gpus_found[i] += d[i].single[k] != NULL;
		}
	}
	rc = rc < 0 ? -1 : layout_number(&r->layout);
	if (rc == 0 && r->layout.n_ranks > SPEC_MAX_RANKS) {
		err_set(e, 0, "%d ranks have connected, but at most %d can be "
			"measured in one run", r->layout.n_ranks,
			SPEC_MAX_RANKS);
		return err_hint(e, "use fewer nodes (-N) or fewer ranks per "
				   "node (-G)");
	}
	if (rc == 0) {
		r->all = calloc((size_t)r->layout.n_ranks + 1, sizeof(*r->all));
		rc = r->all != NULL ? 0 : -1;
	}
	for (int i = 0; rc == 0 && i < n; i++) {
		for (int s = 0; s < r->layout.nodes[i].gpus; s++) {
			fill_rank(r, &d[i], i, s);
		}
	}
	if (rc == 0 && xport_is(r->ops, XPORT_GPU)) {
		rc = find_twins(r);
	}
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the ranks") :
			ranks_find_nics(r, e);
}

/* No rank has a port to test: says why.  Returns the exit code. */
static int no_ports(const struct coord *c, struct err *e)
{
	char text[PORTS_FILTER_TEXT];

	/* what is down is a fault, what is not there is none */
	if (ports_count(c, false) == 0 && ports_count(c, true) > 0) {
		err_set(e, ENODEV, "not applicable: the %zu HCA ports "
			"are EFA, which has no reliable connections",
			ports_count(c, true));
		err_hint(e, "gpucheck p2p tests them through NCCL");
		return 3;
	}
	if (ports_count(c, false) > 0) {
		const bool set = ports_filter_text(c, text);

		err_set(e, ENETDOWN, "no HCA port%s%s is ACTIVE on any "
			"node", set ? " of " :
			c->spec.hca[0] ? " of --hca=" : "",
			set ? text : c->spec.hca);
	} else {
		err_set(e, ENODEV, "no node has an HCA");
	}
	err_hint(e, "check 'ibstat' or 'rdma link' in a job, "
		    "and --hca");
	return 3;
}

/* Checks that at least one rank can be tested.  Returns 0, or the exit code
 * with @e. */
static int check_ranks(const struct ranks *r, struct err *e)
{
	const struct coord *c = r->c;
	bool collective = c->probe->kind == PROBE_COLLECTIVE;
	const char *remedy;
	char waited[32], why[WHY_SIZE];
	int present = 0;

	for (int i = 0; i < r->layout.n_ranks; i++) {
		present += r->all[i].state != RANK_MISSING;
	}
	if (agents_next(c->agents, NULL) == NULL) {
		const char *first = r->layout.nodes[0].name;
		const char *said = agents_absent(c->agents, first).detail;

		if (said[0] != '\0') {
			err_set(e, 0, "none of the %d agents reported; %s: %s",
				agents_expected(c->agents), first, said);
			return 3;
		}
		units_duration_text(clock_now_ns() - c->begin_ns, waited,
				    sizeof(waited));
		err_set(e, 0, "none of the %d agents reported within %s",
			agents_expected(c->agents), waited);
		err_hint(e, "check that agents start and can connect to the "
			    "coordinator by TCP; their messages are in job.out "
			    "and logs/");
		return 3;
	}
	if (present == 0 && c->probe->ports && needs_part(r)) {
		return no_ports(c, e);
	}
	if (present == 0 && needs_part(r)) {
		return gpus_none(c->agents, expects_gpus(c), collective, e);
	}
	if (r->layout.n_ranks < 2) {
		bool held = xport_is(r->ops, XPORT_GPU) &&
			    gpus_first_held_back(c->agents, why, &remedy);

		err_set(e, ENODEV, "%d rank: a %s needs two%s%s",
			r->layout.n_ranks, collective ? "collective" : "pair",
			held ? "; " : "", held ? why : "");
		err_hint(e, "%s", held ? remedy :
			 "use more nodes (-N), more ranks per node (-G) or "
			 "--local=1x8");
		return 3;
	}
	return 0;
}

/* ---- the parts that they are -------------------------------------------- */

/* Checks that every rank still has the GPU or port that it had in the earlier
 * part of the run.  Returns 0, or -1 with @e. */
static int check_parts(const struct ranks *r, struct err *e)
{
	const struct coord *c = r->c;

	for (int i = 0; i < r->layout.n_ranks; i++) {
		const struct cluster_rank *l = &r->layout.ranks[i];
		const char *then = before_part(c->before, ranks_node(r, i),
					       l->gpu);
		const char *now = ranks_part(r, i);

		if (then[0] == '\0' || now[0] == '\0' ||
		    strcmp(then, now) == 0) {
			continue;
		}
		err_set(e, 0,
			"%s%d of node '%s' is %.60s, and was %.60s "
			"when the run began",
			c->probe->part, l->gpu, ranks_node(r, i), now, then);
		return err_hint(e, "the results are of another device: start a "
				   "new run, without --resume");
	}
	return 0;
}

int ranks_make(struct ranks *r, struct coord *c,
	       const struct ranks_events *events, struct err *e)
{
	int hosted = (int)spec_hosted(&c->spec);
	int size = hosted > 1 ? (int)c->spec.local_nodes :
				agents_expected(c->agents);
	int n = size, rc = -1;
	struct node_draft *d = calloc(
		(size_t)size + json_array_size(run_file(c->before).nodes) + 1,
		sizeof(*d));

	const char *given = getenv(ALLOCATION_ENV);

	r->c = c;
	r->events = events;
	r->drill.noise = -1;
	if (d == NULL) {
		err_set(e, ENOMEM, "no memory for %d nodes", size);
		return 3;
	}
	if (given != NULL && allocation_parse(given, &r->given, e) < 0) {
		run_log_event(c->log, NULL, -1, "bad_allocation", "%s",
			      e->text);
		*e = (struct err){ 0 };
	}
	r->ops = choose_transport(c);
	if (r->ops == NULL) {
		free(d);
		err_set(e, 0, "no transport '%s'", c->spec.transport);
		return 3;
	}
	if (c->probe->ports && ports_make(r) < 0) {
		free(d);
		err_set(e, ENOMEM, "no memory for the ports");
		return 3;
	}
	if (hosted > 1) {
		draft_model(c->agents, n, hosted, d);
	} else {
		n = draft_nodes(c->agents, c->spec.local, d, e);
	}
	n = n > 0 && json_array_size(run_file(c->before).nodes) > 0
		    ? before_nodes(c->before, d, n, e)
		    : n;
	if (n >= 0) {
		rc = build_layout(r, d, n, e);
	}
	free(d);
	if (rc < 0) {
		return 3;
	}
	rc = check_ranks(r, e);
	return rc != 0 ? rc : check_parts(r, e) < 0 ? 3 : 0;
}

int ranks_drill(struct ranks *r, struct err *e)
{
	const struct coord *c = r->c;
	const char *text =
		run_file(c->log->run).drill_text;

	if (text == NULL) {
		return 0;
	}
	if (drill_parse(text, strlen(text), &r->drill, e) < 0) {
		return -1;
	}
	drill_settle(&r->drill,
		     drill_layer_of(r->ops->name, c->probe->ports, &c->spec),
		     getenv);
	return drill_check(&r->drill, &r->layout, e);
}
