/* SPDX-License-Identifier: BSD-3-Clause */
/* Who knocks, and who answers: a handshake between two that know the secret,
 * in pieces of any length, some of whose bits somebody changes on their way. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/engine/net/wire.h"

#define RUN "00112233445566778899aabbccddeeff"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Changes of what is under way; zeros when there are no more. */
struct noise {
	const uint8_t *at;
	size_t left;
};

static bool change(struct noise *noise, void *bytes, size_t n)
{
	uint8_t *to = bytes, changed = 0;

	for (size_t i = 0; i < n && noise->left > 0; i++, noise->left--) {
		changed |= *noise->at;
		to[i] ^= *noise->at++;
	}
	return changed != 0;
}

/** All @n bytes in pieces of at most @most; what comes of the last. */
static enum auth_step hear(struct auth_visit *v, const struct auth *a,
			   const void *bytes, size_t n, size_t most)
{
	enum auth_step step = AUTH_WAIT;
	const uint8_t *from = bytes;
	const char *why;

	while (n > 0 && step == AUTH_WAIT) {
		size_t room, some = n < most ? n : most;
		void *into = auth_visit_room(v, &room);

		some = some < room ? some : room;
		memcpy(into, from, some);
		from += some;
		n -= some;
		step = auth_visit_heard(v, a, some, &why);
	}
	return step;
}

static void must(bool right)
{
	if (!right) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t secret[AUTH_BYTES] = { 1 };
	const size_t most = size > 0 ? 1 + data[0] : 1;
	struct noise noise = { .at = data + 1,
			       .left = size > 0 ? size - 1 : 0 };
	struct auth_visit v = { .talk.port = { 1, 2 } };
	struct auth_talk t = { .port = { 1, 2 } };
	uint8_t proof[AUTH_BYTES];
	struct auth listener, dialler;
	struct auth_hello hello;
	bool changed;

	auth_set(&listener, AUTH_CONTROL, secret, RUN, NULL);
	auth_set(&dialler, AUTH_CONTROL, secret, RUN, NULL);
	auth_greet(&dialler, NULL, &t);
	hello = t.hello;
	changed = change(&noise, &hello, sizeof(hello));
	if (hear(&v, &listener, &hello, sizeof(hello), most) != AUTH_ANSWER) {
		must(changed);
		return 0;
	}
	t.answer = v.talk.answer;
	changed |= change(&noise, &t.answer, sizeof(t.answer));
	if (auth_prove(&dialler, &t, proof, NULL) < 0) {
		must(changed);
		return 0;
	}
	must(!changed);
	changed = change(&noise, proof, sizeof(proof));
	must((hear(&v, &listener, proof, sizeof(proof), most) == AUTH_PROVED) ==
	     !changed);
	return 0;
}
