/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_MESSAGE_H
#define PROBES_ENGINE_NET_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/schema.h"

/* ---- message ------------------------------------------------------------- */

/**
 * Messages between coordinator, agents and workers: one table of types and
 * their fields.  Senders build messages by the table, and receivers get only
 * messages that fit it.  docs/dev/protocol.md documents the table; a test
 * compares the two.
 */
enum message_type {
	MSG_BEAT,
	MSG_HELLO,
	MSG_WELCOME,
	MSG_STARTED,
	MSG_EVENT,
	MSG_STOP,
	MSG_START,
	MSG_INIT,
	MSG_READY,
	MSG_UNUSABLE,
	MSG_TASK,
	MSG_TICKET,
	MSG_JOINED,
	MSG_GO,
	MSG_CANCEL,
	MSG_CLOSE,
	MSG_DONE,
	MSG_COLLECTIVE,
	MSG_COLLECTIVE_DONE,
	MSG_CONN,
	MSG_REFUSED,
	MSG_DIED,
	MSG_KILL,
	MSG_NODE_TASK,
	MSG_NODE_SAID,
	MSG_NODE_DONE,
	MSG_NODE_TELL,
	MSG_NODE_LEAVE,
	MSG_LAST_LOOK,
	MSG_LAST_FACTS,
	MSG_QUIT,
	MESSAGE_TYPES
};

/** Sender and receiver of a message. */
enum message_way {
	MSG_TO_COORDINATOR = 1,	/* from an agent */
	MSG_TO_AGENT = 2,	/* from the coordinator */
	MSG_FROM_WORKER = 4,	/* to its agent */
	MSG_TO_WORKER = 8,	/* from its agent */
	MSG_PASSED_DOWN = MSG_TO_AGENT | MSG_TO_WORKER,
	MSG_PASSED_UP = MSG_FROM_WORKER | MSG_TO_COORDINATOR,
};

struct message {
	const char *name;	/* the member "t" */
	unsigned ways;
	bool plain;		/* travels as JSON, between all versions */
	const char *list;	/* its only field, an array: see below */
	const char *what;
	const struct field *fields;	/* NULL: none */
};

extern const struct message messages[MESSAGE_TYPES];

/** Entries of such a list. */
#define MESSAGE_LIST 16

/**
 * A message of type @type with members as json_pack() has them, "{s:i,...}", or
 * NULL for none; message_of() makes one of the object @members (reference
 * stolen, NULL is passed on).  New reference; NULL without memory, and where
 * the table has it otherwise.
 */
json_t *message_new(enum message_type type, const char *members, ...);
json_t *message_of(enum message_type type, json_t *members);

/** Returns the type of @msg, or MESSAGE_TYPES if its type is unknown. */
enum message_type message_type(const json_t *msg);

/**
 * The members of a message that was checked, but for lists and collectives: a
 * missing text is "", a missing tree NULL, another missing one 0; members that
 * its type does not have are 0.  All is borrowed from the JSON.
 */
struct message_in {
	int rank, local_rank, local_size, gpus_on_node, door, signal, exit;
	int64_t id, late_ns, open_ns;
	bool pretend, sees_dir, hung, retired;
	const char *node, *version, *why, *event, *code, *detail, *transport;
	const char *part, *reached, *token, *run, *data_addr, *ifname, *dir;
	const char *ticket, *nonce, *step, *probe, *outcome;
	json_t *inventory, *options, *env, *how, *workers, *model, *facts;
	json_t *args, *line, *row, *fact, *ready;
	bool finished;
};

/** The members of an entry of "node_said", *@said (new reference), and of a
 *  worker of "start": rank -1 if it is none. */
struct message_in message_said(const void *bytes, size_t n, json_t **said);
struct message_in message_worker(const json_t *worker);

struct message_in message_read(const json_t *msg);
/** Its integer @name, 0 where there is none. */
int64_t message_int(const json_t *msg, const char *name);
/**
 * Checks that @msg may arrive by @way and has the fields of the table.  Returns
 * 1 if so, 0 if its type is unknown and the message is to be ignored, or -1
 * with @e: the way is wrong, or a field is missing or invalid.  Fields that the
 * table does not have are ignored.
 */
int message_check(const json_t *msg, enum message_way way, struct err *e);

/* ---- list ---------------------------------------------------------------- */

/**
 * Messages that are lists, written and read without a tree: a map of "t" and of
 * their only field, an array of entries, each of which is bytes.  What is read
 * here is what is written here; as a tree they are no messages.
 */

/** Entries that leave as one message; zeroed, it has none. */
struct list_out {
	enum message_type type;
	size_t n;
	struct str entries;	/* as CBOR */
};

void list_release(struct list_out *l);
/** Add the @n bytes of an entry. */
void list_add(struct list_out *l, enum message_type type, const void *bytes,
	      size_t n);
/** Append the message that @l is, which is empty then. */
void list_write(struct list_out *l, struct str *out);

/** Opens the @n @bytes of a message (borrowed), a list of *@type, which are its
 *  entries at @l.  Returns false if they are not a list, or a list that may not
 *  arrive by @way. */
bool list_open(struct cbor_reader *l, enum message_type *type,
	       const void *bytes, size_t n, enum message_way way);
/** The next entry, *@n bytes (borrowed); NULL: there is none. */
const void *list_next(struct cbor_reader *l, size_t *n);

#endif
