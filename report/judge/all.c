/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/all.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/exit_code.h"
#include "lib/data/json.h"
#include "lib/data/record_collective.h"
#include "report/base/grow.h"
#include "report/judge/collective.h"
#include "report/judge/says.h"

#define EVIDENCE_PER_STEP 3

/** What a step says: its finding, or one of the alternatives. */
struct said {
	size_t step;
	const struct part *part;
	const struct finding *finding;	/* NULL: an alternative */
};

/** What is taken for one and the same fault. */
struct fault {
	struct said *seen;	/* the findings, those of the lowest step
				 * first */
	size_t n_seen;
	struct said *parts;	/* what it may be: the first and its
				 * alternatives that no later one ruled out */
	size_t n_parts;
};

struct all_case {
	const struct run *run;
	const struct all_step *steps;
	size_t n;
	const json_t *netdevs;
	struct fault *faults;
	size_t n_faults;
};

/* ---- do two mean the same? ---------------------------------------------- */

/** What a probe numbers the parts by; a number means the same within one. */
enum numbering { BY_GPU, BY_PORT, BY_SEGMENT };

static const char *probe_of(const struct all_case *c, const struct said *s)
{
	return c->steps[s->step].row.rung;
}

static enum numbering numbering(const struct all_case *c, const struct said *s)
{
	const char *probe = probe_of(c, s);

	return strcmp(probe, "ping") == 0 ? BY_SEGMENT :
	       strcmp(probe, "ib") == 0	  ? BY_PORT :
					    BY_GPU;
}

static bool both_by_segment(const struct all_case *c, const struct said *a,
			    const struct said *b)
{
	return (numbering(c, a) == BY_SEGMENT) ==
	       (numbering(c, b) == BY_SEGMENT);
}

/** "mlx5_2" of "mlx5_2:1" and of the interface that belongs to it. */
static void hca_name(const struct all_case *c, const struct part *p, char *buf,
		     size_t size)
{
	const char *name = p->name > 0 ? c->run->names[p->name - 1] : "", *hca;
	char key[160];

	snprintf(key, sizeof(key), "%s/%s", c->run->nodes[p->node].name, name);
	hca = json_string_value(json_object_get(c->netdevs, key));
	snprintf(buf, size, "%s", hca ? hca : name);
	buf[strcspn(buf, ":")] = '\0';
}

static bool same_nic(const struct all_case *c, const struct said *a,
		     const struct said *b)
{
	char one[64], other[64];

	hca_name(c, a->part, one, sizeof(one));
	hca_name(c, b->part, other, sizeof(other));
	if (one[0] && other[0]) {
		return strcmp(one, other) == 0;
	}
	return both_by_segment(c, a, b) && a->part->index == b->part->index;
}

/** Of the same code, and about the same nodes. */
static bool same_setting(const struct finding *a, const struct finding *b)
{
	if (!a || !b) {
		return a == b;
	}
	return strcmp(a->code, b->code) == 0 && a->n_members == b->n_members &&
	       (a->n_members == 0 ||
		memcmp(a->members, b->members,
		       a->n_members * sizeof(*a->members)) == 0);
}

static bool is_same(const struct all_case *c, const struct said *a,
		    const struct said *b)
{
	const struct part *x = a->part, *y = b->part;
	bool same_index = x->index == y->index;

	if (x->kind != y->kind || x->node != y->node ||
	    x->peer_node != y->peer_node) {
		return false;
	}
	switch (x->kind) {
	case PART_NIC:
		return same_nic(c, a, b);
	case PART_CONFIG:
	case PART_LIMIT:
		return same_setting(a->finding, b->finding) && same_index;
	case PART_RAIL:		/* that of ping is a subnet */
		return both_by_segment(c, a, b) && same_index;
	case PART_PAIR:		/* that of ib is two ports */
		same_index = same_index && numbering(c, a) == numbering(c, b);
		break;
	default:
		break;
	}
	return same_index && x->peer_index == y->peer_index;
}

/* ---- what cannot work without what -------------------------------------- */

static bool on_node(const struct all_case *c, const struct said *low,
		    const struct said *high)
{
	int node = low->part->node;

	(void)c;
	return node >= 0 &&
	       (node == high->part->node || node == high->part->peer_node);
}

static bool between_nodes(const struct all_case *c, const struct said *low,
			  const struct said *high)
{
	(void)c;
	(void)low;
	return high->part->kind != PART_PAIR ||
	       high->part->node != high->part->peer_node;
}

static bool of_rail(const struct all_case *c, const struct said *low,
		    const struct said *high)
{
	return both_by_segment(c, low, high) &&
	       low->part->index == high->part->index;
}

static bool same_nodes(const struct all_case *c, const struct said *low,
		       const struct said *high)
{
	(void)c;
	return low->part->node == high->part->node &&
	       low->part->peer_node == high->part->peer_node;
}

/** Is @high about memory that could not be locked, there? */
static bool lacks_memory(const struct all_case *c, const struct said *low,
			 const struct said *high)
{
	static const char *const words[] = {
		"nomem", "memlock", "cannot allocate memory", NULL
	};

	if (low->part->node >= 0 && !on_node(c, low, high)) {
		return false;
	}
	for (int i = 0; words[i]; i++) {
		if (strcasestr(high->finding->code, words[i]) ||
		    strcasestr(high->finding->says, words[i])) {
			return true;
		}
	}
	return false;
}

/** All take part in a collective: whatever is dead below ends it.  It does not
 *  make a sum wrong, nor a library missing. */
static bool is_collective(const struct all_case *c, const struct said *low,
			  const struct said *high)
{
	const char *says = high->finding->says;

	return strcmp(probe_of(c, low), "memlock") != 0 &&
	       collective_parse(probe_of(c, high)) != COLLECTIVES &&
	       high->part->node < 0 &&
	       (strstr(says, ": " COLLECTIVE_TIMEOUT) ||
		strstr(says, ": " COLLECTIVE_FAILED));
}

static const struct {
	enum part_kind low, high;
	bool (*fits)(const struct all_case *c, const struct said *low,
		     const struct said *high);
} rules[] = {
	{ PART_NODE, PART_NIC, on_node },
	{ PART_NODE, PART_GPU, on_node },
	{ PART_NODE, PART_PAIR, on_node },
	{ PART_NODE, PART_NODE_PAIR, on_node },
	{ PART_NODE, PART_INTRA_NODE, on_node },
	{ PART_NODE, PART_CONFIG, on_node },
	{ PART_NODE, PART_LIMIT, on_node },
	{ PART_NIC, PART_NODE, on_node },
	{ PART_RAIL, PART_NIC, of_rail },
	{ PART_NODE_PAIR, PART_PAIR, same_nodes },
	{ PART_INTER_NODE, PART_SWITCH, between_nodes },
	{ PART_INTER_NODE, PART_RAIL, between_nodes },
	{ PART_INTER_NODE, PART_CROSS_RAIL, between_nodes },
	{ PART_INTER_NODE, PART_NODE_PAIR, between_nodes },
	{ PART_INTER_NODE, PART_PAIR, between_nodes },
	{ PART_INTER_NODE, PART_NIC, between_nodes },
	{ PART_LIMIT, PART_NIC, lacks_memory },
	{ PART_LIMIT, PART_NODE, lacks_memory },
	{ PART_LIMIT, PART_GPU, lacks_memory },
	{ PART_LIMIT, PART_PAIR, lacks_memory },
	{ PART_LIMIT, PART_NODE_PAIR, lacks_memory },
	{ PART_LIMIT, PART_INTER_NODE, lacks_memory },
	{ PART_LIMIT, PART_RAIL, lacks_memory },
	{ PART_INTER_NODE, PART_CONFIG, is_collective },
	{ PART_RAIL, PART_CONFIG, is_collective },
	{ PART_SWITCH, PART_CONFIG, is_collective },
	{ PART_NODE, PART_CONFIG, is_collective },
	{ PART_NODE_PAIR, PART_CONFIG, is_collective },
	{ PART_NIC, PART_CONFIG, is_collective },
	{ PART_GPU, PART_CONFIG, is_collective },
	{ PART_PAIR, PART_CONFIG, is_collective },
};

/** Does @low, found by a step below, explain @high? */
static bool explains(const struct all_case *c, const struct said *low,
		     const struct said *high)
{
	if (!low->finding->fail) {
		return false;
	}
	if (is_same(c, low, high)) {
		return true;
	}
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (low->part->kind == rules[i].low &&
		    high->part->kind == rules[i].high &&
		    rules[i].fits(c, low, high)) {
			return true;
		}
	}
	return false;
}

/* ---- which findings are one fault --------------------------------------- */

static int join(struct fault *f, const struct said *s)
{
	struct said *seen = grow(f->seen, f->n_seen, sizeof(*seen));

	if (!seen) {
		return -1;
	}
	f->seen = seen;
	seen[f->n_seen++] = *s;
	return 0;
}

/** What @s may be: choice @i, from 0, itself; false after the last. */
static bool choice(const struct said *s, size_t i, struct said *out)
{
	const struct finding *f = s->finding;

	*out = i == 0 ? *s : (struct said){ .step = s->step };
	if (i > 0 && i <= f->n_or) {
		out->part = &f->or_parts[i - 1];
	}
	return i <= f->n_or;
}

static bool may_be(const struct all_case *c, const struct said *s,
		   const struct said *part)
{
	struct said other;

	for (size_t i = 0; choice(s, i, &other); i++) {
		if (is_same(c, part, &other)) {
			return true;
		}
	}
	return false;
}

/** Leave of what @f may be what @s may be as well, if there is any. */
static bool narrow(const struct all_case *c, struct fault *f,
		   const struct said *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n_parts; i++) {
		if (may_be(c, s, &f->parts[i])) {
			f->parts[kept++] = f->parts[i];
		}
	}
	f->n_parts = kept > 0 ? kept : f->n_parts;
	return kept > 0;
}

static int add_fault(struct all_case *c, const struct said *s)
{
	struct fault *faults = grow(c->faults, c->n_faults, sizeof(*faults));
	struct fault *f;

	if (!faults) {
		return -1;
	}
	c->faults = faults;
	f = &faults[c->n_faults++];
	*f = (struct fault){
		.parts = calloc(s->finding->n_or + 1, sizeof(*f->parts)),
	};
	for (size_t i = 0; f->parts && i <= s->finding->n_or; i++) {
		choice(s, i, &f->parts[f->n_parts++]);
	}
	return f->parts ? join(f, s) : -1;
}

/** To the fault that it is, to the one that explains it, or as a new one. */
static int sort_in(struct all_case *c, const struct said *s)
{
	for (size_t i = 0; i < c->n_faults; i++) {
		/* those of one step are different ones */
		if (c->faults[i].seen[0].step < s->step &&
		    narrow(c, &c->faults[i], s)) {
			return join(&c->faults[i], s);
		}
	}
	for (size_t i = 0; i < c->n_faults; i++) {
		if (c->faults[i].seen[0].step < s->step &&
		    explains(c, &c->faults[i].seen[0], s)) {
			return join(&c->faults[i], s);
		}
	}
	return add_fault(c, s);
}

static int sort_out(struct all_case *c)
{
	for (size_t step = 0; step < c->n; step++) {
		const struct verdict *v = &c->steps[step].verdict;

		for (size_t i = 0; i < v->n; i++) {
			const struct said s = {
				.step = step, .part = &v->findings[i].part,
				.finding = &v->findings[i],
			};

			if (sort_in(c, &s) < 0) {
				return -1;
			}
		}
	}
	return 0;
}

/* ---- one finding of a fault --------------------------------------------- */

/** The finding of the lowest step whose first choice is what is left; NULL. */
static const struct finding *speaker(const struct all_case *c,
				     const struct fault *f)
{
	for (size_t i = 0; i < f->n_seen; i++) {
		if (is_same(c, &f->parts[0], &f->seen[i])) {
			return f->seen[i].finding;
		}
	}
	return NULL;
}

/** Lines of evidence, "p2p: ...": the @first of each step, or the others; what
 *  @spoken says stands above them. */
static int add_evidence(const struct all_case *c, const struct fault *fault,
			const struct finding *spoken, bool first,
			struct finding *f)
{
	struct str text = STR_INIT;
	size_t last = c->n;
	int rc = 0;

	for (size_t i = 0; i < fault->n_seen; i++) {
		const struct said *s = &fault->seen[i];
		const struct finding *of = s->finding;
		size_t n = of->n_evidence;

		n = fault->n_seen > 1 && n > EVIDENCE_PER_STEP ?
			    EVIDENCE_PER_STEP : n;
		for (size_t k = of == spoken; k <= n; k++) {
			str_addf(&text, "%s: %s", probe_of(c, s),
				 k == 0 ? of->says : of->evidence[k - 1]);
			if ((s->step != last) == first) {
				rc |= finding_add_evidence(f, str_text(&text));
			}
			last = s->step;
			str_reset(&text);
		}
	}
	str_release(&text);
	return rc;
}

/** What the steps have in common, where none of them says so alone. */
static void say_common(const struct run *run, struct finding *f)
{
	struct str text = STR_INIT;
	char name[PART_NAME_SIZE];

	str_addf(&text, "%s: the one part that explains what",
		 part_name(run, &f->part, name, sizeof(name)));
	for (size_t i = 0; i < f->n_probes; i++) {
		str_addf(&text, "%s %s", i == 0 ? "" :
			 i + 1 < f->n_probes ? "," : " and", f->probes[i]);
	}
	str_add(&text, " found");
	STR_COPY(f->says, str_text(&text));
	str_release(&text);
}

static int add_common(const struct fault *fault, struct finding *f)
{
	f->or_parts = calloc(fault->n_parts, sizeof(*f->or_parts));
	for (size_t i = 1; f->or_parts && i < fault->n_parts; i++) {
		f->or_parts[f->n_or++] = *fault->parts[i].part;
	}
	return f->or_parts ? 0 : -1;
}

static int merge(const struct all_case *c, const struct fault *fault,
		 struct verdict *v)
{
	const struct finding *spoken = speaker(c, fault);
	const struct finding *from = spoken ? spoken : fault->seen[0].finding;
	/* the number of a part is that of the step that speaks of it */
	struct finding *f = finding_add(v, spoken ? &spoken->part :
						    fault->parts[0].part);
	int rc = f ? add_common(fault, f) : -1;

	if (rc < 0) {
		return -1;
	}
	STR_COPY(f->code, from->code);
	f->set_up = from->set_up;
	f->score = from->score;
	for (size_t i = 0; i < fault->n_seen; i++) {
		const struct finding *of = fault->seen[i].finding;

		f->fail = f->fail || of->fail;
		f->cells += of->cells;
		f->explained += of->explained;
		rc |= finding_add_probe(f, probe_of(c, &fault->seen[i]));
	}
	for (size_t i = 0; spoken && i < spoken->n_members; i++) {
		rc |= finding_add_member(f, spoken->members[i]);
	}
	rc |= add_evidence(c, fault, spoken, true, f);
	f->n_first = f->n_evidence > 0 ? f->n_evidence - 1 : 0;
	rc |= add_evidence(c, fault, spoken, false, f);
	if (spoken) {
		STR_COPY(f->says, spoken->says);
		finding_set_act(f, spoken->act);
	} else {
		say_common(c->run, f);
		says_act(c->run, f, -1, -1);
	}
	return rc;
}

/** A step that could not measure what is there. */
static int add_broken(const struct run *run, const struct all_step *s,
		      struct verdict *v)
{
	const struct part p = part_of_kind(PART_CONFIG);
	struct finding *f = finding_add(v, &p);

	if (!f) {
		return -1;
	}
	STR_COPY(f->code, s->row.code);
	snprintf(f->says, sizeof(f->says), "%s could not measure: %.560s",
		 s->row.rung, s->row.detail);
	says_act(run, f, -1, -1);
	return finding_add_probe(f, s->row.rung);
}

/* ---- the whole ---------------------------------------------------------- */

int all_judge(const struct run *run, const struct all_step *steps, size_t n,
	      const json_t *netdevs, struct verdict *v)
{
	struct all_case c = { .run = run, .steps = steps, .n = n,
			      .netdevs = netdevs };
	int rc = sort_out(&c);

	*v = (struct verdict){ 0 };
	for (size_t i = 0; i < c.n_faults; i++) {
		rc = rc < 0 ? rc : merge(&c, &c.faults[i], v);
		free(c.faults[i].seen);
		free(c.faults[i].parts);
	}
	free(c.faults);
	for (size_t i = 0; i < n; i++) {
		if (steps[i].row.outcome == OUTCOME_ERROR) {
			rc |= add_broken(run, &steps[i], v);
		}
		for (unsigned k = 0; k < CELL_CLASSES; k++) {
			v->cells[k] += steps[i].verdict.cells[k];
		}
	}
	v->given_up = v->cells[CELL_NOT_RUN];	/* or its step is partial */
	if (rc < 0 || verdict_close(run, v) < 0) {
		verdict_release(v);
		return -1;
	}
	return 0;
}

int all_exit(const struct run *run, const struct all_step *steps, size_t n,
	     const struct verdict *v)
{
	bool usage = false, unable = false, partial = false;

	for (size_t i = 0; i < n; i++) {
		const struct step_row *row = &steps[i].row;

		usage = usage || (row->outcome == OUTCOME_ERROR &&
				  row->exit_code == CODE_USAGE);
		unable = unable || row->outcome == OUTCOME_ERROR;
		partial = partial || row->outcome == OUTCOME_NOT_RUN ||
			  row->exit_code == CODE_PARTIAL;
	}
	return usage ? CODE_USAGE : unable ? CODE_UNABLE :
	       partial ? CODE_PARTIAL : verdict_exit(run, v);
}
