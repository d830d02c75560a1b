/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/attribute.h"

#include <stdlib.h>

#include "lib/hash.h"
#include "report/grow.h"
#include "report/part_index.h"

/** What is known of one part: its cells by path class. */
struct tally {
	uint32_t marked[PATH_CLASSES], bad[PATH_CLASSES];
	uint64_t sum;	/* of a hash of each bad cell: equal sums, same cells */
};

struct suspect {
	struct part part;
	size_t id;
	size_t cells, bad;
	uint64_t sum;
	size_t gain;	/* bad cells it would explain that no other does */
	bool picked;
};

#define NO_SUSPECT UINT32_MAX

struct work {
	const struct run *run;
	const uint8_t *marks;
	const struct attribute_need *need;
	struct part_index index;
	uint32_t *suspect_of;		/* part number -> suspects[] */
	struct suspect *suspects;	/* in order of preference */
	size_t n_suspects;
	uint32_t *bad;			/* all bad cells */
	size_t n_bad;
	uint32_t *rest;			/* the unexplained ones */
	size_t n_rest;
	struct causes out;
};

static int cell_src(const struct work *w, uint32_t at)
{
	return (int)(at / (uint32_t)w->run->n_ranks);
}

static int cell_dst(const struct work *w, uint32_t at)
{
	return (int)(at % (uint32_t)w->run->n_ranks);
}

static int list_bad(struct work *w)
{
	size_t n = (size_t)w->run->n_ranks * (size_t)w->run->n_ranks;

	for (size_t at = 0; at < n; at++) {
		w->n_bad += w->marks[at] == MARK_BAD;
	}
	if (w->n_bad == 0) {
		return 0;
	}
	w->bad = calloc(w->n_bad, sizeof(*w->bad));
	w->rest = calloc(w->n_bad, sizeof(*w->rest));
	if (!w->bad || !w->rest) {
		return -1;
	}
	for (size_t at = 0, i = 0; at < n; at++) {
		if (w->marks[at] == MARK_BAD) {
			w->bad[i++] = (uint32_t)at;
		}
	}
	return 0;
}

static void tally_cells(const struct work *w, struct tally *tallies)
{
	size_t n = (size_t)w->run->n_ranks * (size_t)w->run->n_ranks;
	size_t ids[PART_INDEX_CELL_MAX];

	for (size_t at = 0; at < n; at++) {
		bool bad = w->marks[at] == MARK_BAD;
		uint64_t hash = bad ? hash_mix(0, at, 0, 0) : 0;
		unsigned path = w->run->cells[at].path;
		int k;

		if (w->marks[at] == MARK_IGNORE) {
			continue;
		}
		k = part_index_cell(&w->index, cell_src(w, (uint32_t)at),
				    cell_dst(w, (uint32_t)at), ids);
		for (int i = 0; i < k; i++) {
			tallies[ids[i]].marked[path]++;
			tallies[ids[i]].bad[path] += bad;
			tallies[ids[i]].sum += hash;
		}
	}
}

static unsigned percent_needed(const struct work *w, const struct part *p)
{
	bool wide = p->node < 0;

	return wide ? w->need->wide : w->need->part;
}

static bool is_suspect(const struct tally *t, unsigned percent)
{
	for (int c = 0; c < PATH_CLASSES; c++) {
		if (t->bad[c] * 100ULL < t->marked[c] * (uint64_t)percent) {
			return false;
		}
	}
	return t->bad[PATH_INTRA] + t->bad[PATH_INTER] > 0;
}

static int suspect_compare(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;

	return part_compare(&x->part, &y->part);
}

static int add_suspect(struct work *w, size_t id, const struct part *p,
		       const struct tally *t)
{
	struct suspect *s = grow(w->suspects, w->n_suspects, sizeof(*s));

	if (!s) {
		return -1;
	}
	w->suspects = s;
	s[w->n_suspects++] = (struct suspect){
		.part = *p,
		.id = id,
		.cells = (size_t)t->marked[PATH_INTRA] + t->marked[PATH_INTER],
		.bad = (size_t)t->bad[PATH_INTRA] + t->bad[PATH_INTER],
		.sum = t->sum,
	};
	return 0;
}

static int find_suspects(struct work *w)
{
	struct tally *tallies = calloc(w->index.n, sizeof(*tallies));
	int rc = -1;

	w->suspect_of = calloc(w->index.n, sizeof(*w->suspect_of));
	if (!tallies || !w->suspect_of) {
		goto free_tallies;
	}
	tally_cells(w, tallies);
	for (size_t id = 0; id < w->index.n; id++) {
		struct part p;

		w->suspect_of[id] = NO_SUSPECT;
		if (!is_suspect(&tallies[id], w->need->part)) {
			continue;
		}
		p = part_index_part(&w->index, id);
		if (is_suspect(&tallies[id], percent_needed(w, &p)) &&
		    add_suspect(w, id, &p, &tallies[id]) < 0) {
			goto free_tallies;
		}
	}
	rc = 0;
	if (w->n_suspects > 0) {
		qsort(w->suspects, w->n_suspects, sizeof(*w->suspects),
		      suspect_compare);
	}
	for (size_t i = 0; i < w->n_suspects; i++) {
		w->suspect_of[w->suspects[i].id] = (uint32_t)i;
	}
free_tallies:
	free(tallies);
	return rc;
}

/** The suspects that touch the cell; returns how many. */
static int cell_suspects(const struct work *w, uint32_t at,
			 struct suspect *out[PART_INDEX_CELL_MAX])
{
	size_t ids[PART_INDEX_CELL_MAX];
	int n = 0, k;

	k = part_index_cell(&w->index, cell_src(w, at), cell_dst(w, at), ids);
	for (int i = 0; i < k; i++) {
		uint32_t s = w->suspect_of[ids[i]];

		if (s != NO_SUSPECT) {
			out[n++] = &w->suspects[s];
		}
	}
	return n;
}

/**
 * Count for each suspect the bad cells that none but itself among the picked
 * ones explains, and list the cells that no picked one explains.
 */
static void recount(struct work *w)
{
	struct suspect *touching[PART_INDEX_CELL_MAX];

	for (size_t i = 0; i < w->n_suspects; i++) {
		w->suspects[i].gain = 0;
	}
	w->n_rest = 0;
	for (size_t i = 0; i < w->n_bad; i++) {
		int n = cell_suspects(w, w->bad[i], touching);
		struct suspect *by = NULL;
		int picked = 0;

		for (int k = 0; k < n; k++) {
			if (touching[k]->picked) {
				by = touching[k];
				picked++;
			}
		}
		if (picked == 0) {
			w->rest[w->n_rest++] = w->bad[i];
		}
		for (int k = 0; k < n; k++) {
			touching[k]->gain += picked == 0 ||
				(picked == 1 && touching[k] == by);
		}
	}
}

/** Take @s: the cells it explains are no one else's gain any more. */
static void pick(struct work *w, struct suspect *s)
{
	struct suspect *touching[PART_INDEX_CELL_MAX];
	size_t kept = 0;

	s->picked = true;
	for (size_t i = 0; i < w->n_rest; i++) {
		uint32_t at = w->rest[i];
		int n;

		if (!part_touches(w->run, &s->part, cell_src(w, at),
				  cell_dst(w, at))) {
			w->rest[kept++] = at;
			continue;
		}
		n = cell_suspects(w, at, touching);
		for (int k = 0; k < n; k++) {
			touching[k]->gain--;
		}
	}
	w->n_rest = kept;
}

static void pick_greedily(struct work *w)
{
	for (;;) {
		struct suspect *best = NULL;

		for (size_t i = 0; i < w->n_suspects; i++) {
			if (w->suspects[i].gain > (best ? best->gain : 0)) {
				best = &w->suspects[i];
			}
		}
		if (!best) {
			return;
		}
		pick(w, best);
	}
}

/** Two dead nodes of three explain all that "the network" was picked for. */
static void drop_needless(struct work *w)
{
	recount(w);
	for (size_t i = 0; i < w->n_suspects; i++) {
		struct suspect *s = &w->suspects[i];

		if (s->picked && s->gain == 0) {
			s->picked = false;
			recount(w);
		}
	}
}

static struct cause *add_cause(struct work *w, const struct part *p,
			       size_t cells, size_t explained)
{
	struct causes *out = &w->out;
	struct cause *list = grow(out->list, out->n, sizeof(*list));

	if (!list) {
		return NULL;
	}
	out->list = list;
	list[out->n] = (struct cause){
		.part = *p, .cells = cells, .explained = explained,
	};
	return &list[out->n++];
}

static int add_or(struct cause *c, const struct part *p)
{
	struct part *parts = grow(c->or_parts, c->n_or, sizeof(*parts));

	if (!parts) {
		return -1;
	}
	c->or_parts = parts;
	parts[c->n_or++] = *p;
	return 0;
}

/** The pair of ranks of a bad cell; one way where the way back is good. */
static struct part pair_part(const struct work *w, uint32_t at)
{
	const struct run_rank *ranks = w->run->ranks;
	int src = cell_src(w, at), dst = cell_dst(w, at);
	int low = src < dst ? src : dst, high = src < dst ? dst : src;
	struct part p = part_of_kind(PART_PAIR);

	p.node = ranks[low].node;
	p.index = ranks[low].gpu;
	p.peer_node = ranks[high].node;
	p.peer_index = ranks[high].gpu;
	if (w->marks[run_at(w->run, dst, src)] == MARK_GOOD) {
		p.direction = src == low ? PART_TX : PART_RX;
	}
	return p;
}

static uint32_t way_back(const struct work *w, uint32_t at)
{
	return (uint32_t)run_at(w->run, cell_dst(w, at), cell_src(w, at));
}

/** When all that @s explains is one pair, that pair explains it too. */
static int add_or_pair(struct work *w, struct cause *c, const struct suspect *s)
{
	uint32_t found[2] = { 0 };
	size_t n = 0;
	struct part p;

	if (s->bad > 2) {
		return 0;
	}
	for (size_t i = 0; i < w->n_bad && n < s->bad; i++) {
		if (part_touches(w->run, &s->part, cell_src(w, w->bad[i]),
				 cell_dst(w, w->bad[i]))) {
			found[n++] = w->bad[i];
		}
	}
	if (n == 2 && found[1] != way_back(w, found[0])) {
		return 0;
	}
	p = pair_part(w, found[0]);
	return add_or(c, &p);
}

static int add_picked(struct work *w, const struct suspect *s)
{
	struct cause *c = add_cause(w, &s->part, s->cells, s->bad);
	const struct part *last = &s->part;

	if (!c) {
		return -1;
	}
	for (size_t i = 0; i < w->n_suspects; i++) {
		const struct suspect *d = &w->suspects[i];

		if (d->picked || d->bad != s->bad || d->sum != s->sum ||
		    part_same_place(&d->part, &s->part) ||
		    part_same_place(&d->part, last)) {
			continue;
		}
		if (add_or(c, &d->part) < 0) {
			return -1;
		}
		last = &d->part;
	}
	return add_or_pair(w, c, s);
}

/** Too many pairs for a list: say where they are. */
static int add_scatter(struct work *w)
{
	static const enum part_kind kinds[PATH_CLASSES] = {
		[PATH_INTRA] = PART_INTRA_NODE,
		[PATH_INTER] = PART_INTER_NODE,
	};
	size_t n = (size_t)w->run->n_ranks * (size_t)w->run->n_ranks;
	size_t marked[PATH_CLASSES] = { 0 }, bad[PATH_CLASSES] = { 0 };

	for (size_t at = 0; at < n; at++) {
		marked[w->run->cells[at].path] += w->marks[at] != MARK_IGNORE;
	}
	for (size_t i = 0; i < w->n_rest; i++) {
		bad[w->run->cells[w->rest[i]].path]++;
	}
	for (int c = 0; c < PATH_CLASSES; c++) {
		struct part p = part_of_kind(kinds[c]);

		if (bad[c] > 0 && !add_cause(w, &p, marked[c], bad[c])) {
			return -1;
		}
	}
	return 0;
}

static int compare_cells(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/** Is @at among the unexplained cells? */
static bool in_rest(const struct work *w, uint32_t at)
{
	return bsearch(&at, w->rest, w->n_rest, sizeof(at), compare_cells);
}

/** What no part explains: pairs, each once. */
static int add_pairs(struct work *w)
{
	for (size_t i = 0; i < w->n_rest; i++) {
		uint32_t at = w->rest[i], back = way_back(w, at);
		struct part p = pair_part(w, at);

		if (back < at && in_rest(w, back)) {
			continue;
		}
		if (!add_cause(w, &p,
			       1 + (p.direction == PART_BOTH &&
				    w->marks[back] != MARK_IGNORE),
			       1 + (w->marks[back] == MARK_BAD))) {
			return -1;
		}
	}
	return 0;
}

static int collect(struct work *w)
{
	for (size_t i = 0; i < w->n_suspects; i++) {
		if (w->suspects[i].picked &&
		    add_picked(w, &w->suspects[i]) < 0) {
			return -1;
		}
	}
	return w->n_rest > 2 * ATTRIBUTE_MAX_PAIRS ? add_scatter(w) :
						     add_pairs(w);
}

int attribute(const struct run *run, const uint8_t *marks,
	      const struct attribute_need *need, struct causes *out)
{
	struct work w = { .run = run, .marks = marks, .need = need };
	int rc = -1;

	*out = (struct causes){ 0 };
	if (list_bad(&w) < 0) {
		goto release;
	}
	if (w.n_bad == 0) {
		rc = 0;
		goto release;
	}
	if (part_index_init(&w.index, run) < 0 || find_suspects(&w) < 0) {
		goto release;
	}
	recount(&w);
	pick_greedily(&w);
	drop_needless(&w);
	rc = collect(&w);
release:
	if (rc == 0) {
		*out = w.out;
	} else {
		causes_release(&w.out);
	}
	part_index_release(&w.index);
	free(w.suspect_of);
	free(w.suspects);
	free(w.bad);
	free(w.rest);
	return rc;
}

void causes_release(struct causes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->list[i].or_parts);
	}
	free(c->list);
	*c = (struct causes){ 0 };
}
