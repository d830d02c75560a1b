/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/ask.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/rundir.h"

/* ---- ask guess ----------------------------------------------------------- */

/** The rate at which a part may fail that nobody knows the rate of; of which
 *  two tests have failed. */
#define GUESS_RATE 0.1
#define LOW_RATE   0.05

/** One more alternative of @s, unless it has that. */
static void add_part(struct ask_suspect *s, struct part p)
{
	for (int i = 0; i < s->n; i++) {
		if (part_compare(&s->parts[i], &p) == 0) {
			return;
		}
	}
	if (s->n < ASK_PARTS) {
		s->parts[s->n++] = p;
	}
}

/** The one GPU at NIC @nic of @n; -1: there are several, or none. */
static int only_gpu(const struct layout *l, const struct cluster_node *n,
		    int nic)
{
	int found = -1, gpus = 0;

	for (int i = 0; i < n->gpus; i++) {
		if (l->ranks[n->first_rank + i].nic == nic) {
			found = i;
			gpus++;
		}
	}
	return gpus == 1 ? found : -1;
}

/** The NIC of a GPU, or the GPU of a NIC, where both have no other; -1. */
static int other_index(const struct layout *l, const struct part *p)
{
	const struct cluster_node *n = &l->nodes[p->node];
	int nic = p->index;

	if (p->kind == PART_GPU) {
		nic = p->index < n->gpus ?
			      l->ranks[n->first_rank + p->index].nic : -1;
		return only_gpu(l, n, nic) >= 0 ? nic : -1;
	}
	return only_gpu(l, n, nic);
}

/* Adds alternatives for @s, which fails only sometimes.  It may be another part
 * with most of the same tests: either direction or both, the whole node, or the
 * GPU or NIC next to it. */
static void ask_add_kin(const struct ask_plan *a, struct ask_suspect *s)
{
	static const enum part_kind kin[][2] = {
		{ PART_NODE, PART_NODE_NETWORK },
		{ PART_NODE_NETWORK, PART_NODE },
		{ PART_GPU, PART_NIC }, { PART_NIC, PART_GPU },
	};
	static const enum part_direction ways[] = {
		PART_TX, PART_RX, PART_BOTH
	};
	const struct part is = s->parts[0];
	bool one = is.kind == PART_GPU || is.kind == PART_NIC;

	for (size_t i = 0; i < sizeof(kin) / sizeof(*kin); i++) {
		struct part other = is;

		if (kin[i][0] != is.kind) {
			continue;
		}
		other.kind = kin[i][1];
		other.index = one ? other_index(a->l, &is) : -1;
		if (!one || (other.index >= 0 && !a->ports)) {
			add_part(s, other);
		}
		other = is;
		for (int d = 0; d < 3; d++) {
			other.direction = ways[d];
			if (ways[d] == PART_BOTH || is.direction == PART_BOTH) {
				add_part(s, other);
			}
		}
	}
}

/** Returns true if @s is a pair that failed, with its ranks in @ends. */
static bool is_failed_pair(const struct layout *l, const struct ask_suspect *s,
			   int ends[2])
{
	const struct part *p = &s->parts[0];

	if (p->kind != PART_PAIR || s->compare ||
	    p->index >= l->nodes[p->node].gpus ||
	    p->peer_index >= l->nodes[p->peer_node].gpus) {
		return false;
	}
	ends[0] = l->nodes[p->node].first_rank + p->index;
	ends[1] = l->nodes[p->peer_node].first_rank + p->peer_index;
	return true;
}

/** Tests of @p that failed in the follow-up. */
static int failed_later(const struct ask_plan *a, const struct part *p)
{
	int sum = 0;

	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		sum += t->ever &&
		       part_touches(&a->l->cluster, p, t->src, t->dst);
	}
	return sum;
}

/** Adds the part at @rank as a guess if a pair failed there and no suspect is
 *  about that part.  In a sample one failed test of few may be a third; a part
 *  with two failures and no finding fails in few tests of many. */
static void guess(struct ask_plan *a, enum part_kind kind, int rank)
{
	const struct cluster_rank *r = &a->l->ranks[rank];
	struct ask_suspect s = {
		.parts = { part_at(kind, r->node,
				   kind == PART_GPU ? r->gpu : r->nic) },
		.n = 1, .rate = GUESS_RATE, .confirm = true,
	};
	bool known = a->n_guesses == ASK_GUESSES;
	int pairs = 0, ends[2];

	for (size_t i = 0; i < a->n + a->n_guesses; i++) {
		known |= part_compare(&a->list[i].parts[0],
				      &s.parts[0]) == 0;
		pairs += is_failed_pair(a->l, &a->list[i], ends) &&
			 (part_has(&a->l->cluster, &s.parts[0], ends[0]) ||
			  part_has(&a->l->cluster, &s.parts[0], ends[1]));
	}
	if (pairs > 0 && !known) {
		s.rate = pairs + failed_later(a, &s.parts[0]) > 1 ? LOW_RATE :
			 a->l->grid.first != NULL ? ASK_MOST_RATE : GUESS_RATE;
		a->list[a->n + a->n_guesses++] = s;
	}
}

/* Suspects beside those of the verdict, which are all known. */
static void ask_guess(struct ask_plan *a)
{
	int ends[2];

	for (size_t i = 0; i < a->n; i++) {
		bool is = is_failed_pair(a->l, &a->list[i], ends);

		for (int k = 0; is && k < 2; k++) {
			guess(a, PART_GPU, ends[k]);
			if (!a->ports) {
				guess(a, PART_NIC, ends[k]);
			}
		}
	}
}

/* ---- ask confirm --------------------------------------------------------- */

/** Tests of a part that is to be confirmed, and of sound pairs. */
#define CONFIRM_TESTS 8
#define INSIDE (1U << PATH_INTRA)

/** Returns true if testing @src -> @dst can show if @s is still as bad. */
static bool shows(const struct ask_plan *a, const struct ask_suspect *s,
		  int src, int dst)
{
	return part_touches(&a->l->cluster, &s->parts[0], src, dst) &&
	       (s->rate > 0 ? !cells_failed(ask_cell(a, src, dst)->class) :
		!s->some || ask_cell(a, src, dst)->class == CELL_SLOW);
}

/** In which directions, as @x sends or receives; both of nothing. */
static uint8_t ways(const struct ask_plan *a, const struct ask_suspect *s,
		    int x, int y)
{
	return ask_dirs(s == NULL || shows(a, s, x, y),
			s == NULL || shows(a, s, y, x));
}

/** True if the test of @x with @y is by one of @paths, a bit each. */
static bool goes_by(const struct ask_plan *a, unsigned paths, int x, int y)
{
	return (paths >> cluster_path(&a->l->cluster, x, y) & 1) != 0;
}

/** Ordered tests of the follow-up by @paths that say something of @s; NULL:
 *  that touch no suspect. */
static int count_asked(const struct ask_plan *a, const struct ask_suspect *s,
		       unsigned paths)
{
	int sum = 0;

	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		if (goes_by(a, paths, t->src, t->dst) &&
		    (s != NULL ? shows(a, s, t->src, t->dst) :
				 ask_is_sound(a, NULL, t->src, t->dst))) {
			sum += t->times;
		}
	}
	return sum;
}

/** A partner on @node for @x, on its own rail where there is one; -1: none.
 *  What fails now and then does so with all of them: another one each time. */
static int partner_on(const struct ask_choice *c, const struct ask_suspect *s,
		      unsigned paths, int x, int node, int turn)
{
	const struct layout *l = c->a->l;
	const struct cluster_node *at = &l->nodes[node];
	bool rare = s != NULL && s->rate > 0, own = node == l->ranks[x].node;
	int first = l->ranks[x].gpu + (own  ? 1 + turn :
				       rare ? turn / (l->n_nodes - 1) : 0);
	int found = -1;

	for (int i = 0; i < at->gpus; i++) {
		int y = at->first_rank + (first + i) % at->gpus;
		bool rail = rare || l->ranks[y].nic == l->ranks[x].nic;

		if ((found < 0 || rail) && ask_can_test(c, x, y) &&
		    goes_by(c->a, paths, x, y) &&
		    ways(c->a, s, x, y) != 0 && ask_is_sound(c->a, s, x, y)) {
			found = y;
			if (rail) {
				break;
			}
		}
	}
	return found;
}

/**
 * Tests of @s, of everything for NULL, by @paths, until the follow-up has made
 * @enough ordered ones: in each turn another rank of it with a rank of another
 * node, or of its own.  A link has one partner only, which is asked again and
 * again.
 */
static void look_again(struct ask_choice *c, const struct ask_suspect *s,
		       unsigned paths, int enough)
{
	const struct layout *l = c->a->l;
	int turns = (CONFIRM_TESTS + l->nodes[0].gpus) * l->n_nodes;
	int need = enough - count_asked(c->a, s, paths);
	int x = l->n_ranks - 1;

	turns = turns > need ? turns : need;
	for (int turn = 0; need > 0 && turn < turns; turn++) {
		int hop = paths == INSIDE ? 0 : 1 + turn % (l->n_nodes - 1);
		int tries = l->n_ranks, y;

		/* the next one: of all, on another node and of another index */
		x = (x + (s != NULL ? 1 : 1 + l->nodes[0].gpus)) % l->n_ranks;
		while (s != NULL &&
		       !part_has(&c->a->l->cluster, &s->parts[0], x) &&
		       tries-- > 0) {
			x = (x + 1) % l->n_ranks;
		}
		if (tries <= 0) {
			return;
		}
		y = partner_on(c, s, paths, x,
			       (l->ranks[x].node + hop) % l->n_nodes, turn);
		if (y >= 0) {
			need -= ask_make(c, x, y, ways(c->a, s, x, y));
		}
	}
}

/** Paths of tests of @p: between nodes where there are any. */
static unsigned paths_of(const struct ask_plan *a, const struct part *p)
{
	unsigned between = part_scopes[p->kind].paths & ~INSIDE;

	return between != 0 && a->l->n_nodes > 1 && !a->inside &&
			       (p->kind != PART_PAIR ||
				p->node != p->peer_node) ? between : INSIDE;
}

/* Tests of @s as it is, with other partners and at another time. */
static void ask_confirm(struct ask_choice *c, const struct ask_suspect *s)
{
	const struct part *p = &s->parts[0];

	/* what is everywhere has nothing to be compared with */
	if (p->kind != PART_KINDS &&
	    part_scopes[p->kind].place != PART_ANYWHERE) {
		look_again(c, s, paths_of(c->a, p),
			   s->rate > 0 ? ask_enough(s->rate) : CONFIRM_TESTS);
	}
}

/* As many sound pairs as what is to be compared with them, which was chosen
 * before. */
static void ask_compare(struct ask_choice *c)
{
	for (int path = 0; path < PATH_CLASSES; path++) {
		if (c->beside[path]) {
			look_again(c, NULL, 1U << path, CONFIRM_TESTS);
		}
	}
}

/* ---- ask retry ----------------------------------------------------------- */

/** Failed tests of a finding that are tried again, of one GPU, and of the one
 *  that it is about: chance may fail it again and again. */
#define RETRY_TESTS   16
#define RETRY_OF_ONE  4
#define RETRY_OF_THAT 8

/** Returns true if the test failed and was not repeated.  Crashed tests are not
 *  repeated. */
static bool is_untried(const struct ask_plan *a, int src, int dst)
{
	const struct cell *c = ask_cell(a, src, dst);

	return cells_failed(c->class) && c->attempt == 1 &&
	       c->outcome != OUTCOME_CRASHED;
}

/** Returns how many tests of @s, or with @rank >= 0 of that rank, the follow-up
 *  repeated. */
static int count_retried(const struct ask_plan *a, const struct ask_suspect *s,
			 int rank)
{
	int sum = 0;

	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		sum += (is_untried(a, t->src, t->dst) ||
			(t->failed && t->times > 1)) &&
		       part_touches(&a->l->cluster, &s->parts[0], t->src,
				    t->dst) &&
		       (rank < 0 || t->src == rank || t->dst == rank);
	}
	return sum;
}

/** Try src -> dst again, which is of @s, unless enough of its ends were;
 *  returns how many tests it is. */
static int take_again(struct ask_choice *c, const struct ask_suspect *s,
		      int src, int dst)
{
	enum part_place place = part_scopes[s->parts[0].kind].place;
	int most = place == PART_ON_GPU || place == PART_ON_NIC ?
			   RETRY_OF_THAT : RETRY_OF_ONE;

	if (!part_touches(&c->a->l->cluster, &s->parts[0], src, dst) ||
	    !ask_can_test(c, src, dst) ||
	    count_retried(c->a, s, src) >= most ||
	    count_retried(c->a, s, dst) >= most) {
		return 0;
	}
	return ask_make(c, src, dst, TASK_AB);
}

/* Some of what failed of @s and was not tried again, of as many GPUs as there
 * are: of what was planned, and of what the follow-up made. */
static void ask_retry(struct ask_choice *c, const struct ask_suspect *s)
{
	struct ask_plan *a = c->a;
	int need = RETRY_TESTS - count_retried(a, s, -1);

	for (size_t at = 0; at < a->l->grid.n && need > 0; at++) {
		int src = grid_src(&a->l->grid, at);
		int dst = grid_dst(&a->l->grid, at);

		if (is_untried(a, src, dst) && ask_times(a, src, dst) == 0) {
			need -= take_again(c, s, src, dst);
		}
	}
	for (size_t i = 0; i < a->n_asked && need > 0; i++) {
		if (a->asked[i].failed && a->asked[i].times == 1) {
			need -= take_again(c, s, a->asked[i].src,
					   a->asked[i].dst);
		}
	}
}

/* ---- ask settle ---------------------------------------------------------- */

/** So many times as many, as long as the verdict leaves both open. */
#define OPEN_TIMES 4

static bool is_measured(const struct cell *c)
{
	return c->class != CELL_UNPLANNED && c->class != CELL_NOT_RUN &&
	       c->class != CELL_SKIPPED;
}

/** Returns true if testing @src -> @dst can tell alternative @p of @s from @q.
 *  Measured pairs tell no more, unless the suspect fails only sometimes. */
static bool tells(const struct ask_plan *a, const struct ask_suspect *s,
		  const struct part *p, const struct part *q, int src,
		  int dst)
{
	return part_touches(&a->l->cluster, p, src, dst) &&
	       !part_touches(&a->l->cluster, q, src, dst) &&
	       (s->rate > 0 ? !cells_failed(ask_cell(a, src, dst)->class) :
			      !is_measured(ask_cell(a, src, dst)));
}

/** Those of @s that tell @p from @q of the follow-up so far. */
static int count_told(const struct ask_plan *a, const struct ask_suspect *s,
		      const struct part *p, const struct part *q)
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
			    const struct part *p, const struct part *q,
			    int x, int y)
{
	const struct ask_plan *a = c->a;
	uint8_t dirs = ask_dirs(tells(a, s, p, q, x, y),
				tells(a, s, p, q, y, x));

	return dirs != 0 && ask_can_test(c, x, y) && ask_is_sound(a, s, x, y) ?
		       dirs : 0;
}

/** Partner number @i of @x: one of each node, its own first, GPUs of the same
 *  number before others; -1: that node has no such one. */
static int partner_at(const struct layout *l, int x, int i)
{
	int hop = i % l->n_nodes, on = i / l->n_nodes;
	const struct cluster_node *n =
		&l->nodes[(l->ranks[x].node + hop) % l->n_nodes];

	return on < n->gpus ?
		       n->first_rank + (l->ranks[x].gpu + on) % n->gpus : -1;
}

/** Makes up to *@need tests that tell @p from @q and were asked for no more
 *  than @most times; reduces *@need.  Returns true if any test is possible at
 *  all. */
static bool walk(struct ask_choice *c, const struct ask_suspect *s,
		 const struct part *p, const struct part *q, int most,
		 int *need)
{
	const struct layout *l = c->a->l;
	int partners = l->n_nodes * cluster_most_gpus(&l->cluster);
	bool any = false;

	for (int x = 0; x < l->n_ranks && *need > 0; x++) {
		int last = part_has(&c->a->l->cluster, p, x) ? partners : 0;

		for (int i = 0; i < last && *need > 0; i++) {
			int y = partner_at(l, x, i);
			uint8_t dirs = y < 0 ? 0 :
					       telling_ways(c, s, p, q, x, y);

			any |= dirs != 0 && c->left > 0;
			if (dirs != 0 && ask_times(c->a, x, y) <= most &&
			    ask_times(c->a, y, x) <= most) {
				*need -= ask_make(c, x, y, dirs);
			}
		}
	}
	return any;
}

/** Tests that tell @p from @q, with as many partner nodes as there are; of what
 *  fails now and then again and again, up to @times as many as are enough. */
static void tell_apart(struct ask_choice *c, const struct ask_suspect *s,
		       const struct part *p, const struct part *q,
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

/* Tests that tell the alternatives of @s apart, that are sound of all else. */
static void ask_settle(struct ask_choice *c, const struct ask_suspect *s)
{
	for (int i = 0; i < s->n; i++) {
		for (int j = 0; j < s->n; j++) {
			/* what is common is told from each, no more */
			if (i != j && s->parts[i].kind != PART_KINDS &&
			    s->parts[j].kind != PART_KINDS &&
			    (i == 0 || j == 0 || !(s->rate > 0))) {
				tell_apart(c, s, &s->parts[i], &s->parts[j],
					   i < s->n_open && j < s->n_open ?
						   OPEN_TIMES : 1);
			}
		}
	}
}

/* ---- ask verdict --------------------------------------------------------- */

/** Suspects with a larger share of failed tests are taken to be broken. */
#define RARE 0.9

static int node_of(void *layout, const char *name)
{
	const struct layout *l = layout;

	for (int i = 0; name != NULL && i < l->n_nodes; i++) {
		if (strcmp(l->nodes[i].name, name) == 0) {
			return i;
		}
	}
	return -1;
}

/** The leaf switch of the nodes @members, which has the number of the first
 *  one; -1: it has none. */
static int read_leaf(void *layout, const char *name, const json_t *members)
{
	struct layout *l = layout;
	const json_t *member;
	int leaf = -1;
	size_t i;

	(void)name;
	json_array_foreach(members, i, member) {
		int node = node_of(l, json_string_value(member));

		leaf = leaf < 0 ? node : leaf;
		if (node >= 0) {
			l->nodes[node].leaf = leaf + 1;
		}
	}
	return leaf;
}

static struct part read_part(struct ask_plan *a, const json_t *json)
{
	struct part p = part_read(json, node_of, read_leaf, a->l);

	if (a->ports && p.kind == PART_NIC) {
		p.kind = PART_GPU;	/* as part_shown() calls it */
	}
	if (!part_is_placed(&p)) {
		p.kind = PART_KINDS;	/* its node, if any, is no partner */
	}
	return p;
}

/** The rate of a part that was chosen because @failed of its @tests did, which
 *  is more than it fails at most times: less one deviation of that number, but
 *  half of it is left. */
static double rate_of(int64_t failed, int64_t tests)
{
	double k = (double)failed;
	double usual = fmax(k - sqrt(k), k / 2) / (double)tests;

	return fmin(usual, ASK_MOST_RATE);
}

static void read_suspect(struct ask_plan *a, const json_t *json,
			 struct ask_suspect *s)
{
	/* shared by several GPUs or NICs, any of which it may be, or few
	 * moments, or one test, which chance may be: seen again */
	const unsigned common =
		KIND(NODE_NETWORK) | KIND(INTRA_NODE) | KIND(GPU_NVLINK) |
		KIND(PAIR) | KIND(SOCKET) | KIND(CABLE_SWAP) | KIND(SWITCH) |
		KIND(RAIL_LEAF) | KIND(LEAF_PAIR) | KIND(FABRIC_PATH) |
		KIND(NVLINK_DOMAIN);
	const struct run_entry f = run_entry_of(json);
	const char *code = f.code;
	bool warn = strcmp(f.severity, "warn") == 0;
	int64_t explained = f.explained, cells = f.judged > 0 ? f.judged :
								f.cells;
	double share = cells > 0 ? (double)explained / (double)cells : 1;
	bool rare = share > 0 && share < RARE;
	const json_t *other;
	size_t i;

	*s = (struct ask_suspect){
		.parts = { read_part(a, json) }, .n = 1,
		.compare = strcmp(code, "slow") == 0 ||
			   strcmp(code, "latency") == 0,
	};
	s->some = s->compare && !warn && explained > 0 && explained < cells;
	s->confirm = s->compare && (warn || s->some ||
				    part_is(&s->parts[0], common));
	s->rate = rare && !s->compare ? rate_of(explained, cells) : 0;
	s->retry = !s->compare && strcmp(code, "flaky") != 0 &&
		   (rare || s->parts[0].kind == PART_PAIR);
	json_array_foreach(f.others, i, other) {
		if (s->n < ASK_PARTS) {
			s->parts[s->n++] = read_part(a, other);
		}
	}
	s->n_open = s->n;
	/* of the few tests of a sample other parts may have failed some */
	s->confirm |= s->rate > 0 && a->l->grid.first != NULL;
	if (s->rate > 0) {
		ask_add_kin(a, s);
	}
}

int ask_take(struct ask_plan *a, const json_t *verdict, struct err *e)
{
	const json_t *findings = verdict_file(verdict).findings, *f;
	size_t i;

	a->n = a->n_guesses = 0;
	for (int node = 0; node < a->l->n_nodes; node++) {
		a->l->nodes[node].leaf = node + 1;
	}
	cluster_find_domains(&a->l->cluster);
	if (!json_is_array(findings)) {
		return err_set(e, EINVAL, "no verdict");
	}
	if (json_array_size(findings) > ASK_SUSPECTS) {
		return err_set(e, E2BIG,
			       "%zu findings, of which at most %d can "
			       "be settled",
			       json_array_size(findings), ASK_SUSPECTS);
	}
	json_array_foreach(findings, i, f) {
		read_suspect(a, f, &a->list[a->n++]);
	}
	ask_guess(a);
	return 0;
}

/* ---- ask ----------------------------------------------------------------- */

int ask_init(struct ask_plan *a, struct layout *l)
{
	*a = (struct ask_plan){ .l = l,
			   .list = calloc(ASK_SUSPECTS + ASK_GUESSES,
					  sizeof(*a->list)),
			   .heads = calloc(ASK_HEADS, sizeof(*a->heads)) };
	if (a->list == NULL || a->heads == NULL) {
		ask_release(a);
		return -1;
	}
	return 0;
}

void ask_release(struct ask_plan *a)
{
	free(a->list);
	free(a->asked);
	free(a->heads);
	*a = (struct ask_plan){ 0 };
}

int ask_rounds(int n_ranks)
{
	int rounds = 3;

	for (int n = 1; n < n_ranks; n *= 2) {
		rounds++;
	}
	return rounds;
}

size_t ask_next(struct ask_plan *a, size_t max, const struct retry_ops *ops,
		void *ctx)
{
	struct ask_choice c = { .a = a, .ops = ops, .ctx = ctx, .left = max };

	for (size_t i = 0; i < a->n + a->n_guesses; i++) {
		const struct ask_suspect *s = &a->list[i];

		c.compare = s->compare && !s->some;
		ask_settle(&c, s);
		if (s->confirm) {
			ask_confirm(&c, s);
		}
		if (s->retry) {
			ask_retry(&c, s);
		}
	}
	ask_compare(&c);
	return c.taken;
}
