/* SPDX-License-Identifier: BSD-3-Clause */
/* Whom the ranks of a job wait for, by what was seen of them. */
#include "lib/base/clock.h"
#include "report/judge/hang.h"
#include "tests/unit/fake_run.h"

#define RANKS 4

/** A column of @row as "cpu 0", "waits_in pipe_read". */
static void change(struct hang_row *row, const char *text, size_t len)
{
	const char *blank = memchr(text, ' ', len);
	size_t name = (size_t)(blank - text);
	const struct column *c = schema_hang.columns;
	char value[120], *field;

	while (strlen(c->name) != name || memcmp(c->name, text, name) != 0) {
		assert_non_null((++c)->name);
	}
	snprintf(value, sizeof(value), "%.*s", (int)(len - name - 1),
		 blank + 1);
	field = (char *)row + c->offset;
	if (c->type == COLUMN_TEXT) {
		str_copy(field, c->size, value);
	} else if (c->type == COLUMN_REAL) {
		*(double *)(void *)field = strtod(value, NULL);
	} else {
		*(int64_t *)(void *)field = strtoll(value, NULL, 10);
	}
}

/** A rank that waits in the last collective, but for what @changes says, parted
 *  by ";". */
static struct hang_row rank(int n, const char *changes)
{
	struct hang_row row = {
		.node = "n0", .rank = n, .pid = 100 + n, .state = "R",
		.cpu = 1.5, .gpu = n, .gpu_busy_pct = 100, .gpu_power_W = 125,
		.ras = HANG_RAS_ANSWERS, .comm = "0x1", .comm_rank = n,
		.comm_size = RANKS, .calls = "AllReduce 21",
		.calls_later = "AllReduce 21", .outcome = OUTCOME_OK,
		.gpu_sm_pct = NAN, .gpu_warp_pct = NAN,
		.stuck_tid = RECORD_NONE, .switches = 0,
		.unread_B = RECORD_NONE, .unsent_B = RECORD_NONE,
		.local_ranks = RECORD_NONE,
	};

	while (*changes) {
		size_t len = strcspn(changes, ";");

		change(&row, changes, len);
		changes += len + (changes[len] == ';');
	}
	return row;
}

#define BEHIND "calls AllReduce 20;calls_later AllReduce 20;behind 3;"
#define SLEEPS "state S;cpu 0;"
#define UNTOLD "ras none;comm ;calls ;calls_later ;"
#define GOES_ON "calls_later AllReduce 99;"
#define COMPUTES "gpu_sm_pct 85;gpu_warp_pct 40;"
#define SILENT "ras missing;cpu 0;"

/** "rank_asleep 3" or "" and the status of @n rows. */
static void expect(struct hang_row *list, size_t n, const char *named,
		   enum verdict_status status)
{
	const struct hang_rows rows = { .list = list, .n = n };
	struct str said = STR_INIT;
	struct verdict v;
	struct run r;

	fake_run(&r, 1, 1, 1);
	r.n_ranks = 0;
	if (str_starts(named, "rank_oom")) {
		fake_fact(&r, "n0", "node", HANG_OOM, "1");
	}
	STR_COPY(r.probe, "hang");
	assert_int_equal(hang_judge(&r, &rows, &v), 0);
	for (size_t i = 0; i < v.n; i++) {
		if (v.findings[i].part.kind == PART_PROCESS) {
			str_addf(&said, "%s%s %d", said.len ? ", " : "",
				 v.findings[i].code, v.findings[i].part.index);
		}
	}
	assert_string_equal(str_text(&said), named);
	assert_int_equal(v.status, status);
	assert_int_equal(v.n_exclude, 0);	/* it is the job's fault */
	str_release(&said);
	verdict_release(&v);
	run_release(&r);
}

static void the_odd_one_is_named(void **state)
{
	static const struct {
		const char *odd, *named;
	} cases[] = {
		{ BEHIND SLEEPS, "rank_asleep 3" },
		{ BEHIND, "rank_computes 3" },
		/* ready to run, and nobody lets it */
		{ BEHIND "cpu 0.01", "rank_computes 3" },
		{ BEHIND SLEEPS "waits_in pipe_read", "rank_waits_file 3" },
		{ BEHIND SLEEPS "children 3 S, 1 Z", "rank_child_dead 3" },
		{ SILENT "state T", "rank_stopped 3" },
		{ SILENT "state X", "rank_gone 3" },
		{ SILENT "state X", "rank_oom 3" },
		{ "state D;cpu 0;stuck_tid 103", "rank_stuck 3" },
		{ BEHIND SLEEPS "stuck_tid 1030", "rank_stuck 3" },
		{ "stuck_tid 1030", "rank_stuck 3" },
		/* it reads and reads */
		{ BEHIND "state D;cpu 0", "rank_waits_file 3" },
		{ BEHIND "gpu_throttled hw_thermal", "rank_throttled 3" },
		/* of a GPU that does nothing that says nothing */
		{ BEHIND SLEEPS "gpu_throttled hw_thermal;gpu_busy_pct 0",
		  "rank_asleep 3" },
		{ "gpu_power_W 300;gpu_throttled hw_thermal",
		  "rank_throttled 3" },
		{ BEHIND "state D;cpu 0.02;swapped_B 500000000;faults 900",
		  "rank_swapped 3" },
		{ BEHIND "swapped_B 500000000;faults 3", "rank_computes 3" },
		{ SLEEPS "calls AllGather 1, AllReduce 20;"
		  "calls_later AllGather 1, AllReduce 20",
		  "rank_other_call 3" },
		{ "gpu_power_W 300", "rank_gpu_busy 3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hang_row rows[] = { rank(0, ""), rank(1, ""),
					   rank(2, ""),
					   rank(3, cases[i].odd) };

		expect(rows, RANKS, cases[i].named, VERDICT_FAIL);
	}
}

#define WAITS "gpu_sm_pct 12.1;gpu_warp_pct 3.6;"

/* Kernels of NCCL that wait are alike. */
static void the_GPU_that_differs_is_named(void **state)
{
	static const struct {
		const char *others, *odd, *named;
	} cases[] = {
		{ WAITS, "gpu_sm_pct 99.7;gpu_warp_pct 61", "rank_gpu_busy 3" },
		/* one thread that never ends */
		{ WAITS, "gpu_sm_pct 0.76;gpu_warp_pct 0.012",
		  "rank_gpu_busy 3" },
		{ WAITS, "gpu_sm_pct 1.5;gpu_warp_pct 0.3",
		  "rank_other_size 3" },
		{ WAITS, "gpu_sm_pct 10.9;gpu_warp_pct 3.3", "" },
		/* all compute: a step that takes longer than we watch */
		{ "gpu_sm_pct 99;gpu_warp_pct 60", "gpu_sm_pct 80;gpu_warp_pct 60",
		  "" },
		/* not all are known, or they share one */
		{ "", "gpu_sm_pct 99.7;gpu_warp_pct 61;gpu_busy_pct 50", "" },
		{ WAITS, "gpu_sm_pct 99.7;gpu_warp_pct 61;gpu 1", "" },
		{ WAITS, "gpu_power_W 300;gpu 1", "" },
		/* a dead link between nodes leaves some half done */
		{ WAITS, "gpu_sm_pct 1.5;gpu_warp_pct 0.3;node n1", "" },
		{ WAITS, "gpu_sm_pct 99.7;gpu_warp_pct 61;node n1",
		  "rank_gpu_busy 3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hang_row rows[] = { rank(0, cases[i].others),
					   rank(1, cases[i].others),
					   rank(2, cases[i].others),
					   rank(3, cases[i].odd) };

		expect(rows, RANKS, cases[i].named, cases[i].named[0] ?
			       VERDICT_FAIL : VERDICT_UNKNOWN);
	}
}

/* What is left where nobody is named. */
static void what_is_not_decided_is_said(void **state)
{
	static const struct {
		const char *all, *code, *says;
	} cases[] = {
		{ "", "hang_same_call", "are in AllReduce 21 with equal" },
		{ "gpu_busy_pct 0", "hang_between",
		  "finished AllReduce 21 and" },
		{ "gpu_busy_pct 0;calls ;calls_later ", "hang_between",
		  "None of the 2 ranks has started a collective" },
		{ "gpu_busy_pct 40", "hang_undecided", "" },
		{ UNTOLD, "hang_undecided", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hang_row list[] = { rank(0, cases[i].all),
					   rank(1, cases[i].all) };
		const struct hang_rows rows = { .list = list, .n = 2 };
		struct verdict v;
		struct run r;

		fake_run(&r, 1, 1, 1);
		r.n_ranks = 0;
		assert_int_equal(hang_judge(&r, &rows, &v), 0);
		assert_int_equal(v.n, 1);
		assert_string_equal(v.findings[0].code, cases[i].code);
		assert_non_null(strstr(v.findings[0].says, cases[i].says));
		assert_int_equal(v.status, VERDICT_UNKNOWN);
		verdict_release(&v);
		run_release(&r);
	}
}

#define PAIR "comm_size 2;calls ;calls_later ;"
#define IDLES "state S;cpu 0;waits_in futex_wait_queue;"
#define ROWS 10

/** A pipeline of up to five in the communicators 0-1, 1-2 and so on, and with
 *  @cycle from the last to 0, of which @is says what each rank does: "w" waits
 *  in NCCL, "i" is idle, "s" sleeps, "c" waits for a connection.  Returns the
 *  rows. */
static size_t pipeline(struct hang_row *rows, const char *is, bool cycle)
{
	const int ranks = (int)strlen(is);
	size_t n = 0;

	for (int c = 0; c < ranks - 1 + cycle; c++) {
		for (int end = 0; end < 2; end++) {
			int r = (c + end) % ranks;
			char changes[200];

			snprintf(changes, sizeof(changes), PAIR
				 "comm 0x%d;comm_rank %d;%s", c, end,
				 is[r] == 'i' ? IDLES :
				 is[r] == 'c' ? "state S;cpu 0;"
						"waits_in wait_woken" :
				 is[r] == 's' ? "state S;cpu 0;"
						"waits_in hrtimer_nanosleep" :
						"");
			rows[n++] = rank(r, changes);
		}
	}
	return n;
}

/* RAS does not count send and receive. */
static void the_end_of_a_pipeline_is_named(void **state)
{
	static const struct {
		const char *is, *named;
		bool cycle;
	} cases[] = {
		{ .is = "iwww", .named = "rank_asleep 0" },
		{ .is = "wiww", .named = "rank_asleep 1" },
		{ .is = "wwiw", .named = "rank_asleep 2" },
		{ .is = "wwwi", .named = "rank_asleep 3" },
		/* 2 may wait for it, which sleeps for a reason of its own */
		{ .is = "wwis", .named = "rank_asleep 3" },
		{ .is = "wssw", .named = "rank_asleep 1, rank_asleep 2" },
		{ .is = "wiiw", .named = "" },
		/* 1 sets up a communicator with 2, which does not come */
		{ .is = "wcsw", .named = "rank_asleep 2" },
		{ .is = "wciw", .named = "" },
		/* 1 will wait for 0, which sleeps as well */
		{ .is = "ssww", .named = "rank_asleep 0, rank_asleep 1" },
		/* 0 may wait for 1 */
		{ .is = "isww", .named = "rank_asleep 1" },
		{ .is = "iswww", .named = "rank_asleep 1" },
		{ .is = "iiii", .named = "" },
		{ .is = "wwww", .named = "" },
		{ .is = "wwww", .named = "", .cycle = true },
		{ .is = "wwsw", .named = "rank_asleep 2", .cycle = true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hang_row rows[ROWS];
		size_t n = pipeline(rows, cases[i].is, cases[i].cycle);

		expect(rows, n, cases[i].named, cases[i].named[0] ?
			       VERDICT_FAIL : VERDICT_UNKNOWN);
	}
}

/** Judge @n rows that name no rank, and compare the finding. */
static void undecided(struct hang_row *list, size_t n, const char *code,
		      const char *says)
{
	const struct hang_rows rows = { .list = list, .n = n };
	struct verdict v;
	struct run r;

	fake_run(&r, 1, 1, 1);
	r.n_ranks = 0;
	assert_int_equal(hang_judge(&r, &rows, &v), 0);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.findings[0].code, code);
	assert_non_null(strstr(v.findings[0].says, says));
	assert_int_equal(v.status, VERDICT_UNKNOWN);
	verdict_release(&v);
	run_release(&r);
}

/* A rank counts once, whatever its communicators; no name is empty. */
static void a_circle_is_named_with_its_ranks(void **state)
{
	struct hang_row rows[ROWS];

	(void)state;
	undecided(rows, pipeline(rows, "wwww", true), "hang_cycle",
		  "Ranks 0, 1, 2, 3 wait for each other");
	for (int i = 0; i < 6; i++) {
		rows[i] = rank(i % RANKS, "calls ;calls_later ;comm 0x7");
	}
	undecided(rows, 6, "hang_same_call", "All 4 ranks have work");
}

#define CPU_JOB UNTOLD "gpu -9223372036854775808;gpu_busy_pct nan;" \
		"gpu_power_W nan;"

/* Gloo and MPI: no GPU, no RAS. */
static void the_one_that_sleeps_elsewhere_is_named(void **state)
{
	static const struct {
		const char *others, *odd, *named;
	} cases[] = {
		{ IDLES, SLEEPS "waits_in hrtimer_nanosleep", "rank_asleep 3" },
		{ IDLES, SLEEPS "waits_in pipe_read", "rank_waits_file 3" },
		{ IDLES, SLEEPS "waits_in do_wait;children 1 Z",
		  "rank_child_dead 3" },
		{ IDLES, "waits_in ;cpu 1", "rank_computes 3" },
		/* others leave it too little CPU; and one that does little */
		{ IDLES, "waits_in ;cpu 0.5", "rank_computes 3" },
		{ IDLES, "waits_in ;cpu 0.3;switches 90", "" },
		{ IDLES, "waits_in ;cpu 0.5;state S", "" },
		{ IDLES "waits_in ep_poll", SLEEPS "waits_in hrtimer_nanosleep",
		  "rank_asleep 3" },
		/* it polls, and answers when it is asked */
		{ IDLES, SLEEPS "waits_in hrtimer_nanosleep;switches 20", "" },
		{ IDLES, IDLES, "" },
		{ IDLES, IDLES "waits_in ep_poll", "" },
		{ IDLES, IDLES "unread_B 4096", "rank_asleep 3" },
		{ IDLES "unread_B 64", IDLES "unread_B 4096", "" },
		/* all sleep */
		{ SLEEPS "waits_in hrtimer_nanosleep",
		  SLEEPS "waits_in hrtimer_nanosleep", "" },
		{ "waits_in ;cpu 1", IDLES, "rank_asleep 3" },
		{ "state S;waits_in ;cpu 0.4",
		  SLEEPS "waits_in hrtimer_nanosleep", "" },
		/* those that spin have told NCCL nothing of their calls */
		{ "ras answers;comm 0x7;waits_in ;cpu 1", "waits_in ;cpu 1",
		  "rank_computes 3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hang_row rows[RANKS];

		for (int r = 0; r < RANKS; r++) {
			char all[400];

			snprintf(all, sizeof(all), CPU_JOB "%s",
				 r == 3 ? cases[i].odd : cases[i].others);
			rows[r] = rank(r, all);
		}
		expect(rows, RANKS, cases[i].named, cases[i].named[0] ?
			       VERDICT_FAIL : VERDICT_UNKNOWN);
	}
}

static void a_rank_without_a_process_is_said(void **state)
{
	static const char waits[] = CPU_JOB IDLES "local_ranks 4";
	struct hang_row rows[] = { rank(1, waits), rank(2, waits) };

	(void)state;
	undecided(rows, 2, "hang_missing", "was found for 2 of the ranks");
	undecided(rows, 2, "hang_missing", "the others wait: rank 0, 3");
	STR_COPY(rows[0].node, "n1");
	rows[0].local_ranks = rows[1].local_ranks = RECORD_NONE;
	undecided(rows, 2, "hang_undecided", "from its 2 processes");
	for (int i = 0; i < 2; i++) {
		STR_COPY(rows[i].waits_in, "wait_woken");
		STR_COPY(rows[i].store, "10.0.0.1:29500");
	}
	undecided(rows, 2, "hang_store", "the rendezvous store 10.0.0.1:29500");
	STR_COPY(rows[1].waits_in, "futex_wait_queue");
	undecided(rows, 2, "hang_undecided", "from its 2 processes");
}

/** "gpu 3 xid, rank_oom 2": what @v has found. */
static void list_findings(const struct verdict *v, struct str *said)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct finding *f = &v->findings[i];
		const char *comma = i > 0 ? ", " : "";

		if (f->part.kind == PART_PROCESS) {
			str_addf(said, "%s%s %d", comma, f->code,
				 f->part.index);
		} else {
			str_addf(said, "%s%s %d %s", comma,
				 part_kind_name(f->part.kind), f->part.index,
				 f->code);
		}
	}
}

#define FAR "node 10.0.0.2;state ;ras missing;calls ;calls_later "

/* NCCL misses rank 3 at an address, and its node has looked, or not. */
static void who_is_missed_elsewhere_is_gone(void **state)
{
	static const struct {
		const char *address, *there, *silent, *named;
	} cases[] = {
		{ "10.0.0.2/24, mtu 9000", NULL, "", "rank_gone 3" },
		{ "10.0.0.2/24, mtu 9000", "pid 7", "", "rank_gone 3" },
		/* it only does not answer */
		{ "10.0.0.2/24, mtu 9000", UNTOLD "pid 103", "", "" },
		{ "10.0.0.2/24, mtu 9000", NULL, "n1", "" },
		{ "10.0.0.22/24, mtu 9000", NULL, "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hang_row list[] = {
			rank(0, ""), rank(3, FAR),
			rank(2, cases[i].there ? cases[i].there : ""),
		};
		struct hang_row silent = { .code = "worker_hung",
					   .outcome = OUTCOME_TIMEOUT };
		struct hang_rows rows = { .list = list, .silent = &silent,
					  .n = cases[i].there ? 3 : 2,
					  .n_silent = cases[i].silent[0] };
		struct str said = STR_INIT;
		struct verdict v;
		struct run r;

		STR_COPY(silent.node, cases[i].silent);
		STR_COPY(list[2].node, "n1");
		fake_run(&r, 2, 1, 1);
		r.n_ranks = 0;
		fake_fact(&r, "n1", "eth0", "address", cases[i].address);
		hang_find_far(&r, &rows);
		rows.n_silent = 0;
		assert_int_equal(hang_judge(&r, &rows, &v), 0);
		for (size_t k = 0; k < v.n; k++) {
			if (v.findings[k].fail) {
				list_findings(&v, &said);
			}
		}
		assert_string_equal(str_text(&said), cases[i].named);
		str_release(&said);
		verdict_release(&v);
		run_release(&r);
	}
}

/* Three of four ranks, each with another call: nobody is of the most. */
static void without_a_majority_nobody_is_odd(void **state)
{
	struct hang_row rows[] = {
		rank(0, "calls AllGather 1;calls_later AllGather 1"),
		rank(1, "calls Reduce 1;calls_later Reduce 1"),
		rank(2, "calls Broadcast 1;calls_later Broadcast 1"),
		rank(3, ""),
	};

	(void)state;
	expect(rows, RANKS, "", VERDICT_UNKNOWN);
}

/* 2,000 ranks, each in 30 communicators: minutes, if each row were compared
 * with each. */
static void many_rows_are_judged_in_time(void **state)
{
	const size_t n = 60000;
	struct hang_row *rows = calloc(n, sizeof(*rows));

	(void)state;
	assert_non_null(rows);
	for (size_t i = 0; i < n; i++) {
		rows[i] = rank((int)(i % 2000), i == 7 ? BEHIND SLEEPS : "");
		snprintf(rows[i].comm, sizeof(rows[i].comm), "0x%zu", i / 200);
	}
	expect(rows, n, "rank_asleep 7", VERDICT_FAIL);
	free(rows);
}

/* What a node says: "SCOPE FACT VALUE" of n0. */
static void what_nodes_say_is_heard(void **state)
{
	static const struct {
		const char *odd, *scope, *fact, *value, *named;
	} cases[] = {
		{ SILENT "state X", "node", HANG_KERNEL_OOM,
		  "Out of memory: Killed process 103 (python3)", "rank_oom 3" },
		{ SILENT "state X", "node", HANG_KERNEL_OOM,
		  "Out of memory: Killed process 1031 (python3)",
		  "rank_gone 3" },
		{ SILENT "state X", "node", HANG_OOM, "1", "rank_oom 3" },
		{ BEHIND SLEEPS, "node", HANG_OOM, "1", "rank_asleep 3" },
		{ BEHIND SLEEPS, "node", HANG_KERNEL_XID,
		  "NVRM: Xid (PCI:0000:1b:00): 31, pid=103, name=python",
		  "rank_gpu_error 3" },
		{ BEHIND SLEEPS, "node", HANG_KERNEL_XID,
		  "NVRM: Xid (PCI:0000:1b:00): 31, pid='77', name=python",
		  "rank_asleep 3" },
		{ SILENT "state X", "node", HANG_KERNEL_XID,
		  "NVRM: Xid (PCI:0000:1B:00): 79, GPU has fallen off the bus.",
		  "rank_gpu_error 3" },
		/* and where all wait */
		{ "", "node", HANG_KERNEL_XID,
		  "9 s ago: NVRM: Xid (PCI:0000:1b:00): 145, RLW_REMAP",
		  "gpu 3 xid" },
		{ "", "node", HANG_KERNEL_XID,
		  "9000 s ago: NVRM: Xid (PCI:0000:1b:00): 145, RLW_REMAP",
		  "gpu 3 xid, config -1 hang_same_call" },
		{ "", "node", HANG_KERNEL_XID,
		  "NVRM: Xid (PCI:0000:5d:00): 145, RLW_REMAP",
		  "config -1 hang_same_call" },
		{ "", "gpu1", "nvlinks_lost_growth", "1", "gpu 1 nvlink_down" },
		/* the job itself */
		{ "", "gpu1", "gpu_busy", "pid 101 (python, of ann)",
		  "config -1 hang_same_call" },
		{ "", "gpu7", "nvlinks_lost_growth", "1",
		  "config -1 hang_same_call" },
		{ "", "gpu1", "thermal_throttle_growth", "9000000",
		  "config -1 hang_same_call" },
		/* a job of one node has no use for its ports */
		{ "", "mlx5_0", "local_ack_timeout_err_growth", "3",
		  "config -1 hang_same_call" },
		{ "node n1", "mlx5_0", "local_ack_timeout_err_growth", "3",
		  "node_network -1 retransmits" },
		{ "node n1", "mlx5_0", "np_cnp_sent_growth", "3",
		  "config -1 hang_same_call" },
		{ "node n1", "node", HANG_KERNEL_LINK,
		  "9 s ago: mlx5_core 0000:0c:00.0: Port: 1 Link down",
		  "node_network -1 link_flapped" },
		{ "calls_later AllReduce 22", "gpu1", "nvlinks_lost_growth", "1",
		  "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hang_row list[] = { rank(0, ""), rank(1, ""),
					   rank(2, ""), rank(3, cases[i].odd) };
		const struct hang_rows rows = { .list = list, .n = RANKS };
		struct str said = STR_INIT;
		struct verdict v;
		struct run r;

		fake_run(&r, 2, 1, 1);
		r.n_ranks = 0;
		fake_fact(&r, "n0", cases[i].scope, cases[i].fact,
			  cases[i].value);
		fake_fact(&r, "n0", "gpu3", "bus", "0000:1b:00.0");
		assert_int_equal(hang_judge(&r, &rows, &v), 0);
		list_findings(&v, &said);
		assert_string_equal(str_text(&said), cases[i].named);
		str_release(&said);
		verdict_release(&v);
		run_release(&r);
	}
}

/* Of a job of three nodes in which all wait: mlx5_0 of each, "STATE MOVED" and,
 * of n1, packets that it sent again. */
static void ports_are_compared(void **state)
{
	static const struct {
		const char *of[3], *again, *named, *says;
	} cases[] = {
		{ { "ACTIVE 0", "DOWN 0", "ACTIVE 0" }, "0",
		  "node_network -1 port_down", "n1 has a fault: mlx5_0, the "
		  "port is down" },
		/* nobody uses it */
		{ { "DOWN 0", "DOWN 0", "ACTIVE 0" }, "0",
		  "config -1 hang_same_call",
		  "computation; no port of these nodes moves data" },
		{ { "INIT 0", "DOWN 0", "INIT 0" }, "0",
		  "config -1 hang_same_call", "" },
		{ { "ACTIVE 90000000", "ACTIVE 80000000", "ACTIVE 70000000" },
		  "0", "config -1 hang_same_call", "possibly a long message" },
		{ { "ACTIVE 90000000", "ACTIVE 0", "ACTIVE 70000000" }, "0",
		  "config -1 hang_same_call", "GPU runs a long computation" },
		{ { "ACTIVE 0", "ACTIVE 0", "ACTIVE 0" }, "7",
		  "node_network -1 retransmits", "packets lost" },
		{ { "ACTIVE 90000000", "ACTIVE 80000000", "ACTIVE 70000000" },
		  "7", "node_network -1 retransmits", "" },
		/* a file system, while the job stands */
		{ { "ACTIVE 0", "ACTIVE 80000000", "ACTIVE 90" }, "7",
		  "node_network -1 retransmits, config -1 hang_same_call",
		  "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hang_row list[] = { rank(0, ""), rank(1, "node n1"),
					   rank(2, "node n2") };
		const struct hang_rows rows = { .list = list, .n = 3 };
		struct str said = STR_INIT;
		struct verdict v;
		struct run r;

		fake_run(&r, 3, 1, 1);
		r.n_ranks = 0;
		for (int k = 0; k < 3; k++) {
			char word[16], node[] = { 'n', (char)('0' + k), '\0' };
			const char *of = cases[i].of[k];

			snprintf(word, sizeof(word), "%.*s",
				 (int)strcspn(of, " "), of);
			fake_fact(&r, node, "mlx5_0", "port_state", word);
			fake_fact(&r, node, "mlx5_0", "packet_seq_err_growth",
				  k == 1 ? cases[i].again : "0");
			fake_fact(&r, node, "mlx5_0", "data_moved",
				  of + strcspn(of, " ") + 1);
		}
		assert_int_equal(hang_judge(&r, &rows, &v), 0);
		list_findings(&v, &said);
		assert_string_equal(str_text(&said), cases[i].named);
		assert_non_null(strstr(v.findings[0].says, cases[i].says));
		str_release(&said);
		verdict_release(&v);
		run_release(&r);
	}
}

/* One that died leaves another behind, whose NCCL has seen it. */
static void what_follows_is_not_named(void **state)
{
	struct hang_row rows[] = { rank(0, BEHIND SLEEPS "async_error 6"),
				   rank(1, ""), rank(2, ""),
				   rank(3, SILENT "state X") };

	(void)state;
	expect(rows, RANKS, "rank_gone 3", VERDICT_FAIL);
}

/* Rank 1 is behind in the second communicator as it waits in the first. */
static void who_waits_for_another_is_not_named(void **state)
{
	struct hang_row rows[] = { rank(0, BEHIND SLEEPS), rank(1, ""),
				   rank(1, BEHIND "comm 0x2"),
				   rank(2, "comm 0x2") };
	/* and these two for each other */
	struct hang_row circle[] = { rank(0, BEHIND), rank(1, ""),
				     rank(0, "comm 0x2"),
				     rank(1, BEHIND "comm 0x2") };

	(void)state;
	expect(rows, 4, "rank_asleep 0", VERDICT_FAIL);
	expect(circle, 4, "", VERDICT_UNKNOWN);
}

static void without_RAS_the_idle_one_is_named(void **state)
{
	struct hang_row rows[] = { rank(0, UNTOLD), rank(1, UNTOLD),
				   rank(2, UNTOLD), rank(3, UNTOLD SLEEPS) };
	struct hang_row all_sleep[] = { rank(0, UNTOLD SLEEPS),
					rank(1, UNTOLD SLEEPS) };
	struct hang_row one_in_two[] = { rank(0, UNTOLD "state S;cpu 0.5"),
					 rank(1, UNTOLD SLEEPS) };

	(void)state;
	expect(rows, RANKS, "rank_asleep 3", VERDICT_FAIL);
	expect(all_sleep, 2, "", VERDICT_UNKNOWN);
	expect(one_in_two, 2, "", VERDICT_UNKNOWN);
}

static void who_goes_on_is_left_alone(void **state)
{
	static const struct {
		const char *others, *last, *named;
		enum verdict_status status;
	} cases[] = {
		{ "calls_later AllReduce 99", "calls_later AllReduce 98;behind 1",
		  "", VERDICT_PASS },
		/* late each time, in a job that goes on slowly */
		{ "calls_later AllReduce 23", "calls_later AllReduce 22;behind 3",
		  "rank_slow 3", VERDICT_WARN },
		{ "calls_later AllReduce 23;behind 1",
		  "calls_later AllReduce 22;behind 3", "", VERDICT_PASS },
		/* data of another collective, and nobody waits */
		{ "calls_later AllReduce 99", "calls AllGather 1, AllReduce 20;"
		  "calls_later AllGather 1, AllReduce 98", "rank_other_call 3",
		  VERDICT_FAIL },
		/* nobody waits, as far as anybody can see */
		{ "", "", "", VERDICT_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hang_row rows[] = { rank(0, cases[i].others),
					   rank(1, cases[i].others),
					   rank(2, cases[i].others),
					   rank(3, cases[i].last) };

		expect(rows, RANKS, cases[i].named, cases[i].status);
	}
	expect(NULL, 0, "", VERDICT_UNKNOWN);
}

/* What looks like a rank that does not come, in jobs that are well. */
static void who_is_well_is_left_alone(void **state)
{
	static const struct {
		const char *others, *last, *named;
		enum verdict_status status;
	} cases[] = {
		/* it ends, and others have ended while it was looked at */
		{ "state X", "state X", "", VERDICT_UNKNOWN },
		{ GOES_ON, SILENT "state X", "", VERDICT_PASS },
		/* its node was asked before the others went on */
		{ "", BEHIND "behind 0", "", VERDICT_UNKNOWN },
		/* they have only queued what they will wait in */
		{ COMPUTES, BEHIND, "", VERDICT_UNKNOWN },
		{ COMPUTES "calls_later AllReduce 23",
		  "calls_later AllReduce 22;behind 3", "", VERDICT_PASS },
		/* ... by far more than it, and with an AllGather in between */
		{ "calls AllGather 1, AllReduce 90;"
		  "calls_later AllGather 1, AllReduce 99",
		  "calls AllReduce 50;calls_later AllReduce 60;behind 3", "",
		  VERDICT_PASS },
		/* they work, and it is done: RAS is off, or says that of the
		 * others */
		{ UNTOLD COMPUTES, UNTOLD SLEEPS, "", VERDICT_UNKNOWN },
		{ UNTOLD "gpu_busy_pct 0", UNTOLD SLEEPS, "", VERDICT_UNKNOWN },
		{ GOES_ON, UNTOLD SLEEPS, "", VERDICT_PASS },
		/* stages of a pipeline, which RAS does not count */
		{ "gpu_sm_pct 55;gpu_warp_pct 20",
		  "gpu_sm_pct 62;gpu_warp_pct 25", "", VERDICT_UNKNOWN },
		/* threads of some library */
		{ "stuck_tid 7", "stuck_tid 7", "", VERDICT_UNKNOWN },
		{ GOES_ON, GOES_ON "stuck_tid 103", "", VERDICT_PASS },
		/* one is slow, or all are */
		{ GOES_ON, GOES_ON "gpu_throttled hw_thermal",
		  "rank_throttled 3", VERDICT_WARN },
		{ GOES_ON "gpu_throttled hw_thermal",
		  GOES_ON "gpu_throttled hw_thermal", "", VERDICT_PASS },
		{ "calls_later AllReduce 23", "calls_later AllReduce 22;"
		  "behind 3;gpu_throttled hw_power_brake", "rank_throttled 3",
		  VERDICT_WARN },
	};
	/* goes on in one communicator, and has not come in the other */
	struct hang_row two[] = {
		rank(0, GOES_ON), rank(1, GOES_ON),
		rank(0, "comm 0x2"), rank(1, "comm 0x2;" BEHIND),
	};
	/* waits in two: each has its own channels */
	struct hang_row channels[] = {
		rank(0, WAITS), rank(1, WAITS), rank(2, WAITS),
		rank(3, "comm 0x2;gpu_sm_pct 1.5;gpu_warp_pct 0.3"),
	};
	/* of two, nobody knows which one works */
	struct hang_row pair[] = { rank(0, UNTOLD), rank(1, UNTOLD SLEEPS) };
	/* one has left the order, one has not come yet */
	struct hang_row six[] = {
		rank(0, ""), rank(1, ""), rank(2, ""), rank(3, ""),
		rank(4, "calls_later AllGather 1, AllReduce 20"),
		rank(5, BEHIND SLEEPS),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hang_row rows[] = { rank(0, cases[i].others),
					   rank(1, cases[i].others),
					   rank(2, cases[i].others),
					   rank(3, cases[i].last) };

		expect(rows, RANKS, cases[i].named, cases[i].status);
	}
	expect(two, 4, "", VERDICT_PASS);
	expect(channels, 4, "", VERDICT_UNKNOWN);
	expect(pair, 2, "", VERDICT_UNKNOWN);
	STR_COPY(six[4].calls, six[4].calls_later);
	expect(six, 6, "rank_other_call 4, rank_asleep 5", VERDICT_FAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_odd_one_is_named),
		cmocka_unit_test(the_GPU_that_differs_is_named),
		cmocka_unit_test(what_is_not_decided_is_said),
		cmocka_unit_test(the_end_of_a_pipeline_is_named),
		cmocka_unit_test(a_circle_is_named_with_its_ranks),
		cmocka_unit_test(the_one_that_sleeps_elsewhere_is_named),
		cmocka_unit_test(a_rank_without_a_process_is_said),
		cmocka_unit_test(who_is_missed_elsewhere_is_gone),
		cmocka_unit_test(without_a_majority_nobody_is_odd),
		cmocka_unit_test(many_rows_are_judged_in_time),
		cmocka_unit_test(what_nodes_say_is_heard),
		cmocka_unit_test(ports_are_compared),
		cmocka_unit_test(what_follows_is_not_named),
		cmocka_unit_test(who_waits_for_another_is_not_named),
		cmocka_unit_test(without_RAS_the_idle_one_is_named),
		cmocka_unit_test(who_goes_on_is_left_alone),
		cmocka_unit_test(who_is_well_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
