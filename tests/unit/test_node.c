/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node says of itself: whose GPUs it counts, what is a fault by itself,
 * and the line. */
#include "lib/data/allocation.h"
#include "lib/data/record_rows.h"
#include "probes/self/self.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"
#include "report/show/judged.h"
#include "tests/unit/fake_run.h"

/* ---- which GPUs are the job's -------------------------------------------- */

static void a_job_has_its_own_gpus(void **state)
{
	static const struct {
		const char *visible, *job;
		bool in_job;
		const char *taken;	/* of four GPUs, GPU-0 .. GPU-3 */
		int wanted;
	} cases[] = {
		{ .taken = "0123" },
		{ .in_job = true, .taken = "" },
		{ .visible = "1,2", .in_job = true, .taken = "12",
		  .wanted = 2 },
		{ .visible = "1", .job = "0,1,2,3", .taken = "1", .wanted = 1 },
		{ .job = "0-1,3", .in_job = true, .taken = "013", .wanted = 3 },
		{ .visible = "", .in_job = true, .taken = "" },
		{ .visible = "GPU-2,GPU-3", .taken = "23", .wanted = 2 },
		{ .visible = "MIG-4fd2", .taken = "" },
		{ .visible = "NoDevFiles", .taken = "" },
		/* one of those that were given is gone */
		{ .job = "1,2,3,4", .in_job = true, .taken = "123",
		  .wanted = 4 },
		{ .job = "2,3,4", .in_job = true, .taken = "23", .wanted = 3 },
		{ .visible = "3,4", .in_job = true, .taken = "3", .wanted = 2 },
		{ .visible = "3-1,99999999999999999999", .taken = "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct self_gpu gpus[4] = {
			{ .index = 0, .id = { .uuid = "GPU-0" } },
			{ .index = 1, .id = { .uuid = "GPU-1" } },
			{ .index = 2, .id = { .uuid = "GPU-2" } },
			{ .index = 3, .id = { .uuid = "GPU-3" } },
		};
		struct self_share share;
		char taken[8] = "";
		size_t n = 0;

		self_share_find(cases[i].visible, cases[i].job,
				cases[i].in_job, gpus, 4, &share);
		for (int g = 0; g < 4; g++) {
			if (gpus[g].taken) {
				taken[n++] = "0123"[g];
			}
		}
		assert_string_equal(taken, cases[i].taken);
		assert_int_equal(share.wanted, cases[i].wanted);
		assert_int_equal(share.all, !share.source);
	}
}

static void slurm_conf_says_how_many(void **state)
{
	static const char conf[] =
		"# NodeName=n1 Gres=gpu:1\n"
		"ClusterName=x\n"
		"include  nodes.conf\n"
		"Include /etc/more.conf # the rest\n"
		"NodeName=DEFAULT Gres=gpu:4\n"
		"nodename=n[1-3] CPUs=8 \\\n  gres=gpu:h100:8(S:0-1),nic:2\n"
		"NodeName=n4 CPUs=8\n"
		"NodeName=n5 Gres=nic:2 # gpu:8\n";
	static const struct {
		const char *node;
		bool listed;
		int64_t gpus;
	} cases[] = {
		{ "n1", true, 8 }, { "n3", true, 8 }, { "n4", true, 4 },
		{ "n5", true, 0 }, { "n6", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct slurm_conf_node c = { .node = cases[i].node };

		slurm_conf_take(&c, conf);
		assert_int_equal(c.listed, cases[i].listed);
		assert_int_equal(c.gpus, cases[i].gpus);
		assert_int_equal(c.n_includes, 2);
		assert_string_equal(c.includes[0], "nodes.conf");
		assert_string_equal(c.includes[1], "/etc/more.conf");
	}
}

/* ---- what is a fault ----------------------------------------------------- */

struct case_ {
	struct run run;
	struct node_look look;
	struct verdict v;
	struct str line;
};

static void begin(struct case_ *c)
{
	*c = (struct case_){ .look = { .what = "GPUs", .ok = true } };
	c->run.json = json_object();
	c->run.ended = true;
	STR_COPY(c->run.probe, NODE_PROBE);
	assert_int_equal(run_add_node(&c->run, "n1"), 0);
}

static void add(struct case_ *c, const char *scope, const char *fact,
		const char *value)
{
	struct fact_row f = { .node = "n1", .source = "test" };

	STR_COPY(f.scope, scope);
	STR_COPY(f.fact, fact);
	STR_COPY(f.value, value);
	if (strcmp(fact, "port_state") == 0 || strcmp(fact, "link") == 0) {
		run_add_name(&c->run, scope);
	}
	assert_int_equal(run_add_fact(&c->run, &f), 0);
}

static void judge(struct case_ *c)
{
	assert_int_equal(node_judge(&c->run, &c->look, 1, &c->v), 0);
	str_reset(&c->line);
	node_line(&c->run, &c->v, &c->line);
}

static void end(struct case_ *c)
{
	verdict_release(&c->v);
	run_release(&c->run);
	str_release(&c->line);
}

static void a_fact_is_a_fault_or_not(void **state)
{
	static const struct {
		const char *scope, *fact, *value;
		const char *code;	/* NULL: nothing is wrong */
		bool fail;
	} cases[] = {
		{ "gpu0", "lost", "GPU is lost", "gpu_lost", true },
		{ "gpu0", "recovery", "none", NULL, false },
		{ "gpu0", "recovery", "reset", "xid_154_reset", true },
		{ "gpu0", "recovery", "reboot", "xid_154_reboot", true },
		{ "gpu0", "recovery", "drain", "xid_154_drain", true },
		{ "gpu0", "row_remap_failed", "on", "row_remap_failed", true },
		{ "gpu0", "row_remap_failed", "off", NULL, false },
		{ "gpu0", "row_remap_pending", "on", "rows_remapped", false },
		{ "gpu0", "row_remap_pending", "off", NULL, false },
		{ "gpu0", "rows_remapped", "3", NULL, false },
		{ "gpu0", "ecc_uncorrected", "2", "ecc_errors", true },
		{ "gpu0", "ecc_uncorrected", "0", NULL, false },
		{ "gpu0", "ecc_corrected", "900", NULL, false },
		{ "gpu0", "throttled", "hw_thermal", "throttled", false },
		{ "gpu0", "throttled", "no", NULL, false },
		{ "gpu0", "fabric_state", "completed", NULL, false },
		/* without NVSwitches a fabric may never start */
		{ "gpu0", "fabric_state", "in_progress", NULL, false },
		{ "gpu0", "fabric_health", "healthy", NULL, false },
		{ "gpu0", "fabric_health", "route_unhealthy",
		  "fabric_degraded", true },
		{ "gpu0", "fabric_health",
		  "incorrect_configuration:insufficient_nvlinks",
		  "fabric_degraded", true },
		{ "gpu0", "fabric_health", "degraded_bandwidth",
		  "fabric_degraded", false },
		{ "gpu0", "fabric_health", "route_recovery", "fabric_degraded",
		  false },
		{ "gpu0", "fabric_health", "access_timeout_recovery",
		  "fabric_degraded", false },
		{ "gpu0", "fabric_health", "unhealthy", "fabric_degraded",
		  true },
		{ "gpu0", "fabric_health", "limited_capacity",
		  "fabric_degraded", false },
		{ "node", "fabric_manager", "running", NULL, false },
		{ "node", "fabric_manager", "not running",
		  "fabricmanager_down", false },
		{ "node", "nvlsm", "not running", "nvlsm_down", false },
		{ "node", "ib_umad", "yes", NULL, false },
		{ "node", "ib_umad", "no", "ib_umad_missing", false },
		{ "gpu0", "gpu_busy", "pid 7 (a)", "gpu_busy", false },
		{ "gpu0", "gpu_in_use", "pid 7 (a)", "gpu_in_use", false },
		{ "node", "nvml", "ok", NULL, false },
		{ "node", "nvml", "no_driver", NULL, false },
		{ "node", "nvml", "driver_mismatch", "driver_mismatch", true },
		{ "mlx5_0", "port_state", "ACTIVE", NULL, false },
		{ "mlx5_0", "port_state", "DOWN", "port_down", true },
		{ "mlx5_0", "port_state", "INIT", "sm_missing", true },
		{ "eth0", "link", "up", NULL, false },
		{ "eth0", "link", "down", NULL, false },
		{ "eth0", "link", "no_carrier", "if_down", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct case_ c;

		begin(&c);
		add(&c, cases[i].scope, cases[i].fact, cases[i].value);
		judge(&c);
		if (c.v.n != (cases[i].code != NULL)) {
			fail_msg("%s %s: %zu findings", cases[i].fact,
				 cases[i].value, c.v.n);
		}
		if (cases[i].code) {
			assert_string_equal(c.v.findings[0].code,
					    cases[i].code);
			assert_int_equal(c.v.findings[0].fail, cases[i].fail);
			assert_true(c.v.findings[0].act[0]);
			assert_true(c.v.findings[0].n_evidence > 0);
			assert_true(strstr(str_text(&c.line), cases[i].code));
		}
		assert_int_equal(str_starts(str_text(&c.line), "ok n1 "),
				 !cases[i].code);
		assert_int_equal(str_starts(str_text(&c.line), "FAIL n1 "),
				 cases[i].fail);
		assert_int_equal(verdict_exit(&c.run, &c.v), cases[i].fail);
		end(&c);
	}
}

/* Links that went and came back: for longer than NCCL waits, or often. */
static void a_link_that_was_away_is_told_by_what_nccl_waits(void **state)
{
	static const struct {
		const char *netdev, *away, *flaps, *window, *code;
	} cases[] = {
		{ "ens1", "9.3", "1", "7.5", "link_away" },
		{ "ens1", "7.4", "1", "7.5", NULL },
		{ "ens1", "9.3", "4", "30.1", NULL },
		{ "ens1", "0.5", "5", "30.1", "link_flapped" },
		/* no HCA's: NCCL's patience is not known */
		{ "", "99", "4", "7.5", NULL },
		{ "", "99", "5", "7.5", "link_flapped" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct case_ c;

		begin(&c);
		add(&c, "mlx5_0", "netdev", cases[i].netdev);
		add(&c, "node", "nccl_ib_window", cases[i].window);
		add(&c, "ens1", "link_away", cases[i].away);
		add(&c, "ens1", "link_away_ago", "7200");
		add(&c, "ens1", "link_flaps", cases[i].flaps);
		judge(&c);
		assert_int_equal(c.v.n, cases[i].code != NULL);
		if (cases[i].code) {
			assert_string_equal(c.v.findings[0].code,
					    cases[i].code);
			assert_false(c.v.findings[0].fail);
		}
		end(&c);
	}
}

/* A GPU that did not join the fabric: alone, or all of them, with the reason; a
 * fabric of a node in parts. */
static void an_nvlink_fabric_is_ready_or_not(void **state)
{
	struct case_ c;

	(void)state;
	begin(&c);
	add(&c, "gpu0", "fabric_state", "completed");
	add(&c, "gpu1", "fabric_state", "in_progress");
	add(&c, "gpu1", "fabric_health", "degraded_bandwidth");
	judge(&c);
	assert_string_equal(str_text(&c.line), "FAIL n1 fabric_not_ready: GPU "
			    "1: the NVLink fabric is not ready: in_progress\n");
	assert_int_equal(c.v.findings[0].part.kind, PART_GPU);
	end(&c);

	begin(&c);
	add(&c, "gpu0", "fabric_state", "not_started");
	add(&c, "gpu1", "fabric_state", "not_started");
	add(&c, "node", "nvswitches", "4");
	add(&c, "node", "fabric_manager", "not running");
	add(&c, "node", "fabric_manager_version", "570.1");
	add(&c, "node", "driver_loaded", "580.2");
	judge(&c);
	assert_int_equal(c.v.n, 1);
	assert_int_equal(c.v.findings[0].part.kind, PART_NODE);
	assert_true(strstr(c.v.findings[0].says, "is not ready on all 2 GPUs: "
			   "not_started; there are NVSwitches, but the fabric "
			   "manager does not run; the versions"));
	end(&c);

	/* why NCCL does not use NVLS; of machines without NVSwitches it is no
	 * news */
	for (int switched = 0; switched < 2; switched++) {
		begin(&c);
		if (switched) {
			add(&c, "gpu0", "fabric_state", "completed");
		}
		add(&c, "node", "nvidia_caps", "no");
		add(&c, "gpu0", "nvls_why", "NVLS multicast support is not "
		    "available on dev 0");
		judge(&c);
		assert_int_equal(c.v.n, switched);
		if (switched) {
			assert_string_equal(c.v.findings[0].code,
					    "nvls_missing");
			assert_false(c.v.findings[0].fail);
			assert_true(strstr(c.v.findings[0].says, "on dev 0; "
					   "/dev/nvidia-caps is missing"));
		}
		end(&c);
	}

	begin(&c);
	add(&c, "gpu0", "fabric_state", "completed");
	add(&c, "gpu0", "fabric_cluster", "a");
	add(&c, "gpu0", "fabric_clique", "1");
	add(&c, "gpu1", "fabric_state", "completed");
	add(&c, "gpu1", "fabric_cluster", "a");
	add(&c, "gpu1", "fabric_clique", "2");
	judge(&c);
	assert_int_equal(c.v.n, 1);
	assert_string_equal(c.v.findings[0].code, "fabric_cliques");
	end(&c);
}

/* One that is off on purpose, one of software, and the interface of a port that
 * has a finding. */
static void a_port_is_meant_or_not(void **state)
{
	struct case_ c;

	(void)state;
	begin(&c);
	add(&c, "mlx5_0", "port_state", "DOWN");
	add(&c, "mlx5_0", "port_phys_state", "Disabled");
	add(&c, "rxe0", "port_state", "DOWN");
	add(&c, "rxe0", "software", "no PCI device");
	add(&c, "mlx5_1", "port_state", "DOWN");
	add(&c, "mlx5_1", "port_phys_state", "Polling");
	add(&c, "mlx5_1", "netdev", "eth1");
	add(&c, "mlx5_2", "port_state", "INIT");
	add(&c, "mlx5_2", "link_layer", "Ethernet");
	add(&c, "eth1", "link", "no_carrier");
	judge(&c);
	assert_int_equal(c.v.n, 2);
	assert_string_equal(str_text(&c.line),
			    "FAIL n1 port_down: mlx5_1: port is DOWN "
			    "(Polling); port_down: mlx5_2: port is INIT\n");
	end(&c);
}

static void gpus_are_counted_where_somebody_says_how_many(void **state)
{
	static const struct {
		const char *expected;
		int gpus;
		const char *line;
	} cases[] = {
		{ NULL, 0, "ok n1 0 GPUs, 0 HCA ports, 0 interfaces\n" },
		{ NULL, 1, "ok n1 1 GPU, 0 HCA ports, 0 interfaces\n" },
		{ "2", 2, "ok n1 2 GPUs, 0 HCA ports, 0 interfaces\n" },
		{ "2", 1, "FAIL n1 gpu_missing: n1 shows 1 of 2 GPUs, "
			  "expected by test\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct case_ c;

		begin(&c);
		add(&c, "node", "kernel", "6.1.0");
		for (int g = 0; g < cases[i].gpus; g++) {
			char scope[16];

			snprintf(scope, sizeof(scope), "gpu%d", g);
			add(&c, scope, "uuid", "");
		}
		if (cases[i].expected) {
			add(&c, "node", "gpus_expected", cases[i].expected);
		}
		judge(&c);
		assert_string_equal(str_text(&c.line), cases[i].line);
		end(&c);
	}
}

static void add_row(struct case_ *c, const char *context, const char *check,
		    const char *code, int64_t limit_B)
{
	struct memlock_row row;

	record_init(&schema_memlock, &row);
	STR_COPY(row.node, "n1");
	STR_COPY(row.context, context);
	STR_COPY(row.check, check);
	STR_COPY(row.code, code);
	row.outcome = code[0] ? OUTCOME_ERROR : OUTCOME_OK;
	row.limit_B = limit_B;
	row.needed_B = 33 << 20;
	assert_int_equal(memlock_run_add(&c->run, &row), 0);
}

/* A low limit matters to who registers memory. */
static void limits_count_where_something_needs_them(void **state)
{
	static const struct {
		const char *scope, *fact;
		size_t findings;
	} cases[] = {
		{ "node", "kernel", 0 }, { "gpu0", "uuid", 1 },
		{ "mlx5_0", "port_state", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct case_ c;

		begin(&c);
		add(&c, cases[i].scope, cases[i].fact, "ACTIVE");
		add_row(&c, "slurmd", CHECK_SOFT, CODE_BELOW_NEED, 65536);
		add_row(&c, "slurmd", CHECK_HARD, "", 65536);
		add_row(&c, "here", "dev_shm", "shm_small", 65536);
		judge(&c);
		assert_int_equal(c.v.n, cases[i].findings);
		if (cases[i].findings == 2) {
			assert_string_equal(c.v.findings[0].code,
					    "memlock_slurmd");
			assert_true(str_starts(
				str_text(&c.line), "FAIL n1 memlock_slurmd: "
				"slurmd is limited to 64 KiB"));
		}
		end(&c);
	}
}

static void what_cannot_be_looked_at_is_no_fault(void **state)
{
	struct case_ c;

	(void)state;
	begin(&c);
	add(&c, "gpu0", "uuid", "GPU-0");
	c.look = (struct node_look){ .what = "GPUs", .code = "worker_hung",
				     .detail = "no answer in time" };
	judge(&c);
	assert_string_equal(str_text(&c.line), "partial n1 worker_hung: GPUs "
			    "were not checked: no answer in time\n");
	assert_int_equal(verdict_exit(&c.run, &c.v), 4);
	assert_false(node_has_one_of(&c.v, "worker_hung,gpu_lost"));
	verdict_release(&c.v);
	/* a fault that was seen before counts */
	add(&c, "gpu0", "lost", "gone");
	judge(&c);
	assert_true(str_starts(str_text(&c.line), "FAIL n1 gpu_lost: GPU 0: "));
	assert_true(node_has_one_of(&c.v, "port_down, gpu_lost"));
	assert_false(node_has_one_of(&c.v, "port_down"));
	assert_false(node_has_one_of(&c.v, ""));
	end(&c);
	begin(&c);
	add(&c, "node", "gpu_note", "cannot load 'libnvidia-ml.so.1'");
	add(&c, "node", "nvml", "missing");
	judge(&c);
	assert_true(strstr(str_text(&c.line), "library_missing"));
	assert_int_equal(verdict_exit(&c.run, &c.v), 4);
	end(&c);
	begin(&c);
	c.look = (struct node_look){ .what = "GPUs", .code = "worker_crashed" };
	judge(&c);
	assert_true(str_starts(str_text(&c.line), "unknown n1 "));
	assert_int_equal(verdict_exit(&c.run, &c.v), 3);
	end(&c);
}

/* Many faults, and a driver that speaks in lines, are still one line. */
static void it_is_one_line(void **state)
{
	struct case_ c;

	(void)state;
	begin(&c);
	for (int g = 0; g < 40; g++) {
		char scope[16];

		snprintf(scope, sizeof(scope), "gpu%d", g);
		add(&c, scope, "lost", "GPU is\nlost\033[31m");
	}
	judge(&c);
	assert_true(c.line.len <= NODE_LINE_MAX + 1);
	assert_ptr_equal(strchr(str_text(&c.line), '\n'),
			 c.line.data + c.line.len - 1);
	assert_null(strchr(str_text(&c.line), '\033'));
	assert_true(strstr(str_text(&c.line), " more\n"));
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_link_that_was_away_is_told_by_what_nccl_waits),
		cmocka_unit_test(a_job_has_its_own_gpus),
		cmocka_unit_test(slurm_conf_says_how_many),
		cmocka_unit_test(a_fact_is_a_fault_or_not),
		cmocka_unit_test(an_nvlink_fabric_is_ready_or_not),
		cmocka_unit_test(a_port_is_meant_or_not),
		cmocka_unit_test(gpus_are_counted_where_somebody_says_how_many),
		cmocka_unit_test(limits_count_where_something_needs_them),
		cmocka_unit_test(what_cannot_be_looked_at_is_no_fault),
		cmocka_unit_test(it_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
