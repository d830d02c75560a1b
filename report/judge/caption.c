/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ping_run.h"
#include "report/judge/caption.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/sampled.h"

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

	if (run->mesh->by_segment > 0) {
		return run->mesh->by_segment;
	}
	for (int r = 0; r < run->n_ranks; r++) {
		n += r == 0 || run->ranks[r].node != run->ranks[r - 1].node;
	}
	return mesh_segment(run)[0] ? n : run->n_nodes;
}

const char *caption_what(const struct run *run, char *buf, size_t size)
{
	char bytes[32], when[CAPTION_UTC_SIZE];

	caption_utc(run->started_utc, when);
	if (run->mesh && run->n_nodes > 0) {
		int nodes = count_nodes(run);

		snprintf(buf, size, "ping on %d node%s with %d address%s%s%s: "
			 "%s%s%s", nodes, plural(nodes),
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
	struct str out = STR_INIT;
	const char *comma = ": ";
	size_t total = 0;

	for (int c = 0; c < CELL_CLASSES; c++) {
		total += count[c];
	}
	str_addf(&out, "%zu %s%s", total, what, total == 1 ? "" : "s");
	for (unsigned i = 1; i <= CELL_CLASSES; i++) {
		unsigned c = i % CELL_CLASSES;	/* not run: the last one */

		if (count[c] > 0) {
			str_addf(&out, "%s%zu %s", comma, count[c],
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
	size_t count[CELL_CLASSES];

	run_count_cells(run, count);
	return caption_count("test", count, run_slow_word(run), buf, size);
}

const char *caption_command(const struct run *run, char *buf, size_t size)
{
	const json_t *argv = json_object_get(run->json, "argv"), *word;
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

/** What some cells say: the middle one, and the ends. */
struct spread {
	double median, low, high;	/* NAN of none */
	size_t n;
};

/** Of the cells of @path, or of all for PATH_CLASSES, whose @value is not
 *  NAN; the middle one, which takes longest, where @median wants it. */
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
			 "in %zu paths", s.median, s.low, s.high, s.n);
	} else if (s.n > 0) {
		snprintf(buf, size, "%s: median %s GB/s, %s to %s in %zu good "
			 "tests", run_path_words(path),
			 units_real_text(run->slow[path].median_GB_s, 2,
					 median),
			 units_real_text(s.low, 2, least),
			 units_real_text(s.high, 2, most), s.n);
	}
	return s.n > 0;
}

bool caption_line(const struct run *run, char *buf, size_t size)
{
	struct spread s = spread_of(run, PATH_CLASSES, run_line_share,
				    true);

	snprintf(buf, size, "line rate: median %.0f %%, lowest %.0f %% in %zu "
		 "tests with a known line rate", 100 * s.median, 100 * s.low,
		 s.n);
	return s.n > 0;
}

bool caption_contrast(const struct run *run, enum path_class path, char *buf,
		      size_t size)
{
	struct spread s = spread_of(run, path, run_ratio, true);

	snprintf(buf, size, "%s: %s / %s, median %.2f, %.2f to %.2f in %zu "
		 "tests", run_path_words(path), run->contrast.pass,
		 run->schedule, s.median, s.low, s.high, s.n);
	return s.n > 0;
}

/* ---- how far a run came ------------------------------------------------- */

/** All that was to be measured: a run that was killed has no rows of the rest,
 *  and its plan may count them.  Of several probes it counts those. */
static size_t count_wanted(const struct run *run, const struct verdict *v)
{
	const json_t *planned = json_object_get(run->json, "planned");
	json_int_t cells = json_integer_value(json_object_get(planned,
							      "cells"));
	size_t n = 0;

	for (int c = 0; c < CELL_CLASSES; c++) {
		n += v->cells[c];
	}
	return cells > 0 && (size_t)cells > n &&
			       !json_object_get(planned, "rungs") ?
		       (size_t)cells : n;
}

const char *caption_status(const struct run *run, const struct verdict *v)
{
	struct sampled s;

	return v->status == VERDICT_PASS &&
	       (run->sampled_step ||
		sampled_read(json_object_get(run->json, "planned"), &s)) ?
		       CAPTION_PASS_SAMPLE : verdict_status_name(v->status);
}

bool caption_partial(const struct run *run, const struct verdict *v, char *buf,
		     size_t size)
{
	size_t wanted = count_wanted(run, v), measured = verdict_measured(v);
	const char *job = json_member(run->json, "job_end");
	const char *error = json_member(json_object_get(run->json, "error"),
					"text");
	const char *why = job[0]		? job :
			  run->stop_reason[0] ? run->stop_reason :
			  run->ended	      ? "" :
			  error[0]	      ? error :
			  "its coordinator was killed or lost, or could not "
			  "write";
	struct str out = STR_INIT;

	if (v->going) {
		snprintf(buf, size, "%s", v->going);
		if (v->status == VERDICT_RUNNING && wanted > 0) {
			snprintf(buf, size, "running: %zu of %zu measured so "
				 "far", measured, wanted);
		}
		return true;
	}
	if (measured < wanted) {
		str_addf(&out, "%zu of %zu measured%s", measured, wanted,
			 why[0] ? ", " : "");
	}
	if (why[0]) {
		str_addf(&out, "the run did not finish (%s)", why);
	}
	if (v->open && out.len == 0) {
		str_add(&out, "not all that was found could be tested again");
	}
	/* of nothing there is no part */
	snprintf(buf, size, "%s%s", measured > 0 ? "partial: " : "",
		 out.len > 0 ? str_text(&out) : "not all of it was measured");
	str_release(&out);
	return verdict_is_cut(run, v) || v->open;
}
