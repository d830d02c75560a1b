/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fake_run.h"

#include "probes/sim/model.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/judge/verdict.h"
#include "report/model/run.h"
#include "tests/layout.h"

static struct expected builtin;

static int read_builtin(void **state)
{
	(void)state;
	return expected_read(NULL, &builtin, NULL);
}

static int drop_builtin(void **state)
{
	(void)state;
	expected_release(&builtin);
	return 0;
}

static const struct expected_line *find(const char *name)
{
	for (size_t i = 0; i < builtin.n; i++) {
		if (strcmp(builtin.list[i].name, name) == 0) {
			return &builtin.list[i];
		}
	}
	fail_msg("no section [%s]", name);
	return NULL;
}

/** The model carries what its sections say. */
static void test_model_agrees(void **state)
{
	static const char *const names[] = { "n0", "n1" };
	static const int gpus[] = { 2, 2 }, nics[] = { 2, 2 };
	static const struct drill none = DRILL_INIT;
	struct sim sim = { .drill = &none, .seed = 1 };
	struct xport_result r;
	struct layout l;

	(void)state;
	assert_int_equal(layout_of(&l, 2, names, gpus, nics), 0);
	sim.layout = &l;
	for (int dst = 1; dst < 3; dst++) {
		const struct expected_line *line =
			find(dst == 1 ? "sim_intra" : "sim_inter");

		sim_cell(&sim, 0, dst, 1, UINT64_C(1) << 40, &r);
		assert_true(fabs(r.bw_GB_s / line->line_GB_s - 1) < 1e-3);
		assert_memory_equal(r.path, line->path, strlen(line->path));
	}
	layout_release(&l);
}

static void set_path(struct run *r, int src, int dst, const char *path)
{
	for (size_t i = 1; i < r->n_paths; i++) {
		if (strcmp(r->paths[i], path) == 0) {
			r->cell_way[run_at(r, src, dst)] = (uint16_t)i;
			return;
		}
	}
	STR_COPY(r->paths[r->n_paths], path);
	r->cell_way[run_at(r, src, dst)] = (uint16_t)r->n_paths++;
}

/** One node of GPUs called @gpu, all pairs by @path. */
static void make_node(struct run *r, int gpus, const char *gpu,
		      const char *path)
{
	fake_run(r, 1, gpus, gpus);
	for (int s = 0; s < gpus; s++) {
		char scope[16];

		snprintf(scope, sizeof(scope), "gpu%d", s);
		fake_fact(r, "n0", scope, "name", gpu);
		for (int d = 0; d < gpus; d++) {
			set_path(r, s, d, path);
		}
	}
}

/** What is expected of rank 0 -> 1; NAN: nothing. */
static double expected_of(struct run *r)
{
	assert_int_equal(expected_apply(r, &builtin), 0);
	return (double)r->cells[1].expected_GB_s;
}

static const struct hardware {
	const char *gpu, *path, *transport;
	int gpus;
	double line_GB_s;	/* 0: nothing is expected */
} hardware[] = {
	{ "NVIDIA H200", "P2P/NVLink", "cuda", 8, 0.75 * 450 },
	{ "NVIDIA H200", "P2P/CUMEM", "nccl", 8, 0.40 * 450 },
	{ "NVIDIA H100 80GB HBM3", "P2P/NVLink", "cuda", 8, 0.75 * 450 },
	{ "NVIDIA H100 PCIe", "P2P/NVLink", "cuda", 8, 0.40 * 63 },
	{ "NVIDIA A100-SXM4-80GB", "P2P/IPC", "nccl", 8, 0.40 * 300 },
	{ "NVIDIA L40S", "P2P/IPC", "nccl", 4, 0.40 * 31.5 },
	{ "NVIDIA GB200", "P2P/MNNVL", "nccl", 4, 0.40 * 900 },
	/* four of them may share the links in another way */
	{ "NVIDIA H200", "P2P/NVLink", "cuda", 4, 0 },
	{ "NVIDIA H200", "SHM", "nccl", 8, 0 },
	{ "Some other GPU", "P2P/NVLink", "cuda", 8, 0 },
};

static void test_hardware(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(hardware) / sizeof(*hardware); i++) {
		const struct hardware *h = &hardware[i];
		double got;
		struct run r;

		print_message("%s by %s\n", h->gpu, h->path);
		make_node(&r, h->gpus, h->gpu, h->path);
		STR_COPY(r.transport, h->transport);
		for (int c = 0; c < h->gpus * h->gpus; c++) {
			r.cells[c].lat_us = isnan(r.cells[c].bw_GB_s) ? NAN : 0;
		}
		r.cells[1].expected_GB_s = NAN;
		got = expected_of(&r);
		if (h->line_GB_s > 0) {
			assert_true(fabs(got / h->line_GB_s - 1) < 1e-5);
			assert_true(r.cell_line[1] > 0);
		} else {
			assert_true(isnan(got));
			assert_int_equal(r.cell_line[1], 0);
		}
		run_release(&r);
	}
}

/** Networks, by NICs of 50 and 25 GB/s. */
static const struct network {
	const char *path, *nics[2];
	double expected_GB_s;	/* 0: nothing */
} networks[] = {
	{ "NET/IB/GDRDMA", { "nic0", "nic0" }, 0.6 * 25 },
	{ "NET/IBext_v8/GDRDMA+PXN", { "nic0", "nic0" }, 0.6 * 25 },
	{ "NET/Libfabric/GDRDMA", { "nic0", "nic0" }, 0.4 * 25 },
	{ "NET/AWS Libfabric", { "nic0", "nic0" }, 0.4 * 25 },
	{ "NET/OFI/GDRDMA", { "nic0", "nic0" }, 0.4 * 25 },
	{ "NET/Socket", { "nic0", "nic0" }, 0.05 * 25 },
	{ "NET/Plugin of tomorrow", { "nic0", "nic0" }, 0.4 * 25 },
	/* several as one: at least what the faster one carries */
	{ "NET/IB", { "nic0+nic1", "nic0" }, 0.6 * 25 },
	{ "NET/IB", { "nic0", "nic1+nic0" }, 0.6 * 40 },
	{ "NET/IB", { "nic0", "nic10+nic00" }, 0 },
	{ "NET/IB", { "nic0", "" }, 0 },
};

static void every_network_is_expected_something(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(networks) / sizeof(*networks); i++) {
		const struct network *n = &networks[i];
		double got;
		struct run r;

		print_message("%s, %s\n", n->path, n->nics[1]);
		fake_run(&r, 2, 1, 1);
		set_path(&r, 0, 1, n->path);
		STR_COPY(r.ranks[0].nic_name, n->nics[0]);
		STR_COPY(r.ranks[1].nic_name, n->nics[1]);
		fake_fact(&r, "n0", "nic0", "line_rate", "50");
		fake_fact(&r, "n0", "nic1", "line_rate", "10");
		fake_fact(&r, "n1", "nic1", "line_rate", "40");
		fake_fact(&r, "n1", "nic0", "line_rate", "25");
		r.cells[1].lat_us = 0;
		got = expected_of(&r);
		assert_true(n->expected_GB_s > 0 ?
			    fabs(got / n->expected_GB_s - 1) < 1e-5 :
			    isnan(got));
		run_release(&r);
	}
}

/** A NIC says itself what it carries; the slower one counts. */
static void test_nics(void **state)
{
	struct run r;

	(void)state;
	fake_run(&r, 2, 1, 1);
	set_path(&r, 0, 1, "NET/IB/GDRDMA");
	set_path(&r, 1, 0, "NET/IB/GDRDMA");
	STR_COPY(r.ranks[0].nic_name, "mlx5_0");
	STR_COPY(r.ranks[1].nic_name, "mlx5_3");
	fake_fact(&r, "n0", "mlx5_0", "line_rate", "50");
	r.cells[1].lat_us = 0;
	assert_true(isnan(expected_of(&r)));
	free(r.cell_line);
	fake_fact(&r, "n1", "mlx5_3", "line_rate", "25");
	assert_true(fabs(expected_of(&r) / (0.6 * 25) - 1) < 1e-5);
	free(r.cell_line);
	/* of 8 bytes nobody expects a rate */
	r.cell_line = NULL;
	r.size_B = 8;
	r.cells[1].expected_GB_s = NAN;
	assert_true(isnan(expected_of(&r)));
	run_release(&r);
}

/** Where all are slow together no peer shows it, the line does. */
static void test_all_slow(void **state)
{
	static const struct fake_fault all = { .kind = PART_NODE, .a = 0 };
	struct verdict v;
	struct run r;

	(void)state;
	make_node(&r, 8, "NVIDIA H200", "P2P/NVLink");
	STR_COPY(r.transport, "cuda");
	for (int known = 0; known < 2; known++) {
		if (known) {
			assert_int_equal(expected_apply(&r, &builtin), 0);
			assert_int_equal(expected_read(NULL, &r.expected, NULL),
					 0);
		} else {
			fake_slow(&r, &all, 0.4);
		}
		assert_int_equal(levels_mark_slow(&r), 0);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, known);
		assert_int_equal(v.cells[CELL_SLOW], known ? 56 : 0);
		if (known) {
			assert_int_equal(v.findings[0].part.kind, PART_NODE);
			assert_non_null(strstr(v.findings[0].says,
					       "of the expected rate"));
			assert_non_null(strstr(v.findings[0].evidence[0],
					       "(75 % of the line rate 450), "
					       "from nvlink_hop"));
		}
		verdict_release(&v);
	}
	run_release(&r);
}

static const struct refused {
	const char *text, *why;
} refused[] = {
	{ "[a]\npath=x\nline_GB_s=1\npercent=50\nspeed=3\n",
	  "line 5: no such key" },
	{ "[a]\npath=x\nline_GB_s=0\n", "line 3: a value that is" },
	{ "[a]\npath=x\nline_GB_s=1\npercent=101\n", "line 4: a value that" },
	{ "[a]\npath=x\nline_GB_s=1x\n", "line 3: a value that is" },
	{ "[a]\npath=x\ngpus=0\n", "line 3: a value that is" },
	{ "[a]\npath=x\nline_GB_s=nan\n", "line 3: a value that is" },
	{ "path=x\n", "line 1: a section without a name" },
	{ "[a]\nnothing\n", "line 2: " },
	{ "[a]\nline_GB_s=1\npercent=50\n", "[a] lacks path" },
	{ "[a]\npath=x\npercent=50\n", "[a] lacks path, line_GB_s" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct expected x = { 0 };
		struct err e = { 0 };

		print_message("%s\n", refused[i].text);
		assert_int_equal(expected_parse(refused[i].text, &x, &e), -1);
		assert_non_null(strstr(e.text, refused[i].why));
		expected_release(&x);
	}
}

/** What the site says comes first, and may have a name of ours. */
static void test_site_first(void **state)
{
	static const char text[] =
		"[sim_inter]\npath=SIM/inter\nline_GB_s=10\npercent=100\n"
		"percent_sim=50\nsource=here\n";
	struct expected x = { 0 };

	(void)state;
	assert_int_equal(expected_parse(text, &x, NULL), 0);
	assert_int_equal(expected_parse(text, &x, NULL), 0);
	assert_int_equal(x.n, 2);
	assert_true(expected_percent(&x.list[0], "sim") == 50);
	assert_true(expected_percent(&x.list[0], "tcp") == 100);
	expected_release(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model_agrees),
		cmocka_unit_test(test_hardware),
		cmocka_unit_test(test_nics),
		cmocka_unit_test(every_network_is_expected_something),
		cmocka_unit_test(test_all_slow),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_site_first),
	};

	return cmocka_run_group_tests(tests, read_builtin, drop_builtin);
}
