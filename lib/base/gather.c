/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define GATHER_MAX  8
#define GATHER_READ 65536
/** A child that has closed its output and not ended yet is looked at so often;
 *  any other wakes us by its pipe. */
#define REAP_MS	 2
#define SLEEP_MS 100

/** The ends of a child's pipes that are the child's. */
struct gather_ends {
	char *const *argv;
	int in, out;
};

static void become(void *arg)
{
	const struct gather_ends *s = arg;

	if (spawn_io("/dev/null", s->out, -1) == 0 &&
	    dup2(s->in, STDIN_FILENO) >= 0) {
		spawn_exec(s->argv);
	}
}

/** A pipe that has all of @text already; its end to read, or -1. */
static int pipe_of(const char *text)
{
	const size_t len = strlen(text);
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
		return -1;
	}
	if (write(fds[1], text, len) != (ssize_t)len) {
		close(fds[0]);
		fds[0] = -1;
		errno = EMSGSIZE;
	}
	close(fds[1]);
	if (fds[0] >= 0) {
		fcntl(fds[0], F_SETFL, 0);
	}
	return fds[0];
}

static void start(struct gather *g)
{
	struct gather_ends s = { .argv = g->argv, .in = pipe_of(g->in) };
	int out[2] = { -1, -1 };

	g->st = (struct spawn_status){ .exit_code = -1 };
	g->fd = -1;
	if (s.in < 0 || pipe2(out, O_CLOEXEC) < 0) {
		g->why = errno;
	} else {
		s.out = out[1];
		g->why = spawn_fork(SIGKILL, become, &s, &g->pid);
		close(out[1]);
	}
	if (s.in >= 0) {
		close(s.in);
	}
	if (g->why != 0) {
		g->ended = true;
		close(out[0]);
	} else {
		g->fd = out[0];
		fcntl(g->fd, F_SETFL, O_NONBLOCK);
	}
}

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

/** How many of them still run. */
static size_t reap(struct gather *list, size_t n)
{
	size_t running = 0;
	int status;

	for (size_t i = 0; i < n; i++) {
		struct gather *g = &list[i];

		if (!g->ended && waitpid(g->pid, &status, WNOHANG) == g->pid) {
			g->ended = true;
			if (WIFSIGNALED(status)) {
				g->st.signal = WTERMSIG(status);
			} else {
				g->st.exit_code = WEXITSTATUS(status);
			}
		}
		running += !g->ended;
	}
	return running;
}

/** Until all have ended, or to @deadline_ns; how many then run. */
static size_t follow(struct gather *list, size_t n, size_t max,
		     int64_t deadline_ns)
{
	struct pollfd fds[GATHER_MAX];
	size_t running;

	while ((running = reap(list, n)) > 0) {
		int ms = clock_ms_left(deadline_ns), most = SLEEP_MS;

		for (size_t i = 0; i < n; i++) {
			fds[i] = (struct pollfd){ .fd = list[i].fd,
						  .events = POLLIN };
			most = !list[i].ended && list[i].fd < 0 ? REAP_MS :
								  most;
		}
		if (ms == 0) {
			break;
		}
		poll(fds, n, ms < most ? ms : most);
		for (size_t i = 0; i < n; i++) {
			drain(&list[i], max);
		}
	}
	return running;
}

static void kill_all(struct gather *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!list[i].ended) {
			list[i].st.timed_out = true;
			kill(-list[i].pid, SIGKILL);
		}
	}
}

void gather(struct gather *list, size_t n, size_t max, int64_t deadline_ns)
{
	n = n < GATHER_MAX ? n : GATHER_MAX;
	for (size_t i = 0; i < n; i++) {
		start(&list[i]);
	}
	if (follow(list, n, max, deadline_ns) > 0) {
		kill_all(list, n);
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
