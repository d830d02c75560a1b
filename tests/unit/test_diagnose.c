/* SPDX-License-Identifier: BSD-3-Clause */
/* The ladder: which pairs, which steps for them, and what it is said to
 * mean. */
#include "tests/unit/fake_judge.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/judge/diagnose.h"
#include "report/judge/verdict.h"
#include "report/symptoms/symptom.h"

static const struct diagnose_step *step(const char *name)
{
	static struct diagnose_step undone;

	if (str_starts(name, "without-")) {
		undone.name = name;
		return &undone;
	}
	for (const struct diagnose_step *s = diagnose_steps; s->name; s++) {
		if (strcmp(s->name, name) == 0) {
			return s;
		}
	}
	fail_msg("no step '%s'", name);
	return NULL;
}

static void add(struct run *r, const char *name, int src, int dst,
		enum outcome outcome, const char *text)
{
	const struct grid_pair pair = { src, dst };
	struct diagnose_row row;

	diagnose_row_init(r, step(name), &pair, &row);
	row.outcome = outcome;
	STR_COPY(row.code, text);
	STR_COPY(row.detail, text);
	assert_int_equal(run_add_diagnose(r, &row), 0);
}

static void rungs_come_before_knobs_and_have_what_they_need(void **state)
{
	bool knobs = false;
	char name[200];

	(void)state;
	for (const struct diagnose_step *s = diagnose_steps; s->name; s++) {
		assert_true(diagnose_is_knob(s) || !knobs);
		knobs = diagnose_is_knob(s);
		assert_true(s->of != 0);
		assert_non_null(s->says);
		assert_true(strlen(s->name) <
			    sizeof(((struct diagnose_row *)NULL)->step));
		assert_true(strlen(diagnose_undone_name(s->name, name,
							sizeof(name))) <
			    sizeof(((struct diagnose_row *)NULL)->step));
		assert_null(strchr(s->name, '/'));
		assert_int_equal(!s->command, knobs);
		for (int i = 0; s->env[i]; i++) {
			assert_non_null(strchr(s->env[i], '='));
			assert_non_null(strstr(s->name, s->env[i]));
			assert_in_range(i, 0, DIAGNOSE_MAX_ENV - 1);
		}
	}
	assert_true(knobs);
}

static void good_runs_have_no_ladder(void **state)
{
	const struct fake_fault dead = { .kind = PART_PAIR, .a = 0, .b = 5 };
	struct diagnose_pairs pairs;
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 4, 4);
	v = judge(&r);
	diagnose_choose(&r, &v, &pairs);
	assert_int_equal(pairs.n, 0);
	verdict_release(&v);
	/* HCA ports, and transports that nobody knows, have none either */
	fake_break(&r, &dead, OUTCOME_ERROR, "dead");
	for (int i = 0; i < 2; i++) {
		STR_COPY(r.probe, i ? "p2p" : "ib");
		STR_COPY(r.transport, i ? "carrier" : "nccl");
		v = judge(&r);
		diagnose_choose(&r, &v, &pairs);
		assert_int_equal(pairs.n, 0);
		verdict_release(&v);
	}
	run_release(&r);
}

static void two_unlike_pairs_stand_for_a_finding(void **state)
{
	static const struct fake_fault faults[] = {
		{ .kind = PART_GPU, .a = 1, .b = 2 },
		{ .kind = PART_NODE, .a = 1 },
	};
	struct diagnose_pairs pairs;
	struct verdict v;
	struct run r;

	(void)state;
	for (int k = 0; k < 2; k++) {
		bool inter = false, intra = false;

		fake_run(&r, 3, 4, 4);
		fake_break(&r, &faults[k], OUTCOME_TIMEOUT, "dead");
		v = judge(&r);
		assert_int_equal(v.n, 1);
		diagnose_choose(&r, &v, &pairs);
		assert_int_equal(pairs.n, DIAGNOSE_PER_FINDING);
		assert_int_equal(pairs.findings, 1);
		assert_int_equal(pairs.covered, 1);
		for (size_t i = 0; i < pairs.n; i++) {
			int src = pairs.list[i].src, dst = pairs.list[i].dst;
			const struct cluster_rank *s = &r.ranks[src];
			const struct cluster_rank *d = &r.ranks[dst];

			assert_ptr_equal(diagnose_finding(&r, &v, src, dst),
					 &v.findings[0]);
			assert_true(fake_hits(&r, &faults[k], src, dst));
			inter |= s->node != d->node && s->nic == d->nic;
			intra |= s->node == d->node;
		}
		assert_true(inter && intra);
		verdict_release(&v);
		run_release(&r);
	}
}

static void many_findings_are_bounded(void **state)
{
	struct diagnose_pairs pairs;
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 8, 4, 4);
	for (int i = 0; i < 8; i++) {
		const struct fake_fault f = { .kind = PART_PAIR, .a = i,
					      .b = 31 - 3 * i % 8 };

		fake_break(&r, &f, OUTCOME_ERROR, "dead");
	}
	v = judge(&r);
	assert_true(v.n > DIAGNOSE_BAD_PAIRS);
	diagnose_choose(&r, &v, &pairs);
	assert_int_equal(pairs.n, DIAGNOSE_BAD_PAIRS);
	assert_int_equal(pairs.covered, DIAGNOSE_BAD_PAIRS);
	assert_int_equal(pairs.findings, v.n);
	verdict_release(&v);
	run_release(&r);
	/* one for each, before the first gets its second */
	fake_run(&r, 8, 4, 4);
	for (int i = 0; i < 5; i++) {
		const struct fake_fault f = { .kind = PART_NIC, .a = i,
					      .b = i % 4 };

		fake_break(&r, &f, OUTCOME_ERROR, "dead");
	}
	v = judge(&r);
	assert_int_equal(v.n, 5);
	diagnose_choose(&r, &v, &pairs);
	assert_int_equal(pairs.n, DIAGNOSE_BAD_PAIRS);
	assert_int_equal(pairs.covered, 5);
	verdict_release(&v);
	run_release(&r);
}

struct applies_case {
	const char *transport;
	bool drill;
	int dst;		/* of rank 0; 4 and more are on the other
				 * node */
	const char *step;
	bool applies;
	const char *why;
};

static void steps_are_for_some_pairs(void **state)
{
	static const struct applies_case cases[] = {
		{ "nccl", false, 4, "ping", true, NULL },
		{ "nccl", false, 1, "ping", false, NULL },
		{ "nccl", false, 1, "tcp", true, NULL },
		{ "nccl", false, 4, "verbs", true, NULL },
		{ "nccl", false, 1, "verbs_gpu", false, NULL },
		{ "nccl", false, 1, "cuda", true, NULL },
		{ "nccl", false, 4, "cuda", false, NULL },
		{ "nccl", false, 4, "sim", false, NULL },
		{ "nccl", false, 4, "NCCL_IB_DISABLE=1", true, NULL },
		{ "nccl", false, 1, "NCCL_IB_DISABLE=1", false, NULL },
		{ "nccl", false, 1, "NCCL_P2P_DISABLE=1", true, NULL },
		{ "nccl", false, 4, "NCCL_P2P_DISABLE=1", false, NULL },
		/* tcp knows no settings of NCCL, but in a drill */
		{ "tcp", false, 4, "ping", true, NULL },
		{ "tcp", false, 4, "verbs", false, NULL },
		{ "tcp", false, 4, "NCCL_IB_DISABLE=1", false, NULL },
		{ "tcp", true, 4, "NCCL_IB_DISABLE=1", true, NULL },
		{ "tcp", true, 1, "NCCL_P2P_DISABLE=1", true, NULL },
		{ "cuda", true, 1, "tcp", true, NULL },
		{ "cuda", true, 1, "NCCL_P2P_DISABLE=1", false, NULL },
		{ "sim", true, 4, "verbs_gpu", true, NULL },
		{ "sim", true, 1, "cuda", false, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct applies_case *c = &cases[i];
		const char *why;
		struct run r;

		fake_run(&r, 2, 4, 4);
		fake_cell(&r, 0, c->dst, OUTCOME_TIMEOUT, "x");
		STR_COPY(r.transport, c->transport);
		r.drill = c->drill;
		/* nothing before the top has been tried once more */
		assert_false(diagnose_applies(&r, step(c->step), 0, c->dst,
					      &why));
		assert_true(diagnose_applies(&r, diagnose_top(&r), 0, c->dst,
					     &why));
		add(&r, c->transport, 0, c->dst, OUTCOME_TIMEOUT, "x");
		if (diagnose_applies(&r, step(c->step), 0, c->dst, &why) !=
			    c->applies || why) {
			fail_msg("%s %s 0-%d: %s", c->transport, c->step,
				 c->dst, why ? why : "");
		}
		run_release(&r);
	}
}

/** Rank 0 and 4 by NCCL, which has failed again. */
static void failed_run(struct run *r)
{
	fake_run(r, 2, 4, 4);
	fake_cell(r, 0, 4, OUTCOME_ERROR, "dead");
	fake_cell(r, 4, 0, OUTCOME_ERROR, "dead");
	add(r, "nccl", 0, 4, OUTCOME_ERROR, "nccl_error");
}

static bool applies(const struct run *r, const char *name, const char **why)
{
	return diagnose_applies(r, step(name), 0, 4, why);
}

static void what_is_not_needed_is_left_out(void **state)
{
	const char *why;
	struct run r;

	(void)state;
	/* it passes now */
	fake_run(&r, 2, 4, 4);
	fake_cell(&r, 0, 4, OUTCOME_ERROR, "dead");
	add(&r, "nccl", 0, 4, OUTCOME_OK, "");
	assert_false(applies(&r, "ping", &why) || why);
	assert_false(applies(&r, "NCCL_IB_DISABLE=1", &why) || why);
	/* ... or nobody knows */
	r.diagnose[0].outcome = OUTCOME_SKIPPED;
	assert_false(applies(&r, "ping", &why) || why);
	run_release(&r);
	/* mended by a smaller change */
	failed_run(&r);
	add(&r, "NCCL_IB_GID_INDEX=3", 0, 4, OUTCOME_ERROR, "");
	assert_true(applies(&r, "NCCL_IB_GID_INDEX=1", &why));
	add(&r, "NCCL_IB_GID_INDEX=1", 0, 4, OUTCOME_OK, "");
	assert_false(applies(&r, "NCCL_IB_DISABLE=1", &why) || why);
	assert_false(diagnose_applies(&r, step("NCCL_IB_DISABLE=1"), 1, 5,
				      &why));
	run_release(&r);
}

static void what_cannot_help_is_skipped_with_a_reason(void **state)
{
	const char *why;
	struct run r;

	(void)state;
	failed_run(&r);
	assert_true(applies(&r, "NCCL_NET_GDR_LEVEL=LOC", &why));
	add(&r, "verbs", 0, 4, OUTCOME_SKIPPED, "no HCA");
	assert_true(applies(&r, "NCCL_NET_GDR_LEVEL=LOC", &why));
	r.diagnose[1].outcome = OUTCOME_TIMEOUT;
	assert_false(applies(&r, "NCCL_NET_GDR_LEVEL=LOC", &why));
	assert_non_null(strstr(why, "host memory"));
	/* InfiniBand has no choice of addresses */
	fake_fact(&r, "n0", "mlx5_0", "link_layer", "InfiniBand");
	assert_false(applies(&r, "NCCL_IB_GID_INDEX=3", &why));
	assert_non_null(strstr(why, "RoCE"));
	fake_fact(&r, "n1", "mlx5_0", "link_layer", "Ethernet");
	assert_true(applies(&r, "NCCL_IB_GID_INDEX=3", &why));
	/* set by the user, or by gpucheck */
	json_object_set_new(r.json, "environment",
			    json_pack("{s:s}", "NCCL_CROSS_NIC", "0"));
	json_object_set_new(r.json, "settings",
			    json_pack("{s:s}", "NCCL_NET", "Socket"));
	assert_false(applies(&r, "NCCL_CROSS_NIC=0", &why));
	assert_non_null(strstr(why, "already"));
	assert_false(applies(&r, "NCCL_NET=Socket", &why));
	assert_non_null(strstr(why, "already"));
	assert_false(applies(&r, "NCCL_IB_DISABLE=1", &why));
	assert_non_null(strstr(why, "sockets"));
	/* or in a file */
	json_object_del(r.json, "settings");
	assert_true(applies(&r, "NCCL_IB_DISABLE=1", &why));
	fake_fact(&r, "n0", "node", "NCCL_NET", "Socket");
	assert_false(applies(&r, "NCCL_IB_DISABLE=1", &why));
	run_release(&r);
}

struct told {
	struct { const char *step; enum outcome outcome; } rows[12];
	const char *ladder[2];	/* lines of evidence; NULL = none */
	const char *act;	/* what it begins with, NULL = as ever */
};

static const struct told tales[] = {
	{ .rows = { { "nccl", OUTCOME_OK } },
	  .ladder = { "n0:0 -> n1:0: NCCL passes when retried alone: it fails "
		      "only while other tests run, or "
		      "intermittently" } },
	{ .rows = { { "nccl", OUTCOME_NOT_RUN } },
	  .ladder = { "n0:0 -> n1:0: NCCL was not tested (nccl!)" } },
	{ .rows = { { "nccl", OUTCOME_ERROR }, { "ping", OUTCOME_OK },
		    { "tcp", OUTCOME_OK }, { "verbs", OUTCOME_TIMEOUT },
		    { "verbs_gpu", OUTCOME_ERROR },
		    { "NCCL_IB_GID_INDEX=3", OUTCOME_OK },
		    { "without-NCCL_IB_GID_INDEX=3", OUTCOME_TIMEOUT } },
	  .ladder = { "n0:0 -> n1:0: ping passes, TCP passes, RDMA in host "
		      "memory fails (verbs!), RDMA in GPU memory fails, NCCL "
		      "fails: the fault is in RDMA in host memory",
		      "n0:0 -> n1:0: passes with NCCL_IB_GID_INDEX=3" },
	  .act = "With this setting n0:0 -> n1:0 passes (" },
	/* a setting is credited only where it fails without it, still */
	{ .rows = { { "nccl", OUTCOME_ERROR }, { "tcp", OUTCOME_ERROR },
		    { "NCCL_IB_GID_INDEX=3", OUTCOME_ERROR },
		    { "NCCL_IB_GID_INDEX=1", OUTCOME_OK },
		    { "without-NCCL_IB_GID_INDEX=1", OUTCOME_OK } },
	  .ladder = { "n0:0 -> n1:0: TCP fails (tcp!), NCCL fails: the fault "
		      "is in TCP, or in a layer that was not tested",
		      "n0:0 -> n1:0: passes with NCCL_IB_GID_INDEX=1, and now "
		      "also without it: it fails intermittently" } },
	{ .rows = { { "nccl", OUTCOME_ERROR }, { "tcp", OUTCOME_ERROR },
		    { "NCCL_IB_DISABLE=1", OUTCOME_OK },
		    { "without-NCCL_IB_DISABLE=1", OUTCOME_NOT_RUN } },
	  .ladder = { "n0:0 -> n1:0: TCP fails (tcp!), NCCL fails: the fault "
		      "is in TCP, or in a layer that was not tested",
		      "n0:0 -> n1:0: passes with NCCL_IB_DISABLE=1; not "
		      "retested without it" } },
	/* a ping that TCP outdoes is filtered */
	{ .rows = { { "nccl", OUTCOME_ERROR }, { "ping", OUTCOME_TIMEOUT },
		    { "tcp", OUTCOME_OK }, { "verbs", OUTCOME_SKIPPED },
		    { "NCCL_CROSS_NIC=0", OUTCOME_ERROR },
		    { "NCCL_IB_DISABLE=1", OUTCOME_SKIPPED } },
	  .ladder = { "n0:0 -> n1:0: ping fails, filtered, TCP passes, RDMA in "
		      "host memory was not tested (verbs!), NCCL fails "
		      "(nccl!): "
		      "the fault is in NCCL or its settings, or in a layer "
		      "that was not tested",
		      "n0:0 -> n1:0: fails with every setting tried: "
		      "NCCL_CROSS_NIC=0; not tested: NCCL_IB_DISABLE=1 "
		      "(NCCL_IB_DISABLE=1!)" } },
	{ .rows = { { "nccl", OUTCOME_ERROR }, { "ping", OUTCOME_TIMEOUT },
		    { "tcp", OUTCOME_ERROR } },
	  .ladder = { "n0:0 -> n1:0: ping fails (ping!), TCP fails, NCCL "
		      "fails: the fault is in ping" } },
	{ .rows = { { "nccl", OUTCOME_ERROR }, { "ping", OUTCOME_OK },
		    { "tcp", OUTCOME_OK }, { "verbs", OUTCOME_OK },
		    { "verbs_gpu", OUTCOME_OK } },
	  .ladder = { "n0:0 -> n1:0: ping passes, TCP passes, RDMA in host "
		      "memory passes, RDMA in GPU memory passes, NCCL fails "
		      "(nccl!): RDMA works, NCCL does not: check NCCL's "
		      "settings" } },
	{ .rows = { { "nccl", OUTCOME_ERROR } },
	  .ladder = { "n0:0 -> n1:0: NCCL fails (nccl!); no layer below NCCL "
		      "was tested" } },
};

static void the_ladder_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(tales) / sizeof(*tales); i++) {
		const struct told *t = &tales[i];
		size_t lines = 1 + !!t->ladder[1];
		struct verdict before, v;
		struct run r;

		fake_run(&r, 2, 4, 4);
		fake_cell(&r, 0, 4, OUTCOME_ERROR, "dead");
		fake_cell(&r, 4, 0, OUTCOME_ERROR, "dead");
		before = judge(&r);
		assert_int_equal(before.findings[0].n_first, 0);
		for (int k = 0; t->rows[k].step; k++) {
			char text[64];

			snprintf(text, sizeof(text), "%s!", t->rows[k].step);
			add(&r, t->rows[k].step, 0, 4, t->rows[k].outcome,
			    text);
		}
		v = judge(&r);
		assert_int_equal(v.findings[0].n_first, lines);
		assert_int_equal(v.findings[0].n_evidence,
				 before.findings[0].n_evidence + lines);
		for (size_t k = 0; k < lines; k++) {
			assert_string_equal(v.findings[0].evidence[k],
					    t->ladder[k]);
		}
		assert_string_equal(v.findings[0].evidence[lines],
				    before.findings[0].evidence[0]);
		if (t->act) {
			assert_true(str_starts(v.findings[0].act, t->act));
			assert_non_null(strstr(v.findings[0].act,
					       before.findings[0].act));
		} else {
			assert_string_equal(v.findings[0].act,
					    before.findings[0].act);
		}
		verdict_release(&before);
		verdict_release(&v);
		run_release(&r);
	}
}

static void like_pairs_share_a_line_and_a_part_is_named(void **state)
{
	const struct fake_fault nic = { .kind = PART_NIC, .a = 1, .b = 2 };
	const struct grid_pair pair = { 0, 5 };
	struct diagnose_row stray;
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 4, 4);
	fake_break(&r, &nic, OUTCOME_TIMEOUT, "dead");
	for (int src = 1; src < 3; src++) {
		add(&r, "nccl", src, 6, OUTCOME_ERROR, "a");
		add(&r, "tcp", src, 6, OUTCOME_OK, "");
		add(&r, "verbs", src, 6, OUTCOME_TIMEOUT, "b");
		add(&r, "NCCL_IB_DISABLE=1", src, 6, OUTCOME_OK, "");
		add(&r, "without-NCCL_IB_DISABLE=1", src, 6, OUTCOME_ERROR,
		    "");
	}
	/* rows of pairs that passed tell nothing, and those of pairs that are
	 * not there are not kept */
	add(&r, "nccl", 0, 4, OUTCOME_ERROR, "c");
	diagnose_row_init(&r, step("nccl"), &pair, &stray);
	stray.dst_rank = 99;
	assert_int_equal(run_add_diagnose(&r, &stray), 0);
	assert_true(r.diagnose[r.n_diagnose - 1].dst_rank != 99);
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].n_first, 2);
	assert_string_equal(v.findings[0].evidence[0],
			    "n0:1 -> n1:2, n0:2 -> n1:2: TCP passes, RDMA in "
			    "host memory fails (b), NCCL fails: the fault is "
			    "in RDMA in host memory, on NIC 2 of n1");
	assert_string_equal(v.findings[0].evidence[1],
			    "n0:1 -> n1:2, n0:2 -> n1:2: passes with "
			    "NCCL_IB_DISABLE=1");
	verdict_release(&v);
	run_release(&r);
}

/** The remedy of the pair 0 -> @dst, which failed with @code, once the top has
 *  failed again and @knob has come out as @with, and then without it as
 *  @without. */
static bool exports(const char *code, int dst, const char *knob,
		    enum outcome with, enum outcome without, char act[4096])
{
	char text[128], undone[128];
	const char *at;
	struct verdict v;
	struct run r;

	fake_run(&r, 2, 4, 4);
	fake_cell(&r, 0, dst, OUTCOME_ERROR, code);
	fake_cell(&r, dst, 0, OUTCOME_ERROR, code);
	if (with != OUTCOME_NOT_RUN) {
		add(&r, "nccl", 0, dst, OUTCOME_ERROR, "x");
		add(&r, knob, 0, dst, with, "x");
		snprintf(undone, sizeof(undone), "without-%s", knob);
		add(&r, undone, 0, dst, without, "x");
	}
	v = judge(&r);
	assert_int_equal(v.n, 1);
	snprintf(act, 4096, "%s", v.findings[0].act);
	snprintf(text, sizeof(text), "\n    export %s", knob);
	at = strstr(act, text);
	/* never twice */
	assert_true(!at || !strstr(at + 1, text));
	verdict_release(&v);
	run_release(&r);
	return at != NULL;
}

/** A test of the layers of the slow pair 0 -> 4: its rates and those of the
 *  good pair that was chosen; 0: not tested, below: it fails. */
static const struct rates {
	double nccl[2], tcp[2], verbs[2], verbs_gpu[2];
	const char *ladder;
} rates[] = {
	{ { 13, 48 }, { 5, 5.1 }, { 48.2, 48.1 }, { 48, 48 },
	  "TCP 5.0 GB/s (good pair 5.1), RDMA in host memory 48.2 GB/s (good "
	  "pair 48.1), RDMA in GPU memory 48.0 GB/s (good pair 48.0), NCCL 13.0 "
	  "GB/s (good pair 48.0); the good pair is n0:1 -> n1:1: RDMA is at "
	  "full rate, NCCL is not: check NCCL's settings" },
	{ { 13, 48 }, { 5, 5.1 }, { 14, 48.1 }, { 14, 48 },
	  "TCP 5.0 GB/s (good pair 5.1), RDMA in host memory 14.0 GB/s (good "
	  "pair 48.1), RDMA in GPU memory 14.0 GB/s (good pair 48.0), NCCL 13.0 "
	  "GB/s (good pair 48.0); the good pair is n0:1 -> n1:1: the rate is "
	  "lost in RDMA in host memory" },
	{ { 13, 48 }, { 5, 5.1 }, { 48, 48.1 }, { 14, 48 },
	  "TCP 5.0 GB/s (good pair 5.1), RDMA in host memory 48.0 GB/s (good "
	  "pair 48.1), RDMA in GPU memory 14.0 GB/s (good pair 48.0), NCCL 13.0 "
	  "GB/s (good pair 48.0); the good pair is n0:1 -> n1:1: the rate is "
	  "lost in RDMA in GPU memory" },
	/* the rate of sockets varies; a layer above that is good is enough */
	{ { 13, 48 }, { 2, 5.1 }, { 48, 48.1 }, { 0, 0 },
	  "TCP 2.0 GB/s (good pair 5.1), RDMA in host memory 48.0 GB/s (good "
	  "pair 48.1), NCCL 13.0 GB/s (good pair 48.0); the good pair is n0:1 "
	  "-> n1:1: RDMA is at full rate, NCCL is not: check NCCL's settings, "
	  "or in a layer that was not tested" },
	{ { 13, 48 }, { 3.8, 5.1 }, { 14, 48.1 }, { 0, 0 },
	  "TCP 3.8 GB/s (good pair 5.1), RDMA in host memory 14.0 GB/s (good "
	  "pair 48.1), NCCL 13.0 GB/s (good pair 48.0); the good pair is n0:1 "
	  "-> n1:1: the rate is lost in RDMA in host memory" },
	{ { 13, 48 }, { 2, 5.1 }, { 14, 48.1 }, { 0, 0 },
	  "TCP 2.0 GB/s (good pair 5.1), RDMA in host memory 14.0 GB/s (good "
	  "pair 48.1), NCCL 13.0 GB/s (good pair 48.0); the good pair is n0:1 "
	  "-> n1:1: the rate is lost in TCP" },
	/* what carries all that NCCL should have does not slow it down */
	{ { 13, 48 }, { 60, 90 }, { 14, 48.1 }, { 0, 0 },
	  "TCP 60.0 GB/s (good pair 90.0), RDMA in host memory 14.0 GB/s (good "
	  "pair 48.1), NCCL 13.0 GB/s (good pair 48.0); the good pair is n0:1 "
	  "-> n1:1: the rate is lost in RDMA in host memory" },
	{ { 46, 48 }, { 0, 0 }, { 0, 0 }, { 0, 0 },
	  "NCCL 46.0 GB/s (good pair 48.0); the good pair is n0:1 -> n1:1: it "
	  "is not slow when retried alone: it is slow only while other tests "
	  "run, or intermittently" },
	/* rates of any size have digits */
	{ { 0.0012, 0.012 }, { 0.04, 0.041 }, { 0.00121, 0.0365 }, { 0, 0 },
	  "TCP 0.04 GB/s (good pair 0.041), RDMA in host memory 0.0012 GB/s "
	  "(good pair 0.036), NCCL 0.0012 GB/s (good pair 0.012); the good pair "
	  "is n0:1 -> n1:1: the rate is lost in RDMA in host memory" },
	/* a layer that only the good pair passes: no rate is a lost rate */
	{ { 13, 48 }, { -1, 5.1 }, { 14, 48.1 }, { 0, 0 },
	  "TCP fails (late), RDMA in host memory 14.0 GB/s (good pair 48.1), "
	  "NCCL 13.0 GB/s (good pair 48.0); the good pair is n0:1 -> n1:1: the "
	  "rate is lost in TCP" },
	{ { 13, 48 }, { -1, 5.1 }, { -1, 48.1 }, { 0, 0 },
	  "TCP fails (late), RDMA in host memory fails (late), NCCL 13.0 GB/s "
	  "(good pair 48.0); the good pair is n0:1 -> n1:1: the rate is lost in "
	  "TCP" },
	{ { 13, 48 }, { 5, 5.1 }, { -1, 48.1 }, { 0, 0 },
	  "TCP 5.0 GB/s (good pair 5.1), RDMA in host memory fails (late), NCCL "
	  "13.0 GB/s (good pair 48.0); the good pair is n0:1 -> n1:1: the rate "
	  "is lost in RDMA in host memory" },
	/* neither passes: it says nothing about the slow one */
	{ { 13, 48 }, { -1, -1 }, { 14, 48.1 }, { 0, 0 },
	  "TCP fails (late), RDMA in host memory 14.0 GB/s (good pair 48.1), "
	  "NCCL 13.0 GB/s (good pair 48.0); the good pair is n0:1 -> n1:1: the "
	  "rate is lost in RDMA in host memory" },
	/* nothing to compare with: a layer is good if it carries more */
	{ { 13, 0 }, { 5, 0 }, { 48.2, 0 }, { 0, 0 },
	  "TCP 5.0 GB/s, RDMA in host memory 48.2 GB/s, NCCL 13.0 GB/s: RDMA is "
	  "at full rate, NCCL is not: check NCCL's settings, or in a layer that "
	  "was not tested" },
};

static void add_rates(struct run *r, const char *name, const double GB_s[2])
{
	for (int i = 0; i < 2; i++) {
		if (GB_s[i] < 0) {
			add(r, name, i, 4 + i, OUTCOME_TIMEOUT, "late");
		} else if (GB_s[i] > 0) {
			add(r, name, i, 4 + i, OUTCOME_OK, "");
			r->diagnose[r->n_diagnose - 1].bw_GB_s = GB_s[i];
		}
	}
}

/** Two nodes whose pair 0 -> 4 is slow. */
static void slow_run(struct run *r)
{
	const struct fake_fault slow = { .kind = PART_PAIR, .a = 0, .b = 4 };

	fake_run(r, 2, 4, 4);
	fake_slow(r, &slow, 0.25);
}

static void the_rate_is_lost_in_a_layer(void **state)
{
	const struct fake_fault receives = { .kind = PART_NODE, .a = 0,
					     .direction = PART_RX };
	struct diagnose_pairs pairs;
	struct verdict v;
	struct run r;

	(void)state;
	slow_run(&r);
	v = judge(&r);
	assert_int_equal(v.n, 1);
	diagnose_choose(&r, &v, &pairs);
	assert_int_equal(pairs.n, 2);
	assert_int_equal(pairs.covered, 1);
	assert_true(diagnose_can(&r, v.findings));
	STR_COPY(r.transport, "tcp");	/* nothing below has a rate */
	assert_false(diagnose_can(&r, v.findings));
	STR_COPY(r.transport, "nccl");
	add_rates(&r, "nccl", (double[]){ 13, 48 });
	assert_false(diagnose_can(&r, v.findings));
	r.n_diagnose = 0;
	assert_int_equal(pairs.list[0].src % 4, 0);
	assert_int_equal(pairs.list[0].dst % 4, 0);
	/* the good one, on a rail of its own */
	assert_int_equal(r.ranks[pairs.list[1].src].nic,
			 r.ranks[pairs.list[1].dst].nic);
	assert_true(pairs.list[1].src % 4 != 0);
	verdict_release(&v);
	run_release(&r);
	/* the good one has none of the facts of the slow node: it is not
	 * between n0 and another, in the direction that is good either */
	fake_run(&r, 3, 1, 1);
	fake_slow(&r, &receives, 0.25);
	v = judge(&r);
	assert_int_equal(v.findings[0].part.direction, PART_RX);
	diagnose_choose(&r, &v, &pairs);
	assert_int_equal(pairs.n, 2);
	assert_int_equal(pairs.list[0].dst, 0);
	assert_true(pairs.list[1].src != 0 && pairs.list[1].dst != 0);
	verdict_release(&v);
	run_release(&r);
	/* rates of ranks that share cores say nothing */
	slow_run(&r);
	r.shared_cores = true;
	v = judge(&r);
	assert_false(v.n > 0 && diagnose_can(&r, v.findings));
	diagnose_choose(&r, &v, &pairs);
	assert_int_equal(pairs.n, 0);
	verdict_release(&v);
	run_release(&r);
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		const struct rates *c = &rates[i];
		char line[sizeof(*v.findings->evidence)];

		slow_run(&r);
		add_rates(&r, "nccl", c->nccl);
		add_rates(&r, "tcp", c->tcp);
		add_rates(&r, "verbs", c->verbs);
		add_rates(&r, "verbs_gpu", c->verbs_gpu);
		v = judge(&r);
		snprintf(line, sizeof(line), "n0:0 -> n1:0: %s", c->ladder);
		assert_int_equal(v.findings[0].n_first, 1);
		assert_string_equal(v.findings[0].evidence[0], line);
		verdict_release(&v);
		run_release(&r);
	}
}

/** Without a good pair a setting has to reach what the layer below makes of the
 *  link, but no more than what is expected. */
static void no_setting_has_to_beat_what_is_expected(void **state)
{
	static const struct {
		float expected_GB_s;
		double with;
		bool helps;
	} cases[] = { { 48, 45, true }, { 48, 42, false }, { 80, 45, false },
		      { 80, 56, true } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict v;
		struct run r;

		slow_run(&r);
		r.cells[run_at(&r, 0, 4)].expected_GB_s =
			cases[i].expected_GB_s;
		add_rates(&r, "nccl", (double[]){ 13, 0 });
		add_rates(&r, "verbs", (double[]){ 60, 0 });
		add_rates(&r, "NCCL_BUFFSIZE=8388608",
			  (double[]){ cases[i].with, 0 });
		add_rates(&r, "without-NCCL_BUFFSIZE=8388608",
			  (double[]){ 13, 0 });
		v = judge(&r);
		assert_true(!strstr(v.findings[0].act,
				    "export NCCL_BUFFSIZE") ==
			    !cases[i].helps);
		verdict_release(&v);
		run_release(&r);
	}
}

/** A setting counts if the pair has its rate with it, not if it has more. */
static void a_setting_gives_the_rate_back(void **state)
{
	static const char *const says[] = {
		"n0:0 -> n1:0: slow with every setting tried: "
		"NCCL_BUFFSIZE=8388608 (20.0)",
		"n0:0 -> n1:0: 45.0 GB/s with NCCL_MIN_NCHANNELS=16, 13.0 "
		"without it; still slow with NCCL_BUFFSIZE=8388608 (20.0)",
	};

	(void)state;
	for (int helps = 0; helps < 2; helps++) {
		struct verdict v;
		struct run r;

		slow_run(&r);
		add_rates(&r, "nccl", (double[]){ 13, 48 });
		add_rates(&r, "verbs", (double[]){ 48, 48 });
		add_rates(&r, "NCCL_BUFFSIZE=8388608", (double[]){ 20, 0 });
		if (helps) {
			add_rates(&r, "NCCL_MIN_NCHANNELS=16",
				  (double[]){ 45, 0 });
			add_rates(&r, "without-NCCL_MIN_NCHANNELS=16",
				  (double[]){ 13, 0 });
		}
		v = judge(&r);
		assert_int_equal(v.findings[0].n_first, 2);
		assert_string_equal(v.findings[0].evidence[1], says[helps]);
		assert_true(!strstr(v.findings[0].act,
				    "export NCCL_MIN_NCHANNELS=16") == !helps);
		assert_null(strstr(v.findings[0].act, "export NCCL_BUFFSIZE"));
		verdict_release(&v);
		run_release(&r);
	}
}

static void a_layer_that_loses_the_rate_is_measured_twice(void **state)
{
	static const char *const layers[] = { "tcp", "verbs", "verbs_gpu",
					      "nccl" };
	struct run r;

	(void)state;
	slow_run(&r);
	add_rates(&r, "nccl", (double[]){ 13, 48 });
	add_rates(&r, "tcp", (double[]){ 2, 5 });
	add_rates(&r, "verbs", (double[]){ 14, 48 });
	add_rates(&r, "verbs_gpu", (double[]){ 14, 48 });
	for (int pair = 0; pair < 2; pair++) {
		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(diagnose_again(&r, step(layers[i]),
							pair, 4 + pair),
					 i == 0);
		}
	}
	/* the faster rate counts, in whichever test */
	add_rates(&r, "tcp", (double[]){ 4.9, 3 });
	assert_string_equal(diagnose_lost(&r, 0, 4)->name, "verbs");
	assert_true(diagnose_good(&r, step("tcp"), 0, 4)->bw_GB_s == 5);
	assert_true(diagnose_again(&r, step("verbs"), 0, 4));
	/* what fails though the pair itself works is tested once more */
	add(&r, "cuda", 0, 4, OUTCOME_ERROR, "x");
	assert_true(diagnose_again(&r, step("cuda"), 0, 4));
	add_rates(&r, "cuda", (double[]){ 1, 0 });
	assert_true(diagnose_row_of(&r, step("cuda"), 0, 4)->outcome ==
		    OUTCOME_OK);
	/* a second test that fails is not the faster one */
	add(&r, "verbs", 0, 4, OUTCOME_ERROR, "x");
	r.diagnose[r.n_diagnose - 1].bw_GB_s = 50;
	assert_string_equal(diagnose_lost(&r, 0, 4)->name, "verbs");
	run_release(&r);
}

/** With a NIC for all GPUs of a node, what is slow with it may be the node. */
static void the_layer_tells_a_nic_from_its_node(void **state)
{
	static const char *const layers[] = { "nccl", "verbs_gpu", "verbs",
					      "tcp" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const struct fake_fault slow = { .kind = PART_NODE, .a = 1 };
		const bool nic = i == 2;
		struct verdict v;
		struct run r;

		fake_run(&r, 6, 1, 1);
		fake_slow(&r, &slow, 0.25);
		for (size_t k = 0; k < 4; k++) {
			add(&r, layers[k], 0, 1, OUTCOME_OK, "");
			r.diagnose[2 * k].bw_GB_s = k <= i ? 13 : 48;
			add(&r, layers[k], 0, 2, OUTCOME_OK, "");
			r.diagnose[2 * k + 1].bw_GB_s = 48;
		}
		v = judge(&r);
		assert_int_equal(v.n, 1);
		assert_true(part_is(&v.findings[0].part, KIND(NODE)));
		assert_int_equal(v.findings[0].n_first, 1);
		if (!strstr(v.findings[0].evidence[0],
			    nic ? ", on NIC 0 of n1" : ", on node n1")) {
			fail_msg("%s: %s", layers[i],
				 v.findings[0].evidence[0]);
		}
		verdict_release(&v);
		run_release(&r);
	}
}

/** Facts "scope=fact=value" of n1, with ^ of n0, the layers in which they
 *  explain a lost rate, and the code. */
static const struct {
	const char *facts[2], *layers, *code;
} caused[] = {
	{ { "node=acs=on" }, "verbs_gpu", "acs_on" },
	{ { "node=acs=off" }, "", NULL },
	{ { "node=acs=on", "node=acs_check=right" }, "", NULL },
	{ { "node=acs=on", "node=acs_check=wrong" }, "verbs_gpu", "acs_wrong" },
	{ { "node=iommu=translates DMA" }, "verbs verbs_gpu",
	  "iommu_translates" },
	{ { "node=iommu=passes DMA through" }, "", NULL },
	{ { "nic0=pcie_width=8", "nic0=pcie_width_max=16" }, "verbs",
	  "pcie_downgraded" },
	{ { "nic0=pcie_width=16", "nic0=pcie_width_max=16" }, "", NULL },
	{ { "nic2=pcie_width=8", "nic2=pcie_width_max=16" }, "", NULL },
	{ { "nic0:1=pcie_speed=8", "nic0:1=pcie_speed_max=32" }, "verbs",
	  "pcie_downgraded" },
	{ { "gpu0=pcie_width=8", "gpu0=pcie_width_max=16" }, "verbs_gpu",
	  "pcie_downgraded" },
	{ { "nic0=rate=200", "^nic0=rate=400" }, "verbs",
	  "rate_differs" },
	/* another port may be for storage */
	{ { "nic0=rate=200", "nic1=rate=400" }, "", NULL },
	{ { "nic0=active_mtu=1024", "^nic0=active_mtu=4096" }, "verbs",
	  "mtu_differs" },
	{ { "nic0=active_mtu=4096", "^nic0=active_mtu=4096" }, "", NULL },
	{ { "eth0=mtu=1500", "lo=mtu=65536" }, "", NULL },
	{ { "path=NET/IB" }, "", NULL },	/* they are far apart */
	{ { "path=NET/IB", "gpu0-nic0=link=PIX" }, "verbs_gpu nccl",
	  "gpudirect_missing" },
	{ { "path=NET/IB/GDRDMA", "gpu0-nic0=link=PIX" }, "", NULL },
	/* at the end that receives; at the other one it is */
	{ { "path=NET/IB/GDRDMA>NET/IB", "gpu0-nic0=link=PXB" },
	  "verbs_gpu nccl", "gpudirect_missing" },
	{ { "path=NET/IB>NET/IB/GDRDMA", "gpu0-nic0=link=PIX" }, "", NULL },
	{ { "gpu0=cpus=far" }, "tcp nccl", "cpus_far" },
	{ { "node=governor=powersave" }, "tcp nccl", "cpu_governor" },
	{ { "node=governor=performance" }, "", NULL },
	{ { "node=governor=powersave", "node=cpufreq_driver=intel_pstate" },
	  "", NULL },
	{ { "node=governor=powersave", "node=cpufreq_driver=acpi-cpufreq" },
	  "tcp nccl", "cpu_governor" },
	{ { "gpu0=throttled=hw_thermal" }, "nccl", "throttled" },
	{ { "gpu0=throttled=no" }, "", NULL },
	{ { "gpu3=throttled=hw_thermal" }, "", NULL },
};

static void add_caused(struct run *r, const char *text, int node)
{
	char buf[80], *scope = buf, *fact, *value;

	STR_COPY(buf, text);
	fact = strchr(scope, '=');
	*fact++ = '\0';
	value = strchr(fact, '=');
	if (value) {
		*value++ = '\0';
		fake_fact(r, r->nodes[node].name, scope, fact, value);
	} else {
		str_copy(r->paths[r->n_paths], sizeof(*r->paths), fact);
		r->cell_way[run_at(r, 0, 4)] = (uint16_t)r->n_paths++;
	}
}

static void causes_are_named_in_the_layers_that_they_slow(void **state)
{
	static const char *const layers[] = { "tcp", "verbs", "verbs_gpu",
					      "nccl" };
	const char *codes[DIAGNOSE_CAUSES];

	(void)state;
	for (size_t i = 0; i < 4 * sizeof(caused) / sizeof(*caused); i++) {
		const char *const *facts = caused[i / 4].facts;
		bool in = str_names_meet(caused[i / 4].layers, layers[i % 4]);
		struct str text = STR_INIT;
		struct run r;
		size_t n;

		slow_run(&r);
		for (int k = 0; k < r.n_ranks; k++) {
			snprintf(r.ranks[k].nic_name,
				 sizeof(r.ranks[k].nic_name), "nic%d",
				 r.ranks[k].nic);
		}
		for (size_t k = 0; k < 4; k++) {
			add_rates(&r, layers[k], (double[]){
					  k < i % 4 ? 48 : 13, 48 });
		}
		add_caused(&r, facts[0], 1);
		if (facts[1]) {
			add_caused(&r, facts[1] + (facts[1][0] == '^'),
				   facts[1][0] != '^');
		}
		n = diagnose_causes(&r, 0, 4, &text, codes);
		/* the good pair is on the same nodes */
		in = in && !str_starts(facts[0], "node=");
		if (n != in) {
			fail_msg("%s, rate lost in %s: '%s'", facts[0],
				 layers[i % 4], str_text(&text));
		}
		/* without a good pair, whatever the nodes have */
		for (size_t k = 0; k < r.n_diagnose; k++) {
			r.diagnose[k].expected_GB_s = 48;
			r.diagnose[k].outcome = r.diagnose[k].src_rank == 1 ?
						OUTCOME_ERROR : OUTCOME_OK;
		}
		text.len = 0;
		n = diagnose_causes(&r, 0, 4, &text, codes);
		in = str_names_meet(caused[i / 4].layers, layers[i % 4]);
		if (n != in || (n && strcmp(codes[0], caused[i / 4].code))) {
			fail_msg("%s, rate lost in %s without a good pair: "
				 "'%s'", facts[0], layers[i % 4],
				 str_text(&text));
		}
		str_release(&text);
		run_release(&r);
	}
}

/** A pair that is slow only next to others, with which it shares a NIC. */
static void a_shared_nic_is_the_cause_of_what_is_not_slow_alone(void **state)
{
	const struct fake_fault slow = { .kind = PART_PAIR, .a = 0, .b = 4 };

	(void)state;
	for (int alone = 0; alone < 2; alone++) {
		struct verdict v;
		struct run r;
		bool named = false;

		fake_run(&r, 2, 4, 2);
		fake_slow(&r, &slow, 0.25);
		STR_COPY(r.schedule, "parallel");
		add_rates(&r, "nccl", (double[]){ alone ? 1000 : 1, 0 });
		v = judge(&r);
		for (size_t i = 0; i < v.findings[0].n_first; i++) {
			named = named || strstr(v.findings[0].evidence[i],
						"likely cause: GPUs that share "
						"the NIC");
		}
		assert_int_equal(named, alone);
		verdict_release(&v);
		run_release(&r);
	}
}

static void slow_pairs_have_steps_of_their_own(void **state)
{
	const char *why;
	struct run r;

	(void)state;
	slow_run(&r);
	assert_false(applies(&r, "verbs", &why));
	add_rates(&r, "nccl", (double[]){ 13, 48 });
	assert_false(applies(&r, "ping", &why));
	assert_true(applies(&r, "verbs", &why));
	assert_true(diagnose_applies(&r, step("verbs"), 1, 5, &why));
	/* those for pairs that fail are not for slow ones */
	assert_false(applies(&r, "NCCL_IB_DISABLE=1", &why));
	/* a good pair that fails now is not diagnosed itself */
	r.diagnose[1].outcome = OUTCOME_ERROR;
	assert_false(diagnose_applies(&r, step("ping"), 1, 5, &why));
	assert_false(diagnose_applies(&r, step("NCCL_IB_DISABLE=1"), 1, 5,
				      &why));
	r.diagnose[1].outcome = OUTCOME_OK;
	r.diagnose[0].bw_GB_s = 46;
	assert_false(applies(&r, "verbs", &why));
	assert_false(diagnose_applies(&r, step("verbs"), 1, 5, &why));
	run_release(&r);
}

static void refuted_settings_are_left_out_and_proved_ones_first(void **state)
{
	const struct symptoms *all = symptoms_builtin();
	char act[4096], code[64], text[128];
	int seen = 0;

	(void)state;
	for (size_t i = 0; i < all->n; i++) {
		for (const struct diagnose_step *s = diagnose_steps; s->name;
		     s++) {
			int dst = s->where == DIAGNOSE_INTRA ? 1 : 4;

			snprintf(text, sizeof(text), "    export %s", s->name);
			snprintf(code, sizeof(code), "%.*s",
				 (int)strcspn(all->list[i].code, " "),
				 all->list[i].code);
			if (!diagnose_is_knob(s) ||
			    !strstr(str_text(&all->list[i].remedy), text) ||
			    !exports(code, dst, s->name, OUTCOME_NOT_RUN,
				     OUTCOME_NOT_RUN, act)) {
				continue;
			}
			seen++;
			assert_false(exports(code, dst, s->name, OUTCOME_ERROR,
					     OUTCOME_NOT_RUN, act));
			/* tested once is not proved: as it was */
			assert_true(exports(code, dst, s->name, OUTCOME_OK,
					    OUTCOME_NOT_RUN, act));
			assert_false(str_starts(act, "With this setting"));
			assert_true(exports(code, dst, s->name, OUTCOME_OK,
					    OUTCOME_ERROR, act));
			assert_true(str_starts(act, "With this setting"));
		}
	}
	assert_in_range(seen, 3, 100);
}

static void ports_are_found_by_name(void **state)
{
	struct run r;

	(void)state;
	fake_run(&r, 2, 4, 4);
	assert_int_equal(diagnose_index(&r, step("verbs"), 6), 2);
	assert_int_equal(diagnose_index(&r, step("tcp"), 6), 2);
	/* a port that is up nowhere is no rank of ib */
	fake_fact(&r, "n0", "mlx5_1", "port_state", "ACTIVE");
	fake_fact(&r, "n1", "mlx5_0", "port_state", "DOWN");
	fake_fact(&r, "n1", "mlx5_1", "port_state", "DOWN");
	fake_fact(&r, "n1", "mlx5_10", "port_state", "ACTIVE");
	fake_fact(&r, "n1", "mlx5_2:1", "port_state", "ACTIVE");
	STR_COPY(r.ranks[6].nic_name, "mlx5_1");
	assert_int_equal(diagnose_index(&r, step("verbs"), 6), 0);
	STR_COPY(r.ranks[6].nic_name, "mlx5_10+mlx5_1");
	assert_int_equal(diagnose_index(&r, step("verbs"), 6), 1);
	STR_COPY(r.ranks[6].nic_name, "mlx5_2");
	assert_int_equal(diagnose_index(&r, step("verbs_gpu"), 6), 2);
	STR_COPY(r.ranks[6].nic_name, "eth0");
	assert_int_equal(diagnose_index(&r, step("verbs"), 6), 2);
	assert_int_equal(diagnose_index(&r, step("cuda"), 6), 2);
	run_release(&r);
}

static void write_results(const char *dir, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static enum outcome read_back(const struct run *r, const char *dir,
			      const char *name, const char *text)
{
	const struct grid_pair pair = { 0, 4 };
	struct diagnose_row row;
	struct err e = { 0 };

	write_results(dir, "results.csv", text);
	diagnose_row_init(r, step(name), &pair, &row);
	row.outcome = OUTCOME_SKIPPED;
	assert_int_equal(diagnose_read(dir, r, step(name), &row, 1, &e), 0);
	return row.outcome;
}

#define PAIR "attempt,src_node,src_gpu,dst_node,dst_gpu,outcome,code," \
	"src_rank,dst_rank,bw_GB_s\n"
#define PATH "src_node,dst_node,outcome,code\n"

static const struct {
	const char *step, *text;
	enum outcome outcome;
} files[] = {
	{ "tcp", "", OUTCOME_SKIPPED },
	{ "tcp", PAIR, OUTCOME_SKIPPED },
	{ "tcp", PAIR "1,n0,1,n1,0,error,x,,,\n", OUTCOME_SKIPPED },
	{ "tcp", PAIR "1,n0,0,n1,0,ok,,,,\n1,n1,0,n0,0,ok,,,,\n", OUTCOME_OK },
	/* one way is enough */
	{ "tcp", PAIR "1,n0,0,n1,0,ok,,,,\n1,n1,0,n0,0,timeout,x,,,\n",
	  OUTCOME_TIMEOUT },
	{ "tcp", PAIR "1,n0,0,n1,0,corrupt,,,,\n1,n1,0,n0,0,timeout,x,,,\n",
	  OUTCOME_CORRUPT },
	{ "tcp", PAIR "1,n0,0,n1,0,ok,,,,\n1,n1,0,n0,0,not_run,x,,,\n",
	  OUTCOME_NOT_RUN },
	/* the last attempt, the worst size */
	{ "tcp", PAIR "1,n0,0,n1,0,error,x,,,\n"
	  "2,n0,0,n1,0,ok,,,,\n", OUTCOME_OK },
	{ "tcp", PAIR "2,n0,0,n1,0,ok,,,,\n"
	  "1,n0,0,n1,0,error,x,,,\n", OUTCOME_OK },
	{ "tcp", PAIR "1,n0,0,n1,0,error,x,,,\n1,n0,0,n1,0,ok,,,,\n",
	  OUTCOME_ERROR },
	/* a setting has to pass whenever it is tried */
	{ "NCCL_IB_DISABLE=1", PAIR "1,n0,0,n1,0,error,x,,,\n"
	  "2,n0,0,n1,0,ok,,,,\n",
	  OUTCOME_ERROR },
	{ "NCCL_IB_DISABLE=1", PAIR "2,n0,0,n1,0,ok,,,,\n"
	  "1,n0,0,n1,0,error,x,,,\n",
	  OUTCOME_ERROR },
	{ "NCCL_IB_DISABLE=1", PAIR "1,n0,0,n1,0,ok,,,,\n"
	  "2,n1,0,n0,0,error,x,,,\n",
	  OUTCOME_ERROR },
	/* what had no chance counts until it has had one */
	{ "NCCL_IB_DISABLE=1", PAIR "1,n0,0,n1,0,not_run,starved,,,\n"
	  "2,n0,0,n1,0,ok,,,,\n",
	  OUTCOME_OK },
	{ "NCCL_IB_DISABLE=1", PAIR "1,n0,0,n1,0,not_run,starved,,,\n"
	  "2,n0,0,n1,0,ok,,,,\n3,n0,0,n1,0,error,x,,,\n",
	  OUTCOME_ERROR },
	{ "NCCL_IB_DISABLE=1", PAIR "1,n0,0,n1,0,ok,,,,\n"
	  "1,n0,0,n1,0,not_run,starved,,,\n",
	  OUTCOME_NOT_RUN },
	/* of ping one path each way */
	{ "ping", PATH "n0,n1,timeout,x\nn0,n1,ok,\nn1,n0,ok,\n", OUTCOME_OK },
	{ "ping", PATH "n0,n1,ok,\nn1,n0,timeout,x\n", OUTCOME_TIMEOUT },
	{ "ping", PATH "n0,n2,ok,\n", OUTCOME_SKIPPED },
};

static void results_of_a_step_are_read(void **state)
{
	char dir[] = "/tmp/gpucheck-diagnose-XXXXXX", path[64];
	struct run r;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fake_run(&r, 2, 4, 4);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		enum outcome got = read_back(&r, dir, files[i].step,
					     files[i].text);

		if (got != files[i].outcome) {
			fail_msg("%s: '%s' is %s", files[i].step,
				 files[i].text, outcome_name(got));
		}
	}
	/* a setting that never arrived was not tried */
	write_results(dir, "run.json", "{\"environment\": "
		      "{\"NCCL_P2P_DISABLE\": \"1\", "
		      "\"NCCL_NET\": \"IB\"}}");
	assert_true(diagnose_was_set(dir, step("NCCL_P2P_DISABLE=1")));
	assert_true(diagnose_was_set(dir, step("tcp")));
	assert_false(diagnose_was_set(
		dir, step("NCCL_P2P_DISABLE=1+NCCL_SHM_DISABLE=1")));
	assert_false(diagnose_was_set(dir, step("NCCL_IB_DISABLE=1")));
	assert_false(diagnose_was_set(dir, step("NCCL_NET=Socket")));
	run_release(&r);
	snprintf(path, sizeof(path), "%s/results.csv", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/run.json", dir);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			rungs_come_before_knobs_and_have_what_they_need),
		cmocka_unit_test(good_runs_have_no_ladder),
		cmocka_unit_test(two_unlike_pairs_stand_for_a_finding),
		cmocka_unit_test(many_findings_are_bounded),
		cmocka_unit_test(steps_are_for_some_pairs),
		cmocka_unit_test(what_is_not_needed_is_left_out),
		cmocka_unit_test(what_cannot_help_is_skipped_with_a_reason),
		cmocka_unit_test(the_ladder_is_told),
		cmocka_unit_test(like_pairs_share_a_line_and_a_part_is_named),
		cmocka_unit_test(the_rate_is_lost_in_a_layer),
		cmocka_unit_test(a_setting_gives_the_rate_back),
		cmocka_unit_test(no_setting_has_to_beat_what_is_expected),
		cmocka_unit_test(a_layer_that_loses_the_rate_is_measured_twice),
		cmocka_unit_test(the_layer_tells_a_nic_from_its_node),
		cmocka_unit_test(causes_are_named_in_the_layers_that_they_slow),
		cmocka_unit_test(
			a_shared_nic_is_the_cause_of_what_is_not_slow_alone),
		cmocka_unit_test(slow_pairs_have_steps_of_their_own),
		cmocka_unit_test(
			refuted_settings_are_left_out_and_proved_ones_first),
		cmocka_unit_test(ports_are_found_by_name),
		cmocka_unit_test(results_of_a_step_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
