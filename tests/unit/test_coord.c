/* SPDX-License-Identifier: BSD-3-Clause */
/* What a coordinator plans of the agents that have come: agents say hello, and
 * the test reads run.json. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/net.h"
#include "lib/data/rundir.h"
#include "probes/engine/coord/work.h"
#include "probes/transport/order.h"
#include "tests/unit/tree.h"

/** An agent of one rank, or of a whole node where that is below 0. */
struct one {
	int rank, local_rank;
	const char *node, *boot_id;
};

struct bench {
	struct coord c;
	uv_loop_t loop;
};

static void begin(struct bench *b, const char *dir, int expected)
{
	struct coord *c = &b->c;
	struct err e = { 0 };

	memset(b, 0, sizeof(*b));
	uv_loop_init(&b->loop);
	uv_timer_init(&b->loop, &c->tick);
	c->log = run_log_open(dir, &e);
	assert_non_null(c->log);
	assert_int_equal(coord_read(c, &e), 0);
	assert_int_equal(run_log_begin(c->log, c->probe->schema, &e), 0);
	c->agents = agents_new(expected, c->log, &coord_agents_events, c);
}

static void come_as(struct bench *b, const struct one *o, const char *version)
{
	json_t *hello = json_pack(
		"{s:s,s:s,s:i,s:i,s:s,s:b,s:b,s:{s:s,s:[]}}", "t", "hello",
		"version", version, "rank",
		o->rank, "local_rank", o->local_rank, "node", o->node,
		"pretend", 0, "sees_dir", 1, "inventory", "boot_id",
		o->boot_id, "gpus");

	assert_non_null(hello);
	agents_hear(agents_add(b->c.agents), hello);
	json_decref(hello);
}

static void come(struct bench *b, const struct one *o)
{
	come_as(b, o, version_own());
}

static void end(struct bench *b)
{
	struct coord *c = &b->c;

	coord_stop(c, "interrupted");
	coord_leave(c);
	if (c->work != NULL) {
		c->kind->release(c->work);
		free(c->work);
	}
	agents_free(c->agents);
	json_decref(c->before);
	run_log_close(c->log);
	uv_close((uv_handle_t *)&c->tick, NULL);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&b->loop), 0);
}

/** What facts.csv of @dir calls the state of @node. */
static void expect_state(const char *dir, const char *node, const char *want)
{
	char line[300], begin[40], got[40] = "";
	FILE *f = rundir_open(dir, RUN_FACTS, NULL);

	assert_non_null(f);
	snprintf(begin, sizeof(begin), "%s,node,state,", node);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, begin, strlen(begin)) == 0) {
			snprintf(got, sizeof(got), "%.*s",
				 (int)strcspn(line + strlen(begin), ","),
				 line + strlen(begin));
		}
	}
	fclose(f);
	assert_string_equal(got, want);
}

/** run.json after @n of @expected agents have come to @run. */
static json_t *planned(const char *run, const struct one *ones, size_t n,
		       int expected)
{
	char dir[] = "/tmp/gpucheck-coord-XXXXXX";
	struct bench b;
	json_t *after;

	assert_non_null(mkdtemp(dir));
	tree_file(dir, "/" RUN_JSON, run);
	begin(&b, dir, expected);
	for (size_t i = 0; i < n; i++) {
		come(&b, &ones[i]);
	}
	if (b.c.phase == COORD_BOOT) {
		coord_agents_events.all_here(&b.c);	/* late */
	}
	end(&b);
	after = rundir_read_json(dir, RUN_JSON, NULL);
	tree_remove(dir);
	assert_non_null(after);
	return after;
}

#define RUN                                                                    \
	"{\"schema\":1,\"probe\":\"p2p\",\"nonce\":"                           \
	"\"00000000000000000000000000000000\",\"launcher\":\"env\","           \
	"\"options\":{\"transport\":\"tcp\",\"minbytes\":\"64K\"}"

static void one_kernel_is_one_machine(void **state)
{
	static const struct {
		struct one ones[2];
		bool shared;
	} cases[] = {
		{ { { 0, -1, "a", "b0" }, { 1, -1, "b", "b1" } }, false },
		/* namespaces of one host have names of their own */
		{ { { 0, -1, "a", "b0" }, { 1, -1, "b", "b0" } }, true },
		{ { { 0, 0, "a", "b0" }, { 1, 1, "a", "b0" } }, true },
		{ { { 0, 0, "a", "b0" }, { 1, 0, "b", "b1" } }, false },
		/* who does not say it is taken for what it is called */
		{ { { 0, -1, "a", "" }, { 1, -1, "b", "" } }, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *run = planned(RUN "}", cases[i].ones, 2, 2);

		assert_int_equal(json_is_true(json_object_get(run,
							      "shared_cores")),
				 cases[i].shared);
		json_decref(run);
	}
}

/** "a:2 b:1 (rank3):1": names and ranks of the nodes, in brackets who never
 *  came. */
static void expect_nodes(json_t *run, const char *want)
{
	char got[200] = "";
	json_t *node;
	size_t i, at;

	json_array_foreach(json_object_get(run, "nodes"), i, node)
	{
		bool missing = json_is_true(json_object_get(node, "missing"));

		at = strlen(got);
		snprintf(got + at, sizeof(got) - at, "%s%s%s%s:%d",
			 i > 0 ? " " : "", missing ? "(" : "",
			 json_string_value(json_object_get(node, "name")),
			 missing ? ")" : "",
			 (int)json_integer_value(json_object_get(node,
								 "gpus")));
	}
	assert_string_equal(got, want);
	assert_null(json_object_get(run, "error"));
}

#define PLAN(nodes, cells)                                                     \
	RUN ",\"resumes\":[{\"utc\":\"2026-01-01T00:00:00.000Z\"}],"           \
	    "\"transport\":\"tcp\",\"schedule\":\"nic\",\"sizes\":[65536],"    \
	    "\"size_B\":65536,\"planned\":{\"kind\":\"all\",\"cells\":" cells  \
	    ",\"passes\":1},\"nodes\":[" nodes "]}"
#define NODE(name, first, gpus)                                                \
	"{\"name\":\"" name "\",\"first_rank\":" first ",\"gpus\":" gpus "}"
#define NOBODY(name, first, gpus)                                              \
	"{\"name\":\"" name "\",\"first_rank\":" first ",\"gpus\":" gpus       \
	",\"missing\":true}"

/** Three nodes of two agents each, of which the first come. */
static const struct one six[] = {
	{ 0, 0, "a", "b0" }, { 1, 1, "a", "b0" }, { 2, 0, "b", "b1" },
	{ 3, 1, "b", "b1" }, { 4, 0, "c", "b2" }, { 5, 1, "c", "b2" },
};

static void expect(const char *run, size_t come, const char *nodes)
{
	json_t *after = planned(run, six, come, 6);

	expect_nodes(after, nodes);
	json_decref(after);
}

static void who_was_never_seen_is_no_node(void **state)
{
	(void)state;
	expect(RUN "}", 2, "a:2 (ranks2-5):4");
	/* nobody came: it is planned anew */
	expect(PLAN(NOBODY("node0", "0", "1") "," NOBODY("node1", "1", "1"),
		    "2"), 6, "a:2 b:2 c:2");
	expect(PLAN(NOBODY("ranks0-5", "0", "6"), "30"), 6, "a:2 b:2 c:2");
	expect(PLAN(NOBODY("ranks0-5", "0", "6"), "30"), 4,
	       "a:2 b:2 (ranks4-5):2");
}

static void who_comes_takes_the_places_of_strangers(void **state)
{
	static const char half[] = PLAN(
		NODE("a", "0", "2") "," NOBODY("ranks2-5", "2", "4"), "30");

	(void)state;
	expect(half, 6, "a:2 b:2 c:2");
	expect(half, 4, "a:2 b:2 (ranks4-5):2");
	expect(half, 2, "a:2 (ranks2-5):4");
	/* as they were, in whatever order they say hello */
	expect(PLAN(NODE("c", "0", "2") "," NODE("a", "2", "2") ","
		    NOBODY("ranks2-3", "4", "2"), "30"), 6, "c:2 a:2 b:2");
	/* nobody lied about the cells between those that were not there */
	expect(PLAN(NODE("a", "0", "2") "," NOBODY("ranks2-5", "2", "4"),
		    "16"), 6, "a:2 b:2 c:2");
}

static void another_node_does_not_fit(void **state)
{
	json_t *after = planned(PLAN(NODE("a", "0", "2") ","
				     NODE("d", "2", "4"), "30"), six, 6, 6);

	(void)state;
	assert_non_null(strstr(json_string_value(json_object_get(
		json_object_get(after, "error"), "text")),
		"'b' is not one of the run's 2 nodes"));
	json_decref(after);
}

/** Slurm imports an image for minutes: the clock is that of others. */
static void the_clock_begins_with_the_first_from_elsewhere(
	void **state)
{
	char dir[] = "/tmp/gpucheck-coord-XXXXXX";
	json_t *started = json_pack("{s:s}", "t", "started");
	struct bench b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	tree_file(dir, "/" RUN_JSON, RUN "}");
	begin(&b, dir, 6);
	assert_false(agents_have_come(b.c.agents));
	come(&b, &six[0]);	/* it started the coordinator */
	assert_false(agents_have_come(b.c.agents));
	come(&b, &six[2]);
	assert_true(agents_have_come(b.c.agents));
	end(&b);
	/* one that has started may be kept from coming by a firewall */
	begin(&b, dir, 6);
	come(&b, &six[0]);
	agents_hear(agents_next(b.c.agents, NULL), started);
	assert_true(agents_have_come(b.c.agents));
	end(&b);
	json_decref(started);
	tree_remove(dir);
}

static void a_task_has_a_node_by_the_list_of_slurm(void **state)
{
	char dir[] = "/tmp/gpucheck-coord-XXXXXX", name[64];
	struct bench b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	tree_file(dir, "/" RUN_JSON, RUN "}");
	begin(&b, dir, 3);
	setenv("SLURM_JOB_NODELIST", "n[1-3]", 1);
	assert_true(agents_name_of(b.c.agents, 1, name));
	assert_string_equal(name, "n2");
	assert_false(agents_name_of(b.c.agents, 3, name));
	/* several components: whose task 1 is it? */
	setenv("GPUCHECK_NODELIST", "n[1-3]", 1);
	assert_false(agents_name_of(b.c.agents, 1, name));
	unsetenv("GPUCHECK_NODELIST");
	/* more nodes than agents */
	setenv("SLURM_JOB_NODELIST", "n[1-4]", 1);
	assert_false(agents_name_of(b.c.agents, 1, name));
	unsetenv("SLURM_JOB_NODELIST");
	assert_false(agents_name_of(b.c.agents, 1, name));
	end(&b);
	tree_remove(dir);
}

static void who_has_ended_is_not_waited_for(void **state)
{
	static const struct one two[] = { { 0, -1, "n1", "b1" },
					  { 2, -1, "n3", "b3" } };
	char dir[] = "/tmp/gpucheck-coord-XXXXXX";
	struct bench b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	tree_file(dir, "/" RUN_JSON, RUN "}");
	begin(&b, dir, 4);
	come(&b, &two[0]);
	agents_will_not_come(b.c.agents, "n[1-2]", "srun: error: n[1-2]: ...");
	/* of those that are there it says nothing */
	assert_string_equal(agents_absent(b.c.agents, "n1").detail, "");
	assert_string_equal(agents_absent(b.c.agents, "n2").detail,
			    "srun: error: n[1-2]: ...");
	agents_will_not_come(b.c.agents, "n2,n[", "twice, and no list");
	come(&b, &two[1]);
	assert_int_equal(b.c.phase, COORD_BOOT);
	agents_will_not_come(b.c.agents, "n4", "the last one");
	assert_int_not_equal(b.c.phase, COORD_BOOT);
	end(&b);
	tree_remove(dir);
}

/* The agent of rank @rank came from elsewhere to our address @to. */
static void came_to(struct bench *b, int rank, const char *to)
{
	struct coord_agent *a = agents_find(b->c.agents, rank);

	assert_int_equal(net_lookup(to, &a->own, 1, NULL), 1);
	a->beside = false;
}

/** One that is beside the coordinator cannot know by which address others
 *  reach their node: a network of management is as good to itself. */
static void most_have_come_to_the_address_that_works(void **state)
{
	char dir[] = "/tmp/gpucheck-coord-XXXXXX", buf[IP_TEXT];
	struct bench b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	tree_file(dir, "/" RUN_JSON, RUN "}");
	begin(&b, dir, 7);
	for (int i = 0; i < 6; i++) {
		come(&b, &six[i]);
		came_to(&b, i, "192.0.2.1:1");
		agents_find(b.c.agents, i)->beside = true;
	}
	assert_null(agents_reached(b.c.agents, buf));
	came_to(&b, 3, "10.9.0.1:1");
	assert_string_equal(agents_reached(b.c.agents, buf), "10.9.0.1");
	came_to(&b, 1, "10.8.0.1:1");
	came_to(&b, 4, "10.8.0.1:1");
	assert_string_equal(agents_reached(b.c.agents, buf), "10.8.0.1");
	end(&b);
	tree_remove(dir);
}

/** An old copy on a node's own disk: nobody waits, and both are named. */
static void another_version_takes_no_part(void **state)
{
	static const struct one three[] = { { 0, -1, "n1", "b1" },
					    { 1, -1, "n2", "b2" },
					    { 2, -1, "n3", "b3" } };
	char dir[] = "/tmp/gpucheck-coord-XXXXXX", both[80];
	struct bench b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	tree_file(dir, "/" RUN_JSON, RUN "}");
	begin(&b, dir, 3);
	come(&b, &three[0]);
	come_as(&b, &three[1], "0.0.9");
	assert_int_equal(b.c.phase, COORD_BOOT);
	come_as(&b, &three[2], "");	/* older ones say none */
	assert_int_not_equal(b.c.phase, COORD_BOOT);
	assert_string_equal(agents_absent(b.c.agents, "n2").code,
			    "version_differs");
	snprintf(both, sizeof(both),
		 "the agent of n2 is gpucheck 0.0.9, not %s", version_own());
	assert_string_equal(agents_absent(b.c.agents, "n2").detail, both);
	assert_non_null(strstr(agents_absent(b.c.agents, "n3").detail,
			       "of an older version"));
	end(&b);
	tree_remove(dir);
}

/** What ssh says of a node whose own agent has said why it does not take part
 *  is no second node; one that is slow is waited for. */
static void news_of_another_version_count_once(void **state)
{
	static const struct one three[] = { { 0, -1, "n1", "b1" },
					    { 1, -1, "n2", "b2" },
					    { 2, -1, "n3", "b3" } };
	char dir[] = "/tmp/gpucheck-coord-XXXXXX", news[60];
	struct bench b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	tree_file(dir, "/" RUN_JSON, RUN "}");
	tree_file(dir, "/news", "{\"node\":\"n2\",\"detail\":\"ended with 3\"}\n");
	snprintf(news, sizeof(news), "%s/news", dir);
	assert_non_null(freopen(news, "r", stdin));
	begin(&b, dir, 3);
	come(&b, &three[0]);
	come_as(&b, &three[1], "0.0.9");
	agents_read_news(b.c.agents, stdin, NULL);
	assert_int_equal(b.c.phase, COORD_BOOT);
	assert_string_equal(agents_absent(b.c.agents, "n2").code,
			    "version_differs");
	come(&b, &three[2]);
	assert_int_not_equal(b.c.phase, COORD_BOOT);
	end(&b);
	tree_remove(dir);
}

#define GAVE_UP(node, rank) \
	"{\"node\":\"" node "\",\"rank\":" rank ",\"source\":\"agent\"," \
	"\"code\":\"limit_nofile\",\"detail\":\"too few\"}\n"

/** run.json after agents of @run that gave up wrote @news, @come of six[] came,
 *  and the run began without waiting for the others. */
static void expect_given_up(const char *run, const char *news, size_t come_n,
			    const char *nodes)
{
	char dir[] = "/tmp/gpucheck-coord-XXXXXX";
	struct bench b;
	FILE *f = fmemopen((void *)news, strlen(news), "r");
	json_t *after;

	assert_non_null(mkdtemp(dir));
	tree_file(dir, "/" RUN_JSON, run);
	begin(&b, dir, 6);
	for (size_t i = 0; i < come_n; i++) {
		come(&b, &six[i]);
	}
	agents_read_news(b.c.agents, f, NULL);
	fclose(f);
	assert_int_not_equal(b.c.phase, COORD_BOOT);
	end(&b);
	after = rundir_read_json(dir, RUN_JSON, NULL);
	tree_remove(dir);
	expect_nodes(after, nodes);
	json_decref(after);
}

/** Ranks that gave up are counted once each, on the node that they named. */
static void agents_that_give_up_have_their_node(void **state)
{
	(void)state;
	expect_given_up(RUN "}", GAVE_UP("c", "5") GAVE_UP("c", "5"), 5,
			"a:2 b:2 c:2");
	expect_given_up(RUN "}", GAVE_UP("c", "5") GAVE_UP("c", "4"), 4,
			"a:2 b:2 (c):2");
	expect_given_up(RUN "}", GAVE_UP("b", "2") GAVE_UP("c", "5")
			GAVE_UP("c;touch x", "4") GAVE_UP("b", "3")
			GAVE_UP("c", "4"), 2, "a:2 (b):2 (c):2");
	expect_given_up(PLAN(NODE("a", "0", "2") ","
			     NOBODY("ranks2-5", "2", "4"), "30"),
			GAVE_UP("c", "5") GAVE_UP("c", "4"), 4,
			"a:2 b:2 (c):2");
}

/** One that reports a limit and goes is not waited for until the deadline. */
static void a_limit_is_the_end_of_an_agent(void **state)
{
	json_t *event = json_pack("{s:s,s:s,s:s}", "t", "event", "event",
				  "limit_memory", "detail", "no memory");
	char dir[] = "/tmp/gpucheck-coord-XXXXXX";
	struct bench b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	tree_file(dir, "/" RUN_JSON, RUN "}");
	begin(&b, dir, 2);
	come(&b, &six[0]);
	agents_hear(agents_next(b.c.agents, NULL), event);
	agents_lose(agents_next(b.c.agents, NULL), "closed");
	assert_string_equal(agents_absent(b.c.agents, "a").code,
			    "limit_memory");
	assert_int_equal(b.c.phase, COORD_BOOT);
	come(&b, &six[2]);
	assert_int_not_equal(b.c.phase, COORD_BOOT);
	end(&b);
	json_decref(event);
	tree_remove(dir);
}

/** Of @probe: two nodes come, and the third when the tests have begun. */
static void comes_late(const char *probe, const char *transport)
{
	static const struct one three[] = {
		{ 0, -1, "a", "b0" }, { 1, -1, "b", "b1" },
		{ 2, -1, "node2", "b2" },
	};
	char dir[] = "/tmp/gpucheck-coord-XXXXXX", run[400];
	struct bench b;

	assert_non_null(mkdtemp(dir));
	snprintf(run, sizeof(run), "{\"schema\":1,\"probe\":\"%s\","
		 "\"nonce\":\"00000000000000000000000000000000\","
		 "\"launcher\":\"env\",\"options\":{\"transport\":\"%s\"}}",
		 probe, transport);
	tree_file(dir, "/" RUN_JSON, run);
	begin(&b, dir, 3);
	come(&b, &three[0]);
	come(&b, &three[1]);
	coord_agents_events.all_here(&b.c);
	come(&b, &three[2]);
	end(&b);
	expect_state(dir, "a", "ok");
	expect_state(dir, "node2", "starved");
	tree_remove(dir);
}

static void who_comes_late_has_not_stayed_away(void **state)
{
	(void)state;
	comes_late("p2p", "tcp");
	comes_late("allreduce", "sim");
	comes_late("info", "auto");
}

/** The agent of @rank says @msg. */
static void say(struct bench *b, int rank, json_t *msg)
{
	assert_non_null(msg);
	agents_hear(agents_find(b->c.agents, rank), msg);
	json_decref(msg);
}

/** The end @rank of the first test says that both directions failed: it was
 *  told to give up, or has waited in vain. */
static void report(struct bench *b, int rank, enum outcome outcome,
		   const char *code)
{
	struct order_result results[2];
	const struct order_report all = { .rank = rank, .n = 2,
					  .crashed = RECORD_NONE,
					  .results = results };
	struct str entry = STR_INIT;

	for (int d = 0; d < 2; d++) {
		results[d] = (struct order_result){ .dir = d, .size_B = 65536 };
		xport_result_init(&results[d].r);
		xport_fail(&results[d].r, outcome, code, "as told");
		results[d].r.echo = outcome == OUTCOME_ERROR;
	}
	order_report_add(&all, &entry);
	agents_hear_entry(agents_find(b->c.agents, rank), MSG_DONE, entry.data,
			  entry.len);
	str_release(&entry);
}

/** Two nodes of a rank each are at the first test. */
static void begin_test(struct bench *b, const char *dir)
{
	tree_file(dir, "/" RUN_JSON, RUN "}");
	begin(b, dir, 2);
	come(b, &(struct one){ 0, 0, "a", "b0" });
	come(b, &(struct one){ 1, 0, "b", "b1" });
	for (int rank = 0; rank < 2; rank++) {
		say(b, rank, json_pack("{s:s,s:i,s:s,s:[]}", "t", "ready",
				       "rank", rank, "ticket", "", "facts"));
	}
}

static void expect_cut(struct bench *b, char *dir)
{
	char *rows;

	end(b);
	rows = rundir_read_text(dir, RUN_RESULTS, 1 << 20, NULL, NULL);
	assert_non_null(rows);
	assert_non_null(strstr(rows, "the run was stopped during this test"));
	assert_null(strstr(rows, ",error,"));
	assert_null(strstr(rows, ",timeout,"));
	free(rows);
	tree_remove(dir);
}

/** Whoever was told to give up is so still when it is said twice, as by a
 *  coordinator that did not run for a while, or that loses an agent. */
static void a_test_that_is_cut_twice_is_no_failure(void **state)
{
	char dir[] = "/tmp/gpucheck-coord-XXXXXX";
	struct bench b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	begin_test(&b, dir);
	coord_stop(&b.c, "interrupted");
	b.c.kind->cancel(b.c.work);
	report(&b, 0, OUTCOME_ERROR, "cancelled");
	b.c.kind->cancel(b.c.work);
	report(&b, 1, OUTCOME_ERROR, "cancelled");
	expect_cut(&b, dir);
}

/** One end has waited in vain for the other, which might have said why if it
 *  had not been told to give up. */
static void a_wait_that_the_end_cuts_is_no_failure(void **state)
{
	char dir[] = "/tmp/gpucheck-coord-XXXXXX";
	struct bench b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	begin_test(&b, dir);
	report(&b, 0, OUTCOME_TIMEOUT, "setup_timeout");
	coord_stop(&b.c, "interrupted");
	b.c.kind->cancel(b.c.work);
	report(&b, 1, OUTCOME_ERROR, "cancelled");
	expect_cut(&b, dir);
}

/** Who ends a run ends its agents, and this process a moment later: until then
 *  the run is not over. */
static void an_agent_that_is_lost_is_not_the_end(void **state)
{
	char dir[] = "/tmp/gpucheck-coord-XXXXXX";
	struct bench b;
	json_t *run;

	(void)state;
	assert_non_null(mkdtemp(dir));
	tree_file(dir, "/" RUN_JSON, RUN "}");
	begin(&b, dir, 2);
	b.c.end_ns = INT64_MAX;
	come(&b, &(struct one){ 0, 0, "a", "b0" });
	come(&b, &(struct one){ 1, 0, "b", "b1" });
	agents_lose(agents_find(b.c.agents, 1), "closed by the other end");
	assert_int_equal(b.c.phase, COORD_SETTLE);
	run = rundir_read_json(dir, RUN_JSON, NULL);
	assert_null(json_object_get(run, "ended_utc"));
	json_decref(run);
	b.c.settle_ns = 0;
	coord_leave(&b.c);
	assert_int_equal(b.c.phase, COORD_LEAVE);
	run = rundir_read_json(dir, RUN_JSON, NULL);
	assert_non_null(json_object_get(run, "ended_utc"));
	json_decref(run);
	end(&b);
	tree_remove(dir);
}

/** Slurm with several nodes on one machine: who does not come in time may have
 *  had no CPU of it. */
static void nodes_of_one_kernel_share_a_machine(void **state)
{
	static const struct {
		struct one two[2];
		bool shared;
	} cases[] = {
		{ { { 0, -1, "a", "b0" }, { 2, -1, "b", "b0" } }, true },
		{ { { 0, -1, "a", "b0" }, { 2, -1, "b", "b1" } }, false },
		{ { { 0, -1, "a", "" }, { 2, -1, "b", "" } }, false },
		/* one node, of two ranks */
		{ { { 0, 0, "a", "b0" }, { 1, 1, "a", "b0" } }, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char dir[] = "/tmp/gpucheck-coord-XXXXXX";
		struct bench b;

		assert_non_null(mkdtemp(dir));
		tree_file(dir, "/" RUN_JSON, RUN "}");
		begin(&b, dir, 3);
		come(&b, &cases[i].two[0]);
		come(&b, &cases[i].two[1]);
		assert_int_equal(agents_share_machine(b.c.agents),
				 cases[i].shared);
		end(&b);
		tree_remove(dir);
	}
}

/** By its number, also one that nobody expects, and one that went and came
 *  back. */
static void agents_are_found_by_their_number(void **state)
{
	char dir[] = "/tmp/gpucheck-coord-XXXXXX";
	const struct coord_agent *first;
	struct bench b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	tree_file(dir, "/" RUN_JSON, RUN "}");
	begin(&b, dir, 3);
	come(&b, &(struct one){ 2, -1, "c", "b2" });
	come(&b, &(struct one){ 9, -1, "j", "b9" });
	first = agents_find(b.c.agents, 2);
	assert_string_equal(first->node, "c");
	assert_string_equal(agents_find(b.c.agents, 9)->node, "j");
	assert_null(agents_find(b.c.agents, 0));
	assert_null(agents_find(b.c.agents, -1));
	agents_lose(agents_find(b.c.agents, 2), "closed by the other end");
	assert_null(agents_find(b.c.agents, 2));
	come(&b, &(struct one){ 2, -1, "c", "b2" });
	assert_non_null(agents_find(b.c.agents, 2));
	assert_ptr_not_equal(agents_find(b.c.agents, 2), first);
	end(&b);
	tree_remove(dir);
}

/** Lines that could not be written are missed in run.json, not in silence. */
static void a_table_without_some_lines_is_named_once(void **state)
{
	char dir[] = "/tmp/gpucheck-coord-XXXXXX";
	const json_t *notes;
	struct bench b;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	tree_file(dir, "/" RUN_JSON, RUN "}");
	begin(&b, dir, 3);
	assert_int_equal(run_log_write(b.c.log, NULL), 0);
	assert_null(json_object_get(b.c.log->run, "notes"));
	fd = b.c.log->events.fd;
	b.c.log->events.fd = open("/dev/full", O_WRONLY);
	run_log_event(b.c.log, NULL, -1, "late", "first");
	close(b.c.log->events.fd);
	b.c.log->events.fd = fd;
	run_log_event(b.c.log, NULL, -1, "late", "second");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run_log_write(b.c.log, NULL), 0);
		notes = json_object_get(b.c.log->run, "notes");
		assert_int_equal(json_array_size(notes), 1);
		assert_string_equal(
			json_string_value(json_array_get(notes, 0)),
			"events.csv lacks lines: No space left on device");
	}
	end(&b);
	tree_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_kernel_is_one_machine),
		cmocka_unit_test(who_was_never_seen_is_no_node),
		cmocka_unit_test(who_comes_takes_the_places_of_strangers),
		cmocka_unit_test(another_node_does_not_fit),
		cmocka_unit_test(
			the_clock_begins_with_the_first_from_elsewhere),
		cmocka_unit_test(a_task_has_a_node_by_the_list_of_slurm),
		cmocka_unit_test(who_has_ended_is_not_waited_for),
		cmocka_unit_test(another_version_takes_no_part),
		cmocka_unit_test(news_of_another_version_count_once),
		cmocka_unit_test(agents_that_give_up_have_their_node),
		cmocka_unit_test(a_limit_is_the_end_of_an_agent),
		cmocka_unit_test(who_comes_late_has_not_stayed_away),
		cmocka_unit_test(a_test_that_is_cut_twice_is_no_failure),
		cmocka_unit_test(a_wait_that_the_end_cuts_is_no_failure),
		cmocka_unit_test(an_agent_that_is_lost_is_not_the_end),
		cmocka_unit_test(nodes_of_one_kernel_share_a_machine),
		cmocka_unit_test(agents_are_found_by_their_number),
		cmocka_unit_test(most_have_come_to_the_address_that_works),
		cmocka_unit_test(a_table_without_some_lines_is_named_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
