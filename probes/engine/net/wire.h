/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_WIRE_H
#define PROBES_ENGINE_NET_WIRE_H

#include <jansson.h>
#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "probes/engine/net/message.h"

/* ---- auth ---------------------------------------------------------------- */

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

/** Keys that a listener and its diallers share.  Workers have only those of
 *  data connections. */
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

/** Derives the key for connections of @kind from @secret, for the run @run
 *  (hex; "": not known).  Returns 0, or -1 with @e. */
int auth_set(struct auth *a, enum auth_kind kind,
	     const uint8_t secret[AUTH_BYTES], const char *run, struct err *e);
/** With @key as another process has it, in hex. */
int auth_take(struct auth *a, enum auth_kind kind, const char *key,
	      const char *run, struct err *e);

/* ---- the dialling end --------------------------------------------------- */

/** @task may be NULL; @t->port is set by the caller, in all of these. */
void auth_greet(const struct auth *a, const uint8_t *task,
		struct auth_talk *t);
/** @t->answer has come: the proof to send.  -1 with @e when it is not from a
 *  listener of this run; @a learns the run if it did not know it. */
int auth_prove(struct auth *a, const struct auth_talk *t,
	       uint8_t proof[AUTH_BYTES], struct err *e);

/* ---- the listening end -------------------------------------------------- */

/** Handshake with one dialler as the listener sees it; zeroed except talk.port,
 *  which the caller sets. */
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

/* ---- seal ---------------------------------------------------------------- */

/**
 * Bytes that cannot be read, changed, repeated, left out or put in another
 * order between both ends.  Each end first sends the header of its stream, then
 * records: a 4-byte little-endian length, and so many sealed bytes, of 1
 * to SEAL_MAX.
 */
#define SEAL_MAX (64u * 1024)

struct seal {
	crypto_secretstream_xchacha20poly1305_state out, in;
	uint8_t key[AUTH_BYTES];	/* of @in, until its header has come */
	bool begun;			/* the header has come */
	struct str raw, plain;
};

/** Begin with the keys @k; the header is appended to @out. */
void seal_open(struct seal *s, const struct auth_session *k, struct str *out);
void seal_release(struct seal *s);	/* safe on a zeroed one */
/** Append the records of @plain to @out, which fails without memory. */
void seal_put(struct seal *s, const struct str *plain, struct str *out);
/** @n bytes have come: *@plain is what they tell, borrowed until the next
 *  call.  0, or -1 with @e: the bytes after that were changed on their way. */
int seal_take(struct seal *s, const void *bytes, size_t n,
	      const struct str **plain, struct err *e);

/* ---- ask ----------------------------------------------------------------- */

/**
 * Asking a node whose process is silent: a connection is taken by its kernel,
 * however little time the process gets; where the process has ended it is
 * refused, and where the node or a link is down nobody says anything.
 */
enum ask_answer {
	ASK_PENDING,
	ASK_TAKEN,	/* the node lives, and a process listens there */
	ASK_REFUSED,	/* the node lives, no process listens */
	ASK_NOTHING,	/* no word, or no way to it */
};

/* ---- wire ---------------------------------------------------------------- */

/**
 * Messages of the control star: a 4-byte little-endian length, then one object
 * of at most WIRE_MAX bytes whose member "t" says what it is.  It is written as
 * lib/data/cbor.h has it; as JSON where other versions have to read it.  The
 * same frames run coordinator - agent (TCP, sealed) and
 * agent - worker (socket pair).
 */
#define WIRE_MAX (4u * 1024 * 1024)

/** Bytes in, messages out; shared by both sides below, and fuzzed. */
struct wire_buf {
	struct str bytes;
	size_t used;		/* consumed from the front */
	bool shut;		/* nothing more is heard of it */
};

void wire_buf_release(struct wire_buf *b);
void wire_buf_add(struct wire_buf *b, const void *bytes, size_t n);
/**
 * 1: *@msg is the next message (new reference); 0: more bytes are needed;
 * -1 with @e: not our protocol (too long, no object, no "t").
 */
int wire_buf_next(struct wire_buf *b, json_t **msg, struct err *e);
/** Append @msg as one frame; -1 when it is too long or memory is short. */
int wire_frame(const json_t *msg, struct str *out);

/* ---- event-loop side: agent and coordinator ------------------------- */

/** Callbacks of a wire; each may close the wire. */
struct wire_events {
	/** @msg is borrowed, and fits the table of messages: what does not is
	 *  dropped, or refused and the wire closed.  NULL: all are dropped. */
	void (*message)(void *arg, json_t *msg);
	/** An entry of @type, a list, as bytes (borrowed).  NULL: the same. */
	void (*entry)(void *arg, enum message_type type, const void *bytes,
		      size_t n);
	/** Called before closed() if memory or descriptors ran out, the code of
	 *  @e is that errno; what is sent meanwhile leaves before the wire is
	 *  closed.  May be NULL. */
	void (*short_of)(void *arg, const struct err *e);
	/** Called once, whatever ended it; @why is for people. */
	void (*closed)(void *arg, const char *why);
	/** Both handles are closed: the memory around may be freed.  May be
	 *  NULL. */
	void (*freed)(void *arg);
};

struct wire {
	uv_stream_t *stream;	/* malloc'ed; freed when closed */
	uv_prepare_t prepare;	/* sends what one loop turn has queued */
	enum message_way way;	/* that messages come by */
	struct wire_buf in;
	struct list_out list;	/* message that others may be put into: not
				 * written yet */
	struct str out;
	bool sealed;
	struct str plain;	/* waits to be sealed, with the others of
				 * this loop turn */
	struct seal seal;
	size_t unsent;		/* handed to libuv, not yet written */
	const struct wire_events *events;
	void *arg;
	int open_handles;
	bool closing;
	bool failing;		/* short_of() has been called */
	/* of wire_beat(): */
	int64_t heard_ns; /* when the last message came, by our own time */
	int64_t beat_ns;  /* when the next beat is due */
	int64_t looked_ns;	/* of late_look(): to listen */
	uint16_t door;	  /* where the other end listens; 0: at the port that
			   * it is connected by */
	/* its node is asked once it is silent: */
	int ask_fd;		/* while the answer is pending; 0: none */
	int64_t ask_until_ns;	/* 0: it is not asked */
	enum ask_answer answer;
	bool stalled;	  /* closed, as its node answers and it does not */
};

/**
 * Take over @stream, initialised, connected and malloc'ed: start reading.
 * wire_close() is due.  @keys: of the connection; NULL: nothing is sealed.
 */
void wire_open(struct wire *w, uv_stream_t *stream, enum message_way way,
	       const struct auth_session *keys,
	       const struct wire_events *events, void *arg);
/** Returns true if @w has been opened and not freed since; false if it is
 *  zeroed. */
bool wire_is_open(const struct wire *w);
/** Queue a message (reference stolen, NULL is memory trouble: closes); dropped
 *  where the wire is not open, or closing.  Those of one turn of the loop leave
 *  together. */
void wire_send(struct wire *w, json_t *msg);
/** The same of an entry of @type, a list; several, one after the other, are one
 *  message, but to a worker, which does one thing at a time. */
void wire_send_entry(struct wire *w, enum message_type type, const void *bytes,
		     size_t n);
/** The beat of every second.  Of who was silent for @silence_ns the node is
 *  asked: where it answers, it is waited for three times as long, else closed
 *  now.  Time in which we did not listen does not count.  Ten times a second,
 *  at both ends or at none. */
void wire_beat(struct wire *w, int64_t now_ns, int64_t silence_ns);
/** Returns true if several beats of the other end are overdue. */
bool wire_is_silent(const struct wire *w, int64_t now_ns);
/** Sends what is queued now, as far as the socket takes it; for a caller that
 *  does not return to the event loop soon. */
void wire_push(struct wire *w);
/** Pass @conn's descriptor along with @msg over a socket pair; @conn, as
 *  door_guest_fn has it, is taken and closed here. */
void wire_send_handle(struct wire *w, json_t *msg, uv_tcp_t *conn);
/** No further callbacks but freed().  @why NULL: closed() is not called.  Does
 *  nothing to one that is not open. */
void wire_close(struct wire *w, const char *why);

/** Tell @events the next message that may come by @way, of a list all entries;
 *  unknown ones are dropped.  1, 0 or -1 as wire_buf_next() has it. */
int wire_buf_hear(struct wire_buf *b, enum message_way way,
		  const struct wire_events *events, void *arg, struct err *e);

/* ---- blocking side: worker ------------------------------------------- */

#define WIRE_FDS 64

struct wire_fd {
	int fd;
	enum message_way way;	/* that messages come by */
	/* zeroed: */
	struct wire_buf in;
	int fds[WIRE_FDS];	/* descriptors received, oldest first */
	int n_fds;
};

/** Send @msg (reference stolen) by @deadline_ns; 0 or -1 with @e. */
int wire_fd_send(struct wire_fd *w, json_t *msg, int64_t deadline_ns,
		 struct err *e);
/** The same of @entry, of @type, a list. */
int wire_fd_send_entry(struct wire_fd *w, enum message_type type,
		       const struct str *entry, int64_t deadline_ns,
		       struct err *e);
/** 1: one message, or all entries of one, were told to @events with @arg; 0:
 *  none by @deadline_ns; -1 with @e: gone, or no message. */
int wire_fd_hear(struct wire_fd *w, const struct wire_events *events, void *arg,
		 int64_t deadline_ns, struct err *e);
/** The oldest descriptor that came along, -1 when there is none. */
int wire_fd_take(struct wire_fd *w);

#endif
