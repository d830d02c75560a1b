/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/route.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Of a kernel of 2017, which headers may be older than. */
#ifndef RTM_F_FIB_MATCH
#define RTM_F_FIB_MATCH 0x2000
#endif

struct question {
	struct nlmsghdr head;
	struct rtmsg body;
	char attributes[2 * RTA_SPACE(16) + RTA_SPACE(4)];
};

void routes_open(struct routes *r)
{
	const struct timeval patience = { .tv_sec = 1 };

	r->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (r->fd >= 0) {
		setsockopt(r->fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
	}
}

void routes_close(struct routes *r)
{
	if (r->fd >= 0) {
		close(r->fd);
	}
	r->fd = -1;
}

static void add(struct question *q, unsigned short type, const void *bytes,
		size_t n)
{
	struct rtattr *a = (void *)((char *)q + q->head.nlmsg_len);

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(n);
	memcpy(RTA_DATA(a), bytes, n);
	q->head.nlmsg_len += (unsigned)RTA_SPACE(n);
}

/* The errno of the answer to question number @seq; 0: there is a route. */
static int hear(int fd, unsigned seq)
{
	_Alignas(struct nlmsghdr) char answer[4096];
	const struct nlmsghdr *h = (const void *)answer;
	struct nlmsgerr why;
	ssize_t n;

	do {
		n = recv(fd, answer, sizeof(answer), 0);
		if (n < (ssize_t)sizeof(*h)) {
			return EIO;
		}
	} while (h->nlmsg_seq != seq);
	if (h->nlmsg_type != NLMSG_ERROR) {
		return 0;
	}
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(why))) {
		return EIO;
	}
	memcpy(&why, NLMSG_DATA(h), sizeof(why));
	return -why.error;
}

bool routes_lead(struct routes *r, const struct ip_addr *from,
		      unsigned ifindex, const struct ip_addr *to)
{
	size_t n = to->family == AF_INET6 ? 16 : 4;
	struct question q = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(q.body)),
			  .nlmsg_type = RTM_GETROUTE,
			  .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = ++r->seq },
		.body = { .rtm_family = (unsigned char)to->family,
			  .rtm_dst_len = (unsigned char)(8 * n),
			  .rtm_src_len = (unsigned char)(8 * n),
			  .rtm_flags = RTM_F_FIB_MATCH },
	};
	int code;

	add(&q, RTA_DST, to->bytes, n);
	add(&q, RTA_SRC, from->bytes, n);
	add(&q, RTA_OIF, &ifindex, sizeof(ifindex));
	if (r->fd < 0 || send(r->fd, &q, q.head.nlmsg_len, 0) < 0) {
		return true;
	}
	code = hear(r->fd, r->seq);
	return code != ENETUNREACH && code != EHOSTUNREACH;
}
