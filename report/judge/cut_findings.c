/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings about a coordinator that lost its agents, or whose agents had no
 * CPU.  If most agents fall silent at once, the node or link of the coordinator
 * is more likely to have failed than all of theirs.  If most hang up at once,
 * they were ended, some a moment before the coordinator.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "report/judge/findings.h"
#include "report/judge/verdict.h"

/* ---- starved findings ---------------------------------------------------- */

/*
 * Findings about processes that had no CPU.  This says nothing else about their
 * node: tests lost by it are not measured, and one finding says where it was.
 */

/** Maximum lines of evidence of one kind of event. */
#define STARVED_FINDINGS_MAX_EVIDENCE 4



static bool is_starved(const struct run *run, size_t at)
{
	return run->cells[at].class == CELL_NOT_RUN &&
	       strcmp(run_cell_code(run, at), RECORD_STARVED) == 0;
}

/** Adds the finding for @n tests that were not measured, @cells of each node,
 *  and for the @affected nodes.  @node is the only one; -1: there are
 *  several. */
static void add_starved(const struct run *run, const bool *affected, size_t n,
			int node, struct verdict *v)
{
	static const char *const told[] = { "agent_lost", "agent_late",
					    "slurm_state", "late", "pressure" };
	struct finding *f = finding_add(
		v, part_at(node >= 0 ? PART_NODE : PART_INTER_NODE, node, -1),
		RECORD_STARVED);
	struct str names = STR_INIT;
	char lost[60] = "";
	int named = 0;

	f->cells = f->explained = n;
	v->cut = v->cut || n > 0;	/* --resume may have them */
	for (int i = 0; node < 0 && i < run->n_nodes; i++) {
		if (affected[i]) {
			finding_list_name(&names, &named, run->nodes[i].name);
			finding_add_member(f, i);
		}
	}
	if (n > 0) {
		snprintf(lost, sizeof(lost), ": %zu test%s not measured", n,
			 n == 1 ? "" : "s");
	}
	finding_say(f, "Processes on %s got no CPU time%s; this does not show "
		    "a hardware fault", node >= 0 ?
		    run->nodes[node].name : str_text(&names), lost);
	str_release(&names);
	/* the first events of each of these kinds from the coordinator and the
	 * affected nodes; many of one kind do not hide those of another */
	for (size_t k = 0; k < sizeof(told) / sizeof(*told); k++) {
		named = 0;
		for (size_t i = 0; i < run->n_events &&
				   named < STARVED_FINDINGS_MAX_EVIDENCE; i++) {
			const struct event_row *e = &run->events[i];
			int at = run_find_node(run, e->node, -1);

			if (strcmp(e->event, told[k]) == 0 &&
			    (at < 0 || affected[at])) {
				finding_add_evidence(f, "%s%s%s", e->node,
						     e->node[0] ? ": " : "",
						     e->detail);
				named++;
			}
		}
	}
}

void starved_findings(const struct run *run, struct gone_list *gone,
		      uint8_t *explained, struct verdict *v)
{
	size_t nodes = (size_t)run->n_nodes + 1, kept = 0, n = 0;
	bool *lost = calloc(nodes, sizeof(*lost));	/* agents, by node */
	size_t *cells = calloc(nodes, sizeof(*cells));	/* not measured */
	int n_lost = 0, common = 0, node = -1;

	v->failed |= !lost || !cells;
	for (size_t i = 0; !v->failed && i < gone->n; i++) {
		const struct gone *g = &gone->list[i];

		if (strcmp(g->code, RECORD_STARVED) != 0) {
			gone->list[kept++] = *g;
		} else if (!lost[g->part.node]) {
			lost[g->part.node] = true;
			n_lost++;
		}
	}
	gone->n = v->failed ? gone->n : kept;
	for (size_t at = 0; !v->failed && at < run_n_cells(run); at++) {
		int src = run->ranks[run_src(run, at)].node;
		int dst = run->ranks[run_dst(run, at)].node;

		/* a node that came too late was given up before */
		if (is_starved(run, at) ||
		    (run->cells[at].class == CELL_SKIPPED &&
		     (lost[src] || lost[dst]))) {
			explained[at] |= EXPLAINED;
			n++;
			cells[src]++;
			cells[dst] += src != dst;
		}
	}
	if (n > 0 || n_lost > 0) {
		/* the node that all of it has in common, if it is a single
		 * one */
		for (int i = 0; i < run->n_nodes; i++) {
			if (n_lost > 0 ? lost[i] : cells[i] == n) {
				node = i;
				common++;
			}
			lost[i] |= cells[i] > 0;
		}
		add_starved(run, lost, n, common == 1 ? node : -1, v);
	}
	free(lost);
	free(cells);
}

void starved_excuse(const struct run *run, struct verdict *v)
{
	size_t starved = 0;

	run_foreach_cell(run, at) {
		starved += is_starved(run, at);
	}
	if (starved <= v->cells[CELL_FAIL] + v->cells[CELL_TIMEOUT] ||
	    v->cells[CELL_PASS] + v->cells[CELL_SLOW] +
			    v->cells[CELL_CORRUPT] > 0) {
		return;
	}
	verdict_foreach(v, f) {
		/* what was found by attributing cells */
		if (!isnan(f->score)) {
			f->fail = false;
		}
	}
}

/* ---- cut findings -------------------------------------------------------- */

/** Minimum number of lost agents: fewer do not outweigh the coordinator. */
#define MIN_LOST 2
/** Silence is noticed a few beats apart, in seconds. */
#define WINDOW_S 20
/** Machines do not fail within a second of each other. */
#define ENDED_S 1
#define MAX_EVIDENCE 16

/** From the first process to the last of a job that is ended by force. */
#define FORCE_S 10

/** Agents that were lost within one window of time. */
struct cut_findings_cut {
	int home;		/* the coordinator's node; -1 = not known */
	uint8_t *lost;		/* of each node */
	int n_lost;
	const char *link;	/* what happened to the coordinator's link;
				 * NULL */
	bool down;		/* it is down: then one is as good as most */
	bool ended;		/* they were not cut off, but ended */
};

static bool is_lost(const struct gone *g)
{
	return g->part.kind == PART_NODE && strcmp(g->code, "agent_lost") == 0;
}

/** Returns true if most agents fell silent, or with @ended hung up, at about
 *  the same time. */
static bool is_cut(const struct run *run, const struct gone_list *gone,
		   bool ended, struct cut_findings_cut *c)
{
	int others = run->n_nodes - 1;
	int64_t first_s = -1, last_s = -1;

	memset(c->lost, 0, (size_t)run->n_nodes);
	c->n_lost = 0;
	c->ended = ended;
	for (size_t i = 0; i < gone->n; i++) {
		int node = gone->list[i].part.node;

		if (is_lost(&gone->list[i]) &&
		    drain_hung_up(run, node) == ended) {
			c->n_lost++;
			c->lost[node] = 1;
		}
	}
	c->link = NULL;
	c->down = false;
	run_foreach_event(run, e) {
		const char *state = strrchr(e->detail, ' ');
		int node = strcmp(e->event, "agent_lost") == 0 ?
				   run_find_node(run, e->node, -1) : -1;
		int64_t at = node >= 0 && c->lost[node] ?
				     clock_utc_s(e->utc) : -1;

		if (at >= 0) {
			first_s = first_s < 0 || at < first_s ? at : first_s;
			last_s = at > last_s ? at : last_s;
		}
		/* the coordinator's own link, which by itself loses an agent */
		if (strcmp(e->event, "own_link") == 0 && state &&
		    strcmp(state, " up") != 0) {
			c->down |= strcmp(state, " flapped") != 0;
			c->link = c->down ? "its own link is down" :
				  "its own link went down and came back";
		}
	}
	return c->n_lost >= (c->link && !ended ? 1 : MIN_LOST) &&
	       (2 * c->n_lost > others || (c->down && !ended)) &&
	       last_s - first_s <= (ended ? ENDED_S : WINDOW_S);
}

/** Take those that were cut off from the list of those that are gone. */
static void forget_lost(struct gone_list *gone,
			const struct cut_findings_cut *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < gone->n; i++) {
		if (!is_lost(&gone->list[i]) ||
		    !c->lost[gone->list[i].part.node]) {
			gone->list[kept++] = gone->list[i];
		}
	}
	gone->n = kept;
}

/** Adds the first event @event of the coordinator's link as evidence. */
static void add_first(const struct run *run, const char *event,
		      struct finding *f)
{
	run_foreach_event(run, e) {
		if (strcmp(e->event, event) == 0) {
			finding_add_evidence(f, "the coordinator's link: %s",
					     e->detail);
			return;
		}
	}
}

/** Says what was cut, with events of the coordinator's link and of the agents
 *  that it lost as evidence. */
static void tell_cut(const struct run *run, const struct cut_findings_cut *c,
		     struct finding *f)
{
	struct str names = STR_INIT;
	int named = 0;

	for (int i = 0; i < run->n_nodes; i++) {
		if (c->lost[i]) {
			finding_list_name(&names, &named, run->nodes[i].name);
		}
	}
	if (c->ended) {
		finding_say(f, "The agents of %d of %d nodes (%s) ended within "
			    "a second: the launcher was killed, or ended them; "
			    "this is not a fault of these nodes", c->n_lost,
			    run->n_nodes, str_text(&names));
	} else {
		finding_say(f, "The coordinator%s%s lost contact with %d of %d "
			    "nodes at once (%s): %s, not these nodes",
			    c->home >= 0 ? " on " : "",
			    c->home >= 0 ? run->nodes[c->home].name : "",
			    c->n_lost, run->n_nodes, str_text(&names),
			    c->link ? c->link : "suspect its own node or link");
	}
	str_release(&names);
	add_first(run, "own_link", f);
	add_first(run, "own_counters", f);
	run_foreach_event(run, e) {
		int node = run_find_node(run, e->node, -1);
		bool witness = strcmp(e->event, "agent_lost") == 0 ||
			       strcmp(e->event, "coordinator_lost") == 0 ||
			       strcmp(e->event, "slurm_state") == 0;

		if (f->n_evidence == MAX_EVIDENCE) {
			break;
		}
		if (witness && node >= 0 && c->lost[node]) {
			finding_add_evidence(f, "%s: %s", e->node, e->detail);
		}
	}
}

/** Ignores tests that were not measured because their agents were ended
 *  together with the run. */
static void forgive_ended(const struct run *run, struct gone_list *gone,
			  uint8_t *explained, struct cut_findings_cut *c)
{
	int64_t last_s = clock_utc_s(run->last_utc);	/* known of the run */

	run_foreach_event(run, e) {
		int64_t at = clock_utc_s(e->utc);

		last_s = at > last_s ? at : last_s;
	}
	memset(c->lost, 0, (size_t)run->n_nodes);
	run_foreach_event(run, e) {
		int node = strcmp(e->event, "agent_lost") == 0 ?
				   run_find_node(run, e->node, -1) : -1;

		if (node >= 0 && last_s - clock_utc_s(e->utc) <= FORCE_S) {
			c->lost[node] = 1;
		}
	}
	run_foreach_cell(run, at) {
		if ((c->lost[run->ranks[run_src(run, at)].node] ||
		     c->lost[run->ranks[run_dst(run, at)].node]) &&
		    strcmp(run_cell_code(run, at), "agent_lost") == 0) {
			explained[at] |= EXPLAINED;
		}
	}
	forget_lost(gone, c);
}

static void add_cut(const struct run *run, struct gone_list *gone,
		    const struct cut_findings_cut *c, uint8_t *explained,
		    struct verdict *v)
{
	/* a node that is only suspected because of what it lost is not left out
	 * of the next run */
	int home = c->ended || !c->link ? -1 : c->home;
	struct finding *f = finding_add(v, part_at(home >= 0 ? PART_NODE :
						   PART_INTER_NODE, home, -1),
					c->ended ? GONE_ENDED : GONE_CUT);

	f->fail = !c->ended;
	v->cut |= c->ended;
	run_foreach_cell(run, at) {
		unsigned class = run->cells[at].class;
		int src = run_src(run, at), dst = run_dst(run, at);
		int from = run->ranks[src].node, to = run->ranks[dst].node;
		/* unless the agents were ended, what failed between the
		 * coordinator's node and another one is of the cut, too */
		bool by_home = !c->ended && from != to &&
			       (from == c->home || to == c->home) &&
			       !run_good(class);

		if (class >= CELL_CLASSES ||
		    (!c->lost[from] && !c->lost[to] && !by_home)) {
			continue;
		}
		explained[at] |= EXPLAINED;
		f->cells++;
		f->explained += !run_good(class);
		/* without a node of its own: from where it listened, to one
		 * lost */
		if (f->src < 0 && f->part.node < 0 && from == c->home &&
		    c->lost[to]) {
			f->src = src;
			f->dst = dst;
		}
	}
	tell_cut(run, c, f);
	forget_lost(gone, c);
}

void cut_findings(const struct run *run, struct gone_list *gone,
		  uint8_t *explained, struct verdict *v)
{
	struct cut_findings_cut c = { .home = -1 };
	bool here = spec_launcher_is(run_file(run->json).launcher,
				     LAUNCHER_HOSTS);

	/* The first agent starts the coordinator on its node; with ssh it is on
	 * the user's machine. */
	for (size_t i = 0; !here && i < run->n_events; i++) {
		const struct event_row *e = &run->events[i];

		if (strcmp(e->event, "agent") == 0 &&
		    strncmp(e->detail, "agent 0 of ", 11) == 0) {
			c.home = run_find_node(run, e->node, -1);
			break;
		}
	}
	c.lost = calloc((size_t)run->n_nodes + 1, 1);
	if (!c.lost) {
		v->failed = true;
		return;
	}
	if (is_cut(run, gone, true, &c)) {
		add_cut(run, gone, &c, explained, v);
	} else if (!run->ended) {
		forgive_ended(run, gone, explained, &c);
	}
	if (is_cut(run, gone, false, &c)) {
		add_cut(run, gone, &c, explained, v);
	}
	free(c.lost);
}
