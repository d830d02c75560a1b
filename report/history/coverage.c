/* SPDX-License-Identifier: BSD-3-Clause */
/* Which pairs of nodes were tested together when, and which to test next. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/units.h"
#include "lib/data/csv.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/schema.h"
#include "report/history/history.h"

#define DAY_S 86400

/* ---- coverage ------------------------------------------------------------ */

/** Index of the node @name among the first @n names; @n if it is not there. */
static size_t place_of(const struct coverage *c, size_t n, const char *name)
{
	const char (*at)[SUMMARY_NODE] = n == 0 ? NULL :
		bsearch(name, c->names, n, sizeof(*c->names), str_order);

	return at ? (size_t)(at - (const char (*)[SUMMARY_NODE])c->names) : n;
}

/* A ping does not show that a path between nodes works for jobs. */
#define IS_TEST(s) (strcmp((s)->probe, "ping") != 0)

/** Sort the names, each once. */
static void sort_names(struct coverage *c)
{
	size_t n = 0;

	if (c->n > 0) {
		qsort(c->names, c->n, sizeof(*c->names), str_order);
	}
	for (size_t i = 0; i < c->n; i++) {
		if (i == 0 || strcmp(c->names[i], c->names[n - 1]) != 0) {
			memmove(c->names[n++], c->names[i], sizeof(*c->names));
		}
	}
	c->n = n;
}

/** Add the nodes of all runs, without pretend nodes, whose names are not those
 *  of hosts. */
static int add_names(struct coverage *c)
{
	for (size_t k = 0; k < c->n_runs; k++) {
		const struct summary *s = &c->runs[k];
		const size_t known = c->n;

		for (size_t i = 0; i < s->n_nodes && IS_TEST(s); i++) {
			if (hostlist_is_name(s->nodes[i].name) &&
			    place_of(c, known, s->nodes[i].name) == known &&
			    !grow_add(&c->names, &c->n, s->nodes[i].name,
				      sizeof(*c->names))) {
				return -1;
			}
		}
		if (c->n > known) {
			sort_names(c);
		}
	}
	return 0;
}

/** Note that run @k tested node @a with the nodes of the host list @line. */
static void take_line(struct coverage *c, size_t k, size_t a, const char *line)
{
	size_t n = 0;
	char **names = hostlist_expand(line, &n, NULL);

	for (size_t i = 0; names && i < n; i++) {
		const size_t b = place_of(c, c->n, names[i]);

		if (a < c->n && b < c->n && a != b) {
			c->last[a * c->n + b] = (uint32_t)k + 1;
			c->last[b * c->n + a] = (uint32_t)k + 1;
		}
	}
	hostlist_free(names, n);
}

/** Count the pairs, and find the one whose last test is the oldest. */
static void count_pairs(struct coverage *c)
{
	uint32_t oldest = UINT32_MAX;

	for (size_t a = 0; a < c->n; a++) {
		for (size_t b = a + 1; b < c->n; b++) {
			const uint32_t last = c->last[a * c->n + b];

			c->pairs++;
			c->never += last == 0;
			if (last > 0 && last < oldest) {
				oldest = last;
				c->old_node = c->names[a];
				c->old_peer = c->names[b];
				c->oldest_s = c->runs[last - 1].started_s;
				c->oldest_utc = c->runs[last - 1].started_utc;
			}
		}
	}
}

/** List the pairs that were never tested, by the nodes that miss most. */
static int list_gaps(struct coverage *c)
{
	char (*with)[SUMMARY_NODE] = calloc(c->n + 1, sizeof(*with));
	bool *listed = calloc(c->n + 1, sizeof(*listed));
	size_t *misses = calloc(c->n + 1, sizeof(*misses));
	int rc = with && listed && misses ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < c->n * c->n; i++) {
		misses[i / c->n] += c->last[i] == 0 && i / c->n != i % c->n;
	}
	for (size_t most = 0; rc == 0 && c->n > 0; ) {
		struct coverage_gap gap;
		struct str list = STR_INIT;

		for (size_t i = 0; i < c->n; i++) {
			most = misses[i] > misses[most] ? i : most;
		}
		if (misses[most] == 0) {
			break;
		}
		gap = (struct coverage_gap){ .node = c->names[most] };
		listed[most] = true;
		misses[most] = 0;
		for (size_t i = 0; i < c->n; i++) {
			if (!listed[i] && c->last[most * c->n + i] == 0) {
				memcpy(with[gap.n++], c->names[i],
				       sizeof(*with));
				misses[i]--;
			}
		}
		hostlist_add(&list, *with, sizeof(*with), gap.n);
		gap.with = list.data;
		rc = !list.failed && grow_add(&c->gaps, &c->n_gaps, &gap,
					      sizeof(gap)) ? 0 : -1;
	}
	free(with);
	free(listed);
	free(misses);
	return rc;
}

int coverage_make(const struct summary *runs, size_t n_runs,
		  char *const nodes[], size_t n_nodes, struct coverage *c,
		  struct err *e)
{
	char name[SUMMARY_NODE];
	int rc = 0;

	*c = (struct coverage){ .runs = runs, .n_runs = n_runs };
	for (size_t i = 0; rc == 0 && i < n_nodes; i++) {
		STR_COPY(name, nodes[i]);
		rc = grow_add(&c->names, &c->n, name, sizeof(name)) ? 0 : -1;
	}
	sort_names(c);
	rc = rc == 0 && !nodes ? add_names(c) : rc;
	if (c->n > SPEC_MAX_NODES) {
		err_set(e, 0, "the history has more than %d nodes",
			SPEC_MAX_NODES);
		return err_hint(e, "--nodelist selects fewer");
	}
	c->last = calloc(c->n * c->n + 1, sizeof(*c->last));
	for (size_t k = 0; rc == 0 && c->last && k < n_runs; k++) {
		const struct summary *s = &runs[k];

		for (size_t i = 0; i < s->n_nodes && IS_TEST(s); i++) {
			const size_t a = place_of(c, c->n, s->nodes[i].name);
			char *list = s->nodes[i].tested_with;

			for (size_t len = 0; list && *list; list += len) {
				char *line;

				len = strcspn(list, "\n");
				line = strndup(list, len);
				len += list[len] == '\n';
				if (line) {
					take_line(c, k, a, line);
				}
				free(line);
			}
		}
	}
	if (rc < 0 || !c->last) {
		return err_set(e, 0, "no memory for the pairs of nodes");
	}
	count_pairs(c);
	return list_gaps(c) < 0 ?
		       err_set(e, 0, "no memory for the pairs of nodes") : 0;
}

void coverage_release(struct coverage *c)
{
	for (size_t i = 0; i < c->n_gaps; i++) {
		free(c->gaps[i].with);
	}
	str_release(&c->next);
	free(c->gaps);
	free(c->names);
	free(c->last);
	*c = (struct coverage){ 0 };
}

/* ---- words --------------------------------------------------------------- */

#define COVER(member, key, type, ...) \
	FIELD(coverage, member, key, type, 0, INT64_MAX, __VA_ARGS__)

static const struct field gap_fields[] = {
	FIELD(coverage_gap, node, "node", LINK, 0, 0, "its name"),
	FIELD(coverage_gap, with, "with", LINK, 0, 0, "host list"), { 0 }
};

static const struct field coverage_fields[] = {
	{ .name = "schema", .kind = FIELD_FORMAT, .min = 1 },
	COVER(n_runs, "runs", INT, "that count"),
	COVER(n, "nodes", INT, "that they tested, or of --nodelist"),
	COVER(pairs, "pairs", INT, "of these nodes"),
	COVER(never, "never", INT, "of these pairs, not tested together"),
	COVER(oldest_utc, "oldest_utc", LINK, "oldest last test of a pair",
	      .optional = FIELD_NULL),
	COVER(old_node, "oldest_node", LINK, "of that pair",
	      .optional = FIELD_NULL),
	COVER(old_peer, "oldest_peer_node", LINK, "of that pair",
	      .optional = FIELD_NULL),
	FIELD_ROWS(coverage, gaps, n_gaps, "untested", gap_fields,
		   SPEC_MAX_NODES, "pairs that were never tested"),
	{ 0 }
};

json_t *coverage_json(const struct coverage *c)
{
	return schema_json(coverage_fields, c);
}

void coverage_csv(const struct coverage *c, struct str *out)
{
	str_add(out, "node,peer_node,last_utc,run\n");
	for (size_t i = 0; i < c->n * c->n; i++) {
		const struct summary *s = c->last[i] > 0 ?
					  &c->runs[c->last[i] - 1] : NULL;

		if (i % c->n > i / c->n) {
			csv_add_field(out, c->names[i / c->n]);
			csv_add_text(out, c->names[i % c->n]);
			csv_add_text(out, s ? s->started_utc : "");
			csv_add_text(out, s ? s->id : "");
			str_addch(out, '\n');
		}
	}
}

#define LABEL	    18	/* columns of the name of a row */
#define SHOWN_GAPS  10
#define WEEKS_SHOWN 9	/* the largest digit */

/** The mark of the pairs between two groups of nodes, by the one that has not
 *  been tested for the longest time: a digit of weeks, "!" never. */
static char mark_of(const struct coverage *c, size_t group, size_t row,
		    size_t column, int64_t now_s)
{
	int64_t weeks = -1;

	for (size_t a = row * group; a < (row + 1) * group && a < c->n; a++) {
		for (size_t b = column * group;
		     b < (column + 1) * group && b < c->n; b++) {
			const uint32_t last = c->last[a * c->n + b];
			const int64_t age = a == b || last == 0 ? 0 :
				(now_s - c->runs[last - 1].started_s) /
				(7 * DAY_S);

			if (a != b && last == 0) {
				return '!';
			}
			weeks = a != b && age > weeks ? age : weeks;
		}
	}
	return weeks < 0 ? ' ' :
	       (char)('0' + (weeks < WEEKS_SHOWN ? weeks : WEEKS_SHOWN));
}

static void add_map(const struct coverage *c, int64_t now_s,
		    const struct wrap *w)
{
	const size_t room = w->width > 2 * LABEL ? (size_t)w->width - LABEL :
						   LABEL;
	const size_t group = (c->n + room - 1) / room;

	str_add(w->out, "\nWeeks since the last test of a pair: 9 = 9 or more, "
			"! = never tested\n(columns: the same nodes in the same "
			"order)\n");
	if (group > 1) {
		str_addf(w->out, "Each mark is the worst of %zu x %zu pairs\n",
			 group, group);
	}
	for (size_t row = 0; row * group < c->n; row++) {
		const size_t left = c->n - row * group;
		struct str label = STR_INIT;

		hostlist_add(&label, c->names[row * group], sizeof(*c->names),
			     left < group ? left : group);
		str_addf(w->out, "%-*.*s ", LABEL - 2, LABEL - 2,
			 str_text(&label));
		for (size_t column = 0; column * group < c->n; column++) {
			str_addch(w->out, mark_of(c, group, row, column,
						  now_s));
		}
		str_addch(w->out, '\n');
		str_release(&label);
	}
}

void coverage_words(const struct coverage *c, size_t left_out, int64_t now_s,
		    const struct wrap *w)
{
	struct str line = STR_INIT;

	str_addf(&line, "%s node%s in %zu run%s: %s of ", UNITS_COUNT(c->n),
		 c->n == 1 ? "" : "s", c->n_runs, c->n_runs == 1 ? "" : "s",
		 UNITS_COUNT(c->pairs - c->never));
	str_addf(&line, "%s pairs of nodes were tested", UNITS_COUNT(c->pairs));
	if (c->never > 0) {
		str_addf(&line, ", %s never", UNITS_COUNT(c->never));
	}
	if (c->oldest_utc) {
		str_addf(&line, "; oldest last test: %.10s, %" PRId64 " days "
			 "ago (%s - %s)", c->oldest_utc,
			 (now_s - c->oldest_s) / DAY_S, c->old_node,
			 c->old_peer);
	}
	history_say_left_out(left_out, &line);
	wrap_text(w, 0, str_text(&line));
	if (c->pairs > 0) {
		add_map(c, now_s, w);
	}
	str_add(w->out, c->n_gaps > 0 ? "\nNever tested together:\n" : "");
	for (size_t i = 0; i < c->n_gaps && i < SHOWN_GAPS; i++) {
		str_reset(&line);
		str_addf(&line, "  %s with %s", c->gaps[i].node,
			 c->gaps[i].with);
		wrap_text(w, 4, str_text(&line));
	}
	if (c->n_gaps > SHOWN_GAPS) {
		str_addf(w->out, "%zu more nodes: --json, --csv\n",
			 c->n_gaps - SHOWN_GAPS);
	}
	str_release(&line);
}

/* ---- what to test next --------------------------------------------------- */

/** Weight of a pair that was never tested, in days of age. */
#define NEVER_DAYS (1u << 20)
/** Additions after which the number of nights is left unknown: a second. */
#define NIGHTS_STEPS 400000000

/** Weight of each pair that is left to test, 0 = done, and sums. */
struct work_left {
	size_t n, k;
	uint32_t *weight;	/* n x n */
	uint64_t *total, *gain;	/* of each node: with all nodes, with those
				 * that were chosen */
	bool *taken;
	size_t *chosen;		/* k */
	uint64_t never;		/* pairs left that were never tested */
	uint64_t left;		/* sum of all weights, twice */
};

/** Choose the k nodes of a job: the node with the most to test, then each time
 *  the one that adds most to those; only nodes in @can (NULL: all). */
static void choose(struct work_left *s, const bool *can)
{
	memset(s->taken, 0, s->n * sizeof(*s->taken));
	memset(s->gain, 0, s->n * sizeof(*s->gain));
	for (size_t m = 0; m < s->k; m++) {
		size_t best = s->n;

		for (size_t i = 0; i < s->n; i++) {
			if (s->taken[i] || (can && !can[i])) {
				continue;
			}
			if (best == s->n || s->gain[i] > s->gain[best] ||
			    (s->gain[i] == s->gain[best] &&
			     s->total[i] > s->total[best])) {
				best = i;
			}
		}
		s->taken[best] = true;
		for (size_t i = 0; i < s->n; i++) {
			s->gain[i] += s->weight[best * s->n + i];
		}
	}
	for (size_t i = 0, m = 0; i < s->n; i++) {
		if (s->taken[i]) {
			s->chosen[m++] = i;
		}
	}
}

/** Take the pairs of the chosen nodes as tested. */
static void settle(struct work_left *s)
{
	for (size_t i = 0; i < s->k * s->k; i++) {
		const size_t a = s->chosen[i / s->k], b = s->chosen[i % s->k];
		uint32_t *w = &s->weight[a * s->n + b];

		s->total[a] -= *w;
		s->left -= *w;
		s->never -= *w == NEVER_DAYS && a < b;
		*w = 0;
	}
}

int coverage_next(struct coverage *c, const bool *free_nodes, size_t k,
		  int64_t now_s, bool count)
{
	const size_t n = c->n;
	struct work_left s = {
		.n = n, .k = k, .never = c->never,
		.weight = calloc(n * n + 1, sizeof(*s.weight)),
		.total = calloc(n + 1, sizeof(*s.total)),
		.gain = calloc(n + 1, sizeof(*s.gain)),
		.taken = calloc(n + 1, sizeof(*s.taken)),
		.chosen = calloc(k + 1, sizeof(*s.chosen)),
	};
	const bool fits = s.weight && s.total && s.gain && s.taken && s.chosen;
	const size_t most = count ? NIGHTS_STEPS / (2 * n * k + n) + 1 : 1;
	size_t nights = 0;

	c->nights_least = (n * ((n - 1 + k - 2) / (k - 1)) + k - 1) / k;
	for (size_t i = 0; fits && i < n * n; i++) {
		const uint32_t last = c->last[i];
		const int64_t days = last == 0 ? 0 :
			(now_s - c->runs[last - 1].started_s) / DAY_S;

		s.weight[i] = i / n == i % n ? 0 : last == 0 ? NEVER_DAYS :
			      1 + (uint32_t)(days < 0 ? 0 : days % NEVER_DAYS);
		s.total[i / n] += s.weight[i];
		s.left += s.weight[i];
	}
	while (fits && s.left > 0 && nights < most) {
		const uint64_t never = s.never;

		choose(&s, nights == 0 ? free_nodes : NULL);
		settle(&s);
		for (size_t i = 0; nights == 0 && i < k; i++) {
			str_addf(&c->next, "%s%s", i ? "," : "",
				 c->names[s.chosen[i]]);
			c->next_first = never - s.never;
		}
		nights++;
		c->until_tested = never > 0 && s.never == 0 ? nights :
							      c->until_tested;
	}
	c->nights = s.left == 0 ? nights : 0;
	free(s.weight);
	free(s.total);
	free(s.gain);
	free(s.taken);
	free(s.chosen);
	return fits && !c->next.failed ? 0 : -1;
}
