/* SPDX-License-Identifier: BSD-3-Clause */
/* What the user's list of switches says of the nodes and ports of a run. */
#include "report/model/run_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "lib/data/switches.h"

/** A port of the run, by its GUID. */
struct guid {
	char value[20];
	size_t fact;
};

static int guid_order(const void *a, const void *b)
{
	return strcmp(((const struct guid *)a)->value,
		      ((const struct guid *)b)->value);
}

struct guids {
	struct run *run;
	struct guid *list;
	size_t n;
	int node;		/* of the last link */
};

static int find_guids(struct guids *g)
{
	const struct run *run = g->run;
	size_t n = 0;

	for (size_t i = 0; i < run->n_facts; i++) {
		n += strcmp(run->facts[i].fact, "port_guid") == 0;
	}
	g->list = calloc(n + 1, sizeof(*g->list));
	for (size_t i = 0; g->list && i < run->n_facts; i++) {
		if (strcmp(run->facts[i].fact, "port_guid") == 0) {
			STR_COPY(g->list[g->n].value, run->facts[i].value);
			g->list[g->n++].fact = i;
		}
	}
	if (g->list) {
		qsort(g->list, g->n, sizeof(*g->list), guid_order);
	}
	return g->list ? 0 : -1;
}

static int add_fact(struct run *run, const struct fact_row *of,
		    const char *fact, const char *value)
{
	struct fact_row row = *of;

	STR_COPY(row.fact, fact);
	STR_COPY(row.value, value);
	return value[0] ? run_add_fact(run, &row) : 0;
}

/** Of whom @link is about, if that is in the run: by the GUID, which nobody
 *  else has, else by the names. */
static bool find_port(struct guids *g, const struct switch_link *link,
		      struct fact_row *row)
{
	struct guid key = { .fact = 0 }, *found;

	STR_COPY(key.value, link->guid);
	found = link->guid[0] ? bsearch(&key, g->list, g->n, sizeof(key),
					guid_order) : NULL;
	*row = (struct fact_row){ .source = RUN_SWITCHES };
	if (found) {
		STR_COPY(row->node, g->run->facts[found->fact].node);
		STR_COPY(row->scope, g->run->facts[found->fact].scope);
		return true;
	}
	g->node = link->node[0] ? run_find_node(g->run, link->node, g->node) :
				  -1;
	if (g->node >= 0) {
		STR_COPY(row->node, g->run->nodes[g->node].name);
		STR_COPY(row->scope, link->nic[0] ? link->nic : "node");
	}
	return g->node >= 0;
}

static int take_link(void *user, const struct switch_link *link)
{
	struct guids *g = user;
	struct fact_row row;

	if (!find_port(g, link, &row)) {
		return 0;
	}
	if (strcmp(row.scope, "node") == 0) {
		return add_fact(g->run, &row, "leaf_switch", link->name);
	}
	return add_fact(g->run, &row, "switch", link->name) < 0 ? -1 :
	       add_fact(g->run, &row, "switch_port", link->port);
}

int run_read_switches(const char *dir, struct run *run)
{
	struct guids g = { .run = run, .node = -1 };
	struct err why = { 0 };
	size_t len = 0;
	char *text = rundir_read_text(dir, RUN_SWITCHES, SWITCHES_MAX_BYTES,
				      &len, &why);
	int rc = 0;

	if (!text) {
		if (why.code != ENOENT) {
			snprintf(run->unread, sizeof(run->unread), "%.300s",
				 why.text);
		}
		return 0;
	}
	rc = find_guids(&g) < 0 ||
			     switches_parse(text, len, take_link, &g) < 0 ?
		     -1 : 0;
	free(g.list);
	free(text);
	return rc;
}
