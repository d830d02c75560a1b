/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/message.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "lib/spec/spec.h"

#define RANKS_MAX (SPEC_MAX_NODES * SPEC_MAX_GPUS)
#define WEEK_NS	  (INT64_C(604800) * 1000000000)
#define TEXT_MAX  1024
#define TICKET	  2047

/* Fields that several messages have. */
#define RANK { "rank", FIELD_INT, .max = RANKS_MAX, .what = "whose" }
#define ID                                                            \
	{ "id", FIELD_INT, .max = UINT32_MAX, .what = "of the task" }
#define NONCE                                                         \
	{ "nonce", FIELD_TEXT, .max = 32, .what = "of the task, hex" }
#define CODE { "code", FIELD_TEXT, .max = 47, .what = "why, in a word" }
#define DETAIL                                                        \
	{ "detail", FIELD_TEXT, .max = TEXT_MAX, .what = "why, for people" }
#define OPTIONS { "options", FIELD_OBJECT, .what = "as in run.json" }
#define ENV                                                           \
	{ "env", FIELD_OBJECT, .optional = true,                      \
	  .what = "variables that workers set" }
#define TRANSPORT                                                     \
	{ "transport", FIELD_TEXT, .max = 15, .what = "its name" }
#define NODE { "node", FIELD_TEXT, .max = 63, .what = "its name" }
#define PRETEND                                                       \
	{ "pretend", FIELD_BOOL, .what = "one machine plays several nodes" }
#define OPEN_NS                                                       \
	{ "open_ns", FIELD_INT, .max = INT64_MAX / 2,                 \
	  .what = "for the transport to open" }
#define ROWS { "rows", FIELD_ARRAY, .what = "lines of results.csv" }
#define FACTS { "facts", FIELD_ARRAY, .what = "lines of facts.csv" }
#define SAID                                                          \
	ROWS, FACTS,                                                  \
	{ "ready", FIELD_OBJECT, .optional = true,                    \
	  .what = "what the other nodes must know of this one" },     \
	{ "finished", FIELD_BOOL, .optional = true,                   \
	  .what = "all rows are said" }

const struct message messages[MESSAGE_TYPES] = {
	[MSG_BEAT] = { "beat", MSG_TO_COORDINATOR | MSG_TO_AGENT,
		"The sender lives; once a second." },
	[MSG_HELLO] = { "hello", MSG_TO_COORDINATOR,
		"The first message of an agent: who it is, what is there.", {
		{ "rank", FIELD_INT, .max = 65536,
		  .what = "number of the agent, by its launcher" },
		{ "local_rank", FIELD_INT, .min = -1, .max = SPEC_MAX_GPUS - 1,
		  .what = "where it has one worker; -1: the whole node" },
		{ "local_size", FIELD_INT, .optional = true, .max = INT32_MAX,
		  .what = "agents on its node; 0: not known" },
		NODE, PRETEND,
		{ "sees_dir", FIELD_BOOL, .what = "sees the run directory" },
		{ "gpus_on_node", FIELD_INT, .optional = true,
		  .max = SPEC_MAX_GPUS, .what = "by Slurm; 0: not said" },
		{ "inventory", FIELD_OBJECT, .what = "GPUs, ports, facts" } } },
	[MSG_EVENT] = { "event", MSG_TO_COORDINATOR, "A line of events.csv.", {
		{ "event", FIELD_TEXT, .max = 47, .what = "its name" },
		DETAIL } },
	[MSG_STOP] = { "stop", MSG_TO_COORDINATOR,
		"An agent got a signal: the run is to end in order." },
	[MSG_START] = { "start", MSG_TO_AGENT,
		"Start workers; again: other workers for the same ranks.", {
		TRANSPORT, NODE, PRETEND, OPEN_NS, OPTIONS,
		{ "seats", FIELD_ARRAY, .max = SPEC_MAX_GPUS,
		  .what = "rank, slot and part of each worker" },
		ENV,
		{ "model", FIELD_OBJECT, .optional = true,
		  .what = "of a simulated cluster: no workers" } } },
	[MSG_INIT] = { "init", MSG_TO_WORKER, "The first message to a worker.",
		{ RANK,
		{ "local_rank", FIELD_INT, .max = INT32_MAX,
		  .what = "number of its GPU or port" },
		{ "part", FIELD_TEXT, .max = 255, .what = "its HCA port" },
		TRANSPORT, NODE, PRETEND, OPEN_NS, OPTIONS, ENV,
		{ "token", FIELD_TEXT, .max = 256,
		  .what = "for data connections" },
		{ "data_addr", FIELD_TEXT, .max = 255,
		  .what = "where its agent takes them" },
		{ "dir", FIELD_TEXT, .max = 4095,
		  .what = "the run directory" } } },
	[MSG_READY] = { "ready", MSG_PASSED_UP, "The transport is open.", {
		RANK,
		{ "ticket", FIELD_TEXT, .max = TICKET,
		  .what = "the same for all pairs; or empty" },
		FACTS } },
	[MSG_UNUSABLE] = { "unusable", MSG_PASSED_UP,
		"There is no worker, or its transport does not open.", {
		RANK, CODE, DETAIL } },
	[MSG_TASK] = { "task", MSG_PASSED_DOWN,
		"Become a pair with another rank, and measure.", {
		ID, RANK, NONCE,
		{ "attempt", FIELD_INT, .min = 1, .max = 1000,
		  .what = "1: the first" },
		{ "peer", FIELD_INT, .max = RANKS_MAX, .what = "the other" },
		{ "now", FIELD_BOOL,
		  .what = "measure; else only join, and wait for go" },
		{ "lead", FIELD_BOOL, .what = "makes the ticket" },
		{ "ticket", FIELD_TEXT, .max = TICKET,
		  .what = "of the lead; empty: it will follow" },
		{ "setup_ns", FIELD_INT, .max = WEEK_NS, .what = "to join" },
		{ "run_ns", FIELD_INT, .max = WEEK_NS, .what = "to measure" },
		{ "sizes", FIELD_ARRAY, .max = 64, .what = "bytes, rising" },
		{ "iters", FIELD_INT, .max = INT32_MAX, .what = "of a size" },
		{ "warmup", FIELD_INT, .max = INT32_MAX,
		  .what = "before they count" },
		{ "check", FIELD_BOOL, .what = "compare the data" },
		{ "dirs", FIELD_ARRAY, .max = 2,
		  .what = "a to b and b to a: null, or send, drill, factor" }
		} },
	[MSG_TICKET] = { "ticket", MSG_PASSED_DOWN | MSG_PASSED_UP,
		"How the other end of a task is reached.", {
		ID, RANK,
		{ "ticket", FIELD_TEXT, .max = TICKET,
		  .what = "by the transport" } } },
	[MSG_JOINED] = { "joined", MSG_PASSED_UP,
		"This end has joined, and waits for go.", { ID, RANK } },
	[MSG_GO] = { "go", MSG_PASSED_DOWN, "Measure what has joined.", {
		ID, RANK, NONCE,
		{ "budget_ns", FIELD_INT, .max = 2 * WEEK_NS,
		  .what = "for all of it" } } },
	[MSG_CANCEL] = { "cancel", MSG_PASSED_DOWN, "Give the task up.",
		{ ID, RANK } },
	[MSG_CLOSE] = { "close", MSG_PASSED_DOWN,
		"Close the pairs that are measured.", { RANK } },
	[MSG_DONE] = { "done", MSG_PASSED_UP, "The end of a task.", {
		ID, RANK,
		{ "results", FIELD_ARRAY, .max = 128,
		  .what = "one a direction and size" },
		{ "unfit", FIELD_BOOL, .optional = true,
		  .what = "the worker ends now, another will come" },
		{ "crashed", FIELD_INT, .optional = true, .max = RANKS_MAX,
		  .what = "rank of a model that did" } } },
	[MSG_COLLECTIVE] = { "collective", MSG_PASSED_DOWN,
		"A round that many ranks do together.", {
		ID, RANK, NONCE,
		{ "do", FIELD_INT, .max = 3,
		  .what = "make a ticket, join, measure, leave" },
		{ "work_ns", FIELD_INT, .max = WEEK_NS,
		  .what = "for the worker" },
		{ "budget_ns", FIELD_INT, .max = 2 * WEEK_NS,
		  .what = "for its agent" },
		{ "me", FIELD_INT, .max = RANKS_MAX,
		  .what = "its number in the collective" },
		{ "ranks", FIELD_INT, .min = 1, .max = RANKS_MAX,
		  .what = "all" },
		{ "nodes", FIELD_INT, .min = 1, .max = RANKS_MAX,
		  .what = "of these" },
		{ "op", FIELD_TEXT, .max = 15, .what = "allreduce, ..." },
		{ "dtype", FIELD_TEXT, .max = 15, .what = "of elements" },
		{ "redop", FIELD_TEXT, .max = 15, .what = "sum, ..." },
		{ "variant", FIELD_TEXT, .max = 63, .what = "its name" },
		{ "algo", FIELD_TEXT, .max = 31, .what = "asked for" },
		{ "proto", FIELD_TEXT, .max = 15, .what = "asked for" },
		{ "ticket", FIELD_TEXT, .max = TICKET, .what = "of rank 0" },
		{ "size_B", FIELD_INT, .max = INT64_MAX / 64,
		  .what = "of a message" },
		{ "factor", FIELD_INT, .min = 2, .max = 1 << 20,
		  .what = "between sizes" },
		{ "inplace", FIELD_BOOL, .what = "output in the input" },
		{ "check", FIELD_BOOL, .what = "compare the data" },
		{ "warmup", FIELD_INT, .max = 1000000, .what = "operations" },
		{ "samples", FIELD_INT, .max = 1000000, .what = "times" },
		{ "batch", FIELD_INT, .max = 1000000,
		  .what = "operations a sample" },
		{ "held", FIELD_BOOL, .what = "begin together" },
		{ "seed", FIELD_INT, .min = INT64_MIN + 1, .max = INT64_MAX,
		  .what = "of data and models" },
		{ "drill", FIELD_INT, .max = 100, .what = "0: none" },
		{ "silent", FIELD_BOOL, .what = "a drill that others find" },
		{ "slow", FIELD_REAL, .what = "factor of a drill" } } },
	[MSG_COLLECTIVE_DONE] = { "collective_done", MSG_PASSED_UP,
		"The end of a round.", {
		ID, RANK, CODE, DETAIL,
		{ "do", FIELD_INT, .max = 3, .what = "as in the order" },
		{ "outcome", FIELD_TEXT, .max = 15, .what = "ok, ..." },
		{ "echo", FIELD_BOOL, .what = "only waited for others" },
		{ "ticket", FIELD_TEXT, .max = TICKET, .what = "of rank 0" },
		{ "lib", FIELD_TEXT, .max = 159, .what = "of collectives" },
		{ "size_B", FIELD_INT, .max = INT64_MAX,
		  .what = "the largest that fits" },
		{ "algo", FIELD_TEXT, .max = TEXT_MAX, .what = "used" },
		{ "proto", FIELD_TEXT, .max = TEXT_MAX, .what = "used" },
		{ "us", FIELD_ARRAY, .what = "of an operation" },
		{ "wrong", FIELD_INT, .optional = true, .max = INT64_MAX,
		  .what = "elements" } } },
	[MSG_CONN] = { "conn", MSG_TO_WORKER,
		"A data connection comes along, as a descriptor.", {
		{ "id", FIELD_INT, .min = -1, .max = UINT32_MAX,
		  .what = "of the task" }, NONCE } },
	[MSG_REFUSED] = { "refused", MSG_TO_COORDINATOR,
		"The task met no worker that could take it.", { ID, RANK } },
	[MSG_DIED] = { "died", MSG_TO_COORDINATOR, "A worker ended.", {
		RANK,
		{ "id", FIELD_INT, .min = -1, .max = UINT32_MAX,
		  .what = "of its task; -1: none" },
		{ "signal", FIELD_INT, .max = 1000, .what = "0: none" },
		{ "exit", FIELD_INT, .min = -1000, .max = 1000,
		  .what = "its exit code" },
		{ "hung", FIELD_BOOL, .what = "it was killed" },
		{ "retired", FIELD_BOOL, .what = "no other will come" },
		{ "step", FIELD_TEXT, .max = 255,
		  .what = "what it did last" } } },
	[MSG_KILL] = { "kill", MSG_TO_AGENT, "Kill the worker.", { RANK } },
	[MSG_NODE_TASK] = { "node_task", MSG_TO_AGENT,
		"Start a child that looks at the node.", {
		{ "probe", FIELD_TEXT, .max = 31, .what = "its name" },
		{ "args", FIELD_OBJECT, .what = "node, options" } } },
	[MSG_NODE_SAID] = { "node_said", MSG_TO_COORDINATOR,
		"What the child has said since.", { SAID } },
	[MSG_NODE_DONE] = { "node_done", MSG_TO_COORDINATOR,
		"The child has ended.", {
		SAID,
		{ "outcome", FIELD_TEXT, .max = 15, .what = "ok, ..." },
		CODE, DETAIL } },
	[MSG_NODE_TELL] = { "node_tell", MSG_TO_AGENT,
		"What the child must know of the other nodes.", {
		{ "line", FIELD_OBJECT, .what = "by the probe" } } },
	[MSG_NODE_LEAVE] = { "node_leave", MSG_TO_AGENT,
		"No other node needs the child any more." },
	[MSG_LAST_LOOK] = { "last_look", MSG_TO_AGENT,
		"Look at the counters of ports and GPUs again." },
	[MSG_LAST_FACTS] = { "last_facts", MSG_TO_COORDINATOR,
		"What these counted during the run.", { FACTS } },
	[MSG_QUIT] = { "quit", MSG_PASSED_DOWN, "The run is over: end." },
};

/* ---- does it fit? ------------------------------------------------------- */

enum message_type message_type(const json_t *msg)
{
	const char *t = json_string_value(json_object_get(msg, "t"));
	int i = 0;

	while (t != NULL && i < MESSAGE_TYPES &&
	       strcmp(messages[i].name, t) != 0) {
		i++;
	}
	return t != NULL ? (enum message_type)i : MESSAGE_TYPES;
}

static bool is_kind(const json_t *v, enum message_kind kind)
{
	switch (kind) {
	case FIELD_INT:
		return json_is_integer(v);
	case FIELD_REAL:
		return json_is_number(v);
	case FIELD_BOOL:
		return json_is_boolean(v);
	case FIELD_TEXT:
		return json_is_string(v);
	case FIELD_OBJECT:
		return json_is_object(v);
	case FIELD_ARRAY:
		return json_is_array(v);
	}
	return false;
}

static bool is_within(const json_t *v, const struct message_field *f)
{
	int64_t n = f->kind == FIELD_INT  ? json_integer_value(v) :
		    f->kind == FIELD_TEXT ? (int64_t)json_string_length(v) :
					    (int64_t)json_array_size(v);

	return f->kind == FIELD_INT ? n >= f->min && n <= f->max :
				      f->max == 0 || n <= f->max;
}

static int check_fields(const json_t *msg, const struct message *m,
			struct err *e)
{
	for (const struct message_field *f = m->fields; f->name != NULL;
	     f++) {
		const json_t *v = json_object_get(msg, f->name);

		if (v == NULL || json_is_null(v)) {
			if (f->optional) {
				continue;
			}
			return err_set(e, EPROTO, "message '%s' without '%s'",
				       m->name, f->name);
		}
		if (!is_kind(v, f->kind) || !is_within(v, f)) {
			return err_set(e, EPROTO, "message '%s': '%s' is not "
				       "what it should be", m->name, f->name);
		}
	}
	return 0;
}

int message_check(const json_t *msg, enum message_way way, struct err *e)
{
	enum message_type type = message_type(msg);

	if (type == MESSAGE_TYPES) {
		return 0;
	}
	if ((messages[type].ways & way) == 0) {
		return err_set(e, EPROTO, "message '%s' comes the wrong way",
			       messages[type].name);
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
