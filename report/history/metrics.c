/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/history/history.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"

#define BYTES_PER_GB 1e9

/** Output state of a family's samples. */
struct sheet {
	const struct summary *s;
	const char *name;	/* of the family that is at it */
	struct str *out;
};

/** @text as the value of a label. */
static void add_value(struct str *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n') {
			str_add(out, "\\n");
			continue;
		}
		if (*text == '\\' || *text == '"') {
			str_addch(out, '\\');
		}
		str_addch(out, *text);
	}
}

/** A sample with the label probe and @n others, each a name and a value; none
 *  of what was not measured. */
static void sample(struct sheet *m, const char *const labels[][2], size_t n,
		   double value)
{
	if (!isfinite(value)) {
		return;
	}
	str_addf(m->out, "%s{probe=\"", m->name);
	add_value(m->out, m->s->probe);
	for (size_t i = 0; i < n; i++) {
		str_addf(m->out, "\",%s=\"", labels[i][0]);
		add_value(m->out, labels[i][1]);
	}
	str_addf(m->out, "\"} %.15g\n", value);
}

static void sample_of(struct sheet *m, const char *label, const char *text,
		      double value)
{
	const char *const labels[][2] = { { label, text } };

	sample(m, labels, 1, value);
}

/* ---- families ------------------------------------------------------------ */

static void put_build(struct sheet *m)
{
	sample_of(m, "version", m->s->version, 1);
}

static void put_status(struct sheet *m)
{
	static const char *const all[] = {
		"pass", "warn", "fail", "partial", "unknown"
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		sample_of(m, "status", all[i],
			  strcmp(m->s->status, all[i]) == 0);
	}
}

static double time_of(const char *utc)
{
	const int64_t s = clock_utc_s(utc);

	return s > 0 ? (double)s : NAN;
}

/** How many findings are like number @i; 0: it is not the first of them. */
static size_t count_like(const struct summary *s, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < s->n_findings; k++) {
		const bool like = s->findings[k].fail == s->findings[i].fail &&
				  strcmp(s->findings[k].code,
					 s->findings[i].code) == 0;

		if (like && k < i) {
			return 0;
		}
		n += like;
	}
	return n;
}

static void put_findings(struct sheet *m)
{
	const struct summary *s = m->s;

	for (size_t i = 0; i < s->n_findings; i++) {
		const struct summary_finding *f = &s->findings[i];
		const char *const labels[][2] = {
			{ "severity", f->fail ? "fail" : "warn" },
			{ "code", f->code },
		};
		const size_t n = count_like(s, i);

		sample(m, labels, 2, n > 0 ? (double)n : NAN);
	}
}

/** 0 of those without, so that an alarm ends. */
static void put_node_findings(struct sheet *m)
{
	const struct summary *s = m->s;

	for (size_t i = 0; i < s->n_nodes; i++) {
		size_t count[2] = { 0, 0 };

		for (size_t k = 0; k < s->n_findings; k++) {
			const struct summary_finding *f = &s->findings[k];

			count[f->fail] += !f->peer_node[0] &&
				strcmp(f->node, s->nodes[i].name) == 0;
		}
		for (int fail = 1; fail >= 0 && s->nodes[i].tested; fail--) {
			const char *const labels[][2] = {
				{ "node", s->nodes[i].name },
				{ "severity", fail ? "fail" : "warn" },
			};

			sample(m, labels, 2, (double)count[fail]);
		}
	}
}

static void put_node_levels(struct sheet *m)
{
	for (size_t i = 0; i < m->s->n_nodes; i++) {
		sample_of(m, "node", m->s->nodes[i].name,
			  m->s->nodes[i].bw_GB_s * BYTES_PER_GB);
	}
}

static void put_nic_levels(struct sheet *m)
{
	for (size_t i = 0; i < m->s->n_nodes; i++) {
		const struct summary_node *n = &m->s->nodes[i];

		for (size_t k = 0; k < n->n_nics; k++) {
			char number[24];
			const char *const labels[][2] = {
				{ "node", n->name }, { "rail", number },
			};

			snprintf(number, sizeof(number), "%zu", k);
			sample(m, labels, 2, n->nic_GB_s[k] * BYTES_PER_GB);
		}
	}
}

static void put_rail_levels(struct sheet *m)
{
	for (size_t k = 0; k < m->s->n_rails; k++) {
		char number[24];

		snprintf(number, sizeof(number), "%zu", k);
		sample_of(m, "rail", number,
			  m->s->rail_GB_s[k] * BYTES_PER_GB);
	}
}

static void put_path_levels(struct sheet *m)
{
	sample_of(m, "path", "inter_node", m->s->inter_GB_s * BYTES_PER_GB);
	sample_of(m, "path", "intra_node", m->s->intra_GB_s * BYTES_PER_GB);
}

/** Families of one sample, without other labels than the probe. */
enum figure {
	FIGURE_CODE = 1,
	FIGURE_DRILL,
	FIGURE_START,
	FIGURE_END,
	FIGURE_TIME,
	FIGURE_DURATION,
	FIGURE_NODES,
	FIGURE_BUSBW,
	FIGURES
};

/** All gauges, for the older format knows no others of OpenMetrics' types that
 *  would fit.  To add one: a row, and data/site/grafana-dashboard.json. */
static const struct metrics_family {
	const char *name, *help;
	void (*put)(struct sheet *m);	/* NULL: the one sample @figure */
	enum figure figure;
} families[] = {
	{ "gpucheck_build_info", "Version that measured.", put_build, 0 },
	{ "gpucheck_run_status",
	  "Status of the last run: 1 of the one that it has.", put_status, 0 },
	{ "gpucheck_run_exit_code",
	  "0 healthy, 1 fault, 3 not measured, 4 partial.", NULL, FIGURE_CODE },
	{ "gpucheck_run_drill",
	  "1: a drill or a simulated cluster, so not about the machines.",
	  NULL, FIGURE_DRILL },
	{ "gpucheck_run_start_timestamp_seconds", "When the run began.",
	  NULL, FIGURE_START },
	{ "gpucheck_run_end_timestamp_seconds",
	  "When the run ended.", NULL, FIGURE_END },
	{ "gpucheck_run_timestamp_seconds",
	  "When the run ended, or began if its end is not known: the age of "
	  "all that is here.", NULL, FIGURE_TIME },
	{ "gpucheck_run_duration_seconds", "How long the run took.",
	  NULL, FIGURE_DURATION },
	{ "gpucheck_run_nodes", "Nodes that took part.", NULL, FIGURE_NODES },
	{ "gpucheck_findings", "Findings by severity and code.",
	  put_findings, 0 },
	{ "gpucheck_node_findings", "Findings on a node that was tested.",
	  put_node_findings, 0 },
	{ "gpucheck_node_bandwidth_bytes_per_second",
	  "Median of a node's good tests with others, or inside the only one.",
	  put_node_levels, 0 },
	{ "gpucheck_nic_bandwidth_bytes_per_second",
	  "Median of the good tests of a node's NIC on a rail.",
	  put_nic_levels, 0 },
	{ "gpucheck_rail_bandwidth_bytes_per_second",
	  "Median of the good tests of a rail.", put_rail_levels, 0 },
	{ "gpucheck_path_bandwidth_bytes_per_second",
	  "Median of all good tests between nodes, and inside them.",
	  put_path_levels, 0 },
	{ "gpucheck_collective_bus_bandwidth_bytes_per_second",
	  "Bus bandwidth of the collective at its largest size.",
	  NULL, FIGURE_BUSBW },
	{ NULL, NULL, NULL, 0 }
};

void metrics_text(const struct summary *s, int code, struct str *out)
{
	const double start = time_of(s->started_utc);
	const double end = time_of(s->ended_utc);
	const double figures[FIGURES] = {
		[FIGURE_CODE] = code,
		[FIGURE_DRILL] = s->drill || s->model,
		[FIGURE_START] = start,
		[FIGURE_END] = end,
		[FIGURE_TIME] = isfinite(end) ? end : start,
		[FIGURE_DURATION] = end - start >= 0 ? end - start : NAN,
		[FIGURE_NODES] = (double)s->of_nodes,
		[FIGURE_BUSBW] = s->busbw_GB_s * BYTES_PER_GB,
	};
	struct sheet m = { .s = s, .out = out };

	for (const struct metrics_family *f = families; f->name; f++) {
		const size_t before = out->len;
		size_t head;

		str_addf(out, "# HELP %s %s\n# TYPE %s gauge\n", f->name,
			 f->help, f->name);
		head = out->len;
		m.name = f->name;
		if (f->put) {
			f->put(&m);
		} else {
			sample(&m, NULL, 0, figures[f->figure]);
		}
		if (out->len == head) {
			str_cut(out, before);
		}
	}
	str_add(out, "# EOF\n");
}

int metrics_print(const struct str *text, FILE *f)
{
	if (text->failed) {
		errno = ENOMEM;
		return -1;
	}
	return fputs(str_text(text), f) < 0 ? -1 : 0;
}
