/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/ask.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include "lib/base/clock.h"

/* Two more of the kernel's attempts, of which the first may be lost. */
#define ASK_NS (3 * NS_PER_S)

static enum ask_answer answer_of(int error)
{
	return error == 0	       ? ASK_TAKEN :
	       error == ECONNREFUSED   ? ASK_REFUSED :
	       error == EINPROGRESS    ? ASK_PENDING : ASK_NOTHING;
}

static void settle(struct ask *a, enum ask_answer answer)
{
	a->answer = answer;
	if (answer != ASK_PENDING && a->fd > 0) {
		close(a->fd);
		a->fd = 0;
	}
}

void ask_begin(struct ask *a, const struct sockaddr_storage *to,
	       int64_t now_ns)
{
	socklen_t len = to->ss_family == AF_INET6 ?
				sizeof(struct sockaddr_in6) :
				sizeof(struct sockaddr_in);
	int fd = socket(to->ss_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	ask_end(a);
	*a = (struct ask){ .fd = fd, .until_ns = now_ns + ASK_NS };
	settle(a, fd < 0 ? ASK_NOTHING :
		  connect(fd, (const struct sockaddr *)to, len) == 0 ?
			   ASK_TAKEN : answer_of(errno));
}

enum ask_answer ask_look(struct ask *a, int64_t now_ns)
{
	struct pollfd p = { .fd = a->fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = 0;

	if (a->answer != ASK_PENDING) {
		return a->answer;
	}
	if (poll(&p, 1, 0) > 0) {
		getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &error, &len);
		settle(a, answer_of(error));
	} else if (now_ns > a->until_ns) {
		settle(a, ASK_NOTHING);
	}
	return a->answer;
}

void ask_end(struct ask *a)
{
	settle(a, ASK_NOTHING);
	*a = (struct ask){ 0 };
}
