/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ping/socket.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"

/* From <linux/icmp.h>, which does not go with <netinet/ip_icmp.h>. */
#define RAW_ICMP_FILTER 1
#define SOCKET_BUFFER_BYTES (1024 * 1024)
/* Nobody reads so late. */
#define WAIT_MOST_NS (10 * NS_PER_S)

/** Room for what the kernel says beside the bytes, aligned as it wants it. */
struct control {
	_Alignas(struct cmsghdr) char bytes[256];
};

const char *ping_method_name(enum ping_method m)
{
	static const char *const names[] = {
		[PING_DGRAM] = "icmp", [PING_RAW] = "icmp_raw",
		[PING_UDP] = "udp", [PING_TCP] = "tcp",
	};

	return names[m];
}

/** What both families have, each by numbers of its own. */
static const struct family {
	int level, recverr, recvpktinfo, pktinfo, mtu_discover;
} ipv4 = { SOL_IP, IP_RECVERR, IP_PKTINFO, IP_PKTINFO, IP_MTU_DISCOVER },
  ipv6 = { SOL_IPV6, IPV6_RECVERR, IPV6_RECVPKTINFO, IPV6_PKTINFO,
	   IPV6_MTU_DISCOVER };

static const struct family *numbers_of(sa_family_t family)
{
	return family == AF_INET6 ? &ipv6 : &ipv4;
}

static void set_int(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

static void set_options(int fd, enum ping_method m, sa_family_t family)
{
	const struct family *f = numbers_of(family);
	uint32_t not_wanted = ~(1U << ICMP_ECHOREPLY);
	struct icmp6_filter filter;

	set_int(fd, SOL_SOCKET, SO_RCVBUF, SOCKET_BUFFER_BYTES);
	/* packets that wait for ARP count; more than the limit if permitted */
	set_int(fd, SOL_SOCKET, SO_SNDBUF, SOCKET_BUFFER_BYTES);
	set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, SOCKET_BUFFER_BYTES);
	set_int(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	set_int(fd, f->level, f->recverr, 1);
	set_int(fd, f->level, f->recvpktinfo, 1);
	if (m == PING_RAW && family == AF_INET) {
		setsockopt(fd, SOL_RAW, RAW_ICMP_FILTER, &not_wanted,
			   sizeof(not_wanted));
	} else if (m == PING_RAW) {
		ICMP6_FILTER_SETBLOCKALL(&filter);
		ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &filter);
		setsockopt(fd, SOL_ICMPV6, ICMP6_FILTER, &filter,
			   sizeof(filter));
	}
}

int ping_socket_open(struct ping_socket *s, enum ping_method m,
		     const struct interface *at, struct err *e)
{
	sa_family_t family = at->net.ip.family;
	int icmp = family == AF_INET6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	struct sockaddr_storage sa;
	socklen_t len = ip_sockaddr(&at->net.ip, 0, &sa);
	char text[IP_TEXT];

	*s = (struct ping_socket){
		.method = m, .ip = at->net.ip,
		.ifindex = if_nametoindex(at->name),
	};
	s->fd = socket(family,
		       (m == PING_RAW ? SOCK_RAW : SOCK_DGRAM) | SOCK_CLOEXEC |
			       SOCK_NONBLOCK,
		       m == PING_UDP ? 0 : icmp);
	if (s->fd < 0) {
		return err_set(e, errno, "cannot open a socket for %s",
			       ping_method_name(m));
	}
	set_options(s->fd, m, family);
	ping_socket_df(s, false);
	if (bind(s->fd, (struct sockaddr *)&sa, len) < 0) {
		err_set(e, errno, "cannot send from %s",
			ip_text(&at->net.ip, text, sizeof(text)));
		ping_socket_close(s);
		return -1;
	}
	return 0;
}

void ping_socket_close(struct ping_socket *s)
{
	if (s->fd >= 0) {
		close(s->fd);
	}
	s->fd = -1;
}

void ping_socket_df(struct ping_socket *s, bool on)
{
	const struct family *f = numbers_of(s->ip.family);

	/* IPV6_PMTUDISC_ has the same values */
	set_int(s->fd, f->level, f->mtu_discover,
		on ? IP_PMTUDISC_PROBE : IP_PMTUDISC_DONT);
}

/* Leave by the interface and with the address of @s, whatever the routes. */
static void put_source(const struct ping_socket *s, struct msghdr *msg,
		       struct control *control)
{
	const struct family *f = numbers_of(s->ip.family);
	struct in6_pktinfo v6 = { .ipi6_ifindex = s->ifindex };
	struct in_pktinfo v4 = { .ipi_ifindex = (int)s->ifindex };
	const void *info = f == &ipv4 ? (const void *)&v4 : &v6;
	size_t n = f == &ipv4 ? sizeof(v4) : sizeof(v6);
	struct cmsghdr *c;

	memcpy(&v4.ipi_spec_dst, s->ip.bytes, 4);
	memcpy(&v6.ipi6_addr, s->ip.bytes, 16);
	msg->msg_control = control;
	msg->msg_controllen = CMSG_SPACE(n);
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = f->level;
	c->cmsg_type = f->pktinfo;
	c->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(c), info, n);
}

int ping_socket_send(const struct ping_socket *s, const struct ip_addr *to,
		     uint16_t port, const void *bytes, size_t n)
{
	struct sockaddr_storage sa;
	socklen_t len = ip_sockaddr(to, port, &sa);
	struct iovec io = { .iov_base = (void *)bytes, .iov_len = n };
	struct control control = { 0 };
	struct msghdr msg = {
		.msg_name = &sa, .msg_namelen = len, .msg_iov = &io,
		.msg_iovlen = 1,
	};

	put_source(s, &msg, &control);
	/*
	 * An error that waits from another probe, to whomever that went, comes
	 * back here, once: one of this probe comes again.  What ICMP never
	 * stands for is not tried again: a packet filter would be asked twice.
	 */
	for (int i = 0; i < 8; i++) {
		if (sendmsg(s->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
			return 0;
		}
		if (errno == EAGAIN || errno == ENOBUFS || errno == EPERM) {
			break;
		}
	}
	return errno;
}

/* A message to come, with its sender and what the kernel says of it. */
struct letter {
	struct sockaddr_storage sa;
	struct iovec io;
	struct control control;
	struct msghdr msg;	/* points to the others */
};

static void letter_init(struct letter *l, void *buf, size_t size)
{
	memset(&l->sa, 0, sizeof(l->sa));
	l->io = (struct iovec){ .iov_base = buf, .iov_len = size };
	l->msg = (struct msghdr){
		.msg_name = &l->sa, .msg_namelen = sizeof(l->sa),
		.msg_iov = &l->io, .msg_iovlen = 1,
		.msg_control = &l->control,
		.msg_controllen = sizeof(l->control),
	};
}

static bool is(const struct cmsghdr *c, int level, int type)
{
	return c->cmsg_level == level && c->cmsg_type == type;
}

/* How long ago @then was; 0 where a clock was set meanwhile. */
static int64_t since(const struct timespec *then)
{
	struct timespec now;
	int64_t ns;

	/* the clock of the kernel's stamps */
	clock_gettime(CLOCK_REALTIME, &now);
	ns = (now.tv_sec - then->tv_sec) * NS_PER_S + now.tv_nsec -
	     then->tv_nsec;
	return ns > 0 && ns < WAIT_MOST_NS ? ns : 0;
}

static void read_control(struct msghdr *msg, struct ping_got *got)
{
	struct in6_pktinfo v6;
	struct in_pktinfo v4;
	struct timespec then;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL;
	     c = CMSG_NXTHDR(msg, c)) {
		if (is(c, SOL_IP, IP_PKTINFO)) {
			memcpy(&v4, CMSG_DATA(c), sizeof(v4));
			got->ifindex = (unsigned)v4.ipi_ifindex;
			got->to.family = AF_INET;
			memcpy(got->to.bytes, &v4.ipi_addr, 4);
		} else if (is(c, SOL_IPV6, IPV6_PKTINFO)) {
			memcpy(&v6, CMSG_DATA(c), sizeof(v6));
			got->ifindex = v6.ipi6_ifindex;
			got->to.family = AF_INET6;
			memcpy(got->to.bytes, &v6.ipi6_addr, 16);
		} else if (is(c, SOL_SOCKET, SCM_TIMESTAMPNS)) {
			memcpy(&then, CMSG_DATA(c), sizeof(then));
			got->waited_ns = since(&then);
		}
	}
}

bool ping_socket_recv(int fd, void *buf, size_t size, struct ping_got *got)
{
	struct letter l;
	struct sockaddr_in port;	/* at the same place in either */
	ssize_t n;

	letter_init(&l, buf, size);
	do {
		n = recvmsg(fd, &l.msg, MSG_DONTWAIT);
		/* what waits in the error queue is told here too, once each */
	} while (n < 0 && (errno == EINTR || errno == ECONNREFUSED ||
			   errno == EHOSTUNREACH || errno == ENETUNREACH ||
			   errno == EMSGSIZE || errno == EACCES));
	if (n < 0) {
		return false;
	}
	*got = (struct ping_got){
		.from = ip_of_sockaddr((struct sockaddr *)&l.sa),
		.n = (size_t)n,
	};
	memcpy(&port, &l.sa, sizeof(port));
	got->port = ntohs(port.sin_port);
	read_control(&l.msg, got);
	return true;
}

static void read_error(struct msghdr *msg, struct ping_bounce *b)
{
	struct sockaddr_storage by = { 0 };
	struct sock_extended_err err;
	size_t room;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL;
	     c = CMSG_NXTHDR(msg, c)) {
		if (!is(c, SOL_IP, IP_RECVERR) &&
		    !is(c, SOL_IPV6, IPV6_RECVERR)) {
			continue;
		}
		memcpy(&err, CMSG_DATA(c), sizeof(err));
		b->code = (int)err.ee_errno;
		if (err.ee_origin == SO_EE_ORIGIN_LOCAL) {
			continue;
		}
		b->icmp_type = err.ee_type;
		b->icmp_code = err.ee_code;
		room = c->cmsg_len - CMSG_LEN(sizeof(err));
		memcpy(&by, CMSG_DATA(c) + sizeof(err),
		       room < sizeof(by) ? room : sizeof(by));
		b->by = ip_of_sockaddr((struct sockaddr *)&by);
	}
}

bool ping_socket_bounce(int fd, void *buf, size_t size, struct ping_bounce *b)
{
	struct letter l;
	ssize_t n;

	letter_init(&l, buf, size);
	n = recvmsg(fd, &l.msg, MSG_ERRQUEUE | MSG_DONTWAIT);
	if (n < 0) {
		return false;
	}
	*b = (struct ping_bounce){
		.to = ip_of_sockaddr((struct sockaddr *)&l.sa), .n = (size_t)n,
	};
	read_error(&l.msg, b);
	return true;
}
