/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpucheck-ping: the child of a node opens its ports and reports them, is told
 * about all other nodes, pings them, and answers until it is told to end.
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

/* Packets of one call: others wait as well. */
#define SERVE_MAX 256

bool ping_echo_take(struct ping_echo *x, int64_t now_ns)
{
	x->tokens += (double)(now_ns - x->at_ns) * PING_ECHO_RATE / NS_PER_S;
	x->tokens = fmin(x->tokens, PING_ECHO_BURST);
	x->at_ns = now_ns;
	if (x->tokens < 1) {
		return false;
	}
	x->tokens--;
	return true;
}

/* Open a socket on one of @ports; -1 if none is free. */
static int open_udp(sa_family_t family, const struct net_ports *ports)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const struct ip_addr any = { .family = family };
	int on = 1, bytes = 1024 * 1024, port;

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
	for (int i = 0; (port = net_ports_next(ports, i)) >= 0; i++) {
		struct sockaddr_storage sa;
		socklen_t len = ip_sockaddr(&any, (uint16_t)port, &sa);

		if (bind(fd, (struct sockaddr *)&sa, len) == 0) {
			return fd;
		}
	}
	close(fd);
	return -1;
}

static void answer(struct ping_echo *x, int fd, uint8_t *buf,
		   const struct ping_got *got, int64_t now_ns)
{
	/* from the address that was asked, by whatever way the routes have */
	struct ping_socket s = { .fd = fd, .ip = got->to };
	size_t n = got->n;
	bool counted;
	struct ping_mark mark;

	if (!ping_mark_read(buf, got->n, &mark) ||
	    (mark.type != PING_ASK && mark.type != PING_TRACE &&
	     mark.type != PING_COUNTED) ||
	    !hash_equal(mark.key, x->key, sizeof(x->key))) {
		return;
	}
	if (mark.type == PING_TRACE) {
		size_t i = 0;

		/* each pair of addresses once */
		while (i < x->n_heard &&
		       (!ip_equal(&x->heard[i].from, &got->from) ||
			!ip_equal(&x->heard[i].to, &got->to))) {
			i++;
		}
		if (i == x->n_heard && i < PING_HEARD_MAX) {
			x->heard[x->n_heard++] = *got;
		}
	}
	counted = mark.type == PING_COUNTED;
	if (counted) {
		mark.from = ping_count(x, got);
		n = PING_MARK_BYTES;
	}
	if (!ping_echo_take(x, now_ns)) {
		return;
	}
	mark.type = PING_ANSWER;
	memset(mark.key, 0, sizeof(mark.key));
	ping_mark_write(&mark, buf, n);
	ping_socket_send(&s, &got->from, got->port, buf, n);
	/* once more: what drops answers from one port lets others pass */
	s.fd = x->second[fd == x->udp6];
	if (counted && s.fd >= 0 && got->n >= 2 * n &&
	    ping_echo_take(x, now_ns)) {
		ping_socket_send(&s, &got->from, got->port, buf, n);
	}
}

/* Answer what has come in on @fd, one of the sockets of @x; @buf has
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

	return read && hash_equal(&mark->tag, &c->tag, sizeof(mark->tag));
}

/* ---- errors ------------------------------------------------------------ */

static void take_bounce(struct ping_child *c, uint32_t own,
			const struct ping_got *b)
{
	const size_t n_ends = (size_t)c->mesh.n_ends;
	struct ping_mark mark;
	bool quoted = read_mark(c, own, false, b->n, &mark);
	uint32_t path = quoted ? ping_engine_path(&c->engine, mark.serial) :
				 PING_NONE;
	struct ping_sights *s;

	/* the error quotes too little: by the address that it is about */
	for (size_t i = 0; i < n_ends && path == PING_NONE; i++) {
		if (ip_equal(&c->mesh.ends[i].at.net.ip, &b->to)) {
			path = c->path_at[own * n_ends + i];
		}
	}
	if (path >= c->n_paths || c->paths[path].own != own) {
		return;
	}
	s = &c->paths[path].sights;
	if (b->from.family == 0) {
		s->send_code = b->code;
	} else if (b->code != EMSGSIZE) {
		s->icmp = true;
		s->icmp_by = b->from;
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
	if (path >= c->n_paths || c->paths[path].own != own) {
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

/* Take the packets and the errors of own address @own. */
static void ping_take_own(struct ping_child *c, uint32_t own, bool trace)
{
	int fd = trace ? c->own[own].trace.fd : c->own[own].socket.fd;
	struct ping_got got;

	for (int i = 0; i < TAKE_MAX &&
			ping_socket_recv(fd, c->packet, sizeof(c->packet),
					 &got); i++) {
		if (trace) {
			struct ping_mark mark;

			if (ping_mark_read(c->packet, got.n, &mark) &&
			    mark.type == PING_ANSWER &&
			    hash_equal(&mark.tag, &c->trace_tag,
				       sizeof(mark.tag)) &&
			    mark.serial < c->n_paths &&
			    c->paths[mark.serial].own == own) {
				c->paths[mark.serial].sights.traced_back = true;
			}
		} else {
			take_answer(c, own, &got, clock_now_ns());
		}
	}
	for (int i = 0;
	     i < TAKE_MAX &&
	     ping_socket_bounce(fd, c->packet, sizeof(c->packet), &got);
	     i++) {
		if (!trace) {
			take_bounce(c, own, &got);
		}
	}
}

/* ---- TCP --------------------------------------------------------------- */

/* Take the result of the connection of flight @serial. */
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
/* Paths and flows of a node: what memory is for. */
#define FLOWS_MAX (1 << 24)

/* ---- before the mesh --------------------------------------------------- */

/* Open what this machine allows; -1 with @e if nothing can be opened. */
static int open_door(struct ping_child *c, struct err *e)
{
	const struct net_ports ports = spec_ports(&c->spec);
	struct ping_echo *x = &c->echo;
	struct ping_node self;

	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll < 0) {
		return err_set(e, errno, "cannot wait for events");
	}
	*x = (struct ping_echo){
		.udp4 = open_udp(AF_INET, &ports),
		.udp6 = open_udp(AF_INET6, &ports),
		.tcp = net_listen(false, ports, NULL),
		.second = { c->spec.flows > 1 ? open_udp(AF_INET, &ports) : -1,
			    c->spec.flows > 1 ? open_udp(AF_INET6, &ports) : -1
		},
		.heard = calloc(PING_HEARD_MAX, sizeof(*x->heard)),
		.tokens = PING_ECHO_BURST,
		.at_ns = clock_now_ns(),
	};
	if (x->heard == NULL || hash_random(x->key, sizeof(x->key)) < 0 ||
	    (x->udp4 < 0 && x->udp6 < 0)) {
		return err_set(e, errno, "cannot open a socket to answer on");
	}
	for (int i = 0; i < 3; i++) {
		const int fd = (int[]){ x->udp4, x->udp6, x->tcp }[i];

		/* simulated nodes are addresses of the loopback: take no packet
		 * of another interface (CAP_NET_RAW before Linux 5.7) */
		if (c->spec.local) {
			setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo",
				   sizeof("lo"));
		}
		if (fd >= 0) {
			ping_watch(c, fd, EPOLLIN, EVENT_ECHO, (uint32_t)fd);
		}
	}
	ping_watch(c, STDIN_FILENO, EPOLLIN, EVENT_STDIN, 0);
	/* ports and key, for the others */
	self = (struct ping_node){ .udp4 = net_port(x->udp4),
				   .udp6 = net_port(x->udp6),
				   .tcp = net_port(x->tcp) };
	memcpy(self.key, x->key, sizeof(self.key));
	node_task_say("ready", schema_json(ping_door_fields, &self));
	return 0;
}

/* ---- the mesh ---------------------------------------------------------- */

static int make_paths(struct ping_child *c, struct err *e)
{
	const struct ping_mesh *m = &c->mesh;
	const struct ping_node *me = &m->nodes[c->me];
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
	/* each node asks the others in an order of its own, so that not all ask
	 * one node at the same time */
	for (int k = 1; k < m->n_nodes; k++) {
		const struct ping_node *n = &m->nodes[(c->me + k) % m->n_nodes];

		for (int b = n->first; b < n->first + n->n; b++) {
			for (int own = 0; own < c->n_own; own++) {
				if (!ping_mesh_path(m, c->own[own].end, b)) {
					continue;
				}
				c->path_at[own * m->n_ends + b] = c->n_paths;
				c->paths[c->n_paths++] = (struct ping_path){
					.own = (uint16_t)own,
					.dst = b,
				};
			}
		}
	}
	return 0;
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
		size_t n = 0;
		int64_t most = 0;
		char text[32];

		/* asking takes an entry for each target on the wire of an
		 * interface */
		for (uint32_t k = 0; k < c->n_paths; k++) {
			const struct ping_path *p = &c->paths[k];
			const struct ping_end *own =
				&c->mesh.ends[c->own[p->own].end];

			n += own->at.net.ip.family == tables[i].family &&
			     own->segment == c->mesh.ends[p->dst].segment &&
			     strcmp(own->at.name, "lo") != 0;
		}
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

/* Take the line that lists all other nodes. */
static int take_told(struct ping_child *c, const json_t *line, struct err *e)
{
	struct ping_rules rules;
	struct rlimit files;
	int64_t me, fleet;
	uint32_t all;

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
	c->n_flows = c->spec.flows > 1 && !c->spec.tcp[0] ?
			     (uint32_t)c->spec.flows : 0;
	if ((uint64_t)c->n_paths * (1 + c->n_flows) > FLOWS_MAX) {
		return err_set(e, E2BIG, "more than %d flows", FLOWS_MAX);
	}
	all = c->n_paths * (1 + c->n_flows);
	rules = ping_rules_for(&c->spec, (int)fleet, all);
	if (ping_engine_init(&c->engine, &rules, all) < 0 ||
	    (c->n_flows > 0 && ping_flows_init(c) < 0)) {
		return err_set(e, ENOMEM, "no memory for %u paths",
			       c->n_paths);
	}
	if (c->spec.tcp[0] != '\0' || c->n_flows > 0) {
		/* as many at a time as the process may have */
		if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
			files.rlim_cur = files.rlim_max;
			setrlimit(RLIMIT_NOFILE, &files);
		}
	}
	if (c->spec.tcp[0] != '\0') {
		c->tcp_fds = malloc(rules.window * sizeof(*c->tcp_fds));
		if (c->tcp_fds == NULL) {
			return err_set(e, ENOMEM, "no memory for connections");
		}
		for (uint32_t i = 0; i < rules.window; i++) {
			c->tcp_fds[i] = -1;
		}
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

		if (path >= c->n_paths) {
			ping_flow_settled(c, path);
		} else if (!ping_look_elsewhere(c, path) &&
			   !ping_size_next(c, path) &&
			   !ping_flows_start(c, path)) {
			ping_decided(c, path, now_ns);
		}
		wake = 0;
	}
	ping_size_send(c, clock_now_ns(), &wake);
	if (ping_engine_done(&c->engine) && c->waiting.n == 0) {
		c->running = false;
		node_task_say("finished", json_true());
		return INT64_MAX;
	}
	return wake;
}

/* Take what the agent says; false when this node is no longer needed. */
static bool hear(struct ping_child *c, struct err *e)
{
	json_t *told;
	int rc;

	while ((rc = node_task_hear(&told, 0)) > 0) {
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
	case EVENT_FLOW:
		ping_flow_take(c, number);
		break;
	}
	return true;
}

static void run(struct ping_child *c, struct err *e)
{
	struct pollfd p = { .fd = c->epoll, .events = POLLIN };
	struct epoll_event events[EVENTS_MAX];
	int64_t looked_ns = clock_now_ns();
	bool needed = hear(c, e);	/* it may have come with the task */

	while (needed) {
		int64_t wake_ns = c->running ? advance(c) : INT64_MAX;
		int64_t left = wake_ns - clock_now_ns(), due_ns;
		struct timespec ts;
		int n;

		/* the milliseconds of poll() are too coarse for the pace */
		left = left < 0 ? 0 : left > WAIT_NS ? WAIT_NS : left;
		ts = (struct timespec){ .tv_sec = left / NS_PER_S,
					.tv_nsec = left % NS_PER_S };
		ppoll(&p, 1, &ts, NULL);
		/* if this process did not run for longer than the buffers of
		 * the sockets last, they are full until all is read */
		due_ns = looked_ns + WAIT_NS;
		due_ns = wake_ns < looked_ns ? looked_ns :
			 wake_ns < due_ns    ? wake_ns :
					       due_ns;
		looked_ns = clock_now_ns();
		c->deaf |= looked_ns - due_ns > DEAF_NS;
		if (c->running && c->deaf) {
			ping_engine_deaf(&c->engine);
		}
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
	int64_t port = 0;
	int rc;

	if (c == NULL || hash_random(random, sizeof(random)) < 0) {
		free(c);
		return err_set(e, ENOMEM, "no memory, or no random bytes");
	}
	c->me = -1;
	c->routes = -1;
	c->tag = random[0];
	c->trace_tag = random[1];
	c->echo_id = (uint16_t)random[2];
	c->echo = (struct ping_echo){ .udp4 = -1, .udp6 = -1, .tcp = -1,
				      .second = { -1, -1 } };
	STR_COPY(c->node, args->node);
	c->spec = args->spec;
	rc = c->spec.tcp[0] != '\0' && strcmp(c->spec.tcp, "auto") != 0 ?
		     units_parse_int(c->spec.tcp, 1, UINT16_MAX, &port, &why) :
		     0;
	c->tcp_port = (uint16_t)port;
	if (rc == 0 && open_door(c, &why) == 0) {
		run(c, &why);
		/* the traces that came: their answers may have been lost */
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
	for (int i = 0; i < 5; i++) {
		const int fds[] = { c->echo.udp4, c->echo.udp6, c->echo.tcp,
				    c->echo.second[0], c->echo.second[1] };

		if (fds[i] >= 0) {
			close(fds[i]);
		}
	}
	free(c->echo.heard);
	free(c->echo.counts);
	ping_flows_release(c);
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
