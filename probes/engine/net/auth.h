/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_AUTH_H
#define PROBES_ENGINE_NET_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

/**
 * How both ends of a connection prove that they know the run's secret, which
 * no connection carries.  Three messages:
 *   dialler   auth_hello: what it wants, 32 random bytes
 *   listener  auth_answer: 32 random bytes, the run, its proof
 *   dialler   its proof
 * A proof is a MAC over all that was said before it and the port that was
 * dialled, with a key for this kind of connection and this end.  What was
 * recorded of one connection proves nothing in another, and who passes the
 * messages on from another port is found out.
 */
#define AUTH_BYTES    32	/* of secrets, keys, nonces and proofs */
#define AUTH_ID_BYTES 16	/* of a run, and of a task */

enum auth_kind { AUTH_CONTROL = 'A', AUTH_DATA = 'D' };

/** What who listens and who may come know; workers have that of data alone. */
struct auth {
	enum auth_kind kind;
	uint8_t key[AUTH_BYTES];	/* of connections of this kind */
	uint8_t run[AUTH_ID_BYTES];	/* 0: a dialler takes any */
};

struct auth_hello {
	char magic[8];
	uint8_t kind;			/* enum auth_kind */
	uint8_t zero[7];
	uint8_t nonce[AUTH_BYTES];
	uint8_t task[AUTH_ID_BYTES];	/* 0 for control */
};

struct auth_answer {
	uint8_t nonce[AUTH_BYTES];
	uint8_t run[AUTH_ID_BYTES];
	uint8_t proof[AUTH_BYTES];	/* of the listener */
};

/** One handshake, as either end sees it.  All that it has is bytes. */
struct auth_talk {
	struct auth_hello hello;
	struct auth_answer answer;
	uint8_t port[2];	/* where the listener is, big-endian */
};

/** Keys of a connection, one a direction. */
struct auth_session {
	uint8_t in[AUTH_BYTES], out[AUTH_BYTES];
};

/** What @secret opens of @kind in the run @run (hex; "": not known). 0, or -1
 *  with @e. */
int auth_set(struct auth *a, enum auth_kind kind,
	     const uint8_t secret[AUTH_BYTES], const char *run, struct err *e);
/** With @key as another process has it, in hex. */
int auth_take(struct auth *a, enum auth_kind kind, const char *key,
	      const char *run, struct err *e);
/** @n random bytes; never fails once auth_set() has not. */
void auth_random(void *bytes, size_t n);

/* ---- who dials ---------------------------------------------------------- */

/** @task may be NULL; @t->port is set by the caller, in all of these. */
void auth_greet(const struct auth *a, const uint8_t *task,
		struct auth_talk *t);
/** @t->answer has come: the proof to send.  -1 with @e when it is not from a
 *  listener of this run; @a learns the run if it did not know it. */
int auth_prove(struct auth *a, const struct auth_talk *t,
	       uint8_t proof[AUTH_BYTES], struct err *e);

/* ---- who listens -------------------------------------------------------- */

/** What a listener has heard of a dialler; zeroed but for talk.port, which the
 *  caller sets. */
struct auth_visit {
	struct auth_talk talk;
	uint8_t proof[AUTH_BYTES];	/* of the dialler */
	bool answered;
	size_t got;		/* bytes of what it says next */
};

enum auth_step {
	AUTH_WAIT,		/* for more of it */
	AUTH_ANSWER,		/* v->talk.answer is to be sent */
	AUTH_PROVED,
	AUTH_REFUSED
};

/** Where what it says next belongs; *@n bytes, more than 0. */
void *auth_visit_room(struct auth_visit *v, size_t *n);
/** @n bytes have come there; *@why is set of one that is refused. */
enum auth_step auth_visit_heard(struct auth_visit *v, const struct auth *a,
				size_t n, const char **why);

/** Once both have proved themselves. */
void auth_session(const struct auth *a, const struct auth_talk *t,
		  bool listens, struct auth_session *s);

#endif
