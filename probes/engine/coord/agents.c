/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/agents.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/str.h"
#include "lib/data/hosts.h"
#include "lib/data/rundir.h"
#include "lib/spec/spec.h"
#include "probes/engine/net/door.h"
#include "probes/engine/net/wire.h"
#include "probes/host/inventory.h"

struct agents {
	int expected, n_hello;
	struct run_log *log;
	const struct agents_events *events;
	void *arg;
	struct door *door;
	struct coord_agent *all;
	struct coord_agent **by_rank;	/* the one of each expected number that
					 * has said hello last; NULL: none */
	struct own_port *ports;	/* that they have come to */
	json_t *absent;		/* by node, and by "#" and the rank of an agent:
				 * why it has none, or not that one */
	int n_absent;		/* agents that will not come */
	bool begun, dismissed;
	bool started;		/* all of them, the launcher says */
};

/* ---- own link ------------------------------------------------------------ */

/** A link that failed before, and did no harm, has not failed now; to look for
 *  every beat of thousands would be too much. */
#define COUNT_NS NS_PER_S

/* Sets own_port of @a to the interface that has the address that it came to,
 * one of the set's list, which grows if it is new there. */
static void own_link_begin(struct coord_agent *a)
{
	struct own_port *p = a->set->ports;
	struct interface at;

	if (!interface_of((const struct sockaddr *)&a->own, &at)) {
		return;
	}
	while (p && strcmp(p->at.name, at.name) != 0) {
		p = p->next;
	}
	if (!p && (p = calloc(1, sizeof(*p)))) {
		*p = (struct own_port){ .next = a->set->ports, .at = at };
		a->set->ports = p;
	}
	a->own_port = p;
	own_link_note(p, a->own_counts, "", clock_now_ns());
}

void own_link_note(struct own_port *port, int64_t counts[LINK_COUNTS],
		   const char *root, int64_t now_ns)
{
	if (!port) {
		return;
	}
	if (port->counted_ns == 0 || now_ns - port->counted_ns >= COUNT_NS) {
		link_counts_read(root, &port->at, port->counts);
		port->counted_ns = now_ns;
	}
	memcpy(counts, port->counts, sizeof(port->counts));
}

/* @a is lost.  Event own_link, "eth0 up": as it is now, or "eth0 flapped": it
 * is up, and was down meanwhile; event own_counters: what has grown since the
 * agent was heard. */
static void own_link_tell(const struct coord_agent *a)
{
	char link[80], grown[200];
	enum interface_way way = interface_says(
		(const struct sockaddr *)&a->own, link, sizeof(link));
	struct run_log *log = a->set->log;
	int64_t now[LINK_COUNTS];
	bool flapped;

	if (way == INTERFACE_UNKNOWN || !a->own_port) {
		return;
	}
	link_counts_read("", &a->own_port->at, now);
	flapped = link_counts_grown(a->own_counts, now, grown, sizeof(grown));
	if (flapped && way == INTERFACE_UP) {
		run_log_event(log, NULL, -1, "own_link", "%s flapped",
			      a->own_port->at.name);
	} else {
		run_log_event(log, NULL, -1, "own_link", "%s", link);
	}
	if (grown[0]) {
		run_log_event(log, NULL, -1, "own_counters", "%s: %s",
			      a->own_port->at.name, grown);
	}
}

/* ---- agents -------------------------------------------------------------- */

struct agents *agents_new(int expected, struct run_log *log,
			  const struct agents_events *events, void *arg)
{
	struct agents *s = calloc(1, sizeof(*s));
	struct coord_agent **by_rank =
		calloc((size_t)expected + 1, sizeof(struct coord_agent *));

	if (s == NULL || by_rank == NULL) {
		free(by_rank);
		free(s);
		return NULL;
	}
	*s = (struct agents){ .expected = expected, .log = log,
			      .events = events, .arg = arg,
			      .by_rank = by_rank };
	return s;
}

void agents_free(struct agents *s)
{
	if (s == NULL) {
		return;
	}
	for (struct coord_agent *k = s->all, *next; k != NULL; k = next) {
		next = k->next;
		json_decref(k->inventory);
		json_decref(k->last_words);
		free(k);
	}
	for (struct own_port *p = s->ports, *next; p != NULL; p = next) {
		next = p->next;
		free(p);
	}
	free(s->by_rank);
	json_decref(s->absent);
	free(s);
}

/* ---- the agents --------------------------------------------------------- */

int agents_expected(const struct agents *s)
{
	return s->expected;
}

struct coord_agent *agents_next(const struct agents *s,
				const struct coord_agent *a)
{
	struct coord_agent *k = a != NULL ? a->next : s->all;

	while (k != NULL && !k->said_hello) {
		k = k->next;
	}
	return k;
}

struct coord_agent *agents_find(const struct agents *s, int boot_rank)
{
	struct coord_agent *a;

	if (boot_rank >= 0 && boot_rank < s->expected) {
		a = s->by_rank[boot_rank];
		return a != NULL && a->said_hello ? a : NULL;
	}
	a = agents_next(s, NULL);
	while (a != NULL && a->boot_rank != boot_rank) {
		a = agents_next(s, a);
	}
	return a;
}

bool agents_share_machine(const struct agents *s)
{
	const struct coord_agent *own = agents_find(s, 0), *a = NULL;
	bool shared = false;

	while (own != NULL && !shared && (a = agents_next(s, a)) != NULL) {
		shared = own->boot_id[0] != '\0' &&
			 strcmp(a->boot_id, own->boot_id) == 0 &&
			 strcmp(a->node, own->node) != 0;
	}
	return shared;
}

/* ---- what they say ------------------------------------------------------ */

/* Reports that all expected agents are here or known to be absent. */
static void look_around(struct agents *s)
{
	if (!s->begun && s->n_hello + s->n_absent >= s->expected) {
		s->events->all_here(s->arg);
	}
}

static void turn_away(struct coord_agent *a, const char *why)
{
	agents_send(a, message_new(MSG_WELCOME, "{s:s,s:s}", "why", why, "version",
				   version_own()));
	wire_push(&a->wire);
	wire_close(&a->wire, why);
}

/* @news (borrowed) is why @node has none, or one less: it may have several. */
static void note_absent(struct agents *s, const char *node, json_t *news)
{
	const struct run_entry why = run_entry_of(news);
	char key[24];

	s->absent = s->absent ? s->absent : json_object();
	json_object_set(s->absent, node, news);
	snprintf(key, sizeof(key), "#%d", why.rank);
	json_object_set(s->absent, key, news);
	s->n_absent++;
	run_log_event(s->log, node, -1, limit_is(why.code) ? why.code :
		      "agent_missing", "%.250s", why.detail);
	look_around(s);
}

/* @a takes no part, @why; @node has one agent less. */
static void agent_absent(struct coord_agent *a, const char *node,
			 const char *code, const char *why)
{
	const bool known = code[0] != '\0';
	json_t *news = run_entry_json(&(struct run_entry){ RUN_ENTRY_NONE,
		.source = known ? "agent" : "", .code = code,
		.detail = why });

	if (news != NULL) {
		note_absent(a->set, node, news);
	}
	json_decref(news);
}

/* Returns true if agent @a with hello @msg may take part: its node name must be
 * valid, since it goes into files and printed commands, and its version must be
 * that of the coordinator.  Otherwise refuses it. */
static bool is_welcome(struct coord_agent *a, const struct message_in *in)
{
	const char *name = in->node;
	char text[100];
	struct err e;

	if (!hostlist_is_name(name)) {
		err_set(&e, 0, "agent %d reports the node name '%.63s', which "
			"is not valid", in->rank, name);
		snprintf(text, sizeof(text), "node%d", in->rank);
		turn_away(a, e.text);
		agent_absent(a, text, "", e.text);
		return false;
	}
	snprintf(text, sizeof(text), "the agent of %.63s", name);
	if (version_check(text, in->version, &e) < 0) {
		turn_away(a, e.text);
		agent_absent(a, name, "version_differs", e.text);
		return false;
	}
	return true;
}

static void take_hello(struct coord_agent *a, const json_t *msg)
{
	struct agents *s = a->set;
	const struct message_in in = message_read(msg);
	const struct inventory_seen seen = inventory_seen(in.inventory);
	struct coord_agent *before = agents_find(s, in.rank);
	size_t gpus = json_array_size(seen.gpus);

	if (a->said_hello || s->begun) {
		if (before == NULL && !s->dismissed) {
			s->events->late(s->arg, in.rank, in.node);
		}
		turn_away(a, s->begun ? "the run has begun"
				      : "it has said hello before");
		return;
	}
	if (!is_welcome(a, &in)) {
		return;
	}
	if (before != NULL) {
		wire_close(&before->wire, "its agent has connected again");
	}
	a->boot_rank = in.rank;
	a->local_rank = in.local_rank;
	a->local_size = in.local_size;
	a->gpus_on_node = in.gpus_on_node;
	STR_COPY(a->node, in.node);	/* no control characters in files */
	a->wire.door = (uint16_t)in.door;
	a->pretend = in.pretend;
	a->sees_dir = in.sees_dir;
	STR_COPY(a->boot_id, seen.boot_id);
	a->gpus_found = gpus < SPEC_MAX_GPUS ? (int)gpus : SPEC_MAX_GPUS;
	a->driver = seen.driver[0] != '\0';
	a->inventory = json_incref(in.inventory);
	agents_send(a, message_new(MSG_WELCOME, "{s:s,s:s}", "why", "",
				   "version", version_own()));
	a->said_hello = true;
	if (a->boot_rank < s->expected) {
		s->by_rank[a->boot_rank] = a;
	}
	own_link_begin(a);
	run_log_event(s->log, a->node, -1, "agent", "agent %d of %d, %d GPUs",
		      a->boot_rank, s->expected, a->gpus_found);
	s->n_hello++;
	look_around(s);
}

void agents_hear_entry(void *agent, enum message_type type, const void *bytes,
		       size_t n)
{
	struct coord_agent *a = agent;
	struct agents *s = a->set;

	own_link_note(a->own_port, a->own_counts, "", clock_now_ns());
	if (a->said_hello && !s->dismissed) {
		s->events->entry(s->arg, a, type, bytes, n);
	}
}

void agents_hear(void *agent, json_t *msg)
{
	struct coord_agent *a = agent;
	struct agents *s = a->set;
	const struct message_in in = message_read(msg);

	own_link_note(a->own_port, a->own_counts, "", clock_now_ns());
	if (message_type(msg) == MSG_HELLO) {
		take_hello(a, msg);
		return;
	}
	if (!a->said_hello) {
		return;		/* it has no name that a file could give */
	}
	switch (message_type(msg)) {
	case MSG_BEAT:
		break;
	case MSG_STARTED:
		s->started = true;
		break;
	case MSG_STOP:
		s->events->stop(s->arg);
		break;
	case MSG_EVENT:
		a->late_ns += in.late_ns;
		if (limit_is(in.event)) {
			STR_COPY(a->limit, in.event);
		}
		run_log_event(s->log, a->node, -1, in.event, "%s", in.detail);
		break;
	case MSG_LAST_FACTS:
		json_decref(a->last_words);
		a->last_words = json_incref(in.facts);
		/* fall through */
	default:
		if (!s->dismissed) {
			s->events->message(s->arg, a, msg);
		}
	}
}

void agents_foreign(struct coord_agent *a, const char *what)
{
	if (!a->foreign) {
		run_log_event(a->set->log, a->node, -1, "foreign_row",
			      "dropped %s, and any further ones: this agent "
			      "does not report it", what);
	}
	a->foreign = true;
}

void agents_lose(void *agent, const char *why)
{
	struct coord_agent *a = agent;
	struct agents *s = a->set;
	char detail[300];

	if (s->dismissed || !a->said_hello) {
		return;
	}
	a->lost = true;
	snprintf(detail, sizeof(detail), "connection to the agent lost: %s",
					 why);
	run_log_event(s->log, a->node, -1, "agent_lost", "%s", why);
	own_link_tell(a);
	if (s->begun) {
		s->events->lost(s->arg, a, detail);
		return;
	}
	a->said_hello = false;
	s->n_hello--;
	if (a->limit[0] != '\0') {
		agent_absent(a, a->node, a->limit, detail);
	}
}

const char *agents_reached(const struct agents *s, char buf[IP_TEXT])
{
	const struct coord_agent *a = NULL, *k;
	struct ip_addr best = { 0 }, to, ip;
	int most = 0;

	/* an address that more than half have come to is seen soon */
	while (2 * most <= s->n_hello && (a = agents_next(s, a)) != NULL) {
		int n = 0;

		to = ip_of_sockaddr((struct sockaddr *)&a->own);
		for (k = NULL; !a->beside && (k = agents_next(s, k)) != NULL;) {
			ip = ip_of_sockaddr((struct sockaddr *)&k->own);
			n += !k->beside && ip_equal(&ip, &to);
		}
		if (n > most) {
			most = n;
			best = to;
		}
	}
	return most > 0 ? ip_text(&best, buf, IP_TEXT) : NULL;
}

bool agents_have_come(const struct agents *s)
{
	const struct coord_agent *a = agents_next(s, NULL);

	while (a != NULL && a->boot_rank == 0) {
		a = agents_next(s, a);
	}
	return a != NULL || s->started;
}

/* ---- those that will not come -------------------------------------------- */

void agents_will_not_come(struct agents *s, const char *nodes,
			  const char *why)
{
	size_t n = 0;
	char **names = hostlist_expand(nodes, &n, NULL);

	for (size_t i = 0; i < n && !s->begun; i++) {
		const struct coord_agent *a = agents_next(s, NULL);
		json_t *news = run_entry_json(&(struct run_entry){
			RUN_ENTRY_NONE, .detail = why });

		while (a != NULL && strcmp(a->node, names[i]) != 0) {
			a = agents_next(s, a);
		}
		/* it has no agent, and no reason for that is known */
		if (news != NULL && a == NULL &&
		    json_object_get(s->absent, names[i]) == NULL) {
			note_absent(s, names[i], news);
		}
		json_decref(news);
	}
	if (names != NULL) {
		hostlist_free(names, n);
	}
}

void agents_read_news(struct agents *s, FILE *from, const char *names)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, from) > 0) {
		json_t *news = json_loads(line, 0, NULL);
		const struct run_entry n = run_entry_of(news);
		const json_t *known = json_object_get(s->absent, n.node);

		/* what an agent reported itself counts, and is closer than what
		 * its launcher knows; but it is not the only one of its node */
		if (hostlist_is_name(n.node) &&
		    (names == NULL || hostlist_has(names, n.node)) &&
		    (known == NULL ||
		     (n.rank >= 0 && run_entry_of(known).rank >= 0 &&
		      agents_absent_rank(s, n.rank).node[0] == '\0'))) {
			note_absent(s, n.node, news);
		}
		json_decref(news);
	}
	clearerr(from);	/* there may be more */
	free(line);
}

struct run_entry agents_absent(const struct agents *s, const char *name)
{
	return run_entry_of(json_object_get(s->absent, name));
}

struct run_entry agents_absent_rank(const struct agents *s, int rank)
{
	char key[24];

	snprintf(key, sizeof(key), "#%d", rank);
	return agents_absent(s, key);
}

void agents_absent_facts(const struct agents *s, const char *name)
{
	const struct run_entry why = agents_absent(s, name);
	const char *source = why.source[0] != '\0' ? why.source : "ssh";

	if (why.code[0] != '\0') {
		run_log_fact(s->log, name, "node", "state_code", why.code, "",
			     source);
		run_log_fact(s->log, name, "node", "state_detail", why.detail,
			     "", source);
	}
}

/* ---- coming and going --------------------------------------------------- */

/* Our own lack: no fault of the agent, whose message is lost. */
static void agents_short(void *agent, const struct err *e)
{
	struct coord_agent *a = agent;

	STR_COPY(a->limit, limit_code(e->code));
}

static const struct wire_events wire_events = {
	.message = agents_hear,
	.entry = agents_hear_entry,
	.short_of = agents_short,
	.closed = agents_lose,
};

struct coord_agent *agents_add(struct agents *s)
{
	struct coord_agent *a = calloc(1, sizeof(*a));

	if (a != NULL) {
		a->set = s;
		a->only_gpu = -1;
		a->next = s->all;
		s->all = a;
	}
	return a;
}

static void guest(uv_tcp_t *tcp, const uint8_t *task,
		  const struct auth_session *keys, void *arg)
{
	struct agents *s = arg;
	struct coord_agent *a = agents_add(s);
	struct sockaddr_storage peer = { 0 };
	struct ip_addr here, there;

	(void)task;
	if (a == NULL) {
		door_drop(tcp);
		return;
	}
	uv_tcp_getsockname(tcp, (struct sockaddr *)&a->own,
			   &(int){ sizeof(a->own) });
	uv_tcp_getpeername(tcp, (struct sockaddr *)&peer,
			   &(int){ sizeof(peer) });
	here = ip_of_sockaddr((struct sockaddr *)&a->own);
	there = ip_of_sockaddr((struct sockaddr *)&peer);
	a->beside = ip_equal(&there, &here);
	wire_open(&a->wire, (uv_stream_t *)tcp, MSG_TO_COORDINATOR, keys,
		  &wire_events, a);
}

static void stranger(const char *text, void *arg)
{
	struct agents *s = arg;

	run_log_event(s->log, NULL, -1, "stranger", "%s", text);
}

uint16_t agents_listen(struct agents *s, uv_loop_t *loop, int fd,
		       const struct auth *auth, struct err *e)
{
	s->door = door_open(loop, fd, s->expected, auth, guest, stranger, s, e);
	return s->door != NULL ? door_port(s->door) : 0;
}

void agents_begin(struct agents *s)
{
	s->begun = true;
}

void agents_send(struct coord_agent *a, json_t *msg)
{
	if (a != NULL) {
		wire_send(&a->wire, msg);
	} else {
		json_decref(msg);
	}
}

void agents_beat(struct agents *s, int64_t now_ns, int64_t silence_ns)
{
	for (struct coord_agent *a = s->all; a != NULL; a = a->next) {
		wire_beat(&a->wire, now_ns, silence_ns);
	}
}

const char *agents_lost_code(const struct coord_agent *a)
{
	return a->limit[0] != '\0' ? a->limit :
	       a->wire.stalled     ? "starved" : "agent_lost";
}

bool agents_silent(const struct coord_agent *a, int64_t now_ns)
{
	return a != NULL && wire_is_open(&a->wire) &&
	       wire_is_silent(&a->wire, now_ns);
}

void agents_keep_alive(struct agents *s, int64_t now_ns)
{
	for (struct coord_agent *a = s->all; a != NULL; a = a->next) {
		a->wire.heard_ns = now_ns;
		wire_beat(&a->wire, now_ns, INT64_MAX);
		wire_push(&a->wire);
	}
}

void agents_dismiss(struct agents *s)
{
	s->dismissed = s->begun = true;
	for (struct coord_agent *a = s->all; a != NULL; a = a->next) {
		agents_send(a, message_new(MSG_QUIT, NULL));
	}
}

bool agents_gone(struct agents *s, bool late)
{
	for (struct coord_agent *a = s->all; a != NULL; a = a->next) {
		if (wire_is_open(&a->wire) && !late) {
			return false;
		}
		wire_close(&a->wire, NULL);
	}
	door_close(s->door);
	s->door = NULL;
	return true;
}

/* ---- facts -------------------------------------------------------------- */

bool agents_fact_of_run(const json_t *fact)
{
	return strcmp(fact_of(fact).scope, "run") == 0;
}

void agents_facts(struct run_log *log, const char *name,
		  const struct coord_agent *a, const json_t *facts)
{
	char buf[64];
	size_t i;
	json_t *f;

	json_array_foreach(facts, i, f)
	{
		const struct fact one = fact_of(f);
		const char *scope = one.scope;

		if (agents_fact_of_run(f)) {
			continue; /* once, in run.json */
		}
		/* An agent that sees only one GPU calls it gpu0.  Facts about
		 * other GPUs are those of other agents. */
		if (a->only_gpu >= 0 && str_starts(scope, "gpu") &&
		    isdigit((unsigned char)scope[3])) {
			if (scope[3] != '0' ||
			    isdigit((unsigned char)scope[4])) {
				continue;
			}
			snprintf(buf, sizeof(buf), "gpu%d%s", a->only_gpu,
				 scope + 4);
			scope = buf;
		}
		run_log_fact(log, name, scope, one.fact, one.value, one.unit,
			     one.source);
	}
}

void agents_inventory_facts(struct run_log *log, const char *name,
			    const struct coord_agent *a)
{
	agents_facts(log, name, a, inventory_seen(a->inventory).facts);
	if (!a->sees_dir) {
		run_log_fact(log, name, "node", "sees_run_dir", "no", "",
			     "agent");
	}
}
