/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ping of a fleet costs beside its packets: plans who asks whom, with the
 * program's own plan, then writes the run directory as if all had answered but
 * one NIC, so that "gpucheck report" can be measured on it.
 * usage: fleet DIR [NODES [RAILS]]	DIR exists; prints CPU s and MiB
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"
#include "probes/host/interface.h"
#include "probes/ping/ping.h"

#define NODES 1000
#define RAILS 8
#define DEAD_NODE 3
#define DEAD_RAIL 2

struct fleet {
	int nodes, rails;
};

static void check(int rc, const struct err *e)
{
	if (rc < 0) {
		fprintf(stderr, "fleet: %s\n", e->text);
		exit(1);
	}
}

static struct interface end_of(int node, int rail)
{
	struct interface i = {
		.net = { .prefix = 16,
			 .ip = { .family = AF_INET,
				 .bytes = { 10, (uint8_t)(rail + 1),
					    (uint8_t)(node / 250),
					    (uint8_t)(node % 250 + 1) } } },
		.mtu_B = 9000, .mac_len = 6, .state = "up",
		.mac = { 2, (uint8_t)rail, (uint8_t)(node >> 8),
			 (uint8_t)node, 0, 1 },
	};

	snprintf(i.name, sizeof(i.name), "rail%d", rail);
	return i;
}

/** As the coordinator describes them to the plan. */
static json_t *describe(const struct fleet *f)
{
	json_t *nodes = json_array();

	for (int n = 0; n < f->nodes; n++) {
		json_t *ends = json_array();
		char name[16];

		for (int r = 0; r < f->rails; r++) {
			const struct interface end = end_of(n, r);

			json_array_append_new(ends, interface_json(&end));
		}
		snprintf(name, sizeof(name), "n%04d", n);
		json_array_append_new(nodes, json_pack(
			"{s:s, s:{s:o}, s:{s:s}}", "name", name, "inventory",
			"interfaces", ends, "ready", "key",
			"00000000000000000000000000000000"));
	}
	return nodes;
}

static void write_run(const char *dir, json_t *run)
{
	struct err e = { 0 };

	json_object_update_new(run, json_pack(
		"{s:i, s:s, s:[s], s:s}", "schema", 1, "probe", "ping", "argv",
		"gpucheck", "ended_utc", "2026-01-31T09:00:00.000Z"));
	check(rundir_write_json(dir, RUN_JSON, run, &e), &e);
}

static bool is_dead(int node, int rail)
{
	return node == DEAD_NODE && rail == DEAD_RAIL;
}

static void add_row(int src, int dst, int rail, struct str *out)
{
	const struct interface from = end_of(src, rail);
	const struct interface to = end_of(dst, rail);
	const bool dead = is_dead(src, rail) || is_dead(dst, rail);
	struct ping_row row;

	record_init(&schema_ping, &row);
	snprintf(row.src_node, sizeof(row.src_node), "n%04d", src);
	snprintf(row.dst_node, sizeof(row.dst_node), "n%04d", dst);
	STR_COPY(row.src_if, from.name);
	STR_COPY(row.dst_if, to.name);
	ip_text(&from.net.ip, row.src_ip, sizeof(row.src_ip));
	ip_text(&to.net.ip, row.dst_ip, sizeof(row.dst_ip));
	snprintf(row.segment, sizeof(row.segment), "10.%d.0.0/16", rail + 1);
	STR_COPY(row.method, "icmp");
	STR_COPY(row.start_utc, "2026-01-31T08:59:00.000Z");
	row.sent = 5;
	row.received = dead ? 0 : 5;
	row.outcome = dead ? OUTCOME_TIMEOUT : OUTCOME_OK;
	if (dead) {
		STR_COPY(row.code, "no_reply");
		STR_COPY(row.detail, "no reply to 5 packets");
	} else {
		row.rtt_min_us = 20;
		row.rtt_avg_us = 25 + (src * 7 + dst * 3) % 10;
		row.rtt_max_us = 60;
	}
	record_add_csv(&schema_ping, &row, out);
}

static void write_rows(const char *dir, const struct fleet *f,
		       const struct pinglist *list)
{
	struct str out = STR_INIT;
	struct err e = { 0 };
	char path[PATH_MAX];
	FILE *file;

	check(rundir_path(dir, RUN_RESULTS, path, &e), &e);
	file = fopen(path, "w");
	check(file ? 0 : err_set(&e, errno, "cannot write '%s'", path), &e);
	record_add_header(&schema_ping, &out);
	for (int a = 0; a < f->nodes; a++) {
		for (int b = 0; b < f->nodes; b++) {
			for (int r = 0; a != b && pinglist_has(list, a, b) &&
			     r < f->rails; r++) {
				add_row(a, b, r, &out);
			}
		}
		fputs(str_text(&out), file);
		str_reset(&out);
	}
	str_release(&out);
	fclose(file);
}

static int take_number(const char *text, int low, int high, int *n,
		       struct err *e)
{
	int64_t value;

	if (units_parse_int(text, low, high, &value, e) < 0) {
		return -1;
	}
	*n = (int)value;
	return 0;
}

int main(int argc, char **argv)
{
	struct fleet f = { .nodes = NODES, .rails = RAILS };
	struct err e = { 0 };
	struct rusage used;
	struct spec spec;
	json_t *nodes, *plan, *run;
	struct pinglist list;
	clock_t begin;

	if (argc < 2) {
		fputs("usage: fleet DIR [NODES [RAILS]]\n", stderr);
		return 2;
	}
	if (argc > 2) {
		check(take_number(argv[2], 2, 10000, &f.nodes, &e), &e);
	}
	if (argc > 3) {
		check(take_number(argv[3], 1, 250, &f.rails, &e), &e);
	}
	spec_init(&spec);
	nodes = describe(&f);
	begin = clock();
	plan = ping_plan(nodes, &spec, &e);
	check(plan ? 0 : -1, &e);
	getrusage(RUSAGE_SELF, &used);
	printf("%.3f %.0f\n", (double)(clock() - begin) / CLOCKS_PER_SEC,
	       (double)used.ru_maxrss / 1024);
	run = json_object_get(plan, "run");
	list = pinglist_make(f.nodes, false, spec.seed);
	write_run(argv[1], run);
	write_rows(argv[1], &f, &list);
	json_decref(plan);
	json_decref(nodes);
	return 0;
}
