/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/history/history.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/grow.h"
#include "lib/base/hash.h"
#include "lib/base/order.h"
#include "lib/base/stats.h"

/* ---- names --------------------------------------------------------------- */

/** Members that tell a part from others of its kind, and that its name has. */
enum {
	BY_NODE = 1,		/* N in a name */
	BY_PEER = 2,		/* P: the node of the other end */
	BY_INDEX = 4,		/* I */
	BY_PEER_INDEX = 8,	/* J */
	BY_NAME = 16,		/* S */
};

static const struct history_form {
	const char *kind, *text;
	unsigned by;
} forms[] = {
	{ "gpu", "N GPU I", BY_NODE | BY_INDEX },
	{ "nic", "N NIC I", BY_NODE | BY_INDEX },
	{ "node", "N", BY_NODE },
	{ "gpu_nvlink", "N GPU I nvlink", BY_NODE | BY_INDEX },
	{ "socket", "N socket I", BY_NODE | BY_INDEX },
	{ "node_network", "N network", BY_NODE },
	{ "config", "N setup", BY_NODE },
	{ "limit", "N limits", BY_NODE },
	{ "cable_swap", "N NIC I and J, cables",
	  BY_NODE | BY_INDEX | BY_PEER_INDEX },
	{ "process", "rank I on N", BY_NODE | BY_INDEX },
	{ "rail", "rail I", BY_INDEX },
	{ "inter_node", "between nodes", 0 },
	{ "intra_node", "N inside", BY_NODE },
	{ "cross_rail", "across rails", 0 },
	{ "node_pair", "N - P", BY_NODE | BY_PEER },
	{ "pair", "N:I - P:J",
	  BY_NODE | BY_INDEX | BY_PEER | BY_PEER_INDEX },
	{ "switch", "switch S", BY_NAME },
	{ "rail_leaf", "rail I of switch S", BY_INDEX | BY_NAME },
	{ NULL, NULL, BY_NODE | BY_INDEX | BY_NAME }
};

/* Write the history's name for the part of @f, its node first: "n7 NIC 2". */
static void names_of(const struct summary_finding *f, char *buf, size_t size)
{
	const struct history_form *form =
		&forms[STR_FIND(forms, STR_TO_END, kind, f->kind)];
	struct str out = STR_INIT;
	char general[64], numbers[2][24] = { "", "" };

	if (f->index >= 0) {
		snprintf(numbers[0], sizeof(numbers[0]), "%" PRId64, f->index);
	}
	if (f->peer_index >= 0) {
		snprintf(numbers[1], sizeof(numbers[1]), "%" PRId64,
			 f->peer_index);
	}
	/* a kind without a form of its own is named by its words */
	snprintf(general, sizeof(general), "%s%s%s%s", f->node[0] ? "N " : "",
		 f->kind, f->index >= 0 ? " I" : "", f->name[0] ? " S" : "");
	for (char *c = general; *c; c++) {
		*c = *c == '_' ? ' ' : *c;
	}
	for (const char *text = form->kind ? form->text : general, *c = text;
	     *c; c++) {
		/* a letter between blanks, colons or ends is one of ours */
		const bool alone = (c == text || c[-1] == ' ' ||
				    c[-1] == ':') &&
				   (!c[1] || strchr(" :,", c[1]));
		const char *word =
			!alone ? NULL :
			*c == 'N' ? (f->node[0] ? f->node : "nodes") :
			*c == 'P' ? f->peer_node : *c == 'S' ? f->name :
			*c == 'I' ? numbers[0] : *c == 'J' ? numbers[1] : NULL;

		if (word) {
			str_add(&out, word);
		} else {
			str_addch(&out, *c);
		}
	}
	str_copy(buf, size, str_text(&out));
	str_release(&out);
}

/* ---- trend --------------------------------------------------------------- */

#define DAY_S 86400.0
/** Normal distribution, two-sided 95 %. */
#define Z_95 1.96

/** A slope of logarithms a day, as percent a month. */
static double percent_of(double slope)
{
	return 100 * expm1(slope * TREND_MONTH_DAYS);
}

/** The @k-th of @n slopes, the nearest there is. */
static double slope_at(double *slopes, size_t n, double k)
{
	size_t at = k < 0 ? 0 : (size_t)k;

	return stats_select(slopes, n, at < n ? at : n - 1);
}

int trend_of(const struct history_point *p, size_t n, struct trend *t)
{
	const size_t runs = n < TREND_MOST ? n : TREND_MOST;
	const double days = n < 2 ? 0 :
			    (double)(p[n - 1].at_s - p[0].at_s) / DAY_S;
	double *slopes;
	size_t k = 0;

	*t = (struct trend){ .percent = NAN, .low = NAN, .high = NAN };
	if (runs < TREND_RUNS || days < TREND_DAYS) {
		return 0;
	}
	slopes = malloc(runs * runs / 2 * sizeof(*slopes));
	if (!slopes) {
		return -1;
	}
	for (size_t i = 0; i < runs; i++) {
		const struct history_point *a = &p[i * (n - 1) / (runs - 1)];

		for (size_t j = i + 1; j < runs; j++) {
			const struct history_point *b =
				&p[j * (n - 1) / (runs - 1)];

			if (b->at_s > a->at_s) {
				slopes[k++] =
					log(b->level_GB_s / a->level_GB_s) *
					DAY_S / (double)(b->at_s - a->at_s);
			}
		}
	}
	t->runs = k > 0 ? runs : 0;
	t->days = days;
	if (k > 0) {
		/* how far from the middle of all slopes the interval reaches:
		 * Kendall's S of runs that have no trend is so wide */
		const double r = (double)runs, all = (double)k;
		const double reach =
			Z_95 * sqrt(r * (r - 1) * (2 * r + 5) / 18);

		t->percent = percent_of((slope_at(slopes, k, (all - 1) / 2) +
					 slope_at(slopes, k, all / 2)) / 2);
		t->low = percent_of(
			slope_at(slopes, k, floor((all - reach) / 2)));
		t->high = percent_of(
			slope_at(slopes, k, ceil((all + reach) / 2)));
		t->sure = t->low > 0 || t->high < 0;
	}
	free(slopes);
	return 0;
}

/* ---- history judge ------------------------------------------------------- */

/* Evaluation of a history's points. */

/** A point of run @run, good and without a level. */
static struct history_point point_at(const struct history *h, size_t run)
{
	return (struct history_point){
		.run = run, .utc = h->runs[run].started_utc,
		.at_s = h->runs[run].started_s, .level_GB_s = NAN,
	};
}

/**
 * A finding without a level, such as a limit of locked memory, counts as good
 * in each run of its setup that does not have it; one of a node, in each run
 * that tested the node.
 */
static int fill_good(const struct history *h, struct history_part *p)
{
	struct history_point *all = NULL;
	size_t n = 0, k = 0;

	for (size_t run = 0; run < h->n_runs; run++) {
		const struct summary *s = &h->runs[run];
		struct history_point good = point_at(h, run);
		bool here = !p->is.node[0];

		if (k < p->n && p->points[k].run == run) {
			good = p->points[k++];
			here = true;
		} else if (!summary_alike(&h->runs[h->setups[p->setup]], s)) {
			continue;
		}
		for (size_t i = 0; !here && i < s->n_nodes; i++) {
			here = s->nodes[i].tested &&
			       strcmp(s->nodes[i].name, p->is.node) == 0;
		}
		if (here && !grow_add(&all, &n, &good, sizeof(good))) {
			free(all);
			return -1;
		}
	}
	free(p->points);
	p->points = all;
	p->n = n;
	return 0;
}

/** Return true if the part is of a kind that has a level when it is good. */
static bool has_level(const struct history *h, const struct history_part *p)
{
	static const char *const kinds[] = {
		"gpu", "nic", "node", "rail", "inter_node", "intra_node",
		"collective", NULL
	};

	if (str_index(kinds, p->is.kind) < 0) {
		return false;
	}
	for (size_t i = 0; i < h->n_runs; i++) {
		if (summary_has_pairs(&h->runs[i]) &&
		    summary_alike(&h->runs[h->setups[p->setup]], &h->runs[i])) {
			return true;
		}
	}
	return p->n > 0 && isfinite(p->points[0].level_GB_s);
}

static void count(struct history_part *p)
{
	const size_t from = p->n > HISTORY_LAST ? p->n - HISTORY_LAST : 0;

	p->failed = p->warned = p->turns = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct history_point *at = &p->points[i];

		p->failed += at->state == HISTORY_FAIL;
		p->warned += at->state == HISTORY_WARN;
		if (at->state != HISTORY_GOOD) {
			p->first_utc = p->failed + p->warned == 1 ?
					       at->utc : p->first_utc;
			p->last_utc = at->utc;
		}
		p->turns += i > from && (at->state == HISTORY_FAIL) !=
						(at[-1].state == HISTORY_FAIL);
	}
	p->flaps = p->turns >= HISTORY_FLAP_TURNS;
}

/** Faults first, then warnings, then those that get slower, then by name. */
static int by_weight(const void *a, const void *b)
{
	const struct history_part *p = a, *q = b;
	const double slow = p->trend.sure ? p->trend.percent : 0;
	const double other = q->trend.sure ? q->trend.percent : 0;

	if (p->failed != q->failed) {
		return p->failed > q->failed ? -1 : 1;
	}
	if (p->warned != q->warned) {
		return p->warned > q->warned ? -1 : 1;
	}
	if (slow < other || slow > other) {
		return slow < other ? -1 : 1;
	}
	return strverscmp(p->name, q->name) ? strverscmp(p->name, q->name) :
	       p->setup < q->setup ? -1 : p->setup > q->setup;
}

static const struct order_key by_fails[] = {
	ORDER_DOWN(struct history_node, fails),
	ORDER_AS(struct history_node, name, ORDER_NAME),
	ORDER_END
};

/* The last step of it: what the points of each part and node come to, and
 * their order.  0, or -1 without memory. */
static int history_judge(struct history *h)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < h->n_parts; i++) {
		struct history_part *p = &h->parts[i];
		struct history_point *measured;
		size_t n = 0;

		count(p);
		if (!has_level(h, p)) {
			rc = fill_good(h, p);
			count(p);
		}
		measured = calloc(p->n + 1, sizeof(*measured));
		for (size_t k = 0; measured && k < p->n; k++) {
			if (p->points[k].level_GB_s > 0) {
				measured[n++] = p->points[k];
			}
		}
		rc = rc == 0 && measured ? trend_of(measured, n, &p->trend) :
					   -1;
		free(measured);
	}
	for (size_t i = 0; i < h->n_nodes; i++) {
		struct history_node *n = &h->nodes[i];

		for (size_t k = n->n > HISTORY_LAST ? n->n - HISTORY_LAST : 0;
		     k < n->n; k++) {
			n->fails += n->failed[k];
		}
		n->lemon = n->fails >= HISTORY_LEMON_FAILS;
	}
	if (h->n_parts > 0) {
		qsort(h->parts, h->n_parts, sizeof(*h->parts), by_weight);
	}
	order_sort(h->nodes, h->n_nodes, sizeof(*h->nodes), by_fails);
	return rc;
}

/* ---- parts and nodes by what they are ------------------------------------ */

static uint64_t hash_part(const struct summary_finding *is, size_t setup)
{
	const unsigned by =
		forms[STR_FIND(forms, STR_TO_END, kind, is->kind)].by;
	const char *const texts[] = {
		is->kind, by & BY_NODE ? is->node : "",
		by & BY_PEER ? is->peer_node : "", by & BY_NAME ? is->name : ""
	};
	uint64_t hash = hash_mix(HASH_START, setup, 0, 0);

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		hash = hash_bytes(hash, texts[i], strlen(texts[i]) + 1);
	}
	return hash_mix(hash, by & BY_INDEX ? (uint64_t)is->index : 0,
			by & BY_PEER_INDEX ? (uint64_t)is->peer_index : 0, 0);
}

static bool is_part(const struct history_part *p,
		    const struct summary_finding *is, size_t setup)
{
	const unsigned by =
		forms[STR_FIND(forms, STR_TO_END, kind, is->kind)].by;

	return p->setup == setup && strcmp(p->is.kind, is->kind) == 0 &&
	       (!(by & BY_NODE) || strcmp(p->is.node, is->node) == 0) &&
	       (!(by & BY_PEER) ||
		strcmp(p->is.peer_node, is->peer_node) == 0) &&
	       (!(by & BY_INDEX) || p->is.index == is->index) &&
	       (!(by & BY_PEER_INDEX) || p->is.peer_index == is->peer_index) &&
	       (!(by & BY_NAME) || strcmp(p->is.name, is->name) == 0);
}

/** Make room for one more than @n in table @t.  Returns 1 if the table is empty
 *  now, 0 if nothing changed, -1 without memory. */
static int table_grow(struct history *h, enum history_table t, size_t n)
{
	if (2 * (n + 1) < h->size[t]) {
		return 0;
	}
	free(h->at[t]);
	h->size[t] = h->size[t] ? 2 * h->size[t] : 256;
	h->at[t] = calloc(h->size[t], sizeof(*h->at[t]));
	if (!h->at[t]) {
		h->size[t] = 0;
		return -1;
	}
	return 1;
}

static size_t *part_place(const struct history *h,
			  const struct summary_finding *is, size_t setup)
{
	size_t *at = h->at[HISTORY_PARTS], last = h->size[HISTORY_PARTS] - 1;
	size_t i = hash_part(is, setup) & last;

	while (at[i] && !is_part(&h->parts[at[i] - 1], is, setup)) {
		i = (i + 1) & last;
	}
	return &at[i];
}

static size_t *node_place(const struct history *h, const char *name)
{
	size_t *at = h->at[HISTORY_NODES], last = h->size[HISTORY_NODES] - 1;
	size_t i = hash_bytes(HASH_START, name, strlen(name)) & last;

	while (at[i] && strcmp(h->nodes[at[i] - 1].name, name) != 0) {
		i = (i + 1) & last;
	}
	return &at[i];
}

/** The part that @is names in runs of @setup; NULL without memory. */
static struct history_part *
part_of(struct history *h, const struct summary_finding *is, size_t setup)
{
	struct history_part new;
	const int grown = table_grow(h, HISTORY_PARTS, h->n_parts);
	size_t *place;

	for (size_t i = 0; grown > 0 && i < h->n_parts; i++) {
		*part_place(h, &h->parts[i].is, h->parts[i].setup) = i + 1;
	}
	place = grown < 0 ? NULL : part_place(h, is, setup);
	if (place && !*place) {
		new = (struct history_part){ .is = *is, .setup = setup,
					     .first_utc = "", .last_utc = "" };
		names_of(is, new.name, sizeof(new.name));
		new.is.code[0] = '\0';
		if (!grow_add(&h->parts, &h->n_parts, &new, sizeof(new))) {
			return NULL;
		}
		*place = h->n_parts;
	}
	return place ? &h->parts[*place - 1] : NULL;
}

static struct history_node *node_of(struct history *h, const char *name)
{
	struct history_node new = { .name = "" };
	const int grown = table_grow(h, HISTORY_NODES, h->n_nodes);
	size_t *place;

	for (size_t i = 0; grown > 0 && i < h->n_nodes; i++) {
		*node_place(h, h->nodes[i].name) = i + 1;
	}
	place = grown < 0 ? NULL : node_place(h, name);
	if (place && !*place) {
		STR_COPY(new.name, name);
		if (!grow_add(&h->nodes, &h->n_nodes, &new, sizeof(new))) {
			return NULL;
		}
		*place = h->n_nodes;
	}
	return place ? &h->nodes[*place - 1] : NULL;
}

/* ---- a run -------------------------------------------------------------- */

/** The point of run @run of @p, made where it has none; NULL without memory. */
static struct history_point *point_of(const struct history *h,
				      struct history_part *p, size_t run)
{
	const struct history_point new = point_at(h, run);

	if (p->n > 0 && p->points[p->n - 1].run == run) {
		return &p->points[p->n - 1];
	}
	return grow_add(&p->points, &p->n, &new, sizeof(new));
}

static int take_level(struct history *h, size_t run, size_t setup,
		      const struct summary_finding *is, double level)
{
	struct history_part *p = part_of(h, is, setup);
	struct history_point *at = p ? point_of(h, p, run) : NULL;

	if (at) {
		at->level_GB_s = level;
	}
	return at ? 0 : -1;
}

static int take_levels(struct history *h, size_t run, size_t setup,
		       struct summary_finding *is, const double *v, size_t n)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		is->index = (int64_t)i;
		rc = v[i] > 0 ? take_level(h, run, setup, is, v[i]) : 0;
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
static struct history_node *see_node(struct history *h, size_t run,
				     const char *name, bool failed)
{
	struct history_node *n = node_of(h, name);
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

static int take_node(struct history *h, size_t run, size_t setup,
		     const struct summary_node *n)
{
	struct summary_finding node = part_like("node", n->name);
	struct summary_finding gpu = part_like("gpu", n->name);
	struct summary_finding nic = part_like("nic", n->name);

	if (take_levels(h, run, setup, &gpu, n->gpu_GB_s, n->n_gpus) < 0 ||
	    take_levels(h, run, setup, &nic, n->nic_GB_s, n->n_nics) < 0) {
		return -1;
	}
	if (!n->tested) {
		return 0;
	}
	if (!see_node(h, run, n->name, false)) {
		return -1;
	}
	return n->bw_GB_s > 0 || !summary_has_pairs(&h->runs[run]) ?
		       take_level(h, run, setup, &node, n->bw_GB_s) : 0;
}

static int take_whole(struct history *h, size_t run, size_t setup)
{
	const struct summary *s = &h->runs[run];
	const struct {
		const char *kind;
		double level;
	} whole[] = {
		{ "inter_node", s->inter_GB_s },
		{ "intra_node", s->intra_GB_s },
		{ "collective", s->busbw_GB_s },
	};
	struct summary_finding rail = part_like("rail", "");
	int rc = take_levels(h, run, setup, &rail, s->rail_GB_s, s->n_rails);

	for (size_t i = 0; rc == 0 && i < sizeof(whole) / sizeof(*whole); i++) {
		const struct summary_finding is = part_like(whole[i].kind, "");

		rc = whole[i].level > 0 ?
			     take_level(h, run, setup, &is, whole[i].level) : 0;
	}
	return rc;
}

static void add_word(char *list, size_t size, const char *word)
{
	const size_t len = strlen(list);

	if (word[0] && !strstr(list, word) && len + strlen(word) + 3 < size) {
		snprintf(list + len, size - len, "%s%s", len ? ", " : "",
			 word);
	}
}

static int take_finding(struct history *h, size_t run, size_t setup,
			const struct summary_finding *f)
{
	struct history_part *p = part_of(h, f, setup);
	struct history_point *at = p ? point_of(h, p, run) : NULL;
	struct history_node *node;
	char name[HISTORY_NAME];

	if (!at) {
		return -1;
	}
	if (f->fail || at->state == HISTORY_GOOD) {
		at->state = f->fail ? HISTORY_FAIL : HISTORY_WARN;
		STR_COPY(p->is.code, f->code);
	}
	/* not a node's fault: a path between two, or a process of a job */
	if (!f->fail || !f->node[0] || f->peer_node[0] ||
	    strcmp(f->kind, "process") == 0) {
		return 0;
	}
	node = see_node(h, run, f->node, true);
	names_of(f, name, sizeof(name));
	if (node) {
		add_word(node->parts, sizeof(node->parts),
			 name[strlen(f->node)] ? name + strlen(f->node) + 1 :
						 "the node");
	}
	return node ? 0 : -1;
}

static int take_run(struct history *h, size_t run)
{
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
	rc = take_whole(h, run, setup);
	for (size_t i = 0; rc == 0 && i < s->n_nodes; i++) {
		rc = take_node(h, run, setup, &s->nodes[i]);
	}
	for (size_t i = 0; rc == 0 && i < s->n_findings; i++) {
		rc = take_finding(h, run, setup, &s->findings[i]);
	}
	return rc;
}

int history_make(const struct summary *runs, size_t n, struct history *h)
{
	int rc = 0;

	*h = (struct history){ .runs = runs, .n_runs = n };
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = take_run(h, i);
	}
	for (int t = 0; t < HISTORY_TABLES; t++) {
		free(h->at[t]);
		h->at[t] = NULL;
	}
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
