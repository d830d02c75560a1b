/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks and plans that are possible before a run starts. */
#include "cli/front/ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/options.h"
#include "lib/base/input.h"
#include "lib/base/units.h"
#include "probes/collective/collective.h"
#include "probes/nccl/env.h"
#include "probes/plan/drill.h"
#include "probes/plan/layout.h"
#include "probes/plan/plan.h"
#include "probes/probe.h"
#include "report/model/run.h"
#include "report/model/sweep.h"
#include "sbatch/launcher.h"

/** All pairs of more ranks than this are not worth planning twice. */
#define PLAN_RANKS_MAX 1024

int ahead_layout(const struct spec *s, struct layout *l, struct err *e)
{
	const int nodes = (int)(s->local ? s->local_nodes : s->nodes);
	const int gpus = (int)(s->local ? s->local_gpus : s->gpus_per_node);

	if (!nodes || !gpus) {
		return 0;
	}
	/* an invalid name would leave out more nodes than intended */
	if (s->local && launcher_check(&launcher_local, s, e) < 0) {
		return -1;
	}
	if (layout_init(l, nodes) < 0) {
		return err_set(e, ENOMEM, "cannot lay out %d nodes", nodes);
	}
	l->n_nodes = 0;
	for (int i = 0; i < nodes; i++) {
		struct cluster_node *node = &l->nodes[l->n_nodes];

		snprintf(node->name, sizeof(node->name), "n%d", i);
		node->gpus = gpus;
		node->nics = (int)s->nics;
		l->n_nodes += !s->local || !spec_leaves_out(s, node->name);
	}
	return layout_number(l) < 0 ?
		       err_set(e, ENOMEM, "cannot lay out %d nodes", nodes) :
		       1;
}

static int check_drill(const struct spec *s, const struct layout *l,
		       struct str *text, struct err *e)
{
	struct drill drill;
	struct err why = { 0 };
	int rc;

	if (!s->faults[0]) {
		return 0;
	}
	if (input_read("drill file", s->faults, DRILL_FILE_MAX, text, e) < 0) {
		return -1;
	}
	rc = drill_parse(str_text(text), text->len, &drill, &why);
	if (rc == 0) {
		rc = l ? drill_check(&drill, l, &why) : 0;
		drill_release(&drill);
	}
	if (rc < 0) {
		err_set(e, why.code, "%s: %s", s->faults, why.text);
		return why.hint[0] ? err_hint(e, "%s", why.hint) : -1;
	}
	return 0;
}

int ahead_plan(const struct spec *s, const struct xport_ops *ops,
	       const struct layout *l, int most_ranks, struct plan *p,
	       struct err *e)
{
	struct pairs pairs;
	bool known;
	int rc;

	*p = (struct plan){ 0 };
	if (pairs_parse(s->pairs, &pairs, e) < 0) {
		return -1;
	}
	pairs.rails_apart = plan_rails_apart(s, false);
	pairs.what_is_there = s->retest[0] != '\0';
	rc = ops && xport_is(ops, XPORT_ONE_NODE) ?
		     pairs_keep_inside(&pairs, ops->name, e) : 0;
	if (l) {
		pairs_settle(&pairs, s, l);
	}
	known = l && (pairs.kind == PAIRS_LIST || pairs.rounds > 0 ||
		      l->n_ranks <= most_ranks);
	/* the names of the nodes of a batch job are not known yet */
	for (size_t i = 0; pairs.kind == PAIRS_LIST && i < pairs.n; i++) {
		known &= s->local || (!pairs.list[i][0].node[0] &&
				      !pairs.list[i][1].node[0]);
	}
	if (rc == 0 && known) {
		rc = plan_pairs(l, &pairs, p, e);
	}
	pairs_release(&pairs);
	return rc;
}

/** Check a --nccl-lib as far as possible here: the file may exist on the nodes
 *  only. */
static int check_libs(const struct spec *s, const struct probe *probe,
		      struct err *e)
{
	struct variant *v = calloc(VARIANTS_MAX, sizeof(*v));
	int n = v ? variants_make(s, v, e) : -1, rc = n < 0 ? -1 : 0;
	struct err why = { 0 };

	if (n > 1 && probe->kind == PROBE_PAIRS) {
		rc = err_set(e, 0, "--nccl-lib: %s measures with one library",
			     probe->name);
		err_hint(e, "to compare two: two runs, and gpucheck diff");
	}
	for (int i = 0; rc == 0 && i < n; i++) {
		if (strchr(v[i].lib, '/') &&
		    (s->local || access(v[i].lib, R_OK) == 0)) {
			rc = nccl_file_check(v[i].lib, &why);
		}
	}
	if (why.text[0]) {
		err_set(e, why.code, "--nccl-lib: %s", why.text);
		err_hint(e, "name the file, such as /usr/lib64/libnccl.so.2");
	}
	variants_release(v, n);
	free(v);
	return rc;
}

/** A reference that is not there is better known before the sweep. */
static int check_reference(const struct spec *s, struct err *e)
{
	struct sweep sweep = { 0 };

	if (!s->reference[0]) {
		return 0;
	}
	if (sweep_reference(s->reference, &sweep, e) < 0) {
		return -1;
	}
	sweep_release(&sweep);
	return 0;
}

int ahead_take_reference(struct spec *s, const char *probe, struct err *e)
{
	char dir[PATH_MAX];

	if (!s->reference[0]) {
		return 0;
	}
	if (reference_find(s->reference, probe, dir, e) != 0) {
		return -1;
	}
	STR_COPY(s->reference, dir);
	return 0;
}

int ahead_take_references(struct spec *s, struct err *e)
{
	static const char *const probes[] = { "p2p", "ib", "allreduce", NULL };
	struct err why = { 0 };
	char dir[PATH_MAX];
	int none = 0;

	for (int i = 0; s->reference[0] && probes[i]; i++) {
		none = reference_find(s->reference, probes[i], dir, &why);
		if (none == 0) {
			if (realpath(s->reference, dir)) {
				STR_COPY(s->reference, dir);
			}
			return 0;
		}
	}
	if (none < 0) {
		*e = why;
	}
	return none > 0 ? check_reference(s, e) : none;
}

/** Check that a size leaves an element for each rank. */
static int check_shares(const struct spec *s, enum collective op, int ranks,
			struct err *e)
{
	const struct dtype *t = dtype_find(s->dtype);
	int64_t end = s->size_end_B ? s->size_end_B : s->size_begin_B;
	int64_t least = 1;
	struct collective_shape shape;
	char size[32], wanted[32];

	if (s->size_begin_B == 0 || !t || ranks < 2) {
		return 0;
	}
	for (int64_t b = s->size_begin_B; b <= end; b *= s->size_factor) {
		if (collective_shape(op, t, ranks, b, &shape)) {
			return 0;
		}
	}
	while (!collective_shape(op, t, ranks, least, &shape)) {
		least++;
	}
	err_set(e, 0, "%s of %s is too small: %d ranks get zero elements each",
		collective_names[op],
		units_size_arg((uint64_t)end, size, sizeof(size)), ranks);
	return err_hint(e, "%s of %s needs at least -b %s",
			collective_names[op], t->name,
			units_size_arg((uint64_t)least, wanted,
					 sizeof(wanted)));
}

int ahead_check_shape(const struct spec *s, const struct probe *probe,
		      struct str *drill, struct err *e)
{
	struct layout layout;
	struct plan plan;
	int known = ahead_layout(s, &layout, e), rc;
	const struct layout *l = known > 0 ? &layout : NULL;

	rc = known < 0 ? -1 : check_drill(s, l, drill, e);
	if (rc == 0 && probe->kind == PROBE_COLLECTIVE) {
		rc = check_shares(s, collective_parse(probe->name),
				  l ? l->n_ranks : 0, e);
	} else if (rc == 0 && probe->kind == PROBE_PAIRS) {
		rc = ahead_plan(s, xport_find(s->transport), l, PLAN_RANKS_MAX,
				&plan, e);
		if (rc == 0) {
			plan_release(&plan);
		}
	}
	if (l) {
		layout_release(&layout);
	}
	return rc;
}

int ahead_check(const struct spec *s, const char *name, struct str *drill,
		struct err *e)
{
	static const char *const names[] = { "transport", "compare" };
	const struct probe *probe = probe_find(name);

	if (spec_check(s, e) < 0 || spec_check_ranks(s, e) < 0) {
		return -1;
	}
	/* the probe must support the transport and the variants */
	for (int i = 0; i < 2; i++) {
		const struct spec_option *o = spec_find(names[i]);
		char word[16];

		spec_text(s, o, word, sizeof(word));
		if (spec_word_of(spec_word(o, word), s->commands)) {
			continue;
		}
		err_set(e, 0, "--%s=%s does not go with '%s'", o->name, word,
			probe->name);
		return i ? err_hint(e, "it is a contrast of gpucheck %s",
				    probe->ports ? "p2p" : "ib") :
		       probe->ports ?
			   err_hint(e,
				    "gpucheck %s measures HCA ports by verbs",
				    probe->name) :
			   err_hint(e, "to measure HCA ports: gpucheck ib");
	}
	return check_libs(s, probe, e) < 0 ?
		       -1 : ahead_check_shape(s, probe, drill, e);
}

int ahead_check_collective(struct session *session, struct str *drill,
			   struct err *e)
{
	static const char *const reductions[] = { "redop", NULL };
	static const char *const choices[] = { "algo", "proto", NULL };
	const char *probe = session->argv[1], *stray;
	const enum collective op = collective_parse(probe);
	const struct spec *s = &session->spec;
	const struct xport_ops *ops = xport_find(s->transport);
	int64_t sizes[SPEC_MAX_SIZES];

	if (spec_check(s, e) < 0 || spec_check_ranks(s, e) < 0) {
		return -1;
	}
	/* options that have no effect on this collective */
	if (!collective_kinds[op].reduces &&
	    options_stray(session, reductions)) {
		err_set(e, 0, "--redop=%s does not go with '%s', which reduces "
			"nothing", s->redop, probe);
		return err_hint(e, "--redop is for allreduce, reducescatter and "
				"reduce");
	}
	stray = collective_kinds[op].exchanges ?
			options_stray(session, choices) : NULL;
	if (stray) {
		err_set(e, 0, "--%s does not go with '%s': NCCL offers "
			"no choice for sends and receives", stray, probe);
		return err_hint(e, "their protocol depends on the size; to "
				"compare: --env "
				"NCCL_P2P_LL_THRESHOLD=0,16384");
	}
	if (collective_sizes(s, sizes) < 0) {
		return err_set(e, 0, "more than %d sizes", SPEC_MAX_SIZES);
	}
	if (check_libs(s, probe_find(probe), e) < 0 ||
	    check_reference(s, e) < 0) {
		return -1;
	}
	if (ops && !xport_is(ops, XPORT_MODEL) && !ops->collective) {
		err_set(e, 0, "--transport=%s cannot run collectives",
			ops->name);
		return err_hint(e, "gpucheck %s uses nccl, or sim, a model",
				probe);
	}
	return ahead_check_shape(s, probe_find(probe), drill, e);
}

int ahead_take_pair(struct session *s, struct err *e)
{
	static const char *const pairs[] = { "pairs", NULL };
	int n;

	if (s->n_args == 0) {
		return 0;
	}
	if (s->n_args != 2) {
		err_set(e, 0, "a pair needs two ranks, and '%s' is one",
			s->args[0]);
		return mistyped_value(s->spec.commands, s->argv + 2, e) ? -1 :
			err_hint(e, "name both: gpucheck %s 0 9", s->argv[1]);
	}
	if (strcmp(s->spec.pairs, "auto") != 0 && options_stray(s, pairs)) {
		return err_set(e, 0, "RANK RANK does not go with --pairs");
	}
	s->typed[spec_find("pairs") - spec_options] = true;
	n = snprintf(s->spec.pairs, sizeof(s->spec.pairs), "%s-%s",
		     s->args[0], s->args[1]);
	if (n < 0 || (size_t)n >= sizeof(s->spec.pairs)) {
		return err_set(e, 0, "the names of the pair are too long");
	}
	return 0;
}
