/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An NCCL without GPUs, for GPUCHECK_NCCL_LIB beside fake_cuda.c, whose memory
 * is the host's.  It computes real results out of real buffers of several
 * processes, at once and in the calling thread: who waits for another rank
 * blocks there, until ncclCommAbort().  It cannot show how fast NCCL is or how
 * it fails on a network.
 *
 *	FAKE_NCCL_WRONG=K	rank K's results have one wrong element
 *	FAKE_NCCL_REFUSES=NAME	operations with NCCL_ALGO=NAME are refused
 *	FAKE_NCCL_FLAP=MS	rank 0's link is gone for so long, once:
 *				NCCL waits as NCCL_IB_TIMEOUT (20) has it
 *	NCCL_ALGO, NCCL_PROTO	Ring and Tree, LL and Simple are obeyed and
 *				logged, others silently are not
 */
#undef HAVE_NCCL
#define HAVE_NCCL 0

#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "probes/dl/nccl.h"

#define RANKS_MAX 16
#define SLOT	  (1u << 18)
#define NS_PER_OP 5000
#define GROUP_MAX (2 * RANKS_MAX)

/* What the processes of a communicator share. */
struct shared {
	atomic_int joined;
	atomic_int waiting;
	atomic_int round;
	char slot[RANKS_MAX][SLOT];
};

struct ncclComm {
	struct shared *shared;
	int rank, size;
	atomic_bool aborted;
};

struct id {
	int64_t pid, fd;
};

struct transfer {
	bool sends;
	char *buf;
	size_t bytes;
	int peer;
	ncclComm_t comm;
};

static struct transfer group[GROUP_MAX];
static int group_depth, n_group;

/* ---- beginning and end --------------------------------------------------- */

#define FAKE(name, ...) \
	ncclResult_t name(__VA_ARGS__); \
	ncclResult_t name(__VA_ARGS__)

FAKE(ncclGetVersion, int *version)
{
	*version = 22809;
	return ncclSuccess;
}

FAKE(ncclGetUniqueId, ncclUniqueId *id)
{
	int fd = memfd_create("fake-nccl", MFD_CLOEXEC);
	struct id me = { .pid = getpid(), .fd = fd };

	memset(id, 0, sizeof(*id));
	memcpy(id, &me, sizeof(me));
	return fd >= 0 && ftruncate(fd, sizeof(struct shared)) == 0 ?
		       ncclSuccess :
		       ncclSystemError;
}

static void rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
}

FAKE(ncclCommInitRank, ncclComm_t *comm, int size, ncclUniqueId id, int rank)
{
	struct ncclComm *c = calloc(1, sizeof(*c));
	struct id lead;
	char path[64];
	int fd;

	memcpy(&lead, &id, sizeof(lead));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)lead.pid,
		 (int)lead.fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (c == NULL || fd < 0 || size > RANKS_MAX) {
		free(c);
		return ncclSystemError;
	}
	c->shared = mmap(NULL, sizeof(*c->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);
	close(fd);
	c->rank = rank;
	c->size = size;
	atomic_fetch_add(&c->shared->joined, 1);
	while (atomic_load(&c->shared->joined) < size) {
		rest();		/* as long as it takes */
	}
	*comm = c;
	return ncclSuccess;
}

FAKE(ncclCommGetAsyncError, ncclComm_t comm, ncclResult_t *state)
{
	(void)comm;
	*state = ncclSuccess;
	return ncclSuccess;
}

FAKE(ncclCommDestroy, ncclComm_t comm)
{
	munmap(comm->shared, sizeof(*comm->shared));
	free(comm);
	return ncclSuccess;
}

FAKE(ncclCommAbort, ncclComm_t comm)
{
	atomic_store(&comm->aborted, true);
	return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t rc);

const char *ncclGetErrorString(ncclResult_t rc)
{
	return rc == ncclInvalidUsage ? "invalid usage" : "fake error";
}

/* ---- what all operations share ---------------------------------------------- */

/* Everybody is here; false when this one was told to give up. */
static bool meet(ncclComm_t c)
{
	struct shared *s = c->shared;
	int round = atomic_load(&s->round);

	if (atomic_fetch_add(&s->waiting, 1) + 1 == c->size) {
		atomic_store(&s->waiting, 0);
		atomic_fetch_add(&s->round, 1);
		return true;
	}
	for (int spins = 0; atomic_load(&s->round) == round; spins++) {
		if (atomic_load(&c->aborted)) {
			return false;
		}
		spins < 200 ? (void)sched_yield() : rest();
	}
	return true;
}

/* The fake GPU was busy for so long: its clock goes on. */
static void spend(size_t bytes)
{
	void (*fake_cuda_spend)(int64_t ns) = NULL;
	void *cuda = dlopen(getenv("GPUCHECK_CUDA_LIB"), RTLD_NOW);

	if (cuda != NULL) {
		*(void **)&fake_cuda_spend = dlsym(cuda, "fake_cuda_spend");
		dlclose(cuda);
	}
	if (fake_cuda_spend != NULL) {
		fake_cuda_spend(NS_PER_OP + (int64_t)(bytes / 100));
	}
}

static void log_line(const char *fmt, const char *a, size_t bytes,
		     const char *algo, const char *proto)
{
	const char *path = getenv("NCCL_DEBUG_FILE");
	FILE *f = path != NULL ? fopen(path, "a") : NULL;

	if (f != NULL) {
		fprintf(f, "fake:%d:%d [0] NCCL ", getpid(), getpid());
		/* all four are used by each of the two formats below */
		fprintf(f, fmt[0] == 'W' ? "WARN No algorithm/protocol "
					   "available for function %s with %zu "
					   "bytes. NCCL_ALGO was set to %s. %s"
					   "\n" :
					   "INFO %s: %zu Bytes -> Algo %s "
					   "proto %s channel{Lo..Hi}={0..0}"
					   "\n",
			a, bytes, algo, proto);
		fclose(f);
	}
}

/* A packet is sent 8 times, each after 4.096 us x 2^timeout. */
static ncclResult_t outlast_flap(ncclComm_t c)
{
	const char *flap = getenv("FAKE_NCCL_FLAP");
	const char *timeout = getenv("NCCL_IB_TIMEOUT");
	long ms = flap != NULL && c->rank == 0 ? strtol(flap, NULL, 10) : 0;
	long t = timeout != NULL ? strtol(timeout, NULL, 10) : 20;
	long patience_ms = 8 * ((1L << t) * 4096 / 1000000);

	unsetenv("FAKE_NCCL_FLAP");
	if (ms > patience_ms) {
		ms = -patience_ms;
	}
	for (long left = labs(ms); left > 0; left--) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return ms < 0 ? ncclRemoteError : ncclSuccess;
}

/* Which algorithm and protocol: said, or refused. */
static ncclResult_t choose(ncclComm_t c, const char *function, size_t bytes)
{
	const char *subsys = getenv("NCCL_DEBUG_SUBSYS");
	const char *refuses = getenv("FAKE_NCCL_REFUSES");
	const char *algo = getenv("NCCL_ALGO"), *proto = getenv("NCCL_PROTO");

	if (algo != NULL && refuses != NULL && strcmp(algo, refuses) == 0) {
		log_line("W", function, bytes, algo, "");
		return ncclInvalidUsage;
	}
	if (outlast_flap(c) != ncclSuccess) {
		return ncclRemoteError;
	}
	algo = algo != NULL && strcasecmp(algo, "Tree") == 0 ? "Tree" : "Ring";
	proto = proto != NULL && strcasecmp(proto, "LL") == 0 ? "LL" :
								"Simple";
	if (c->rank == 0 && subsys != NULL && strstr(subsys, "TUNING")) {
		log_line("I", function, bytes, algo, proto);
	}
	return ncclSuccess;
}

/* ---- numbers ------------------------------------------------------------------ */

static const struct type {
	size_t bytes;
	int exponent, mantissa;	/* of floats that C does not have */
} types[] = {
	{ 1, 0, 0 }, { 1, 0, 0 }, { 4, 0, 0 }, { 4, 0, 0 }, { 8, 0, 0 },
	{ 8, 0, 0 }, { 2, 5, 10 }, { 4, 0, 0 }, { 8, 0, 0 }, { 2, 8, 7 },
	{ 1, 4, 3 }, { 1, 5, 2 },
};

static double decode(uint64_t bits, const struct type *t)
{
	uint64_t fraction = bits & ((1u << t->mantissa) - 1);
	int exp = (int)(bits >> t->mantissa) & ((1 << t->exponent) - 1);
	int bias = (1 << (t->exponent - 1)) - 1;

	return exp == 0 ? ldexp((double)fraction, 1 - bias - t->mantissa) :
			  ldexp(1 + ldexp((double)fraction, -t->mantissa),
				exp - bias);
}

/* The nearest of those there are, which rise with their bits; ties to even. */
static uint64_t encode(double v, const struct type *t)
{
	uint64_t low = 0, high = (1u << (t->exponent + t->mantissa)) - 1;
	double below, above;

	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;

		*(decode(middle, t) <= v ? &low : &high) = middle;
	}
	below = v - decode(low, t);
	above = decode(high, t) - v;
	return below < above || (below <= above && low % 2 == 0) ? low : high;
}

static double get(const char *p, int type)
{
	const struct type *t = &types[type];
	uint64_t u = 0;
	float f;
	double d;

	memcpy(&u, p, t->bytes);
	memcpy(&f, p, sizeof(f) < t->bytes ? sizeof(f) : t->bytes);
	memcpy(&d, &u, sizeof(d));
	return t->exponent > 0 ? decode(u, t) :
	       type == 7       ? (double)f :
	       type == 8       ? d :
				 (double)u;
}

static void put(char *p, int type, double v)
{
	const struct type *t = &types[type];
	uint64_t u = t->exponent > 0 ? encode(v, t) : (uint64_t)v;
	float f = (float)v;

	if (type == 7) {
		memcpy(p, &f, sizeof(f));
	} else if (type == 8) {
		memcpy(p, &v, sizeof(v));
	} else {
		memcpy(p, &u, t->bytes);
	}
}

static double both(ncclRedOp_t op, double a, double b)
{
	switch ((int)op) {
	case 1:
		return a * b;
	case 2:
		return fmax(a, b);
	case 3:
		return fmin(a, b);
	default:
		return a + b;
	}
}

/* Element @i of all slots into @out. */
static void reduce_one(ncclComm_t c, size_t i, char *out, int type,
		       ncclRedOp_t op)
{
	size_t width = types[type].bytes;
	double v = get(c->shared->slot[0] + i * width, type);

	for (int r = 1; r < c->size; r++) {
		v = both(op, v, get(c->shared->slot[r] + i * width, type));
		put(out, type, v);	/* rounds as it goes */
		v = get(out, type);
	}
	put(out, type, op == 4 ? v / c->size : v);
}

static void spoil(ncclComm_t c, char *result, size_t bytes)
{
	const char *who = getenv("FAKE_NCCL_WRONG");

	if (who != NULL && strtol(who, NULL, 10) == c->rank && bytes > 64) {
		result[bytes / 2] ^= 0x10;
	}
}

/* ---- operations ------------------------------------------------------------------ */

/*
 * Everybody shows @bytes of @from, slot by slot; @take gets its share of each.
 */
struct show {
	ncclComm_t comm;
	const char *from;
	size_t bytes;
	char *to;
	int type;
	ncclRedOp_t op;
};

static ncclResult_t show(const struct show *s,
			 void (*take)(const struct show *s, size_t at,
				      size_t n))
{
	ncclComm_t c = s->comm;

	for (size_t at = 0; at < s->bytes; at += SLOT) {
		size_t n = s->bytes - at < SLOT ? s->bytes - at : SLOT;

		memcpy(c->shared->slot[c->rank], s->from + at, n);
		if (!meet(c)) {
			return ncclInternalError;
		}
		if (s->to != NULL) {
			take(s, at, n);
		}
		if (!meet(c)) {
			return ncclInternalError;
		}
	}
	return ncclSuccess;
}

static void take_sum(const struct show *s, size_t at, size_t n)
{
	size_t width = types[s->type].bytes;

	for (size_t i = 0; i < n / width; i++) {
		reduce_one(s->comm, i, s->to + at + i * width, s->type, s->op);
	}
}

static void take_all(const struct show *s, size_t at, size_t n)
{
	for (int r = 0; r < s->comm->size; r++) {
		memcpy(s->to + (size_t)r * s->bytes + at,
		       s->comm->shared->slot[r], n);
	}
}

static void take_root(const struct show *s, size_t at, size_t n)
{
	memcpy(s->to + at, s->comm->shared->slot[(int)s->op], n);
}

FAKE(ncclAllReduce, const void *from, void *to, size_t count,
     ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
     struct CUstream_st *stream)
{
	size_t bytes = count * types[type].bytes;
	struct show s = { comm, from, bytes, to, (int)type, op };
	ncclResult_t rc = choose(comm, "AllReduce", bytes);

	(void)stream;
	if (rc == ncclSuccess) {
		rc = show(&s, take_sum);
	}
	spoil(comm, to, bytes);
	spend(bytes);
	return rc;
}

FAKE(ncclReduce, const void *from, void *to, size_t count,
     ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
     struct CUstream_st *stream)
{
	size_t bytes = count * types[type].bytes;
	struct show s = { comm, from, bytes, comm->rank == root ? to : NULL,
			  (int)type, op };

	(void)stream;
	spend(bytes);
	return show(&s, take_sum);
}

FAKE(ncclReduceScatter, const void *from, void *to, size_t count,
     ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
     struct CUstream_st *stream)
{
	size_t bytes = count * types[type].bytes;
	ncclResult_t rc = ncclSuccess;

	(void)stream;
	for (int r = 0; rc == ncclSuccess && r < comm->size; r++) {
		struct show s = { comm, (const char *)from + (size_t)r * bytes,
				  bytes, comm->rank == r ? to : NULL,
				  (int)type, op };

		rc = show(&s, take_sum);
	}
	spend(bytes * (size_t)comm->size);
	return rc;
}

FAKE(ncclAllGather, const void *from, void *to, size_t count,
     ncclDataType_t type, ncclComm_t comm, struct CUstream_st *stream)
{
	size_t bytes = count * types[type].bytes;
	struct show s = { comm, from, bytes, to, (int)type, ncclSum };
	ncclResult_t rc = choose(comm, "AllGather", bytes);

	(void)stream;
	if (rc == ncclSuccess) {
		rc = show(&s, take_all);
	}
	spoil(comm, to, bytes * (size_t)comm->size);
	spend(bytes * (size_t)comm->size);
	return rc;
}

FAKE(ncclBroadcast, const void *from, void *to, size_t count,
     ncclDataType_t type, int root, ncclComm_t comm,
     struct CUstream_st *stream)
{
	size_t bytes = count * types[type].bytes;
	struct show s = { comm, from, bytes, to, (int)type,
			  (ncclRedOp_t)root };

	(void)stream;
	spend(bytes);
	return show(&s, take_root);
}

/* ---- sending and receiving --------------------------------------------------------- */

/* Everybody's message to rank @to, who takes what it waits for. */
static ncclResult_t deliver(ncclComm_t c, int to, size_t bytes)
{
	ncclResult_t rc = ncclSuccess;

	for (size_t at = 0; rc == ncclSuccess && at < bytes; at += SLOT) {
		size_t n = bytes - at < SLOT ? bytes - at : SLOT;

		for (int i = 0; i < n_group; i++) {
			if (group[i].sends && group[i].peer == to) {
				memcpy(c->shared->slot[c->rank],
				       group[i].buf + at, n);
			}
		}
		rc = meet(c) ? ncclSuccess : ncclInternalError;
		for (int i = 0; c->rank == to && i < n_group; i++) {
			if (!group[i].sends) {
				memcpy(group[i].buf + at,
				       c->shared->slot[group[i].peer], n);
			}
		}
		rc = meet(c) ? rc : ncclInternalError;
	}
	return rc;
}

FAKE(ncclGroupStart, void)
{
	group_depth++;
	return ncclSuccess;
}

FAKE(ncclGroupEnd, void)
{
	ncclResult_t rc = ncclSuccess;
	ncclComm_t c = n_group > 0 ? group[0].comm : NULL;

	if (--group_depth > 0 || c == NULL) {
		return ncclSuccess;
	}
	for (int to = 0; rc == ncclSuccess && to < c->size; to++) {
		rc = deliver(c, to, group[0].bytes);
	}
	spend(group[0].bytes * (size_t)n_group / 2);
	n_group = 0;
	return rc;
}

static ncclResult_t add(struct transfer t)
{
	if (n_group == GROUP_MAX) {
		return ncclInvalidUsage;
	}
	ncclGroupStart();
	group[n_group++] = t;
	return ncclGroupEnd();
}

FAKE(ncclSend, const void *buf, size_t count, ncclDataType_t type, int peer,
     ncclComm_t comm, struct CUstream_st *stream)
{
	(void)stream;
	return add((struct transfer){ true, (char *)(uintptr_t)buf,
				      count * types[type].bytes, peer, comm });
}

FAKE(ncclRecv, void *buf, size_t count, ncclDataType_t type, int peer,
     ncclComm_t comm, struct CUstream_st *stream)
{
	(void)stream;
	return add((struct transfer){ false, buf, count * types[type].bytes,
				      peer, comm });
}
