/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs whose ranks are HCA ports, and what those say about themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/judge/verdict.h"
#include "report/model/part.h"
#include "report/show/judged.h"
#include "tests/unit/fake_judge.h"

/** @nodes nodes of two ports each, named as rows would. */
static void fake_ports(struct run *r, int nodes)
{
	fake_run(r, nodes, 2, 2);
	STR_COPY(r->probe, "ib");
	STR_COPY(r->transport, "verbs");
	r->ports = true;
	for (int i = 0; i < r->n_ranks; i++) {
		snprintf(r->ranks[i].nic_name, sizeof(r->ranks[i].nic_name),
			 "mlx5_%d", i % 2);
	}
}

static void release(struct run *r, struct verdict *v)
{
	verdict_release(v);
	run_release(r);
}

/** Corrected bits of eight ports of four nodes, two boards. */
static void like_ports_are_compared(void **state)
{
	static const struct {
		const char *bits[8];
		int bad;	/* rank; -1: none */
	} cases[] = {
		{ { "10", "12", "9", "11", "10", "13", "8", "1000" }, -1 },
		{ { "1e6", "2e6", "8e5", "1e6", "1e6", "3e6", "1e6", "1e9" },
		  7 },
		/* these differ by powers of ten among themselves */
		{ { "1e4", "1e5", "1e6", "1e7", "1e8", "1e5", "1e6", "1e9" },
		  -1 },
		{ { "0", "0", "0", "0", "0", "0", "0", "1e6" }, 7 },
		/* fewer wrong bits than the weakest FEC is meant for */
		{ { "0", "0", "0", "0", "0", "0", "0", "29000" }, -1 },
		/* all bad: nothing to compare with */
		{ { "1e9", "1e9", "1e9", "1e9", "1e9", "1e9", "1e9", "1e9" },
		  -1 },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		const bool apart = i % 2 != 0;	/* a port like no other */
		struct verdict v;
		struct run r;

		fake_ports(&r, 4);
		STR_COPY(r.started_utc, "2026-01-31T09:00:00.000Z");
		STR_COPY(r.last_utc, "2026-01-31T09:00:30.000Z");
		for (int k = 0; k < 8; k++) {
			const char *node = r.nodes[r.ranks[k].node].name;
			const char *nic = r.ranks[k].nic_name;

			fake_fact(&r, node, nic, "rate", "100");
			fake_fact(&r, node, nic, "board", apart && k == 7 ?
				  "MT_2" : "MT_1");
			fake_fact(&r, node, nic, "fec", "RS");
		}
		for (int k = 0; k < 8; k++) {
			const char *bits = cases[i / 2].bits[k];

			if (bits[0] != '0') {
				fake_fact(&r, r.nodes[r.ranks[k].node].name,
					  r.ranks[k].nic_name,
					  "rx_corrected_bits_phy_growth", bits);
			}
		}
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, cases[i / 2].bad >= 0 && !apart);
		if (v.n > 0) {
			assert_string_equal(v.findings[0].code,
					    "link_quality");
			assert_int_equal(v.findings[0].part.node, 3);
			assert_int_equal(v.findings[0].part.index, 1);
			assert_false(v.findings[0].fail);
		}
		verdict_release(&v);
		run_release(&r);
	}
}

static void expect(const struct finding *f, const char *code, int node,
		   int index)
{
	assert_string_equal(f->code, code);
	assert_int_equal(f->part.kind, PART_NIC);
	assert_int_equal(f->part.node, node);
	assert_int_equal(f->part.index, index);
	assert_true(f->act[0] != '\0');
}

static void a_narrow_link_is_a_warning(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_ports(&r, 2);
	for (int port = 0; port < 2; port++) {
		const char *name = port ? "mlx5_1" : "mlx5_0";

		fake_fact(&r, "n1", name, "pcie_speed", "16");
		fake_fact(&r, "n1", name, "pcie_speed_max", "16");
		fake_fact(&r, "n1", name, "pcie_width", port ? "8" : "16");
		fake_fact(&r, "n1", name, "pcie_width_max", "16");
	}
	/* nobody knows what it could do */
	fake_fact(&r, "n0", "mlx5_0", "pcie_width", "4");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	expect(&v.findings[0], "pcie_downgraded", 1, 1);
	assert_non_null(strstr(v.findings[0].says, "on 8 of 16 lanes"));
	assert_null(strstr(v.findings[0].says, "GT/s"));
	assert_int_equal(v.status, VERDICT_WARN);
	release(&r, &v);
}

/** One of four is odd; of two against two the lower ones are. */
static void an_odd_mtu_is_a_warning(void **state)
{
	static const struct {
		const char *mtu[4];	/* n0:0, n0:1, n1:0, n1:1 */
		size_t n;
		int first;		/* rank of the first finding */
	} cases[] = {
		{ { "4096", "4096", "4096", "4096" }, 0, 0 },
		{ { "4096", "4096", "1024", "4096" }, 1, 2 },
		{ { "1024", "1024", "1024", "4096" }, 1, 3 },
		{ { "1024", "4096", "1024", "4096" }, 2, 0 },
		{ { "4096", "", "", "" }, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict v;
		struct run r;

		fake_ports(&r, 2);
		for (int k = 0; k < 4; k++) {
			if (cases[i].mtu[k][0]) {
				fake_fact(&r, k / 2 ? "n1" : "n0",
					  r.ranks[k].nic_name, "active_mtu",
					  cases[i].mtu[k]);
			}
		}
		v = judge(&r);
		assert_int_equal(v.n, cases[i].n);
		if (v.n > 0) {
			expect(&v.findings[0], "mtu_differs",
			       cases[i].first / 2, cases[i].first % 2);
		}
		release(&r, &v);
	}
}

/** What it counts is evidence, unless software plays the port. */
static void counters_that_grew(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_ports(&r, 2);
	fake_fact(&r, "n0", "mlx5_1", "packet_seq_err_growth", "12");
	fake_fact(&r, "n0", "mlx5_1", "local_ack_timeout_err_growth", "3");
	fake_fact(&r, "n1", "mlx5_0", "software", "yes");
	fake_fact(&r, "n1", "mlx5_0", "packet_seq_err_growth", "12");
	fake_fact(&r, "n1", "mlx5_7", "symbol_error_growth", "1");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	expect(&v.findings[0], "retransmits", 0, 1);
	assert_int_equal(v.findings[0].n_evidence, 1);
	release(&r, &v);
}

/** A port that does not open says why, and its cells accuse nobody else. */
static void a_port_that_does_not_open(void **state)
{
	static const struct fake_fault port = { .kind = PART_GPU, .a = 1,
						.b = 0 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_ports(&r, 2);
	fake_break(&r, &port, OUTCOME_SKIPPED, "memlock");
	fake_fact(&r, "n1", "nic0", "state", "open_failed");
	fake_fact(&r, "n1", "nic0", "state_code", "memlock");
	fake_fact(&r, "n1", "nic0", "state_detail", "cannot lock memory");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	expect(&v.findings[0], "memlock", 1, 0);
	assert_true(v.findings[0].fail);
	assert_non_null(strstr(v.findings[0].says, "cannot be opened"));
	assert_non_null(strstr(v.findings[0].act, "gpucheck memlock"));
	release(&r, &v);
}

/** Asked for what is not there: skipped, and nobody is to blame. */
static void what_is_lacking_is_no_fault(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_ports(&r, 2);
	for (int i = 0; i < 16; i++) {
		fake_cell(&r, i / 4, i % 4, OUTCOME_SKIPPED, "cuda_missing");
	}
	fake_fact(&r, "n0", "nic0", "state", "lacking");
	v = judge(&r);
	assert_int_equal(v.n, 0);
	assert_int_equal(v.status, VERDICT_UNKNOWN);
	assert_int_equal(verdict_exit(&r, &v), 3);
	release(&r, &v);
}

/** Inside its node a port is used as well: no GPU is accused. */
static void a_dead_port_is_a_nic(void **state)
{
	static const struct fake_fault port = { .kind = PART_GPU, .a = 1,
						.b = 1 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_ports(&r, 3);
	fake_break(&r, &port, OUTCOME_ERROR, "port_down");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	expect(&v.findings[0], "port_down", 1, 1);
	assert_int_equal(v.findings[0].explained, 10);
	assert_non_null(strstr(v.findings[0].says, "NIC 1 of n1 (mlx5_1)"));
	for (size_t i = 0; i < v.findings[0].n_or; i++) {
		assert_int_not_equal(v.findings[0].or_parts[i].kind, PART_GPU);
	}
	release(&r, &v);
}

/** Ports of 25 GB/s; @share of it in the cell from @src to @dst. */
static void fake_line(struct run *r, int src, int dst, double share)
{
	size_t n = (size_t)r->n_ranks;

	for (size_t at = 0; at < n * n; at++) {
		struct cell *c = &r->cells[at];

		c->expected_GB_s = 25;
		if (c->class == CELL_PASS) {
			c->bw_GB_s = at == run_at(r, src, dst) ?
					     (float)(25 * share) : 24;
		}
	}
	cells_mark_slow(r->cells, n * n, r->size_B, r->slow);
}

/** Too few peers to compare with, but the line is known. */
static void below_the_line_is_slow(void **state)
{
	static const struct {
		double share;
		enum verdict_status status;
	} cases[] = {
		{ 0.91, VERDICT_PASS }, { 0.89, VERDICT_FAIL },
		{ 0.5, VERDICT_FAIL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict v;
		struct run r;

		fake_ports(&r, 2);
		fake_line(&r, 0, 2, cases[i].share);
		v = judge(&r);
		assert_int_equal(v.status, cases[i].status);
		if (v.n > 0) {
			assert_string_equal(v.findings[0].code, "slow");
			assert_non_null(strstr(v.findings[0].says,
					       "of the line rate"));
			assert_non_null(strstr(v.findings[0].evidence[0],
					       "of the line rate 25.00 GB/s"));
		}
		release(&r, &v);
	}
}

/** Gb/s beside GB/s, and the share of the line; nothing for what failed. */
static void a_table_of_cells(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_ports(&r, 1);
	fake_line(&r, 0, 1, 0.96);
	fake_cell(&r, 1, 0, OUTCOME_ERROR, "wc_retry_exc");
	table_render(&r, &out);
	assert_string_equal(str_text(&out),
		"from        to             GB/s     Gb/s   line       us"
		"  path\n"
		"n0:0 mlx5_0 n0:1 mlx5_1  24.000   192.00   96 %     5.00"
		"  \n"
		"n0:1 mlx5_1 n0:0 mlx5_0       -        -      -        -"
		"  fail wc_retry_exc\n");
	str_release(&out);
	run_release(&r);

	fake_ports(&r, 4);		/* 56 cells: the slowest ones */
	fake_line(&r, 3, 5, 0.7);
	table_render(&r, &out);
	assert_non_null(strstr(str_text(&out),
			       "the 16 slowest of 56 tests\n"));
	assert_non_null(strstr(str_text(&out),
			       "path\nn1:1 mlx5_1 n2:1 mlx5_1 "));
	str_reset(&out);
	fake_cell(&r, 3, 4, OUTCOME_ERROR, "wc_retry_exc");	/* first */
	table_render(&r, &out);
	assert_non_null(strstr(str_text(&out), "1 failed test, then the 16 "
			       "slowest of 56 tests\n"));
	assert_non_null(strstr(str_text(&out),
			       "path\nn1:1 mlx5_1 n2:0 mlx5_0 "));
	str_release(&out);
	run_release(&r);
}

/** Storage on Ethernet beside InfiniBand: each is compared with its own. */
static void fabrics_are_compared_with_themselves(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_ports(&r, 3);
	for (int rank = 0; rank < r.n_ranks; rank++) {
		char node[16];

		snprintf(node, sizeof(node), "n%d", rank / 2);
		r.ranks[rank].group = rank % 2;
		fake_fact(&r, node, rank % 2 ? "mlx5_1" : "mlx5_0", "rate",
			  rank % 2 == 0 ? "400" : rank == 5 ? "100" : "200");
	}
	v = judge(&r);
	assert_int_equal(v.n, 1);
	expect(&v.findings[0], "rate_differs", 2, 1);
	assert_non_null(strstr(v.findings[0].says, "most ports have 200"));
	release(&r, &v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_ports_are_compared),
		cmocka_unit_test(a_narrow_link_is_a_warning),
		cmocka_unit_test(fabrics_are_compared_with_themselves),
		cmocka_unit_test(an_odd_mtu_is_a_warning),
		cmocka_unit_test(counters_that_grew),
		cmocka_unit_test(a_port_that_does_not_open),
		cmocka_unit_test(what_is_lacking_is_no_fault),
		cmocka_unit_test(a_dead_port_is_a_nic),
		cmocka_unit_test(below_the_line_is_slow),
		cmocka_unit_test(a_table_of_cells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
