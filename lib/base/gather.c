/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define GATHER_MAX  8
#define GATHER_READ 65536
/** A child that has closed its output and not ended yet is looked at so often;
 *  any other wakes us by its pipe. */
#define REAP_MS	 2
#define SLEEP_MS 100

/** Take what is there; close at the end. */
static void drain(struct gather *g, size_t max)
{
	char buf[GATHER_READ];
	ssize_t n = g->fd >= 0 ? read(g->fd, buf, sizeof(buf)) : -1;
	size_t room = max - g->out.len;

	if (n > 0) {
		str_addmem(&g->out, buf, (size_t)n < room ? (size_t)n : room);
	} else if (g->fd >= 0 &&
		   (n == 0 || (errno != EAGAIN && errno != EINTR))) {
		close(g->fd);
		g->fd = -1;
	}
}

/** Serve the children until all have ended, or to @deadline_ns.  Returns how
 *  many still run. */
static size_t follow(struct gather *list, size_t n, size_t max,
		     int64_t deadline_ns)
{
	struct pollfd fds[GATHER_MAX];

	for (;;) {
		int ms = clock_ms_left(deadline_ns), most = SLEEP_MS, status;
		size_t running = 0;

		for (size_t i = 0; i < n; i++) {
			struct gather *g = &list[i];

			if (!g->ended &&
			    waitpid(g->pid, &status, WNOHANG) == g->pid) {
				g->ended = true;
				if (WIFSIGNALED(status)) {
					g->st.signal = WTERMSIG(status);
				} else {
					g->st.exit_code = WEXITSTATUS(status);
				}
			}
			running += !g->ended;
			fds[i] = (struct pollfd){ .fd = g->fd,
						  .events = POLLIN };
			most = !g->ended && g->fd < 0 ? REAP_MS : most;
		}
		if (running == 0 || ms == 0) {
			return running;
		}
		poll(fds, n, ms < most ? ms : most);
		for (size_t i = 0; i < n; i++) {
			drain(&list[i], max);
		}
	}
}

void gather(struct gather *list, size_t n, size_t max, int64_t deadline_ns)
{
	n = n < GATHER_MAX ? n : GATHER_MAX;
	for (size_t i = 0; i < n; i++) {
		struct gather *g = &list[i];
		int fds[2];

		g->st = (struct spawn_status){ .exit_code = -1 };
		g->fd = -1;
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) <
		    0) {
			g->why = errno;
			g->ended = true;
			continue;
		}
		if (send(fds[0], g->in, g->n_in, MSG_NOSIGNAL | MSG_DONTWAIT) !=
		    (ssize_t)g->n_in) {
			g->why = EMSGSIZE;
		} else {
			g->why = spawn_fork(&(struct spawn_new){
				.argv = g->argv, .in_fd = fds[1],
				.out_fd = fds[1], .err_fd = -1,
				.sig = SIGKILL }, &g->pid);
		}
		close(fds[1]);
		g->fd = fds[0];
		shutdown(g->fd, SHUT_WR);
		fcntl(g->fd, F_SETFL, O_NONBLOCK);
		g->ended = g->why != 0;
	}
	if (follow(list, n, max, deadline_ns) > 0) {
		for (size_t i = 0; i < n; i++) {
			if (!list[i].ended) {
				list[i].st.timed_out = true;
				kill(-list[i].pid, SIGKILL);
			}
		}
		follow(list, n, max, deadline_ns + GATHER_GRACE_NS);
	}
	for (size_t i = 0; i < n; i++) {
		while (list[i].fd >= 0) {
			size_t had = list[i].out.len;

			drain(&list[i], max);
			if (list[i].fd >= 0 && list[i].out.len == had) {
				close(list[i].fd);
				list[i].fd = -1;
			}
		}
		list[i].left = !list[i].ended;
	}
}
