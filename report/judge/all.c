/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge of all: findings of several steps become one per fault. */
#include "report/judge/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/grow.h"
#include "lib/data/record_rows.h"

#define EVIDENCE_PER_STEP 3

/** A part that a step names: that of a finding, or one of its alternatives. */
struct all_said {
	size_t step;
	const struct part *part;
	const struct finding *finding;	/* NULL: an alternative */
};

/** Findings that are taken for one fault. */
struct fault {
	struct all_said *seen;	/* the findings, those of the lowest step
				 * first */
	size_t n_seen;
	struct all_said *parts;	/* what it may be: the first and its
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

/* ---- comparison --------------------------------------------------------- */

/** The units by which a probe numbers parts.  Equal numbers mean the same part
 *  only within one numbering. */
enum numbering { BY_GPU, BY_PORT, BY_SEGMENT };

static const char *probe_of(const struct all_case *c, const struct all_said *s)
{
	return c->steps[s->step].row.rung;
}

static enum numbering numbering(const struct all_case *c,
				const struct all_said *s)
{
	const char *probe = probe_of(c, s);

	return strcmp(probe, "ping") == 0 ? BY_SEGMENT :
	       strcmp(probe, "ib") == 0	  ? BY_PORT :
					    BY_GPU;
}

static bool both_by_segment(const struct all_case *c, const struct all_said *a,
			    const struct all_said *b)
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

static bool is_same(const struct all_case *c, const struct all_said *a,
		    const struct all_said *b)
{
	const struct part *x = a->part, *y = b->part;
	const struct finding *f = a->finding, *g = b->finding;
	bool same_index = x->index == y->index;
	char one[64], other[64];

	if (x->kind != y->kind || x->node != y->node ||
	    x->peer_node != y->peer_node) {
		return false;
	}
	switch (x->kind) {
	case PART_NIC:
		hca_name(c, x, one, sizeof(one));
		hca_name(c, y, other, sizeof(other));
		return one[0] && other[0] ?
			       strcmp(one, other) == 0 :
			       both_by_segment(c, a, b) && same_index;
	case PART_CONFIG:
	case PART_LIMIT:	/* the same code, and the same nodes */
		return same_index &&
		       (!f || !g ? f == g :
			strcmp(f->code, g->code) == 0 &&
				f->n_members == g->n_members &&
				(f->n_members == 0 ||
				 memcmp(f->members, g->members,
					f->n_members *
						sizeof(*f->members)) == 0));
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

/* ---- dependencies -------------------------------------------------------- */

/** How a part of a lower step explains another one. */
enum dependency {
	ON_NODE,		/* it is the node of that, or of one end */
	BETWEEN_NODES,		/* that is not between two GPUs of a node */
	OF_RAIL, SAME_NODES,
	OF_GPU,			/* that is the GPU, or a path from or to it */
	LACKS_MEMORY,		/* memory could not be locked on its node */
	ENDS_COLLECTIVE,	/* all take part in it */
};

/** Returns true if @f failed because memory could not be locked. */
static bool lacks_memory(const struct finding *f)
{
	static const char *const words[] = {
		"nomem", "memlock", "cannot allocate memory", NULL
	};

	for (int i = 0; words[i]; i++) {
		if (strcasestr(f->code, words[i]) ||
		    strcasestr(f->says, words[i])) {
			return true;
		}
	}
	return false;
}

static bool depends(const struct all_case *c, enum dependency how,
		    const struct all_said *low, const struct all_said *high)
{
	const struct part *l = low->part, *p = high->part;
	const char *says = high->finding->says;
	bool on_node = l->node >= 0 &&
		       (l->node == p->node || l->node == p->peer_node);

	switch (how) {
	case ON_NODE:
		return on_node;
	case BETWEEN_NODES:
		return p->kind != PART_PAIR || p->node != p->peer_node;
	case OF_RAIL:
		return both_by_segment(c, low, high) && l->index == p->index;
	case SAME_NODES:
		return l->node == p->node && l->peer_node == p->peer_node;
	case OF_GPU:
		return numbering(c, high) == BY_GPU &&
		       ((p->node == l->node && p->index == l->index) ||
			(p->kind == PART_PAIR && p->peer_node == l->node &&
			 p->peer_index == l->index));
	case LACKS_MEMORY:
		return (l->node < 0 || on_node) && lacks_memory(high->finding);
	case ENDS_COLLECTIVE:
		/* whatever is dead below ends it, but does not make a sum
		 * wrong, nor a library missing */
		return strcmp(probe_of(c, low), "memlock") != 0 &&
		       collective_parse(probe_of(c, high)) != COLLECTIVES &&
		       p->node < 0 && (strstr(says, ": " COLLECTIVE_TIMEOUT) ||
				       strstr(says, ": " COLLECTIVE_FAILED));
	}
	return false;
}

static const struct {
	unsigned low, high;	/* kinds of parts */
	enum dependency how;
} rules[] = {
	{ KIND(NODE),
	  KIND(NIC) | KIND(GPU) | KIND(PAIR) | KIND(NODE_PAIR) |
		  KIND(NODE_NETWORK) | KIND(SOCKET) | KIND(CABLE_SWAP) |
		  KIND(GPU_NVLINK) | KIND(INTRA_NODE) | KIND(CONFIG) |
		  KIND(LIMIT), ON_NODE },
	{ KIND(NODE_NETWORK),
	  KIND(NODE) | KIND(NIC) | KIND(SOCKET) | KIND(CABLE_SWAP), ON_NODE },
	{ KIND(NIC), KIND(NODE) | KIND(NODE_NETWORK), ON_NODE },
	{ KIND(GPU), KIND(GPU_NVLINK) | KIND(PAIR), OF_GPU },
	{ KIND(RAIL), KIND(NIC) | KIND(RAIL_LEAF), OF_RAIL },
	{ KIND(NODE_PAIR), KIND(PAIR), SAME_NODES },
	{ KIND(INTER_NODE),
	  KIND(SWITCH) | KIND(RAIL) | KIND(CROSS_RAIL) | KIND(NODE_PAIR) |
		  KIND(FABRIC_PATH) | KIND(LEAF_PAIR) | KIND(RAIL_LEAF) |
		  KIND(NODE_NETWORK) | KIND(SOCKET) | KIND(CABLE_SWAP) |
		  KIND(PAIR) | KIND(NIC), BETWEEN_NODES },
	{ KIND(LIMIT),
	  KIND(NIC) | KIND(NODE) | KIND(GPU) | KIND(PAIR) | KIND(NODE_PAIR) |
		  KIND(NODE_NETWORK) | KIND(SOCKET) | KIND(INTER_NODE) |
		  KIND(RAIL), LACKS_MEMORY },
	{ KIND(INTER_NODE) | KIND(RAIL) | KIND(SWITCH) | KIND(NODE) |
		  KIND(FABRIC_PATH) | KIND(LEAF_PAIR) | KIND(RAIL_LEAF) |
		  KIND(NODE_NETWORK) | KIND(SOCKET) | KIND(CABLE_SWAP) |
		  KIND(NODE_PAIR) | KIND(NIC) | KIND(GPU) |
		  KIND(GPU_NVLINK) | KIND(PAIR),
	  KIND(CONFIG), ENDS_COLLECTIVE },
};

/** Returns true if @low, a finding of an earlier step, explains @high. */
static bool explains(const struct all_case *c, const struct all_said *low,
		     const struct all_said *high)
{
	bool does = is_same(c, low, high);

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		does = does || (part_is(low->part, rules[i].low) &&
				part_is(high->part, rules[i].high) &&
				depends(c, rules[i].how, low, high));
	}
	return does && low->finding->fail;
}

/* ---- grouping of findings ------------------------------------------------ */

/** Sets @out to choice @i of @s: 0 is @s itself, the others are its
 *  alternatives.  Returns false after the last. */
static bool choice(const struct all_said *s, size_t i, struct all_said *out)
{
	const struct finding *f = s->finding;

	*out = i == 0 ? *s : (struct all_said){ .step = s->step };
	if (i > 0 && i <= f->n_or) {
		out->part = &f->or_parts[i - 1];
	}
	return i <= f->n_or;
}

/** Leave of what @f may be what @s may be as well, if there is any. */
static bool narrow(const struct all_case *c, struct fault *f,
		   const struct all_said *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n_parts; i++) {
		struct all_said other;
		bool may = false;

		for (size_t k = 0; !may && choice(s, k, &other); k++) {
			may = is_same(c, &f->parts[i], &other);
		}
		if (may) {
			f->parts[kept++] = f->parts[i];
		}
	}
	f->n_parts = kept > 0 ? kept : f->n_parts;
	return kept > 0;
}

/** Add @s to the fault that it is, to the one that explains it, or as a new
 *  one; 0, or -1 without memory. */
static int sort_in(struct all_case *c, const struct all_said *s)
{
	const struct fault new = { 0 };
	struct fault *f = NULL;
	size_t below = 0;	/* those of one step are different ones */

	while (below < c->n_faults && c->faults[below].seen[0].step < s->step) {
		below++;
	}
	for (size_t i = 0; i < below && !f; i++) {
		f = narrow(c, &c->faults[i], s) ? &c->faults[i] : NULL;
	}
	for (size_t i = 0; i < below && !f; i++) {
		f = explains(c, &c->faults[i].seen[0], s) ? &c->faults[i] :
							    NULL;
	}
	if (!f) {
		f = grow_add(&c->faults, &c->n_faults, &new, sizeof(new));
		if (!f) {
			return -1;
		}
		f->parts = calloc(s->finding->n_or + 1, sizeof(*f->parts));
		for (size_t i = 0; f->parts && i <= s->finding->n_or; i++) {
			choice(s, i, &f->parts[f->n_parts++]);
		}
	}
	return f->parts && grow_add(&f->seen, &f->n_seen, s, sizeof(*s)) ?
		       0 : -1;
}

/* ---- one finding of a fault --------------------------------------------- */

/** Adds lines of evidence, "p2p: ...": the @first of each step, or the others.
 *  Lines that @spoken has in its sentence are left out. */
static void add_evidence(const struct all_case *c, const struct fault *fault,
			 const struct finding *spoken, bool first,
			 struct finding *f)
{
	size_t last = c->n;

	for (size_t i = 0; i < fault->n_seen; i++) {
		const struct all_said *s = &fault->seen[i];
		const struct finding *of = s->finding;
		size_t n = of->n_evidence;

		n = fault->n_seen > 1 && n > EVIDENCE_PER_STEP ?
			    EVIDENCE_PER_STEP : n;
		for (size_t k = of == spoken; k <= n; k++) {
			if ((s->step != last) == first) {
				finding_add_evidence(
					f, "%s: %s", probe_of(c, s),
					k == 0 ? of->says :
						 of->evidence[k - 1]);
			}
			last = s->step;
		}
	}
}

/** Add the finding of @fault. */
static void merge(const struct all_case *c, const struct fault *fault,
		  struct verdict *v)
{
	const struct finding *spoken = NULL, *from;
	struct str probes = STR_INIT;
	struct finding *f;

	/* the finding of the lowest step whose first choice is still left */
	for (size_t i = 0; i < fault->n_seen && !spoken; i++) {
		spoken = is_same(c, &fault->parts[0], &fault->seen[i]) ?
				 fault->seen[i].finding : NULL;
	}
	from = spoken ? spoken : fault->seen[0].finding;
	/* the number of a part is that of the step that speaks of it */
	f = finding_add(v, spoken ? spoken->part : *fault->parts[0].part,
			from->code);
	f->score = from->score;
	for (size_t i = 1; i < fault->n_parts; i++) {
		finding_add_or(f, fault->parts[i].part);
	}
	for (size_t i = 0; i < fault->n_seen; i++) {
		const struct finding *of = fault->seen[i].finding;

		f->fail = f->fail || of->fail;
		f->drain = f->drain ||
			   (of->drain && of->part.node == f->part.node);
		f->cells += of->cells;
		f->explained += of->explained;
		finding_add_probe(f, probe_of(c, &fault->seen[i]));
	}
	for (size_t i = 0; spoken && i < spoken->n_members; i++) {
		finding_add_member(f, spoken->members[i]);
	}
	add_evidence(c, fault, spoken, true, f);
	f->n_first = f->n_evidence > 0 ? f->n_evidence - 1 : 0;
	add_evidence(c, fault, spoken, false, f);
	if (spoken) {
		STR_COPY(f->says, spoken->says);
		finding_set_act(f, spoken->act);
	} else {
		/* a part that several steps have in common, and that none of
		 * them named alone */
		for (size_t i = 0; i < f->n_probes; i++) {
			str_addf(&probes, "%s %s", i == 0 ? "" :
				 i + 1 < f->n_probes ? "," : " and",
				 f->probes[i]);
		}
		finding_say(f, "%s: the only part that explains the findings "
			    "of%s",
			    PART_NAME(c->run, &f->part), str_text(&probes));
		str_release(&probes);
	}
}

/* ---- verdict ------------------------------------------------------------- */

static bool is_cut(const struct step_row *row)
{
	return row->outcome == OUTCOME_NOT_RUN ||
	       row->exit_code == CODE_PARTIAL;
}

int all_judge(const struct run *run, const struct all_step *steps, size_t n,
	      const json_t *netdevs, struct verdict *v)
{
	struct all_case c = { .run = run, .steps = steps, .n = n,
			      .netdevs = netdevs };

	*v = (struct verdict){ 0 };
	for (size_t step = 0; step < n; step++) {
		verdict_foreach(&steps[step].verdict, f) {
			const struct all_said s = {
				.step = step, .part = &f->part, .finding = f,
			};

			v->failed = v->failed || sort_in(&c, &s) < 0;
		}
	}
	for (size_t i = 0; i < c.n_faults; i++) {
		if (!v->failed) {
			merge(&c, &c.faults[i], v);
		}
		free(c.faults[i].seen);
		free(c.faults[i].parts);
	}
	free(c.faults);
	for (size_t i = 0; i < n; i++) {
		const struct step_row *row = &steps[i].row;
		const struct verdict *of = &steps[i].verdict;
		bool told = false;

		/* a failure or missing GPUs say why nothing was measured */
		verdict_foreach(of, f) {
			told = told || f->fail ||
			       strcmp(f->code, "gpu_missing") == 0;
		}
		told = told && verdict_measured(of) == 0;
		if (row->outcome == OUTCOME_ERROR && !told) {
			struct finding *f = finding_add(
				v, part_of_kind(PART_CONFIG), row->code);

			finding_say(f, "%s could not measure: %s", row->rung,
				    row->detail);
			finding_add_probe(f, row->rung);
		}
		v->cut = v->cut || is_cut(row);
		for (unsigned k = 0; k < CELL_CLASSES; k++) {
			v->cells[k] += of->cells[k];
		}
	}
	v->given_up = v->cells[CELL_NOT_RUN];	/* or its step was cut */
	return verdict_close(run, v);
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
		partial = partial || is_cut(row);
	}
	return usage ? CODE_USAGE : unable ? CODE_UNABLE :
	       partial ? CODE_PARTIAL : verdict_exit(run, v);
}
