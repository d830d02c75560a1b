/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/net.h"
#include "probes/engine/net/ask.h"

/** What comes of asking at @addr. */
static enum ask_answer answer_at(const char *addr)
{
	int64_t now_ns = clock_now_ns(), until_ns = now_ns + 10 * NS_PER_S;
	struct sockaddr_storage to = { 0 };
	enum ask_answer answer;
	struct ask a = { 0 };

	assert_int_equal(net_lookup(addr, &to, 1, NULL), 1);
	ask_begin(&a, &to, now_ns);
	while ((answer = ask_look(&a, clock_now_ns())) == ASK_PENDING) {
		assert_true(clock_now_ns() < until_ns);
		clock_sleep(5 * NS_PER_MS);
	}
	ask_end(&a);
	ask_end(&a);
	return answer;
}

/** Nobody has to accept: the kernel does so for a process that is stopped. */
static void a_node_answers_for_its_process(void **state)
{
	int fd = net_listen(true, (struct net_ports){ 0 }, NULL);
	const uint16_t port = net_port(fd);
	char addr[40];

	(void)state;
	assert_true(fd >= 0);
	snprintf(addr, sizeof(addr), "127.0.0.1:%u", port);
	assert_int_equal(answer_at(addr), ASK_TAKEN);
	close(fd);
	assert_int_equal(answer_at(addr), ASK_REFUSED);
}

/** There is no way by TCP to all machines at once. */
static void where_no_way_leads_nobody_answers(void **state)
{
	(void)state;
	assert_int_equal(answer_at("224.0.0.1:9"), ASK_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_answers_for_its_process),
		cmocka_unit_test(where_no_way_leads_nobody_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
