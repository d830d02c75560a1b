/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/coordinator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/base/str.h"
#include "probes/plan/time.h"
#include "probes/transports.h"

/* Should some node have a GPU, by its driver, Slurm or what it shows? */
static bool expects_gpus(const struct coord *c)
{
	bool gpu = false;

	for (struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		gpu = gpu || a->driver || a->gpus_found > 0 ||
		      a->gpus_on_node > 0;
	}
	return gpu;
}

static const struct xport_ops *choose_transport(struct coord *c)
{
	bool gpu = expects_gpus(c);

	if (c->before != NULL) {
		return xport_find(c->before->transport);
	}
	if (strcmp(c->spec.transport, "auto") != 0) {
		return xport_find(c->spec.transport);
	}
	if (c->probe->transport != NULL) {
		return xport_find(c->probe->transport);
	}
	/* a GPU that should be there and is not must be seen, not avoided */
	for (size_t i = 0; xports[i] != NULL; i++) {
		if (xports[i]->priority >= 0 &&
		    (gpu || !(xports[i]->caps & XPORT_GPU))) {
			return xports[i];
		}
	}
	return NULL;
}

/* The most frequent count of GPUs among the agents, the larger on a tie. */
static int usual_gpus(const struct coord *c)
{
	int count[SPEC_MAX_GPUS + 1] = { 0 };
	int best = 0;

	for (struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		if (a->said_hello && a->gpus_found <= SPEC_MAX_GPUS) {
			count[a->gpus_found]++;
		}
	}
	for (int g = 1; g <= SPEC_MAX_GPUS; g++) {
		if (count[g] > 0 && count[g] >= count[best]) {
			best = g;
		}
	}
	return count[best] > 0 ? best : 0;
}

/* Must a rank have something of the machine, not only a seat on it? */
static bool needs_part(const struct coord *c)
{
	return c->ops->caps & XPORT_GPU ||
	       (c->probe->ports && !(c->ops->caps & XPORT_MODEL));
}

/* Ranks that every whole-node agent should have. */
static int expected_gpus(const struct coord *c)
{
	int64_t n = c->probe->ports ? 0 : c->spec.gpus_per_node;

	if (n == 0) {
		n = c->spec.local_gpus;
	}
	if (n == 0 && c->probe->ports) {
		n = usual_gpus(c);
	}
	for (struct coord_agent *a = c->agents; n == 0 && a != NULL;
	     a = a->next) {
		n = a->gpus_on_node;
	}
	if (n == 0) {
		n = usual_gpus(c);
	}
	if (n == 0 && !needs_part(c)) {
		n = c->spec.local ? 8 : 1;
	}
	return (int)n;
}

static void rank_missing(struct coord_rank *r, const char *code,
			 const char *detail)
{
	r->state = RANK_MISSING;
	STR_COPY(r->code, code);
	STR_COPY(r->detail, detail);
}

static void fill_rank(struct coord *c, const struct coord_draft *d, int node,
		      int slot)
{
	int rank = c->layout.nodes[node].first_rank + slot;
	struct coord_rank *r = &c->ranks[rank];
	char why[200];
	int found;

	r->slot = slot;
	r->line_GB_s = NAN;
	if (d->whole == NULL && slot < d->n_single && d->absent[slot] != 0) {
		snprintf(why, sizeof(why), "the launcher's rank %d never "
			 "reported", d->absent[slot] - 1);
		rank_missing(r, "rank_missing", why);
		return;
	}
	if (!d->present || (d->whole == NULL && slot >= d->n_single)) {
		rank_missing(r, "agent_missing",
			     "no agent of this node reported in time");
		return;
	}
	r->agent = d->whole != NULL ? d->whole : d->single[slot];
	found = r->agent->gpus_found;
	if (d->whole == NULL && found == 1 && c->ops->caps & XPORT_GPU) {
		/* srun --gpus-per-task=1: its one GPU has number 0 for it */
		r->agent->only_gpu = slot;
		r->slot = 0;
	} else if (d->whole == NULL) {
		r->slot = (int)r->agent->local_rank;
	}
	if (!needs_part(c) && found == 0) {
		return;
	}
	if (coord_pretends(c) && found > 0) {
		/* pretend hosts share GPUs, and ports too where none is
		 * measured: a port with itself is no pair */
		r->slot = c->probe->ports && needs_part(c) ? rank :
							     rank % found;
	}
	if (r->slot >= found && needs_part(c)) {
		snprintf(why, sizeof(why), "the %s shows %d %s, %d were expected",
			 coord_pretends(c) ? "machine" : "node", found,
			 c->probe->parts,
			 coord_pretends(c) ? c->layout.n_ranks :
					     c->layout.nodes[node].gpus);
		rank_missing(r, c->probe->missing, why);
		return;
	}
	if (c->probe->ports) {
		coord_take_port(c, r, r->slot);
	}
}

/*
 * Pretend nodes share GPUs, and so do nodes of one machine in containers: what
 * one rank does there is felt by the other.  Two processes of one node that were
 * given one GPU are no pair, for NCCL neither: the second does not take part.
 */
static int find_twins(struct coord *c)
{
	int n = c->layout.n_ranks;
	const char **gpu = calloc((size_t)n + 1, sizeof(*gpu));
	char why[120];

	if (gpu == NULL) {
		return -1;
	}
	for (int a = 0; a < n; a++) {
		int b = 0;

		gpu[a] = coord_part_of(c, a);
		while (b < a && strcmp(gpu[a], gpu[b]) != 0) {
			b++;
		}
		if (b == a || gpu[a][0] == '\0') {
			continue;
		}
		if (coord_pretends(c) || !layout_same_node(&c->layout, a, b)) {
			layout_share_gpu(&c->layout, a, b);
			continue;
		}
		snprintf(why, sizeof(why), "%.60s is that of rank %d already",
			 gpu[a], b);
		rank_missing(&c->ranks[a], "gpu_shared", why);
	}
	free(gpu);
	return 0;
}

static int count_singles(const struct coord_draft *d)
{
	int n = 0;

	for (int i = 0; i < d->n_single; i++) {
		n += d->single[i] != NULL;
	}
	return n;
}

static int build_layout(struct coord *c, struct coord_draft *d, int n,
			struct err *e)
{
	const char **names = calloc((size_t)n, sizeof(*names));
	int *gpus = calloc((size_t)n, sizeof(*gpus));
	int *nics = calloc((size_t)n, sizeof(*nics));
	int expected = expected_gpus(c), rc = -1;

	c->gpus_found = calloc((size_t)n, sizeof(*c->gpus_found));
	if (names != NULL && gpus != NULL && nics != NULL &&
	    c->gpus_found != NULL) {
		for (int i = 0; i < n; i++) {
			names[i] = d[i].name;
			gpus[i] = d[i].gpus > 0	    ? d[i].gpus :
				  d[i].n_single > 0 ? d[i].n_single :
						      expected;
			nics[i] = (int)c->spec.nics;
			c->gpus_found[i] = !d[i].present ? -1 :
					   d[i].whole != NULL ?
						     d[i].whole->gpus_found :
						     count_singles(&d[i]);
		}
		rc = layout_init(&c->layout, n, names, gpus, nics);
	}
	if (rc == 0) {
		c->ranks = calloc((size_t)c->layout.n_ranks + 1,
				  sizeof(*c->ranks));
		rc = c->ranks != NULL ? 0 : -1;
	}
	for (int i = 0; rc == 0 && i < n; i++) {
		for (int s = 0; s < c->layout.nodes[i].gpus; s++) {
			fill_rank(c, &d[i], i, s);
		}
	}
	if (rc == 0 && c->ops->caps & XPORT_GPU) {
		rc = find_twins(c);
	}
	free(names);
	free(gpus);
	free(nics);
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the ranks") : 0;
}

/* Is there anybody to test at all? */
static int check_ranks(struct coord *c, struct err *e)
{
	int present = 0;

	for (int i = 0; i < c->layout.n_ranks; i++) {
		present += c->ranks[i].state != RANK_MISSING;
	}
	if (present == 0 && c->probe->ports && needs_part(c)) {
		/* what is down is a fault, what is not there is none */
		if (coord_has_ports(c)) {
			err_set(e, ENETDOWN, "no HCA port%s%s is ACTIVE on any "
				"node", c->spec.hca[0] ? " of --hca=" : "",
				c->spec.hca);
		} else {
			err_set(e, ENODEV, "no node has an HCA");
		}
		return err_hint(e, "check 'ibstat' or 'rdma link' in a job, "
				   "and --hca");
	}
	if (present == 0 && needs_part(c)) {
		err_set(e, expects_gpus(c) ? ENXIO : ENODEV,
			"no GPU on any node");
		return err_hint(e, "check 'nvidia-smi -L' in a job; a run "
				   "without GPUs: --transport=%s",
				c->probe->kind == PROBE_GROUP ? "sim" : "tcp");
	}
	if (c->layout.n_ranks < 2) {
		c->error_exit = 2;
		err_set(e, ENODEV, "%d rank: a %s needs two", c->layout.n_ranks,
			c->probe->kind == PROBE_GROUP ? "collective" : "pair");
		return err_hint(e, "more nodes (-N), more ranks a node (-G) "
				   "or --local=1x8");
	}
	return 0;
}

int coord_make_layout(struct coord *c, struct err *e)
{
	size_t n_before = c->before != NULL ?
				  json_array_size(c->before->nodes) : 0;
	struct coord_draft *d = calloc((size_t)c->size + n_before + 1,
				       sizeof(*d));
	int n, rc;

	if (d == NULL) {
		return err_set(e, ENOMEM, "no memory for %d nodes", c->size);
	}
	c->ops = choose_transport(c);
	if (c->ops == NULL) {
		free(d);
		return err_set(e, 0, "no transport '%s'", c->spec.transport);
	}
	if (c->probe->ports) {
		coord_count_ports(c);
	}
	n = coord_draft_nodes(c, d);
	n = c->before != NULL ? coord_resume_nodes(c, d, n, e) : n;
	rc = n < 0 ? -1 : build_layout(c, d, n, e);
	free(d);
	if (rc < 0 || check_ranks(c, e) < 0) {
		return -1;
	}
	return c->before != NULL ? coord_resume_parts(c, e) : 0;
}

/* -b -e -f: rising sizes. */
static int make_sizes(struct coord *c, struct err *e)
{
	int64_t b = c->spec.size_begin_B, end = c->spec.size_end_B;
	int64_t factor = c->spec.size_factor < 2 ? 2 : c->spec.size_factor;

	if (b == 0) {
		b = end > 0 ? end : (int64_t)c->ops->default_size_bytes;
	}
	end = end == 0 ? b : end;
	for (c->n_sizes = 0; b <= end; b *= factor) {
		if (c->n_sizes == ORDER_MAX_SIZES) {
			return err_set(e, 0, "more than %d sizes",
				       ORDER_MAX_SIZES);
		}
		c->sizes[c->n_sizes++] = b;
		if (b > INT64_MAX / factor) {
			break;
		}
	}
	c->setup_ns = c->ops->setup_timeout_ns;
	c->task_ns = plan_task_ns(&c->spec, c->ops);
	return 0;
}

int coord_make_drill(struct coord *c, struct err *e)
{
	const char *text =
		json_string_value(json_object_get(c->run, "drill_text"));

	c->drill.noise = -1;
	if (text == NULL) {
		return 0;
	}
	if (drill_parse(text, strlen(text), &c->drill, e) < 0) {
		return -1;
	}
	drill_settle(&c->drill,
		     drill_layer_of(c->ops->name, c->probe->ports,
				    c->spec.memory == MEMORY_GPU), getenv);
	return drill_check(&c->drill, &c->layout, e);
}

/* What is planned has not run so far. */
static int make_cells(struct coord *c)
{
	size_t n = (size_t)c->layout.n_ranks;

	c->cells = calloc(n * n, sizeof(*c->cells));
	if (c->cells == NULL) {
		return -1;
	}
	for (size_t i = 0; i < n * n; i++) {
		c->cells[i].class = CELL_UNPLANNED;
		c->cells[i].bw_GB_s = c->cells[i].lat_us = NAN;
		c->cells[i].expected_GB_s = NAN;
		c->cells[i].path = layout_same_node(&c->layout, (int)(i / n),
						    (int)(i % n)) ?
					   PATH_INTRA :
					   PATH_INTER;
	}
	for (size_t i = 0; i < c->plan.n; i++) {
		const struct task *t = &c->plan.tasks[i];

		coord_cell(c, t->a, t->b)->class = CELL_NOT_RUN;
		coord_cell(c, t->b, t->a)->class = CELL_NOT_RUN;
	}
	return 0;
}

static int make_pairs(struct coord *c, struct err *e)
{
	if (pairs_parse(c->spec.pairs, &c->pairs, e) < 0) {
		return -1;
	}
	pairs_settle(&c->pairs, c->layout.n_nodes);
	if (c->ops->caps & XPORT_ONE_NODE &&
	    pairs_keep_inside(&c->pairs, c->ops->name, e) < 0) {
		return -1;
	}
	if (plan_pairs(&c->layout, &c->pairs, &c->plan, e) < 0) {
		return -1;
	}
	return c->spec.sample == 0 ?
		       0 :
		       plan_sample(&c->plan, c->layout.n_ranks,
				   (int)c->spec.sample,
				   (uint64_t)c->spec.seed, e);
}

int coord_make_plan(struct coord *c, struct err *e)
{
	c->error_exit = 2;	/* what follows is what the user asked for */
	if (make_sizes(c, e) < 0 || coord_make_drill(c, e) < 0 ||
	    make_pairs(c, e) < 0) {
		return -1;
	}
	c->error_exit = 3;
	c->n_passes = pass_list(&c->spec, c->passes);
	if (make_cells(c) < 0) {
		return err_set(e, ENOMEM, "no memory for the plan");
	}
	if (c->before != NULL && coord_resume_rows(c, e) < 0) {
		return -1;
	}
	return coord_open_pass(c, e);
}
