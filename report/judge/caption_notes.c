/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/follow.h"
#include "report/model/ping_run.h"
#include "report/judge/caption.h"

#include <string.h>

#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/sampled.h"
#include "report/judge/skew.h"
#include "report/judge/witness.h"

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/** Facts @name that begin with @value; @first: one of them. */
static size_t count_facts(const struct run *run, const char *name,
			  const char *value, const struct fact_row **first)
{
	size_t n = 0;

	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, name) == 0 && str_starts(f->value, value) &&
		    n++ == 0) {
			*first = f;
		}
	}
	return n;
}

/* ---- the notes: each adds its words, or nothing -------------------------- */

static void note_drill(const struct run *run, struct str *out)
{
	str_add(out, run->drill ? "DRILL: faults were injected on purpose; this "
				  "is not a result of the machines" : "");
}

const char *caption_transport(const char *transport, const char *probe)
{
	static const struct {
		const char *transport, *probe;	/* NULL: any */
		const char *text;
	} notes[] = {
		{ .transport = "sim",
		  .text = "sim is a simulated cluster: no hardware was "
			  "tested" },
		{ .transport = "tcp", .probe = "p2p",
		  .text = "tcp sends data between processes: GPUs were not "
			  "tested" },
	};

	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
		if (strcmp(transport, notes[i].transport) == 0 &&
		    (!notes[i].probe || strcmp(probe, notes[i].probe) == 0)) {
			return notes[i].text;
		}
	}
	return NULL;
}

static void note_transport(const struct run *run, struct str *out)
{
	const char *text = caption_transport(run->transport, run->probe);

	str_add(out, text ? text : "");
}

/** Why the coordinator gave up, in its own words. */
static void note_error(const struct run *run, struct str *out)
{
	const json_t *error = json_object_get(run->json, "error");
	const char *text = json_string_value(json_object_get(error, "text"));
	const char *hint = json_member(error, "hint");

	if (text) {
		str_addf(out, "error: %s%s%s", text, hint[0] ? "; " : "", hint);
	}
}

/** A step of several: what those before it found. */
static void note_expect(const struct run *run, struct str *out)
{
	const json_t *list = json_object_get(run->json, "expect");
	const char *first = json_string_value(json_array_get(list, 0));
	size_t n = json_array_size(list);

	if (first) {
		str_addf(out, "found before: %.300s", first);
	}
	if (first && n > 1) {
		str_addf(out, " (and %zu more)", n - 1);
	}
}

static void note_sample(const struct run *run, struct str *out)
{
	struct sampled s;

	if (sampled_read(json_object_get(run->json, "planned"), &s)) {
		str_add(out, "a sample of the pairs, ");
		sampled_rounds_text(&s, out);
		str_add(out, "; sure to be seen: ");
		sampled_sure_text(&s, out);
		str_add(out, "; chance of being "
			     "seen: ");
		sampled_chance_text(&s, out);
	}
}

/** Of a fleet: who asked whom, and how fast. */
static void note_pinglist(const struct run *run, struct str *out)
{
	const json_t *planned = json_object_get(run->json, "planned");
	json_int_t groups = json_integer_value(json_object_get(planned,
							       "groups"));

	if (run->mesh && groups > 1) {
		str_addf(out, "every node to every node in %lld groups of "
			 "neighbours, and two pairs of nodes between each two "
			 "groups (--all-pairs: all), at %lld probes a second at "
			 "most in all", (long long)groups,
			 (long long)json_integer_value(json_object_get(
				 planned, "probes_per_s")));
	}
}

/** Tests beyond those that are counted. */
static void note_follow(const struct run *run, struct str *out)
{
	size_t count[CELL_CLASSES], measured = 0;

	follow_count(run, count);
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		measured += run_measured(c) ? count[c] : 0;
	}
	if (measured > 0) {
		str_addf(out, "follow-up: %zu more test%s at the end, to settle "
			 "what the others left open, %zu of which failed",
			 measured, plural(measured),
			 measured - count[CELL_PASS]);
	}
}

/** Who is asked to use what is not there measures nothing, and is not ill. */
static void note_lacking(const struct run *run, struct str *out)
{
	const struct fact_row *first = NULL, *detail;
	size_t n = count_facts(run, "state", "lacking", &first);

	detail = first ? run_fact_of(run, first, "state_detail") : NULL;
	if (detail) {
		str_addf(out, "skipped: %zu rank%s cannot run this test: "
			 "%.300s", n, plural(n), detail->value);
	}
}

/** Skipped, and no part is at fault for it?  Of addresses the segments say
 *  why. */
static bool is_unheard(const struct run *run, size_t at)
{
	return run->cells[at].class == CELL_SKIPPED && !run->mesh &&
	       run->cell_code[at] > 0 &&
	       !witness_is_bad(run, ABOUT_FAULTS, at);
}

/** Letters of an example: a line of a picture. */
#define DETAIL_MAX 120

/** Why tests were skipped where no finding says it. */
static void note_skipped(const struct run *run, struct str *out)
{
	size_t n = 0, first = 0, same = 0;
	char name[PART_NAME_SIZE];
	const char *detail;
	int end;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		if (is_unheard(run, at)) {
			first = n++ == 0 ? at : first;
			same += run->cell_code[at] == run->cell_code[first];
		}
	}
	if (n == 0) {
		return;
	}
	detail = run_cell_detail(run, first);
	str_addf(out, "%zu test%s skipped (%s), for example %s%s", same,
		 same == 1 ? " was" : "s were", run_cell_code(run, first),
		 part_cell_name(run, first, name), detail[0] ? ": " : "");
	end = (int)strcspn(detail, ";");	/* of what one rank says */
	str_addf(out, "%.*s", end < DETAIL_MAX ? end : DETAIL_MAX, detail);
	if (n > same) {
		str_addf(out, "; and %zu more", n - same);
	}
}

#define ON_HOST "on the host: "	/* and why: the fact "data_check" */
#define WHY_MAX 80

/** Where GPUs take no kernels: what was checked otherwise, and what was not. */
static void note_kernels(const struct run *run, struct str *out)
{
	const struct fact_row *first = NULL, *unused;
	size_t host = count_facts(run, "data_check", ON_HOST, &first);
	size_t blind = count_facts(run, "kernel_check", "no", &unused);
	size_t n = host > blind ? host : blind;

	if (n > 0) {
		str_addf(out, "%zu GPU%s cannot run kernels", n, plural(n));
	}
	if (first) {
		str_addf(out, " (%.*s): data was %s", WHY_MAX,
			 first->value + strlen(ON_HOST),
			 json_is_false(run_option(run, "check")) ?
				 "not checked" : "checked on the host");
	}
	if (blind > 0) {
		str_addf(out, "%s kernels that wait for each other and latency "
			 "were not tested", first ? ";" : ":");
	}
}

static void note_shared(const struct run *run, struct str *out)
{
	if (run->shared_cores) {
		str_addf(out, "%s share CPU cores: %s tests are only "
			 "warnings%s", run->mesh ? "nodes" : "ranks",
			 run_slow_word(run),
			 run->contrast.kind == CONTRAST_SCHEDULE ?
			 "; bandwidth lost in parallel may be lost in the "
			 "CPUs, not in the network" : "");
	}
}

/** Nobody who asks for short messages shall think that lines were judged. */
static void note_short(const struct run *run, struct str *out)
{
	char size[32];

	for (int path = 0; path < PATH_CLASSES && out->len == 0; path++) {
		if (run->slow[path].bound_by_latency) {
			units_size_text((uint64_t)run->size_B, size,
					sizeof(size));
			str_addf(out, "a transfer of %s takes little more than "
				 "its latency: slow links do not show; use "
				 "larger messages", size);
		}
	}
}

/** Fact @name of @node, in any scope; "" without one. */
static const char *fact_of(const struct run *run, const char *node,
			   const char *name)
{
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->node, node) == 0 && strcmp(f->fact, name) == 0) {
			return f->value;
		}
	}
	return "";
}

/** What a GPU that is slow, or late, may be so by. */
static void note_modes(const struct run *run, struct str *out)
{
	const struct fact_row *f;

	if (count_facts(run, "mps", "on", &f) > 0) {
		str_addf(out, "MPS runs on %.64s: its GPUs may be busy with "
			 "other processes", f->node);
	}
	if (count_facts(run, "nvml_init", "", &f) > 0 &&
	    strcmp(fact_of(run, f->node, "persistence"), "off") == 0) {
		str_addf(out, "%sthe GPU driver of %.64s took %.12s s to "
			 "start, as persistence mode is off: nvidia-smi -pm 1",
			 out->len > 0 ? "; " : "", f->node, f->value);
	}
}

/** Nobody's fault, and not tested. */
static void note_divided(const struct run *run, struct str *out)
{
	size_t n = 0;

	for (size_t i = 0; i < run->n_facts; i++) {
		n += strcmp(run->facts[i].fact, "gpu_hidden") == 0 &&
		     strcmp(run->facts[i].source, "MIG") == 0;
	}
	if (n > 0) {
		str_addf(out, "%zu GPU%s not tested: MIG divides %s", n,
			 n > 1 ? "s were" : " was", n > 1 ? "them" : "it");
	}
}

/** What was measured with is not what jobs of PyTorch have. */
static void note_torch(const struct run *run, struct str *out)
{
	const struct fact_row *theirs;

	if (count_facts(run, "torch_nccl_version", "", &theirs) > 0) {
		const char *ours = fact_of(run, theirs->node, "nccl_version");

		if (ours[0] && strcmp(ours, theirs->value) != 0) {
			str_addf(out, "this is NCCL %.24s, and the torch of "
				 "python3 has %.24s (%.200s): for that one "
				 "--nccl-lib=torch", ours, theirs->value,
				 fact_of(run, theirs->node, "torch_nccl"));
		}
	}
}

/** Kinds of GPU that are named. */
#define MAX_KINDS 3

/** A mixed cluster is no fault, and a job is best on one kind. */
static void note_mixed(const struct run *run, struct str *out)
{
	const char *kinds[MAX_KINDS + 1];
	size_t n = 0, k;

	for (size_t i = 0; i < run->n_facts && n <= MAX_KINDS; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, "name") != 0 ||
		    !str_starts(f->scope, "gpu")) {
			continue;
		}
		for (k = 0; k < n && strcmp(kinds[k], f->value) != 0; k++) {
			;
		}
		kinds[k] = f->value;
		n = k == n ? n + 1 : n;
	}
	for (k = 0; n > 1 && k < n && k < MAX_KINDS; k++) {
		str_addf(out, "%s%.60s", k ? ", " : "different GPU models (",
			 kinds[k]);
	}
	if (n > 1) {
		str_addf(out, "%s): keep a job on one model with sbatch "
			 "--constraint=FEATURE", n > MAX_KINDS ? ", ..." : "");
	}
}

static void note_facts(const struct run *run, struct str *out)
{
	size_t n = skew_unheard(run);

	if (run->facts_cut > 0) {
		str_addf(out, "only the first %d rows of facts.csv were "
			 "read: %zu node%s not compared with the others",
			 RUN_MAX_FACTS, n, n == 1 ? " was" : "s were");
	}
}

/** Rows of different times stand side by side. */
static void note_resumed(const struct run *run, struct str *out)
{
	const json_t *resumes = json_object_get(run->json, "resumes");
	size_t n = json_array_size(resumes);
	char utc[CAPTION_UTC_SIZE];

	if (n > 0) {
		caption_utc(json_member(json_array_get(resumes, n - 1), "utc"),
			    utc);
		str_addf(out, "resumed %zu time%s, last %s", n, plural(n), utc);
	}
	if (n > 0 && run->mended > 0) {
		str_addf(out, ": %zu test%s failed before and pass%s now",
			 run->mended, plural(run->mended),
			 run->mended == 1 ? "es" : "");
	}
}

/** What each rail keeps to itself is no fault, but NCCL has to know. */
static void note_unrouted(const struct run *run, struct str *out)
{
	if (run->mesh && run->mesh->unrouted > 0) {
		str_addf(out, "%zu path%s between segments %s not expected to "
			 "pass: the nodes have no route from one to the other "
			 "(for NCCL: NCCL_CROSS_NIC=0)", run->mesh->unrouted,
			 plural(run->mesh->unrouted),
			 run->mesh->unrouted == 1 ? "is" : "are");
	}
}

/** Ports that were left apart: were it wrong, nobody would see it otherwise. */
static void note_fabrics(const struct run *run, struct str *out)
{
	const json_t *fabrics = json_object_get(
		json_object_get(run->json, "planned"), "fabrics");
	const json_t *fabric;
	size_t i;

	json_array_foreach(fabrics, i, fabric) {
		str_addf(out, "%s%.112s", i ? "; " : "no pair was planned "
			 "between ports of different fabrics: ",
			 json_is_string(fabric) ? json_string_value(fabric) :
						  "?");
	}
}

/** Fewer ports than there are, and nobody typed so. */
static void note_hca(const struct run *run, struct str *out)
{
	const char *hca = json_member(
		json_object_get(run->json, "planned"), "hca");

	if (hca[0] != '\0') {
		str_addf(out, "HCA ports by %.300s; --hca takes others", hca);
	}
}

static void note_bad_rows(const struct run *run, struct str *out)
{
	if (run->bad_rows > 0) {
		str_addf(out, "%zu damaged row%s ignored; the last: %s",
			 run->bad_rows, plural(run->bad_rows), run->bad_why);
	}
}

static void note_final(const struct run *run, struct str *out)
{
	if (run->cell_row && !run_has_final(run)) {
		str_addf(out, "results-final.csv is not written: %zu rows are "
			 "too few for %zu tests; --csv prints it", run->rows,
			 run_n_cells(run));
	}
}

static void note_foreign(const struct run *run, struct str *out)
{
	if (run->foreign) {
		str_add(out, "other users can write to the run directory: "
			"commands are shown without the options of the run");
	}
}

static void note_unread(const struct run *run, struct str *out)
{
	if (run->unread[0]) {
		str_addf(out, "left out: %s", run->unread);
	}
}

/** As only a list that was typed does where rails are apart. */
static bool plans_between_rails(const struct run *run)
{
	const struct part p = part_of_kind(PART_CROSS_RAIL);
	size_t at = 0;

	while (at < run_n_cells(run) &&
	       (run->cells[at].class == CELL_UNPLANNED ||
		!part_touches_at(run, &p, at))) {
		at++;
	}
	return at < run_n_cells(run);
}

/** By design, as the user has it or the routes say. */
static void note_rails(const struct run *run, struct str *out)
{
	const json_t *planned = json_object_get(run->json, "planned");
	const char *by = json_member(planned, "rails_by");

	if (!json_is_true(json_object_get(planned, "rails_apart")) ||
	    plans_between_rails(run)) {
		return;
	}
	str_add(out, "pairs between rails were not tested: ");
	if (by[0] != '\0') {
		str_addf(out, "%.60s have no route from the network of one rail "
			 "to that of another (facts.csv: no_route_to); "
			 "--fabric=any tests them", by);
	} else {
		str_add(out, "the fabric does not connect them "
			"(--fabric=rail-only)");
	}
}

bool caption_note(const struct run *run, int i, char *buf, size_t size)
{
	/* in the order in which they matter */
	static void (*const notes[])(const struct run *run, struct str *out) = {
		note_drill, note_error, note_expect, note_transport,
		note_resumed, note_lacking, note_skipped, note_kernels,
		note_unrouted, note_hca, note_fabrics, note_rails, note_sample,
		note_pinglist,
		note_follow,
		note_short, note_shared, note_built_so, note_divided,
		note_modes, note_torch,
		note_mixed, note_facts,
		note_bad_rows, note_unread, note_final, note_foreign,
	};
	struct str out = STR_INIT;

	for (size_t k = 0; k < sizeof(notes) / sizeof(*notes) && i >= 0; k++) {
		str_reset(&out);
		notes[k](run, &out);
		i -= out.len > 0;
	}
	snprintf(buf, size, "%s", str_text(&out));
	str_release(&out);
	return i < 0;
}
