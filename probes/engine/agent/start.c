/* SPDX-License-Identifier: BSD-3-Clause */
/* An agent from its start to a place in the run, and its notes when it got none
 * or has lost it. */
#include "probes/engine/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/net.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"
#include "probes/engine/net/door.h"
#include "probes/host/interface.h"
#include "probes/host/inventory.h"
#include "probes/host/sysfile.h"
#include "probes/probe.h"

/* ---- node addr ----------------------------------------------------------- */

/* Maximum bytes read for one node; its comment and features may be long. */
#define TEXT_MAX (64 * 1024)

bool node_addr_parse(const char *text, char *host, size_t size)
{
	static const char key[] = "NodeAddr=";
	const char *at = text;
	size_t n;

	/* at the begin of a word: others may end so */
	while ((at = strstr(at, key)) != NULL && at > text &&
	       strchr(" \t\n", at[-1]) == NULL) {
		at++;
	}
	at = at != NULL ? at + strlen(key) : "";
	n = strcspn(at, " \t\r\n");
	if (n == 0 || n >= size) {
		return false;
	}
	snprintf(host, size, "%.*s", (int)n, at);
	return true;
}

void node_addr_prefer(struct boot_contact *c, const char *host)
{
	struct sockaddr_storage found[NET_MAX_ADDRS];
	char text[NET_HOST_SIZE + 16], addr[NET_ADDR_TEXT];
	int n;

	snprintf(text, sizeof(text), strchr(host, ':') ? "[%.255s]%s" : "%.255s%s",
		 host, strrchr(c->addrs[0], ':'));
	n = net_lookup(text, found, NET_MAX_ADDRS, NULL);
	while (n-- > 0) {
		const struct sockaddr *sa = (struct sockaddr *)&found[n];
		const struct ip_addr ip = ip_of_sockaddr(sa);
		size_t size = sizeof(ip.bytes);
		int i = 0;

		/* a machine may call itself 127.0.1.1; others do not */
		if (ip.family == AF_INET ? ip.bytes[0] == 127 :
		    memcmp(ip.bytes, &in6addr_loopback, size) == 0) {
			continue;
		}
		/* first place; the addresses before its old one move up */
		net_addr_text(sa, addr, sizeof(addr));
		while (i < c->n_addrs && strcmp(c->addrs[i], addr) != 0) {
			i++;
		}
		if (i == NET_MAX_ADDRS) {
			i--;		/* the last one has to go */
		} else if (i == c->n_addrs) {
			c->n_addrs++;
		}
		memmove(c->addrs[1], c->addrs[0],
			(size_t)i * sizeof(c->addrs[0]));
		str_copy(c->addrs[0], sizeof(c->addrs[0]), addr);
	}
}

/* ---- start --------------------------------------------------------------- */

/* One that ends says nothing at once; one that only does not run is waited
 * for. */
#define AGENT_CONTACT_NS     (60 * NS_PER_S)
/* A cluster that works answers in a few milliseconds. */
#define AGENT_SLURM_NS	     (1 * NS_PER_S)
#define AGENT_INVENTORY_NS   (15 * NS_PER_S)
/* Time to wait for the run directory: an agent that another program starts may
 * be up a moment before it, and network file systems show it late. */
#define AGENT_DIR_NS	     (10 * NS_PER_S)

static void coordinator_closed(uv_handle_t *h)
{
	struct agent *a = h->data;

	a->coordinator_runs = false;
}

static void coordinator_exited(uv_process_t *p, int64_t code, int signo)
{
	struct agent *a = p->data;

	a->coordinator_end = (struct spawn_status){ .exit_code = (int)code,
						    .signal = signo };
	uv_close((uv_handle_t *)p, coordinator_closed);
}

/* Reads the contact that the coordinator writes to its stdout @fd.  -1 with @e:
 * it does not answer, or has ended. */
static int read_contact(struct agent *a, int fd, struct err *e)
{
	int64_t deadline = clock_now_ns() + AGENT_CONTACT_NS;
	char text[PIPE_BUF]; /* one write: whole or not at all */
	char end[64];
	ssize_t n = net_wait(fd, POLLIN, deadline) == 0 ?
			    read(fd, text, sizeof(text)) : -1;
	int rc;

	if (n < 0) {
		return err_set(e, ETIMEDOUT, "the coordinator did not respond");
	}
	if (n > 0) {
		rc = boot_contact_parse(text, (size_t)n, &a->contact, e);
		explicit_bzero(text, sizeof(text));
		return rc;
	}
	/* it has closed its stdout without a word: its exit status says why */
	deadline = clock_now_ns() + AGENT_CONTACT_NS;
	while (a->coordinator_runs && clock_now_ns() < deadline) {
		uv_run(&a->loop, UV_RUN_NOWAIT);
		clock_sleep(10 * NS_PER_MS);
	}
	err_set(e, 0, "the coordinator ended before the run began: %s",
		spawn_status_text(&a->coordinator_end, end, sizeof(end)));
	return a->coordinator_end.signal != SIGKILL ? -1 :
		err_hint(e, "unless a user sent the signal, the cause is "
			    "probably the OOM killer: check dmesg on this "
			    "node");
}

static int run_coordinator(struct agent *a, struct err *e)
{
	char *args[] = { a->self, (char *)"coordinator", (char *)a->dir, NULL };
	uv_stdio_container_t io[3] = {
		/* our front's news of agents that will not come */
		[0] = { .flags = a->boot.how == BOOT_INNER ? UV_INHERIT_FD :
							     UV_IGNORE },
		[1] = { .flags = UV_INHERIT_FD },
		[2] = { .flags = UV_INHERIT_FD, .data.fd = 2 },
	};
	uv_process_options_t o = {
		.exit_cb = coordinator_exited,
		.file = a->self,
		.args = args,
		.stdio_count = 3,
		.stdio = io,
	};
	char size[16];
	int fds[2], rc;

	if (pipe2(fds, O_CLOEXEC) < 0) {
		return err_set(e, errno, "cannot create a pipe");
	}
	io[1].data.fd = fds[1];
	snprintf(size, sizeof(size), "%d", a->boot.size);
	setenv("GPUCHECK_COORDINATOR_SIZE", size, 1);
	if (boot_is_step(&a->boot)) {
		setenv("GPUCHECK_COORDINATOR_STEP", "1", 1);
	}
	a->coordinator.data = a;
	rc = uv_spawn(&a->loop, &a->coordinator, &o);
	close(fds[1]);
	if (rc < 0) {
		close(fds[0]);
		return err_set(e, -rc, "cannot start the coordinator");
	}
	a->coordinator_runs = true;
	rc = read_contact(a, fds[0], e);
	close(fds[0]);
	return rc;
}

/* Starts the coordinator.  Meanwhile Slurm is asked by which address, NodeAddr,
 * other nodes reach this one: that address comes first.  Without an answer, or
 * with one that leads to loopback, the addresses stay as they are. */
static int start_coordinator(struct agent *a, struct err *e)
{
	const char *node = getenv("SLURMD_NODENAME");
	char *argv[] = { (char *)"scontrol", (char *)"--oneliner",
			 (char *)"show", (char *)"node", (char *)node, NULL };
	struct str text = STR_INIT;
	struct spawn_child child;
	struct spawn_status st;
	char host[NET_HOST_SIZE];
	bool asked = boot_is_step(&a->boot) && a->boot.size > 1 &&
		     node != NULL && spawn_find(argv[0], NULL, 0) &&
		     spawn_start(&child, argv, &text, NULL, TEXT_MAX,
				 NULL) == 0;
	int rc = run_coordinator(a, e);

	if (asked) {
		spawn_finish(&child, clock_now_ns() + AGENT_SLURM_NS, &st);
		if (st.exit_code == 0 && a->contact.n_addrs > 0 &&
		    node_addr_parse(str_text(&text), host, sizeof(host))) {
			node_addr_prefer(&a->contact, host);
		}
	}
	str_release(&text);
	return rc;
}

/* Reads options and nonce of the run, if this node can see its directory;
 * otherwise the options that ssh passed on, and -1 with @e. */
static int read_run(struct agent *a, struct err *e)
{
	json_t *run = rundir_check_trust(a->dir, e) == 0 ?
			      rundir_read_run(a->dir, e) :
			      NULL;
	const char *carried = getenv("GPUCHECK_BOOT_OPTIONS");
	json_t *options;
	int rc = -1;

	spec_init(&a->spec);
	if (run == NULL) {
		options = carried ? json_loads(carried, 0, NULL) : NULL;
		if (options != NULL) {
			spec_from_json(&a->spec, options, NULL);
		}
		json_decref(options);
		return -1;
	}
	if (json_get_text(run, "nonce", a->nonce, sizeof(a->nonce), e) == 0 &&
	    (!boot_hosts(&a->boot) || version_check_run(run, e) == 0)) {
		rc = spec_from_json(&a->spec, run_file(run).options, e);
	}
	json_decref(run);
	return rc;
}

/** Set the rank of @a, and, if it can see the run directory, options and nonce
 *  of the run.  0, or -1 with @e; code EINVAL is a usage error. */
static int agent_identify(struct agent *a, struct err *e)
{
	int64_t deadline = clock_now_ns() + AGENT_DIR_NS;

	if (boot_identify(&a->boot, e) < 0) {
		return -1;
	}
	if (!boot_hosts(&a->boot)) {
		read_run(a, NULL);	/* others can do without it */
		return 0;
	}
	while (read_run(a, e) < 0) {
		if (a->boot.how == BOOT_INNER || e->code != ENOENT ||
		    clock_now_ns() >= deadline) {
			return -1;
		}
		clock_sleep(100 * NS_PER_MS);
	}
	*e = (struct err){ 0 };
	return 0;
}

int agent_boot(struct agent *a, struct err *e)
{
	int64_t deadline, inventory_ns;
	bool hosts;	/* the coordinator */

	if (agent_identify(a, e) < 0 ||
	    spawn_self(a->self, sizeof(a->self), e) < 0) {
		return -1;
	}
	hosts = boot_hosts(&a->boot);
	deadline = clock_now_ns() +
		   spec_boot_first_ns(&a->spec, boot_is_step(&a->boot));
	if (hosts) {
		if (start_coordinator(a, e) < 0 ||
		    boot_publish(&a->boot, a->dir, &a->contact, e) < 0) {
			return -1;
		}
		a->published = true;
		boot_forget_env();
	}
	a->ports = calloc(PORT_MAX, sizeof(*a->ports));
	if (a->ports == NULL) {
		return err_set(e, ENOMEM, "no memory for ports");
	}
	/* of several machines that were recorded each pretend node is one */
	sysfile_root(a->spec.sysroot, a->boot.node, a->root, sizeof(a->root));
	/* a driver that is not loaded takes 20 s to start: of the time to
	 * report in, leave some to connect */
	inventory_ns = spec_boot_ns(&a->spec) * 3 / 4;
	inventory_ns = inventory_ns > AGENT_INVENTORY_NS ? inventory_ns :
							   AGENT_INVENTORY_NS;
	inventory_read(a->inventory, a->root, clock_now_ns() + inventory_ns,
		       a->ports, &a->n_ports, NULL);
	/* ports are tested, not GPUs: what takes long is worth it */
	a->tools = spec_transport_is(a->spec.transport, a->root[0] == '\0' ?
				     XPORT_PORT : XPORT_MODEL);
	if (a->tools) {
		tools_facts(a->root, a->ports, a->n_ports,
			    clock_now_ns() + TOOLS_NS,
			    inventory_seen(a->inventory).facts);
	}
	if (hosts) {
		return 0;
	}
	if (boot_find(&a->boot, a->dir, a->nonce[0] != '\0' ? a->nonce : NULL,
		      &a->contact, deadline, e) < 0) {
		return -1;
	}
	boot_forget_env();
	if (a->nonce[0] == '\0') {
		read_run(a, NULL);	/* rank 0 has it: now or never */
	}
	return 0;
}

/* ---- join ---------------------------------------------------------------- */

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
	struct pollfd out = { .fd = STDOUT_FILENO };
	int64_t now = clock_now_ns(), look_ns = now + JOIN_LOOK_NS;
	int fd;

	/* an address from the environment may be known before rank 0 is up */
	while ((fd = door_dial(a->contact.addrs, a->contact.n_addrs,
			       &a->control, NULL, keys, now + JOIN_CONNECT_NS,
			       now + JOIN_ANSWER_NS, e)) < 0) {
		now = clock_now_ns();
		/* an ssh process that has ended no longer reads our output */
		if ((a->boot.guest && poll(&out, 1, 0) > 0) ||
		    limit_code(e->code) != NULL || now >= deadline_ns) {
			break;
		}
		if (now > look_ns && is_over(a)) {
			return err_set(e, 0, "the run in '%s' has ended",
				       a->dir);
		}
		look_ns = now > look_ns ? now + JOIN_LOOK_NS : look_ns;
		clock_sleep(JOIN_NAP_NS);
		now = clock_now_ns();
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
		return err_hint(e, "another program or run uses the "
				   "coordinator's port");
	}
	return err_hint(e, "the nodes of a run must reach each other by TCP: "
			   "check for a firewall");
}

/* ---- joining ------------------------------------------------------------ */

/* Opens the data door at the address of this end of @fd.  Returns 0, or -1 with
 * @e. */
static int open_door(struct agent *a, int fd, struct err *e)
{
	bool loopback = (a->boot.how == BOOT_INNER && !a->boot.guest) ||
			a->boot.how == BOOT_SINGLE;
	struct sockaddr_storage sa = { 0 }, peer = { 0 };
	socklen_t len = sizeof(sa), peer_len = sizeof(peer);
	struct ip_addr here, there;
	struct interface at;
	int own = net_listen(loopback, spec_ports(&a->spec), e);

	a->door = own < 0 ? NULL :
			    door_open(&a->loop, own, EARLY_MAX, &a->data,
				      a->on_guest, a->on_stranger, a, e);
	if (a->door == NULL) {
		return -1;
	}
	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0 ||
	    getpeername(fd, (struct sockaddr *)&peer, &peer_len) < 0) {
		return err_set(e, errno, "cannot determine the address of this "
					 "node");
	}
	a->own = sa;
	here = ip_of_sockaddr((struct sockaddr *)&sa);
	there = ip_of_sockaddr((struct sockaddr *)&peer);
	if (!ip_equal(&here, &there) &&
	    interface_of((struct sockaddr *)&sa, &at)) {
		STR_COPY(a->ifname, at.name);
	}
	net_set_port(&sa, door_port(a->door));
	net_addr_text((struct sockaddr *)&sa, a->data_addr,
		      sizeof(a->data_addr));
	return 0;
}

int agent_join(struct agent *a, struct err *e)
{
	int64_t deadline = clock_now_ns() + spec_boot_ns(&a->spec);
	uint8_t *secret = a->contact.token;
	struct auth_session keys;
	uv_tcp_t *tcp;
	int fd;

	limit_files_raise();	/* the inventory has what jobs get */
	/* the keys of control and data connections replace the secret */
	if (auth_set(&a->control, AUTH_CONTROL, secret, a->contact.nonce, e) <
		    0 ||
	    auth_set(&a->data, AUTH_DATA, secret, "", e) < 0) {
		return -1;
	}
	explicit_bzero(secret, sizeof(a->contact.token));
	do {
		fd = dial(a, &keys, deadline, e);
		if (fd < 0) {
			return -1;
		}
		tcp = calloc(1, sizeof(*tcp));
		if (tcp == NULL ||
		    (a->door == NULL && open_door(a, fd, e) < 0)) {
			free(tcp);
			close(fd);
			return -1;
		}
		uv_tcp_init(&a->loop, tcp);
		uv_tcp_open(tcp, fd);
		wire_open(&a->wire, (uv_stream_t *)tcp, MSG_TO_AGENT, &keys,
			  a->events, a);
		explicit_bzero(&keys, sizeof(keys));
		wire_send(&a->wire, agent_hello(a));
		/* until it has our hello, or hangs up */
		while (wire_is_open(&a->wire) && a->state <= AGENT_REFUSED) {
			uv_run(&a->loop, UV_RUN_ONCE);
		}
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
	struct run_entry absent = { RUN_ENTRY_NONE };
	char text[600];

	/* a coordinator that is not there in time is lost like one that goes:
	 * no fault of an agent that waited */
	a->exit_code = a->why.code == EINVAL	? CODE_USAGE :
		       a->why.code == ETIMEDOUT &&
				!boot_hosts(&a->boot) ? CODE_PARTIAL :
							CODE_UNABLE;
	if (boot_hosts(&a->boot) && a->contact.n_addrs == 0 &&
	    (limit != NULL || a->coordinator_end.signal != 0 ||
	     a->why.code == EPROTONOSUPPORT)) {
		/* there is no coordinator that could say so */
		run_error_note(a->dir, &a->why, a->exit_code);
	}
	if (boot_hosts(&a->boot) && !a->published) {
		boot_publish_failure(&a->boot, a->dir, a->nonce, &a->why);
	} else if (limit != NULL && a->nonce[0] != '\0') {
		limit_text(&a->why, &least, text, sizeof(text));
		absent.node = agent_node(a);
		absent.rank = a->boot.rank;
		absent.source = "agent";
		absent.detail = text;
		absent.code = limit;
		run_absent_note(a->dir, &absent, NULL);
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
