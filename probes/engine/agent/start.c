/* SPDX-License-Identifier: BSD-3-Clause */
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
#include "lib/data/rundir.h"
#include "lib/data/version.h"
#include "probes/engine/agent/agent.h"
#include "probes/host/inventory.h"
#include "probes/host/sysfile.h"

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

static bool is_loopback(const struct sockaddr_storage *sa)
{
	const struct ip_addr ip = ip_of_sockaddr((const struct sockaddr *)sa);

	return ip.family == AF_INET ? ip.bytes[0] == 127 :
		memcmp(ip.bytes, &in6addr_loopback, sizeof(ip.bytes)) == 0;
}

/* @addr first, what stood before it one place on. */
static void put_first(struct boot_contact *c, const char *addr)
{
	int i = 0;

	while (i < c->n_addrs && strcmp(c->addrs[i], addr) != 0) {
		i++;
	}
	if (i == NET_MAX_ADDRS) {
		i--;		/* the last one has to go */
	} else if (i == c->n_addrs) {
		c->n_addrs++;
	}
	memmove(c->addrs[1], c->addrs[0], (size_t)i * sizeof(c->addrs[0]));
	str_copy(c->addrs[0], sizeof(c->addrs[0]), addr);
}

void node_addr_prefer(struct boot_contact *c, const char *host)
{
	struct sockaddr_storage found[NET_MAX_ADDRS];
	char text[NET_HOST_SIZE + 16], addr[NET_ADDR_TEXT];
	int n;

	snprintf(text, sizeof(text), strchr(host, ':') ? "[%.255s]%s" : "%.255s%s",
		 host, strrchr(c->addrs[0], ':'));
	n = net_lookup(text, found, NET_MAX_ADDRS, NULL);
	/* a machine may call itself 127.0.1.1; others do not */
	while (n-- > 0) {
		if (!is_loopback(&found[n])) {
			put_first(c, net_addr_text((struct sockaddr *)&found[n],
						   addr, sizeof(addr)));
		}
	}
}

/* Ask, where this is a node of Slurm; node_addr_end() is due. */
static void node_addr_begin(struct node_addr *n)
{
	const char *node = getenv("SLURMD_NODENAME");
	char *argv[] = { (char *)"scontrol", (char *)"--oneliner",
			 (char *)"show", (char *)"node", (char *)node, NULL };

	*n = (struct node_addr){ .text = STR_INIT };
	n->asked = node != NULL && spawn_find(argv[0], NULL, 0) &&
		   spawn_start(&n->child, argv, &n->text, NULL, TEXT_MAX,
			       NULL) == 0;
}

/* Put what Slurm says by @deadline_ns in front of the addresses of @c; without
 * an answer, or with one that leads to loopback, @c stays as it is. */
static void node_addr_end(struct node_addr *n, struct boot_contact *c,
			  int64_t deadline_ns)
{
	char host[NET_HOST_SIZE];
	struct spawn_status st;

	if (n->asked) {
		spawn_finish(&n->child, deadline_ns, &st);
	}
	if (n->asked && st.exit_code == 0 && c->n_addrs > 0 &&
	    node_addr_parse(str_text(&n->text), host, sizeof(host))) {
		node_addr_prefer(c, host);
	}
	str_release(&n->text);
	n->asked = false;
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

/* It has closed its stdout without a word there: why, -1. */
static int ended_early(struct agent *a, struct err *e)
{
	int64_t deadline = clock_now_ns() + AGENT_CONTACT_NS;
	char end[64];

	while (a->coordinator_runs && clock_now_ns() < deadline) {
		uv_run(&a->loop, UV_RUN_NOWAIT);
		clock_sleep(10 * NS_PER_MS);
	}
	err_set(e, 0, "the coordinator ended before the run began: %s",
		spawn_status_text(&a->coordinator_end, end, sizeof(end)));
	return a->coordinator_end.signal != SIGKILL ? -1 :
		err_hint(e, "if nobody sent the signal, it was the OOM killer: "
			    "dmesg of this node");
}

/* Read the contact that the coordinator writes to its stdout. */
static int read_contact(struct agent *a, int fd, struct err *e)
{
	char text[PIPE_BUF]; /* one write: whole or not at all */
	ssize_t n = net_wait(fd, POLLIN, clock_now_ns() + AGENT_CONTACT_NS) == 0
			    ? read(fd, text, sizeof(text))
			    : -1;
	int rc = n < 0 ? err_set(e, ETIMEDOUT,
				 "the coordinator did not respond") :
		 n == 0 ? ended_early(a, e) :
			  boot_contact_parse(text, (size_t)n, &a->contact, e);

	explicit_bzero(text, sizeof(text));
	return rc;
}

static int run_coordinator(struct agent *a, struct err *e)
{
	char *args[] = { a->self, (char *)"coordinator", (char *)a->dir, NULL };
	uv_stdio_container_t io[3] = {
		/* our front's news of who will not come */
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
		return err_set(e, errno, "cannot make a pipe");
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

/* Meanwhile Slurm is asked which of the addresses of this node comes first. */
static int start_coordinator(struct agent *a, struct err *e)
{
	struct node_addr slurms = { 0 };
	int rc;

	if (boot_is_step(&a->boot) && a->boot.size > 1) {
		node_addr_begin(&slurms);
	}
	rc = run_coordinator(a, e);
	node_addr_end(&slurms, &a->contact, clock_now_ns() + AGENT_SLURM_NS);
	return rc;
}

/* Where the directory is not to be seen: what ssh carried along. */
static void read_carried(struct agent *a)
{
	const char *text = getenv("GPUCHECK_BOOT_OPTIONS");
	json_t *options = text != NULL ? json_loads(text, 0, NULL) : NULL;

	if (options != NULL) {
		spec_from_json(&a->spec, options, NULL);
	}
	json_decref(options);
}

/* Options and nonce of the run, when this node can see its directory. */
static int read_run(struct agent *a, struct err *e)
{
	json_t *run = rundir_check_trust(a->dir, e) == 0 ?
			      rundir_read_run(a->dir, e) :
			      NULL;
	int rc = -1;

	spec_init(&a->spec);
	if (run == NULL) {
		read_carried(a);
		return -1;
	}
	if (json_get_text(run, "nonce", a->nonce, sizeof(a->nonce), e) == 0 &&
	    (!boot_hosts(&a->boot) || version_check_run(run, e) == 0)) {
		rc = spec_from_json(&a->spec, run_file(run).options, e);
	}
	json_decref(run);
	return rc;
}

/* The same, of a directory that may not be there yet. */
static int await_run(struct agent *a, struct err *e)
{
	int64_t deadline = clock_now_ns() + AGENT_DIR_NS;

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

/* A driver that is not loaded takes 20 s to start: of the time to report in, so
 * much that some is left to connect. */
static int64_t inventory_ns(const struct spec *s)
{
	int64_t ns = spec_boot_ns(s) * 3 / 4;

	return ns > AGENT_INVENTORY_NS ? ns : AGENT_INVENTORY_NS;
}

int agent_identify(struct agent *a, struct err *e)
{
	if (boot_identify(&a->boot, e) < 0) {
		return -1;
	}
	if (boot_hosts(&a->boot)) {
		return await_run(a, e);
	}
	read_run(a, NULL);	/* others may do without the directory */
	return 0;
}

/* Until the coordinator is found: who am I, what is here. */
int agent_boot(struct agent *a, struct err *e)
{
	const struct limit_user least = { .files = AGENT_FILES };
	int64_t deadline;
	bool hosts;	/* the coordinator */

	if (agent_identify(a, e) < 0 || limit_files_check(&least, e) < 0 ||
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
	inventory_read(a->inventory, a->root,
		       clock_now_ns() + inventory_ns(&a->spec), a->ports,
		       &a->n_ports, NULL);
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
