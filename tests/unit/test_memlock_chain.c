/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/judge/memlock_verdict.h"

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define MAX MEMLOCK_UNLIMITED

static struct memlock_chain chain;

static void level(enum memlock_context context, int64_t soft, int64_t hard)
{
	chain.level[context] = (struct chain_level){
		.exists = true, .known = true, .soft = soft, .hard = hard,
	};
}

static void unreadable(enum memlock_context context)
{
	chain.level[context] = (struct chain_level){ .exists = true };
}

/** A job of two steps down from its login shell. */
static void job(int64_t login, int64_t slurmd, int64_t batch, int64_t step)
{
	chain = (struct memlock_chain){ .needed_B = 33 * MIB,
				.propagation = CHAIN_PROPAGATED };
	level(MEMLOCK_LOGIN, login, MAX);
	level(MEMLOCK_SLURMD, slurmd, slurmd);
	level(MEMLOCK_BATCH, batch, slurmd);
	level(MEMLOCK_STEP, step, slurmd);
}

static void judged(void)
{
	chain.n = chain.judged = 0;
	chain.unknown = chain.slurmd_unseen = chain.spared = false;
	chain_judge(&chain);
}

static void blames(enum chain_link link, enum memlock_context context,
		   int64_t limit)
{
	judged();
	assert_int_equal(chain.n, 1);
	assert_int_equal(chain.faults[0].link, link);
	assert_int_equal(chain.faults[0].context, context);
	assert_true(chain.faults[0].limit_B == limit);
}

static void blames_nobody(void)
{
	judged();
	assert_int_equal(chain.n, 0);
	assert_false(chain.unknown);
}

static void enough_everywhere(void **state)
{
	(void)state;
	job(MAX, MAX, MAX, MAX);
	blames_nobody();
	job(33 * MIB, MAX, 33 * MIB, 33 * MIB);
	blames_nobody();	/* exactly what is needed is enough */
}

static void login_shell_is_propagated(void **state)
{
	(void)state;
	job(64 * KIB, MAX, 64 * KIB, 64 * KIB);
	blames(LINK_PROPAGATION, MEMLOCK_BATCH, 64 * KIB);
	chain.propagation = CHAIN_UNASKED;
	blames(LINK_PROPAGATION, MEMLOCK_BATCH, 64 * KIB);
	/* lower than slurmd allows, although that is too little as well */
	job(64 * KIB, 8 * MIB, 64 * KIB, 64 * KIB);
	blames(LINK_PROPAGATION, MEMLOCK_BATCH, 64 * KIB);
}

static void login_shell_is_not_propagated(void **state)
{
	(void)state;
	job(64 * KIB, MAX, MAX, MAX);
	chain.propagation = CHAIN_KEPT;
	blames_nobody();
	/* the same number from elsewhere */
	job(64 * KIB, 64 * KIB, 64 * KIB, 64 * KIB);
	chain.propagation = CHAIN_KEPT;
	blames(LINK_SLURMD, MEMLOCK_BATCH, 64 * KIB);
}

static void slurmd_is_the_first_link(void **state)
{
	(void)state;
	job(MAX, 64 * KIB, 64 * KIB, 64 * KIB);
	blames(LINK_SLURMD, MEMLOCK_BATCH, 64 * KIB);
	job(MAX, 8 * MIB, 8 * MIB, 8 * MIB);
	blames(LINK_SLURMD, MEMLOCK_BATCH, 8 * MIB);
	/* equal numbers: slurmd would not give more either */
	job(64 * KIB, 64 * KIB, 64 * KIB, 64 * KIB);
	blames(LINK_SLURMD, MEMLOCK_BATCH, 64 * KIB);
}

static void slurmds_soft_limit_is_inherited(void **state)
{
	(void)state;
	job(MAX, MAX, 8 * MIB, 8 * MIB);
	chain.level[MEMLOCK_SLURMD].soft = 8 * MIB;
	chain.propagation = CHAIN_KEPT;
	blames(LINK_SLURMD, MEMLOCK_BATCH, 8 * MIB);
}

static void something_in_between(void **state)
{
	(void)state;
	job(MAX, MAX, 64 * KIB, 64 * KIB);
	blames(LINK_BATCH, MEMLOCK_BATCH, 64 * KIB);
	job(MAX, MAX, MAX, 64 * KIB);
	blames(LINK_STEP, MEMLOCK_STEP, 64 * KIB);
	job(MAX, MAX, MAX, MAX);
	level(MEMLOCK_CONTAINER, 64 * KIB, 64 * KIB);
	blames(LINK_CONTAINER, MEMLOCK_CONTAINER, 64 * KIB);
}

/** Between script and step a container that sets limits, or one that keeps
 *  them and has no level of its own. */
static void a_step_in_a_container(void **state)
{
	(void)state;
	job(MAX, MAX, MAX, 64 * KIB);
	level(MEMLOCK_CONTAINER, 64 * KIB, 64 * KIB);
	blames(LINK_CONTAINER, MEMLOCK_STEP, 64 * KIB);
	level(MEMLOCK_CONTAINER, MAX, MAX);
	blames(LINK_STEP, MEMLOCK_STEP, 64 * KIB);
	/* the script was low already */
	job(64 * KIB, MAX, 64 * KIB, 64 * KIB);
	level(MEMLOCK_CONTAINER, 64 * KIB, 64 * KIB);
	blames(LINK_PROPAGATION, MEMLOCK_BATCH, 64 * KIB);
}

/** Inside of a job nobody knows what its login shell had. */
static void a_login_shell_of_the_past(void **state)
{
	(void)state;
	job(0, MAX, 64 * KIB, 64 * KIB);
	chain.level[MEMLOCK_LOGIN] = (struct chain_level){ 0 };
	blames(LINK_PROPAGATION, MEMLOCK_BATCH, 64 * KIB);
	chain.propagation = CHAIN_KEPT;
	blames(LINK_BATCH, MEMLOCK_BATCH, 64 * KIB);
	chain.propagation = CHAIN_UNASKED;
	blames(LINK_BATCH, MEMLOCK_BATCH, 64 * KIB);
	/* slurmd gives no more by itself */
	chain.propagation = CHAIN_PROPAGATED;
	chain.level[MEMLOCK_SLURMD].soft = 64 * KIB;
	blames(LINK_SLURMD, MEMLOCK_BATCH, 64 * KIB);
}

/** The nodes on which no batch script runs. */
static void second_node(void **state)
{
	(void)state;
	job(64 * KIB, MAX, 0, 64 * KIB);
	chain.level[MEMLOCK_BATCH] = (struct chain_level){ 0 };
	blames(LINK_PROPAGATION, MEMLOCK_STEP, 64 * KIB);
	job(MAX, 64 * KIB, 0, 64 * KIB);
	chain.level[MEMLOCK_BATCH] = (struct chain_level){ 0 };
	blames(LINK_SLURMD, MEMLOCK_STEP, 64 * KIB);
}

static void unknown_is_never_enough(void **state)
{
	(void)state;
	job(MAX, MAX, MAX, MAX);
	unreadable(MEMLOCK_STEP);
	judged();
	assert_true(chain.unknown);
	/* what the job has is known: slurmd does not matter */
	job(MAX, MAX, MAX, MAX);
	unreadable(MEMLOCK_SLURMD);
	judged();
	assert_false(chain.unknown);
	assert_true(chain.slurmd_unseen);
	/* outside of a job it does */
	chain = (struct memlock_chain){ .needed_B = 33 * MIB };
	level(MEMLOCK_HERE, MAX, MAX);
	unreadable(MEMLOCK_SLURMD);
	judged();
	assert_true(chain.unknown);
}

static void here(int64_t soft, bool cap)
{
	chain = (struct memlock_chain){ .needed_B = 33 * MIB };
	level(MEMLOCK_HERE, soft, MAX);
	chain.level[MEMLOCK_HERE].has_cap = cap;
}

static void outside_of_a_job(void **state)
{
	(void)state;
	here(8 * MIB, false);
	blames(LINK_SHELL, MEMLOCK_HERE, 8 * MIB);
	here(8 * MIB, true);	/* root is not excused ... */
	blames(LINK_SHELL, MEMLOCK_HERE, 8 * MIB);
	level(MEMLOCK_SLURMD, MAX, MAX);	/* ... and is no job */
	blames_nobody();
	here(MAX, true);
	level(MEMLOCK_SLURMD, 64 * KIB, 64 * KIB);
	blames(LINK_SLURMD, MEMLOCK_SLURMD, 64 * KIB);
	here(64 * KIB, false);
	level(MEMLOCK_CONTAINER, 64 * KIB, 64 * KIB);
	blames(LINK_CONTAINER, MEMLOCK_HERE, 64 * KIB);
	/* it was given more, or a file says who took it */
	level(MEMLOCK_CONTAINER, MAX, MAX);
	blames(LINK_SHELL, MEMLOCK_HERE, 64 * KIB);
	level(MEMLOCK_CONTAINER, 64 * KIB, 64 * KIB);
	chain.by_conf = true;
	blames(LINK_SHELL, MEMLOCK_HERE, 64 * KIB);
}

/** A shell that submits jobs, on a node whose slurmd has enough. */
static void a_shell_beside_slurmd(void **state)
{
	(void)state;
	here(64 * KIB, false);
	level(MEMLOCK_SLURMD, MAX, MAX);
	chain.propagation = CHAIN_PROPAGATED;
	blames(LINK_PROPAGATION, MEMLOCK_HERE, 64 * KIB);
	chain.propagation = CHAIN_UNASKED;
	blames(LINK_SHELL, MEMLOCK_HERE, 64 * KIB);
	chain.propagation = CHAIN_KEPT;
	blames_nobody();
	assert_true(chain.spared);
	/* without slurmd it is all there is to judge */
	chain.level[MEMLOCK_SLURMD] = (struct chain_level){ 0 };
	blames(LINK_SHELL, MEMLOCK_HERE, 64 * KIB);
	assert_false(chain.spared);
}

/** Both are too low: the one that bites here comes first, also for root. */
static void a_shell_and_slurmd(void **state)
{
	(void)state;
	here(64 * KIB, true);
	level(MEMLOCK_SLURMD, 8 * MIB, 8 * MIB);
	judged();
	assert_int_equal(chain.n, 2);
	assert_int_equal(chain.faults[0].link, LINK_SHELL);
	assert_int_equal(chain.faults[0].limit_B, 64 * KIB);
	assert_int_equal(chain.faults[1].link, LINK_SLURMD);
}

/** What a job can get: the soft limit, or the hard one, if asked for. */
static void slurmd_alone(void **state)
{
	(void)state;
	here(MAX, true);
	level(MEMLOCK_SLURMD, 8 * MIB, MAX);
	blames(LINK_SLURMD, MEMLOCK_SLURMD, 8 * MIB);
	chain.propagation = CHAIN_PROPAGATED;
	blames_nobody();
	chain.propagation = CHAIN_KEPT;
	blames(LINK_SLURMD, MEMLOCK_SLURMD, 8 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enough_everywhere),
		cmocka_unit_test(login_shell_is_propagated),
		cmocka_unit_test(login_shell_is_not_propagated),
		cmocka_unit_test(slurmd_is_the_first_link),
		cmocka_unit_test(slurmds_soft_limit_is_inherited),
		cmocka_unit_test(something_in_between),
		cmocka_unit_test(a_step_in_a_container),
		cmocka_unit_test(a_login_shell_of_the_past),
		cmocka_unit_test(second_node),
		cmocka_unit_test(unknown_is_never_enough),
		cmocka_unit_test(outside_of_a_job),
		cmocka_unit_test(a_shell_beside_slurmd),
		cmocka_unit_test(a_shell_and_slurmd),
		cmocka_unit_test(slurmd_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
