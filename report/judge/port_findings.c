/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings from the facts about HCA ports, if ranks are ports: links below
 * their maximum, and settings in which ports differ.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/dl.h"
#include "lib/base/stats.h"
#include "lib/base/units.h"
#include "lib/data/allocation.h"
#include "lib/data/hosts.h"
#include "lib/data/record_rows.h"
#include "lib/spec/spec.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"

/* ---- peer findings ------------------------------------------------------- */

/*
 * A GPU that the others of its node do not reach as they reach each other: its
 * cells are skipped, or take another way, and no failure shows it.
 */

#define MAX_GPUS 64		/* of a node */
#define FACT "peer_access_gpu"	/* ... of which one, as CUDA counts */

/** Connections of a GPU, known from facts about it or about another GPU. */
enum reach { REACH_KNOWN = 1, REACH_ACCESS = 2, REACH_NVLINK = 4 };

/** Connections that most GPUs of a node have and one lacks, most important
 *  first. */
static const struct port_findings_lack {
	enum reach reach;
	const char *code, *has_none, *have;
} lacks[] = {
	{ .reach = REACH_ACCESS, .code = "no_peer_access",
	  .has_none = "cannot access the memory of any other GPU in its "
		      "node", .have = "have peer access" },
	{ .reach = REACH_NVLINK, .code = "no_nvlink",
	  .has_none = "has no NVLink: it reaches the other GPUs in its "
		      "node only over PCIe",
	  .have = "have NVLink" },
};

static int gpu_number(const char *text, const char *prefix)
{
	int gpu = run_number_in(text, prefix);

	return gpu < MAX_GPUS ? gpu : -1;
}

static int count(const uint8_t reach[MAX_GPUS], enum reach what)
{
	int n = 0;

	for (int i = 0; i < MAX_GPUS; i++) {
		n += (reach[i] & what) != 0;
	}
	return n;
}

/** A finding, or evidence for the one that its figures led to. */
static void add_lack(const struct run *run, const struct part *gpu,
		     const struct port_findings_lack *l, int have, int known,
		     struct verdict *v)
{
	struct finding *f = verdict_find(v, gpu, NULL);
	char text[400];

	snprintf(text, sizeof(text), "%.200s %s; %d of %d GPUs there %s",
		 PART_NAME(run, gpu), l->has_none, have, known, l->have);
	if (f) {
		finding_add_evidence(f, "%s", text);
		return;
	}
	f = finding_add(v, *gpu, l->code);
	part_foreach_cell(run, &f->part, at) {	/* that it costs */
		if (run->cells[at].class >= CELL_CLASSES) {
			continue;
		}
		if (f->cells++ == 0) {
			finding_set_example(run, f, at);
		}
		f->explained += strcmp(run_cell_code(run, at), l->code) == 0;
	}
	finding_say(f, "%s", text);
	if (f->explained > 0) {
		finding_more(f, "; %zu of %zu tests with it were skipped",
			     f->explained, f->cells);
	}
	finding_add_evidence(f, FACT "* of gpu%d in facts.csv "
			     "(cuDeviceCanAccessPeer)", gpu->index);
}

/** Adds a finding if most GPUs have the connection: islands of GPUs are by
 *  design. */
static void find_lacks(const struct run *run, int node,
		       const uint8_t reach[MAX_GPUS], struct verdict *v)
{
	int known = count(reach, REACH_KNOWN);

	for (int g = 0; g < run->nodes[node].gpus && g < MAX_GPUS; g++) {
		struct part p = part_at(PART_GPU, node, g);

		for (size_t i = 0; i < sizeof(lacks) / sizeof(*lacks) &&
				   (reach[g] & REACH_KNOWN); i++) {
			int have = count(reach, lacks[i].reach);

			if (!(reach[g] & lacks[i].reach) && 2 * have > known) {
				add_lack(run, &p, &lacks[i], have, known, v);
				break;
			}
		}
	}
}

void peer_findings(const struct run *run, struct verdict *v)
{
	uint8_t (*reach)[MAX_GPUS] =
		calloc((size_t)run->n_nodes + 1, sizeof(*reach));
	int node = -1;

	v->failed |= !reach;
	/* the connections of the GPUs of all nodes */
	for (size_t i = 0; reach && i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		int gpu = gpu_number(f->scope, "gpu");
		int peer = gpu < 0 ? -1 : gpu_number(f->fact, FACT);
		uint8_t is = REACH_KNOWN;

		if (peer < 0) {
			continue;
		}
		node = run_find_node(run, f->node, node);
		if (node < 0) {
			continue;
		}
		is |= strcmp(f->value, "none") == 0 ? 0 : REACH_ACCESS;
		is |= strcmp(f->value, "NVLink") == 0 ? REACH_NVLINK : 0;
		reach[node][gpu] |= is;
		reach[node][peer] |= is;
	}
	for (int i = 0; reach && i < run->n_nodes; i++) {
		find_lacks(run, i, reach[i], v);
	}
	free(reach);
}

/* ---- untested findings --------------------------------------------------- */

/*
 * GPUs of the job that are not ranks of the run.  A passing verdict does not
 * cover them, so this is said; it is not a fault of a node.
 */

void untested_findings(const struct run *run, struct verdict *v)
{
	int64_t gpus = 0, all = 0;	/* not tested, and of the job */
	int n_nodes = 0, last = -1, *ranks;
	struct str where = STR_INIT;	/* "n1 4, n2 4" */
	struct finding *f;

	/* fewer GPUs by -G are intended; a port is not a GPU */
	if (run->n_ranks == 0 || run->ports || run->mesh ||
	    run_option(run, "gpus-per-node")) {
		return;
	}
	ranks = calloc((size_t)run->n_nodes + 1, sizeof(*ranks));
	v->failed = v->failed || !ranks;
	for (int i = 0; ranks && i < run->n_ranks; i++) {
		ranks[run->ranks[i].node]++;
	}
	for (size_t i = 0; ranks && i < run->n_facts; i++) {
		const struct fact_row *fact = &run->facts[i];
		char name[sizeof(fact->node) + 32];
		int64_t given = 0;
		int node;

		if (strcmp(fact->fact, ALLOCATION_FACT) != 0) {
			continue;
		}
		node = run_find_node(run, fact->node, -1);
		units_parse_int(fact->value, 0, ALLOCATION_MAX_GPUS, &given,
				NULL);
		all += given;
		given -= node >= 0 ? ranks[node] : 0;
		if (given <= 0) {
			continue;
		}
		gpus += given;
		last = node;
		snprintf(name, sizeof(name), "%s %" PRId64, fact->node, given);
		finding_list_name(&where, &n_nodes, name);
	}
	free(ranks);
	v->failed = v->failed || where.failed;
	if (gpus > 0) {
		f = finding_add(v, part_at(PART_CONFIG,
					   n_nodes == 1 ? last : -1, -1),
				"gpus_untested");
		finding_say(f, "%" PRId64 " of %" PRId64 " GPUs of the job "
			    "were not tested (%s): the job step of the run did "
			    "not get them", gpus, all, str_text(&where));
	}
	str_release(&where);
}

/* ---- info findings ------------------------------------------------------- */

/*
 * Nodes that show fewer GPUs than they should: by -G, Slurm or the plan, else
 * by what most nodes show.
 */

struct shown {
	bool heard;		/* the node reported its GPUs */
	bool unsure;		/* NVML did not let node count them */
	bool told;		/* already part of a finding */
	int gpus, kept_back;	/* by MIG or CUDA_VISIBLE_DEVICES */
	int expected;		/* 0 = not known */
	const char *source;	/* of that */
	const char *keeper;	/* MIG or CUDA_VISIBLE_DEVICES */
	const char *note;	/* the driver's reason why there are none; "" */
};

/** Returns what each node shows, to be freed; NULL without memory. */
static struct shown *shown_hear(const struct run *run)
{
	struct shown *nodes = calloc((size_t)run->n_nodes + 1, sizeof(*nodes));
	int node = -1;

	for (int i = 0; nodes && i < run->n_nodes; i++) {
		nodes[i].note = "";
	}
	for (size_t i = 0; nodes && i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		struct shown *s;
		int64_t n = 0;

		node = run_find_node(run, f->node, node);
		if (node < 0) {
			continue;
		}
		s = &nodes[node];
		s->gpus += strcmp(f->fact, "uuid") == 0 &&
			   strncmp(f->scope, "gpu", 3) == 0;
		if (strcmp(f->scope, "node") != 0) {
			continue;
		}
		s->heard |= strcmp(f->fact, "kernel") == 0;
		if (strcmp(f->fact, INFO_EXPECTED) == 0) {
			n = s->expected;
			units_parse_int(f->value, 1, SPEC_MAX_GPUS, &n, NULL);
			s->expected = (int)n;
			s->source = f->source;
		} else if (strcmp(f->fact, "gpus_found") == 0) {
			units_parse_int(f->value, 0, SPEC_MAX_GPUS, &n, NULL);
			s->gpus = s->gpus > n ? s->gpus : (int)n;
		} else if (strcmp(f->fact, "nvml") == 0) {
			s->unsure = strcmp(f->value, "missing") == 0 ||
				    strcmp(f->value, "failed") == 0;
		} else if (strcmp(f->fact, "gpu_hidden") == 0) {
			s->kept_back++;
			s->keeper = f->source;
		} else if (strcmp(f->fact, "gpu_note") == 0) {
			s->note = f->value;
		}
	}
	if (nodes && run->facts_cut > 0 && node >= 0) {
		nodes[node].heard = false;	/* the rest of it is not read */
	}
	return nodes;
}

/** "gcn[1-2] show 0 of 8 GPUs (REASON)" of @n nodes like @s. */
static void add_shown(const char *names, size_t n, const struct shown *s,
		      int want, struct finding *f)
{
	char why[200];

	finding_more(f, "%s show%s %d", names, n == 1 ? "s" : "", s->gpus);
	if (want > 0) {
		finding_more(f, " of %d", want);
	}
	finding_more(f, " GPU%s", (want > 0 ? want : s->gpus) == 1 ? "" : "s");
	if (s->note[0]) {
		finding_more(f, " (%.150s)",
			     dl_reason(s->note, why, sizeof(why)));
	}
}

bool shown_say(const struct run *run, int node, struct finding *f)
{
	struct shown *nodes = shown_hear(run);
	const struct shown *s = nodes ? &nodes[node] : NULL;
	bool less = s && s->heard && s->gpus < s->expected;

	if (less) {
		add_shown(run->nodes[node].name, 1, s, s->expected, f);
	}
	free(nodes);
	return less;
}

static void add_short(const struct run *run, int node, const struct shown *s,
		      int most, struct verdict *v)
{
	int want = s->expected ? s->expected : most;
	bool there = s->gpus + s->kept_back >= want;
	struct finding *f = finding_add(v, part_at(PART_NODE, node, -1),
					!there ? "gpu_missing" :
					strcmp(s->keeper, "MIG") == 0 ?
						 "gpu_mig" : "gpu_hidden");

	f->fail = s->expected > 0 && !there;
	f->cells = f->explained = 1;
	add_shown(run->nodes[node].name, 1, s, want, f);
	if (s->expected > 0) {
		finding_more(f, ", expected by %.160s", s->source);
	} else {
		finding_more(f, ", as most nodes have");
	}
	if (s->kept_back > 0) {
		finding_add_evidence(f, "%d more: %s", s->kept_back,
				     strcmp(s->keeper, "MIG") == 0 ?
					     "divided by MIG" :
					     "hidden by CUDA_VISIBLE_DEVICES");
	}
	if (s->note[0]) {
		finding_add_evidence(f, "%s", s->note);
	}
}

void info_findings(const struct run *run, struct verdict *v)
{
	struct shown *nodes;
	double *gpus;
	size_t heard = 0;
	int usual = 0;		/* what most nodes show */

	if (strcmp(run->probe, "info") != 0 &&
	    strcmp(run->probe, NODE_PROBE) != 0) {
		return;
	}
	nodes = shown_hear(run);
	gpus = calloc((size_t)run->n_nodes + 1, sizeof(*gpus));
	v->failed |= !nodes || !gpus;
	for (int i = 0; nodes && gpus && i < run->n_nodes; i++) {
		if (nodes[i].heard) {
			gpus[heard++] = nodes[i].gpus;
		}
	}
	if (heard > 0) {
		usual = (int)stats_mode(gpus, heard);
	}
	free(gpus);
	for (int i = 0; nodes && i < run->n_nodes; i++) {
		const struct shown *s = &nodes[i];

		if (s->heard && !(s->unsure && s->gpus == 0) &&
		    s->gpus < (s->expected ? s->expected : usual)) {
			add_short(run, i, s, usual, v);
		}
	}
	free(nodes);
}

/* ---- bare findings ------------------------------------------------------- */

/*
 * If no node shows a GPU, the driver or NVML is missing everywhere, due to the
 * image or the way that the job was started: a finding about the set-up, which
 * blames no node.
 */

#define GPU_MISSING "gpu_missing"

/** Adds one finding for all nodes like @first: with the same number of expected
 *  GPUs, and the same reason. */
static void add_bare(const struct run *run, struct shown *nodes, int first,
		     struct verdict *v)
{
	const struct shown like = nodes[first];
	char (*names)[64] = calloc((size_t)run->n_nodes, sizeof(*names));
	struct str list = STR_INIT;
	struct finding *f =
		finding_add(v, part_at(PART_CONFIG, -1, -1), GPU_MISSING);
	size_t n = 0;

	for (int i = first; names && i < run->n_nodes; i++) {
		struct shown *s = &nodes[i];

		if (s->heard && s->expected == like.expected &&
		    strcmp(s->note, like.note) == 0) {
			STR_COPY(names[n++], run->nodes[i].name);
			s->told = true;
		}
	}
	f->failed |= !names;
	if (names) {
		qsort(names, n, sizeof(*names), str_order);
		hostlist_add(&list, names[0], sizeof(*names), n);
	}
	for (size_t i = 0; i < n; i++) {
		finding_add_member(f, run_find_node(run, names[i], -1));
	}
	f->part.node = n == 1 ? first : -1;
	/* info has measured it; others could not measure */
	f->fail = strcmp(run->probe, "info") == 0;
	for (int c = 0; c < CELL_CLASSES; c++) {
		f->cells += v->cells[c];
	}
	f->explained = f->cells;
	add_shown(str_text(&list), n, &like, like.expected, f);
	if (like.expected > 0 && strcmp(like.source, "plan") != 0) {
		finding_add_evidence(f, "%d GPUs are expected by %s",
				     like.expected, like.source);
	}
	if (like.note[0]) {
		finding_add_evidence(f, "%s", like.note);
	}
	str_release(&list);
	free(names);
}

void bare_findings(const struct run *run, struct verdict *v)
{
	struct shown *nodes = strcmp(run->probe, NODE_PROBE) == 0 ? NULL :
			      shown_hear(run);
	/* GPUs were to be measured, and none was */
	bool missing = run->n_ranks > 0 && verdict_measured(v) == 0 &&
		       !run->ports && !run->mesh && !run_is_model(run) &&
		       run->transport[0] &&
		       !spec_transport_is(run->transport, XPORT_SOCKETS);
	bool heard = false, shown = false;

	for (int i = 0; nodes && i < run->n_nodes; i++) {
		heard |= nodes[i].heard;
		shown |= nodes[i].heard &&
			 (nodes[i].gpus > 0 || nodes[i].kept_back > 0);
	}
	if (!heard || shown) {
		free(nodes);
		return;
	}
	for (size_t i = v->n; i-- > 0;) {	/* of single nodes */
		if (strcmp(v->findings[i].code, GPU_MISSING) == 0) {
			finding_remove(v, i);
			missing = true;
		}
	}
	for (int i = 0; missing && i < run->n_nodes; i++) {
		if (nodes[i].heard && !nodes[i].told) {
			add_bare(run, nodes, i, v);
		}
	}
	free(nodes);
}

/* ---- port findings ------------------------------------------------------- */

/** Facts about a port. */
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

/** @said: NAN where it is not known. */
static void hear_fact(double said[PORT_FACTS], const struct fact_row *f)
{
	for (int i = 0; i < PORT_FACTS; i++) {
		if (strcmp(f->fact, fact_names[i]) == 0) {
			said[i] = strtod(f->value, NULL);
		}
	}
}

static void warn(const struct run *run, int rank, const char *code,
		 const char *text, struct verdict *v)
{
	struct part p = part_at(PART_GPU, run->ranks[rank].node,
				run->ranks[rank].gpu);
	struct part shown = part_shown(run, &p);
	struct finding *f = finding_add(v, shown, code);

	f->cells = part_tests(run, &p, NULL);
	finding_say(f, "%s: %s", PART_NAME(run, &shown), text);
	finding_add_evidence(f, "%s", f->says);
}

/* ---- links below their maximum ------------------------------------------- */

/** Writes the sentence about a link below its maximum.  Returns false if it is
 *  not. */
static bool say_downgraded(const double said[PORT_FACTS], char *whole,
			   size_t size)
{
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
	snprintf(whole, size, "its PCIe link runs%s, less than device and slot "
		 "support", str_text(&text));
	str_release(&text);
	return slow || narrow;
}

/** The same if ports are not ranks.  The facts of a port, and of a node, are
 *  contiguous. */
static void find_on_nodes(const struct run *run, struct verdict *v)
{
	int node = -1, index = -1;
	size_t i = 0;

	while (i < run->n_facts) {
		const struct fact_row *first = &run->facts[i];
		double said[PORT_FACTS] = { NAN, NAN, NAN, NAN, NAN, NAN };
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
			hear_fact(said, &run->facts[i]);
		}
		if (!is_port || node < 0) {
			continue;
		}
		part = part_at(PART_NIC, node, ++index);
		if (say_downgraded(said, whole, sizeof(whole))) {
			finding_say(finding_add(v, part, "pcie_downgraded"),
				    "%s of %s: %s", first->scope,
				    run->nodes[node].name, whole);
		}
	}
}

/* ---- differences between ports ------------------------------------------- */

/** Finds ports with another number than most have where all should have one.
 *  Ports of another fabric than @first's are of another kind. */
static void find_odd(const struct run *run, int first,
		     double (*ports)[PORT_FACTS], struct verdict *v)
{
	static const struct {
		const char *code, *what, *unit;
		enum port_fact fact;
	} numbers[] = {
		{ .code = "mtu_differs", .what = "an MTU", .unit = "bytes",
		  .fact = PORT_MTU },
		{ .code = "rate_differs", .what = "a rate", .unit = "Gb/s",
		  .fact = PORT_RATE },
	};
	double *values = calloc((size_t)run->n_ranks + 1, sizeof(*values));
	double most;

	v->failed = v->failed || !values;
	for (size_t i = 0; values && i < sizeof(numbers) / sizeof(*numbers);
	     i++) {
		for (int r = 0; r < run->n_ranks; r++) {
			bool like = run->ranks[r].group ==
				    run->ranks[first].group;

			values[r] = like ? ports[r][numbers[i].fact] : NAN;
		}
		most = stats_mode(values, (size_t)run->n_ranks);
		for (int r = 0; r < run->n_ranks; r++) {
			char text[160];

			if (isnan(values[r]) || values[r] == most) {
				continue;
			}
			snprintf(text, sizeof(text), "its %s is %g %s, but "
				 "most ports have %g; a pair runs at the lower "
				 "rate of its two ports", numbers[i].what,
				 values[r], numbers[i].unit, most);
			warn(run, r, numbers[i].code, text, v);
		}
	}
	free(values);
}

void port_findings(const struct run *run, struct verdict *v)
{
	double (*ports)[PORT_FACTS] =	/* that are ranks */
		run->ports ? calloc((size_t)run->n_ranks + 1, sizeof(*ports)) :
			     NULL;
	char text[160];
	int node = -1;

	if (strcmp(run->probe, "info") == 0 ||
	    strcmp(run->probe, NODE_PROBE) == 0) {
		find_on_nodes(run, v);
	}
	v->failed = v->failed || (run->ports && !ports);
	for (int i = 0; ports && i < run->n_ranks * PORT_FACTS; i++) {
		ports[i / PORT_FACTS][i % PORT_FACTS] = NAN;
	}
	for (size_t i = 0; ports && i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		int rank;

		node = run_find_node(run, f->node, node);
		rank = node >= 0 ? part_rank_of_name(run, node, f->scope) : -1;
		if (rank >= 0) {
			hear_fact(ports[rank], f);
		}
	}
	for (int r = 0; ports && r < run->n_ranks; r++) {
		if (say_downgraded(ports[r], text, sizeof(text))) {
			warn(run, r, "pcie_downgraded", text, v);
		}
	}
	for (int r = 0; ports && r < run->n_ranks; r++) {
		int first = 0;

		while (run->ranks[first].group != run->ranks[r].group) {
			first++;
		}
		if (first == r) {
			find_odd(run, r, ports, v);
		}
	}
	free(ports);
}

/* ---- bonds --------------------------------------------------------------- */

void bond_findings(const struct run *run, struct verdict *v)
{
	run_foreach_fact(run, f) {
		const bool is = strcmp(f->fact, "bond_leg_down") == 0;
		const int node = is ? run_find_node(run, f->node, -1) : -1;
		struct finding *one;

		if (node < 0) {
			continue;
		}
		one = finding_add(v, part_at(PART_NODE, node, -1), f->fact);
		if (one) {
			one->cells = one->explained = 1;
			finding_say(one, "%s: a leg of %s does not work: %s",
				    run->nodes[node].name, f->scope, f->value);
			finding_add_evidence(one, "%s: %s", f->source,
					     f->value);
		}
	}
}
