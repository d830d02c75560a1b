/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ends prove themselves, and what they say next cannot be touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "probes/engine/net/wire.h"

#define RUN   "00112233445566778899aabbccddeeff"
#define OTHER "ff112233445566778899aabbccddeeff"

static const uint8_t secret[AUTH_BYTES] = "a secret of thirty-two bytes...";

static struct auth knows(enum auth_kind kind, const char *run)
{
	struct auth a;

	assert_int_equal(auth_set(&a, kind, secret, run, NULL), 0);
	return a;
}

/** A handshake as the listener sees it; does it believe the dialler? */
struct meeting {
	struct auth listener, dialler;
	struct auth_talk talk;
	uint8_t proof[AUTH_BYTES];
	int proved;	/* what the dialler made of the answer */
	bool believed;	/* what the listener made of its proof */
};

/** The listener hears @n bytes of @v, three at a time. */
static enum auth_step knocks(const struct auth *listener, struct auth_visit *v,
			     const void *bytes, size_t n)
{
	enum auth_step step = AUTH_WAIT;
	const uint8_t *from = bytes;
	const char *why;

	while (n > 0 && step == AUTH_WAIT) {
		size_t room, some;
		void *into = auth_visit_room(v, &room);

		some = n < 3 ? n : 3;
		some = some < room ? some : room;
		memcpy(into, from, some);
		from += some;
		n -= some;
		step = auth_visit_heard(v, listener, some, &why);
	}
	assert_int_equal(n, 0);
	return step;
}

static struct meeting meet(struct auth listener, struct auth dialler,
			   uint8_t port_dialled)
{
	struct meeting m = { .listener = listener, .dialler = dialler };
	struct auth_talk seen = { .port = { 1, port_dialled } };
	struct auth_visit visit = { .talk.port = { 1, 1 } };

	auth_greet(&m.dialler, NULL, &seen);
	knocks(&m.listener, &visit, &seen.hello, sizeof(seen.hello));
	seen.answer = visit.talk.answer;
	m.proved = auth_prove(&m.dialler, &seen, m.proof, NULL);
	m.believed = m.proved == 0 && knocks(&m.listener, &visit, m.proof,
					     sizeof(m.proof)) == AUTH_PROVED;
	m.talk = visit.talk;
	return m;
}

static void both_ends_of_a_run_believe_each_other(void **state)
{
	struct meeting m = meet(knows(AUTH_CONTROL, RUN),
				knows(AUTH_CONTROL, RUN), 1);
	struct auth_session l, d;

	(void)state;
	assert_true(m.believed);
	auth_session(&m.listener, &m.talk, true, &l);
	auth_session(&m.dialler, &m.talk, false, &d);
	assert_memory_equal(l.in, d.out, AUTH_BYTES);
	assert_memory_equal(l.out, d.in, AUTH_BYTES);
	assert_memory_not_equal(l.out, l.in, AUTH_BYTES);
}

static void a_dialler_learns_the_run_it_was_not_told(void **state)
{
	struct meeting m = meet(knows(AUTH_CONTROL, RUN),
				knows(AUTH_CONTROL, ""), 1);

	(void)state;
	assert_true(m.believed);
	assert_memory_equal(m.dialler.run, m.listener.run, AUTH_ID_BYTES);
}

static void others_are_not_believed(void **state)
{
	struct auth other = knows(AUTH_CONTROL, RUN);

	(void)state;
	other.key[31] ^= 1;
	assert_int_equal(
		meet(other, knows(AUTH_CONTROL, RUN), 1).proved, -1);
	assert_int_equal(meet(knows(AUTH_CONTROL, RUN), other, 1).proved, -1);
	/* a key for data opens no control connection */
	assert_int_equal(meet(knows(AUTH_CONTROL, RUN), knows(AUTH_DATA, RUN),
			      1).proved, -1);
	assert_int_equal(meet(knows(AUTH_CONTROL, OTHER),
			      knows(AUTH_CONTROL, RUN), 1).proved, -1);
	/* somebody on another port who passes the messages on */
	assert_int_equal(meet(knows(AUTH_CONTROL, RUN),
			      knows(AUTH_CONTROL, RUN), 2).proved, -1);
}

static void nothing_that_was_heard_is_a_proof_again(void **state)
{
	struct meeting m = meet(knows(AUTH_DATA, RUN), knows(AUTH_DATA, RUN),
				1);
	struct auth_visit again = { .talk.port = { 1, 1 } }, mirror, other;

	(void)state;
	assert_int_equal(knocks(&m.listener, &again, &m.talk.hello,
				sizeof(m.talk.hello)), AUTH_ANSWER);
	mirror = again;
	assert_int_equal(knocks(&m.listener, &again, m.proof, AUTH_BYTES),
			 AUTH_REFUSED);
	/* the listener's own word, sent back to it */
	assert_int_equal(knocks(&m.listener, &mirror, mirror.talk.answer.proof,
				AUTH_BYTES), AUTH_REFUSED);
	other = (struct auth_visit){ .talk = m.talk, .answered = true };
	other.talk.hello.task[0] ^= 1;
	assert_int_equal(knocks(&m.listener, &other, m.proof, AUTH_BYTES),
			 AUTH_REFUSED);
}

static void what_is_no_hello_is_refused_as_soon_as_that_shows(void **state)
{
	struct auth a = knows(AUTH_CONTROL, RUN);
	struct auth_visit web = { 0 }, data = { 0 };
	struct auth_talk t;

	(void)state;
	assert_int_equal(knocks(&a, &web, "GET / HTT", 9), AUTH_REFUSED);
	a.kind = AUTH_DATA;
	auth_greet(&a, NULL, &t);
	a.kind = AUTH_CONTROL;
	assert_int_equal(knocks(&a, &data, &t.hello, sizeof(t.hello)),
			 AUTH_REFUSED);
}

static void what_a_handshake_costs(void **state)
{
	enum { TIMES = 1000 };
	clock_t start = clock();
	struct auth a = knows(AUTH_CONTROL, RUN);

	(void)state;
	for (int i = 0; i < TIMES; i++) {
		struct auth_session s;
		struct meeting m = meet(a, a, 1);

		auth_session(&m.listener, &m.talk, true, &s);
		auth_session(&m.dialler, &m.talk, false, &s);
		assert_true(m.believed);
	}
	print_message("# a handshake takes %.1f us of CPU, both ends together\n",
		      (double)(clock() - start) / CLOCKS_PER_SEC / TIMES * 1e6);
}

/* ---- sealed ------------------------------------------------------------- */

struct ends {
	struct seal a, b;
	struct str wire;	/* from a to b */
	size_t starts[4];	/* of its records; the last: its end */
};

/** Three messages are under way. */
static void open_ends(struct ends *x)
{
	struct auth_session a, b;
	struct str back = STR_INIT;

	memset(x, 0, sizeof(*x));
	memset(&a, 7, sizeof(a));
	memset(&b, 7, sizeof(b));
	seal_open(&x->a, &a, &x->wire);
	seal_open(&x->b, &b, &back);
	for (int i = 0; i < 3; i++) {
		struct str plain = STR_INIT;

		x->starts[i] = x->wire.len;
		str_addmem(&plain, &"one\ntwo\nsix\n"[4 * i], 4);
		seal_put(&x->a, &plain, &x->wire);
		str_release(&plain);
	}
	x->starts[3] = x->wire.len;
	str_release(&back);
}

static void close_ends(struct ends *x)
{
	seal_release(&x->a);
	seal_release(&x->b);
	str_release(&x->wire);
}

/** What b makes of @n bytes; NULL when it refuses them. */
static const char *taken(struct ends *x, const char *bytes, size_t n)
{
	const struct str *plain;

	return seal_take(&x->b, bytes, n, &plain, NULL) == 0
		       ? str_text(plain)
		       : NULL;
}

static void sealed_frames_survive_any_cut(void **state)
{
	struct ends x;

	(void)state;
	open_ends(&x);
	close_ends(&x);
	for (size_t cut = 0; cut <= x.starts[3]; cut++) {
		char got[32];

		open_ends(&x);
		assert_null(memmem(x.wire.data, x.wire.len, "one\n", 4));
		snprintf(got, sizeof(got), "%s", taken(&x, x.wire.data, cut));
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s",
			 taken(&x, x.wire.data + cut, x.wire.len - cut));
		assert_string_equal(got, "one\ntwo\nsix\n");
		close_ends(&x);
	}
}

static void no_changed_bit_passes(void **state)
{
	struct ends x;

	(void)state;
	open_ends(&x);
	close_ends(&x);
	for (size_t bit = 0; bit < 8 * x.starts[3]; bit++) {
		const char *got;

		open_ends(&x);
		x.wire.data[bit / 8] ^= (char)(1 << bit % 8);
		got = taken(&x, x.wire.data, x.wire.len);
		/* a length that has grown waits for what never comes */
		assert_true(got == NULL || strlen(got) < 12);
		close_ends(&x);
	}
}

static void none_is_repeated_left_out_or_moved(void **state)
{
	/* by number, of the records sent */
	static const char *const orders[] = { "00", "1", "10", "02", "0011" };
	struct ends x;

	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct str sent = STR_INIT;

		open_ends(&x);
		str_addmem(&sent, x.wire.data, x.starts[0]);
		for (const char *o = orders[i]; *o; o++) {
			int k = *o - '0';

			str_addmem(&sent, x.wire.data + x.starts[k],
				   x.starts[k + 1] - x.starts[k]);
		}
		assert_null(taken(&x, sent.data, sent.len));
		str_release(&sent);
		close_ends(&x);
	}
}

static void no_end_takes_its_own_words(void **state)
{
	struct auth_session keys = { .in = { 1 }, .out = { 2 } };
	struct str out = STR_INIT, plain = STR_INIT;
	const struct str *got;
	struct seal s;

	(void)state;
	seal_open(&s, &keys, &out);
	str_add(&plain, "one\n");
	seal_put(&s, &plain, &out);
	str_release(&plain);
	assert_int_equal(seal_take(&s, out.data, out.len, &got, NULL),
			 -1);
	seal_release(&s);
	str_release(&out);
}

static void records_are_of_one_byte_to_64_KiB(void **state)
{
	/* with their MAC: none of nothing, one byte, the most, one more */
	static const struct {
		uint32_t length;
		bool waits;
	} cases[] = { { 17, false }, { 18, true }, { 65536 + 17, true },
		      { 65536 + 18, false }, { UINT32_MAX, false } };
	struct ends x;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_ends(&x);
		memcpy(x.wire.data + x.starts[0], &cases[i].length, 4);
		assert_int_equal(taken(&x, x.wire.data, x.starts[0] + 4) !=
					 NULL,
				 cases[i].waits);
		close_ends(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_of_a_run_believe_each_other),
		cmocka_unit_test(a_dialler_learns_the_run_it_was_not_told),
		cmocka_unit_test(others_are_not_believed),
		cmocka_unit_test(nothing_that_was_heard_is_a_proof_again),
		cmocka_unit_test(
			what_is_no_hello_is_refused_as_soon_as_that_shows),
		cmocka_unit_test(what_a_handshake_costs),
		cmocka_unit_test(sealed_frames_survive_any_cut),
		cmocka_unit_test(no_changed_bit_passes),
		cmocka_unit_test(none_is_repeated_left_out_or_moved),
		cmocka_unit_test(no_end_takes_its_own_words),
		cmocka_unit_test(records_are_of_one_byte_to_64_KiB),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
