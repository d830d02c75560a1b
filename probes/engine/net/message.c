/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/message.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "lib/spec/spec.h"
#include "probes/collective/collective.h"
#include "probes/transport/order.h"

/* ---- list ---------------------------------------------------------------- */

/* ---- writing ------------------------------------------------------------ */

void list_release(struct list_out *l)
{
	str_release(&l->entries);
	l->n = 0;
}

void list_add(struct list_out *l, enum message_type type, const void *bytes,
	      size_t n)
{
	l->type = type;
	l->n++;
	cbor_add_bytes(bytes, n, &l->entries);
}

void list_write(struct list_out *l, struct str *out)
{
	const struct message *m = &messages[l->type];

	cbor_add_map(2, out);
	cbor_add_text("t", 1, out);
	cbor_add_text(m->name, strlen(m->name), out);
	cbor_add_text(m->list, strlen(m->list), out);
	cbor_add_array(l->n, out);
	str_addmem(out, str_text(&l->entries), l->entries.len);
	out->failed = out->failed || l->entries.failed;
	str_reset(&l->entries);
	l->n = 0;
}

/* ---- reading ------------------------------------------------------------ */

static bool next_is(struct cbor_reader *r, const char *text)
{
	struct cbor_item item;

	return cbor_next(r, &item) && item.type == JSON_STRING &&
	       item.n == strlen(text) && memcmp(item.text, text, item.n) == 0;
}

static bool next_type(struct cbor_reader *r, enum message_type *type)
{
	struct cbor_item item;

	if (!cbor_next(r, &item) || item.type != JSON_STRING) {
		return false;
	}
	for (int i = 0; i < MESSAGE_TYPES; i++) {
		const char *name = messages[i].name;

		if (messages[i].list != NULL && strlen(name) == item.n &&
		    memcmp(name, item.text, item.n) == 0) {
			*type = (enum message_type)i;
			return true;
		}
	}
	return false;
}

bool list_open(struct cbor_reader *l, enum message_type *type,
	       const void *bytes, size_t n, enum message_way way)
{
	struct cbor_item item;
	struct cbor_reader r;

	*l = (struct cbor_reader){ .at = bytes, .left = n };
	if (!cbor_next(l, &item) || item.type != JSON_OBJECT ||
	    item.n != 2 || !next_is(l, "t") || !next_type(l, type) ||
	    (messages[*type].ways & way) == 0 ||
	    !next_is(l, messages[*type].list) ||
	    !cbor_next(l, &item) || item.type != JSON_ARRAY ||
	    item.n > MESSAGE_LIST) {
		return false;
	}
	n = item.n;
	/* exactly as many byte strings follow, and no bytes after them */
	r = *l;
	while (n > 0 && cbor_next(&r, &item) && item.raw) {
		n--;
	}
	return n == 0 && r.left == 0;
}

const void *list_next(struct cbor_reader *l, size_t *n)
{
	struct cbor_item item;

	if (!cbor_next(l, &item)) {
		return NULL;
	}
	*n = item.n;
	return item.text;
}

/* ---- message ------------------------------------------------------------- */

#define RANKS_MAX (SPEC_MAX_NODES * SPEC_MAX_GPUS)
#define WEEK_NS	  (INT64_C(604800) * 1000000000)
#define TEXT_MAX  1024
#define TICKET	  2047

/* Fields of a message: name, limits, help; ANY is of no struct. */
#define ANY(key, type, from, to, ...) \
	{ .name = key, .kind = FIELD_##type, .min = from, .max = to, \
	  .help = __VA_ARGS__ }
#define SAID(key, type, from, to, ...) \
	FIELD(message_in, key, #key, type, from, to, __VA_ARGS__)
#define INT(key, from, to, ...) SAID(key, INT, from, to, __VA_ARGS__)
#define BOOL(key, ...) SAID(key, BOOL, 0, 0, __VA_ARGS__)
#define TEXT(key, most, ...) SAID(key, LINK, 0, most, __VA_ARGS__)
#define OBJECT(key, ...) SAID(key, OBJECT, 0, 0, __VA_ARGS__)
#define ARRAY(key, most, ...) SAID(key, ARRAY, 0, most, __VA_ARGS__)
#define OPT .optional = FIELD_OMITTED
#define FIELDS(...) .fields = (const struct field[]){ __VA_ARGS__, { 0 } }

/* Fields that several messages have. */
#define TASKS(name, table) \
	ANY(name, ARRAY, 0, MESSAGE_LIST, "per task a byte string, CBOR: an " \
	      "array by place, of which trailing values that are usual may be missing", \
	      .places = table)
#define RANK INT(rank, 0, RANKS_MAX, "rank")
#define ID INT(id, 0, UINT32_MAX, "of the task")
#define NONCE TEXT(nonce, 32, "of the task, hex")
#define CODE TEXT(code, 47, "reason, as a code")
#define DETAIL TEXT(detail, TEXT_MAX, "reason, in words")
#define LATE \
	INT(late_ns, 0, WEEK_NS, "that the sender did not run", OPT)
#define OPTIONS OBJECT(options, "as in run.json")
#define ENV OBJECT(env, "variables that workers set", OPT)
#define TRANSPORT TEXT(transport, 15, "name of the transport")
#define NODE TEXT(node, 63, "name of the node")
#define VERSION \
	TEXT(version, 63, "of gpucheck; older ones do not say it", OPT)
#define HOW \
	OBJECT(how, "the same in all tasks of a run", OPT, \
	       .places = order_how_fields)
#define PRETEND BOOL(pretend, "one machine is several nodes")
#define OPEN_NS INT(open_ns, 0, INT64_MAX / 2, "to open the transport")
#define FACTS ARRAY(facts, 0, "lines of facts.csv")

const struct message messages[MESSAGE_TYPES] = {
	[MSG_BEAT] = { .name = "beat", .plain = true,
		.ways = MSG_TO_COORDINATOR | MSG_TO_AGENT,
		.what = "Keep-alive of the sender, once a second." },
	[MSG_HELLO] = { .name = "hello", .ways = MSG_TO_COORDINATOR,
		.plain = true,
		.what = "The first message of an agent: its rank and inventory.",
		FIELDS(
		INT(rank, 0, 65536, "number of the agent, from its launcher"),
		INT(local_rank, -1, SPEC_MAX_GPUS - 1,
			"of its only worker; -1: agent of a whole node"),
		INT(local_size, 0, INT32_MAX,
			"agents on its node; 0: not known", OPT),
		NODE, PRETEND,
		BOOL(sees_dir, "can read the run directory"),
		INT(gpus_on_node, 0, SPEC_MAX_GPUS,
			"from Slurm; 0: not known", OPT),
		INT(door, 0, 65535,
			"where it takes data connections", OPT),
		VERSION,
		OBJECT(inventory, "GPUs, ports, facts")) },
	[MSG_WELCOME] = { .name = "welcome", .ways = MSG_TO_AGENT,
		.plain = true,
		.what = "The answer to hello. Without it an agent connects again.",
		FIELDS(
		TEXT(why, 255, "it takes no part; empty: it does"),
		VERSION) },
	[MSG_STARTED] = { .name = "started", .ways = MSG_TO_COORDINATOR,
		.what = "All agents have started: PMI2 says so, to that of rank 0." },
	[MSG_EVENT] = { .name = "event", .ways = MSG_TO_COORDINATOR,
		.what = "A line of events.csv.",
		FIELDS(
		TEXT(event, 47, "name of the event"),
		DETAIL, LATE) },
	[MSG_STOP] = { .name = "stop", .ways = MSG_TO_COORDINATOR,
		.what = "An agent got a signal: the run must end in order." },
	[MSG_START] = { .name = "start", .ways = MSG_TO_AGENT,
		.what = "Start workers; a repeat replaces the workers of the ranks.",
		FIELDS(
		TRANSPORT, NODE, PRETEND, OPEN_NS, OPTIONS,
		ARRAY(workers, SPEC_MAX_GPUS,
			"rank, local_rank and part of each"),
		ENV, HOW,
		TEXT(reached, 63, "the address of its node by which "
			"others have come to the coordinator there", OPT),
		OBJECT(model,
			"a simulated cluster, without workers", OPT)) },
	[MSG_INIT] = { .name = "init", .ways = MSG_TO_WORKER,
		.what = "The first message to a worker.",
		FIELDS(RANK,
		INT(local_rank, 0, INT32_MAX, "number of its GPU or port"),
		TEXT(part, 255, "its HCA port"),
		TRANSPORT, NODE, PRETEND, OPEN_NS, OPTIONS, ENV, HOW,
		TEXT(token, 256, "key for data connections"),
		TEXT(run, 32, "the run's nonce, hex"),
		TEXT(data_addr, 255, "where its agent accepts them"),
		TEXT(ifname, 63, "the interface with that address", OPT),
		TEXT(dir, 4095, "the run directory")) },
	[MSG_READY] = { .name = "ready", .ways = MSG_PASSED_UP,
		.what = "The transport is open.",
		FIELDS(
		RANK,
		TEXT(ticket, TICKET, "for all pairs, or empty"),
		FACTS) },
	[MSG_UNUSABLE] = { .name = "unusable", .ways = MSG_PASSED_UP,
		.what = "There is no worker, or its transport does not open.",
		FIELDS(RANK, CODE, DETAIL) },
	[MSG_TASK] = { .name = "task", .ways = MSG_PASSED_DOWN,
		.list = "orders",
		.what = "Connect to other ranks, and measure.",
		FIELDS(TASKS("orders", order_fields)) },
	[MSG_TICKET] = { .name = "ticket",
			 .ways = MSG_PASSED_DOWN | MSG_PASSED_UP,
		.list = "tickets",
		.what = "How to connect to the other end of tasks.",
		FIELDS(TASKS("tickets", order_word_fields)) },
	[MSG_JOINED] = { .name = "joined", .ways = MSG_PASSED_UP,
		.list = "ends",
		.what = "These ends are connected, and wait for go.",
		FIELDS(TASKS("ends", order_word_fields)) },
	[MSG_GO] = { .name = "go", .ways = MSG_PASSED_DOWN,
		.list = "ends",
		.what = "Measure pairs that have joined.",
		FIELDS(TASKS("ends", order_word_fields)) },
	[MSG_CANCEL] = { .name = "cancel", .ways = MSG_PASSED_DOWN,
		.what = "Cancel the task.",
		FIELDS(ID, RANK) },
	[MSG_CLOSE] = { .name = "close", .ways = MSG_PASSED_DOWN,
		.what = "Close the pairs that are measured.",
		FIELDS(RANK) },
	[MSG_DONE] = { .name = "done", .ways = MSG_PASSED_UP,
		.list = "reports",
		.what = "The end of tasks.",
		FIELDS(TASKS("reports", order_report_fields)) },
	[MSG_COLLECTIVE] = { .name = "collective", .ways = MSG_PASSED_DOWN,
		.what = "A step of a collective of many ranks.",
		.fields = collective_order_fields },
	[MSG_COLLECTIVE_DONE] = { .name = "collective_done",
				  .ways = MSG_PASSED_UP,
		.what = "The end of a step of a collective.",
		.fields = collective_result_fields },
	[MSG_CONN] = { .name = "conn", .ways = MSG_TO_WORKER,
		.what = "A data connection, passed as a descriptor.",
		FIELDS(
		INT(id, -1, UINT32_MAX, "of the task"), NONCE) },
	[MSG_REFUSED] = { .name = "refused", .ways = MSG_TO_COORDINATOR,
		.what = "No worker could take the task.",
		FIELDS(ID, RANK) },
	[MSG_DIED] = { .name = "died", .ways = MSG_TO_COORDINATOR,
		.what = "A worker ended.",
		FIELDS(
		RANK,
		INT(id, -1, UINT32_MAX, "of its task; -1: none"),
		INT(signal, 0, 1000, "0: none"),
		INT(exit, -1000, 1000, "its exit code"),
		BOOL(hung, "it was killed"),
		TEXT(code, 47, "of the limit that it ran into, or empty"),
		TEXT(detail, TEXT_MAX, "the limit, in words"),
		BOOL(retired, "it is not replaced"),
		LATE,
		TEXT(step, 255, "its last step")) },
	[MSG_KILL] = { .name = "kill", .ways = MSG_TO_AGENT,
		.what = "Kill the worker.",
		FIELDS(RANK) },
	[MSG_NODE_TASK] = { .name = "node_task", .ways = MSG_PASSED_DOWN,
		.what = "Start a child that inspects the node.",
		FIELDS(
		TEXT(probe, 31, "name"),
		OBJECT(args, "node, number, options, drill")) },
	[MSG_NODE_SAID] = { .name = "node_said", .ways = MSG_PASSED_UP,
		.list = "said",
		.what = "Report from the child.",
		FIELDS(
		ANY("said", ARRAY, 0, MESSAGE_LIST, "byte strings, CBOR: an "
			"object of one member: `row`, a line of results.csv; `fact`, a "
			"line of facts.csv; `ready`, what other nodes need "
			"from this one; `finished`: all rows are reported")) },
	[MSG_NODE_DONE] = { .name = "node_done", .ways = MSG_TO_COORDINATOR,
		.what = "The child has ended.",
		FIELDS(
		TEXT(outcome, 15, "ok, ..."),
		CODE, DETAIL) },
	[MSG_NODE_TELL] = { .name = "node_tell", .ways = MSG_PASSED_DOWN,
		.what = "Facts that the child needs from the other nodes.",
		FIELDS(
		OBJECT(line, "defined by the probe")) },
	[MSG_NODE_LEAVE] = { .name = "node_leave", .ways = MSG_PASSED_DOWN,
		.what = "No other node needs the child: it may end." },
	[MSG_LAST_LOOK] = { .name = "last_look", .ways = MSG_TO_AGENT,
		.what = "Read the counters of ports and GPUs again." },
	[MSG_LAST_FACTS] = { .name = "last_facts", .ways = MSG_TO_COORDINATOR,
		.what = "How much these counters grew during the run.",
		FIELDS(FACTS) },
	[MSG_QUIT] = { .name = "quit", .ways = MSG_PASSED_DOWN,
		.what = "The run is over: exit." },
};

/* ---- check -------------------------------------------------------------- */

enum message_type message_type(const json_t *msg)
{
	const char *t = json_string_value(json_object_get(msg, "t"));
	int i = 0;

	while (t != NULL && i < MESSAGE_TYPES &&
	       (messages[i].name[0] != t[0] ||
		strcmp(messages[i].name, t) != 0)) {
		i++;
	}
	return t != NULL ? (enum message_type)i : MESSAGE_TYPES;
}

struct message_in message_said(const void *bytes, size_t n, json_t **said)
{
	static const struct field fields[] = {
		OBJECT(row, ""), OBJECT(fact, ""), OBJECT(ready, ""),
		BOOL(finished, ""), { 0 }
	};
	struct message_in in = { .rank = 0 };

	*said = cbor_parse(bytes, n, NULL);
	schema_look(fields, &in, *said);
	return in;
}

struct message_in message_worker(const json_t *worker)
{
	static const struct field fields[] = {
		INT(rank, 0, RANKS_MAX, ""), INT(local_rank, 0, INT32_MAX, ""),
		TEXT(part, 255, ""), { 0 }
	};
	struct message_in in = { .rank = -1 };

	schema_look(fields, &in, worker);
	return in;
}

struct message_in message_read(const json_t *msg)
{
	const enum message_type type = message_type(msg);
	struct message_in in = { .rank = 0 };

	/* those of a collective are of structs of their own */
	if (type < MESSAGE_TYPES && messages[type].fields != NULL &&
	    type != MSG_COLLECTIVE && type != MSG_COLLECTIVE_DONE) {
		schema_look(messages[type].fields, &in, msg);
	}
	return in;
}

int64_t message_int(const json_t *msg, const char *name)
{
	return json_integer_value(json_object_get(msg, name));
}

static int check_fields(const json_t *msg, const struct message *m,
			struct err *e)
{
	struct err why;

	if (m->fields == NULL || schema_read(m->fields, NULL, msg, &why) == 0) {
		return 0;
	}
	return err_set(e, EPROTO, "message '%s': %s", m->name, why.text);
}

int message_check(const json_t *msg, enum message_way way, struct err *e)
{
	enum message_type type = message_type(msg);

	if (type == MESSAGE_TYPES) {
		return 0;
	}
	if ((messages[type].ways & way) == 0) {
		return err_set(e, EPROTO, "message '%s' goes in the wrong direction",
			       messages[type].name);
	}
	if (messages[type].list != NULL) {
		return err_set(e, EPROTO, "message '%s': no list of byte "
			       "strings", messages[type].name);
	}
	return check_fields(msg, &messages[type], e) < 0 ? -1 : 1;
}

/* ---- building ----------------------------------------------------------- */

json_t *message_of(enum message_type type, json_t *members)
{
	if (members != NULL &&
	    (json_object_set_new(members, "t",
				 json_string(messages[type].name)) < 0 ||
	     check_fields(members, &messages[type], NULL) < 0)) {
		json_decref(members);
		return NULL;
	}
	return members;
}

json_t *message_new(enum message_type type, const char *members, ...)
{
	json_t *msg;
	va_list ap;

	va_start(ap, members);
	msg = members != NULL ? json_vpack_ex(NULL, 0, members, ap) :
				json_object();
	va_end(ap);
	return message_of(type, msg);
}
