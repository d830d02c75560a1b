/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"

enum { MEMLOCK, PING, IB, GPU, P2P, ALLREDUCE, N_STEPS };

static const char *const names[N_STEPS] = {
	"memlock", "ping", "ib", "gpu", "p2p", "allreduce"
};

/** Six steps that found nothing, of 10 good cells each. */
struct fixture {
	struct all_step steps[N_STEPS];
	json_t *said[N_STEPS];	/* their verdict.json */
	struct run run;
	json_t *netdevs;
	struct verdict whole;
	json_t *verdict;	/* of all together */
};

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .netdevs = json_object(),
			      .run = { .probe = "all", .ended = true } };
	for (int i = 0; i < N_STEPS; i++) {
		struct all_step *s = &f.steps[i];

		record_init(&schema_step, &s->row);
		STR_COPY(s->row.rung, names[i]);
		s->row.outcome = OUTCOME_OK;
		s->row.exit_code = 0;
		f.said[i] = json_pack("{s:s, s:{s:i, s:i}, s:[]}", "status",
				       "pass", "cells", "pass", 10, "fail", 0,
				       "findings");
	}
	*state = &f;
	return 0;
}

/** Forget what was judged, but not the files. */
static void forget(struct fixture *f)
{
	for (int i = 0; i < N_STEPS; i++) {
		verdict_release(&f->steps[i].verdict);
	}
	verdict_release(&f->whole);
	json_decref(f->verdict);
	f->verdict = NULL;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	forget(f);
	for (int i = 0; i < N_STEPS; i++) {
		json_decref(f->said[i]);
	}
	json_decref(f->netdevs);
	run_release(&f->run);
	return 0;
}

/** A part as JSON: @node, @peer NULL and @index -1 are null. */
static json_t *part(const char *kind, const char *node, int index,
		    const char *peer, const char *name)
{
	return json_pack("{s:s, s:s?, s:o, s:s?, s:n, s:s, s:s?}", "kind",
			 kind, "node", node, "index",
			 index < 0 ? json_null() : json_integer(index),
			 "peer_node", peer, "peer_index", "direction", "both",
			 "name", name);
}

/** Step @i finds @p, which it takes, with 4 bad cells of 8. */
static json_t *find(struct fixture *f, int i, json_t *p, const char *severity,
		    const char *code)
{
	json_t *rest = json_pack("{s:s, s:s, s:i, s:i, s:[], s:s, s:s, s:[s]}",
				 "severity", severity, "code", code, "cells", 8,
				 "explained", 4, "or", "says", code, "do",
				 "look", "evidence", "a cell");

	json_object_update(p, rest);
	json_decref(rest);
	json_array_append_new(json_object_get(f->said[i], "findings"),
			      p);
	json_object_set_new(json_object_get(f->said[i], "cells"),
			    "fail", json_integer(4));
	return p;
}

static void or(json_t *finding, json_t *other)
{
	json_array_append_new(json_object_get(finding, "or"), other);
}

static const json_t *judge(struct fixture *f)
{
	forget(f);
	for (int i = 0; i < N_STEPS; i++) {
		assert_int_equal(verdict_read(f->said[i], &f->run,
					      &f->steps[i].verdict), 0);
	}
	assert_int_equal(all_judge(&f->run, f->steps, N_STEPS, f->netdevs,
				   &f->whole), 0);
	f->verdict = verdict_json(&f->run, &f->whole);
	assert_non_null(f->verdict);
	return json_object_get(f->verdict, "findings");
}

static const char *text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

/** The finding @i, as "KIND NODE INDEX SEVERITY PROBE,PROBE". */
static const char *shown(const json_t *findings, size_t i)
{
	static char buf[200];
	const json_t *f = json_array_get(findings, i), *probe;
	const json_t *index = json_object_get(f, "index");
	size_t k, n;

	n = (size_t)snprintf(buf, sizeof(buf), "%s %s %d %s ", text(f, "kind"),
			     text(f, "node"), json_is_integer(index) ?
			     (int)json_integer_value(index) : -1,
			     text(f, "severity"));
	json_array_foreach(json_object_get(f, "rungs"), k, probe) {
		n += (size_t)snprintf(buf + n, sizeof(buf) - n, "%s%s",
				      k ? "," : "", json_string_value(probe));
	}
	return buf;
}

static int exit_of(struct fixture *f, bool whole, bool strict)
{
	f->run.ended = whole;
	f->run.strict = strict;
	return all_exit(&f->run, f->steps, N_STEPS, &f->whole);
}

static void test_nothing_found_passes(void **state)
{
	struct fixture *f = *state;
	const json_t *cells;

	assert_int_equal(json_array_size(judge(f)), 0);
	cells = json_object_get(f->verdict, "cells");
	assert_string_equal(text(f->verdict, "status"), "pass");
	assert_string_equal(text(f->verdict, "probe"), "all");
	assert_int_equal(json_integer_value(json_object_get(cells, "pass")),
			 60);
	assert_int_equal(exit_of(f, true, false), 0);
}

/** Nor does the whole pass where a step was cut, unless that found more. */
static void test_a_step_that_was_cut_is_partial(void **state)
{
	struct fixture *f = *state;

	json_object_set_new(f->said[P2P], "status", json_string("partial"));
	f->steps[P2P].row.exit_code = 4;
	judge(f);
	assert_int_equal(f->steps[P2P].verdict.status, VERDICT_PARTIAL);
	assert_string_equal(text(f->verdict, "status"), "partial");
	assert_int_equal(exit_of(f, true, false), 4);
	find(f, IB, part("nic", "n0", 2, NULL, NULL), "fail", "dead");
	judge(f);
	assert_string_equal(text(f->verdict, "status"), "fail");
	assert_int_equal(exit_of(f, true, false), 4);
}

static void test_one_dead_nic_is_one_finding(void **state)
{
	struct fixture *f = *state;
	json_t *rail = find(f, IB, part("rail", NULL, 2, NULL, NULL), "fail",
			    "dead");
	const json_t *found, *first;

	or(rail, part("nic", "n0", 2, NULL, NULL));
	or(rail, part("nic", "n1", 2, NULL, NULL));
	find(f, P2P, part("nic", "n1", 2, NULL, NULL), "fail", "dead");
	found = judge(f);
	assert_int_equal(json_array_size(found), 1);
	assert_string_equal(shown(found, 0), "nic n1 2 fail ib,p2p");
	first = json_array_get(found, 0);
	assert_int_equal(json_integer_value(json_object_get(first, "cells")),
			 16);
	assert_int_equal(json_array_size(json_object_get(first, "or")), 0);
	/* what ib said, its evidence, that of p2p */
	assert_int_equal(json_array_size(json_object_get(first, "evidence")),
			 3);
	assert_int_equal(f->whole.n_exclude, 1);
	assert_string_equal(f->whole.exclude[0], "n1");
	assert_int_equal(exit_of(f, true, false), 1);
}

static void test_what_is_left_of_two_choices(void **state)
{
	struct fixture *f = *state;
	json_t *rail = find(f, IB, part("rail", NULL, 2, NULL, NULL), "fail",
			    "dead");
	json_t *node = find(f, P2P, part("node", "n1", -1, NULL, NULL), "fail",
			    "dead");

	or(rail, part("nic", "n1", 2, NULL, NULL));
	or(node, part("nic", "n1", 2, NULL, NULL));
	assert_string_equal(shown(judge(f), 0), "nic n1 2 fail ib,p2p");
	assert_non_null(strstr(text(json_array_get(json_object_get(
				f->verdict, "findings"), 0), "says"),
			       "NIC 2 of n1: the only part"));
}

static void test_different_parts_stay_apart(void **state)
{
	struct fixture *f = *state;
	const json_t *found;

	find(f, IB, part("nic", "n1", 2, NULL, NULL), "warn", "slow");
	find(f, P2P, part("nic", "n1", 3, NULL, NULL), "fail", "dead");
	find(f, P2P, part("gpu", "n2", 2, NULL, NULL), "fail", "dead");
	found = judge(f);
	assert_int_equal(json_array_size(found), 3);
	assert_string_equal(shown(found, 0), "nic n1 3 fail p2p");
	assert_string_equal(shown(found, 1), "gpu n2 2 fail p2p");
	assert_string_equal(shown(found, 2), "nic n1 2 warn ib");
}

/** Numbers of ping are those of subnets; names tell. */
static void test_interfaces_are_hcas_by_name(void **state)
{
	struct fixture *f = *state;

	find(f, PING, part("nic", "n1", 2, NULL, "eth3"), "fail", "no_reply");
	find(f, IB, part("nic", "n1", 2, NULL, "mlx5_1:1"), "fail", "dead");
	assert_int_equal(json_array_size(judge(f)), 2);
	json_object_set_new(f->netdevs, "n1/eth3", json_string("mlx5_1"));
	assert_int_equal(json_array_size(judge(f)), 1);
	assert_string_equal(shown(judge(f), 0), "nic n1 2 fail ping,ib");
	assert_string_equal(text(json_array_get(judge(f), 0), "code"),
			    "no_reply");
}

static void test_a_dead_node_explains_what_is_in_it(void **state)
{
	struct fixture *f = *state;
	const json_t *found;

	find(f, PING, part("node", "n1", -1, NULL, NULL), "fail",
	     "agent_missing");
	find(f, P2P, part("node", "n1", -1, NULL, NULL), "fail",
	     "agent_missing");
	find(f, ALLREDUCE, part("gpu", "n1", 0, NULL, NULL), "fail", "absent");
	find(f, ALLREDUCE, part("gpu", "n1", 1, NULL, NULL), "fail", "absent");
	find(f, ALLREDUCE, part("gpu", "n2", 1, NULL, NULL), "fail", "absent");
	found = judge(f);
	assert_int_equal(json_array_size(found), 2);
	assert_string_equal(shown(found, 0), "node n1 -1 fail ping,p2p,"
			    "allreduce");
	assert_string_equal(shown(found, 1), "gpu n2 1 fail allreduce");
}

/** What only warns explains nothing that is broken. */
static void test_a_warning_is_no_cause(void **state)
{
	struct fixture *f = *state;

	find(f, PING, part("node", "n1", -1, NULL, NULL), "warn", "loss");
	find(f, P2P, part("gpu", "n1", 0, NULL, NULL), "fail", "dead");
	assert_int_equal(json_array_size(judge(f)), 2);
}

/** What is wrong with a GPU is not blamed on its links; of others it is. */
static void test_a_gpu_explains_its_links(void **state)
{
	struct fixture *f = *state;
	json_t *p;

	find(f, GPU, part("gpu", "n1", 3, NULL, NULL), "fail", "gpu_slow");
	find(f, P2P, part("gpu_nvlink", "n1", 3, NULL, NULL), "fail", "slow");
	p = find(f, P2P, part("pair", "n0", 3, "n1", NULL), "fail", "dead");
	json_object_set_new(p, "peer_index", json_integer(3));
	assert_int_equal(json_array_size(judge(f)), 1);
	assert_string_equal(shown(judge(f), 0), "gpu n1 3 fail gpu,p2p");
	json_object_set_new(p, "peer_index", json_integer(2));
	assert_int_equal(json_array_size(judge(f)), 2);
}

static void test_a_limit_explains_failures_to_get_memory(void **state)
{
	struct fixture *f = *state;

	find(f, MEMLOCK, part("limit", NULL, -1, NULL, NULL), "fail",
	     "memlock_slurmd");
	find(f, IB, part("nic", "n1", 0, NULL, NULL), "fail", "cq_nomem");
	find(f, IB, part("nic", "n2", 0, NULL, NULL), "fail", "rtr_timeout");
	assert_int_equal(json_array_size(judge(f)), 2);
	assert_string_equal(shown(judge(f), 0), "limit  -1 fail memlock,ib");
}

static void test_a_collective_ends_where_something_is_dead(void **state)
{
	struct fixture *f = *state;
	json_t *hang;

	find(f, P2P, part("nic", "n1", 2, NULL, NULL), "fail", "dead");
	hang = find(f, ALLREDUCE, part("config", NULL, -1, NULL, NULL), "fail",
		    "hung");
	json_object_set_new(hang, "says", json_string("allreduce of 8 B: "
			    "timeout"));
	assert_int_equal(json_array_size(judge(f)), 1);
	json_object_set_new(hang, "says", json_string("allreduce of 8 B: "
			    "wrong result"));
	assert_int_equal(json_array_size(judge(f)), 2);
}

static void test_exit_codes_by_precedence(void **state)
{
	struct fixture *f = *state;

	find(f, P2P, part("gpu", "n1", 0, NULL, NULL), "warn", "slow");
	judge(f);
	assert_int_equal(exit_of(f, true, false), 0);
	assert_int_equal(exit_of(f, true, true), 1);
	assert_int_equal(exit_of(f, false, false), 4);
	f->steps[IB].row.outcome = OUTCOME_SKIPPED;
	f->steps[IB].row.exit_code = 3;
	assert_int_equal(exit_of(f, true, false), 0);
	find(f, P2P, part("gpu", "n2", 0, NULL, NULL), "fail", "dead");
	judge(f);
	assert_int_equal(exit_of(f, true, false), 1);
	f->steps[PING].row.exit_code = 4;
	assert_int_equal(exit_of(f, true, false), 4);
	f->steps[P2P].row.outcome = OUTCOME_ERROR;
	f->steps[P2P].row.exit_code = 3;
	assert_int_equal(exit_of(f, true, false), 3);
}

static void test_a_step_that_breaks_is_a_warning(void **state)
{
	struct fixture *f = *state;

	f->steps[P2P].row.outcome = OUTCOME_ERROR;
	STR_COPY(f->steps[P2P].row.code, STEP_FAILED);
	STR_COPY(f->steps[P2P].row.detail, "cannot load 'libnccl.so.2'");
	assert_string_equal(shown(judge(f), 0), "config  -1 warn p2p");
	assert_non_null(strstr(text(json_array_get(judge(f), 0), "says"),
			       "libnccl.so.2"));
}

static void test_nothing_measured_is_unknown(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < N_STEPS; i++) {
		json_decref(f->said[i]);
		f->said[i] = NULL;
		f->steps[i].row.outcome = OUTCOME_SKIPPED;
	}
	judge(f);
	assert_string_equal(text(f->verdict, "status"), "unknown");
	assert_int_equal(exit_of(f, true, false), 3);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

/* A setting in which n1 is odd is not the one in which n2 is. */
static void test_settings_of_other_nodes_are_others(void **state)
{
	struct fixture *f = *state;
	const json_t *found;
	json_t *p;

	p = find(f, IB, part("config", NULL, -1, NULL, NULL), "warn", "skew");
	json_object_set_new(p, "members", json_pack("[s]", "n1"));
	p = find(f, P2P, part("config", NULL, -1, NULL, NULL), "warn", "skew");
	json_object_set_new(p, "members", json_pack("[s]", "n2"));
	found = judge(f);
	assert_int_equal(json_array_size(found), 2);
	json_object_set_new(p, "members", json_pack("[s]", "n1"));
	found = judge(f);
	assert_int_equal(json_array_size(found), 1);
}

/* Files of steps may be damaged. */
static void test_what_is_no_finding_is_left_out(void **state)
{
	struct fixture *f = *state;

	json_array_append_new(json_object_get(f->said[IB], "findings"),
			      json_integer(7));
	assert_int_equal(json_array_size(judge(f)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_found_passes),
		TEST(a_step_that_was_cut_is_partial),
		TEST(one_dead_nic_is_one_finding),
		TEST(what_is_left_of_two_choices),
		TEST(different_parts_stay_apart),
		TEST(interfaces_are_hcas_by_name),
		TEST(a_dead_node_explains_what_is_in_it),
		TEST(a_warning_is_no_cause),
		TEST(a_gpu_explains_its_links),
		TEST(settings_of_other_nodes_are_others),
		TEST(what_is_no_finding_is_left_out),
		TEST(a_limit_explains_failures_to_get_memory),
		TEST(a_collective_ends_where_something_is_dead),
		TEST(exit_codes_by_precedence),
		TEST(a_step_that_breaks_is_a_warning),
		TEST(nothing_measured_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
