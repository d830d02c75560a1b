/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What HCA ports say about themselves, where ranks are ports: links that run
 * below what they could, and settings in which ports differ.
 */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/part.h"
#include "report/judge/says.h"
#include "report/judge/verdict.h"

/** A port that is a rank; NAN where nobody said it. */
struct port_said {
	double mtu_B, rate_Gb_s;
	double speed, speed_max;	/* of the PCIe link, GT/s */
	double width, width_max;	/* lanes */
};

static const struct port_said unheard = {
	.mtu_B = NAN, .rate_Gb_s = NAN, .speed = NAN, .speed_max = NAN,
	.width = NAN, .width_max = NAN,
};

/** Facts of a port, and where their numbers go. */
static const struct said_fact {
	const char *fact;
	size_t offset;
} said_facts[] = {
#define SAID(name, field) \
	{ .fact = name, .offset = offsetof(struct port_said, field) }
	SAID("active_mtu", mtu_B),
	SAID("rate", rate_Gb_s),
	SAID("pcie_speed", speed),
	SAID("pcie_speed_max", speed_max),
	SAID("pcie_width", width),
	SAID("pcie_width_max", width_max),
};

/** The rank whose port the fact is about, -1 for none. */
static int rank_about(const struct run *run, const struct fact_row *f,
		      int node)
{
	for (int i = 0; node >= 0 && i < run->nodes[node].gpus; i++) {
		int rank = run->nodes[node].first_rank + i;

		if (strcmp(run->ranks[rank].nic_name, f->scope) == 0) {
			return rank;
		}
	}
	return -1;
}

static void hear_fact(struct port_said *p, const struct fact_row *f)
{
	for (size_t i = 0; i < sizeof(said_facts) / sizeof(*said_facts); i++) {
		if (strcmp(f->fact, said_facts[i].fact) == 0) {
			*(double *)((char *)p + said_facts[i].offset) =
				strtod(f->value, NULL);
		}
	}
}

static struct port_said *hear_ports(const struct run *run)
{
	struct port_said *ports = calloc((size_t)run->n_ranks + 1,
					 sizeof(*ports));
	int node = -1;

	for (int r = 0; ports && r < run->n_ranks; r++) {
		ports[r] = unheard;
	}
	for (size_t i = 0; ports && i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		int rank;

		node = run_find_node(run, f->node, node);
		rank = rank_about(run, f, node);
		if (rank >= 0) {
			hear_fact(&ports[rank], f);
		}
	}
	return ports;
}

static struct part part_of_rank(const struct run *run, int rank)
{
	struct part p = part_of_kind(PART_GPU);

	p.node = run->ranks[rank].node;
	p.index = run->ranks[rank].gpu;
	return part_shown(run, &p);
}

static int warn(const struct run *run, int rank, const char *code,
		const char *text, struct verdict *v)
{
	struct part p = part_of_rank(run, rank);
	struct finding *f = finding_add(v, &p);
	char name[PART_NAME_SIZE];

	if (!f) {
		return -1;
	}
	for (int other = 0; other < run->n_ranks; other++) {
		f->cells += run_measured(run_cell(run, rank, other)->class);
		f->cells += run_measured(run_cell(run, other, rank)->class);
	}
	STR_COPY(f->code, code);
	snprintf(f->says, sizeof(f->says), "%.180s: %.200s",
		 part_name(run, &p, name, sizeof(name)), text);
	says_act(run, f, -1, -1);
	return finding_add_evidence(f, f->says);
}

/* ---- a link below what it could be ----------------------------------------- */

/** The sentence about a link that is below; false where it is not. */
static bool say_downgraded(const struct port_said *p, char *whole, size_t size)
{
	bool slow = p->speed < p->speed_max, narrow = p->width < p->width_max;
	struct str text = STR_INIT;

	if (slow) {
		str_addf(&text, " at %g of %g GT/s", p->speed, p->speed_max);
	}
	if (narrow) {
		str_addf(&text, " on %g of %g lanes", p->width, p->width_max);
	}
	snprintf(whole, size, "its PCIe link runs%s; device and slot support more", str_text(&text));
	str_release(&text);
	return slow || narrow;
}

static int find_downgraded(const struct run *run, int rank,
			   const struct port_said *p, struct verdict *v)
{
	char whole[160];

	return say_downgraded(p, whole, sizeof(whole)) ?
		       warn(run, rank, "pcie_downgraded", whole, v) : 0;
}

/** The same where ports are no ranks: HCA number @index of @node is @name. */
static int find_on_node(const struct run *run, int node, int index,
			const char *name, const struct port_said *p,
			struct verdict *v)
{
	struct part part = part_of_kind(PART_NIC);
	struct finding *f;
	char whole[160];

	if (!say_downgraded(p, whole, sizeof(whole))) {
		return 0;
	}
	part.node = node;
	part.index = index;
	f = finding_add(v, &part);
	if (!f) {
		return -1;
	}
	STR_COPY(f->code, "pcie_downgraded");
	snprintf(f->says, sizeof(f->says), "%.64s of %.64s: %s", name,
		 run->nodes[node].name, whole);
	says_act(run, f, -1, -1);
	return 0;
}

/** Facts of a port follow each other, and those of a node. */
static int find_on_nodes(const struct run *run, struct verdict *v)
{
	int node = -1, index = -1, rc = 0;
	size_t i = 0;

	while (i < run->n_facts && rc == 0) {
		const struct fact_row *first = &run->facts[i];
		struct port_said p = unheard;
		int last = node;
		bool is_port = false;

		node = run_find_node(run, first->node, node);
		index = node == last ? index : -1;
		for (; i < run->n_facts &&
		       strcmp(run->facts[i].scope, first->scope) == 0 &&
		       strcmp(run->facts[i].node, first->node) == 0; i++) {
			is_port |= strcmp(run->facts[i].fact,
					  "port_state") == 0;
			hear_fact(&p, &run->facts[i]);
		}
		if (is_port && node >= 0) {
			rc = find_on_node(run, node, ++index, first->scope, &p,
					  v);
		}
	}
	return rc;
}

/* ---- what ports differ in ----------------------------------------------------- */

/** A number that all ports should share; fewer is odd where two are as
 *  common. */
static const struct shared {
	const char *code, *what, *unit;
	size_t offset;
} shareds[] = {
	{ .code = "mtu_differs", .what = "an MTU", .unit = "bytes",
	  .offset = offsetof(struct port_said, mtu_B) },
	{ .code = "rate_differs", .what = "a rate", .unit = "Gb/s",
	  .offset = offsetof(struct port_said, rate_Gb_s) },
};

static double number_at(const struct port_said *p, const struct shared *s)
{
	return *(const double *)((const char *)p + s->offset);
}

/** The most common number, the largest of those; NAN when none is known. */
static double usual(const struct run *run, const struct port_said *ports,
		    const struct shared *s)
{
	double best = NAN;
	int most = 0;

	for (int r = 0; r < run->n_ranks; r++) {
		double value = number_at(&ports[r], s);
		int n = 0;

		for (int k = 0; k < run->n_ranks; k++) {
			n += number_at(&ports[k], s) == value;
		}
		if (n > most || (n == most && value > best)) {
			most = n;
			best = value;
		}
	}
	return best;
}

static int find_odd(const struct run *run, const struct port_said *ports,
		    const struct shared *s, struct verdict *v)
{
	double most = usual(run, ports, s);

	for (int r = 0; r < run->n_ranks; r++) {
		double value = number_at(&ports[r], s);
		char text[160];

		if (isnan(value) || value == most) {
			continue;
		}
		snprintf(text, sizeof(text), "it has %s of %g %s, most ports "
			 "have %g; a pair runs at the lower of its two", s->what,
			 value, s->unit, most);
		if (warn(run, r, s->code, text, v) < 0) {
			return -1;
		}
	}
	return 0;
}

int port_findings(const struct run *run, struct verdict *v)
{
	struct port_said *ports;
	int rc = 0;

	if (strcmp(run->probe, "info") == 0) {
		return find_on_nodes(run, v);
	}
	if (!run->ports) {
		return 0;
	}
	ports = hear_ports(run);
	if (!ports) {
		return -1;
	}
	for (int r = 0; r < run->n_ranks && rc == 0; r++) {
		rc = find_downgraded(run, r, &ports[r], v);
	}
	for (size_t i = 0; i < sizeof(shareds) / sizeof(*shareds) && rc == 0;
	     i++) {
		rc = find_odd(run, ports, &shareds[i], v);
	}
	free(ports);
	return rc;
}
