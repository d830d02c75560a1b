/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ping/neigh.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

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

static int add(struct ping_neighs *all, const struct ping_neigh *one,
	       struct err *e)
{
	/* doubled whenever it is full: at every power of two */
	if ((all->n & (all->n - 1)) == 0) {
		void *list = realloc(all->list,
				     (all->n ? 2 * all->n : 1) * sizeof(*one));

		if (list == NULL || all->n > NEIGH_MAX) {
			return err_set(e, ENOMEM, "too many neighbours");
		}
		all->list = list;
	}
	all->list[all->n++] = *one;
	return 0;
}

/* One attribute of an entry. */
static void take_attribute(struct ping_neigh *one, const struct rtattr *a)
{
	size_t n = RTA_PAYLOAD(a);

	if (a->rta_type == NDA_DST &&
	    n == (one->ip.family == AF_INET6 ? 16U : 4U)) {
		memcpy(one->ip.bytes, RTA_DATA(a), n);
	} else if (a->rta_type == NDA_LLADDR && n <= sizeof(one->mac)) {
		memcpy(one->mac, RTA_DATA(a), n);
		one->mac_len = n;
	}
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
		take_attribute(&one, a);
	}
	return add(all, &one, e);
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
