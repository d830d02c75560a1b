/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ping_run.h"
#include "report/judge/caption.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/data/json.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "report/judge/skew.h"

static const char *plural(int n)
{
	return n == 1 ? "" : "s";
}

const char *caption_utc(const char *utc, char buf[CAPTION_UTC_SIZE])
{
	buf[0] = '\0';
	if (strlen(utc) >= 16) {	/* minutes are enough */
		snprintf(buf, CAPTION_UTC_SIZE, "%.10s %.5s UTC", utc,
			 utc + 11);
	}
	return buf;
}

/** Those of the run; of one segment those that are in it. */
static int count_nodes(const struct run *run)
{
	int n = 0;

	for (int r = 0; r < run->n_ranks; r++) {
		n += r == 0 || run->ranks[r].node != run->ranks[r - 1].node;
	}
	return mesh_segment(run)[0] ? n : run->n_nodes;
}

const char *caption_what(const struct run *run, char *buf, size_t size)
{
	char bytes[32], when[CAPTION_UTC_SIZE];

	caption_utc(run->started_utc, when);
	if (run->mesh) {
		int nodes = count_nodes(run);

		snprintf(buf, size, "ping on %d node%s with %d address%s%s%s: "
			 "%s%s%s", nodes, plural(nodes),
			 run->n_ranks, run->n_ranks == 1 ? "" : "es",
			 mesh_segment(run)[0] ? " in " : "", mesh_segment(run),
			 run->transport[0] ? run->transport : "no method",
			 when[0] ? ", " : "", when);
		return buf;
	}
	snprintf(buf, size, "%s on %d node%s with %d %s%s: %s%s%s%s%s%s%s",
		 run->probe, run->n_nodes, plural(run->n_nodes), run->n_ranks,
		 run->ports && !run->transport[0] ? "port" :
				spec_transport_rank(run->transport),
		 plural(run->n_ranks),
		 run->transport[0] ? run->transport : "no transport",
		 run->size_B > 0 ? ", " : "",
		 run->size_B > 0 ? units_size_text((uint64_t)run->size_B, bytes,
						   sizeof(bytes)) : "",
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
	static const enum cell_class order[] = {
		CELL_PASS, CELL_SLOW, CELL_FAIL, CELL_TIMEOUT, CELL_CORRUPT,
		CELL_SKIPPED, CELL_NOT_RUN,
	};
	struct str out = STR_INIT;
	const char *comma = ": ";
	size_t total = 0;

	for (int c = 0; c < CELL_CLASSES; c++) {
		total += count[c];
	}
	str_addf(&out, "%zu %s%s", total, what, total == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (count[order[i]] > 0) {
			str_addf(&out, "%s%zu %s", comma, count[order[i]],
				 order[i] == CELL_SLOW ?
					 slow : cell_class_name(order[i]));
			comma = ", ";
		}
	}
	str_copy(buf, size, str_text(&out));
	str_release(&out);
	return buf;
}

const char *caption_cells(const struct run *run, char *buf, size_t size)
{
	size_t count[CELL_CLASSES];

	run_count_cells(run, count);
	return caption_count("test", count, run_slow_word(run), buf, size);
}

const char *caption_command(const struct run *run, char *buf, size_t size)
{
	const json_t *argv = json_object_get(run->json, "argv"), *word;
	struct str out = STR_INIT;
	size_t i;

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

/** The same of round trips: the middle one, and the ends. */
static bool caption_rtt(const struct run *run, char *buf, size_t size)
{
	size_t n = (size_t)run->n_ranks * (size_t)run->n_ranks, passed = 0;
	double *rtt = calloc(n + 1, sizeof(*rtt));

	for (size_t i = 0; rtt && i < n; i++) {
		if (!isnan(run->cells[i].lat_us)) {
			rtt[passed++] = (double)run->cells[i].lat_us;
		}
	}
	if (passed > 0) {
		double median = stats_median(rtt, passed);	/* sorts */

		snprintf(buf, size, "round trip: median %.0f us, %.0f to %.0f "
			 "in %zu paths", median, rtt[0], rtt[passed - 1],
			 passed);
	}
	free(rtt);
	return passed > 0;
}

bool caption_bandwidth(const struct run *run, enum path_class path, char *buf,
		       size_t size)
{
	size_t n = (size_t)run->n_ranks * (size_t)run->n_ranks, passed = 0;
	char median[UNITS_REAL_SIZE], least[UNITS_REAL_SIZE];
	char most[UNITS_REAL_SIZE];
	double low = INFINITY, high = 0;

	if (run->mesh) {
		return path == PATH_INTER && caption_rtt(run, buf, size);
	}
	for (size_t i = 0; i < n; i++) {
		const struct cell *c = &run->cells[i];

		if (c->class == CELL_PASS && c->path == path &&
		    !isnan(c->bw_GB_s)) {
			low = fmin(low, (double)c->bw_GB_s);
			high = fmax(high, (double)c->bw_GB_s);
			passed++;
		}
	}
	if (passed == 0) {
		return false;
	}
	snprintf(buf, size, "%s: median %s GB/s, %s to %s in %zu good tests",
		 path == PATH_INTRA ? "inside a node" : "between nodes",
		 units_real_text(run->slow[path].median_GB_s, 2, median),
		 units_real_text(low, 2, least),
		 units_real_text(high, 2, most), passed);
	return true;
}

bool caption_line(const struct run *run, char *buf, size_t size)
{
	size_t n = (size_t)run->n_ranks * (size_t)run->n_ranks, known = 0;
	double *shares = calloc(n + 1, sizeof(*shares)), median, least;

	for (size_t at = 0; shares && at < n; at++) {
		double share = run_line_share(run, at);

		if (!isnan(share)) {
			shares[known++] = share;
		}
	}
	median = known > 0 ? stats_median(shares, known) : NAN;	/* sorts */
	least = known > 0 ? shares[0] : NAN;
	free(shares);
	snprintf(buf, size, "line rate: median %.0f %%, lowest %.0f %% in %zu "
		 "tests with a known line rate", 100 * median, 100 * least, known);
	return known > 0;
}

bool caption_contrast(const struct run *run, enum path_class path, char *buf,
		      size_t size)
{
	size_t n = (size_t)run->n_ranks * (size_t)run->n_ranks, both = 0;
	double *ratios = run->contrast.outcome ? calloc(n, sizeof(*ratios)) :
						 NULL;

	for (size_t at = 0; ratios && at < n; at++) {
		double ratio = run_ratio(run, at);

		if (run->cells[at].path == path && !isnan(ratio)) {
			ratios[both++] = ratio;
		}
	}
	if (both > 0) {
		double median = stats_median(ratios, both);	/* sorts */

		snprintf(buf, size, "%s: %s / %s, median %.2f, %.2f to %.2f in "
			 "%zu tests",
			 path == PATH_INTRA ? "inside a node" : "between nodes",
			 run->contrast.pass, run->schedule, median, ratios[0],
			 ratios[both - 1], both);
	}
	free(ratios);
	return both > 0;
}

/** Notes in the order in which they matter; each writes, or returns false. */
static bool note_drill(const struct run *run, char *buf, size_t size)
{
	snprintf(buf, size, "DRILL: faults were injected on purpose; this is not a "
		 "result of the machines");
	return run->drill;
}

const char *caption_transport(const char *transport, const char *probe)
{
	static const struct {
		const char *transport, *probe;	/* NULL: any */
		const char *text;
	} notes[] = {
		{ .transport = "sim",
		  .text = "sim is a simulated cluster: no hardware was tested" },
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

static bool note_transport(const struct run *run, char *buf, size_t size)
{
	const char *text = caption_transport(run->transport, run->probe);

	snprintf(buf, size, "%s", text ? text : "");
	return text != NULL;
}

/** Why the coordinator gave up, in its own words. */
static bool note_error(const struct run *run, char *buf, size_t size)
{
	const json_t *error = json_object_get(run->json, "error");
	const char *text = json_string_value(json_object_get(error, "text"));
	const char *hint = json_string_value(json_object_get(error, "hint"));

	snprintf(buf, size, "error: %s%s%s", text ? text : "",
		 hint && hint[0] ? "; " : "", hint ? hint : "");
	return text != NULL;
}

static bool note_stopped(const struct run *run, char *buf, size_t size)
{
	snprintf(buf, size, "the run did not finish (%s): missing tests were not "
		 "measured",
		 run->stop_reason[0] ? run->stop_reason :
				       "it stopped without reporting why");
	return !run->ended || run->stop_reason[0];
}

/** A step of several: what those before it found. */
static bool note_expect(const struct run *run, char *buf, size_t size)
{
	const json_t *list = json_object_get(run->json, "expect");
	const char *first = json_string_value(json_array_get(list, 0));
	size_t n = json_array_size(list);

	snprintf(buf, size, "found before: %.300s", first ? first : "");
	if (first && n > 1) {
		size_t len = strlen(buf);

		snprintf(buf + len, size - len, " (and %zu more)", n - 1);
	}
	return first != NULL;
}

static bool note_sample(const struct run *run, char *buf, size_t size)
{
	const json_t *options = json_object_get(run->json, "options");
	json_int_t k = json_integer_value(json_object_get(options, "sample"));

	snprintf(buf, size, "a sample: %lld random partners per rank; the other "
		 "pairs were not tested", (long long)k);
	return k > 0;
}

/** Who is asked to use what is not there measures nothing, and is not ill. */
static bool note_lacking(const struct run *run, char *buf, size_t size)
{
	const struct fact_row *first = NULL, *f;
	size_t n = 0;

	for (size_t i = 0; i < run->n_facts; i++) {
		f = &run->facts[i];
		if (strcmp(f->fact, "state") == 0 &&
		    strcmp(f->value, "lacking") == 0) {
			n++;
			first = first ? first : f;
		}
	}
	for (size_t i = 0; first && i < run->n_facts; i++) {
		f = &run->facts[i];
		if (strcmp(f->fact, "state_detail") == 0 &&
		    strcmp(f->scope, first->scope) == 0 &&
		    strcmp(f->node, first->node) == 0) {
			snprintf(buf, size, "skipped: %zu rank%s cannot run "
				 "this test: %.300s", n,
				 n == 1 ? "" : "s", f->value);
			return true;
		}
	}
	return false;
}

static bool note_shared(const struct run *run, char *buf, size_t size)
{
	snprintf(buf, size, "ranks share CPU cores: slow tests are only warnings%s",
		 run->contrast.kind == CONTRAST_SCHEDULE ?
			 "; bandwidth lost in parallel may be lost in the "
			 "CPUs, not in the network" : "");
	return run->shared_cores;
}

/** Kinds of GPU that are named. */
#define MAX_KINDS 3

/** A mixed cluster is no fault, and a job is best on one kind. */
static bool note_mixed(const struct run *run, char *buf, size_t size)
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
	snprintf(buf, size, "different GPU models (%.60s, %.60s%s%.60s%s): keep a job "
		 "on one model with sbatch --constraint=FEATURE",
		 n > 0 ? kinds[0] : "", n > 1 ? kinds[1] : "",
		 n > 2 ? ", " : "", n > 2 ? kinds[2] : "",
		 n > MAX_KINDS ? ", ..." : "");
	return n > 1;
}

static bool note_facts(const struct run *run, char *buf, size_t size)
{
	size_t n = skew_unheard(run);

	snprintf(buf, size, "only the first %d rows of facts.csv were "
		 "read: %zu node%s not compared with the others",
		 RUN_MAX_FACTS, n, n == 1 ? " was" : "s were");
	return run->facts_cut > 0;
}

/** Rows of different times stand side by side. */
static bool note_resumed(const struct run *run, char *buf, size_t size)
{
	const json_t *resumes = json_object_get(run->json, "resumes");
	size_t n = json_array_size(resumes);
	char utc[CAPTION_UTC_SIZE];

	if (n == 0) {
		return false;
	}
	caption_utc(json_member(json_array_get(resumes, n - 1), "utc"), utc);
	snprintf(buf, size, "resumed %zu time%s, last %s", n,
		 n == 1 ? "" : "s", utc);
	if (run->mended > 0) {
		size_t len = strlen(buf);

		snprintf(buf + len, size - len, ": %zu test%s failed before "
			 "and pass%s now", run->mended,
			 run->mended == 1 ? "" : "s",
			 run->mended == 1 ? "es" : "");
	}
	return true;
}

static bool note_bad_rows(const struct run *run, char *buf, size_t size)
{
	snprintf(buf, size, "%zu damaged row%s ignored; the last: %s",
		 run->bad_rows, run->bad_rows == 1 ? "" : "s", run->bad_why);
	return run->bad_rows > 0;
}

bool caption_note(const struct run *run, int i, char *buf, size_t size)
{
	static bool (*const notes[])(const struct run *run, char *buf,
				     size_t size) = {
		note_drill, note_error, note_expect, note_transport, note_stopped,
		note_resumed,
		note_lacking, caption_skipped, caption_kernels, note_sample,
		note_shared, note_mixed,
		note_facts, note_bad_rows,
	};

	for (size_t k = 0; k < sizeof(notes) / sizeof(*notes); k++) {
		if (notes[k](run, buf, size) && i-- == 0) {
			return true;
		}
	}
	return false;
}
