/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a node says against itself: its kernel refused to send, or what should
 * answer on one of its interfaces answers on another.
 */
#include "report/model/ping_run.h"
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/record_ping.h"

/* ---- what never left ----------------------------------------------------- */

static const struct own_word {
	const char *code, *says;
} own_words[] = {
	{ .code = PING_SENDER,
	  .says = "its packet filter rejects what it sends" },
	{ .code = PING_NO_ROUTE, .says = "it has no route for what it sends" },
};

/** Cells that @node sends, with a word against itself. */
struct own_case {
	const struct run *run;
	const char *code;
	uint8_t *explained;
	size_t from, end;	/* all that it sends */
	size_t n, first;	/* of those that are meant */
	int nic;		/* of them all; -1: of several */
};

static bool is_said(const struct own_case *c, size_t at)
{
	return !c->explained[at] && run_bad(c->run->cells[at].class) &&
	       strcmp(run_cell_code(c->run, at), c->code) == 0;
}

static int nic_of(const struct own_case *c, size_t at)
{
	return c->run->ranks[run_src(c->run, at)].nic;
}

static void count_own(struct own_case *c)
{
	for (size_t at = c->from; at < c->end; at++) {
		if (is_said(c, at)) {
			c->first = c->n > 0 ? c->first : at;
			c->nic = c->n == 0 || c->nic == nic_of(c, at) ?
					 nic_of(c, at) : -1;
			c->n++;
		}
	}
}

/** As many of what it sends, by the interface that is meant, are tests. */
static size_t count_measured(const struct own_case *c)
{
	size_t n = 0;

	for (size_t at = c->from; at < c->end; at++) {
		n += run_measured(c->run->cells[at].class) &&
		     (c->nic < 0 || nic_of(c, at) == c->nic);
	}
	return n;
}

/** The way back is silent: the answers would have to leave as well. */
static bool is_echo(const struct run *run, size_t at)
{
	return run->cells[at].class == CELL_TIMEOUT ||
	       (run->cells[at].class == CELL_FAIL &&
		strcmp(run_cell_code(run, at), PING_FILTERED) == 0);
}

static void explain_own(const struct own_case *c)
{
	for (size_t at = c->from; at < c->end; at++) {
		size_t back = run_back(c->run, at);

		if (is_said(c, at)) {
			if (is_echo(c->run, back)) {
				c->explained[back] |= EXPLAINED;
			}
			c->explained[at] |= EXPLAINED;
		}
	}
}

static void find_own(const struct run *run, const struct own_word *w,
		     int node, uint8_t *explained, struct verdict *v)
{
	const struct run_node *n = &run->nodes[node];
	struct own_case c = {
		.run = run, .code = w->code, .explained = explained,
		.from = run_first(run, n->first_rank),
		.end = run_first(run, n->first_rank + n->gpus),
	};
	struct finding *f;
	struct part p;
	const char *name;

	count_own(&c);
	if (c.n == 0) {
		return;
	}
	c.nic = n->gpus > 1 ? c.nic : -1;
	p = c.nic >= 0 ? part_at(PART_NIC, node, c.nic) :
			 part_at(PART_NODE, node, -1);
	p.direction = PART_TX;
	f = finding_add(v, &p, w->code);
	f->fail = true;
	f->cells = count_measured(&c);
	f->explained = c.n;
	finding_set_example(run, f, c.first);
	name = p.kind == PART_NIC ? part_nic_name(run, &p) : "";
	finding_say(f, "%s%s%s: %s (%zu of %zu paths)", name,
		    name[0] ? " of " : "", n->name, w->says,
		    f->explained, f->cells);
	finding_add_evidence(f, "%s", run_cell_detail(run, c.first));
	explain_own(&c);
}

/* ---- swapped rails ------------------------------------------------------- */

/** For each rank the rail on whose wire it is by the word of a node, -1. */
struct wires {
	const struct run *run;
	int *on;
};

/** Does nothing pass by the address @rank, though it should? */
static bool is_dead(const struct run *run, int rank)
{
	size_t bad = 0;

	for (int peer = 0; peer < run->n_ranks; peer++) {
		unsigned there = run_cell(run, rank, peer)->class;
		unsigned back = run_cell(run, peer, rank)->class;

		if (run_good(there) || run_good(back)) {
			return false;
		}
		bad += run_bad(there) || run_bad(back);
	}
	return bad > 0;
}

/** The address of @node on rail @nic, -1: none. */
static int rank_on(const struct run *run, int node, int nic)
{
	const struct run_node *n = &run->nodes[node];

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (run->ranks[r].nic == nic) {
			return r;
		}
	}
	return -1;
}

/** @rank was found on the wire of rail @nic: that counts where it works in
 *  neither place, nor does the one whose place it is. */
static void take_place(struct wires *w, int rank, int nic)
{
	int other = rank_on(w->run, w->run->ranks[rank].node, nic);

	if (other >= 0 && other != rank && is_dead(w->run, rank) &&
	    is_dead(w->run, other)) {
		w->on[rank] = nic;
	}
}

/** "rail0 rail1 10.1.0.2" of a node: its rail0 is on the wire of rail1, or the
 *  one that has the address is. */
static void take_found(struct wires *w, const struct fact_row *f)
{
	const struct run *run = w->run;
	int node = run_find_node(run, f->node, -1), from, on;
	char name[32], other[32], ip[56];

	if (node < 0 ||
	    sscanf(f->value, "%31s %31s %55s", name, other, ip) != 3) {
		return;
	}
	from = part_nic_rank(run, node, name);
	on = part_nic_rank(run, node, other);
	for (int r = 0; from >= 0 && on >= 0 && r < run->n_ranks; r++) {
		if (r == from || strcmp(mesh_end(run, r)->ip, ip) == 0) {
			take_place(w, r, run->ranks[on].nic);
		}
	}
}

/** The finding that has the cells of @rank already, NULL: none. */
static struct finding *finding_of(const struct run *run, int rank,
				  const uint8_t *explained, struct verdict *v)
{
	for (int peer = 0; peer < run->n_ranks; peer++) {
		size_t at = run_at(run, rank, peer);

		if (run_bad(run->cells[at].class) && !explained[at]) {
			return NULL;
		}
	}
	for (size_t i = 0; i < v->n; i++) {
		if (strcmp(v->findings[i].code, PING_SWAPPED) == 0) {
			return &v->findings[i];
		}
	}
	return NULL;
}

static const char *segment_of(const struct run *run, int node, int nic)
{
	return mesh_end(run, rank_on(run, node, nic))->segment;
}

static void find_swapped(const struct wires *w, int node, uint8_t *explained,
			 struct verdict *v)
{
	const struct run *run = w->run;
	const struct run_node *n = &run->nodes[node];
	struct part p = part_at(PART_NODE, node, -1);
	struct finding *f = NULL;
	struct str says = STR_INIT;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (w->on[r] < 0) {
			continue;
		}
		if (!f && finding_of(run, r, explained, v)) {
			/* of two nodes either may be the one */
			f = finding_of(run, r, explained, v);
			finding_add_or(f, &p);
			finding_say(f, "%s; or they are on %s", f->says,
				    n->name);
			return;
		}
		f = f ? f : finding_add(v, &p, PING_SWAPPED);
		str_addf(&says, "%s%s is on the wire of %s",
			 says.len ? ", " : "", mesh_end(run, r)->ifname,
			 segment_of(run, node, w->on[r]));
		mesh_explain(run, r, explained, f);
	}
	if (f) {
		f->fail = true;
		finding_say(f, "rails are swapped on %s: %s", n->name,
			    str_text(&says));
	}
	str_release(&says);
}

void own_findings(const struct run *run, uint8_t *explained,
		  struct verdict *v)
{
	struct wires w = { .run = run };

	if (!run->mesh) {
		return;
	}
	w.on = malloc(((size_t)run->n_ranks + 1) * sizeof(*w.on));
	if (!w.on) {
		v->failed = true;
		return;
	}
	memset(w.on, 0xff, ((size_t)run->n_ranks + 1) * sizeof(*w.on));
	for (size_t i = 0; i < run->n_facts; i++) {
		if (strcmp(run->facts[i].scope, "ping") == 0 &&
		    strcmp(run->facts[i].fact, PING_FACT_FOUND) == 0) {
			take_found(&w, &run->facts[i]);
		}
	}
	for (int node = 0; node < run->n_nodes; node++) {
		find_swapped(&w, node, explained, v);
		for (size_t i = 0;
		     i < sizeof(own_words) / sizeof(*own_words); i++) {
			find_own(run, &own_words[i], node, explained, v);
		}
	}
	free(w.on);
}
