/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fake_run.h"

#include <sys/stat.h>
#include <unistd.h>

#include "report/judge/caption.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/judge/verdict.h"
#include "report/model/run.h"

#define RUNS "tests/fixtures/runs/"

static void read_fixture(const char *dir, struct run *r)
{
	struct err e = { 0 };

	if (levels_read(dir, r, &e) < 0) {
		fail_msg("%s: %s", dir, e.text);
	}
}

static void test_healthy(void **state)
{
	struct run r;

	(void)state;
	read_fixture(RUNS "p2p-2x4-healthy", &r);
	assert_int_equal(r.n_nodes, 2);
	assert_int_equal(r.n_ranks, 8);
	assert_int_equal(r.rows, 56);
	assert_int_equal(r.bad_rows, 0);
	assert_int_equal(r.size_B, 4 << 20);
	assert_true(r.ended);
	assert_false(r.drill);
	assert_string_equal(r.nodes[1].name, "n1");
	assert_int_equal(r.nodes[1].first_rank, 4);
	assert_int_equal(r.ranks[6].node, 1);
	assert_int_equal(r.ranks[6].gpu, 2);
	assert_int_equal(r.ranks[6].nic, 2);
	assert_int_equal(run_cell(&r, 3, 3)->class, CELL_UNPLANNED);
	assert_int_equal(run_cell(&r, 3, 4)->class, CELL_PASS);
	assert_int_equal(run_cell(&r, 3, 4)->path, PATH_INTER);
	assert_true(run_cell(&r, 3, 4)->bw_GB_s > 2);
	assert_true(r.slow[PATH_INTER].median_GB_s > 2.7);
	run_release(&r);
	run_release(NULL);
}

/** What an agent left that lost the coordinator; others write there, too. */
static void test_note(void **state)
{
	static const struct {
		const char *text;
		bool good;
	} cases[] = {
		{ "{\"node\": \"n1\", \"event\": \"coordinator_lost\", "
		  "\"detail\": \"lost\"}", true },
		{ "{\"node\": \"n1\", \"event\": \"agent_lost\"}", false },
		{ "{\"event\": \"coordinator_lost\"}", false },
		{ "{\"node\": [\"n1\"], \"event\": \"coordinator_lost\"}",
		  false },
		{ "{\"node\": \"n1\"", false },
		{ "", false },
	};
	struct event_row row;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(run_note_parse(cases[i].text,
						strlen(cases[i].text), &row,
						NULL) == 0, cases[i].good);
	}
}

static void test_dead_nic(void **state)
{
	struct run r;
	size_t at;

	(void)state;
	read_fixture(RUNS "p2p-2x4-dead-nic", &r);
	assert_true(r.drill);
	assert_int_equal(r.n_facts, 3);
	assert_int_equal(r.n_events, 1);
	assert_int_equal(r.ranks[7].nic, 1);
	assert_string_equal(r.ranks[7].nic_name, "nic1");
	at = run_at(&r, 0, 7);
	assert_int_equal(r.cells[at].class, CELL_TIMEOUT);
	assert_true(isnan(r.cells[at].bw_GB_s));
	assert_string_equal(r.codes[r.cell_code[at]], "task_timeout");
	assert_non_null(strstr(r.cell_detail[at], "rank 7"));
	run_release(&r);
}

/** Of very many facts, those that findings are by. */
static void test_many_facts(void **state)
{
	static const struct {
		const char *fact, *value;
		bool kept;
	} cases[] = {
		{ "driver", "570.86", true },
		{ "link", "SYS", false },
		{ "link", "PIX", true },
		{ "symbol_error", "0", false },
		{ "symbol_error", "3", true },
		{ "nvlinks", "0", true },
	};
	struct run r = { 0 };
	struct fact_row f = { .scope = "gpu0", .fact = "link" };

	(void)state;
	for (int i = 0; i < 20000; i++) {	/* as long as there is room */
		assert_int_equal(run_add_fact(&r, &f), 0);
	}
	assert_int_equal(r.n_facts, 20000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t before = r.n_facts;

		STR_COPY(f.scope, i ? "gpu0" : "node");
		STR_COPY(f.fact, cases[i].fact);
		STR_COPY(f.value, cases[i].value);
		assert_int_equal(run_add_fact(&r, &f), 0);
		assert_int_equal(r.n_facts - before, cases[i].kept);
	}
	assert_int_equal(r.facts_spare, 2);
	assert_int_equal(r.facts_cut, 0);
	r.n_facts = RUN_MAX_FACTS;
	assert_int_equal(run_add_fact(&r, &f), 0);
	assert_int_equal(r.facts_cut, 1);
	r.n_facts = 0;
	run_release(&r);
}

/** A fact is found by node, scope and name, the last if there are several: a
 *  resumed run adds its own. */
static void test_find_fact(void **state)
{
	struct run r = { 0 };
	struct fact_row f = { 0 };

	(void)state;
	for (int i = 0; i < 6000; i++) {
		snprintf(f.node, sizeof(f.node), "n%d", i / 3 % 1000);
		snprintf(f.scope, sizeof(f.scope), "mlx5_%d", i % 3);
		snprintf(f.value, sizeof(f.value), "%d", i);
		STR_COPY(f.fact, "rate");
		assert_int_equal(run_add_fact(&r, &f), 0);
	}
	for (int i = 0; i < 3000; i++) {
		assert_string_equal(run_fact_beside(&r, &r.facts[i], "rate"),
				    r.facts[i + 3000].value);
	}
	assert_string_equal(run_fact_beside(&r, &r.facts[7], "rat"), "");
	assert_null(run_find_fact(&r, "n7", "mlx5_3", "rate"));
	r.n_slots = 0;			/* without memory for the table */
	assert_ptr_equal(run_find_fact(&r, "n7", "mlx5_1", "rate"),
			 &r.facts[3022]);
	run_release(&r);
}

/** What can be read is read, what is missing is not run. */
static void test_truncated(void **state)
{
	struct run r;
	size_t missing = 0;

	(void)state;
	read_fixture(RUNS "p2p-2x2-truncated", &r);
	assert_false(r.ended);
	assert_true(r.bad_rows >= 2);
	assert_true(r.bad_why[0] != '\0');
	for (int i = 0; i < 16; i++) {
		missing += r.cells[i].class == CELL_NOT_RUN;
	}
	assert_true(missing >= 1 && missing <= 3);
	assert_int_equal(r.rows, 12 - missing);
	run_release(&r);
}

/** The front wrote run.json, and then nothing came. */
static void test_lost(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	read_fixture(RUNS "p2p-2x2-lost", &r);
	assert_int_equal(r.n_ranks, 0);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.status, VERDICT_UNKNOWN);
	assert_int_equal(verdict_exit(&r, &v), 3);
	verdict_release(&v);
	run_release(&r);
}

static void test_no_run(void **state)
{
	struct err e = { 0 };
	struct run r;

	(void)state;
	assert_int_equal(levels_read("/nowhere/at/all", &r, &e), -1);
	assert_true(e.text[0] != '\0');
	assert_true(e.hint[0] != '\0');
	assert_null(r.nodes);
	assert_int_equal(run_find_node(&r, "n0", 0), -1);
}

static char scratch[] = "/tmp/gpucheck-test-run-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

#define TWO_NODES \
	"\"nodes\":[{\"name\":\"a\",\"gpus\":1},{\"name\":\"b\",\"gpus\":2," \
	"\"nics\":1}]"
#define HEADER "attempt,src_rank,dst_rank,schedule,size_B,bw_GB_s,outcome," \
	"code,detail\n"

static void read_scratch(struct run *r)
{
	read_fixture(scratch, r);
}

static void test_attempts(void **state)
{
	const struct run_failure *failure;
	struct run r;

	(void)state;
	put("run.json", "{\"probe\":\"p2p\",\"schedule\":\"nic\",\"size_B\":64,"
	    TWO_NODES ",\"planned\":{\"kind\":\"all\"}}");
	put("results.csv", HEADER
	    /* fails, then passes: flaky */
	    "1,0,1,nic,64,,timeout,task_timeout,x\n"
	    "2,0,1,nic,64,5,ok,,\n"
	    /* fails twice, then the retry is not run: still failed */
	    "1,1,0,nic,64,,error,no_route,first\n"
	    "2,1,0,serial,64,,error,no_route,second\n"
	    "3,1,0,serial,64,,not_run,out_of_time,\n"
	    /* a pass at a smaller size is no pass */
	    "1,0,2,nic,8,1,ok,,\n"
	    /* a failure at a smaller size ended the pair */
	    "1,2,0,nic,8,,crashed,worker_crashed,\n"
	    /* another schedule is another experiment */
	    "1,1,2,nic,64,7,ok,,\n"
	    "1,1,2,parallel,64,3,ok,,\n"
	    /* outside of the matrix */
	    "1,2,2,nic,64,3,ok,,\n"
	    "1,2,-1,nic,64,3,ok,,\n");
	read_scratch(&r);
	assert_int_equal(run_cell(&r, 0, 1)->class, CELL_PASS);
	assert_true(run_cell(&r, 0, 1)->flaky);
	assert_int_equal(run_cell(&r, 0, 1)->attempt, 2);
	assert_null(r.cell_detail[run_at(&r, 0, 1)]);
	failure = run_failure(&r, run_at(&r, 0, 1));
	assert_int_equal(failure->outcome, OUTCOME_TIMEOUT);
	assert_string_equal(r.codes[failure->code], "task_timeout");
	assert_string_equal(failure->detail, "x");
	assert_null(run_failure(&r, run_at(&r, 1, 0)));
	assert_int_equal(run_cell(&r, 1, 0)->class, CELL_FAIL);
	assert_false(run_cell(&r, 1, 0)->flaky);
	assert_string_equal(r.cell_detail[run_at(&r, 1, 0)], "second");
	assert_int_equal(run_cell(&r, 0, 2)->class, CELL_NOT_RUN);
	assert_int_equal(run_cell(&r, 2, 0)->class, CELL_FAIL);
	assert_true(run_cell(&r, 1, 2)->bw_GB_s == 7);
	assert_int_equal(run_cell(&r, 2, 1)->class, CELL_NOT_RUN);
	assert_int_equal(r.bad_rows, 2);
	run_release(&r);
}

/** Data that was changed at any size was changed, in either pass. */
static void test_sizes(void **state)
{
	struct run r;

	(void)state;
	put("run.json", "{\"probe\":\"p2p\",\"schedule\":\"nic\",\"size_B\":64,"
	    TWO_NODES ",\"planned\":{\"kind\":\"all\"},"
	    "\"contrast\":{\"kind\":\"pxn\",\"pass\":\"nic+pxn\"}}");
	put("results.csv", HEADER
	    "1,0,1,nic,8,1,corrupt,data_corrupt,x\n"
	    "1,0,1,nic,64,5,ok,,\n"
	    "1,1,0,nic,8,1,corrupt,data_corrupt,x\n"
	    "1,1,0,nic,64,5,ok,,\n"
	    "2,1,0,serial,8,1,ok,,\n"
	    "2,1,0,serial,64,5,ok,,\n"
	    "1,0,2,nic+pxn,8,1,corrupt,data_corrupt,x\n"
	    "1,0,2,nic+pxn,64,5,ok,,\n");
	read_scratch(&r);
	assert_int_equal(run_cell(&r, 0, 1)->class, CELL_CORRUPT);
	assert_false(run_cell(&r, 0, 1)->flaky);
	assert_int_equal(run_cell(&r, 1, 0)->class, CELL_PASS);
	assert_true(run_cell(&r, 1, 0)->flaky);
	assert_int_equal(r.contrast.outcome[run_at(&r, 0, 2)],
			 OUTCOME_CORRUPT);
	run_release(&r);
}

/** Tests of the follow-up leave the cells as they were planned alone, but that
 *  they try again what failed. */
static void test_follow_up(void **state)
{
	size_t count[CELL_CLASSES];
	struct run r;

	(void)state;
	put("run.json", "{\"probe\":\"p2p\",\"schedule\":\"nic\",\"size_B\":64,"
	    TWO_NODES ",\"planned\":{\"kind\":\"inter\"}}");
	put("results.csv", HEADER
	    "1,0,1,nic,64,5,ok,,\n"
	    "1,1,0,nic,64,,error,no_route,\n"
	    "1,0,2,nic,64,5,ok,,\n"
	    "1,2,0,nic,64,5,ok,,\n"
	    /* both directions at two sizes, then once more */
	    "1,0,1,follow-up,8,1,ok,,\n"
	    "2,1,0,follow-up,8,1,ok,,\n"
	    "1,0,1,follow-up,64,4,ok,,\n"
	    "2,1,0,follow-up,64,6,ok,,\n"
	    "2,0,1,follow-up,64,,timeout,task_timeout,\n"
	    /* nobody planned it */
	    "1,1,2,follow-up,64,,error,no_route,\n"
	    "2,1,2,follow-up,64,7,ok,,\n"
	    "1,2,1,follow-up,64,,not_run,out_of_time,\n");
	read_scratch(&r);
	assert_true(run_cell(&r, 0, 1)->bw_GB_s == 5);
	assert_false(run_cell(&r, 0, 1)->flaky);
	assert_int_equal(run_cell(&r, 1, 0)->class, CELL_PASS);
	assert_true(run_cell(&r, 1, 0)->flaky);
	assert_int_equal(r.n_follow, 6);
	assert_int_equal(r.follow[0].at, run_at(&r, 0, 1));
	assert_true(r.follow[0].bw_GB_s == 4);
	assert_true(r.follow[1].bw_GB_s == 6);
	assert_int_equal(r.follow[2].attempt, 2);
	assert_int_equal(r.follow[2].outcome, OUTCOME_TIMEOUT);
	assert_true(isnan(r.follow[2].bw_GB_s));
	assert_false(follow_has(&r, run_at(&r, 0, 1)));
	assert_true(follow_has(&r, run_at(&r, 1, 2)));
	assert_int_equal(run_cell(&r, 1, 2)->class, CELL_PASS);
	assert_true(run_cell(&r, 1, 2)->flaky);
	assert_int_equal(run_cell(&r, 2, 1)->class, CELL_UNPLANNED);
	run_count_cells(&r, count);
	assert_int_equal(count[CELL_PASS], 4);
	assert_int_equal(count[CELL_FAIL], 0);
	follow_count(&r, count);
	assert_int_equal(count[CELL_PASS], 3);
	assert_int_equal(count[CELL_TIMEOUT], 1);
	assert_int_equal(count[CELL_FAIL], 1);
	assert_int_equal(count[CELL_NOT_RUN], 1);
	run_release(&r);
}

/** What failed before a resume and passes after it is not flaky. */
static void test_goes(void **state)
{
	char note[CAPTION_SIZE];
	struct run r;

	(void)state;
	put("run.json", "{\"probe\":\"p2p\",\"schedule\":\"nic\",\"size_B\":64,"
	    TWO_NODES ",\"planned\":{\"kind\":\"all\"},\"ended_utc\":\"z\","
	    "\"contrast\":{\"kind\":\"pxn\",\"pass\":\"nic+pxn\"},\"resumes\":["
	    "{\"utc\":\"2026-01-02T10:00:00.000Z\"},"
	    "{\"utc\":\"2026-01-03T10:00:00.000Z\"}]}");
	put("results.csv",
	    "attempt,src_rank,dst_rank,schedule,size_B,bw_GB_s,outcome,"
	    "start_utc\n"
	    /* mended before the last go, and before the first of two */
	    "1,0,1,nic,64,5,error,2026-01-02T11:00:00.000Z\n"
	    "2,0,1,nic,64,5,ok,2026-01-03T10:00:00.000Z\n"
	    "1,1,0,nic,64,5,error,2026-01-01T11:00:00.000Z\n"
	    "2,1,0,nic,64,5,ok,2026-01-02T11:00:00.000Z\n"
	    /* both in one go, whichever */
	    "1,0,2,nic,64,5,error,2026-01-01T11:00:00.000Z\n"
	    "2,0,2,nic,64,5,ok,2026-01-01T11:01:00.000Z\n"
	    "1,2,0,nic,64,5,error,2026-01-01T11:00:00.000Z\n"
	    "2,2,0,nic,64,5,error,2026-01-02T11:00:00.000Z\n"
	    "3,2,0,nic,64,5,ok,2026-01-02T12:00:00.000Z\n"
	    /* it fails now, which a pass of long ago does not undo */
	    "1,1,2,nic,64,5,ok,2026-01-01T11:00:00.000Z\n"
	    "2,1,2,nic,64,5,error,2026-01-02T12:00:00.000Z\n"
	    /* a second attempt of the other pass is no cell's */
	    "1,2,1,nic,64,5,error,2026-01-01T11:00:00.000Z\n"
	    "2,2,1,nic+pxn,64,5,ok,2026-01-02T11:00:00.000Z\n");
	read_scratch(&r);
	assert_int_equal(r.mended, 2);
	assert_false(run_cell(&r, 0, 1)->flaky);
	assert_false(run_cell(&r, 1, 0)->flaky);
	assert_true(run_cell(&r, 0, 2)->flaky);
	assert_true(run_cell(&r, 2, 0)->flaky);
	assert_int_equal(run_cell(&r, 1, 2)->class, CELL_FAIL);
	assert_int_equal(run_cell(&r, 2, 1)->class, CELL_FAIL);
	assert_int_equal(r.contrast.outcome[run_at(&r, 2, 1)], OUTCOME_OK);
	assert_true(caption_note(&r, 0, false, note, sizeof(note)));
	assert_string_equal(note, "resumed 2 times, last 2026-01-03 10:00 "
			    "UTC: 2 tests failed before and pass now");
	run_release(&r);
}

/** What passed and failed when it was repeated is flaky, as what failed
 *  first. */
static void test_repeats(void **state)
{
	struct run r;

	(void)state;
	put("run.json", "{\"probe\":\"p2p\",\"schedule\":\"nic\",\"size_B\":64,"
	    TWO_NODES ",\"planned\":{\"kind\":\"all\"},\"ended_utc\":\"z\"}");
	put("results.csv",
	    "attempt,src_rank,dst_rank,schedule,size_B,bw_GB_s,outcome,code,"
	    "detail\n"
	    "1,0,1,nic,64,5,ok,,\n"
	    "2,0,1,,64,,crashed,worker_crashed,signal 9\n"
	    "1,1,0,nic,64,5,ok,,\n"
	    "2,1,0,,64,,corrupt,data_corrupt,\n"
	    "1,0,2,nic,64,5,ok,,\n"
	    "2,0,2,,64,6,ok,,\n");
	read_scratch(&r);
	assert_int_equal(run_cell(&r, 0, 1)->class, CELL_PASS);
	assert_true(run_cell(&r, 0, 1)->bw_GB_s == 5);
	assert_true(run_cell(&r, 0, 1)->flaky);
	assert_string_equal(r.codes[r.cell_failure[run_at(&r, 0, 1)]->code],
			    "worker_crashed");
	assert_string_equal(r.cell_failure[run_at(&r, 0, 1)]->detail,
			    "signal 9");
	assert_int_equal(run_cell(&r, 1, 0)->class, CELL_CORRUPT);
	assert_true(run_cell(&r, 0, 2)->bw_GB_s == 6);
	assert_false(run_cell(&r, 0, 2)->flaky);
	run_release(&r);
}

/** Which way, without the numbers of NICs; a real NIC's name wins. */
static void test_ways(void **state)
{
	struct run r;

	(void)state;
	put("run.json", "{\"schema\":1,\"probe\":\"p2p\"," TWO_NODES "}");
	put("results.csv",
	    "src_rank,dst_rank,src_nic,path,size_B,bw_GB_s,outcome\n"
	    "0,1,nic0,NET/IB/0+1/GDRDMA>NET/IB/12,4,5,ok\n"
	    "1,0,nic0,P2P/CUMEM,4,5,ok\n"
	    "0,2,mlx5_3,NET/IB/3/GDRDMA+PXN,4,5,ok\n"
	    "2,0,nic0,,4,5,ok\n"
	    "1,2,nic0,NET/IB/0/GDRDMA/PIX>NET/IB/1/NODE,4,5,ok\n"
	    "2,1,nic0,P2P/PCIe/SYS,4,5,ok\n");
	read_scratch(&r);
	assert_string_equal(r.paths[r.cell_way[run_at(&r, 0, 1)]],
			    "NET/IB/GDRDMA>NET/IB");
	assert_string_equal(r.paths[r.cell_way[run_at(&r, 1, 0)]],
			    "P2P/CUMEM");
	assert_string_equal(r.paths[r.cell_way[run_at(&r, 0, 2)]],
			    "NET/IB/GDRDMA+PXN");
	assert_int_equal(r.cell_way[run_at(&r, 2, 0)], 0);
	assert_string_equal(r.paths[r.cell_way[run_at(&r, 1, 2)]],
			    "NET/IB/GDRDMA>NET/IB");
	assert_string_equal(r.paths[r.cell_way[run_at(&r, 2, 1)]],
			    "P2P/PCIe");
	assert_string_equal(r.ranks[0].nic_name, "mlx5_3");
	run_release(&r);
}

static void test_plans(void **state)
{
	static const struct {
		const char *plan;
		int cells;
	} plans[] = {
		{ .plan = "{\"kind\":\"all\"}", .cells = 6 },
		{ .plan = "{\"kind\":\"inter\"}", .cells = 4 },
		{ .plan = "{\"kind\":\"intra\"}", .cells = 2 },
		{ .plan = "{\"kind\":\"rail\"}", .cells = 4 },
		/* two ports that can reach each other, one that cannot */
		{ .plan = "{\"kind\":\"all\",\"groups\":[0,1,0]}",
		  .cells = 2 },
		{ .plan = "{\"kind\":\"list\",\"pairs\":[[0,2]]}",
		  .cells = 2 },
	};
	char json[512];

	(void)state;
	put("results.csv", "");
	for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		int cells = 0;
		struct run r;

		snprintf(json, sizeof(json),
			 "{\"probe\":\"p2p\"," TWO_NODES ",\"planned\":%s}",
			 plans[i].plan);
		put("run.json", json);
		read_scratch(&r);
		for (size_t c = 0; c < run_n_cells(&r); c++) {
			cells += r.cells[c].class == CELL_NOT_RUN;
		}
		assert_int_equal(cells, plans[i].cells);
		/* of a list no more than that is held */
		assert_int_equal(run_n_cells(&r),
				 strstr(plans[i].plan, "list") ? cells : 9);
		run_release(&r);
	}
}

static void test_damaged_json(void **state)
{
	static const char *const texts[] = {
		"", "[]", "{", "{\"probe\":7}",
		"{\"probe\":\"p2p\",\"nodes\":[{\"name\":\"a\"}]}",
		"{\"probe\":\"p2p\",\"nodes\":[{\"name\":\"a\",\"gpus\":-1}]}",
		"{\"probe\":\"p2p\",\"nodes\":[{\"name\":\"a\",\"gpus\":20000},"
		"{\"name\":\"b\",\"gpus\":20000}]}",
		"{\"probe\":\"p2p\"," TWO_NODES
		",\"planned\":{\"kind\":\"some\"}}",
		"{\"probe\":\"p2p\"," TWO_NODES
		",\"planned\":{\"kind\":\"list\",\"pairs\":[[0,9]]}}",
		"{\"probe\":\"p2p\"," TWO_NODES
		",\"planned\":{\"kind\":\"list\",\"pairs\":[[1,1]]}}",
		"{\"probe\":\"p2p\"," TWO_NODES
		",\"planned\":{\"kind\":\"all\",\"groups\":[0,1]}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct err e = { 0 };
		struct run r;

		put("run.json", texts[i]);
		assert_int_equal(levels_read(scratch, &r, &e), -1);
		assert_true(e.text[0] != '\0');
	}
}

/** Does a note below the pictures say @text? */
static bool noted(const struct run *r, const char *text)
{
	char note[400] = "";

	for (int i = 0; !strstr(note, text); i++) {
		if (!caption_note(r, i, false, note, sizeof(note))) {
			return false;
		}
	}
	return true;
}

/** A file besides that cannot be read is left out, and that is said. */
static void test_unread(void **state)
{
	static const char *const names[] = { "facts.csv", "events.csv",
					     "diagnose.csv" };
	char path[128];
	struct err e = { 0 };
	struct run r;

	(void)state;
	put("run.json", "{\"probe\":\"p2p\"," TWO_NODES "}");
	put("results.csv", HEADER "1,0,1,nic,8,5,ok,,\n");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		put(names[i], "what,is,this\n1,2,3\n");
		read_scratch(&r);
		assert_non_null(strstr(r.unread, names[i]));
		assert_true(noted(&r, "has no known column"));
		run_release(&r);

		snprintf(path, sizeof(path), "%s/%s", scratch, names[i]);
		unlink(path);
		assert_int_equal(mkdir(path, 0700), 0);
		read_scratch(&r);
		assert_non_null(strstr(r.unread, "is not a file"));
		assert_int_equal(r.rows, 1);
		run_release(&r);
		rmdir(path);
		assert_int_equal(mkfifo(path, 0600), 0);
		read_scratch(&r);
		assert_non_null(strstr(r.unread, "is not a file"));
		run_release(&r);
		unlink(path);
	}
	read_scratch(&r);
	assert_string_equal(r.unread, "");
	run_release(&r);

	snprintf(path, sizeof(path), "%s/results.csv", scratch);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(levels_read(scratch, &r, &e), -1);
	assert_non_null(strstr(e.text, "is not a file"));
	unlink(path);
}

/** A node that never came up is known from facts.csv alone. */
static void test_absent_node(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	put("run.json", "{\"probe\":\"p2p\"," TWO_NODES
	    ",\"planned\":{\"kind\":\"all\"}}");
	put("facts.csv", "node,scope,fact,value,unit,source\n"
	    "c,node,state,agent_missing,,boot\n"
	    "c,node,state_detail,no answer within 30 s,,boot\n"
	    "login,run,launcher,sbatch,,front\n");
	read_scratch(&r);
	assert_int_equal(r.n_nodes, 3);
	assert_string_equal(r.nodes[2].name, "c");
	assert_int_equal(r.nodes[2].gpus, 0);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.kind, PART_NODE);
	assert_int_equal(v.findings[0].part.node, 2);
	assert_non_null(strstr(v.findings[0].says, "no answer within 30 s"));
	assert_string_equal(v.exclude[0], "c");
	verdict_release(&v);
	run_release(&r);
	put("facts.csv", "");
}

/** Rails that are not connected: a pair that was typed is tested all the
 *  same. */
static void test_rails_note(void **state)
{
	static const struct {
		const char *planned;
		bool noted;
	} cases[] = {
		{ .planned = "\"all\"", .noted = true },
		{ .planned = "\"list\",\"pairs\":[[0,2]]", .noted = true },
		{ .planned = "\"list\",\"pairs\":[[0,2],[0,3]]" },
	};
	char json[512];
	struct run r;

	(void)state;
	put("results.csv", HEADER "1,0,2,nic,8,5,ok,,\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(json, sizeof(json), "{\"probe\":\"p2p\",\"nodes\":["
			 "{\"name\":\"a\",\"gpus\":2,\"nics\":2},"
			 "{\"name\":\"b\",\"gpus\":2,\"nics\":2}],"
			 "\"planned\":{\"rails_apart\":true,\"kind\":%s}}",
			 cases[i].planned);
		put("run.json", json);
		read_scratch(&r);
		assert_int_equal(noted(&r, "between rails were not tested"),
				 cases[i].noted);
		run_release(&r);
	}
}

static int make_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
	static const char *const names[] = {
		"run.json", "results.csv", "facts.csv",
	};
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", scratch, names[i]);
		unlink(path);
	}
	return rmdir(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy),
		cmocka_unit_test(test_note),
		cmocka_unit_test(test_dead_nic),
		cmocka_unit_test(test_many_facts),
		cmocka_unit_test(test_find_fact),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_no_run),
		cmocka_unit_test(test_attempts),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_follow_up),
		cmocka_unit_test(test_goes),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_rails_note),
		cmocka_unit_test(test_damaged_json),
		cmocka_unit_test(test_unread),
		cmocka_unit_test(test_absent_node),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
