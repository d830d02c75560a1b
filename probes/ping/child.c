/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The child of a node: it opens a door, says so, is told about all others,
 * asks them all, and answers them until nobody needs it any more.
 */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/net.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "probes/host/sysfile.h"
#include "probes/ping/private.h"

/* ---- echo ---------------------------------------------------------------- */

static void ping_echo_close(struct ping_echo *x);

/* Packets of one call: others wait as well. */
#define SERVE_MAX 256

bool ping_bucket_take(struct ping_bucket *b, int64_t now_ns)
{
	b->tokens += (double)(now_ns - b->at_ns) * PING_ECHO_RATE / NS_PER_S;
	b->tokens = fmin(b->tokens, PING_ECHO_BURST);
	b->at_ns = now_ns;
	if (b->tokens < 1) {
		return false;
	}
	b->tokens--;
	return true;
}

/* Bind @fd to one of @ports; 0, or -1. */
static int bind_one(int fd, sa_family_t family, const struct net_ports *ports)
{
	const struct ip_addr any = { .family = family };
	int port, rc = -1;

	for (int i = 0; rc < 0 && (port = net_ports_next(ports, i)) >= 0; i++) {
		struct sockaddr_storage sa;
		socklen_t len = ip_sockaddr(&any, (uint16_t)port, &sa);

		rc = bind(fd, (struct sockaddr *)&sa, len);
	}
	return rc;
}

static int open_udp(sa_family_t family, const struct net_ports *ports)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, bytes = 1024 * 1024;

	if (fd < 0) {
		return -1;
	}
	if (family == AF_INET6) {
		setsockopt(fd, SOL_IPV6, IPV6_V6ONLY, &on, sizeof(on));
		setsockopt(fd, SOL_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
	} else {
		setsockopt(fd, SOL_IP, IP_PKTINFO, &on, sizeof(on));
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	/* The kernel starts to stamp packets a little after the first socket
	 * asks for stamps: ask long before the first round trip. */
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	if (bind_one(fd, family, ports) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Open what this machine allows, on ports of @s; -1 with @e when nothing can be
 * opened.  Pretend nodes are addresses of the loopback: no packet of another
 * interface is taken (before Linux 5.7 that needs CAP_NET_RAW). */
static int ping_echo_open(struct ping_echo *x, const struct spec *s,
			  struct err *e)
{
	const struct net_ports ports = spec_ports(s);

	*x = (struct ping_echo){ .bucket = { .tokens = PING_ECHO_BURST,
					     .at_ns = clock_now_ns() } };
	x->udp4 = open_udp(AF_INET, &ports);
	x->udp6 = open_udp(AF_INET6, &ports);
	x->tcp = net_listen(false, ports, NULL);
	for (int i = 0; s->local && i < 3; i++) {
		const int fds[] = { x->udp4, x->udp6, x->tcp };

		setsockopt(fds[i], SOL_SOCKET, SO_BINDTODEVICE, "lo",
			   sizeof("lo"));
	}
	x->heard = calloc(PING_HEARD_MAX, sizeof(*x->heard));
	if (x->heard == NULL ||
	    hash_random(x->key, sizeof(x->key)) < 0 ||
	    (x->udp4 < 0 && x->udp6 < 0)) {
		err_set(e, errno, "cannot open a socket to answer on");
		ping_echo_close(x);
		return -1;
	}
	return 0;
}

static void ping_echo_close(struct ping_echo *x)
{
	const int fds[] = { x->udp4, x->udp6, x->tcp };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (fds[i] >= 0) {
			close(fds[i]);
		}
	}
	free(x->heard);
	*x = (struct ping_echo){ .udp4 = -1, .udp6 = -1, .tcp = -1 };
}

/* Ports and key, for the others; new reference. */
static json_t *ping_echo_json(const struct ping_echo *x)
{
	struct ping_door door = { .udp4 = net_port(x->udp4),
				  .udp6 = net_port(x->udp6),
				  .tcp = net_port(x->tcp) };

	memcpy(door.key, x->key, sizeof(door.key));
	return ping_door_json(&door);
}

/* Each pair of addresses once. */
static void remember(struct ping_echo *x, const struct ping_got *got)
{
	for (size_t i = 0; i < x->n_heard; i++) {
		if (ip_equal(&x->heard[i].from, &got->from) &&
		    ip_equal(&x->heard[i].to, &got->to)) {
			return;
		}
	}
	if (x->n_heard < PING_HEARD_MAX) {
		x->heard[x->n_heard++] = (struct ping_heard){
			.from = got->from, .to = got->to,
		};
	}
}

static void answer(struct ping_echo *x, int fd, uint8_t *buf,
		   const struct ping_got *got, int64_t now_ns)
{
	/* from the address that was asked, by whatever way the routes have */
	const struct ping_socket s = { .fd = fd, .ip = got->to };
	struct ping_mark mark;

	if (!ping_mark_read(buf, got->n, &mark) ||
	    (mark.type != PING_ASK && mark.type != PING_TRACE) ||
	    !hash_equal(mark.key, x->key, sizeof(x->key))) {
		return;
	}
	if (mark.type == PING_TRACE) {
		remember(x, got);
	}
	if (!ping_bucket_take(&x->bucket, now_ns)) {
		return;
	}
	mark.type = PING_ANSWER;
	memset(mark.key, 0, sizeof(mark.key));
	ping_mark_write(&mark, buf, got->n);
	ping_socket_send(&s, &got->from, got->port, buf, got->n);
}

/* Something has come in on @fd, one of its sockets; @buf has
 * PING_PACKET_MAX bytes. */
static void ping_echo_serve(struct ping_echo *x, int fd, uint8_t *buf,
			    int64_t now_ns)
{
	struct ping_got got;

	for (int i = 0; fd == x->tcp && i < SERVE_MAX; i++) {
		int guest = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (guest < 0) {
			return;
		}
		close(guest);
	}
	for (int i = 0; fd != x->tcp && i < SERVE_MAX; i++) {
		if (!ping_socket_recv(fd, buf, PING_PACKET_MAX, &got)) {
			return;
		}
		answer(x, fd, buf, &got, now_ns);
	}
}

/* ---- recv ---------------------------------------------------------------- */

/* Answers, errors and connections come in. */

/* Packets of one call: others wait as well. */
#define TAKE_MAX 256

static bool is_ours(uint64_t tag, uint64_t own)
{
	return hash_equal(&tag, &own, sizeof(tag));
}

/* The own mark that an answer has (@reply), or that an error quotes, if it
 * quotes so much. */
static bool read_mark(const struct ping_child *c, uint32_t own, bool reply,
		      size_t n, struct ping_mark *mark)
{
	const struct ping_socket *s = &c->own[own].socket;
	bool with_ip = reply && s->method == PING_RAW &&
		       s->ip.family == AF_INET;
	bool read = s->method == PING_UDP ?
			    ping_mark_read(c->packet, n, mark) &&
				    (!reply || mark->type == PING_ANSWER) :
			    ping_icmp_read(s->ip.family, with_ip, reply,
					   c->packet, n, mark);

	return read && is_ours(mark->tag, c->tag);
}

/* ---- errors ------------------------------------------------------------ */

/* The path from @own to address @to, PING_NONE when there is none. */
static uint32_t path_to(const struct ping_child *c, uint32_t own,
			const struct ip_addr *to)
{
	for (int i = 0; i < c->mesh.n_ends; i++) {
		uint32_t path = c->path_at[own * (uint32_t)c->mesh.n_ends +
					   (uint32_t)i];

		if (path != PING_NONE &&
		    ip_equal(&c->mesh.ends[i].at.net.ip, to)) {
			return path;
		}
	}
	return PING_NONE;
}

static void take_bounce(struct ping_child *c, uint32_t own,
			const struct ping_bounce *b)
{
	struct ping_mark mark;
	bool quoted = read_mark(c, own, false, b->n, &mark);
	uint32_t path = quoted ? ping_engine_path(&c->engine, mark.serial) :
				 PING_NONE;
	struct ping_sights *s;

	if (path == PING_NONE) {
		path = path_to(c, own, &b->to);
	}
	if (path == PING_NONE || c->paths[path].own != own) {
		return;
	}
	s = &c->paths[path].sights;
	if (b->by.family == 0) {
		s->send_code = b->code;
	} else if (b->code != EMSGSIZE) {
		s->icmp = true;
		s->icmp_by = b->by;
		s->icmp_type = b->icmp_type;
		s->icmp_code = b->icmp_code;
	}
	if (quoted) {
		ping_engine_refuse(&c->engine, mark.serial);
	}
}

/* ---- answers ----------------------------------------------------------- */

static void take_answer(struct ping_child *c, uint32_t own,
			const struct ping_got *got, int64_t now_ns)
{
	struct ping_mark mark;
	struct ping_path *p;
	uint32_t path;

	if (!read_mark(c, own, true, got->n, &mark)) {
		return;
	}
	path = ping_engine_path(&c->engine, mark.serial);
	if (path == PING_NONE || c->paths[path].own != own) {
		return;		/* too late, or twice */
	}
	p = &c->paths[path];
	if (!ip_equal(&got->from, &c->mesh.ends[p->dst].at.net.ip)) {
		p->sights.wrong = true;
		p->sights.wrong_by = got->from;
		ping_engine_refuse(&c->engine, mark.serial);
		return;
	}
	if (got->ifindex != 0 && got->ifindex != c->own[own].ifindex) {
		p->sights.stray_if = got->ifindex;
	}
	ping_engine_answer(&c->engine, mark.serial, now_ns, got->waited_ns);
}

/* Own address @own has something. */
static void ping_take_own(struct ping_child *c, uint32_t own, bool trace)
{
	int fd = trace ? c->own[own].trace.fd : c->own[own].socket.fd;
	struct ping_bounce bounce;
	struct ping_got got;

	for (int i = 0; i < TAKE_MAX &&
			ping_socket_recv(fd, c->packet, sizeof(c->packet),
					 &got); i++) {
		if (trace) {
			struct ping_mark mark;

			if (ping_mark_read(c->packet, got.n, &mark) &&
			    mark.type == PING_ANSWER &&
			    is_ours(mark.tag, c->trace_tag) &&
			    mark.serial < c->n_paths &&
			    c->paths[mark.serial].own == own) {
				c->paths[mark.serial].sights.traced_back = true;
			}
		} else {
			take_answer(c, own, &got, clock_now_ns());
		}
	}
	for (int i = 0; i < TAKE_MAX &&
			ping_socket_bounce(fd, c->packet, sizeof(c->packet),
					   &bounce); i++) {
		if (!trace) {
			take_bounce(c, own, &bounce);
		}
	}
}

/* ---- TCP --------------------------------------------------------------- */

/* The connection of flight @serial has come to something. */
static void ping_take_tcp(struct ping_child *c, uint32_t serial)
{
	int *slot = &c->tcp_fds[serial & (c->engine.rules.window - 1)];
	uint32_t path = ping_engine_path(&c->engine, serial);
	socklen_t len = sizeof(int);
	int code = 0;

	if (*slot < 0) {
		return;
	}
	getsockopt(*slot, SOL_SOCKET, SO_ERROR, &code, &len);
	close(*slot);
	*slot = -1;
	if (path == PING_NONE) {
		return;		/* too late */
	}
	c->paths[path].sights.connected |= code == 0;
	if (code != 0) {
		c->paths[path].sights.refused_code = code;
	}
	if (code == 0 || code == ECONNREFUSED) {
		ping_engine_answer(&c->engine, serial, clock_now_ns(), 0);
	} else {
		ping_engine_refuse(&c->engine, serial);
	}
}

/* ---- child --------------------------------------------------------------- */

/* Probes that may go out before the answers are looked at. */
#define BURST_MAX  32
#define EVENTS_MAX 64
/* No wait is longer, so that it shows when one took longer... */
#define WAIT_NS (100 * NS_PER_MS)
/* ... than sockets have room for what comes meanwhile. */
#define DEAF_NS (100 * NS_PER_MS)

/* ---- before it is told ------------------------------------------------- */

static int open_door(struct ping_child *c, struct err *e)
{
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll < 0) {
		return err_set(e, errno, "cannot wait for events");
	}
	if (ping_echo_open(&c->echo, &c->spec, e) < 0) {
		return -1;
	}
	for (int i = 0; i < 3; i++) {
		const int fds[] = { c->echo.udp4, c->echo.udp6, c->echo.tcp };

		if (fds[i] >= 0) {
			ping_watch(c, fds[i], EPOLLIN, EVENT_ECHO,
				   (uint32_t)fds[i]);
		}
	}
	ping_watch(c, STDIN_FILENO, EPOLLIN, EVENT_STDIN, 0);
	node_task_ready(ping_echo_json(&c->echo));
	return 0;
}

/* As many connections at a time as this process may have. */
static void raise_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

static int read_options(struct ping_child *c, const struct node_args *args,
			struct err *e)
{
	int64_t port = 0;

	STR_COPY(c->node, args->node);
	c->spec = args->spec;
	if (c->spec.tcp[0] != '\0' && strcmp(c->spec.tcp, "auto") != 0 &&
	    units_parse_int(c->spec.tcp, 1, UINT16_MAX, &port, e) < 0) {
		return -1;
	}
	c->tcp_port = (uint16_t)port;
	return 0;
}

/* ---- told -------------------------------------------------------------- */

/* Nodes in an order that is another for each, so that not all ask the same
 * one at the same time. */
static void list_paths(struct ping_child *c)
{
	const struct ping_mesh *m = &c->mesh;

	for (int k = 1; k < m->n_nodes; k++) {
		const struct ping_node *n = &m->nodes[(c->me + k) %
						      m->n_nodes];

		for (int b = n->first; b < n->first + n->n; b++) {
			for (int own = 0; own < c->n_own; own++) {
				if (!ping_mesh_path(m, c->own[own].end, b)) {
					continue;
				}
				c->path_at[own * m->n_ends + b] = c->n_paths;
				c->paths[c->n_paths++] = (struct ping_path){
					.own = (uint16_t)own, .dst = b,
				};
			}
		}
	}
}

static int make_paths(struct ping_child *c, struct err *e)
{
	const struct ping_node *me = &c->mesh.nodes[c->me];
	size_t most = ping_mesh_paths(&c->mesh, c->me);
	size_t map = (size_t)me->n * (size_t)c->mesh.n_ends;

	c->n_own = me->n;
	c->own = calloc((size_t)me->n + 1, sizeof(*c->own));
	c->paths = calloc(most + 1, sizeof(*c->paths));
	c->path_at = malloc((map + 1) * sizeof(*c->path_at));
	c->waiting.paths = calloc(most + 1, sizeof(*c->waiting.paths));
	if (c->own == NULL || c->paths == NULL || c->path_at == NULL ||
	    c->waiting.paths == NULL) {
		return err_set(e, ENOMEM, "no memory for %zu paths", most);
	}
	memset(c->path_at, 0xff, map * sizeof(*c->path_at));
	for (int i = 0; i < me->n; i++) {
		c->own[i].end = me->first + i;
	}
	list_paths(c);
	return 0;
}

/* Entries of the kernel's table that asking takes: of each interface those
 * that are on its wire. */
static size_t count_neighbours(const struct ping_child *c, sa_family_t family)
{
	size_t n = 0;

	for (uint32_t i = 0; i < c->n_paths; i++) {
		const struct ping_path *p = &c->paths[i];
		const struct ping_end *own = &c->mesh.ends[c->own[p->own].end];

		n += own->at.net.ip.family == family &&
		     own->segment == c->mesh.ends[p->dst].segment &&
		     strcmp(own->at.name, "lo") != 0;
	}
	return n;
}

/* Reports, before the first probe, if there are more targets than the kernel's
 * neighbour tables hold. */
static void say_neighbours(const struct ping_child *c)
{
	static const struct {
		sa_family_t family;
		const char *file;
	} tables[] = {
		{ AF_INET, PING_NEIGHBOURS_V4 },
		{ AF_INET6, PING_NEIGHBOURS_V6 },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		size_t n = count_neighbours(c, tables[i].family);
		int64_t most = 0;
		char text[32];

		if (sysfile_read(text, sizeof(text), "%s", tables[i].file) >
			    0 &&
		    units_parse_int(text, 1, INT32_MAX, &most, NULL) == 0 &&
		    n > (size_t)most) {
			node_task_fact("ping", PING_FACT_NEIGHBOURS,
				       tables[i].file, "%zu %lld", n,
				       (long long)most);
		}
	}
}

static int make_tcp(struct ping_child *c, struct err *e)
{
	uint32_t window = c->engine.rules.window;

	raise_files();
	c->tcp_fds = malloc(window * sizeof(*c->tcp_fds));
	if (c->tcp_fds == NULL) {
		return err_set(e, ENOMEM, "no memory for connections");
	}
	for (uint32_t i = 0; i < window; i++) {
		c->tcp_fds[i] = -1;
	}
	return 0;
}

/* The line that says who all the others are. */
static int take_told(struct ping_child *c, const json_t *line, struct err *e)
{
	struct ping_rules rules;
	int64_t me, fleet;

	if (c->me >= 0) {
		return err_set(e, EPROTO, "the list of addresses came twice");
	}
	if (ping_mesh_parse(json_object_get(line, "mesh"), &c->mesh, e) < 0 ||
	    json_get_int(line, "me", 0, c->mesh.n_nodes - 1, &me, e) < 0 ||
	    json_get_int(line, "fleet", 1, PING_MAX_NODES, &fleet, e) < 0) {
		return -1;
	}
	c->me = (int)me;
	if (make_paths(c, e) < 0) {
		return -1;
	}
	rules = ping_rules_for(&c->spec, (int)fleet, c->n_paths);
	if (ping_engine_init(&c->engine, &rules, c->n_paths) < 0) {
		return err_set(e, ENOMEM, "no memory for %u paths",
			       c->n_paths);
	}
	if (c->spec.tcp[0] != '\0' && make_tcp(c, e) < 0) {
		return -1;
	}
	say_neighbours(c);
	ping_open_all(c);
	clock_utc(c->start_utc);
	ping_engine_start(&c->engine, clock_now_ns());
	c->running = true;
	return 0;
}

/* ---- the loop ---------------------------------------------------------- */

/* Send what is due, decide what is known; returns when to be woken. */
static int64_t advance(struct ping_child *c)
{
	int64_t wake = INT64_MAX;
	uint32_t path;

	for (int i = 0; i < BURST_MAX; i++) {
		path = ping_engine_next(&c->engine, clock_now_ns(), &wake);
		if (path == PING_NONE) {
			break;
		}
		ping_send(c, path);
		wake = 0;
	}
	while ((path = ping_engine_settled(&c->engine)) != PING_NONE) {
		/* all that can be known of path is: its row, unless there is
		 * more to ask */
		int64_t now_ns = clock_now_ns();

		if (!ping_look_elsewhere(c, path) && !ping_size_next(c, path)) {
			ping_decided(c, path, now_ns);
		}
		wake = 0;
	}
	ping_size_send(c, clock_now_ns(), &wake);
	if (ping_engine_done(&c->engine) && c->waiting.n == 0) {
		c->running = false;
		node_task_finished();
		return INT64_MAX;
	}
	return wake;
}

/* poll() knows milliseconds, which is too coarse for the pace. */
static void wait_until(const struct ping_child *c, int64_t wake_ns)
{
	struct pollfd p = { .fd = c->epoll, .events = POLLIN };
	int64_t left = wake_ns - clock_now_ns();
	struct timespec ts;

	left = left < 0 ? 0 : left > WAIT_NS ? WAIT_NS : left;
	ts = (struct timespec){ .tv_sec = left / NS_PER_S,
				.tv_nsec = left % NS_PER_S };
	ppoll(&p, 1, &ts, NULL);
}

/* False when nobody needs this node any more. */
static bool hear(struct ping_child *c, struct err *e)
{
	json_t *told;
	int rc;

	while ((rc = node_task_hear(&told)) > 0) {
		rc = take_told(c, told, e);
		json_decref(told);
		if (rc < 0) {
			break;
		}
	}
	return rc == 0;
}

static bool take_event(struct ping_child *c, uint64_t data, struct err *e)
{
	uint32_t number = (uint32_t)data;

	switch ((enum ping_event)(data >> 32)) {
	case EVENT_STDIN:
		return hear(c, e);
	case EVENT_ECHO:
		ping_echo_serve(&c->echo, (int)number, c->packet,
				clock_now_ns());
		break;
	case EVENT_OWN:
	case EVENT_TRACE:
		ping_take_own(c, number, data >> 32 == EVENT_TRACE);
		break;
	case EVENT_TCP:
		ping_take_tcp(c, number);
		break;
	}
	return true;
}

/* Detect that this process did not run for longer than socket buffers last,
 * since @looked_ns or since the wait until @wake_ns ended. The buffers are full
 * then until all their data is read. Returns the time now. */
static int64_t look_late(struct ping_child *c, int64_t looked_ns,
			 int64_t wake_ns)
{
	int64_t now_ns = clock_now_ns(), due_ns = looked_ns + WAIT_NS;

	due_ns = wake_ns < looked_ns ? looked_ns :
		 wake_ns < due_ns    ? wake_ns : due_ns;
	c->deaf |= now_ns - due_ns > DEAF_NS;
	if (c->running && c->deaf) {
		ping_engine_deaf(&c->engine);
	}
	return now_ns;
}

static void run(struct ping_child *c, struct err *e)
{
	struct epoll_event events[EVENTS_MAX];
	int64_t looked_ns = clock_now_ns();
	bool needed = hear(c, e);	/* it may have come with the task */

	while (needed) {
		int64_t wake = c->running ? advance(c) : INT64_MAX;
		int n;

		wait_until(c, wake);
		looked_ns = look_late(c, looked_ns, wake);
		n = epoll_wait(c->epoll, events, EVENTS_MAX, 0);
		c->deaf &= n > 0;
		for (int i = 0; i < n && needed; i++) {
			needed = take_event(c, events[i].data.u64, e);
		}
	}
	for (uint32_t i = 0; c->running && i < c->n_paths; i++) {
		ping_cut_short(c, i, clock_now_ns());
	}
}

int ping_child(const struct node_args *args, struct err *e)
{
	struct ping_child *c = calloc(1, sizeof(*c));
	struct err why = { 0 };
	uint64_t random[3];

	if (c == NULL || hash_random(random, sizeof(random)) < 0) {
		free(c);
		return err_set(e, ENOMEM, "no memory, or no random bytes");
	}
	c->me = -1;
	c->routes.fd = -1;
	c->tag = random[0];
	c->trace_tag = random[1];
	c->echo_id = (uint16_t)random[2];
	c->echo = (struct ping_echo){.udp4 = -1, .udp6 = -1, .tcp = -1};
	if (read_options(c, args, &why) == 0 && open_door(c, &why) == 0) {
		run(c, &why);
		/* whose traces were heard: their answers may have been lost
		 * on the way */
		for (size_t i = 0; i < c->echo.n_heard; i++) {
			char from[IP_TEXT], to[IP_TEXT];

			node_task_fact(
				"ping", PING_FACT_HEARD, "trace", "%s %s",
				ip_text(&c->echo.heard[i].from, from,
					sizeof(from)),
				ip_text(&c->echo.heard[i].to, to, sizeof(to)));
		}
	}
	ping_close_all(c);
	ping_echo_close(&c->echo);
	ping_neigh_release(&c->neighs);
	ping_engine_release(&c->engine);
	ping_mesh_release(&c->mesh);
	free(c->own);
	free(c->paths);
	free(c->path_at);
	free(c->waiting.paths);
	free(c->tcp_fds);
	close(c->epoll);
	free(c);
	*e = why;
	return why.text[0] != '\0' ? -1 : 0;
}
