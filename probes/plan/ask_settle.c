/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/ask_steps.h"

/** So many times as many, as long as the verdict leaves both open. */
#define OPEN_TIMES 4

static bool is_measured(const struct cell *c)
{
	return c->class != CELL_UNPLANNED && c->class != CELL_NOT_RUN &&
	       c->class != CELL_SKIPPED;
}

/** Would @src -> @dst tell alternative @p of @s from @q?  What was measured
 *  says no more, unless it is now and then that a test fails. */
static bool tells(const struct ask_plan *a, const struct ask_suspect *s,
		  const struct ask_part *p, const struct ask_part *q, int src,
		  int dst)
{
	return ask_touches(a, p, src, dst) && !ask_touches(a, q, src, dst) &&
	       (s->rate > 0 ? !ask_has_failed(a, src, dst) :
			      !is_measured(ask_cell(a, src, dst)));
}

/** Those of @s that tell @p from @q of the follow-up so far. */
static int count_told(const struct ask_plan *a, const struct ask_suspect *s,
		      const struct ask_part *p, const struct ask_part *q)
{
	int sum = 0;

	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		sum += tells(a, s, p, q, t->src, t->dst) ? t->times : 0;
	}
	return sum;
}

/** In which directions a test of @x with @y can be made that tells @p from @q;
 *  0: in none. */
static uint8_t telling_ways(const struct ask_choice *c,
			    const struct ask_suspect *s,
			    const struct ask_part *p, const struct ask_part *q,
			    int x, int y)
{
	const struct ask_plan *a = c->a;
	uint8_t dirs = ask_dirs(tells(a, s, p, q, x, y),
				tells(a, s, p, q, y, x));

	return dirs != 0 && ask_can_test(c, x, y) && ask_is_sound(a, s, x, y) ?
		       dirs : 0;
}

/** Was neither direction of the two asked for more than @most times? */
static bool is_fresh(const struct ask_plan *a, int x, int y, int most)
{
	return ask_times(a, x, y) <= most && ask_times(a, y, x) <= most;
}

static int most_gpus(const struct layout *l)
{
	int most = 0;

	for (int i = 0; i < l->n_nodes; i++) {
		most = l->nodes[i].gpus > most ? l->nodes[i].gpus : most;
	}
	return most;
}

/** Partner number @i of @x: one of each node, its own first, GPUs of the same
 *  number before others; -1: that node has no such one. */
static int partner_at(const struct layout *l, int x, int i)
{
	int hop = i % l->n_nodes, on = i / l->n_nodes;
	const struct layout_node *n =
		&l->nodes[(l->ranks[x].node + hop) % l->n_nodes];

	return on < n->gpus ?
		       n->first_rank + (l->ranks[x].gpu + on) % n->gpus : -1;
}

/** Up to *@need tests that tell @p from @q and were asked for no more than
 *  @most times, which makes *@need less; can any be made at all? */
static bool walk(struct ask_choice *c, const struct ask_suspect *s,
		 const struct ask_part *p, const struct ask_part *q, int most,
		 int *need)
{
	const struct layout *l = c->a->l;
	int partners = l->n_nodes * most_gpus(l);
	bool any = false;

	for (int x = 0; x < l->n_ranks && *need > 0; x++) {
		int last = ask_is_here(c->a, p, x) ? partners : 0;

		for (int i = 0; i < last && *need > 0; i++) {
			int y = partner_at(l, x, i);
			uint8_t dirs = y < 0 ? 0 :
					       telling_ways(c, s, p, q, x, y);

			any |= dirs != 0 && c->left > 0;
			if (dirs != 0 && is_fresh(c->a, x, y, most)) {
				*need -= ask_make(c, x, y, dirs);
			}
		}
	}
	return any;
}

/** Tests that tell @p from @q, with as many partner nodes as there are; of what
 *  fails now and then again and again, up to @times as many as are enough. */
static void tell_apart(struct ask_choice *c, const struct ask_suspect *s,
		       const struct ask_part *p, const struct ask_part *q,
		       int times)
{
	int told = count_told(c->a, s, p, q), one = ask_enough(s->rate);
	int need = one - told, turn = 0, turns;

	for (int i = 1; s->rate > 0 && i < times && need <= 0; i++) {
		need += one;
	}
	turns = s->rate > 0 ? told + need : 1;
	while (turn < turns && need > 0 && walk(c, s, p, q, turn, &need)) {
		turn++;
	}
}

void ask_settle(struct ask_choice *c, const struct ask_suspect *s)
{
	for (int i = 0; i < s->n; i++) {
		for (int j = 0; j < s->n; j++) {
			/* what is common is told from each, no more */
			if (i != j && s->parts[i].kind != ASK_UNKNOWN &&
			    s->parts[j].kind != ASK_UNKNOWN &&
			    (i == 0 || j == 0 || !(s->rate > 0))) {
				tell_apart(c, s, &s->parts[i], &s->parts[j],
					   i < s->n_open && j < s->n_open ?
						   OPEN_TIMES : 1);
			}
		}
	}
}
