/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/history/history.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/hash.h"
#include "report/base/grow.h"
#include "report/history/names.h"

/* ---- parts by their names ----------------------------------------------- */

/** Where each part is in history.parts: open addressing, + 1, 0 = free. */
struct places {
	size_t *at, size;	/* a power of two */
};

struct work {
	struct history *h;
	struct places parts, nodes;
};

static uint64_t hash_of(const char *name, size_t setup)
{
	uint64_t hash = setup;

	for (; *name; name++) {
		hash = (hash ^ (uint64_t)(unsigned char)*name) *
		       UINT64_C(0x100000001b3);
	}
	return hash_mix(hash, 0, 0, 0);
}

static bool is_part(const struct history *h, size_t i, const char *name,
		    size_t setup)
{
	return h->parts[i].setup == setup &&
	       strcmp(h->parts[i].name, name) == 0;
}

static bool is_node(const struct history *h, size_t i, const char *name,
		    size_t setup)
{
	(void)setup;
	return strcmp(h->nodes[i].name, name) == 0;
}

/** The place of @name, taken or free; NULL where there is no place at all. */
static size_t *place_of(const struct history *h, struct places *p,
			bool (*is)(const struct history *h, size_t i,
				   const char *name, size_t setup),
			const char *name, size_t setup)
{
	size_t i = p->size ? hash_of(name, setup) & (p->size - 1) : 0;

	while (p->size && p->at[i] && !is(h, p->at[i] - 1, name, setup)) {
		i = (i + 1) & (p->size - 1);
	}
	return p->size ? &p->at[i] : NULL;
}

/** Room for one more than @n; -1 without memory. */
static int places_grow(struct places *p, size_t n)
{
	if (2 * (n + 1) < p->size) {
		return 0;
	}
	free(p->at);
	p->size = p->size ? 2 * p->size : 256;
	p->at = calloc(p->size, sizeof(*p->at));
	if (!p->at) {
		p->size = 0;
		return -1;
	}
	return 1;
}

static int part_room(struct work *w)
{
	struct history *h = w->h;
	int rc = places_grow(&w->parts, h->n_parts);

	for (size_t i = 0; rc > 0 && i < h->n_parts; i++) {
		*place_of(h, &w->parts, is_part, h->parts[i].name,
			  h->parts[i].setup) = i + 1;
	}
	return rc < 0 ? -1 : 0;
}

static int node_room(struct work *w)
{
	struct history *h = w->h;
	int rc = places_grow(&w->nodes, h->n_nodes);

	for (size_t i = 0; rc > 0 && i < h->n_nodes; i++) {
		*place_of(h, &w->nodes, is_node, h->nodes[i].name, 0) = i + 1;
	}
	return rc < 0 ? -1 : 0;
}

/** The part that @is names in runs of @setup; NULL without memory. */
static struct history_part *part_of(struct work *w,
				    const struct summary_finding *is,
				    size_t setup)
{
	struct history_part new = { .is = *is, .setup = setup };
	struct history *h = w->h;
	size_t *place;

	names_of(is, new.name, sizeof(new.name));
	if (part_room(w) < 0) {
		return NULL;
	}
	place = place_of(h, &w->parts, is_part, new.name, setup);
	if (*place) {
		return &h->parts[*place - 1];
	}
	new.is.code[0] = '\0';
	if (!grow_add(&h->parts, &h->n_parts, &new, sizeof(new))) {
		return NULL;
	}
	*place = h->n_parts;
	return &h->parts[h->n_parts - 1];
}

static struct history_node *node_of(struct work *w, const char *name)
{
	struct history_node new = { .name = "" };
	struct history *h = w->h;
	size_t *place;

	if (node_room(w) < 0) {
		return NULL;
	}
	place = place_of(h, &w->nodes, is_node, name, 0);
	if (*place) {
		return &h->nodes[*place - 1];
	}
	STR_COPY(new.name, name);
	if (!grow_add(&h->nodes, &h->n_nodes, &new, sizeof(new))) {
		return NULL;
	}
	*place = h->n_nodes;
	return &h->nodes[h->n_nodes - 1];
}

/* ---- a run -------------------------------------------------------------- */

/** The point of run @run of @p, made where it has none; NULL without memory. */
static struct history_point *point_of(struct history_part *p, size_t run)
{
	const struct history_point new = { .run = run, .level_GB_s = NAN };

	if (p->n > 0 && p->points[p->n - 1].run == run) {
		return &p->points[p->n - 1];
	}
	return grow_add(&p->points, &p->n, &new, sizeof(new));
}

static int take_level(struct work *w, size_t run, size_t setup,
		      const struct summary_finding *is, double level)
{
	struct history_part *p = part_of(w, is, setup);
	struct history_point *at = p ? point_of(p, run) : NULL;

	if (at) {
		at->level_GB_s = level;
	}
	return at ? 0 : -1;
}

static int take_levels(struct work *w, size_t run, size_t setup,
		       struct summary_finding *is, const double *v, size_t n)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		is->index = (int64_t)i;
		rc = v[i] > 0 ? take_level(w, run, setup, is, v[i]) : 0;
	}
	is->index = -1;
	return rc;
}

static struct summary_finding part_like(const char *kind, const char *node)
{
	struct summary_finding is = { .index = -1, .peer_index = -1 };

	STR_COPY(is.kind, kind);
	STR_COPY(is.node, node);
	return is;
}

/** Run @run tested @name, or found a fault in it. */
static struct history_node *see_node(struct work *w, size_t run,
				     const char *name, bool failed)
{
	struct history_node *n = node_of(w, name);
	const uint8_t mark = failed;

	if (n && n->n > 0 && n->run == run) {
		n->failed[n->n - 1] |= mark;
	} else if (n && !grow_add(&n->failed, &n->n, &mark, 1)) {
		return NULL;
	}
	if (n) {
		n->run = run;
	}
	return n;
}

static int take_node(struct work *w, size_t run, size_t setup,
		     const struct summary_node *n)
{
	struct summary_finding node = part_like("node", n->name);
	struct summary_finding gpu = part_like("gpu", n->name);
	struct summary_finding nic = part_like("nic", n->name);

	if (take_levels(w, run, setup, &gpu, n->gpu_GB_s, n->n_gpus) < 0 ||
	    take_levels(w, run, setup, &nic, n->nic_GB_s, n->n_nics) < 0) {
		return -1;
	}
	if (!n->tested) {
		return 0;
	}
	if (!see_node(w, run, n->name, false)) {
		return -1;
	}
	return n->bw_GB_s > 0 || !summary_has_pairs(&w->h->runs[run]) ?
		       take_level(w, run, setup, &node, n->bw_GB_s) : 0;
}

static int take_whole(struct work *w, size_t run, size_t setup)
{
	const struct summary *s = &w->h->runs[run];
	const struct {
		const char *kind;
		double level;
	} whole[] = {
		{ "inter_node", s->inter_GB_s },
		{ "intra_node", s->intra_GB_s },
		{ "collective", s->busbw_GB_s },
	};
	struct summary_finding rail = part_like("rail", "");
	int rc = take_levels(w, run, setup, &rail, s->rail_GB_s, s->n_rails);

	for (size_t i = 0; rc == 0 && i < sizeof(whole) / sizeof(*whole); i++) {
		const struct summary_finding is = part_like(whole[i].kind, "");

		rc = whole[i].level > 0 ?
			     take_level(w, run, setup, &is, whole[i].level) : 0;
	}
	return rc;
}

/** What is between two nodes, or a process of a job, is no node's fault. */
static bool is_of_node(const struct summary_finding *f)
{
	return f->fail && f->node[0] && !f->peer_node[0] &&
	       strcmp(f->kind, "process") != 0;
}

static void add_word(char *list, size_t size, const char *word)
{
	const size_t len = strlen(list);

	if (word[0] && !strstr(list, word) && len + strlen(word) + 3 < size) {
		snprintf(list + len, size - len, "%s%s", len ? ", " : "",
			 word);
	}
}

static int blame_node(struct work *w, size_t run,
		      const struct summary_finding *f)
{
	struct history_node *to = see_node(w, run, f->node, true);
	char name[HISTORY_NAME];

	if (!to) {
		return -1;
	}
	names_of(f, name, sizeof(name));
	add_word(to->parts, sizeof(to->parts),
		 name[strlen(f->node)] ? name + strlen(f->node) + 1 :
					 "the node");
	return 0;
}

static int take_finding(struct work *w, size_t run, size_t setup,
			const struct summary_finding *f)
{
	struct history_part *p = part_of(w, f, setup);
	struct history_point *at = p ? point_of(p, run) : NULL;

	if (!at) {
		return -1;
	}
	if (f->fail || at->state == HISTORY_GOOD) {
		at->state = f->fail ? HISTORY_FAIL : HISTORY_WARN;
		STR_COPY(p->is.code, f->code);
	}
	return is_of_node(f) ? blame_node(w, run, f) : 0;
}

static int take_run(struct work *w, size_t run)
{
	struct history *h = w->h;
	const struct summary *s = &h->runs[run];
	size_t setup = 0;
	int rc;

	while (setup < h->n_setups &&
	       !summary_alike(&h->runs[h->setups[setup]], s)) {
		setup++;
	}
	if (setup < h->n_setups) {
		h->setups[setup] = run;
	} else if (!grow_add(&h->setups, &h->n_setups, &run, sizeof(run))) {
		return -1;
	}
	rc = take_whole(w, run, setup);
	for (size_t i = 0; rc == 0 && i < s->n_nodes; i++) {
		rc = take_node(w, run, setup, &s->nodes[i]);
	}
	for (size_t i = 0; rc == 0 && i < s->n_findings; i++) {
		rc = take_finding(w, run, setup, &s->findings[i]);
	}
	return rc;
}

int history_make(const struct summary *runs, size_t n, struct history *h)
{
	struct work w = { .h = h };
	int rc = 0;

	*h = (struct history){ .runs = runs, .n_runs = n };
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = take_run(&w, i);
	}
	free(w.parts.at);
	free(w.nodes.at);
	return rc == 0 ? history_judge(h) : rc;
}

void history_release(struct history *h)
{
	for (size_t i = 0; i < h->n_parts; i++) {
		free(h->parts[i].points);
	}
	for (size_t i = 0; i < h->n_nodes; i++) {
		free(h->nodes[i].failed);
	}
	free(h->parts);
	free(h->nodes);
	free(h->setups);
	*h = (struct history){ 0 };
}

bool history_is(const struct history_part *p, const char *name)
{
	const size_t len = name ? strlen(name) : 0;

	return !name || strcasecmp(p->is.peer_node, name) == 0 ||
	       strcasecmp(p->is.node, name) == 0 ||
	       (strncasecmp(p->name, name, len) == 0 &&
		(p->name[len] == '\0' || p->name[len] == ' ' ||
		 p->name[len] == '/'));
}

bool history_tells(const struct history_part *p)
{
	return p->failed + p->warned > 0 ||
	       (p->trend.sure && p->trend.percent <= -HISTORY_SLOWER);
}

const char *history_pattern(const struct history_part *p,
			    char buf[HISTORY_LAST + 1])
{
	static const char marks[] = {
		[HISTORY_GOOD] = '.', [HISTORY_WARN] = 'w', [HISTORY_FAIL] = 'x'
	};
	const size_t from = p->n > HISTORY_LAST ? p->n - HISTORY_LAST : 0;
	size_t len = 0;

	for (size_t i = from; i < p->n; i++) {
		buf[len++] = marks[p->points[i].state];
	}
	buf[len] = '\0';
	return buf;
}
