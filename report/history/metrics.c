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
	int code;
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

static void put_code(struct sheet *m)
{
	sample(m, NULL, 0, m->code);
}

static void put_drill(struct sheet *m)
{
	sample(m, NULL, 0, m->s->drill || m->s->model);
}

static double time_of(const char *utc)
{
	const int64_t s = clock_utc_s(utc);

	return s > 0 ? (double)s : NAN;
}

static void put_start(struct sheet *m)
{
	sample(m, NULL, 0, time_of(m->s->started_utc));
}

static void put_end(struct sheet *m)
{
	sample(m, NULL, 0, time_of(m->s->ended_utc));
}

static void put_time(struct sheet *m)
{
	const double end = time_of(m->s->ended_utc);

	sample(m, NULL, 0, isfinite(end) ? end : time_of(m->s->started_utc));
}

static void put_duration(struct sheet *m)
{
	const double took = time_of(m->s->ended_utc) -
			    time_of(m->s->started_utc);

	sample(m, NULL, 0, took >= 0 ? took : NAN);
}

static void put_nodes(struct sheet *m)
{
	sample(m, NULL, 0, (double)m->s->of_nodes);
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

static void put_busbw(struct sheet *m)
{
	sample(m, NULL, 0, m->s->busbw_GB_s * BYTES_PER_GB);
}

/** All gauges, for the older format knows no others of OpenMetrics' types that
 *  would fit.  To add one: a row, and data/site/grafana-dashboard.json. */
static const struct metrics_family {
	const char *name, *help;
	void (*put)(struct sheet *m);
} families[] = {
	{ "gpucheck_build_info", "Version that measured.", put_build },
	{ "gpucheck_run_status",
	  "Status of the last run: 1 of the one that it has.", put_status },
	{ "gpucheck_run_exit_code",
	  "0 healthy, 1 fault, 3 not measured, 4 partial.", put_code },
	{ "gpucheck_run_drill",
	  "1: a drill or the model cluster; nothing of it is about machines.",
	  put_drill },
	{ "gpucheck_run_start_timestamp_seconds", "When the run began.",
	  put_start },
	{ "gpucheck_run_end_timestamp_seconds",
	  "When the run ended.", put_end },
	{ "gpucheck_run_timestamp_seconds",
	  "When the run ended, or began if its end is not known: the age of "
	  "all that is here.", put_time },
	{ "gpucheck_run_duration_seconds", "How long the run took.",
	  put_duration },
	{ "gpucheck_run_nodes", "Nodes that took part.", put_nodes },
	{ "gpucheck_findings", "Findings by severity and code.",
	  put_findings },
	{ "gpucheck_node_findings", "Findings on a node that was tested.",
	  put_node_findings },
	{ "gpucheck_node_bandwidth_bytes_per_second",
	  "Median of a node's good tests with others, or inside the only one.",
	  put_node_levels },
	{ "gpucheck_nic_bandwidth_bytes_per_second",
	  "Median of the good tests of a node's NIC on a rail.",
	  put_nic_levels },
	{ "gpucheck_rail_bandwidth_bytes_per_second",
	  "Median of the good tests of a rail.", put_rail_levels },
	{ "gpucheck_path_bandwidth_bytes_per_second",
	  "Median of all good tests between nodes, and inside them.",
	  put_path_levels },
	{ "gpucheck_collective_bus_bandwidth_bytes_per_second",
	  "Bus bandwidth of the collective at its largest size.", put_busbw },
	{ NULL, NULL, NULL }
};

void metrics_text(const struct summary *s, int code, struct str *out)
{
	struct sheet m = { .s = s, .code = code, .out = out };

	for (const struct metrics_family *f = families; f->name; f++) {
		const size_t before = out->len;
		size_t head;

		str_addf(out, "# HELP %s %s\n# TYPE %s gauge\n", f->name,
			 f->help, f->name);
		head = out->len;
		m.name = f->name;
		f->put(&m);
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
