/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/jobs_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/plan/plan.h"

struct maker {
	const struct jobs_node *nodes;
	size_t n;
	const char *kind;
	int group, n_groups;
	bool *begun;		/* a group each: it has been in a job */
	struct jobs_plan *p;
	bool late;		/* it is the jobs of busy nodes that are made */
};

static int groups_of(size_t n, int group)
{
	return (int)((n + (size_t)group - 1) / (size_t)group);
}

static size_t jobs_of(size_t n, int group)
{
	const size_t groups = (size_t)groups_of(n, group);

	return groups * (groups - 1) / 2;
}

/** The nodes of group @g: from *@first up to *@last. */
static void members(const struct maker *m, int g, size_t *first, size_t *last)
{
	*first = (size_t)g * (size_t)m->group;
	*last = *first + (size_t)m->group;
	*last = *last < m->n ? *last : m->n;
}

static void add_pair(struct jobs_part *part, const char *a, const char *b)
{
	str_addf(&part->pairs, "%s%s:*-%s:*", part->pairs.len ? "," : "", a, b);
}

/** The first time, what is inside of a group is measured too; of a node alone
 *  each time, for its partner may be down. */
static void add_group(const struct maker *m, int g, struct jobs_part *part)
{
	const bool inside = strcmp(m->kind, "all") == 0;
	size_t first, last;

	members(m, g, &first, &last);
	for (size_t i = first; i < last; i++) {
		str_addf(&part->nodes, "%s%s", part->nodes.len ? "," : "",
			 m->nodes[i].name);
		for (size_t k = i + !inside;
		     (!m->begun[g] || m->group == 1) && k < last; k++) {
			add_pair(part, m->nodes[i].name, m->nodes[k].name);
		}
	}
	m->begun[g] = true;
}

static bool is_busy(const struct maker *m, int g)
{
	size_t first, last;
	bool busy = false;

	members(m, g, &first, &last);
	for (size_t i = first; i < last; i++) {
		busy = busy || m->nodes[i].busy;
	}
	return busy;
}

static void add_part(struct maker *m, int a, int b, int lanes)
{
	struct jobs_part *part = &m->p->parts[m->p->n];
	size_t i, k, last_a, last_b, first_b;

	if ((is_busy(m, a) || is_busy(m, b)) != m->late) {
		return;
	}
	members(m, a, &i, &last_a);
	members(m, b, &first_b, &last_b);
	for (; i < last_a; i++) {
		for (k = first_b; k < last_b; k++) {
			add_pair(part, m->nodes[i].name, m->nodes[k].name);
		}
	}
	add_group(m, a, part);
	add_group(m, b, part);
	if (strcmp(m->kind, "rail") == 0) {
		str_reset(&part->pairs);
		str_add(&part->pairs, m->kind);
	}
	part->lane = (int)(m->p->n % (size_t)lanes) + 1;
	m->p->n++;
}

static void add_rounds(struct maker *m, int lanes)
{
	for (int round = 0; round < sched_rounds(m->n_groups); round++) {
		for (int a = 0; a < m->n_groups; a++) {
			int b = sched_partner(m->n_groups, round, a);

			if (b > a) {
				add_part(m, a, b, lanes);
			}
		}
	}
}

int jobs_plan_make(const struct jobs_node *nodes, size_t n, const char *kind,
		   int lanes, size_t most, struct jobs_plan *p,
		   struct err *e)
{
	struct maker m = { .nodes = nodes, .n = n, .kind = kind, .group = 1,
			   .p = p };
	bool failed = false;

	*p = (struct jobs_plan){ 0 };
	most = most < JOBS_MOST ? most : JOBS_MOST;
	if (n < 2) {
		err_set(e, 0, "there is no pair of %zu node%s", n,
			n == 1 ? "" : "s");
		return err_hint(e, "--nodelist or \"-- --partition=NAME\" "
				   "names more");
	}
	while (jobs_of(n, m.group) > most && m.group <= JOBS_GROUP_MAX) {
		m.group++;
	}
	if (m.group > JOBS_GROUP_MAX || most == 0) {
		err_set(e, 0, "the pairs of %zu nodes do not fit into %zu jobs",
			n, most);
		return err_hint(e, "--nodelist names fewer nodes; \"squeue "
				   "--me\" shows the jobs that count already");
	}
	m.n_groups = groups_of(n, m.group);
	m.begun = calloc((size_t)m.n_groups, sizeof(*m.begun));
	p->parts = calloc(jobs_of(n, m.group) + 1, sizeof(*p->parts));
	p->group = m.group;
	p->rounds = sched_rounds(m.n_groups);
	for (int late = 0; m.begun && p->parts && late < 2; late++) {
		m.late = late;
		add_rounds(&m, lanes);
	}
	failed = !m.begun || !p->parts;
	for (size_t i = 0; i < p->n; i++) {
		failed = failed || p->parts[i].nodes.failed ||
			 p->parts[i].pairs.failed;
	}
	free(m.begun);
	if (failed) {
		jobs_plan_release(p);
		return err_set(e, ENOMEM, "no memory for the jobs");
	}
	return 0;
}

void jobs_plan_release(struct jobs_plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		str_release(&p->parts[i].nodes);
		str_release(&p->parts[i].pairs);
	}
	free(p->parts);
	*p = (struct jobs_plan){ 0 };
}

json_t *jobs_plan_json(const struct jobs_plan *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n; i++) {
		json_array_append_new(list, json_pack(
			"{s:s, s:s, s:i}",
			"nodes", str_text(&p->parts[i].nodes),
			"pairs", str_text(&p->parts[i].pairs),
			"lane", p->parts[i].lane));
	}
	return list;
}
