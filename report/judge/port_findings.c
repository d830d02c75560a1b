/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What HCA ports say about themselves, where ranks are ports: links that run
 * below what they could, and settings in which ports differ.
 */
#include "report/judge/findings.h"
#include "report/judge/node.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"

/** What is heard of a port. */
enum port_fact {
	PORT_MTU, PORT_RATE,
	PORT_SPEED, PORT_SPEED_MAX,	/* of the PCIe link, GT/s */
	PORT_WIDTH, PORT_WIDTH_MAX,	/* lanes */
	PORT_FACTS
};

static const char *const fact_names[PORT_FACTS] = {
	[PORT_MTU]	 = "active_mtu",
	[PORT_RATE]	 = "rate",
	[PORT_SPEED]	 = "pcie_speed",
	[PORT_SPEED_MAX] = "pcie_speed_max",
	[PORT_WIDTH]	 = "pcie_width",
	[PORT_WIDTH_MAX] = "pcie_width_max",
};

struct port {
	double said[PORT_FACTS];	/* NAN where nobody said it */
};

static const struct port unheard = { { NAN, NAN, NAN, NAN, NAN, NAN } };

static void hear_fact(struct port *p, const struct fact_row *f)
{
	for (int i = 0; i < PORT_FACTS; i++) {
		if (strcmp(f->fact, fact_names[i]) == 0) {
			p->said[i] = strtod(f->value, NULL);
		}
	}
}

/** The ports that are ranks; NULL without memory. */
static struct port *hear_ports(const struct run *run)
{
	struct port *ports = calloc((size_t)run->n_ranks + 1, sizeof(*ports));
	int node = -1;

	for (int r = 0; ports && r < run->n_ranks; r++) {
		ports[r] = unheard;
	}
	for (size_t i = 0; ports && i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		int rank;

		node = run_find_node(run, f->node, node);
		rank = node >= 0 ? part_nic_rank(run, node, f->scope) : -1;
		if (rank >= 0) {
			hear_fact(&ports[rank], f);
		}
	}
	return ports;
}

static void warn(const struct run *run, int rank, const char *code,
		 const char *text, struct verdict *v)
{
	struct part p = part_at(PART_GPU, run->ranks[rank].node,
				run->ranks[rank].gpu);
	struct part shown = part_shown(run, &p);
	struct finding *f = finding_add(v, &shown, code);
	char name[PART_NAME_SIZE];

	f->cells = part_measured(run, &p);
	finding_say(f, "%s: %s", part_name(run, &shown, name, sizeof(name)),
		    text);
	finding_add_evidence(f, "%s", f->says);
}

/* ---- a link below what it could be --------------------------------------- */

/** The sentence about a link that is below; false where it is not. */
static bool say_downgraded(const struct port *p, char *whole, size_t size)
{
	const double *said = p->said;
	bool slow = said[PORT_SPEED] < said[PORT_SPEED_MAX];
	bool narrow = said[PORT_WIDTH] < said[PORT_WIDTH_MAX];
	struct str text = STR_INIT;

	if (slow) {
		str_addf(&text, " at %g of %g GT/s", said[PORT_SPEED],
			 said[PORT_SPEED_MAX]);
	}
	if (narrow) {
		str_addf(&text, " on %g of %g lanes", said[PORT_WIDTH],
			 said[PORT_WIDTH_MAX]);
	}
	snprintf(whole, size, "its PCIe link runs%s; device and slot support "
		 "more", str_text(&text));
	str_release(&text);
	return slow || narrow;
}

/** The same where ports are no ranks.  Facts of a port follow each other, and
 *  those of a node. */
static void find_on_nodes(const struct run *run, struct verdict *v)
{
	int node = -1, index = -1;
	size_t i = 0;

	while (i < run->n_facts) {
		const struct fact_row *first = &run->facts[i];
		struct port p = unheard;
		int last = node;
		bool is_port = false;
		struct part part;
		char whole[160];

		node = run_find_node(run, first->node, node);
		index = node == last ? index : -1;
		for (; i < run->n_facts &&
		       strcmp(run->facts[i].scope, first->scope) == 0 &&
		       strcmp(run->facts[i].node, first->node) == 0; i++) {
			is_port |= strcmp(run->facts[i].fact,
					  "port_state") == 0;
			hear_fact(&p, &run->facts[i]);
		}
		if (!is_port || node < 0) {
			continue;
		}
		part = part_at(PART_NIC, node, ++index);
		if (say_downgraded(&p, whole, sizeof(whole))) {
			finding_say(finding_add(v, &part, "pcie_downgraded"),
				    "%s of %s: %s", first->scope,
				    run->nodes[node].name, whole);
		}
	}
}

/* ---- what ports differ in ------------------------------------------------ */

/** A number that all ports should share. */
static const struct shared {
	const char *code, *what, *unit;
	enum port_fact fact;
} shareds[] = {
	{ .code = "mtu_differs", .what = "an MTU", .unit = "bytes",
	  .fact = PORT_MTU },
	{ .code = "rate_differs", .what = "a rate", .unit = "Gb/s",
	  .fact = PORT_RATE },
};

#define SHAREDS (sizeof(shareds) / sizeof(*shareds))

/** Is @rank the first of its group? */
static bool is_first(const struct run *run, int rank)
{
	int r = 0;

	while (run->ranks[r].group != run->ranks[rank].group) {
		r++;
	}
	return r == rank;
}

/** Ports of another fabric than @first's are of another kind. */
static void find_odd(const struct run *run, int first, const struct port *ports,
		     const struct shared *s, struct verdict *v)
{
	double *values = calloc((size_t)run->n_ranks + 1, sizeof(*values));
	double most;

	for (int r = 0; values && r < run->n_ranks; r++) {
		values[r] = run->ranks[r].group == run->ranks[first].group ?
				    ports[r].said[s->fact] : NAN;
	}
	v->failed = v->failed || !values;
	most = values ? stats_mode(values, (size_t)run->n_ranks) : NAN;
	for (int r = 0; values && r < run->n_ranks; r++) {
		char text[160];

		if (isnan(values[r]) || values[r] == most) {
			continue;
		}
		snprintf(text, sizeof(text), "it has %s of %g %s, most ports "
			 "have %g; a pair runs at the lower of its two",
			 s->what, values[r], s->unit, most);
		warn(run, r, s->code, text, v);
	}
	free(values);
}

void port_findings(const struct run *run, struct verdict *v)
{
	struct port *ports = run->ports ? hear_ports(run) : NULL;
	char text[160];

	if (strcmp(run->probe, "info") == 0 ||
	    strcmp(run->probe, NODE_PROBE) == 0) {
		find_on_nodes(run, v);
	}
	v->failed = v->failed || (run->ports && !ports);
	for (int r = 0; ports && r < run->n_ranks; r++) {
		if (say_downgraded(&ports[r], text, sizeof(text))) {
			warn(run, r, "pcie_downgraded", text, v);
		}
	}
	for (int r = 0; ports && r < run->n_ranks; r++) {
		for (size_t i = 0; is_first(run, r) && i < SHAREDS; i++) {
			find_odd(run, r, ports, &shareds[i], v);
		}
	}
	free(ports);
}
