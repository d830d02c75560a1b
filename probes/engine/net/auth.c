/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/wire.h"

#include <errno.h>
#include <string.h>

#include <sodium.h>

#include "lib/base/hash.h"

#define AUTH_MAGIC   "GPUCHK2\n"
#define AUTH_NAME    6	/* bytes of it that all versions share */
#define AUTH_CONTEXT "gpucheck"

_Static_assert(sizeof(struct auth_hello) == 64 &&
		       sizeof(struct auth_talk) == 64 + 80 + 2,
	       "what is signed has no holes");
_Static_assert(AUTH_BYTES == crypto_kdf_KEYBYTES &&
		       AUTH_BYTES == crypto_auth_KEYBYTES &&
		       AUTH_BYTES == crypto_auth_BYTES,
	       "one length serves all");

/** Uses of the key of a connection kind: subkey numbers of crypto_kdf. */
enum use { LISTENER = 1, DIALLER, TO_LISTENER, TO_DIALLER };

static int begin(struct auth *a, enum auth_kind kind, const char *run,
		 struct err *e)
{
	*a = (struct auth){ .kind = kind };
	if (sodium_init() < 0) {
		return err_set(e, EIO, "no random bytes for a key");
	}
	return run[0] && hash_unhex(run, a->run, sizeof(a->run)) < 0
		       ? err_set(e, EPROTO, "'%.40s' does not name a run", run)
		       : 0;
}

int auth_set(struct auth *a, enum auth_kind kind,
	     const uint8_t secret[AUTH_BYTES], const char *run, struct err *e)
{
	if (begin(a, kind, run, e) < 0) {
		return -1;
	}
	crypto_kdf_derive_from_key(a->key, sizeof(a->key), (uint64_t)kind,
				   AUTH_CONTEXT, secret);
	return 0;
}

int auth_take(struct auth *a, enum auth_kind kind, const char *key,
	      const char *run, struct err *e)
{
	if (begin(a, kind, run, e) < 0) {
		return -1;
	}
	return hash_unhex(key, a->key, sizeof(a->key)) < 0
		       ? err_set(e, EPROTO, "a key cannot be read")
		       : 0;
}

/** The MAC of what both have said up to the listener's proof. */
static void sign(const struct auth *a, const struct auth_talk *t, enum use use,
		 uint8_t out[AUTH_BYTES])
{
	struct auth_talk said = *t;
	uint8_t key[AUTH_BYTES];

	memset(said.answer.proof, 0, sizeof(said.answer.proof));
	crypto_kdf_derive_from_key(key, sizeof(key), (uint64_t)use,
				   AUTH_CONTEXT, a->key);
	crypto_auth(out, (const uint8_t *)&said, sizeof(said), key);
	sodium_memzero(key, sizeof(key));
}

static bool is_signed(const struct auth *a, const struct auth_talk *t,
		      enum use use, const uint8_t proof[AUTH_BYTES])
{
	uint8_t right[AUTH_BYTES];

	sign(a, t, use, right);
	return sodium_memcmp(right, proof, sizeof(right)) == 0;
}

/* ---- the dialling end --------------------------------------------------- */

void auth_greet(const struct auth *a, const uint8_t *task, struct auth_talk *t)
{
	struct auth_hello *h = &t->hello;

	*h = (struct auth_hello){ .kind = (uint8_t)a->kind };
	memcpy(h->magic, AUTH_MAGIC, sizeof(h->magic));
	randombytes_buf(h->nonce, sizeof(h->nonce));
	if (task) {
		memcpy(h->task, task, sizeof(h->task));
	}
}

int auth_prove(struct auth *a, const struct auth_talk *t,
	       uint8_t proof[AUTH_BYTES], struct err *e)
{
	const size_t n = sizeof(a->run);

	if (!is_signed(a, t, LISTENER, t->answer.proof)) {
		return err_set(e, EPROTO, "the process that listens there does "
			       "not know the secret of this run");
	}
	if (sodium_is_zero(a->run, n)) {
		memcpy(a->run, t->answer.run, n);
	}
	if (memcmp(a->run, t->answer.run, n) != 0) {
		return err_set(e, EPROTO, "another run listens there");
	}
	sign(a, t, DIALLER, proof);
	return 0;
}

/* ---- the listening end -------------------------------------------------- */

/** Bytes of what @v says next. */
static size_t awaited(const struct auth_visit *v)
{
	return v->answered ? sizeof(v->proof) : sizeof(v->talk.hello);
}

void *auth_visit_room(struct auth_visit *v, size_t *n)
{
	uint8_t *into = v->answered ? v->proof : (uint8_t *)&v->talk.hello;

	*n = awaited(v) - v->got;
	return into + v->got;
}

enum auth_step auth_visit_heard(struct auth_visit *v, const struct auth *a,
				size_t n, const char **why)
{
	struct auth_talk *t = &v->talk;
	const struct auth_hello *h = &t->hello;

	v->got += n;
	*why = NULL;
	/* the hello is refused as soon as a part of it is wrong */
	if (!v->answered && v->got >= sizeof(h->magic) &&
	    memcmp(h->magic, AUTH_MAGIC, sizeof(h->magic)) != 0) {
		*why = memcmp(h->magic, AUTH_MAGIC, AUTH_NAME) != 0
			       ? "not gpucheck's protocol"
			       : "speaks as another version of gpucheck does";
	} else if (!v->answered && v->got == sizeof(*h) && h->kind != a->kind) {
		*why = "wrong kind of connection";
	}
	if (*why || v->got < awaited(v)) {
		return *why ? AUTH_REFUSED : AUTH_WAIT;
	}
	if (!v->answered) {
		randombytes_buf(t->answer.nonce, sizeof(t->answer.nonce));
		memcpy(t->answer.run, a->run, sizeof(a->run));
		sign(a, t, LISTENER, t->answer.proof);
		v->answered = true;
		v->got = 0;
		return AUTH_ANSWER;
	}
	if (!is_signed(a, t, DIALLER, v->proof)) {
		*why = "does not know the secret of this run";
		return AUTH_REFUSED;
	}
	return AUTH_PROVED;
}

void auth_session(const struct auth *a, const struct auth_talk *t,
		  bool listens, struct auth_session *s)
{
	sign(a, t, TO_LISTENER, listens ? s->in : s->out);
	sign(a, t, TO_DIALLER, listens ? s->out : s->in);
}
