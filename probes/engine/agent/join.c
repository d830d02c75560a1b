/* SPDX-License-Identifier: BSD-3-Clause */
/* From the coordinator's address to a place in its run, and the notes of an
 * agent that got none, or lost it. */
#include "probes/engine/agent/agent.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"
#include "lib/data/version.h"
#include "probes/engine/net/door.h"
#include "probes/host/interface.h"
#include "probes/host/inventory.h"
#include "probes/probe.h"

#define JOIN_CONNECT_NS (2 * NS_PER_S)
/* A coordinator may be busy for a while before it answers. */
#define JOIN_ANSWER_NS	(5 * NS_PER_S)
#define JOIN_NAP_NS	(100 * NS_PER_MS)
#define JOIN_LOOK_NS	(1 * NS_PER_S)

/* The name of its node, as it is known here. */
static const char *agent_node(const struct agent *a)
{
	static char own[65];
	const char *typed = getenv("GPUCHECK_HOST");	/* by ssh */
	const char *host = typed ? typed : getenv("SLURMD_NODENAME");

	if (a->boot.node[0] != '\0') {
		host = a->boot.node;
	} else if (host == NULL) {
		host = inventory_seen(a->inventory).host;
	}
	if (host[0] == '\0' && gethostname(own, sizeof(own) - 1) == 0) {
		host = own;	/* the inventory has not been read */
	}
	return host[0] != '\0' ? host : "?";
}

json_t *agent_hello(const struct agent *a)
{
	const char *gpus = getenv("SLURM_GPUS_ON_NODE");
	char node[64];	/* what the message has room for */
	int64_t on_node = 0;

	if (gpus != NULL) {
		units_parse_int(gpus, 0, SPEC_MAX_GPUS, &on_node, NULL);
	}
	STR_COPY(node, agent_node(a));
	return message_new(MSG_HELLO,
			   "{s:i,s:i,s:i,s:s,s:b,s:I,s:b,s:i,s:s,s:O}", "rank",
			   a->boot.rank, "local_rank", a->boot.local_rank,
			   "local_size", a->boot.local_size, "node", node,
			   "pretend", a->boot.node[0] != '\0', "gpus_on_node",
			   on_node, "sees_dir", a->nonce[0] != '\0', "door",
			   (int)door_port(a->door), "version",
			   version_own(), "inventory",
			   a->inventory);
}

/* ---- dialling ----------------------------------------------------------- */

/* Derives the keys of control and data connections from the secret, and wipes
 * the secret. */
static int make_keys(struct agent *a, struct err *e)
{
	uint8_t *secret = a->contact.token;

	if (auth_set(&a->control, AUTH_CONTROL, secret, a->contact.nonce, e) <
		    0 ||
	    auth_set(&a->data, AUTH_DATA, secret, "", e) < 0) {
		return -1;
	}
	explicit_bzero(secret, sizeof(a->contact.token));
	return 0;
}

/* All addresses of the coordinator. */
static int dial_once(struct agent *a, struct auth_session *keys, struct err *e)
{
	const int64_t now = clock_now_ns();

	return door_dial(a->contact.addrs, a->contact.n_addrs, &a->control,
			 NULL, keys, now + JOIN_CONNECT_NS,
			 now + JOIN_ANSWER_NS, e);
}

/* Returns true if the ssh process that started this agent has ended and no
 * longer reads its output. */
static bool is_left_alone(const struct agent *a)
{
	struct pollfd out = {.fd = STDOUT_FILENO};

	return a->boot.guest && poll(&out, 1, 0) > 0;
}

/* Returns true if the run has ended; false if the directory is not visible. */
static bool is_over(const struct agent *a)
{
	json_t *run = a->nonce[0] != '\0' ?
			      rundir_read_run(a->dir, NULL) :
			      NULL;
	const struct run_file f = run_file(run);
	bool over = strcmp(f.nonce, a->nonce) == 0 && f.ended_utc[0] != '\0';

	json_decref(run);
	return over;
}

/* A socket to the coordinator by @deadline_ns, where both ends have proved
 * themselves, and the @keys of what is said next; or -1 with @e. */
static int dial(struct agent *a, struct auth_session *keys,
		int64_t deadline_ns, struct err *e)
{
	int64_t look_ns = clock_now_ns() + JOIN_LOOK_NS, now;
	int fd;

	/* an address from the environment may be known before rank 0 is up */
	while ((fd = dial_once(a, keys, e)) < 0 && !is_left_alone(a) &&
	       limit_code(e->code) == NULL &&
	       (now = clock_now_ns()) < deadline_ns) {
		if (now > look_ns && is_over(a)) {
			return err_set(e, 0, "the run in '%s' has ended",
				       a->dir);
		}
		look_ns = now > look_ns ? now + JOIN_LOOK_NS : look_ns;
		clock_sleep(JOIN_NAP_NS);
	}
	if (fd >= 0) {
		*e = (struct err){ 0 };
		/* the coordinator has said which, where we did not know */
		memcpy(a->data.run, a->control.run, sizeof(a->data.run));
		return fd;
	}
	if (limit_code(e->code) != NULL) {
		return -1;	/* its hint is that of the limit */
	}
	if (e->code == EPROTO) {
		return err_hint(e, "another program or another run has the "
				   "coordinator's port");
	}
	return err_hint(e, "the nodes of a run must reach each other by TCP: "
			   "check for a firewall");
}

/* ---- joining ------------------------------------------------------------ */

/* The coordinator has our hello, or hung up before. */
static void await_welcome(struct agent *a)
{
	while (wire_is_open(&a->wire) && a->state <= AGENT_REFUSED) {
		uv_run(&a->loop, UV_RUN_ONCE);
	}
}

static int say_hello(struct agent *a, const struct wire_events *events,
		     int64_t deadline_ns, struct err *e)
{
	struct auth_session keys;
	uv_tcp_t *tcp;
	int fd = dial(a, &keys, deadline_ns, e);

	if (fd < 0) {
		return -1;
	}
	tcp = calloc(1, sizeof(*tcp));
	if (tcp == NULL || (a->door == NULL && agent_open_door(a, fd, e) < 0)) {
		free(tcp);
		close(fd);
		return -1;
	}
	uv_tcp_init(&a->loop, tcp);
	uv_tcp_open(tcp, fd);
	wire_open(&a->wire, (uv_stream_t *)tcp, MSG_TO_AGENT, &keys, events, a);
	explicit_bzero(&keys, sizeof(keys));
	agent_tell(a, agent_hello(a));
	return 0;
}

int agent_join(struct agent *a, const struct wire_events *events,
	       struct err *e)
{
	int64_t deadline = clock_now_ns() + spec_boot_ns(&a->spec);

	limit_files_raise();	/* the inventory has what jobs get */
	if (make_keys(a, e) < 0) {
		return -1;
	}
	do {
		if (say_hello(a, events, deadline, e) < 0) {
			return -1;
		}
		await_welcome(a);
	} while (a->state == AGENT_JOINING && clock_now_ns() < deadline);
	return a->state > AGENT_REFUSED ? 0 : -1;
}

/* ---- lost note ----------------------------------------------------------- */

/* An agent that has lost the coordinator can tell it nothing, but may still be
 * able to write where the others read. */

void agent_note_lost(const struct agent *a, const char *why)
{
	char link[80], name[40];
	enum interface_way way = interface_says(
		(const struct sockaddr *)&a->own, link, sizeof(link));
	struct event_row row;
	json_t *json;

	/* by a link that is down no file system of a network answers: to wait
	 * for that would be without end */
	if (a->nonce[0] == '\0' || way == INTERFACE_DOWN) {
		return;
	}
	record_init(&schema_events, &row);
	clock_utc(row.utc);
	row.seq = a->boot.rank;
	str_copy(row.node, sizeof(row.node), agent_node(a));
	STR_COPY(row.event, "coordinator_lost");
	snprintf(row.detail, sizeof(row.detail),
		 "lost the coordinator: %.200s%s%s", why,
		 way == INTERFACE_UNKNOWN ? "" : "; own link: ", link);
	snprintf(name, sizeof(name), "logs/agent-%d.json", a->boot.rank);
	json = record_json(&schema_events, &row);
	if (json != NULL) {
		rundir_write_json(a->dir, name, json, NULL);
	}
	json_decref(json);
}

void agent_tell_why(struct agent *a)
{
	const struct limit_user least = { .files = AGENT_FILES };
	const char *limit = limit_code(a->why.code);
	char text[600];

	/* a coordinator that is not there in time is lost like one that goes:
	 * no fault of who waited */
	a->exit_code = a->why.code == EINVAL	? CODE_USAGE :
		       a->why.code == ETIMEDOUT &&
				!boot_hosts(&a->boot) ? CODE_PARTIAL :
							CODE_UNABLE;
	if (boot_hosts(&a->boot) && a->contact.n_addrs == 0 &&
	    (limit != NULL || a->coordinator_end.signal != 0 ||
	     a->why.code == EPROTONOSUPPORT)) {
		/* there is no coordinator who could say so */
		run_error_note(a->dir, &a->why, a->exit_code);
	}
	if (boot_hosts(&a->boot) && !a->published) {
		boot_publish_failure(&a->boot, a->dir, a->nonce, &a->why);
	} else if (limit != NULL && a->nonce[0] != '\0') {
		limit_text(&a->why, &least, text, sizeof(text));
		run_absent_note(a->dir, &(struct run_entry){
				.node = agent_node(a), .rank = a->boot.rank,
				.source = "agent", .detail = text,
				.code = limit }, NULL);
	}
}

void agent_excuse(const char *dir, const struct err *why)
{
	struct agent *a = calloc(1, sizeof(*a));

	close(STDIN_FILENO);	/* there may be too few descriptors */
	close(STDOUT_FILENO);
	if (a != NULL) {
		a->dir = dir;
		if (agent_identify(a, &a->why) == 0) {
			a->why = *why;
			agent_tell_why(a);
		}
	}
	free(a);
}
