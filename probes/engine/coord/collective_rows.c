/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of a collective: rows of the table, and its members of run.json. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/engine/coord/collective.h"
#include "probes/plan/retry.h"

/* ---- collective verify --------------------------------------------------- */

/*
 * Repeats of an operation of which the result is checked each time: for data
 * that is wrong now and then, of which nothing else tells.
 */

/* Approximate duration of one step of repeats in us, and how much longer a
 * repeat takes than a plain operation, since it also makes and checks its
 * data. */
#define STEP_US	1e6
#define LONGER	3
/* A bisection repeats a set at most REPEATS_SPAN times as often as the user
 * asked for, but always up to REPEATS_LEAST times. */
#define REPEATS_SPAN  20
#define REPEATS_LEAST 1000

void verify_begin(struct collective_work *w)
{
	w->verified = w->verified_wrong = 0;
	memset(w->bad_of, 0,
	       (size_t)w->ranks.layout.n_ranks * sizeof(*w->bad_of));
}

bool verify_next(struct collective_work *w, int64_t wanted)
{
	struct collective_order *o = &w->order;
	double one_us = fmax(w->samples.one_us, 1) * LONGER;
	struct collective_shape s;
	int64_t left = wanted - w->verified;

	collective_shape(w->op, w->dtype, w->n_members, w->sizes[w->size], &s);
	if (left <= 0 || (w->inplace && !s.checks_inplace)) {
		return false;
	}
	o->verify = (int64_t)fmax(fmin(STEP_US / one_us,
				       COLLECTIVE_STEP_VERIFY), 1);
	o->verify = left < o->verify ? left : o->verify;
	o->verify_from = w->verified;
	o->size_B = w->sizes[w->size];
	o->inplace = w->inplace;
	o->check = o->held = false;
	o->warmup = o->samples = o->batch = 0;
	round_order(w, DO_STEP,
		    round_patient_ns(w, one_us * (double)o->verify));
	return true;
}

void verify_checked(struct collective_work *w)
{
	for (int i = 0; i < w->n_members; i++) {
		int64_t wrong = w->members[i].r.wrong;

		w->verified = wrong != RECORD_NONE ? 1 : w->verified;
		w->bad_of[i] = wrong > 0;
		w->verified_wrong = wrong > 0 ? 1 : w->verified_wrong;
	}
}

void verify_over(struct collective_work *w)
{
	uint64_t any = 0;

	for (int i = 0; i < w->n_members; i++) {
		const struct collective_result *r = &w->members[i].r;

		any |= r->bad;
		w->bad_of[i] += __builtin_popcountll(r->bad);
		w->wrong = (w->wrong > 0 ? w->wrong : 0) +
			   (r->wrong > 0 ? r->wrong : 0);
	}
	w->verified += w->order.verify;
	w->verified_wrong += __builtin_popcountll(any);
}

/* ---- the row ------------------------------------------------------------- */

/** The members that were wrong, with how often; @text is cut where it is full:
 *  returns how many there are. */
static int list_ranks(const struct collective_work *w, char *text, size_t size)
{
	struct str list = STR_INIT;
	int n = 0;

	for (int i = 0; i < w->n_members; i++) {
		struct str one = STR_INIT;

		if (w->bad_of[i] == 0) {
			continue;
		}
		str_addf(&one, "%s%d=%lld", n++ > 0 ? " " : "",
			 w->members[i].rank, (long long)w->bad_of[i]);
		if (list.len + one.len < size) {
			str_add(&list, str_text(&one));
		}
		str_release(&one);
	}
	str_copy(text, size, str_text(&list));
	str_release(&list);
	return n;
}

/* Puts the counts of verify_over() into @row, and the outcome if an operation
 * had a wrong result. */
static void verify_row(const struct collective_work *w,
		       struct collective_row *row)
{
	const int64_t verified = w->verified, wrong = w->verified_wrong;
	char where[160] = "";
	int n, i = 0;

	if (verified == 0) {
		return;
	}
	row->verified = verified;
	row->verified_wrong = wrong;
	if (wrong == 0) {
		return;
	}
	n = list_ranks(w, row->wrong_ranks, sizeof(row->wrong_ranks));
	while (i < w->n_members - 1 && w->bad_of[i] == 0) {
		i++;
	}
	if (n == w->n_members) {
		STR_COPY(where, "on all ranks");
	} else if (n > 1) {
		snprintf(where, sizeof(where), "on %d of %d ranks", n,
			 w->n_members);
	} else if (n == 1) {
		const int rank = w->members[i].rank;

		snprintf(where, sizeof(where), "on rank %d (%s) alone", rank,
			 CLUSTER_GPU(ranks_node(&w->ranks, rank),
				     w->ranks.layout.ranks[rank].gpu));
	}
	row->outcome = OUTCOME_CORRUPT;
	STR_COPY(row->code, wrong < verified ? "silent_corruption" :
					       "data_corrupt");
	snprintf(row->detail, sizeof(row->detail),
		 /* without a comma, for those who cut rows at them */
		 "%lld of %lld operations had a wrong result (%.3g %%; "
		 "%lld elements) %s", (long long)wrong,
		 (long long)verified, 100 * (double)wrong / (double)verified,
		 (long long)w->wrong, where);
}

/* ---- what a bisection is to know ----------------------------------------- */

static double cost_us(int64_t wrong, int64_t verified, double one_us)
{
	return verified == 0 ? 0 :
	       one_us * (double)repeats_to_trust(wrong, verified);
}

void verify_note_bad(struct collective_work *w, bool failed)
{
	const int64_t wrong = failed ? 0 : w->verified_wrong;
	const int64_t verified = wrong > 0 ? w->verified : 0;

	if (w->bad_size >= 0 &&
	    cost_us(wrong, verified, w->samples.one_us) >=
		    cost_us(w->bad_wrong, w->bad_verified, w->bad_one_us)) {
		return;
	}
	w->bad_variant = w->variant;
	w->bad_size = w->size;
	w->bad_inplace = w->inplace;
	w->bad_wrong = wrong;
	w->bad_verified = verified;
	w->bad_one_us = w->samples.one_us;
}

bool verify_can_narrow(struct collective_work *w)
{
	const int64_t wrong = w->bad_wrong, verified = w->bad_verified;
	int64_t most = REPEATS_SPAN * verified;

	w->repeats = 0;
	if (w->comparing || verified == 0) {
		return true;
	}
	w->repeats = repeats_to_trust(wrong, verified);
	if (w->repeats <= (most > REPEATS_LEAST ? most : REPEATS_LEAST)) {
		return true;
	}
	collective_note(w, "bisect: not started: of %lld operations, %lld %s "
			   "wrong, so each set would need %lld repetitions to "
			   "be considered healthy; use --verify=%lld to narrow "
			   "it down", (long long)verified, (long long)wrong,
			wrong == 1 ? "was" : "were", (long long)w->repeats,
			(long long)repeats_for_enough(wrong, verified));
	return false;
}

/* ---- collective rows ----------------------------------------------------- */

bool collective_measures(const struct collective_work *w, int i, int ranks)
{
	struct collective_shape s;

	return collective_shape(w->op, w->dtype, ranks, w->sizes[i], &s) &&
	       (w->memory_B == 0 || w->sizes[i] <= w->memory_B);
}

static void row_init(struct collective_work *w, struct collective_row *row)
{
	const struct variant *v = &w->variants[w->variant];
	const struct xport_ops *ops = w->ranks.ops;
	int ranks = w->n_members > 0 ? w->n_members : w->ranks.layout.n_ranks;
	struct collective_shape s;

	record_init(&schema_collective, row);
	STR_COPY(row->op, collective_names[w->op]);
	STR_COPY(row->variant, v->name);
	STR_COPY(row->lib, xport_is(ops, XPORT_MODEL) ? ops->name :
			   v->lib[0] != '\0'	      ? v->lib :
							w->lib);
	STR_COPY(row->algo, w->algo);
	STR_COPY(row->proto, w->proto);
	row->ranks = ranks;
	row->nodes =
		w->n_members > 0 ? round_nodes(w) : w->ranks.layout.n_nodes;
	STR_COPY(row->dtype, w->dtype->name);
	STR_COPY(row->redop,
		 collective_kinds[w->op].reduces ? w->redop->name : "none");
	row->root = collective_kinds[w->op].has_root ? 0 : -1;
	collective_shape(w->op, w->dtype, ranks, w->sizes[w->size], &s);
	row->size_B = s.size_B;
	row->count = s.count;
	row->inplace = w->inplace;
	STR_COPY(row->start_utc, w->start_utc);
	if (s.size_B != w->sizes[w->size]) {
		collective_note(
			w,
			"sizes are rounded down to a multiple of %d bytes per "
			"rank (%d ranks), as nccl-tests does",
			16, ranks);
	}
}

void collective_write_failed(struct collective_work *w, enum outcome o,
			     const char *code, const char *detail)
{
	struct collective_row row;

	row_init(w, &row);
	row.outcome = o;
	STR_COPY(row.code, code);
	STR_COPY(row.detail, detail);
	if (row.count > 0) {
		coord_write_row(w->c, &row);
	}
}

void collective_write_row(struct collective_work *w)
{
	const struct variant *v = &w->variants[w->variant];
	struct collective_row row;

	row_init(w, &row);
	row.outcome = OUTCOME_OK;
	row.wrong = w->wrong;
	collective_samples_result(&w->samples, &row);
	/* NCCL may use another algorithm than it was asked for, and say
	 * nothing */
	if ((v->algo[0] != '\0' && row.algo[0] != '\0' &&
	     strcasecmp(v->algo, row.algo) != 0) ||
	    (v->proto[0] != '\0' && row.proto[0] != '\0' &&
	     strcasecmp(v->proto, row.proto) != 0)) {
		STR_COPY(row.code, "not_as_asked");
		snprintf(row.detail, sizeof(row.detail),
			 "requested %s%s%s, the library used %s%s%s", v->algo,
			 v->algo[0] && v->proto[0] ? " " : "", v->proto,
			 row.algo, row.proto[0] ? " " : "", row.proto);
	}
	if (w->wrong > 0) {
		row.outcome = OUTCOME_CORRUPT;
		STR_COPY(row.code, "data_corrupt");
		snprintf(row.detail, sizeof(row.detail),
			 "%lld elements have a wrong result",
			 (long long)w->wrong);
	}
	verify_row(w, &row);
	coord_write_row(w->c, &row);
}

void collective_write_rest(struct collective_work *w, enum outcome o,
			   const char *code, const char *detail)
{
	w->algo[0] = w->proto[0] = '\0';
	while (w->size < w->n_sizes) {
		collective_write_failed(w, o, code, detail);
		w->size += w->inplace;
		w->inplace = !w->inplace;
	}
}

void collective_put_plan(void *work, json_t *run)
{
	struct collective_work *w = work;
	json_t *variants, *dropped = json_array();
	int cells = 0;	/* rows that all sizes will have */
	int unusable = 0;

	if (w->ranks.ops == NULL || w->ranks.layout.n_ranks == 0) {
		json_decref(dropped);
		return;		/* stopped before there was one */
	}
	for (int i = 0; i < w->n_sizes; i++) {
		cells += collective_measures(w, i, w->ranks.layout.n_ranks) ?
				 2 * w->n_variants : 0;
	}
	variants = json_array();
	for (int i = 0; i < w->n_variants; i++) {
		json_array_append_new(variants,
				      json_pack("{s:s,s:O}", "name",
						w->variants[i].name, "env",
						w->variants[i].env));
	}
	ranks_put_plan(&w->ranks, run, w->sizes, w->n_sizes, NULL);
	json_object_set_new(run, "variants", variants);
	json_object_set_new(run, "planned", run_part_json(
		"planned", &(struct run_file){ .planned = {
			.kind = "sweep", .op = collective_names[w->op],
			.cells = cells } }));
	json_object_set(run, "notes", w->notes);
	/* the ranks that it continued without; what could be opened on none is
	 * not the fault of a rank: the rows say it */
	for (int r = 0; r < w->ranks.layout.n_ranks; r++) {
		unusable += w->ranks.all[r].state == RANK_UNUSABLE;
	}
	for (int r = 0; r < w->ranks.layout.n_ranks; r++) {
		const struct rank *k = &w->ranks.all[r];

		if (k->state > RANK_READY &&
		    (k->state != RANK_UNUSABLE ||
		     unusable < w->ranks.layout.n_ranks)) {
			struct run_entry out = { RUN_ENTRY_NONE };

			out.rank = r;
			out.node = ranks_node(&w->ranks, r);
			out.gpu = w->ranks.layout.ranks[r].gpu;
			out.code = k->code;
			out.detail = k->detail;
			json_array_append_new(dropped, run_entry_json(&out));
		}
	}
	json_object_set_new(run, "dropped", dropped);
	json_object_set(run, "bisect", w->found); /* not when that is NULL */
}
