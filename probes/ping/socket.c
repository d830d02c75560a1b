/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "probes/ping/private.h"

/* ---- neigh --------------------------------------------------------------- */

#define NEIGH_MAX 1000000
#define ANSWER_BYTES 65536

void ping_neigh_release(struct ping_neighs *all)
{
	free(all->list);
	*all = (struct ping_neighs){ 0 };
}

static int compare(const void *a, const void *b)
{
	const struct ping_neigh *x = a, *y = b;

	if (x->ifindex != y->ifindex) {
		return x->ifindex < y->ifindex ? -1 : 1;
	}
	return ip_compare(&x->ip, &y->ip);
}

const struct ping_neigh *ping_neigh_find(const struct ping_neighs *all,
					 unsigned ifindex,
					 const struct ip_addr *ip)
{
	struct ping_neigh key = { .ip = *ip, .ifindex = ifindex };

	return all->n == 0 ? NULL :
			     bsearch(&key, all->list, all->n,
				     sizeof(*all->list), compare);
}

static int take_entry(struct ping_neighs *all, struct nlmsghdr *h,
		      struct err *e)
{
	const struct ndmsg *nd = NLMSG_DATA(h);
	struct rtattr *a = (void *)((char *)h + NLMSG_SPACE(sizeof(*nd)));
	int n = (int)h->nlmsg_len - (int)NLMSG_SPACE(sizeof(*nd));
	struct ping_neigh one = { 0 };

	if (n < 0 ||
	    (nd->ndm_family != AF_INET && nd->ndm_family != AF_INET6)) {
		return 0;
	}
	one.ip.family = nd->ndm_family;
	one.ifindex = (unsigned)nd->ndm_ifindex;
	one.failed = nd->ndm_state & (NUD_INCOMPLETE | NUD_FAILED);
	for (; RTA_OK(a, n); a = RTA_NEXT(a, n)) {
		size_t len = RTA_PAYLOAD(a);

		if (a->rta_type == NDA_DST &&
		    len == (one.ip.family == AF_INET6 ? 16U : 4U)) {
			memcpy(one.ip.bytes, RTA_DATA(a), len);
		} else if (a->rta_type == NDA_LLADDR &&
			   len <= sizeof(one.mac)) {
			memcpy(one.mac, RTA_DATA(a), len);
			one.mac_len = len;
		}
	}
	/* doubled whenever it is full: at every power of two */
	if ((all->n & (all->n - 1)) == 0) {
		void *list = realloc(all->list,
				     (all->n ? 2 * all->n : 1) * sizeof(one));

		if (list == NULL || all->n > NEIGH_MAX) {
			return err_set(e, ENOMEM, "too many neighbours");
		}
		all->list = list;
	}
	all->list[all->n++] = one;
	return 0;
}

int ping_neigh_parse(struct ping_neighs *all, void *bytes, size_t n,
		     struct err *e)
{
	struct nlmsghdr *h = bytes;
	int left = (int)n;

	for (; left > 0 && NLMSG_OK(h, (unsigned)left);
	     h = NLMSG_NEXT(h, left)) {
		if (h->nlmsg_type == NLMSG_DONE) {
			return 0;
		}
		if (h->nlmsg_type == NLMSG_ERROR) {
			return err_set(e, EIO, "the kernel refused to list its "
					       "neighbours");
		}
		if (h->nlmsg_type == RTM_NEWNEIGH &&
		    take_entry(all, h, e) < 0) {
			return -1;
		}
	}
	return left >= (int)sizeof(*h) ?
		       err_set(e, EPROTO, "a damaged reply of the kernel") :
		       1;
}

static int ask(int fd, struct ping_neighs *all, struct err *e)
{
	struct {
		struct nlmsghdr head;
		struct ndmsg body;
	} question = {
		.head = { .nlmsg_len = sizeof(question),
			  .nlmsg_type = RTM_GETNEIGH,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
	};
	uint8_t *answer = malloc(ANSWER_BYTES);
	int rc = -1;

	if (answer == NULL ||
	    send(fd, &question, sizeof(question), 0) < 0) {
		free(answer);
		return err_set(e, errno, "cannot ask for the neighbours");
	}
	do {
		ssize_t n = recv(fd, answer, ANSWER_BYTES, 0);

		rc = n > 0 ? ping_neigh_parse(all, answer, (size_t)n, e) :
			     err_set(e, errno, "no list of neighbours from the "
					       "kernel");
	} while (rc == 1);
	free(answer);
	return rc;
}

int ping_neigh_read(struct ping_neighs *all, struct err *e)
{
	struct timeval patience = { .tv_sec = 1 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int rc;

	*all = (struct ping_neighs){ 0 };
	if (fd < 0) {
		return err_set(e, errno, "cannot ask for the neighbours");
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	rc = ask(fd, all, e);
	close(fd);
	if (rc < 0) {
		ping_neigh_release(all);
		return -1;
	}
	if (all->n > 0) {
		qsort(all->list, all->n, sizeof(*all->list), compare);
	}
	return 0;
}

/* ---- packet -------------------------------------------------------------- */

static const uint8_t magic[4] = { 'G', 'p', 'c', 'K' };

_Static_assert(sizeof(struct ping_mark) == PING_MARK_BYTES,
	       "a mark has gaps");

void ping_mark_write(const struct ping_mark *mark, uint8_t *data, size_t size)
{
	memcpy(data, mark, sizeof(*mark));
	memcpy(data, magic, sizeof(magic));
	for (size_t i = sizeof(*mark); i < size; i++) {
		data[i] = (uint8_t)i;
	}
}

bool ping_mark_read(const uint8_t *data, size_t size, struct ping_mark *mark)
{
	if (size < sizeof(*mark)) {
		return false;
	}
	memcpy(mark, data, sizeof(*mark));
	return memcmp(mark->magic, magic, sizeof(magic)) == 0 &&
	       mark->type < PING_MARK_TYPES;
}

size_t ping_icmp_write(sa_family_t family, uint16_t id, uint16_t seq,
		       const struct ping_mark *mark, size_t size, uint8_t *buf)
{
	const uint8_t head[PING_ICMP_BYTES] = {
		family == AF_INET6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO, 0, 0, 0,
		(uint8_t)(id >> 8), (uint8_t)id,
		(uint8_t)(seq >> 8), (uint8_t)seq,
	};
	size_t len = PING_ICMP_BYTES + size;
	uint32_t sum = 0;

	memcpy(buf, head, sizeof(head));
	ping_mark_write(mark, buf + PING_ICMP_BYTES, size);
	if (family == AF_INET) {	/* of ICMPv6 the kernel does it */
		/* RFC 1071 */
		for (size_t i = 0; i < len; i++) {
			sum += (uint32_t)buf[i] << (i % 2 ? 0 : 8);
		}
		while (sum >> 16) {
			sum = (sum & 0xffff) + (sum >> 16);
		}
		sum = ~sum;
		buf[2] = (uint8_t)(sum >> 8);
		buf[3] = (uint8_t)sum;
	}
	return len;
}

bool ping_icmp_read(sa_family_t family, bool with_ip, bool reply,
		    const uint8_t *buf, size_t size, struct ping_mark *mark)
{
	size_t skip = with_ip && size > 0 ? (size_t)(buf[0] & 0x0f) * 4 : 0;
	uint8_t wanted = family == AF_INET6 ?
				 (reply ? ICMP6_ECHO_REPLY :
					  ICMP6_ECHO_REQUEST) :
				 (reply ? ICMP_ECHOREPLY : ICMP_ECHO);

	if (size < skip + PING_ICMP_BYTES || buf[skip] != wanted) {
		return false;
	}
	return ping_mark_read(buf + skip + PING_ICMP_BYTES,
			      size - skip - PING_ICMP_BYTES, mark) &&
	       mark->type == PING_ECHO;
}

static const struct icmp_text {
	sa_family_t family;
	uint8_t type, code;
	const char *text;
} icmp_texts[] = {
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_NET_UNREACH, "net unreachable" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, "host unreachable" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_PROT_UNREACH,
	  "protocol unreachable" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, "port unreachable" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED,
	  "fragmentation needed" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_NET_ANO, "net prohibited" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_HOST_ANO, "host prohibited" },
	{ AF_INET, ICMP_DEST_UNREACH, ICMP_PKT_FILTERED,
	  "administratively prohibited" },
	{ AF_INET, ICMP_TIME_EXCEEDED, 0, "time to live exceeded" },
	{ AF_INET6, ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE,
	  "no route" },
	{ AF_INET6, ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADMIN,
	  "administratively prohibited" },
	{ AF_INET6, ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADDR,
	  "address unreachable" },
	{ AF_INET6, ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOPORT,
	  "port unreachable" },
	{ AF_INET6, ICMP6_PACKET_TOO_BIG, 0, "packet too big" },
	{ AF_INET6, ICMP6_TIME_EXCEEDED, 0, "hop limit exceeded" },
	{ 0, 0, 0, NULL }
};

const char *ping_icmp_text(sa_family_t family, uint8_t type, uint8_t code,
			   char *buf, size_t size)
{
	for (const struct icmp_text *t = icmp_texts; t->text; t++) {
		if (t->family == family && t->type == type &&
		    t->code == code) {
			snprintf(buf, size, "%s", t->text);
			return buf;
		}
	}
	snprintf(buf, size, "ICMP error %d/%d", type, code);
	return buf;
}

/* ---- socket -------------------------------------------------------------- */

/* From <linux/icmp.h>, which does not go with <netinet/ip_icmp.h>. */
#define RAW_ICMP_FILTER 1
#define SOCKET_BUFFER_BYTES (1024 * 1024)
/* Longer waits in the kernel are errors of the clock. */
#define WAIT_MOST_NS (10 * NS_PER_S)

const char *const ping_method_names[] = {
	[PING_DGRAM] = "icmp", [PING_RAW] = "icmp_raw",
	[PING_UDP] = "udp", [PING_TCP] = "tcp",
};

/** Options of both families, each with its own numbers. */
static const struct socket_family {
	int level, recverr, recvpktinfo, pktinfo, mtu_discover;
} ipv4 = { SOL_IP, IP_RECVERR, IP_PKTINFO, IP_PKTINFO, IP_MTU_DISCOVER },
  ipv6 = { SOL_IPV6, IPV6_RECVERR, IPV6_RECVPKTINFO, IPV6_PKTINFO,
	   IPV6_MTU_DISCOVER };

static const struct socket_family *numbers_of(sa_family_t family)
{
	return family == AF_INET6 ? &ipv6 : &ipv4;
}

static void set_int(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

int ping_socket_open(struct ping_socket *s, enum ping_method m,
		     const struct interface *at, struct err *e)
{
	sa_family_t family = at->net.ip.family;
	int icmp = family == AF_INET6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	struct sockaddr_storage sa;
	socklen_t len = ip_sockaddr(&at->net.ip, 0, &sa);
	const struct socket_family *f = numbers_of(family);
	uint32_t not_wanted = ~(1U << ICMP_ECHOREPLY);
	struct icmp6_filter filter;
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
			       ping_method_names[m]);
	}
	set_int(s->fd, SOL_SOCKET, SO_RCVBUF, SOCKET_BUFFER_BYTES);
	/* packets that wait for ARP count; more than the limit if permitted */
	set_int(s->fd, SOL_SOCKET, SO_SNDBUF, SOCKET_BUFFER_BYTES);
	set_int(s->fd, SOL_SOCKET, SO_SNDBUFFORCE, SOCKET_BUFFER_BYTES);
	set_int(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	set_int(s->fd, f->level, f->recverr, 1);
	set_int(s->fd, f->level, f->recvpktinfo, 1);
	if (m == PING_RAW && family == AF_INET) {
		setsockopt(s->fd, SOL_RAW, RAW_ICMP_FILTER, &not_wanted,
			   sizeof(not_wanted));
	} else if (m == PING_RAW) {
		ICMP6_FILTER_SETBLOCKALL(&filter);
		ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &filter);
		setsockopt(s->fd, SOL_ICMPV6, ICMP6_FILTER, &filter,
			   sizeof(filter));
	}
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
	const struct socket_family *f = numbers_of(s->ip.family);

	/* IPV6_PMTUDISC_ has the same values */
	set_int(s->fd, f->level, f->mtu_discover,
		on ? IP_PMTUDISC_PROBE : IP_PMTUDISC_DONT);
}

/* A message with its address and what the kernel says about it. */
struct letter {
	struct sockaddr_storage sa;
	struct iovec io;
	_Alignas(struct cmsghdr) char control[256];
	struct msghdr msg; /* points to the others */
};

static void letter_init(struct letter *l, void *buf, size_t size)
{
	*l = (struct letter){ .io = { .iov_base = buf, .iov_len = size } };
	l->msg = (struct msghdr){
		.msg_name = &l->sa,
		.msg_namelen = sizeof(l->sa),
		.msg_iov = &l->io,
		.msg_iovlen = 1,
		.msg_control = l->control,
		.msg_controllen = sizeof(l->control),
	};
}

int ping_socket_send(const struct ping_socket *s, const struct ip_addr *to,
		     uint16_t port, const void *bytes, size_t n)
{
	const struct socket_family *f = numbers_of(s->ip.family);
	struct in6_pktinfo v6 = { .ipi6_ifindex = s->ifindex };
	struct in_pktinfo v4 = { .ipi_ifindex = (int)s->ifindex };
	const void *info = f == &ipv4 ? (const void *)&v4 : &v6;
	size_t len = f == &ipv4 ? sizeof(v4) : sizeof(v6);
	struct cmsghdr *c;
	struct letter l;

	letter_init(&l, (void *)bytes, n);
	l.msg.msg_namelen = ip_sockaddr(to, port, &l.sa);
	/* leave by the interface and with the address of @s, whatever the
	 * routes are */
	memcpy(&v4.ipi_spec_dst, s->ip.bytes, 4);
	memcpy(&v6.ipi6_addr, s->ip.bytes, 16);
	l.msg.msg_controllen = CMSG_SPACE(len);
	c = CMSG_FIRSTHDR(&l.msg);
	c->cmsg_level = f->level;
	c->cmsg_type = f->pktinfo;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), info, len);
	/*
	 * The error of an earlier probe, to any target, is reported here, once:
	 * try again.  Not after an errno that ICMP never causes: a packet
	 * filter would see the packet twice.
	 */
	for (int i = 0; i < 8; i++) {
		if (sendmsg(s->fd, &l.msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
			return 0;
		}
		if (errno == EAGAIN || errno == ENOBUFS || errno == EPERM) {
			break;
		}
	}
	return errno;
}

static bool is_control(const struct cmsghdr *c, int level, int type)
{
	return c->cmsg_level == level && c->cmsg_type == type;
}

static void read_control(struct msghdr *msg, struct ping_got *got)
{
	struct in6_pktinfo v6;
	struct in_pktinfo v4;
	struct timespec then, now;
	int64_t ns;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL;
	     c = CMSG_NXTHDR(msg, c)) {
		if (is_control(c, SOL_IP, IP_PKTINFO)) {
			memcpy(&v4, CMSG_DATA(c), sizeof(v4));
			got->ifindex = (unsigned)v4.ipi_ifindex;
			got->to.family = AF_INET;
			memcpy(got->to.bytes, &v4.ipi_addr, 4);
		} else if (is_control(c, SOL_IPV6, IPV6_PKTINFO)) {
			memcpy(&v6, CMSG_DATA(c), sizeof(v6));
			got->ifindex = v6.ipi6_ifindex;
			got->to.family = AF_INET6;
			memcpy(got->to.bytes, &v6.ipi6_addr, 16);
		} else if (is_control(c, SOL_SOCKET, SCM_TIMESTAMPNS)) {
			memcpy(&then, CMSG_DATA(c), sizeof(then));
			/* the clock of the kernel's stamps, which may have been
			 * set since */
			clock_gettime(CLOCK_REALTIME, &now);
			ns = (now.tv_sec - then.tv_sec) * NS_PER_S +
			     now.tv_nsec - then.tv_nsec;
			got->waited_ns = ns > 0 && ns < WAIT_MOST_NS ? ns : 0;
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
		/* each error in the error queue is reported here once, too */
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

bool ping_socket_bounce(int fd, void *buf, size_t size, struct ping_got *b)
{
	struct sockaddr_storage by = { 0 };
	struct sock_extended_err err;
	size_t room;
	struct letter l;
	ssize_t n;

	letter_init(&l, buf, size);
	n = recvmsg(fd, &l.msg, MSG_ERRQUEUE | MSG_DONTWAIT);
	if (n < 0) {
		return false;
	}
	*b = (struct ping_got){
		.to = ip_of_sockaddr((struct sockaddr *)&l.sa),
		.n = (size_t)n,
	};
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&l.msg); c != NULL;
	     c = CMSG_NXTHDR(&l.msg, c)) {
		if (!is_control(c, SOL_IP, IP_RECVERR) &&
		    !is_control(c, SOL_IPV6, IPV6_RECVERR)) {
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
		b->from = ip_of_sockaddr((struct sockaddr *)&by);
	}
	return true;
}

int ping_watch(struct ping_child *c, int fd, uint32_t events,
	       enum ping_event kind, uint32_t number)
{
	struct epoll_event ev = {
		.events = events,
		.data.u64 = (uint64_t)kind << 32 | number,
	};

	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &ev);
}
