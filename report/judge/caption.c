/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes and captions that texts, pictures and HTML share. */
#include "report/judge/caption.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/cells.h"
#include "lib/data/json.h"
#include "report/judge/findings.h"
#include "report/model/run.h"

/* ---- slow by design ------------------------------------------------------ */

/*
 * GPUs that are slower on every node, such as those far from the NICs or in a
 * slot with fewer lanes, are slow by design.  No part is worse than its peers,
 * so this is not a finding, but a note for readers who compare nodes with their
 * specification.
 */

/** By less than this, or on fewer nodes, or of fewer GPUs, it is chance. */
#define LEAST_SLOWER 0.03
#define LEAST_NODES  4
#define LEAST_GPUS   4
/** Maximum GPUs per node that are compared. */
#define MOST_GPUS    64

/** Returns the best share of its node's usual value that GPU @gpu reaches on
 *  any node; NAN if a node has no such GPU or not enough to compare. */
static double best_share(const struct run *run, const double *of, int gpu)
{
	double best = NAN;

	for (int i = 0; i < run->n_nodes; i++) {
		const struct cluster_node *n = &run->nodes[i];
		double room[MOST_GPUS], usual;
		size_t known = 0;

		for (int k = 0; k < n->gpus && k < MOST_GPUS; k++) {
			if (isfinite(of[n->first_rank + k])) {
				room[known++] = of[n->first_rank + k];
			}
		}
		if (known < LEAST_GPUS || gpu >= n->gpus ||
		    isnan(of[n->first_rank + gpu])) {
			return NAN;
		}
		usual = stats_select(room, known, known / 2);
		best = fmax(best, of[n->first_rank + gpu] / usual);
	}
	return best;
}

void note_built_so(const struct run *run, struct str *out)
{
	double *of = calloc((size_t)run->n_ranks + 1, sizeof(*of));
	uint32_t *n = calloc((size_t)run->n_ranks + 1, sizeof(*n));
	double least = 1;
	int gpus = 0;

	if (of && n && run->n_nodes >= LEAST_NODES && !run->mesh &&
	    !run->ports && !run->shared_cores) {
		/* the mean bandwidth of each rank with other nodes */
		run_foreach_cell(run, at) {
			const struct cell *c = &run->cells[at];
			int ends[] = { run_src(run, at), run_dst(run, at) };

			for (int k = 0; k < 2 && c->path == PATH_INTER &&
					run_good(c->class) && c->bw_GB_s > 0;
			     k++) {
				of[ends[k]] += (double)c->bw_GB_s;
				n[ends[k]]++;
			}
		}
		for (int r = 0; r < run->n_ranks; r++) {
			of[r] = n[r] ? of[r] / n[r] : NAN;
		}
		for (int g = 0; g < run->nodes[0].gpus; g++) {
			double share = best_share(run, of, g);

			if (share <= 1 - LEAST_SLOWER) {
				str_addf(out, "%s%d", gpus++ ? ", " : "GPU ",
					 g);
				least = fmin(least, share);
			}
		}
	}
	if (gpus > 0) {
		str_addf(out, " of every node: between nodes at most %.0f %% "
			 "of the usual rate of the other GPUs of its node; the "
			 "same on all nodes, so not a finding", 100 * least);
	}
	free(of);
	free(n);
}

/* ---- caption notes ------------------------------------------------------- */

/** Facts @name that begin with @value; @first: one of them. */
static size_t count_facts(const struct run *run, const char *name,
			  const char *value, const struct fact_row **first)
{
	size_t n = 0;

	run_foreach_fact(run, f) {
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
				  "says nothing about the machines" : "");
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
	const char *text = run->rows == 0 ? NULL :
			   caption_transport(run->transport, run->probe);

	str_add(out, text ? text : "");
}

/** Why the coordinator gave up, in its own words. */
static void note_error(const struct run *run, struct str *out)
{
	const struct run_file f = run_file(run->json);

	if (f.error.text[0] != '\0') {
		str_addf(out, "error: %s%s%s", f.error.text,
			 f.error.hint[0] ? "; " : "", f.error.hint);
	}
}

/** A step of several: what those before it found. */
static void note_expect(const struct run *run, struct str *out)
{
	const json_t *list = run_file(run->json).expect;
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

	if (sampled_read(run_file(run->json).planned.sample, &s)) {
		str_add(out, "a sample, ");
		sampled_rounds_text(&s, out);
		str_add(out, "; always detected: ");
		sampled_sure_text(&s, out);
		str_add(out, "; detected with probability: ");
		sampled_chance_text(&s, out);
	}
}

/** Describes the ping plan of a large cluster: groups, and probes per
 *  second. */
static void note_pinglist(const struct run *run, struct str *out)
{
	const struct run_file f = run_file(run->json);

	if (run->mesh && f.planned.n_groups > 1) {
		str_addf(out, "every node to every node in %lld groups of "
			 "neighbours, and two pairs of nodes between each two "
			 "groups (--all-pairs: all), at most %lld probes per "
			 "second in total", (long long)f.planned.n_groups,
			 (long long)f.planned.probes_per_s);
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
		str_addf(out,
			 "follow-up: %s more test%s to decide what was still "
			 "open, %s of them bad", UNITS_COUNT(measured),
			 measured == 1 ? "" : "s",
			 UNITS_COUNT(measured - count[CELL_PASS]));
	}
}

/** Notes what jobs see of tests that failed, as all others run without port
 *  failover. */
static void note_failover(const struct run *run, struct str *out)
{
	if (run->failover.tests > 0) {
		str_addf(out, "port failover: %zu of %zu failed tests pass "
			 "when repeated with it%s",
			 run->failover.passed, run->failover.tests,
			 run->failover.passed == 0 ? ": jobs fail too" :
			 ": jobs with port failover continue there, with less "
			 "bandwidth");
	}
}

/** Notes ranks that were skipped because they lack something that the test
 *  needs; that is not a fault. */
static void note_lacking(const struct run *run, struct str *out)
{
	const struct fact_row *first = NULL, *detail;
	size_t n = count_facts(run, "state", "lacking", &first);

	detail = first ? run_find_fact(run, first->node, first->scope,
				       "state_detail") : NULL;
	if (detail) {
		str_addf(out,
			 "skipped: %zu rank%s cannot run this test: "
			 "%.300s",
			 n, n == 1 ? "" : "s", detail->value);
	}
}

/** Letters of an example: a line of a picture. */
#define DETAIL_MAX 120

/** Notes why tests were skipped if no finding says it. */
static void note_skipped(const struct run *run, struct str *out)
{
	size_t n = 0, first = 0, same = 0;
	const char *detail;
	int end;

	run_foreach_cell(run, at) {
		/* No part is at fault for these; of addresses their segments
		 * say why. */
		if (run->cells[at].class == CELL_SKIPPED && !run->mesh &&
		    run->cell_code[at] > 0 &&
		    !witness_is_bad(run, ABOUT_FAULTS, at)) {
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
		 PART_CELL_NAME(run, first), detail[0] ? ": " : "");
	end = (int)strcspn(detail, ";");	/* of what one rank says */
	str_addf(out, "%.*s", end < DETAIL_MAX ? end : DETAIL_MAX, detail);
	if (n > same) {
		str_addf(out, "; and %zu more", n - same);
	}
}

#define ON_HOST "on the host: "	/* and why: the fact "data_check" */
#define WHY_MAX 80

/** If GPUs run no kernels: notes how data was checked instead, and which was
 *  not. */
static void note_kernels(const struct run *run, struct str *out)
{
	const struct fact_row *first = NULL, *unused;
	size_t host = count_facts(run, "data_check", ON_HOST, &first);
	size_t blind = count_facts(run, "kernel_check", "no", &unused);
	size_t n = host > blind ? host : blind;

	if (n > 0) {
		str_addf(out, "%zu GPU%s cannot run kernels", n,
			 n == 1 ? "" : "s");
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

/** Notes that short messages do not show slow links. */
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

/** Notes driver modes that can make a GPU slow: MPS, and no persistence
 *  mode. */
static void note_modes(const struct run *run, struct str *out)
{
	const struct fact_row *f, *mode;

	if (count_facts(run, "mps", "on", &f) > 0) {
		str_addf(out, "MPS runs on %.64s: its GPUs may be busy with "
			 "other processes", f->node);
	}
	if (count_facts(run, "nvml_init", "", &f) == 0) {
		return;
	}
	mode = run_find_fact(run, f->node, NULL, "persistence");
	if (mode && strcmp(mode->value, "off") == 0) {
		str_addf(out, "%sthe GPU driver of %.64s took %.12s s to "
			 "start, as persistence mode is off: nvidia-smi -pm 1",
			 out->len > 0 ? "; " : "", f->node, f->value);
	}
}

/** Notes GPUs divided by MIG, which are not tested; that is not a fault. */
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

/** Notes which NCCL was used if the node has others, or if PyTorch there uses
 *  another one. */
static void note_nccl(const struct run *run, struct str *out)
{
	static const char *const names[] = {
		"nccl_version", "nccl_in", "nccl_lib", "nccl_also",
		"torch_nccl_version"
	};
	enum { VERSION, IN, LIB, ALSO, TORCH, N };
	const char *is[N] = { "", "", "", "", "" };
	const struct fact_row *f, *of;

	if (count_facts(run, "nccl_also", "", &of) == 0 &&
	    count_facts(run, "torch_nccl_version", "", &of) == 0) {
		return;
	}
	for (int i = 0; i < N; i++) {
		f = run_find_fact(run, of->node, NULL, names[i]);
		is[i] = f ? f->value : "";
	}
	if (is[VERSION][0] == '\0' || strcmp(is[VERSION], is[TORCH]) == 0) {
		is[TORCH] = "";
	}
	if (is[ALSO][0] || is[TORCH][0]) {
		str_addf(out, "this is NCCL %.24s in %.32s (%.200s)",
			 is[VERSION], is[IN], is[LIB]);
	}
	if (is[ALSO][0]) {
		str_addf(out, ", the first place that has one; not used: "
			 "%.399s: for one of those --nccl-lib=PATH", is[ALSO]);
	}
	if (is[TORCH][0]) {
		str_addf(out, "; the torch of python3 has %.24s: for that one "
			 "--nccl-lib=torch", is[TORCH]);
	}
}

/** Kinds of GPU that are named. */
#define MAX_KINDS 3

/** Notes a mixed cluster, which is not a fault; a job is best on one kind of
 *  node. */
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

/** Notes a resumed run, whose rows are of different times. */
static void note_resumed(const struct run *run, struct str *out)
{
	const json_t *resumes = run_file(run->json).resumes;
	size_t n = json_array_size(resumes);
	char utc[CAPTION_UTC_SIZE];

	if (n > 0) {
		caption_utc(run_entry(resumes, n - 1).utc, utc);
		str_addf(out, "resumed %zu time%s, last %s", n,
			 n == 1 ? "" : "s", utc);
	}
	if (n > 0 && run->mended > 0) {
		str_addf(out, ": %zu test%s failed before and pass%s now",
			 run->mended, run->mended == 1 ? "" : "s",
			 run->mended == 1 ? "es" : "");
	}
}

/** Notes rails without a route to each other: that is not a fault, but NCCL
 *  needs a setting for it. */
static void note_unrouted(const struct run *run, struct str *out)
{
	if (run->mesh && run->mesh->unrouted > 0) {
		str_addf(out,
			 "%zu path%s between segments %s not expected to "
			 "pass: the nodes have no route from one to the other "
			 "(for NCCL: NCCL_CROSS_NIC=0)",
			 run->mesh->unrouted,
			 run->mesh->unrouted == 1 ? "" : "s",
			 run->mesh->unrouted == 1 ? "is" : "are");
	}
}

/** Notes ports that were not paired because of their fabrics, since an error in
 *  that would not show otherwise. */
static void note_fabrics(const struct run *run, struct str *out)
{
	const json_t *fabrics = run_file(run->json).planned.fabrics, *fabric;
	size_t i;

	json_array_foreach(fabrics, i, fabric) {
		str_addf(out, "%s%.112s", i ? "; " : "no pair was planned "
			 "between ports of different fabrics: ",
			 json_is_string(fabric) ? json_string_value(fabric) :
						  "?");
	}
}

/** Return how many UDP ports use each of @links equal links with the
 *  probability @sure, if a hash spreads them evenly: all miss a link with
 *  (1 - 1/m)^n. */
static double flows_needed(double links, double sure)
{
	return ceil(log(1 - pow(sure, 1 / links)) / log((links - 1) / links));
}

#define FLOWS_SURE 0.9

/** Notes how many links --flows has used; if none, and the user set the option,
 *  why. */
static void note_flows(const struct run *run, struct str *out)
{
	const struct run_file file = run_file(run->json);
	const double n = (double)run->flows_tested;
	int64_t asked = 0;
	int links = 1, once;
	double gain;
	bool clear, none;

	json_opt_int(file.whole.given ? file.whole.options : file.options,
		     "flows", 0, INT64_MAX, &asked, NULL);
	none = n == 0 && asked > 1;
	while (n > 0 && flows_needed(links + 1, FLOWS_SURE) <= n) {
		links++;
	}
	if (none && run_is_model(run)) {
		str_add(out, "--flows has no effect: a simulated cluster has "
			"no UDP source ports");
	}
	run_foreach_fact(run, f) {
		if (none && out->len == 0 &&
		    strcmp(f->fact, "flows_lack") == 0) {
			str_addf(out, "no flows on %s of %s: %s", f->scope,
				 f->node, f->value);
		}
	}
	if (n > 0) {
		str_addf(out, "%.0f flow%s per path: ", n, n == 1 ? "" : "s");
	}
	if (n > 0 && links > 1) {
		str_addf(out, "%.0f %% sure that each of %d links was used",
			 100 * FLOWS_SURE, links);
	} else if (n > 0) {
		str_addf(out, "of two links, one may not have been used; "
			 "--flows=%.0f is %.0f %% sure", flows_needed(2,
			 FLOWS_SURE), 100 * FLOWS_SURE);
	}
	once = flows_gain(run, &gain, &clear);
	if (once > 0) {
		str_addf(out, "; %d at once have %.2f times the bandwidth of "
			 "one%s", once, gain, clear ? ": try this "
			 "number in NCCL_IB_QPS_PER_CONNECTION" : "");
	}
}

/** Notes that a setting, not the command line, selected the HCA ports. */
static void note_hca(const struct run *run, struct str *out)
{
	const char *hca = run_file(run->json).planned.hca;

	if (hca[0] != '\0') {
		str_addf(out, "HCA ports by %.300s; --hca takes others", hca);
	}
}

static void note_bad_rows(const struct run *run, struct str *out)
{
	if (run->bad_rows > 0) {
		str_addf(out, "%zu damaged row%s ignored; the last: %s",
			 run->bad_rows, run->bad_rows == 1 ? "" : "s",
			 run->bad_why);
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

/** By design, as the user has it or the routes say. */
static void note_rails(const struct run *run, struct str *out)
{
	const struct run_file f = run_file(run->json);
	const char *by = f.planned.rails_by;
	size_t n;

	if (!rails_left_out(run, &n)) {
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

bool caption_note(const struct run *run, int i, bool line, char *buf,
		  size_t size)
{
	/* in the order in which they matter */
	static const struct {
		void (*add)(const struct run *run, struct str *out);
		bool details;
	} notes[] = {
		{ .add = note_drill, .details = true },
		{ .add = note_error }, { .add = note_expect },
		{ .add = note_transport }, { .add = note_resumed },
		{ .add = note_lacking }, { .add = note_skipped },
		{ .add = note_kernels }, { .add = note_unrouted },
		{ .add = note_flows }, { .add = note_hca },
		{ .add = note_fabrics },
		{ .add = note_rails }, { .add = note_sample, .details = true },
		{ .add = note_pinglist }, { .add = note_follow },
		{ .add = note_failover },
		{ .add = note_short }, { .add = note_shared },
		{ .add = note_built_so }, { .add = note_divided },
		{ .add = note_modes }, { .add = note_nccl },
		{ .add = note_mixed }, { .add = note_facts },
		{ .add = note_bad_rows }, { .add = note_unread },
		{ .add = note_final }, { .add = note_foreign },
	};
	struct str out = STR_INIT;

	for (size_t k = 0; k < sizeof(notes) / sizeof(*notes) && i >= 0; k++) {
		str_reset(&out);
		notes[k].add(run, &out);
		if (out.len > 0 && line && notes[k].details) {
			str_cut(&out, strcspn(str_text(&out), ";"));
		}
		i -= out.len > 0;
	}
	snprintf(buf, size, "%s", str_text(&out));
	str_release(&out);
	return i < 0;
}

/* ---- caption ------------------------------------------------------------- */

const char *caption_utc(const char *utc, char buf[CAPTION_UTC_SIZE])
{
	buf[0] = '\0';
	if (strlen(utc) >= 16) {	/* minutes are enough */
		snprintf(buf, CAPTION_UTC_SIZE, "%.10s %.5s UTC", utc,
			 utc + 11);
	}
	return buf;
}

const char *caption_what(const struct run *run, char *buf, size_t size)
{
	char bytes[32], when[CAPTION_UTC_SIZE];

	caption_utc(run->started_utc, when);
	if (run->mesh && run->n_nodes > 0) {
		int nodes = run->mesh->by_segment;

		/* of one segment the nodes that are in it */
		for (int r = 0; r < run->n_ranks && !run->mesh->by_segment &&
				mesh_segment(run)[0]; r++) {
			nodes += r == 0 || run->ranks[r].node !=
						   run->ranks[r - 1].node;
		}
		nodes = nodes ? nodes : run->n_nodes;
		snprintf(buf, size, "ping on %d node%s with %d address%s%s%s: "
			 "%s%s%s", nodes, nodes == 1 ? "" : "s",
			 run->n_ranks, run->n_ranks == 1 ? "" : "es",
			 mesh_segment(run)[0] ? " in " : "", mesh_segment(run),
			 run->transport[0] ? run->transport : "no method",
			 when[0] ? ", " : "", when);
		return buf;
	}
	if (run->n_nodes == 0) {
		snprintf(buf, size, "%s%s%s", run->probe, when[0] ? ", " : "",
			 when);
		return buf;
	}
	snprintf(buf, size, "%s on %d node%s with %d %s%s: %s%s%s%s%s%s%s",
		 run->probe, run->n_nodes,
		 run->n_nodes == 1 ? "" : "s", run->n_ranks,
		 run->ports && !run->transport[0] ?
			 "port" :
			 spec_transport_rank(run->transport),
		 run->n_ranks == 1 ? "" : "s",
		 run->transport[0] ? run->transport : "no transport",
		 run->size_B > 0 ? ", " : "",
		 run->size_B > 0 ? units_size_text((uint64_t)run->size_B, bytes,
						   sizeof(bytes)) :
				   "",
		 run->schedule[0] ? ", schedule " : "", run->schedule,
		 when[0] ? ", " : "", when);
	return buf;
}

const char *run_slow_word(const struct run *run)
{
	return run->mesh ? "lossy" : "slow";
}

const char *caption_count(const char *what, const size_t count[CELL_CLASSES],
			  const char *slow, char *buf, size_t size)
{
	struct str out = STR_INIT;
	const char *comma = ": ";
	size_t total = 0;

	for (int c = 0; c < CELL_CLASSES; c++) {
		total += count[c];
	}
	str_addf(&out, "%s %s%s", UNITS_COUNT(total), what,
		 total == 1 ? "" : "s");
	for (unsigned i = 1; i <= CELL_CLASSES; i++) {
		unsigned c = i % CELL_CLASSES;	/* not run: the last one */

		if (count[c] > 0) {
			str_addf(&out, "%s%s %s", comma, UNITS_COUNT(count[c]),
				 c == CELL_SLOW ? slow : cell_class_name(c));
			comma = ", ";
		}
	}
	str_copy(buf, size, str_text(&out));
	str_release(&out);
	return buf;
}

const char *caption_cells(const struct run *run, char *buf, size_t size)
{
	size_t count[CELL_CLASSES], n;

	run_count_cells(run, count);
	caption_count("test", count, run_slow_word(run), buf, size);
	n = strlen(buf);
	if (run->n_flows > 0) {
		snprintf(buf + n, size - n, "; %s of their UDP flows lose%s "
			 "packets", UNITS_COUNT(run->n_flows),
			 run->n_flows == 1 ? "s" : "");
	}
	return buf;
}

const char *caption_command(const struct run *run, char *buf, size_t size)
{
	const json_t *argv = run_file(run->json).argv, *word;
	struct str out = STR_INIT;
	size_t i;

	if (run->foreign) {
		str_addf(&out, "gpucheck %s", run->probe);
		argv = NULL;
	}
	json_array_foreach(argv, i, word) {
		const char *text = json_string_value(word);
		const char *slash = text && i == 0 ? strrchr(text, '/') : NULL;

		str_addf(&out, "%s%s", i ? " " : "",
			 slash ? slash + 1 : text ? text : "?");
	}
	str_copy(buf, size, str_text(&out));
	str_release(&out);
	return buf;
}

/** Median, minimum and maximum over some cells. */
struct spread {
	double median, low, high;	/* NAN without any */
	size_t n;
};

/** Returns the spread of @value over the cells of @path (PATH_CLASSES: all
 *  cells), without NAN.  The median takes longest and is only computed if
 *  @median is set. */
static struct spread spread_of(const struct run *run, enum path_class path,
			       double (*value)(const struct run *run,
					       size_t at), bool median)
{
	double *values = median ? calloc(run_n_cells(run) + 1,
					 sizeof(*values)) : NULL;
	struct spread s = { .median = NAN, .low = INFINITY,
			    .high = -INFINITY };

	for (size_t at = 0; (values || !median) && at < run_n_cells(run);
	     at++) {
		double x = path == PATH_CLASSES || run->cells[at].path == path ?
				   value(run, at) : NAN;

		if (!isnan(x)) {
			if (values) {
				values[s.n] = x;
			}
			s.n++;
			s.low = x < s.low ? x : s.low;
			s.high = x > s.high ? x : s.high;
		}
	}
	if (values) {
		s.median = stats_middle(values, s.n);
	}
	free(values);
	return s;
}

static double round_trip(const struct run *run, size_t at)
{
	return (double)run->cells[at].lat_us;
}

static double passed(const struct run *run, size_t at)
{
	return run->cells[at].class == CELL_PASS ?
		       (double)run->cells[at].bw_GB_s : NAN;
}

double caption_round_trip(const struct run *run)
{
	return run->mesh ? spread_of(run, PATH_CLASSES, round_trip,
				     true).median : NAN;
}

bool caption_bandwidth(const struct run *run, enum path_class path, char *buf,
		       size_t size)
{
	char median[UNITS_REAL_SIZE], least[UNITS_REAL_SIZE];
	char most[UNITS_REAL_SIZE];
	struct spread s;

	if (run->mesh && path != PATH_INTER) {
		return false;
	}
	s = run->mesh ? spread_of(run, PATH_CLASSES, round_trip, true) :
			spread_of(run, path, passed, false);
	if (s.n > 0 && run->mesh) {
		snprintf(buf, size, "round trip: median %.0f us, %.0f to %.0f "
			 "in %s paths", s.median, s.low, s.high,
			 UNITS_COUNT(s.n));
	} else if (s.n > 0) {
		snprintf(buf, size, "%s: median %s GB/s, %s to %s in %s good "
			 "tests", run_path_words(path),
			 units_real_text(run->slow[path].median_GB_s, 2,
					 median),
			 units_real_text(s.low, 2, least),
			 units_real_text(s.high, 2, most), UNITS_COUNT(s.n));
	}
	return s.n > 0;
}

bool caption_line(const struct run *run, char *buf, size_t size)
{
	struct spread s = spread_of(run, PATH_CLASSES, run_line_share,
				    true);

	snprintf(buf, size, "line rate: median %.0f %%, lowest %.0f %% in %s "
		 "tests with a known line rate", 100 * s.median, 100 * s.low,
		 UNITS_COUNT(s.n));
	return s.n > 0;
}

bool caption_contrast(const struct run *run, enum path_class path, char *buf,
		      size_t size)
{
	struct spread s = spread_of(run, path, run_ratio, true);

	snprintf(buf, size, "%s: %s / %s, median %.2f, %.2f to %.2f in %s "
		 "tests", run_path_words(path), run->contrast.pass,
		 run->schedule, s.median, s.low, s.high, UNITS_COUNT(s.n));
	return s.n > 0;
}

/* ---- how far a run came ------------------------------------------------- */

const char *caption_status(const struct run *run, const struct verdict *v)
{
	struct sampled s;

	return v->status == VERDICT_PASS &&
	       (run->sampled_step || (run->mesh &&
		run_file(run->json).planned.n_groups > 1) ||
		sampled_read(run_file(run->json).planned.sample, &s)) ?
		       CAPTION_PASS_SAMPLE : verdict_status_name(v->status);
}

bool caption_aside(const struct verdict *v, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < v->n_notes && used < size; i++) {
		used += (size_t)snprintf(buf + used, size - used, "%s%s",
					 i ? "; " : "", v->notes[i].aside);
	}
	return v->n_notes > 0;
}

bool caption_partial(const struct run *run, const struct verdict *v, char *buf,
		     size_t size)
{
	const struct run_file f = run_file(run->json);
	size_t wanted = 0, measured = verdict_measured(v);
	const char *job = f.job_end, *error = f.error.text;
	const char *why = job[0]		? job :
			  run->stop_reason[0] ? run->stop_reason :
			  run->ended	      ? "" :
			  error[0]	      ? error :
			  "its coordinator was killed or lost, or could not "
			  "write";
	struct str out = STR_INIT;

	for (int c = 0; c < CELL_CLASSES; c++) {
		wanted += v->cells[c];
	}
	/* a run that was killed has no rows of the rest, and its plan may count
	 * them; of several probes it counts the probes */
	if ((size_t)f.planned.cells > wanted && !f.planned.rungs) {
		wanted = (size_t)f.planned.cells;
	}
	if (v->going) {
		snprintf(buf, size, "%s", v->going);
		/* of several probes the next ones are not counted yet */
		if (v->status == VERDICT_RUNNING && wanted > 0 &&
		    !run_file(run->json).planned.rungs) {
			snprintf(buf, size, "running: %s of %s measured so "
				 "far; %s", UNITS_COUNT(measured),
				 UNITS_COUNT(wanted), v->going);
		}
		return true;
	}
	if (v->unsaved && !verdict_is_cut(run, v)) {
		snprintf(buf, size, "%s could not be written: make room for it "
			 "and report the run again", v->unsaved);
		return true;
	}
	if (measured < wanted) {
		str_addf(&out, "%s of %s measured%s", UNITS_COUNT(measured),
			 UNITS_COUNT(wanted), why[0] ? ", " : "");
	}
	if (why[0]) {
		str_addf(&out, "the run did not finish (%s)", why);
	}
	if (v->open && out.len == 0) {
		str_add(&out, "some findings were not tested again");
	}
	/* without any measurement nothing is partial */
	snprintf(buf, size, "%s%s", measured > 0 ? "partial: " : "",
		 out.len > 0 ? str_text(&out) : "some tests were not measured");
	str_release(&out);
	return verdict_is_cut(run, v) || v->open;
}
