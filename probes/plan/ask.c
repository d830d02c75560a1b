/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/ask.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/data/rundir.h"
#include "probes/plan/plan.h"

/** Places for what was asked: a run asks for some hundreds. */
#define ASK_HEADS 4096
/** Failure rate assumed for parts that were chosen because many of their tests
 *  failed; the true rate may be lower. */
#define ASK_MOST_RATE (1 / 3.0)

/* ---- ask tests ----------------------------------------------------------- */

/** The cell of @src -> @dst; never NULL. */
static const struct cell *ask_cell(const struct ask_plan *a, int src, int dst)
{
	return &a->l->cells[grid_at(&a->l->grid, src, dst)];
}

static size_t *head_of(const struct ask_plan *a, int src, int dst)
{
	return &a->heads[hash_mix(0, (uint64_t)src, (uint64_t)dst, 0) %
			 ASK_HEADS];
}

/** Returns the test src -> dst of the follow-up; NULL: none. */
static struct ask_test *asked_of(const struct ask_plan *a, int src, int dst)
{
	size_t i = *head_of(a, src, dst);

	while (i > 0 &&
	       (a->asked[i - 1].src != src || a->asked[i - 1].dst != dst)) {
		i = a->asked[i - 1].next;
	}
	return i > 0 ? &a->asked[i - 1] : NULL;
}

int ask_times(const struct ask_plan *a, int src, int dst)
{
	const struct ask_test *t = asked_of(a, src, dst);

	return t != NULL ? t->times : 0;
}

/* Once more.  0, or -1 without memory. */
static int ask_note(struct ask_plan *a, int src, int dst)
{
	struct ask_test *known = asked_of(a, src, dst), *list = a->asked;
	size_t *head = head_of(a, src, dst);

	if (known != NULL) {
		known->times++;
		return 0;
	}
	if ((a->n_asked & (a->n_asked - 1)) == 0) {	/* a power of two */
		list = realloc(list, (2 * a->n_asked + 1) * sizeof(*list));
	}
	if (list == NULL) {
		return -1;
	}
	a->asked = list;
	list[a->n_asked++] = (struct ask_test){ .src = src, .dst = dst,
						.times = 1, .next = *head };
	*head = a->n_asked;
	return 0;
}

void ask_hear(struct ask_plan *a, int src, int dst, enum outcome o)
{
	struct ask_test *t = asked_of(a, src, dst);
	bool failed = cells_failed(cells_class_of(o)) && o != OUTCOME_CRASHED;

	if (t != NULL) {
		t->failed = t->times == 1 ? failed : t->failed;
		t->ever |= failed;
	}
}

/* ---- ask choice ---------------------------------------------------------- */

/** Tests that touch one alternative and not the other; of a part that fails
 *  now and then as many as one in a thousand times do not show it. */
#define SETTLE_TESTS 4
#define SETTLE_NATS  6.9

/** Tests of a part that fails at @rate, or always for 0, until that shows. */
static int ask_enough(double rate)
{
	return rate > 0 ? (int)(SETTLE_NATS / rate) + 1 : SETTLE_TESTS;
}

/** The directions of a test, as its first rank sends or receives. */
static uint8_t ask_dirs(bool sends, bool receives)
{
	return (uint8_t)((sends ? TASK_AB : 0) | (receives ? TASK_BA : 0));
}

/** Returns true if @x and @y can be tested at all. */
static bool ask_can_test(const struct ask_plan *a, int x, int y)
{
	return pairs_want(&a->l->cluster, a->inside ? PAIRS_INTRA :
			  PAIRS_ALL, a->rails_apart, x, y) &&
	       a->ops->works(a->ctx, x) && a->ops->works(a->ctx, y);
}

/**
 * Returns true if @y is a sound partner for testing suspect @s at @x: no other
 * finding touches the test, and no alternative of @s is only at the partner,
 * unless both ends belong to one suspect between switches.  If slow tests are
 * repeated, other suspects with some slow tests do not matter.  @s NULL:
 * nothing is to be tested, and all parts of the test must be sound.
 */
static bool ask_is_sound(const struct ask_plan *a, const struct ask_suspect *s,
			 int x, int y)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct ask_suspect *t = &a->list[i];
		bool meant = t != s && s != NULL && s->some && t->some;

		for (int k = 0; k < t->n && !meant; k++) {
			const struct part *p = &t->parts[k];
			bool joins = part_touches(&a->l->cluster, p, x, y) ||
				     part_touches(&a->l->cluster, p, y, x);

			if (t != s ? joins :
				     !part_is(&t->parts[0], PART_OF_LEAVES) &&
				     !part_scopes[p->kind].two &&
				     part_has(&a->l->cluster, p, y) &&
				     !part_has(&a->l->cluster, p, x)) {
				return false;
			}
		}
	}
	return true;
}

/** Tests @x with @y in the directions @dirs, of ask_dirs().  Returns how many
 *  ordered tests that is, 0 when it cannot. */
static int ask_make(struct ask_plan *a, int x, int y, uint8_t dirs)
{
	bool sends = dirs & TASK_AB, receives = dirs & TASK_BA;
	int to = ask_times(a, x, y), from = ask_times(a, y, x);
	int one = ask_cell(a, x, y)->attempt + to;
	int other = ask_cell(a, y, x)->attempt + from;
	struct task t = {
		.a = x < y ? x : y, .b = x < y ? y : x,
		.dirs = x < y ? dirs : ask_dirs(receives, sends),
		.attempt = 1 + (one > other ? one : other),
	};

	if (a->left == 0 || to >= UINT8_MAX || from >= UINT8_MAX ||
	    (sends && ask_note(a, x, y) < 0) ||
	    (receives && ask_note(a, y, x) < 0) ||
	    a->ops->queue(a->ctx, &t) < 0) {
		return 0;
	}
	a->left--;
	a->taken++;
	a->beside[cluster_path(&a->l->cluster, x, y)] |= a->compare;
	return sends + receives;
}

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
	int pairs = 0, later = 0, ends[2];

	for (size_t i = 0; i < a->n + a->n_guesses; i++) {
		known |= part_compare(&a->list[i].parts[0],
				      &s.parts[0]) == 0;
		pairs += is_failed_pair(a->l, &a->list[i], ends) &&
			 (part_has(&a->l->cluster, &s.parts[0], ends[0]) ||
			  part_has(&a->l->cluster, &s.parts[0], ends[1]));
	}
	/* tests of it that failed in the follow-up */
	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		later += t->ever && part_touches(&a->l->cluster, &s.parts[0],
						 t->src, t->dst);
	}
	if (pairs > 0 && !known) {
		s.rate = pairs + later > 1 ? LOW_RATE :
			 a->l->grid.first != NULL ? ASK_MOST_RATE : GUESS_RATE;
		a->list[a->n + a->n_guesses++] = s;
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

/** A partner on @node for @x, on its own rail where there is one; -1: none.
 *  What fails now and then does so with all of them: another one each time. */
static int partner_on(const struct ask_plan *a, const struct ask_suspect *s,
		      unsigned paths, int x, int node, int turn)
{
	const struct layout *l = a->l;
	const struct cluster_node *at = &l->nodes[node];
	bool rare = s != NULL && s->rate > 0, own = node == l->ranks[x].node;
	int first = l->ranks[x].gpu + (own  ? 1 + turn :
				       rare ? turn / (l->n_nodes - 1) : 0);
	int found = -1;

	for (int i = 0; i < at->gpus; i++) {
		int y = at->first_rank + (first + i) % at->gpus;
		bool rail = rare || l->ranks[y].nic == l->ranks[x].nic;

		if ((found < 0 || rail) && ask_can_test(a, x, y) &&
		    goes_by(a, paths, x, y) &&
		    ways(a, s, x, y) != 0 && ask_is_sound(a, s, x, y)) {
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
static void look_again(struct ask_plan *a, const struct ask_suspect *s,
		       unsigned paths, int enough)
{
	const struct layout *l = a->l;
	int turns = (CONFIRM_TESTS + l->nodes[0].gpus) * l->n_nodes;
	int need = enough, x = l->n_ranks - 1;

	/* less those of the follow-up so far that say something of @s, or touch
	 * no suspect */
	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		if (goes_by(a, paths, t->src, t->dst) &&
		    (s != NULL ? shows(a, s, t->src, t->dst) :
				 ask_is_sound(a, NULL, t->src, t->dst))) {
			need -= t->times;
		}
	}
	turns = turns > need ? turns : need;
	for (int turn = 0; need > 0 && turn < turns; turn++) {
		int hop = paths == INSIDE ? 0 : 1 + turn % (l->n_nodes - 1);
		int tries = l->n_ranks, y;

		/* the next one: of all, on another node and of another index */
		x = (x + (s != NULL ? 1 : 1 + l->nodes[0].gpus)) % l->n_ranks;
		while (s != NULL &&
		       !part_has(&a->l->cluster, &s->parts[0], x) &&
		       tries-- > 0) {
			x = (x + 1) % l->n_ranks;
		}
		if (tries <= 0) {
			return;
		}
		y = partner_on(a, s, paths, x,
			       (l->ranks[x].node + hop) % l->n_nodes, turn);
		if (y >= 0) {
			need -= ask_make(a, x, y, ways(a, s, x, y));
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
static int take_again(struct ask_plan *a, const struct ask_suspect *s,
		      int src, int dst)
{
	enum part_place place = part_scopes[s->parts[0].kind].place;
	int most = place == PART_ON_GPU || place == PART_ON_NIC ?
			   RETRY_OF_THAT : RETRY_OF_ONE;

	if (!part_touches(&a->l->cluster, &s->parts[0], src, dst) ||
	    !ask_can_test(a, src, dst) ||
	    count_retried(a, s, src) >= most ||
	    count_retried(a, s, dst) >= most) {
		return 0;
	}
	return ask_make(a, src, dst, TASK_AB);
}

/* Some of what failed of @s and was not tried again, of as many GPUs as there
 * are: of what was planned, and of what the follow-up made. */
static void ask_retry(struct ask_plan *a, const struct ask_suspect *s)
{
	int need = RETRY_TESTS - count_retried(a, s, -1);

	for (size_t at = 0; at < a->l->grid.n && need > 0; at++) {
		int src = grid_src(&a->l->grid, at);
		int dst = grid_dst(&a->l->grid, at);

		if (is_untried(a, src, dst) && ask_times(a, src, dst) == 0) {
			need -= take_again(a, s, src, dst);
		}
	}
	for (size_t i = 0; i < a->n_asked && need > 0; i++) {
		if (a->asked[i].failed && a->asked[i].times == 1) {
			need -= take_again(a, s, a->asked[i].src,
					   a->asked[i].dst);
		}
	}
}

/* ---- ask settle ---------------------------------------------------------- */

/** So many times as many, as long as the verdict leaves both open. */
#define OPEN_TIMES 4

/** Returns true if testing @src -> @dst can tell alternative @p of @s from @q.
 *  Measured pairs tell no more, unless the suspect fails only sometimes. */
static bool tells(const struct ask_plan *a, const struct ask_suspect *s,
		  const struct part *p, const struct part *q, int src,
		  int dst)
{
	const uint8_t class = ask_cell(a, src, dst)->class;

	return part_touches(&a->l->cluster, p, src, dst) &&
	       !part_touches(&a->l->cluster, q, src, dst) &&
	       (s->rate > 0 ? !cells_failed(class) :
			      class == CELL_UNPLANNED ||
			      class == CELL_NOT_RUN || class == CELL_SKIPPED);
}

/** Makes up to *@need tests that tell @p from @q and were asked for no more
 *  than @most times; reduces *@need.  Returns true if any test is possible at
 *  all. */
static bool walk(struct ask_plan *a, const struct ask_suspect *s,
		 const struct part *p, const struct part *q, int most,
		 int *need)
{
	const struct layout *l = a->l;
	int partners = l->n_nodes * cluster_most_gpus(&l->cluster);
	bool any = false;

	for (int x = 0; x < l->n_ranks && *need > 0; x++) {
		int last = part_has(&l->cluster, p, x) ? partners : 0;

		/* partners: one of each node, its own first, GPUs of the same
		 * number before others */
		for (int i = 0; i < last && *need > 0; i++) {
			const struct cluster_node *n =
				&l->nodes[(l->ranks[x].node + i % l->n_nodes) %
					  l->n_nodes];
			int on = i / l->n_nodes, y;
			uint8_t dirs;

			if (on >= n->gpus) {
				continue;
			}
			y = n->first_rank + (l->ranks[x].gpu + on) % n->gpus;
			dirs = ask_dirs(tells(a, s, p, q, x, y),
					tells(a, s, p, q, y, x));
			if (dirs == 0 || !ask_can_test(a, x, y) ||
			    !ask_is_sound(a, s, x, y)) {
				continue;
			}
			any |= a->left > 0;
			if (ask_times(a, x, y) <= most &&
			    ask_times(a, y, x) <= most) {
				*need -= ask_make(a, x, y, dirs);
			}
		}
	}
	return any;
}

/** Tests that tell @p from @q, with as many partner nodes as there are; of what
 *  fails now and then again and again, up to @times as many as are enough. */
static void tell_apart(struct ask_plan *a, const struct ask_suspect *s,
		       const struct part *p, const struct part *q,
		       int times)
{
	int told = 0, one = ask_enough(s->rate);
	int need, turn = 0, turns;

	/* by the follow-up so far */
	for (size_t i = 0; i < a->n_asked; i++) {
		const struct ask_test *t = &a->asked[i];

		told += tells(a, s, p, q, t->src, t->dst) ? t->times : 0;
	}
	need = one - told;
	for (int i = 1; s->rate > 0 && i < times && need <= 0; i++) {
		need += one;
	}
	turns = s->rate > 0 ? told + need : 1;
	while (turn < turns && need > 0 && walk(a, s, p, q, turn, &need)) {
		turn++;
	}
}

/* Tests that tell the alternatives of @s apart, that are sound of all else. */
static void ask_settle(struct ask_plan *a, const struct ask_suspect *s)
{
	for (int i = 0; i < s->n; i++) {
		for (int j = 0; j < s->n; j++) {
			/* what is common is told from each, no more */
			if (i != j && s->parts[i].kind != PART_KINDS &&
			    s->parts[j].kind != PART_KINDS &&
			    (i == 0 || j == 0 || !(s->rate > 0))) {
				tell_apart(a, s, &s->parts[i], &s->parts[j],
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
	double k, usual;
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
	/* more of the tests of a part that was chosen failed than fail at most
	 * times: less one deviation of that number, but half of it is left */
	k = (double)explained;
	usual = fmax(k - sqrt(k), k / 2) / (double)cells;
	s->rate = rare && !s->compare ? fmin(usual, ASK_MOST_RATE) : 0;
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
	int ends[2];
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
			       "%zu findings, of which at most %d can be "
			       "resolved",
			       json_array_size(findings), ASK_SUSPECTS);
	}
	json_array_foreach(findings, i, f) {
		read_suspect(a, f, &a->list[a->n++]);
	}
	/* suspects beside those of the verdict, which are all known now */
	for (i = 0; i < a->n; i++) {
		bool is = is_failed_pair(a->l, &a->list[i], ends);

		for (int end = 0; is && end < 2; end++) {
			guess(a, PART_GPU, ends[end]);
			if (!a->ports) {
				guess(a, PART_NIC, ends[end]);
			}
		}
	}
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
	a->ops = ops;
	a->ctx = ctx;
	a->left = max;
	a->taken = 0;
	memset(a->beside, 0, sizeof(a->beside));
	for (size_t i = 0; i < a->n + a->n_guesses; i++) {
		const struct ask_suspect *s = &a->list[i];
		const struct part *p = &s->parts[0];

		a->compare = s->compare && !s->some;
		ask_settle(a, s);
		/* what is everywhere has nothing to be compared with */
		if (s->confirm && p->kind != PART_KINDS &&
		    part_scopes[p->kind].place != PART_ANYWHERE) {
			unsigned between = part_scopes[p->kind].paths & ~INSIDE;
			bool inside = between == 0 || a->l->n_nodes == 1 ||
				      a->inside ||
				      (p->kind == PART_PAIR &&
				       p->node == p->peer_node);

			/* with other partners and at another time */
			look_again(a, s, inside ? INSIDE : between,
				   s->rate > 0 ? ask_enough(s->rate) :
						 CONFIRM_TESTS);
		}
		if (s->retry) {
			ask_retry(a, s);
		}
	}
	/* as many sound pairs as what is to be compared with them */
	for (int path = 0; path < PATH_CLASSES; path++) {
		if (a->beside[path]) {
			look_again(a, NULL, 1U << path, CONFIRM_TESTS);
		}
	}
	return a->taken;
}
