/* SPDX-License-Identifier: BSD-3-Clause */
/* The links of a run's machine, by its options and facts. */
#include "report/model/ceiling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/run.h"

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

/** Facts of one node, which are contiguous but for those of the end. */
struct node_facts {
	const struct fact_row *from, *to;
};

/** Those of @node, at or after those that @last has, or before. */
static struct node_facts facts_of(const struct run *run, const char *node,
				  struct node_facts last)
{
	const struct fact_row *end = run->facts + run->n_facts, *at = last.to;

	while (at < end && strcmp(at->node, node) != 0) {
		at++;
	}
	for (at = at < end ? at : run->facts;
	     at < end && strcmp(at->node, node) != 0; at++) {
	}
	last = (struct node_facts){ .from = at, .to = at };
	while (last.to < end && strcmp(last.to->node, node) == 0) {
		last.to++;
	}
	return last;
}

/** Sum of the rates of the ports in @name, "mlx5_0+mlx5_1"; NAN: none of them
 *  is known. */
static double rate_of(struct node_facts of, const char *name)
{
	double sum = NAN;

	for (const struct fact_row *f = of.from; f < of.to; f++) {
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

/** The NICs that the GPUs of node @n use, with its @facts, into @m if they are
 *  less than those of the nodes before; false: not known. */
static bool add_node(const struct run_entry *node, struct node_facts facts,
		     struct machine *m)
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
		GB_s = rate_of(facts, name);
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

static void learn_rails(const struct run *run, struct machine *m)
{
	const json_t *nodes = run_file(run->json).nodes;
	struct node_facts of = { .from = run->facts, .to = run->facts };

	for (size_t i = 0; run->facts && i < json_array_size(nodes); i++) {
		const struct run_entry n = run_entry(nodes, i);

		of = facts_of(run, n.name, of);
		if (!add_node(&n, of, m)) {
			m->rails = 0;
			m->rails_GB_s = m->nic_GB_s = NAN;
			return;
		}
	}
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

/* ---- machine ------------------------------------------------------------- */

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
	if (!run_option(run, "local") && !by_sockets(run)) {
		learn_rails(run, m);
	}
}
