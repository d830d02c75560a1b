/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds of collectives, and runs that reach little of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/judge/findings.h"
#include "report/model/run.h"
#include "report/model/sweep.h"

/** Eight rails of 50 GB/s, NVLinks of 450 GB/s. */
static struct machine machine(void)
{
	struct machine m;

	machine_init(&m);
	machine_set_rails(&m, 8, 50, 8);
	m.nvlink_GB_s = 450;
	return m;
}

static struct collective_row row_of(const char *op, const char *algo,
				    int64_t nodes, int64_t ranks, double bw)
{
	struct collective_row row;

	record_init(&schema_collective, &row);
	STR_COPY(row.op, op);
	STR_COPY(row.algo, algo);
	row.nodes = nodes;
	row.ranks = ranks;
	row.size_B = INT64_C(8) << 30;
	row.busbw_GB_s = bw;
	row.outcome = OUTCOME_OK;
	return row;
}

static void each_algorithm_has_its_bound(void **state)
{
	static const struct {
		const char *op, *algo;
		int64_t nodes, ranks;
		double most, least;
	} cases[] = {
		{ "allreduce", "Ring", 2, 16, 400, 400 },
		{ "allreduce", "NVLSTree", 2, 16, 750, 750 },
		/* NVLink carries less than two nodes could exchange */
		{ "allreduce", "Tree", 2, 16, 450, 450 },
		{ "allreduce", "Tree", 16, 128, 1270 / 3.0, 1270 / 3.0 },
		{ "allreduce", "CollNetDirect", 4, 32, 775, 775 },
		/* nobody knows: from the plain bound to that of a tree */
		{ "allreduce", "", 2, 16, 750, 400 },
		{ "allreduce", "MSCCL", 2, 16, 750, 400 },
		{ "allgather", "Ring", 4, 32, 400, 400 },
		{ "allgather", "PAT", 4, 32, 450, 450 },
		{ "reducescatter", "Ring", 4, 32, 400, 400 },
		{ "alltoall", "", 2, 16, 93.75, 93.75 },
		{ "alltoall", "", 4, 32, 1550 / 24.0, 1550 / 24.0 },
		{ "broadcast", "", 4, 32, 400, 400 },
		{ "reduce", "Ring", 4, 32, 400, 400 },
		{ "sendrecv", "", 2, 16, 50, 50 },
		/* inside a node by NVLink; NVLS alone exceeds it */
		{ "allreduce", "Ring", 1, 8, 450, 450 },
		{ "allreduce", "NVLS", 1, 8, 700, 700 },
		{ "allreduce", "", 1, 8, 700, 450 },
		{ "alltoall", "", 1, 8, 450, 450 },
		/* a GPU alone has its own NIC */
		{ "allreduce", "Ring", 33, 33, 50, 50 },
		{ "allreduce", "Tree", 2, 2, 50, 50 },
		{ "", "Ring", 2, 16, NAN, NAN },
		{ "allreduce", "Ring", RECORD_NONE, 16, 400, 400 },
		{ "allreduce", "Ring", RECORD_NONE, 12, NAN, NAN },
	};
	const struct machine m = machine();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct collective_row row = row_of(cases[i].op, cases[i].algo,
						   cases[i].nodes,
						   cases[i].ranks, 1);
		struct ceiling most, least;

		ceiling_of_row(&m, &row, &most, &least);
		if (isnan(cases[i].most) != isnan(most.GB_s) ||
		    fabs(most.GB_s - cases[i].most) > 1e-6 ||
		    fabs(least.GB_s - cases[i].least) > 1e-6) {
			fail_msg("%s %s on %d: %g and %g", cases[i].op,
				 cases[i].algo, (int)cases[i].ranks,
				 least.GB_s, most.GB_s);
		}
	}
}

/** What is found in a run with that result: "", "warn" or "fail". */
static const char *found(struct run *run, const struct collective_row *row)
{
	struct sweep s = { .run = run, .machine = machine() };
	struct verdict v = { 0 };
	const char *how;

	assert_int_equal(sweep_add(&s, row), 0);
	assert_int_equal(sweep_group(&s), 0);
	ceiling_findings(run, &s, &v);
	how = v.n == 0 ? "" : v.findings[0].fail ? "fail" : "warn";
	verdict_release(&v);
	sweep_release(&s);
	return how;
}

/* Half of what the algorithm could is never good; what healthy machines reach
 * always is. */
static void half_of_it_is_not_good(void **state)
{
	static const struct {
		const char *op, *algo;
		int64_t nodes;
		double share;	/* that is healthy */
	} cases[] = {
		{ "allreduce", "Ring", 2, 0.92 },
		{ "allreduce", "Tree", 16, 0.62 },
		{ "allreduce", "NVLSTree", 2, 0.64 },
		{ "allreduce", "NVLS", 1, 0.68 },
		{ "allreduce", "Ring", 1, 0.76 },
		{ "allgather", "Ring", 4, 0.9 },
		{ "alltoall", "", 4, 0.7 }, { "sendrecv", "", 2, 0.92 },
		{ "broadcast", "", 2, 0.9 },
	};
	struct run run = { .json = json_object() };
	struct collective_row row;

	(void)state;
	assert_int_equal(expected_read(NULL, &run.expected, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct machine m = machine();
		struct ceiling most, least;

		row = row_of(cases[i].op, cases[i].algo, cases[i].nodes,
			     8 * cases[i].nodes, 1);
		ceiling_of_row(&m, &row, &most, &least);
		row.busbw_GB_s = 0.5 * most.GB_s;
		assert_true(found(&run, &row)[0]);
		row.busbw_GB_s = 0.3 * most.GB_s;
		assert_string_equal(found(&run, &row), "fail");
		row.busbw_GB_s = cases[i].share * most.GB_s;
		assert_string_equal(found(&run, &row), "");
		/* protocols for small messages, and small messages */
		row.busbw_GB_s = 0.3 * most.GB_s;
		STR_COPY(row.proto, "LL");
		assert_string_equal(found(&run, &row), "");
		row.proto[0] = '\0';
		row.size_B = 1 << 20;
		assert_string_equal(found(&run, &row), "");
	}
	/* a healthy ring between two nodes, of which no log says so */
	row = row_of("allreduce", "", 2, 16, 0.53 * 750);
	assert_string_equal(found(&run, &row), "");
	row.busbw_GB_s = 200;
	assert_string_equal(found(&run, &row), "fail");
	run_release(&run);
}

/* Every size of a cluster: 1 to 8 nodes of 8 GPUs, 2 to 33 of one. */
static void no_half_passes(void **state)
{
	static const char *const algos[] = {
		"Ring", "Tree", "NVLSTree", "CollNetDirect", "NVLS"
	};
	struct run run = { .json = json_object() };
	const struct machine m = machine();

	(void)state;
	assert_int_equal(expected_read(NULL, &run.expected, NULL), 0);
	for (int i = 0; i < (8 + 32) * 5; i++) {
		int nodes = i / 5 < 8 ? i / 5 + 1 : i / 5 - 6;
		struct collective_row row = row_of("allreduce", algos[i % 5],
						   nodes, i / 5 < 8 ?
						   8 * nodes : nodes, 0);
		struct ceiling most, least;

		ceiling_of_row(&m, &row, &most, &least);
		assert_true(least.GB_s > 0 && most.GB_s == least.GB_s);
		row.busbw_GB_s = 0.5 * most.GB_s;
		assert_true(found(&run, &row)[0]);
		row.busbw_GB_s = 0.9 * most.GB_s;
		assert_string_equal(found(&run, &row), "");
		/* a ring of which no log says so */
		row = row_of("allreduce", "Ring", nodes, row.ranks, 0);
		ceiling_of_row(&m, &row, &most, &least);
		row.busbw_GB_s = 0.92 * least.GB_s;
		row.algo[0] = '\0';
		assert_string_equal(found(&run, &row), "");
		row.busbw_GB_s = 0.5 * least.GB_s;
		assert_true(found(&run, &row)[0]);
	}
	run_release(&run);
}

static void rails_are_a_number_and_a_rate(void **state)
{
	static const char *const wrong[] = {
		"", "8", "8x", "x400G", "8x400", "8x400Gb", "0x400G", "65x400G",
		"8x0G", "8x-4G", "8x99999G", "8xnanG", "8xinfG", "8 x 400G",
	};
	double GB_s;
	int n;

	(void)state;
	assert_int_equal(machine_rails_parse("4x200G", &n, &GB_s), 0);
	assert_int_equal(n, 4);
	assert_true(fabs(GB_s - 25) < 1e-9);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(machine_rails_parse(wrong[i], &n, &GB_s), -1);
	}
}

/** By the ports of the narrowest node; not if NCCL went by sockets. */
static void a_run_knows_its_rails(void **state)
{
	static const struct fact_row facts[] = {
		{ .node = "n0", .scope = "gpu0", .fact = "name",
		  .value = "NVIDIA H200" },
		{ .node = "n0", .scope = "mlx5_0", .fact = "line_rate",
		  .value = "50" },
		{ .node = "n0", .scope = "mlx5_1", .fact = "line_rate",
		  .value = "50" },
		{ .node = "n0", .scope = "mlx5_9", .fact = "line_rate",
		  .value = "50" },
		{ .node = "n1", .scope = "mlx5_0", .fact = "line_rate",
		  .value = "50" },
		{ .node = "n1", .scope = "mlx5_1", .fact = "line_rate",
		  .value = "25" },
		{ .node = "n1", .scope = "gpu0", .fact = "network",
		  .value = "Socket" },
	};
	const size_t n = sizeof(facts) / sizeof(*facts);
	struct run run = { .transport = "nccl" };
	struct machine m;

	(void)state;
	run.json = json_loads(
		"{\"nodes\": [{\"name\": \"n0\", \"gpus\": 2, \"nics\": 2, "
		"\"nic_of\": [0, 1], \"nic_names\": [\"mlx5_0\", \"mlx5_1\"]}, "
		"{\"name\": \"n1\", \"gpus\": 2, \"nics\": 2, "
		"\"nic_of\": [0, 1], \"nic_names\": [\"mlx5_0\", \"mlx5_1\"]}]}",
		0, NULL);
	assert_non_null(run.json);
	assert_int_equal(expected_read(NULL, &run.expected, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(run_add_fact(&run, &facts[i]), 0);
	}
	run.n_facts = n - 1;
	machine_of_run(&run, &m);
	assert_true(fabs(m.rails_GB_s - 75) < 1e-9);
	assert_true(fabs(m.nic_GB_s - 25) < 1e-9);
	assert_true(fabs(m.nvlink_GB_s - 450) < 1e-9);
	assert_int_equal(m.rails, 2);
	run.n_facts = n;
	machine_of_run(&run, &m);
	assert_true(isnan(m.rails_GB_s));
	STR_COPY(run.transport, "tcp");
	machine_of_run(&run, &m);
	assert_true(isnan(m.nvlink_GB_s));
	run_release(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_algorithm_has_its_bound),
		cmocka_unit_test(half_of_it_is_not_good),
		cmocka_unit_test(no_half_passes),
		cmocka_unit_test(rails_are_a_number_and_a_rate),
		cmocka_unit_test(a_run_knows_its_rails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
