/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/attribute.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"

struct work {
	struct blame b;
	struct causes out;
};

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

static int compare_cells(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/** Is @at among the unexplained cells? */
static bool in_rest(const struct work *w, uint32_t at)
{
	return bsearch(&at, w->b.rest, w->b.n_rest, sizeof(at), compare_cells);
}

/**
 * The pair of ranks of a bad cell; one way where the way back is good, or is
 * bad for another reason.
 */
static struct part pair_part(const struct work *w, uint32_t at)
{
	const struct run_rank *ranks = w->b.s.run->ranks;
	int src = suspects_src(&w->b.s, at), dst = suspects_dst(&w->b.s, at);
	int low = src < dst ? src : dst, high = src < dst ? dst : src;
	uint32_t back = suspects_way_back(&w->b.s, at);
	struct part p = part_of_kind(PART_PAIR);

	p.node = ranks[low].node;
	p.index = ranks[low].gpu;
	p.peer_node = ranks[high].node;
	p.peer_index = ranks[high].gpu;
	if (w->b.s.marks[back] == MARK_GOOD ||
	    (w->b.s.marks[back] == MARK_BAD && in_rest(w, at) &&
	     !in_rest(w, back))) {
		p.direction = src == low ? PART_TX : PART_RX;
	}
	return p;
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
	for (size_t i = 0; i < w->b.s.n_bad && n < s->bad; i++) {
		uint32_t at = w->b.s.bad[i];

		if (part_touches(w->b.s.run, &s->part,
				 suspects_src(&w->b.s, at),
				 suspects_dst(&w->b.s, at))) {
			found[n++] = at;
		}
	}
	if (n == 2 && found[1] != suspects_way_back(&w->b.s, found[0])) {
		return 0;
	}
	p = pair_part(w, found[0]);
	return add_or(c, &p);
}

/** Does @x explain what only @s explains, and is as little acquitted? */
static bool is_equal(const struct work *w, size_t x, size_t s)
{
	return w->b.need > 0 && w->b.covers[x] == w->b.need &&
	       w->b.s.list[x].good <= w->b.s.list[s].good;
}

/** The equal ones as one cause: the first is preferred, the others are "or". */
static int add_picked(struct work *w, size_t s)
{
	struct cause *c = NULL;

	blame_cover(&w->b, s);
	for (size_t i = 0; i < w->b.s.n; i++) {
		const struct suspect *x = &w->b.s.list[i];

		if (i != s && (w->b.of[i].picked || !is_equal(w, i, s))) {
			continue;
		}
		if (!c) {
			c = add_cause(w, &x->part, x->bad + x->good, x->bad);
			if (!c) {
				return -1;
			}
			c->score = blame_score(&w->b, s);
		} else if (add_or(c, &x->part) < 0) {
			return -1;
		}
	}
	return add_or_pair(w, c, &w->b.s.list[s]);
}

/** Too many pairs for a list: say where they are. */
static int add_scatter(struct work *w)
{
	static const enum part_kind kinds[PATH_CLASSES] = {
		[PATH_INTRA] = PART_INTRA_NODE,
		[PATH_INTER] = PART_INTER_NODE,
	};
	size_t n = (size_t)w->b.s.run->n_ranks * (size_t)w->b.s.run->n_ranks;
	size_t marked[PATH_CLASSES] = { 0 }, bad[PATH_CLASSES] = { 0 };

	for (size_t at = 0; at < n; at++) {
		marked[w->b.s.run->cells[at].path] += w->b.s.marks[at] != MARK_IGNORE;
	}
	for (size_t i = 0; i < w->b.n_rest; i++) {
		bad[w->b.s.run->cells[w->b.rest[i]].path]++;
	}
	for (int c = 0; c < PATH_CLASSES; c++) {
		struct part p = part_of_kind(kinds[c]);

		if (bad[c] > 0 && !add_cause(w, &p, marked[c], bad[c])) {
			return -1;
		}
	}
	return 0;
}

/**
 * The pair of a lone cell @at, and the parts that have no other cells: a path
 * between nodes of one GPU each.
 */
static int add_pair(struct work *w, uint32_t at)
{
	uint32_t touching[PART_INDEX_CELL_MAX];
	const uint32_t *those;
	uint32_t back = suspects_way_back(&w->b.s, at);
	enum mark mark = (enum mark)w->b.s.marks[back];
	struct part p = pair_part(w, at);
	bool both = p.direction == PART_BOTH;
	size_t bad = 1 + (both && mark == MARK_BAD);
	size_t cells = 1 + (both && mark != MARK_IGNORE);
	struct cause *c = NULL;
	size_t n;

	those = suspects_of_bad(&w->b.s, suspects_find_bad(&w->b.s, at), &n);
	memcpy(touching, those, n * sizeof(*touching));
	if (n > 0) {
		qsort(touching, n, sizeof(*touching), compare_cells);
	}
	for (size_t i = 0; i < n; i++) {
		const struct suspect *x = &w->b.s.list[touching[i]];

		if (w->b.of[touching[i]].left != bad || x->good > 0) {
			continue;
		}
		if (c ? add_or(c, &x->part) < 0 :
			!(c = add_cause(w, &x->part, x->bad, x->bad))) {
			return -1;
		}
	}
	if (c ? add_or(c, &p) < 0 : !(c = add_cause(w, &p, cells, bad))) {
		return -1;
	}
	if (both || mark == MARK_GOOD) {
		return 0;
	}
	/* the way back may suffer as well, unseen */
	p.direction = PART_BOTH;
	return add_or(c, &p);
}

/** What no part explains: pairs, each once. */
static int add_pairs(struct work *w)
{
	for (size_t i = 0; i < w->b.n_rest; i++) {
		uint32_t at = w->b.rest[i];
		uint32_t back = suspects_way_back(&w->b.s, at);

		if (!(back < at && in_rest(w, back)) && add_pair(w, at) < 0) {
			return -1;
		}
	}
	return 0;
}

static int collect(struct work *w)
{
	for (size_t i = 0; i < w->b.s.n; i++) {
		if (w->b.of[i].picked && add_picked(w, i) < 0) {
			return -1;
		}
	}
	return w->b.n_rest > 2 * ATTRIBUTE_MAX_PAIRS ? add_scatter(w) :
						       add_pairs(w);
}

int attribute(const struct run *run, const uint8_t *marks,
	      const struct attribute_need *need, struct causes *out)
{
	struct work w = { 0 };
	int rc = -1;

	*out = (struct causes){ 0 };
	if (blame_find(run, marks, need->percent, need->relative, &w.b) == 0) {
		rc = collect(&w);
	}
	if (rc == 0) {
		*out = w.out;
	} else {
		causes_release(&w.out);
	}
	blame_release(&w.b);
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
