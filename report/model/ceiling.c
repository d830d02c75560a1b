/* SPDX-License-Identifier: BSD-3-Clause */
/* The links of a machine, and what a collective can reach by them. */
#include "report/model/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"

/* ---- machine ------------------------------------------------------------- */

void machine_init(struct machine *m)
{
	*m = (struct machine){ .rails_GB_s = NAN, .nic_GB_s = NAN,
			       .nvlink_GB_s = NAN };
}

void machine_set_rails(struct machine *m, int rails, double GB_s, int64_t gpus)
{
	m->rails = rails;
	m->rails_GB_s = rails * GB_s;
	m->nic_GB_s = gpus > 0 && rails > gpus ?
			      GB_s * (double)(rails / gpus) : GB_s;
	m->gpus = gpus;
	m->whole = gpus > 0;
}

int64_t machine_nodes(const struct machine *m,
		      const struct collective_row *row)
{
	if (row->nodes > 0) {
		return row->nodes;
	}
	return m->gpus <= 0 || row->ranks <= 0 ? 0 :
	       row->ranks <= m->gpus		? 1 :
	       row->ranks % m->gpus == 0	? row->ranks / m->gpus : 0;
}

/* ---- bounds -------------------------------------------------------------- */

/** Formulas of a bound; the last three are those of NVLink. */
enum formula {
	RING, TREE, SHARP, ALL_TO_ALL, ONE_GPU, NVLINK, NVLS, TWICE
};

/** For @ranks ranks, @local on each of @nodes nodes. */
static double bound_GB_s(enum formula f, const struct machine *m, double nodes,
			 double ranks, double local)
{
	switch (f) {
	case RING:
		return m->rails_GB_s;
	case TREE:
		return m->rails_GB_s * nodes / (nodes - 1) * (ranks - 1) /
		       ranks;
	case SHARP:
		return 2 * m->rails_GB_s * (ranks - 1) / ranks;
	case ALL_TO_ALL:
		return m->rails_GB_s * (ranks - 1) / (local * (ranks - local));
	case ONE_GPU:
		return m->nic_GB_s;
	case NVLINK:
		return m->nvlink_GB_s;
	case NVLS:
		return 2 * m->nvlink_GB_s * (ranks - 1) / (ranks + 1);
	case TWICE:	/* as much data moves in a switch as over two links */
		return 2 * m->nvlink_GB_s * (ranks - 1) / ranks;
	}
	return NAN;
}

#define OP(name) (1U << COLLECTIVE_##name)
#define GATHERS	 (OP(ALLGATHER) | OP(REDUCESCATTER))
#define ROOTED	 (OP(BROADCAST) | OP(REDUCE))
#define ANY	 ((1U << COLLECTIVES) - 1)

/** Bounds by collective and algorithm, as NCCL calls it; "": any. */
static const struct bound {
	unsigned ops;
	const char *algo;
	enum ceiling_path path;
	enum formula between, inside;	/* nodes */
} bounds[] = {
	{ OP(ALLREDUCE) | GATHERS, "Ring", CEILING_RING, RING, NVLINK },
	{ OP(ALLREDUCE), "Tree", CEILING_TREE, TREE, NVLINK },
	{ OP(ALLREDUCE), "NVLSTree", CEILING_TREE, TREE, TWICE },
	{ OP(ALLREDUCE), "CollNetDirect", CEILING_SHARP, SHARP, TWICE },
	{ OP(ALLREDUCE), "CollNetChain", CEILING_SHARP, SHARP, NVLINK },
	{ OP(ALLREDUCE), "NVLS", CEILING_SHARP, SHARP, NVLS },
	{ GATHERS, "PAT", CEILING_TREE, TREE, NVLINK },
	{ GATHERS, "NVLS", CEILING_TREE, TREE, NVLINK },
	{ GATHERS, "CollNetDirect", CEILING_TREE, TREE, NVLINK },
	{ ROOTED, "", CEILING_RING, RING, NVLINK },
	{ OP(ALLTOALL), "", CEILING_DIRECT, ALL_TO_ALL, NVLINK },
	{ OP(SENDRECV), "", CEILING_DIRECT, ONE_GPU, NVLINK },
};

/** The bound of row @b, where the ranks use all rails of @m; NAN in it: not
 *  known. */
static struct ceiling bound_of(const struct machine *m, const struct bound *b,
			       double nodes, double ranks, double local)
{
	struct ceiling c = { .path = b->path, .algo = b->algo,
			     .rails = m->rails };
	double inside = bound_GB_s(b->inside, m, nodes, ranks, local);
	bool alone = nodes <= 1 || m->one_domain;

	c.GB_s = alone ? inside :
			 bound_GB_s(b->between, m, nodes, ranks, local);
	/* NVLink carries the same data on the way */
	if (alone || (inside < c.GB_s && local > 1)) {
		c.GB_s = inside;
		c.path = CEILING_NVLINK;
		c.rails = 0;
	}
	return c;
}

/** Return true if NCCL may use the algorithm of @b, where @algo ("": any) is
 *  known of it.  SHARP needs switches and a plugin, so that it is not assumed;
 *  @inside a node, trees are no faster than rings. */
static bool may_be(const struct bound *b, const char *algo, bool inside)
{
	return !b->algo[0] || (algo[0] ? strcmp(b->algo, algo) == 0 :
			       inside  ? strcmp(b->algo, "Ring") == 0 ||
						 strcmp(b->algo, "NVLS") == 0 :
					 b->path != CEILING_SHARP);
}

static bool is_known(const char *algo, unsigned op)
{
	for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
		if ((bounds[i].ops & op) && strcmp(bounds[i].algo, algo) == 0) {
			return true;
		}
	}
	return false;
}

void ceiling_of_row(const struct machine *m, const struct collective_row *row,
		    struct ceiling *most, struct ceiling *least)
{
	enum collective kind = collective_parse(row->op);
	unsigned op = kind == COLLECTIVES ? 0 : 1U << kind;
	int64_t nodes = machine_nodes(m, row);
	double ranks = (double)row->ranks, local;
	struct machine used = *m;	/* the rails of these ranks */
	const char *algo = is_known(row->algo, op) ? row->algo : "";

	*most = *least = (struct ceiling){ .GB_s = NAN, .algo = "" };
	if (nodes < 1 || row->ranks < 2) {
		return;
	}
	local = ceil(ranks / (double)nodes);
	if (m->whole && local < (double)m->gpus) {
		used.rails = m->rails > m->gpus ?
				     (int)local * (int)(m->rails / m->gpus) :
			     m->rails < (int)local ? m->rails : (int)local;
		used.rails_GB_s = m->rails_GB_s * used.rails / m->rails;
	}
	for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
		struct ceiling c;

		if (!(bounds[i].ops & op) ||
		    !may_be(&bounds[i], algo, nodes == 1 || m->one_domain)) {
			continue;
		}
		c = bound_of(&used, &bounds[i], (double)nodes, ranks, local);
		if (!(c.GB_s <= most->GB_s)) {
			*most = c;
		}
		if (!(c.GB_s >= least->GB_s)) {
			*least = c;
		}
	}
}

void ceiling_words(const struct ceiling *c, double GB_s, struct str *out)
{
	str_addf(out, "%.0f %% of what ", 100 * GB_s / c->GB_s);
	if (c->rails > 0) {
		str_addf(out, "%d rail%s carr%s", c->rails,
			 c->rails == 1 ? "" : "s", c->rails == 1 ? "ies" : "y");
	} else {
		str_add(out, "NVLink carries");
	}
	str_addf(out, "%s%s", c->algo[0] ? " by " : "", c->algo);
}

/* ---- NVLink -------------------------------------------------------------- */

#define NVLINK_SECTION "nvlink"

/** NVLink bandwidth of the GPU called @name, GB/s; NAN if no section of @x has
 *  it.  A board that divides its links between few GPUs gives each no more. */
static double nvlink_of(const struct expected *x, const char *name)
{
	for (size_t i = 0; name[0] && i < x->n; i++) {
		const struct expected_line *l = &x->list[i];

		if (strncmp(l->name, NVLINK_SECTION,
			    strlen(NVLINK_SECTION)) == 0 &&
		    expected_is_of(l, name)) {
			return l->line_GB_s;
		}
	}
	return NAN;
}

/** The GPU with the slowest NVLinks; without NVLinks in use: NAN. */
static double nvlink_of_facts(const struct run *run)
{
	double least = NAN;

	run_foreach_fact(run, f) {
		bool gpu = run_number_in(f->scope, "gpu") >= 0;

		if (gpu && strcmp(f->fact, "nvlinks") == 0 &&
		    strcmp(f->value, "0") == 0) {
			return NAN;
		}
		if (gpu && strcmp(f->fact, "name") == 0) {
			least = fmin(least, nvlink_of(&run->expected,
						      f->value));
		}
	}
	return least;
}

/** True if all GPUs are in one clique of an NVLink fabric of several machines,
 *  which IMEX joins. */
static bool is_one_domain(const struct run *run)
{
	const struct fact_row *cluster = NULL, *clique = NULL;

	run_foreach_fact(run, f) {
		const struct fact_row **is =
			strcmp(f->fact, "fabric_cluster") == 0 ? &cluster :
			strcmp(f->fact, "fabric_clique") == 0  ? &clique : NULL;

		if (is && *is && strcmp((*is)->value, f->value) != 0) {
			return false;
		}
		if (is) {
			*is = f;
		}
		if ((strcmp(f->fact, "imex") == 0 &&
		     strcmp(f->value, "running") != 0) ||
		    (strcmp(f->fact, "NCCL_MNNVL_ENABLE") == 0 &&
		     strcmp(f->value, "0") == 0)) {
			return false;
		}
	}
	return cluster && clique;
}

/* ---- rails --------------------------------------------------------------- */

/** Sum of the rates of the ports in @name, "mlx5_0+mlx5_1", by the facts of a
 *  node from @from to @end; NAN: none of them is known. */
static double rate_of(const struct fact_row *from, const struct fact_row *end,
		      const char *name)
{
	double sum = NAN;

	for (const struct fact_row *f = from; f < end; f++) {
		double GB_s;

		if (strcmp(f->fact, "line_rate") != 0 ||
		    !str_names_meet(name, f->scope)) {
			continue;
		}
		GB_s = strtod(f->value, NULL);
		sum = GB_s > 0 ? (isnan(sum) ? GB_s : sum + GB_s) : sum;
	}
	return sum;
}

/** The NICs that the GPUs of node @n use, with its facts from @from to @end,
 *  into @m if they are less than those of the nodes before; false: not
 *  known. */
static bool add_node(const struct run_entry *node, const struct fact_row *from,
		     const struct fact_row *end, struct machine *m)
{
	const struct run_entry n = *node;
	const json_t *of = n.nic_used ? n.nic_used : n.nic_of;
	bool seen[MACHINE_RAILS_MAX] = { false };
	double sum = 0, least = NAN;
	int rails = 0;

	for (int g = 0; g < n.gpus; g++) {
		const json_t *nic = json_array_get(of, (size_t)g);
		json_int_t k = json_is_integer(nic) ? json_integer_value(nic) :
						      -1;
		const char *name;
		double GB_s;

		if (k < 0 || k >= MACHINE_RAILS_MAX) {
			return false;
		}
		name = json_string_value(json_array_get(n.nic_names,
							(size_t)k));
		if (seen[k] || !name) {
			continue;
		}
		GB_s = rate_of(from, end, name);
		if (isnan(GB_s)) {
			return false;
		}
		seen[k] = true;
		sum += GB_s;
		least = fmin(least, GB_s);
		rails++;
	}
	if (rails > 0 && !(sum >= m->rails_GB_s)) {
		m->rails_GB_s = sum;
		m->rails = rails;
	}
	m->nic_GB_s = fmin(m->nic_GB_s, least);
	return rails > 0;
}

/** True if NCCL moved data between nodes by sockets. */
static bool by_sockets(const struct run *run)
{
	run_foreach_fact(run, f) {
		if (strcmp(f->fact, "network") == 0 &&
		    strcmp(f->value, "Socket") == 0) {
			return true;
		}
	}
	return false;
}

/* ---- machine of a run ---------------------------------------------------- */

static const char *option_text(const struct run *run, const char *name)
{
	const char *text = json_string_value(run_option(run, name));

	return text ? text : "";
}

void machine_of_run(const struct run *run, struct machine *m)
{
	const char *machine = option_text(run, "machine");
	const char *rails = option_text(run, "rails");
	const struct expected_machine *known =
		expected_machine(&run->expected, machine);
	const json_t *nodes = run_file(run->json).nodes;
	const struct fact_row *from, *to = run->facts;
	const struct fact_row *end = to ? to + run->n_facts : NULL;
	double GB_s;
	int n;

	machine_init(m);
	if (known) {
		machine_set_rails(m, known->rails, known->rail_GB_s,
				  known->gpus);
		m->nvlink_GB_s = nvlink_of(&run->expected, known->gpu);
	}
	if (machine_rails_parse(rails, &n, &GB_s) == 0) {
		machine_set_rails(m, n, GB_s, m->gpus);
	}
	if (known || rails[0] ||
	    !spec_transport_is(run->transport, XPORT_SETTINGS)) {
		return;
	}
	m->nvlink_GB_s = nvlink_of_facts(run);
	m->one_domain = is_one_domain(run);
	if (run_option(run, "local") || by_sockets(run)) {
		return;
	}
	/* the rails, if the facts of all nodes have them */
	for (size_t i = 0; run->facts && i < json_array_size(nodes); i++) {
		const struct run_entry node = run_entry(nodes, i);

		/* a node's facts are contiguous but for those of the end, and
		 * most often behind those of the node before */
		for (from = to; from < end && strcmp(from->node, node.name);
		     from++) {
		}
		for (from = from < end ? from : run->facts;
		     from < end && strcmp(from->node, node.name); from++) {
		}
		for (to = from; to < end && strcmp(to->node, node.name) == 0;
		     to++) {
		}
		if (!add_node(&node, from, to, m)) {
			m->rails = 0;
			m->rails_GB_s = m->nic_GB_s = NAN;
			return;
		}
	}
}
