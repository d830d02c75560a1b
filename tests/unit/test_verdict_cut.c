/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said of a run whose nodes or ranks did not come, went, or did not get
 * to run: no healthy part is at fault for that. */
#include "report/judge/verdict.h"
#include "tests/unit/fake_judge.h"

/** Nobody came: no node is the suspect. */
static void test_nobody_came(void **state)
{
	static const char *const names[] = { "n0", "n1", "n2" };
	struct verdict v;
	struct run r;

	(void)state;
	for (int came = 0; came < 2; came++) {
		fake_run(&r, 3, 4, 4);
		for (int i = came; i < 3; i++) {
			const struct fake_fault node = {
				.kind = PART_NODE, .a = i,
			};

			fake_break(&r, &node, OUTCOME_SKIPPED,
				   "agent_missing");
			fake_fact(&r, names[i], "node", "state",
				  "agent_missing");
		}
		v = judge(&r);
		assert_int_equal(v.n, came ? 2 : 1);
		assert_int_equal(v.n_exclude, came ? 2 : 0);
		assert_int_equal(v.findings[0].part.kind,
				 came ? PART_NODE : PART_INTER_NODE);
		assert_string_equal(v.findings[0].code, "agent_missing");
		assert_int_equal(v.findings[0].explained, came ? 76 : 132);
		assert_int_equal(v.status, VERDICT_FAIL);
		verdict_release(&v);
		run_release(&r);
	}
}

/** A limit of ours is a finding of its own, and no node's. */
static void test_own_limit(void **state)
{
	static const struct fake_fault gpu = { .kind = PART_GPU, .a = 1,
					       .b = 2 };
	struct event_row event = { .node = "n1", .event = "limit_nofile",
				   .detail = "24 open files, 40 are needed" };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 3, 4, 4);
	fake_break(&r, &gpu, OUTCOME_NOT_RUN, "limit_nofile");
	fake_fact(&r, "n1", "gpu2", "state", "short");
	fake_fact(&r, "n1", "gpu2", "state_code", "limit_nofile");
	r.events = malloc(sizeof(event));
	r.events[0] = event;
	r.n_events = 1;
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.kind, PART_LIMIT);
	assert_int_equal(v.findings[0].part.node, 1);
	assert_string_equal(v.findings[0].code, "limit_nofile");
	assert_int_equal(v.findings[0].explained, 22);
	assert_non_null(strstr(v.findings[0].says, event.detail));
	assert_null(strstr(v.findings[0].act, "retest"));
	assert_false(v.findings[0].fail);
	assert_false(v.findings[0].drain);
	assert_int_equal(v.n_exclude, 0);
	assert_int_equal(v.status, VERDICT_PARTIAL);
	assert_int_equal(verdict_exit(&r, &v), 4);
	verdict_release(&v);

	/* tested later after all */
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		if (r.cells[at].class == CELL_NOT_RUN) {
			r.cells[at].class = CELL_PASS;
			r.cell_code[at] = 0;
		}
	}
	v = judge(&r);
	assert_int_equal(v.n, 0);
	verdict_release(&v);
	run_release(&r);
}

/** A full /dev/shm is no reason to drain a node, nor is a login that failed;
 *  any other failure of it is. */
static void test_shortage_drains_not(void **state)
{
	static const char *const codes[] = { "nccl_error", "shm_small",
					     "fd_limit", "ssh_host_key" };
	static const struct fake_fault node = { .kind = PART_NODE, .a = 1 };
	struct verdict v;
	struct run r;

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		fake_run(&r, 5, 4, 4);
		fake_break(&r, &node, OUTCOME_ERROR, codes[i]);
		v = judge(&r);
		assert_int_equal(v.n, 1);
		assert_string_equal(v.findings[0].code, codes[i]);
		assert_int_equal(v.findings[0].drain, i == 0);
		assert_int_equal(v.n_exclude, 1);
		verdict_release(&v);
		run_release(&r);
	}
}

static bool is_evidence(const struct finding *f, const char *text)
{
	size_t i = 0;

	while (i < f->n_evidence && !strstr(f->evidence[i], text)) {
		i++;
	}
	return i < f->n_evidence;
}

/** Many fall silent at once: suspect who listens. */
static void test_coordinator_cut(void **state)
{
	static const struct {
		int nodes, lost;	/* the last ones */
		const char *why;
		bool apart;		/* by a minute, each */
		const char *link;	/* the coordinator's */
		bool cut;
		bool ended;		/* all in one second */
		bool early;		/* n0 and n1 failed, the run ended */
		const char *killed;	/* the coordinator, then */
	} cases[] = {
		{ .nodes = 3, .lost = 2, .why = "closed by the other end",
		  .ended = true },
		/* it had written all but its own end */
		{ .nodes = 3, .lost = 2, .why = "closed by the other end",
		  .ended = true, .killed = "2026-01-31T09:20:00.500Z" },
		{ .nodes = 3, .lost = 2, .why = "no message for 15 s",
		  .cut = true, .killed = "2026-01-31T09:21:00.000Z" },
		{ .nodes = 3, .lost = 1, .why = "closed by the other end" },
		{ .nodes = 3, .lost = 2, .why = "no message for 15 s",
		  .cut = true },
		{ .nodes = 3, .lost = 3, .why = "no message for 15 s",
		  .cut = true },
		{ .nodes = 3, .lost = 1, .why = "no message for 15 s" },
		{ .nodes = 8, .lost = 2, .why = "no message for 15 s" },
		{ .nodes = 8, .lost = 5, .why = "connection timed out",
		  .cut = true },
		{ .nodes = 8, .lost = 5, .why = "closed by the other end" },
		{ .nodes = 3, .lost = 2, .why = "no message for 15 s",
		  .apart = true },
		{ .nodes = 2, .lost = 1, .why = "no message for 15 s",
		  .link = "eth0 no_carrier", .cut = true },
		{ .nodes = 2, .lost = 1, .why = "no message for 15 s",
		  .link = "eth0 up" },
		{ .nodes = 2, .lost = 1, .why = "no message for 15 s",
		  .link = "eth0 flapped", .cut = true },
		{ .nodes = 8, .lost = 2, .why = "no message for 15 s",
		  .link = "eth0 flapped" },
		/* by one way of several that it has: that of those who were
		 * lost */
		{ .nodes = 8, .lost = 2, .why = "no message for 15 s",
		  .link = "eth0 down", .cut = true },
		{ .nodes = 3, .lost = 1, .why = "no message for 6 s",
		  .link = "eth0 no_carrier", .cut = true },
		{ .nodes = 4, .lost = 2, .why = "no message for 2 s",
		  .link = "eth0 flapped", .cut = true, .early = true },
	};
	static const struct fake_fault home = { .kind = PART_NODE_PAIR, .a = 0,
						.b = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int first = cases[i].nodes - cases[i].lost;
		struct verdict v;
		struct run r;

		print_message("case %zu\n", i);
		fake_run(&r, cases[i].nodes, 2, 2);
		json_object_set_new(r.json, "launcher", json_string("srun"));
		fake_event(&r, "2026-01-31T09:15:00.000Z", "n0", "agent",
			   "agent 0 of 3, 2 GPUs");
		if (cases[i].link) {
			fake_event(&r, "2026-01-31T09:20:00.000Z", "",
				   "own_link", cases[i].link);
		}
		for (int n = first; n < cases[i].nodes; n++) {
			const struct fake_fault f = { .kind = PART_NODE,
						      .a = n };
			char utc[32];

			fake_break(&r, &f, cases[i].ended ? OUTCOME_ERROR :
							    OUTCOME_SKIPPED,
				   "agent_lost");
			fake_fact(&r, r.nodes[n].name, "node", "state",
				  "agent_lost");
			snprintf(utc, sizeof(utc), "2026-01-31T09:%02d:0%dZ",
				 cases[i].apart ? 20 + n : 20,
				 cases[i].ended ? 0 : n % 10);
			fake_event(&r, utc, r.nodes[n].name, "slurm_state",
				   "Slurm has it as down*");
			fake_event(&r, utc, r.nodes[n].name, "agent_lost",
				   cases[i].why);
		}
		if (cases[i].early) {
			fake_break(&r, &home, OUTCOME_TIMEOUT, "no_report");
		}
		if (cases[i].killed) {
			r.ended = false;
			STR_COPY(r.last_utc, cases[i].killed);
		}
		v = judge(&r);
		assert_true(is_evidence(&v.findings[0], "Slurm has it as"));
		assert_int_equal(v.status, cases[i].ended ? VERDICT_PARTIAL :
							    VERDICT_FAIL);
		if (cases[i].ended) {
			assert_int_equal(v.n, 1);
			assert_string_equal(v.findings[0].code, "agents_ended");
			assert_int_equal(v.n_exclude, 0);
			assert_int_equal(v.n_good, 0);
		} else if (cases[i].cut) {
			assert_int_equal(v.n, 1);
			assert_string_equal(v.findings[0].code,
					    "coordinator_cut");
			assert_false(v.findings[0].drain);
			/* by its own word, or else it may be well */
			assert_int_equal(v.findings[0].part.node,
					 cases[i].link ? 0 : -1);
			assert_int_equal(v.n_exclude, cases[i].link ? 1 : 0);
			assert_non_null(strstr(v.findings[0].act, "n0"));
		} else {
			assert_int_equal(v.n, cases[i].lost);
			assert_string_equal(v.findings[0].code, "agent_lost");
			assert_int_equal(v.findings[0].part.node, first);
		}
		verdict_release(&v);
		run_release(&r);
	}
}

/** A run that was cut after one test from node to node, which failed: that
 *  pair, and no node is left out for it. */
static void test_first_test_of_many(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 4, 4);
	r.ended = false;
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		int src = run_src(&r, at), dst = run_dst(&r, at);

		/* and one passed the other way */
		if (r.ranks[src].node != r.ranks[dst].node &&
		    (src != 0 || dst != 7)) {
			fake_cell(&r, src, dst, OUTCOME_NOT_RUN, "");
		}
	}
	fake_cell(&r, 4, 3, OUTCOME_CRASHED, "worker_crashed");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	print_message("%s\n", v.findings[0].says);
	assert_int_equal(v.findings[0].part.kind, PART_PAIR);
	assert_true(v.findings[0].n_or > 0);
	assert_int_equal(v.n_exclude, 0);
	verdict_release(&v);
	run_release(&r);
}

/** An agent of two, and soon the coordinator: whoever started them has ended
 *  them.  Much later it is another matter. */
static void test_ended_with_the_run(void **state)
{
	static const struct fake_fault n1 = { .kind = PART_NODE, .a = 1 };

	(void)state;
	for (int later = 0; later < 2; later++) {
		struct verdict v;
		struct run r;

		fake_run(&r, 2, 2, 2);
		r.ended = false;
		STR_COPY(r.last_utc, later ? "2026-01-31T09:21:00.000Z" :
					     "2026-01-31T09:20:01.000Z");
		fake_break(&r, &n1, OUTCOME_ERROR, "agent_lost");
		fake_cell(&r, 0, 1, OUTCOME_OK, "");
		fake_fact(&r, "n1", "node", "state", "agent_lost");
		fake_event(&r, "2026-01-31T09:20:00.000Z", "n1", "agent_lost",
			   "closed by the other end");
		v = judge(&r);
		assert_int_equal(v.status, later ? VERDICT_FAIL :
						   VERDICT_PARTIAL);
		assert_int_equal(v.n, later);
		assert_int_equal(v.n_exclude, later);
		verdict_release(&v);
		run_release(&r);
	}
}

/** A node that is lost when its tests are done explains none of them. */
static void test_lost_at_the_end(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 3, 2, 2);
	fake_cell(&r, 2, 4, OUTCOME_CORRUPT, "data_corrupt");
	fake_fact(&r, "n2", "node", "state", "agent_lost");
	fake_event(&r, "2026-01-31T09:20:00.000Z", "n2", "agent_lost",
		   "closed by the other end");
	v = judge(&r);
	assert_int_equal(v.n, 2);
	assert_int_equal(v.findings[0].part.kind, PART_PAIR);
	assert_int_equal(v.findings[0].explained, 1);
	assert_string_equal(v.findings[1].code, "agent_lost");
	assert_int_equal(v.findings[1].explained, 0);
	verdict_release(&v);
	run_release(&r);
}

/** A node that is lost in the middle is all that its tests tell of. */
static void test_lost_in_the_middle(void **state)
{
	static const struct {
		bool said;	/* in facts.csv; else by an event alone */
		bool other;	/* a port of n0 fails towards n1 as well */
	} cases[] = {
		{ .said = true }, { .said = true, .other = true }, { 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict v;
		struct run r;

		print_message("case %zu\n", i);
		fake_run(&r, 3, 2, 2);
		/* n0:1 and half of n1 had been through with it */
		for (int rank = 4; rank < 6; rank++) {
			fake_cell(&r, 0, rank, OUTCOME_SKIPPED, "agent_lost");
			fake_cell(&r, rank, 0, OUTCOME_ERROR, "agent_lost");
			fake_cell(&r, 2, rank, OUTCOME_SKIPPED, "agent_lost");
		}
		if (cases[i].said) {
			fake_fact(&r, "n2", "node", "state", "agent_lost");
		}
		fake_event(&r, "2026-01-31T09:20:00.000Z", "n2", "agent_lost",
			   "no message for 15 s");
		if (cases[i].other) {
			fake_cell(&r, 0, 2, OUTCOME_TIMEOUT, "timeout");
			fake_cell(&r, 0, 3, OUTCOME_TIMEOUT, "timeout");
		}
		v = judge(&r);
		assert_int_equal(v.n, cases[i].other ? 2 : 1);
		for (size_t k = 0; k < v.n; k++) {
			bool node = v.findings[k].part.kind == PART_NODE;

			assert_string_equal(v.findings[k].code,
					    node ? "agent_lost" : "timeout");
			assert_int_equal(v.findings[k].part.node,
					 node ? 2 : 0);
			assert_null(strstr(v.findings[k].says,
					   node ? "timeout" : "agent_lost"));
		}
		verdict_release(&v);
		run_release(&r);
	}
}

/** Who did not get to run has failed nothing. */
static void test_starved(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	for (int lost = 0; lost < 3; lost++) {
		fake_run(&r, 3, 2, 2);
		for (int n = 0; n < lost; n++) {
			fake_fact(&r, r.nodes[n].name, "node", "state",
				  "starved");
		}
		for (int n = 0; n < (lost > 0 ? lost : 3); n++) {
			const struct fake_fault f = { .kind = PART_NODE,
						      .a = n };

			fake_break(&r, &f, OUTCOME_NOT_RUN, "starved");
		}
		for (int i = 0; i < 9; i++) {
			fake_event(&r, "2026-01-31T09:15:00.000Z", "n0", "late",
				   "the agent did not run for 2.0 s");
		}
		fake_event(&r, "2026-01-31T09:15:00.000Z", "n0", "pressure",
			   "waited in the last 10 s: cpu 90.00 %");
		fake_cell(&r, 0, 1, OUTCOME_OK, "");
		v = judge(&r);
		assert_true(is_evidence(&v.findings[0], "n0: waited in"));
		assert_int_equal(v.findings[0].n_evidence, 5);
		assert_int_equal(v.n, 1);
		assert_string_equal(v.findings[0].code, "starved");
		assert_false(v.findings[0].fail);
		assert_int_equal(v.findings[0].part.node, lost == 1 ? 0 : -1);
		assert_int_equal(v.n_exclude, 0);
		assert_int_equal(v.status, VERDICT_PARTIAL);
		assert_int_equal(verdict_exit(&r, &v), 4);
		verdict_release(&v);
		run_release(&r);
	}
}

/** The few of its tests that were tried are no proof where none passed. */
static void test_starved_and_failed(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	for (int passes = 0; passes < 2; passes++) {
		fake_run(&r, 2, 4, 4);
		for (int n = 0; n < 2; n++) {
			const struct fake_fault f = { .kind = PART_NODE,
						      .a = n };

			fake_break(&r, &f, OUTCOME_NOT_RUN, "starved");
		}
		fake_cell(&r, 1, 4, OUTCOME_TIMEOUT, "task_timeout");
		fake_cell(&r, 4, 1, OUTCOME_TIMEOUT, "task_timeout");
		if (passes) {
			fake_cell(&r, 0, 5, OUTCOME_OK, "");
		}
		v = judge(&r);
		assert_int_equal(v.status, passes ? VERDICT_FAIL :
						    VERDICT_PARTIAL);
		assert_int_equal(v.n, 2);
		if (!passes) {
			assert_int_equal(v.n_exclude, 0);
			assert_string_equal(v.findings[0].code, "starved");
			assert_false(v.findings[1].fail);
		}
		verdict_release(&v);
		run_release(&r);
	}
}

/** It was before, and after that: none is counted. */
static void test_starved_between_tests(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 3, 2, 2);
	fake_fact(&r, "n1", "node", "state", "starved");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.findings[0].says, "Processes on n1 got no CPU "
			    "time; this does not show a hardware fault");
	assert_int_equal(v.status, VERDICT_WARN);
	verdict_release(&v);
	run_release(&r);
}

/** What asks Slurm is of no use where ssh started the agents. */
static void test_gone_by_launcher(void **state)
{
	static const char *const codes[] = { "agent_missing", "agent_lost" };
	struct verdict v;
	struct run r;

	(void)state;
	for (int ssh = 0; ssh < 2; ssh++) {
		for (size_t i = 0; i < 2; i++) {
			fake_run(&r, 3, 1, 1);
			fake_fact(&r, "n1", "node", "state", codes[i]);
			json_object_set_new(r.json, "launcher", json_string(
				ssh ? "ssh" : "srun"));
			v = judge(&r);
			assert_int_equal(v.n, 1);
			assert_int_equal(!strstr(v.findings[0].act, "scontrol"),
					 ssh);
			assert_non_null(strstr(v.findings[0].act,
					       "ssh n1 "));
			verdict_release(&v);
			run_release(&r);
		}
	}
}

/** All GPUs of a node gone: the node, not eight GPUs. */
static void test_all_gpus_gone(void **state)
{
	struct verdict v;
	struct run r;
	char scope[16];

	(void)state;
	fake_run(&r, 2, 4, 4);
	for (int i = 0; i < 4; i++) {
		snprintf(scope, sizeof(scope), "gpu%d", i);
		fake_fact(&r, "n1", scope, "state", "gpu_missing");
	}
	fake_fact(&r, "n0", "gpu2", "state", "open_failed");
	fake_fact(&r, "n0", "gpu1", "state", "ok");
	fake_fact(&r, "n0", "gpu3", "state", "opening");
	v = judge(&r);
	assert_int_equal(v.n, 2);
	assert_int_equal(v.findings[0].part.kind, PART_NODE);
	assert_int_equal(v.findings[0].part.node, 1);
	assert_string_equal(v.findings[0].code, "gpu_missing");
	assert_int_equal(v.findings[1].part.kind, PART_GPU);
	assert_string_equal(v.findings[1].code, "open_failed");
	verdict_release(&v);
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_came),
		cmocka_unit_test(test_own_limit),
		cmocka_unit_test(test_shortage_drains_not),
		cmocka_unit_test(test_coordinator_cut),
		cmocka_unit_test(test_first_test_of_many),
		cmocka_unit_test(test_ended_with_the_run),
		cmocka_unit_test(test_lost_at_the_end),
		cmocka_unit_test(test_lost_in_the_middle),
		cmocka_unit_test(test_starved),
		cmocka_unit_test(test_starved_and_failed),
		cmocka_unit_test(test_starved_between_tests),
		cmocka_unit_test(test_gone_by_launcher),
		cmocka_unit_test(test_all_gpus_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
