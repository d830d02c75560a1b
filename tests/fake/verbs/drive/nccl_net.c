/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL's own IB transport without a GPU: its vtable, out of a libnccl.so.2 that
 * still has its symbols, moves messages in host memory from one process to
 * another, node n0 to n1.  That it came as far as a GPU would have, NCCL says
 * itself (NCCL_DEBUG).
 * usage: nccl_net LIBRARY ADDRESS DEVICE DEVICE BYTES COUNT
 *
 * ADDRESS is that of ncclNetIb, as nm prints it; the vtable is that of NCCL
 * 2.28 and 2.29.  One line a process; exit 0, or 1 where a call failed.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HANDLE	128
#define HOST	1	/* kind of memory */
#define ON_WAY	8	/* messages at a time */
#define PATIENT 10.0	/* seconds */

struct net {
	const char *name;
	int (*init)(void **ctx, uint64_t id, int *traffic_class, void *log,
		    void *profile);
	int (*devices)(int *n);
	int (*properties)(int device, void *out);
	int (*listen)(void *ctx, int device, void *handle, void **listener);
	int (*connect)(void *ctx, int device, void *handle, void **comm,
		       void **offload);
	int (*accept)(void *listener, void **comm, void **offload);
	int (*reg_mr)(void *comm, void *data, size_t size, int kind,
		      void **mr);
	void *reg_dmabuf;
	int (*dereg_mr)(void *comm, void *mr);
	int (*isend)(void *comm, void *data, size_t size, int tag, void *mr,
		     void *profile, void **request);
	int (*irecv)(void *comm, int n, void **data, size_t *sizes, int *tags,
		     void **mrs, void **profiles, void **request);
	void *iflush;
	int (*test)(void *request, int *done, int *sizes);
	int (*close_send)(void *comm);
	int (*close_recv)(void *comm);
	int (*close_listen)(void *listener);
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What NCCL's functions log with. */
static void log_line(int level, unsigned long flags, const char *file, int line,
		     const char *format, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)format;
}

static int profile(void)
{
	return 0;
}

static const struct net *load(const char *library, const char *address)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	struct link_map *map;

	if (lib == NULL || dlinfo(lib, RTLD_DI_LINKMAP, &map) != 0) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return (void *)(map->l_addr + strtoull(address, NULL, 16));
}

struct run {
	const struct net *net;
	int fd, device, count;
	bool sends;
	void *ctx, *comm, *mr;
	uint8_t *data;		/* ON_WAY messages */
	size_t bytes;
};

static int fail(const struct run *r, const char *call, int rc, double since_s)
{
	printf("%s: %s: %d after %.2f s\n", r->sends ? "sender" : "receiver",
	       call, rc, now_s() - since_s);
	return -1;
}

static int meet(struct run *r)
{
	char handle[2 * HANDLE] = { 0 };
	void *listener = NULL, *offload = NULL;
	double since = now_s();
	int rc = 0;

	if (!r->sends) {
		rc = r->net->listen(r->ctx, r->device, handle, &listener);
		if (rc != 0 || write(r->fd, handle, HANDLE) != HANDLE) {
			return fail(r, "listen", rc, since);
		}
	} else if (read(r->fd, handle, HANDLE) != HANDLE) {
		return fail(r, "handle", 0, since);
	}
	while (rc == 0 && r->comm == NULL && now_s() - since < PATIENT) {
		rc = r->sends ? r->net->connect(r->ctx, r->device, handle,
						&r->comm, &offload) :
				r->net->accept(listener, &r->comm, &offload);
	}
	if (rc != 0 || r->comm == NULL) {
		return fail(r, r->sends ? "connect" : "accept", rc, since);
	}
	rc = r->net->reg_mr(r->comm, r->data, ON_WAY * r->bytes, HOST, &r->mr);
	return rc == 0 ? 0 : fail(r, "regMr", rc, since);
}

static uint8_t pattern(int message, size_t at)
{
	return (uint8_t)((size_t)message * 131 + at * 7 + (at >> 8));
}

static int begin(struct run *r, int message, void **request)
{
	void *data = r->data + (size_t)(message % ON_WAY) * r->bytes;
	size_t size = r->bytes;
	void *none = NULL;
	int tag = 0;

	if (!r->sends) {
		memset(data, 0, size);
		return r->net->irecv(r->comm, 1, &data, &size, &tag, &r->mr,
				     &none, request);
	}
	for (size_t i = 0; i < size; i++) {
		((uint8_t *)data)[i] = pattern(message, i);
	}
	return r->net->isend(r->comm, data, size, tag, r->mr, NULL, request);
}

static long long wrong_in(const struct run *r, int message)
{
	const uint8_t *data = r->data + (size_t)(message % ON_WAY) * r->bytes;
	long long wrong = 0;

	for (size_t i = 0; !r->sends && i < r->bytes; i++) {
		wrong += data[i] != pattern(message, i);
	}
	return wrong;
}

/* The other end has given up: it closes its side of the socket. */
static bool left(const struct run *r)
{
	char byte;

	return recv(r->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static int move(struct run *r)
{
	void *request[ON_WAY] = { 0 };
	int begun = 0, done = 0, over, rc = 0, size = 0;
	long long wrong = 0;
	double since = now_s(), last = since;

	while (done < r->count && rc == 0 && now_s() - since < PATIENT) {
		if (begun < r->count && begun - done < ON_WAY) {
			rc = begin(r, begun, &request[begun % ON_WAY]);
			begun += request[begun % ON_WAY] != NULL;
		}
		over = 0;
		if (rc == 0 && begun > done) {
			rc = r->net->test(request[done % ON_WAY], &over,
					  &size);
		}
		if (!over && left(r) && now_s() - last > 1) {
			break;
		}
		if (over) {
			wrong += wrong_in(r, done);
			request[done % ON_WAY] = NULL;
			last = now_s();
			done++;
		}
	}
	if (rc != 0 || done < r->count) {
		return fail(r, done == 0 ? "first test" : "test", rc, since);
	}
	printf("%s: ok, %lld wrong, %.3f GB/s\n", r->sends ? "sender" :
	       "receiver", wrong, (double)r->bytes * r->count /
					  (now_s() - since) / 1e9);
	return 0;
}

static int end_of(struct run *r)
{
	int traffic_class = -1, n = 0, rc;
	char byte = 0;

	setenv("FAKE_VERBS_NODE", r->sends ? "n0" : "n1", 1);
	r->data = aligned_alloc(4096, ON_WAY * r->bytes);
	rc = r->net->init(&r->ctx, 1, &traffic_class, (void *)log_line,
			  (void *)profile);
	if (rc != 0 || r->net->devices(&n) != 0 || n <= r->device) {
		return fail(r, "init", rc != 0 ? rc : n, now_s());
	}
	rc = meet(r) == 0 && move(r) == 0 ? 0 : -1;
	/* no end leaves before the other is through */
	shutdown(r->fd, SHUT_WR);
	if (rc == 0 && read(r->fd, &byte, 1) < 0) {
		return -1;
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct run r = { .sends = true };
	int pair[2], status = 0, rc;
	pid_t child;

	if (argc != 7 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
		return 2;
	}
	r.device = (int)strtol(argv[3], NULL, 10);
	r.bytes = (strtoull(argv[5], NULL, 10) + 4095) / 4096 * 4096;
	r.count = (int)strtol(argv[6], NULL, 10);
	setvbuf(stdout, NULL, _IOLBF, 0);
	child = fork();
	if (child == 0) {
		r.sends = false;
		r.device = (int)strtol(argv[4], NULL, 10);
	}
	r.fd = pair[child == 0];
	close(pair[child != 0]);
	r.net = load(argv[1], argv[2]);
	rc = end_of(&r) == 0 ? 0 : 1;
	if (child == 0) {
		_exit(rc);
	}
	waitpid(child, &status, 0);
	_exit(rc != 0 || status != 0);
}
