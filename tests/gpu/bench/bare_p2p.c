/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least that measures every ordered pair of GPUs with NCCL: one process a
 * GPU, a communicator a pair, all made at once, then the pairs of each round
 * side by side.  No control star, no deadlines, no data check, no latency, no
 * report: what gpucheck is compared with, in the same run on the same GPUs.
 *
 *   bare_p2p GPUS MIB [group]     one communicator for all instead
 *   bare_p2p GPUS MIB bidi        then both ways at once, too
 *   bare_p2p GPUS MIB pretend INSIDE ACROSS
 *                                 the GPUs once for each of two pretend hosts,
 *                                 sockets between; so many transfers a pair
 *                                 inside a host and across
 *
 * Prints seconds a phase and GB/s (10^9 bytes per second, one way): one way at
 * a time; both at once as sendrecv_perf of nccl-tests does with 2 GPUs.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/stats.h"
#include "lib/base/units.h"
#include "probes/dl/nccl.h"
#include "probes/host/gpu.h"
#include "probes/plan/plan.h"

#define MAX_GPUS 16
#define HOSTS	 2	/* pretend ones */
#define WARMUP	 3
#define ITERS	 20
#define MAX_ITERS 10000

enum phase { OPENED, JOINED, MET, MEASURED, PHASES };

/* Between the processes; zero at the start. */
struct shared {
	ncclUniqueId ids[MAX_GPUS][MAX_GPUS];
	atomic_bool has_id[MAX_GPUS][MAX_GPUS];
	atomic_int arrived[PHASES + 1];
	double uni[MAX_GPUS][MAX_GPUS], bidi[MAX_GPUS][MAX_GPUS];
	int64_t at_ns[PHASES];
};

struct peer {
	ncclComm_t comm;
	int rank;	/* in the communicator */
	int me;
	int size;
	ncclUniqueId id;
	pthread_t thread;
};

static struct shared *shared;
static int size, self, gpus_a_host;
static int64_t iters_inside = ITERS, iters_across = ITERS;
static uint64_t bytes;
static const struct nccl *nccl;
static struct gpu gpu;
static struct peer peers[MAX_GPUS];

static void die(const char *what)
{
	fprintf(stderr, "bare_p2p: rank %d: %s failed\n", self, what);
	_exit(1);
}

static void check(int code, const char *what)
{
	if (code != 0) {
		die(what);
	}
}

static void barrier(enum phase p)
{
	atomic_fetch_add(&shared->arrived[p], 1);
	while (atomic_load(&shared->arrived[p]) < size) {
		usleep(50);
	}
	if (self == 0) {
		shared->at_ns[p] = clock_now_ns();
	}
}

static const ncclUniqueId *pair_id(int a, int b)
{
	if (self == a) {
		check(nccl->ncclGetUniqueId(&shared->ids[a][b]), "id");
		atomic_store(&shared->has_id[a][b], true);
	}
	while (!atomic_load(&shared->has_id[a][b])) {
		usleep(50);
	}
	return &shared->ids[a][b];
}

static void *join(void *arg)
{
	struct peer *p = arg;
	CUcontext ctx;

	check((int)gpu.cu->ctx_retain(&ctx, gpu.dev), "context");
	check((int)gpu.cu->ctx_set(ctx), "context");
	check(nccl->ncclCommInitRank(&p->comm, p->size, p->id, p->me), "join");
	return NULL;
}

static void join_pairs(void)
{
	for (int r = 0; r < sched_rounds(size); r++) {
		int other = sched_partner(size, r, self);
		struct peer *p = &peers[other < 0 ? 0 : other];

		if (other < 0) {
			continue;
		}
		p->size = 2;
		p->me = self > other;
		p->rank = !p->me;
		p->id = *pair_id(self < other ? self : other,
				 self < other ? other : self);
		check(pthread_create(&p->thread, NULL, join, p), "thread");
	}
	for (int i = 0; i < size; i++) {
		if (i != self) {
			pthread_join(peers[i].thread, NULL);
		}
	}
}

static void join_group(void)
{
	struct peer all = { .size = size, .me = self };

	all.id = *pair_id(0, 0);
	join(&all);
	for (int i = 0; i < size; i++) {
		peers[i] = all;
		peers[i].rank = i;
	}
}

static void transfer(struct peer *p, bool send, bool receive, uint64_t n)
{
	void *from = (void *)(uintptr_t)gpu.buf[GPU_SEND];
	void *to = (void *)(uintptr_t)gpu.buf[GPU_RECV];

	check(nccl->ncclGroupStart(), "group");
	if (send) {
		check(nccl->ncclSend(from, n, ncclUint8, p->rank, p->comm,
				     gpu.stream),
		      "send");
	}
	if (receive) {
		check(nccl->ncclRecv(to, n, ncclUint8, p->rank, p->comm,
				     gpu.stream),
		      "receive");
	}
	check(nccl->ncclGroupEnd(), "group");
}

static void drain(void)
{
	CUresult rc;

	while ((rc = gpu.cu->stream_query(gpu.stream)) ==
	       CUDA_ERROR_NOT_READY) {
		continue;
	}
	check((int)rc, "stream");
}

static bool inside(int other)
{
	return self / gpus_a_host == other / gpus_a_host;
}

/* GB/s of transfers with @other after both ends have met on the stream. */
static double measure(int other, bool send, bool receive)
{
	struct peer *p = &peers[other];
	int64_t iters = inside(other) ? iters_inside : iters_across;
	float ms;

	for (int i = 0; i < WARMUP; i++) {
		transfer(p, send, receive, bytes);
	}
	transfer(p, true, true, 8);
	gpu.cu->event_record(gpu.stamps[0], gpu.stream);
	for (int64_t i = 0; i < iters; i++) {
		transfer(p, send, receive, bytes);
	}
	gpu.cu->event_record(gpu.stamps[1], gpu.stream);
	drain();
	check((int)gpu.cu->event_elapsed(&ms, gpu.stamps[0], gpu.stamps[1]),
	      "time");
	return (double)bytes * (double)iters / (double)ms / 1e6;
}

/* As probes/nccl/env.c sets pretend hosts apart. */
static void pretend_host(int host)
{
	char id[16];

	snprintf(id, sizeof(id), "n%d", host);
	setenv("NCCL_HOSTID", id, 0);
	setenv("NCCL_NET", "Socket", 0);
	setenv("NCCL_SOCKET_IFNAME", "lo", 0);
}

static void child(bool group, bool bidi)
{
	const char *code;
	struct err e = { 0 };

	if (gpus_a_host < size) {
		pretend_host(self / gpus_a_host);
	}
	nccl = dl_nccl(&e);
	if (nccl == NULL || gpu_open(&gpu, self % gpus_a_host, &code, &e) < 0 ||
	    gpu_reserve(&gpu, bytes) != CUDA_SUCCESS) {
		die(e.text);
	}
	barrier(OPENED);
	if (group) {
		join_group();
	} else {
		join_pairs();
	}
	barrier(JOINED);
	for (int r = 0; r < sched_rounds(size); r++) {
		int other = sched_partner(size, r, self);

		if (other >= 0) {
			transfer(&peers[other], true, true, 8);
			drain();
		}
	}
	barrier(MET);
	for (int r = 0; r < sched_rounds(size); r++) {
		int other = sched_partner(size, r, self);

		if (other < 0) {
			continue;
		}
		for (int d = 0; d < 2; d++) {
			bool send = (self < other) == (d == 0);
			double v = measure(other, send, !send);

			if (send) {
				shared->uni[self][other] = v;
			}
		}
	}
	barrier(MEASURED);
	for (int r = 0; bidi && r < sched_rounds(size); r++) {
		int other = sched_partner(size, r, self);

		if (other >= 0) {
			shared->bidi[self][other] =
				measure(other, true, true);
		}
	}
	barrier(PHASES);
	_exit(0);
}

static void print_spread(const char *name, double (*m)[MAX_GPUS])
{
	double v[MAX_GPUS * MAX_GPUS];
	size_t n = 0;

	for (int i = 0; i < size; i++) {
		for (int j = 0; j < size; j++) {
			if (i != j) {
				v[n++] = m[i][j];
			}
		}
	}
	printf(" %s_GB_s %.1f", name, stats_median(v, n));
	printf(" %s_min %.1f %s_max %.1f", name, v[0], name, v[n - 1]);
}

static bool number(const char *text, int64_t least, int64_t most, int64_t *v)
{
	return text != NULL && units_parse_int(text, least, most, v, NULL) == 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 3 ? argv[3] : "";
	bool group = strcmp(mode, "group") == 0;
	bool bidi = strcmp(mode, "bidi") == 0;
	bool pretend = argc > 5 && strcmp(mode, "pretend") == 0;
	int64_t gpus, mib, start = clock_now_ns(), last = start;
	static const char *const names[] = { "open", "join", "contact",
					     "measure" };
	int status, bad = 0;

	if (argc < 3 || !number(argv[1], pretend ? 1 : 2,
				pretend ? MAX_GPUS / HOSTS : MAX_GPUS, &gpus) ||
	    !number(argv[2], 1, 4096, &mib) ||
	    (pretend && (!number(argv[4], 1, MAX_ITERS, &iters_inside) ||
			 !number(argv[5], 1, MAX_ITERS, &iters_across)))) {
		fprintf(stderr, "usage: bare_p2p GPUS MIB "
				"[group|bidi|pretend INSIDE ACROSS]\n");
		return 2;
	}
	gpus_a_host = (int)gpus;
	size = pretend ? gpus_a_host * HOSTS : gpus_a_host;
	bytes = (uint64_t)mib << 20;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (self = 0; self < size; self++) {
		if (fork() == 0) {
			child(group, bidi);
		}
	}
	while (wait(&status) > 0) {
		bad |= status;
	}
	for (int p = OPENED; p < PHASES; p++) {
		printf("%s_s %.2f ", names[p],
		       (double)(shared->at_ns[p] - last) / 1e9);
		last = shared->at_ns[p];
	}
	printf("total_s %.2f", (double)(last - start) / 1e9);
	print_spread("uni", shared->uni);
	if (bidi) {
		print_spread("bidi", shared->bidi);
	}
	printf("\n");
	return bad != 0;
}
