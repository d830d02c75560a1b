/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/base/units.h"

/* ---- net own ------------------------------------------------------------- */

/** Bridges and pipes of containers: up, but no other machine reaches them. */
static const char *const inner_prefixes[] = {
	"docker", "virbr", "veth", "cni", "flannel", "cali", NULL
};

bool net_is_inner(const char *name)
{
	for (size_t i = 0; inner_prefixes[i]; i++) {
		if (str_starts(name, inner_prefixes[i])) {
			return true;
		}
	}
	return false;
}

/** Add the addresses of one @family to the @n that are there. */
static int add_family(const struct ifaddrs *all, sa_family_t family,
		      char addrs[][NET_ADDR_TEXT], int n, int max)
{
	socklen_t len = family == AF_INET ? sizeof(struct sockaddr_in) :
					    sizeof(struct sockaddr_in6);

	for (const struct ifaddrs *i = all; i && n < max; i = i->ifa_next) {
		struct ip_addr ip = { .family = 0 };

		if (i->ifa_addr && i->ifa_addr->sa_family == family) {
			ip = ip_of_sockaddr(i->ifa_addr);
		}
		/* those that others may reach */
		if (ip.family && (i->ifa_flags & IFF_UP) &&
		    !(i->ifa_flags & IFF_LOOPBACK) &&
		    !net_is_inner(i->ifa_name) && !ip_is_link_local(&ip) &&
		    getnameinfo(i->ifa_addr, len, addrs[n], NET_ADDR_TEXT, NULL,
				0, NI_NUMERICHOST) == 0) {
			n++;
		}
	}
	return n;
}

int net_own_addrs(char addrs[][NET_ADDR_TEXT], int max)
{
	struct ifaddrs *all;
	int n = 0;

	if (getifaddrs(&all) < 0) {
		return 0;
	}
	n = add_family(all, AF_INET, addrs, n, max);
	n = add_family(all, AF_INET6, addrs, n, max);
	freeifaddrs(all);
	return n;
}

/* ---- within -------------------------------------------------------------- */

bool within(int seconds, void *(*call)(void *arg), void *arg)
{
	struct timespec until;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	if (pthread_create(&thread, NULL, call, arg) != 0) {
		call(arg);	/* no more threads: that it hangs is rare */
	} else if (pthread_timedjoin_np(thread, NULL, &until) != 0) {
		pthread_detach(thread);
		return false;
	}
	return true;
}

/* ---- net ----------------------------------------------------------------- */

#define NET_BACKLOG 4096	/* every agent of a large run at once */
/** A name server that is dead has cost 5 s when the next one is asked. */
#define LOOKUP_S    12

/** Split "host:port" or "[host]:port"; the host without its brackets. */
static int split_addr(const char *text, char host[NET_HOST_SIZE],
		      const char **port, struct err *e)
{
	bool bracketed = text[0] == '[';
	const char *start = text + bracketed;
	const char *end = strchr(start, bracketed ? ']' : ':');
	const char *colon = end ? end + bracketed : NULL;
	size_t len = end ? (size_t)(end - start) : 0;
	int64_t number;

	if (!len || len >= NET_HOST_SIZE || *colon != ':') {
		err_set(e, 0, "'%s' is not an address", text);
		return err_hint(e, "write HOST:PORT, or [ADDRESS]:PORT for "
				"IPv6");
	}
	if (units_parse_int(colon + 1, 1, UINT16_MAX, &number, NULL) < 0) {
		return err_set(e, 0, "'%s' has no port from 1 to 65535",
			       text);
	}
	memcpy(host, start, len);
	host[len] = '\0';
	*port = colon + 1;
	return 0;
}

/** A call of getaddrinfo(). */
struct lookup {
	char host[NET_HOST_SIZE], port[32];
	struct addrinfo want, *found;
	int rc, why;
};

static void *look_up(void *arg)
{
	struct lookup *l = arg;

	l->rc = getaddrinfo(l->host, l->port, &l->want, &l->found);
	l->why = errno;
	return NULL;
}

int net_lookup(const char *text, struct sockaddr_storage *list, int max,
	       struct err *e)
{
	struct lookup *l = calloc(1, sizeof(*l));
	const char *port = NULL;
	int n = -1;

	if (!l) {
		return err_set(e, ENOMEM, "no memory for a name lookup");
	}
	if (split_addr(text, l->host, &port, e) < 0) {
		free(l);
		return -1;
	}
	STR_COPY(l->port, port);
	l->want = (struct addrinfo){ .ai_socktype = SOCK_STREAM,
				     .ai_flags = AI_NUMERICSERV |
						 AI_NUMERICHOST };
	look_up(l);
	if (l->rc == EAI_NONAME) {	/* not an address: ask for the name */
		l->want.ai_flags = AI_NUMERICSERV;
		if (!within(LOOKUP_S, look_up, l)) {
			/* @l belongs to the thread that hangs */
			return err_set(e, ETIMEDOUT, "cannot resolve host "
				       "'%s': no answer within %d s", text,
				       LOOKUP_S);
		}
	}
	if (l->rc) {
		err_set(e, l->rc == EAI_SYSTEM ? l->why : 0,
			"cannot resolve host '%s': %s", l->host,
			gai_strerror(l->rc));
	} else {
		n = 0;
		for (const struct addrinfo *a = l->found; a && n < max;
		     a = a->ai_next) {
			memcpy(&list[n++], a->ai_addr, a->ai_addrlen);
		}
		freeaddrinfo(l->found);
	}
	free(l);
	return n;
}

/* The port stands at the same place in both families. */

static uint16_t port_of(const struct sockaddr *sa)
{
	struct sockaddr_in v4;

	memcpy(&v4, sa, sizeof(v4));
	return ntohs(v4.sin_port);
}

const char *net_addr_text(const struct sockaddr *sa, char *buf, size_t size)
{
	/* the IPv4 address inside ::ffff:a.b.c.d, as dual-stack sockets show
	 * it, is one */
	const struct ip_addr ip = ip_of_sockaddr(sa);
	char host[NET_ADDR_TEXT];

	if (ip.family == AF_INET) {
		snprintf(buf, size, "%s:%u", ip_text(&ip, host, sizeof(host)),
			 port_of(sa));
	} else if (ip.family == AF_INET6 &&
		   getnameinfo(sa, sizeof(struct sockaddr_in6), host,
			       sizeof(host), NULL, 0, NI_NUMERICHOST) == 0) {
		snprintf(buf, size, "[%s]:%u", host, port_of(sa));
	} else {
		str_copy(buf, size, "?");
	}
	return buf;
}

void net_set_port(struct sockaddr_storage *sa, uint16_t port)
{
	((struct sockaddr_in *)sa)->sin_port = htons(port);
}

/** A listening socket on @ip, with IPv4 where that is IPv6; -1 with errno. */
static int listen_on(const struct ip_addr *ip, uint16_t port)
{
	struct sockaddr_storage sa;
	socklen_t len = ip_sockaddr(ip, port, &sa);
	int fd = socket(ip->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			0);
	int v6only = 0;
	int why;

	if (fd < 0) {
		return -1;
	}
	/* what has just ended keeps its port for a minute */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ port != 0 },
		   sizeof(int));
	/* IPv4 knows no such option */
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only));
	if (bind(fd, (struct sockaddr *)&sa, len) == 0 &&
	    listen(fd, NET_BACKLOG) == 0) {
		return fd;
	}
	why = errno;
	close(fd);
	errno = why;
	return -1;
}

uint16_t net_port(int fd)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);

	getsockname(fd, (struct sockaddr *)&sa, &len);
	return port_of((struct sockaddr *)&sa);
}

int net_ports_parse(const char *text, struct net_ports *p, struct err *e)
{
	const char *dash = strchr(text, '-');
	char first[8] = "";
	int64_t from, to;

	if (!text[0]) {
		*p = (struct net_ports){ 0 };
		return 0;
	}
	snprintf(first, sizeof(first), "%.*s",
		 dash ? (int)(dash - text) : 7, text);
	if (units_parse_int(first, 1, UINT16_MAX, &from, NULL) < 0 ||
	    units_parse_int(dash ? dash + 1 : first, from, UINT16_MAX, &to,
			    NULL) < 0) {
		err_set(e, EINVAL, "'%.40s' is not a port range", text);
		return err_hint(e, "write two ports from 1 to 65535, the lower "
				   "one first, such as 42000-42099");
	}
	*p = (struct net_ports){ (uint16_t)from, (uint16_t)to };
	return 0;
}

int net_ports_next(const struct net_ports *p, int i)
{
	int n = p->to - p->from + 1;

	return i >= n ? -1 : p->from == 0 ? 0 : p->from + (getpid() + i) % n;
}

int net_listen(bool loopback, struct net_ports ports, struct err *e)
{
	const struct ip_addr v6 = { .family = AF_INET6 };
	const struct ip_addr v4 = {
		.family = AF_INET, .bytes = { loopback ? 127 : 0, 0, 0,
					      loopback ? 1 : 0 },
	};
	int port, fd = -1;

	errno = EADDRINUSE;
	for (int i = 0; fd < 0 && errno == EADDRINUSE &&
			(port = net_ports_next(&ports, i)) >= 0; i++) {
		fd = loopback ? -1 : listen_on(&v6, (uint16_t)port);
		fd = fd < 0 ? listen_on(&v4, (uint16_t)port) : fd;
	}
	if (fd >= 0) {
		return fd;
	}
	if (errno != EADDRINUSE || ports.from == 0) {
		return err_set(e, errno, "cannot listen on a TCP port");
	}
	err_set(e, EADDRINUSE, "none of the TCP ports %u-%u is free",
		ports.from, ports.to);
	return err_hint(e, "each node needs one port of --port-range per "
			   "agent, plus one for the coordinator; \"ss -ltnp\" "
			   "shows which processes use them");
}

int net_wait(int fd, short events, int64_t deadline_ns)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		int left_ms = clock_ms_left(deadline_ns);
		int n = poll(&p, 1, left_ms);

		if (n > 0) {
			return 0;
		}
		if (n < 0 && errno != EINTR) {
			return errno;
		}
		if (left_ms == 0) {
			return ETIMEDOUT;
		}
	}
}

/** All @n bytes of @buf out to @fd, or in from it. */
static int transfer(int fd, bool out, char *buf, size_t n, int64_t deadline_ns,
		    struct err *e)
{
	size_t done = 0;

	while (done < n) {
		ssize_t did = out ? send(fd, buf + done, n - done,
					 MSG_NOSIGNAL | MSG_DONTWAIT) :
				    recv(fd, buf + done, n - done,
					 MSG_DONTWAIT);
		int why = did < 0 ? errno : did == 0 ? ECONNRESET : 0;

		/* the call can succeed once poll() reports the socket */
		if (why == EAGAIN || why == EWOULDBLOCK || why == EINTR) {
			why = net_wait(fd, out ? POLLOUT : POLLIN,
				       deadline_ns);
		}
		if (why) {
			return err_set(e, why == EPIPE ? ECONNRESET : why,
				       "%s %zu of %zu bytes",
				       out ? "sent" : "received", done, n);
		}
		done += did > 0 ? (size_t)did : 0;
	}
	return 0;
}

int net_connect(const struct sockaddr_storage *to, int64_t deadline_ns)
{
	socklen_t len = to->ss_family == AF_INET6 ?
				sizeof(struct sockaddr_in6) :
				sizeof(struct sockaddr_in);
	int fd = socket(to->ss_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(int);
	int error = 0;

	if (fd < 0) {
		return -1;
	}
	if (connect(fd, (const struct sockaddr *)to, len) < 0) {
		error = errno != EINPROGRESS ?
				errno : net_wait(fd, POLLOUT, deadline_ns);
		if (error == 0) {
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
		}
	}
	if (error != 0) {
		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

int net_write_all(int fd, const void *buf, size_t n, int64_t deadline_ns,
		  struct err *e)
{
	return transfer(fd, true, (char *)buf, n, deadline_ns, e);
}

int net_read_all(int fd, void *buf, size_t n, int64_t deadline_ns,
		 struct err *e)
{
	return transfer(fd, false, buf, n, deadline_ns, e);
}
