/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An NCCL without GPUs, for GPUCHECK_NCCL_LIB beside fake_cuda.c, whose memory
 * is the host's.  It computes real results out of real buffers of several
 * processes, in the calling thread: a communicator that may block waits there
 * for other ranks, until ncclCommAbort(); another one goes on whenever
 * ncclCommGetAsyncError() is called.  Ranks that send and receive nothing are
 * not waited for.
 *
 *	FAKE_NCCL_NET=FILE	the network between them: see net.h
 *	FAKE_NCCL_WRONG=K	rank K's results have one wrong element
 *	FAKE_NCCL_WRONG_EVERY=N	one result in N does
 *	FAKE_NCCL_REFUSES=NAME	operations with NCCL_ALGO=NAME are refused
 *	FAKE_NCCL_FLAP=MS	rank 0's link is gone for so long, once:
 *				NCCL waits as NCCL_IB_TIMEOUT (20) has it
 *	NCCL_ALGO, NCCL_PROTO	Ring and Tree, LL and Simple are obeyed and
 *				logged, others silently are not
 *	NCCL_CONF_FILE, ~/.nccl.conf	set what the environment does not
 *
 * Built with OLD_NCCL it has no functions that came after NCCL 2.12.
 */
#undef HAVE_NCCL
#define HAVE_NCCL 0

#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
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
#include "tests/fake/nccl/net.h"

#define RANKS_MAX NET_RANKS
#define SLOT	  (1u << 18)
#define BOX	  (1u << 16)
#define COPY_TEXT(array, text) snprintf((array), sizeof(array), "%s", (text))
#define NS_PER_OP 5000
#define GROUP_MAX (2 * RANKS_MAX)

/* Bytes on their way from one rank to another. */
struct box {
	atomic_uint put, taken;		/* chunks */
	char chunk[BOX];
};

/* What the processes of a communicator share. */
struct shared {
	atomic_int joined;
	atomic_int waiting;
	atomic_int round;
	struct net_rank who[RANKS_MAX];
	char slot[RANKS_MAX][SLOT];
	struct box box[RANKS_MAX][RANKS_MAX];
};

struct transfer {
	bool sends;
	char *buf;
	size_t bytes, done;
	int peer;
	ncclComm_t comm;
};

struct ncclComm {
	struct shared *shared;
	int rank, size;
	int lead_fd;		/* -1: another process made it */
	bool made, blocking;
	atomic_bool aborted;
	ncclResult_t failed;
	bool met[RANKS_MAX][2];	/* peers that it has received from, sent to */
	struct transfer work[GROUP_MAX];	/* under way */
	int n_work;
	int64_t due_ns;		/* when the network is through, 0: not yet */
};

struct id {
	int64_t pid, fd;
};

static struct transfer group[GROUP_MAX];
static int group_depth, n_group;

/* ---- the network --------------------------------------------------------- */

static struct net net;
static struct net_nics *nics;	/* NULL: no file names a network */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
}

__attribute__((format(printf, 1, 2)))
static void say(const char *fmt, ...)
{
	const char *path = getenv("NCCL_DEBUG_FILE");
	FILE *f = path != NULL ? fopen(path, "a") : NULL;
	va_list ap;

	if (f != NULL) {
		fprintf(f, "fake:%d:%d [0] NCCL ", getpid(), getpid());
		va_start(ap, fmt);
		vfprintf(f, fmt, ap);
		va_end(ap);
		fputc('\n', f);
		fclose(f);
	}
}

static bool is_on(const char *name, const char *value)
{
	const char *text = getenv(name);

	return text != NULL && strcasecmp(text, value) == 0;
}

/* As NCCL does: what the environment has counts. */
static void read_conf(void)
{
	const char *own = getenv("NCCL_CONF_FILE"), *home = getenv("HOME");
	char path[4096], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", own ? own : home ? home : "",
		 own ? "" : "/.nccl.conf");
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f)) {
		char *equals = strchr(line, '=');

		line[strcspn(line, "\n")] = '\0';
		if (line[0] != '#' && equals != NULL) {
			*equals = '\0';
			setenv(line, equals + 1, 0);
		}
	}
	if (f != NULL) {
		fclose(f);
	}
}

/* The last number in its name: n3, 3. */
static int own_node(void)
{
	const char *id = getenv("NCCL_HOSTID");
	char host[256] = "";
	size_t len;

	gethostname(host, sizeof(host) - 1);
	id = id != NULL ? id : host;
	len = strlen(id);
	while (len > 0 && id[len - 1] >= '0' && id[len - 1] <= '9') {
		len--;
	}
	return (int)strtol(id + len, NULL, 10) % NET_NODES;
}

static int own_gpu(void)
{
	int (*fake_cuda_gpu)(void) = NULL;
	void *cuda = dlopen(getenv("GPUCHECK_CUDA_LIB"), RTLD_NOW);

	if (cuda != NULL) {
		*(void **)&fake_cuda_gpu = dlsym(cuda, "fake_cuda_gpu");
		dlclose(cuda);
	}
	return fake_cuda_gpu != NULL ? fake_cuda_gpu() % net.gpus : 0;
}

static void fail_setup(const char *what, int line)
{
	fprintf(stderr, "FAKE_NCCL_NET: %s, line %d\n", what, line);
	abort();
}

/* Once a process; which network it is says the user, then the file. */
static void set_up(void)
{
	const char *path = getenv("FAKE_NCCL_NET");
	char text[8192] = "", state[4096];
	static bool done;
	int fd, bad;
	FILE *f;

	if (done) {
		return;
	}
	done = true;
	read_conf();
	f = path != NULL ? fopen(path, "re") : NULL;
	if (path != NULL && f == NULL) {
		fail_setup("no such file", 0);
	}
	if (f != NULL) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
	}
	bad = net_parse(text, &net);
	if (bad > 0) {
		fail_setup("not understood", bad);
	}
	if (is_on("NCCL_IB_DISABLE", "1") || is_on("NCCL_NET", "Socket")) {
		COPY_TEXT(net.network, "Socket");
		COPY_TEXT(net.nic, "eth");
		net.rail_only = false;
	}
	if (is_on("NCCL_MNNVL_ENABLE", "0")) {
		net.mnnvl = 0;
	}
	if (path != NULL) {
		snprintf(state, sizeof(state), "%s.nics", path);
		fd = open(state, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, sizeof(*nics)) < 0) {
			fail_setup("no room beside it", 0);
		}
		nics = mmap(NULL, sizeof(*nics), PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);
		close(fd);
	}
}

/* What NCCL logs at the first communicator of a process. */
static void say_network(void)
{
	static const char *const settings[] = {
		"NCCL_IB_DISABLE", "NCCL_NET", "NCCL_PXN_DISABLE",
		"NCCL_IB_TIMEOUT", NULL
	};
	bool gdr = !net.no_gdr && strcmp(net.network, "Socket") != 0;
	static bool said;

	if (said || nics == NULL) {
		return;
	}
	said = true;
	for (int i = 0; settings[i] != NULL; i++) {
		if (getenv(settings[i]) != NULL) {
			say("INFO %s set by environment to %s.", settings[i],
			    getenv(settings[i]));
		}
	}
	for (int i = 0; i < net.n_says; i++) {
		say("%s", net.says[i]);
	}
	say("INFO Using network %s", net.network);
	for (int i = 0; i < net.nics; i++) {
		say("INFO NET/%s : GPU Direct RDMA %s for HCA %d '%s%d'",
		    net.network, gdr ? "Enabled" : "Disabled", i, net.nic, i);
	}
}

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

static struct ncclComm *join(int size, ncclUniqueId id, int rank)
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
		return NULL;
	}
	set_up();
	c->shared = mmap(NULL, sizeof(*c->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);
	close(fd);
	c->lead_fd = lead.pid == getpid() ? (int)lead.fd : -1;
	c->rank = rank;
	c->size = size;
	c->shared->who[rank] = (struct net_rank){ own_node(), own_gpu() };
	atomic_fetch_add(&c->shared->joined, 1);
	return c;
}

/* Are all there? */
static bool is_made(ncclComm_t c)
{
	if (!c->made && atomic_load(&c->shared->joined) >= c->size) {
		c->made = true;
		say_network();
	}
	return c->made;
}

FAKE(ncclCommInitRank, ncclComm_t *comm, int size, ncclUniqueId id, int rank)
{
	struct ncclComm *c = join(size, id, rank);

	if (c == NULL) {
		return ncclSystemError;
	}
	c->blocking = true;
	while (!is_made(c)) {
		rest();		/* as long as it takes */
	}
	*comm = c;
	return ncclSuccess;
}

static ncclResult_t progress(ncclComm_t c);

FAKE(ncclCommGetAsyncError, ncclComm_t comm, ncclResult_t *state)
{
	*state = progress(comm);
	return ncclSuccess;
}

#ifndef OLD_NCCL
FAKE(ncclCommInitRankConfig, ncclComm_t *comm, int size, ncclUniqueId id,
     int rank, ncclConfig_t *config)
{
	if (config->blocking != 0) {
		return ncclCommInitRank(comm, size, id, rank);
	}
	*comm = join(size, id, rank);
	return *comm != NULL ? ncclInProgress : ncclSystemError;
}
#endif

FAKE(ncclCommDestroy, ncclComm_t comm)
{
	if (comm->lead_fd >= 0) {
		close(comm->lead_fd);
	}
	munmap(comm->shared, sizeof(*comm->shared));
	free(comm);
	return ncclSuccess;
}

/* Another thread may wait in it: it is not freed. */
FAKE(ncclCommAbort, ncclComm_t comm)
{
	atomic_store(&comm->aborted, true);
	return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t rc);

const char *ncclGetErrorString(ncclResult_t rc)
{
	static const char *const words[] = {
		[ncclUnhandledCudaError] = "unhandled cuda error (run with "
					   "NCCL_DEBUG=INFO for details)",
		[ncclSystemError] = "unhandled system error (run with "
				    "NCCL_DEBUG=INFO for details)",
		[ncclInternalError] = "internal error - please report this "
				      "issue to the NCCL developers",
		[ncclInvalidUsage] = "invalid usage",
		[ncclRemoteError] = "remote process exited or there was a "
				    "network error",
	};

	return (size_t)rc < sizeof(words) / sizeof(words[0]) &&
			       words[rc] != NULL ?
		       words[rc] : "unknown result code";
}

/* ---- what all operations share ------------------------------------------- */

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
static void spend_ns(int64_t ns)
{
	void (*fake_cuda_spend)(int64_t ns) = NULL;
	void *cuda = dlopen(getenv("GPUCHECK_CUDA_LIB"), RTLD_NOW);

	if (cuda != NULL) {
		*(void **)&fake_cuda_spend = dlsym(cuda, "fake_cuda_spend");
		dlclose(cuda);
	}
	if (fake_cuda_spend != NULL) {
		fake_cuda_spend(ns);
	}
}

static void spend(size_t bytes)
{
	spend_ns(NS_PER_OP + (int64_t)(bytes / 100));
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
		say("WARN No algorithm/protocol available for function %s with "
		    "%zu bytes. NCCL_ALGO was set to %s. ", function, bytes,
		    algo);
		return ncclInvalidUsage;
	}
	if (outlast_flap(c) != ncclSuccess) {
		return ncclRemoteError;
	}
	algo = algo != NULL && strcasecmp(algo, "Tree") == 0 ? "Tree" : "Ring";
	proto = proto != NULL && strcasecmp(proto, "LL") == 0 ? "LL" :
								"Simple";
	if (c->rank == 0 && subsys != NULL && strstr(subsys, "TUNING")) {
		say("INFO %s: %zu Bytes -> Algo %s proto %s "
		    "channel{Lo..Hi}={0..0}", function, bytes, algo, proto);
	}
	return ncclSuccess;
}

/* ---- numbers ------------------------------------------------------------- */

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
	const char *every = getenv("FAKE_NCCL_WRONG_EVERY");
	static long results;

	if (who != NULL && strtol(who, NULL, 10) == c->rank && bytes > 64 &&
	    ++results % (every != NULL ? strtol(every, NULL, 10) : 1) == 0) {
		result[bytes / 2] ^= 0x10;
	}
}

/* ---- operations ---------------------------------------------------------- */

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

#ifndef OLD_NCCL
/* Memory of a fake GPU is that of the host. */
FAKE(ncclMemAlloc, void **at, size_t bytes)
{
	*at = calloc(1, bytes);
	return *at ? ncclSuccess : ncclSystemError;
}

FAKE(ncclMemFree, void *at)
{
	free(at);
	return ncclSuccess;
}

FAKE(ncclCommWindowRegister, ncclComm_t comm, void *at, size_t bytes,
     void **window, int flags)
{
	(void)comm;
	(void)bytes;
	*window = at;
	return flags == NCCL_WINDOW_SYMMETRIC ? ncclSuccess :
						ncclInvalidArgument;
}

FAKE(ncclCommWindowDeregister, ncclComm_t comm, void *window)
{
	(void)comm;
	(void)window;
	return ncclSuccess;
}
#endif

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

/* ---- sending and receiving ----------------------------------------------- */

static void say_way(ncclComm_t c, const struct transfer *t, struct net_way way)
{
	int src = t->sends ? c->rank : t->peer;
	int dst = t->sends ? t->peer : c->rank;
	bool inside = way.kind == NET_P2P || way.kind == NET_NVLINK;
	const struct net_rank *who = c->shared->who;
	char via[64];

	if (!t->sends) {
		way.nic = net_nic_of(&net, who[dst]);
	}
	net_via(&net, way, !t->sends, via, sizeof(via));
	if (!inside || t->sends) {
		say("INFO Channel 00/1 : %d[%d] -> %d[%d]%s via %s", src,
		    who[src].gpu, dst, who[dst].gpu,
		    inside ? "" : t->sends ? " [send]" : " [receive]", via);
	}
}

static bool receives_from(ncclComm_t c, int peer)
{
	bool is = false;

	for (int i = 0; i < c->n_work; i++) {
		is = is || (!c->work[i].sends && c->work[i].peer == peer);
	}
	return is;
}

static void say_cut(bool sends, int from, int to)
{
	if (sends) {
		say("WARN socketProgress: Connection closed by remote peer "
		    "localhost<40000>");
		return;
	}
	say("WARN Call to ibv_modify_qp failed with 110 Connection timed out, "
	    "on dev %s%d:1, curr state INIT, next state RTR, local GID index 1,"
	    " local GID ::ffff:10.7.%d.2, remote GID ::ffff:10.7.%d.1",
	    net.nic, to, to, from);
}

/* First contact; false: it never comes about. */
static bool contact(ncclComm_t c, const struct transfer *t)
{
	int src = t->sends ? c->rank : t->peer;
	int dst = t->sends ? t->peer : c->rank;
	const struct net_rank *who = c->shared->who;
	struct net_way way = net_way(&net, who, c->size, src, dst,
				     !is_on("NCCL_PXN_DISABLE", "1"));
	const char *rule = net_rule(&net, who[src], who[dst]);
	bool port = strcmp(rule, "port") == 0;
	bool replaced = port &&
			is_on("NCCL_IB_RESILIENCY_PORT_FAILOVER", "1");

	if (c->met[t->peer][t->sends] || nics == NULL) {
		return true;
	}
	if (strcmp(rule, "crash") == 0 && t->sends) {
		raise(SIGSEGV);
	} else if (strcmp(rule, "abort") == 0 && t->sends) {
		abort();
	} else if (way.kind == NET_CUT || strcmp(rule, "error") == 0 ||
		   (port && !replaced)) {
		/* NCCL 2.28.9 over tests/fake/verbs: the end that accepts
		 * fails, the other sees its connection close; with data both
		 * ways each accepts */
		if (t->sends && receives_from(c, t->peer)) {
			return false;
		}
		say_cut(t->sends, way.nic, net_nic_of(&net, who[dst]));
		c->failed = t->sends ? ncclRemoteError : ncclSystemError;
	} else if (rule[0] == '\0' || replaced) {
		if (replaced) {
			/* src/transport/net_ib/p2p_resiliency.cc of 2.30 */
			say("WARN NET/IB: Device 0 marked as failed. Initiating"
			    " recovery? No (%s comm=0x7f0000000000, "
			    "outstandingRecovery=0)",
			    t->sends ? "send" : "recv");
		}
		c->met[t->peer][t->sends] = true;
		say_way(c, t, way);
	}
	return c->met[t->peer][t->sends];
}

/* The next chunk of @t, if there is room for it, or if it is there. */
static bool move_chunk(ncclComm_t c, struct transfer *t)
{
	struct box *b = t->sends ? &c->shared->box[c->rank][t->peer] :
				   &c->shared->box[t->peer][c->rank];
	bool full = atomic_load(&b->put) != atomic_load(&b->taken);
	size_t left = t->bytes - t->done, n = left < BOX ? left : BOX;

	if (full == t->sends) {
		return false;
	}
	if (t->sends) {
		memcpy(b->chunk, t->buf + t->done, n);
		atomic_fetch_add(&b->put, 1);
	} else {
		memcpy(t->buf + t->done, b->chunk, n);
		atomic_fetch_add(&b->taken, 1);
	}
	t->done += n;
	return true;
}

/* All is moved: when is the network through? */
static int64_t use_network(ncclComm_t c, int64_t now)
{
	const struct net_rank *who = c->shared->who;
	int64_t due = now;

	for (int i = 0; nics != NULL && i < c->n_work; i++) {
		const struct transfer *t = &c->work[i];
		struct net_way way = net_way(
			&net, who, c->size, t->sends ? c->rank : t->peer,
			t->sends ? t->peer : c->rank,
			!is_on("NCCL_PXN_DISABLE", "1"));
		int nic = t->sends ? way.nic : net_nic_of(&net, who[c->rank]);
		double share = net_share(
			&net, who[t->sends ? c->rank : t->peer],
			who[t->sends ? t->peer : c->rank]);
		int64_t end;

		if (way.kind == NET_P2P || way.kind == NET_NVLINK) {
			continue;
		}
		end = net_take(&net, &nics->free_ns[who[c->rank].node][nic]
						   [t->sends], now,
			       (uint64_t)((double)t->bytes / share));
		due = end > due ? end : due;
	}
	return due;
}

/* Go on with what is under way, as far as that needs no waiting. */
static ncclResult_t progress(ncclComm_t c)
{
	size_t bytes = 0;
	int64_t now;
	int left = 0;

	if (c->failed != ncclSuccess || !is_made(c)) {
		return c->failed != ncclSuccess ? c->failed : ncclInProgress;
	}
	for (int i = 0; i < c->n_work && c->failed == ncclSuccess; i++) {
		struct transfer *t = &c->work[i];

		while (t->done < t->bytes && contact(c, t) &&
		       move_chunk(c, t)) {
		}
		left += t->done < t->bytes;
		bytes += t->bytes;
	}
	if (c->failed != ncclSuccess || left > 0) {
		return c->failed != ncclSuccess ? c->failed : ncclInProgress;
	}
	now = now_ns();
	if (c->n_work > 0 && c->due_ns == 0) {
		c->due_ns = use_network(c, now);
		spend(bytes / 2);
		spend_ns(c->due_ns - now);
	}
	if (now < c->due_ns) {
		return ncclInProgress;
	}
	c->n_work = 0;
	c->due_ns = 0;
	return ncclSuccess;
}

FAKE(ncclGroupStart, void)
{
	group_depth++;
	return ncclSuccess;
}

FAKE(ncclGroupEnd, void)
{
	ncclComm_t c = n_group > 0 ? group[0].comm : NULL;
	ncclResult_t rc;

	if (--group_depth > 0 || c == NULL) {
		return ncclSuccess;
	}
	memcpy(c->work, group, sizeof(group));
	c->n_work = n_group;
	n_group = 0;
	for (int spins = 0; (rc = progress(c)) == ncclInProgress; spins++) {
		if (c->blocking && atomic_load(&c->aborted)) {
			return ncclInternalError;
		}
		if (!c->blocking && spins > 200) {
			break;		/* whoever polls goes on */
		}
		spins < 200 ? (void)sched_yield() : rest();
	}
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
	return add((struct transfer){
		.sends = true, .buf = (char *)(uintptr_t)buf,
		.bytes = count * types[type].bytes, .peer = peer, .comm = comm,
	});
}

FAKE(ncclRecv, void *buf, size_t count, ncclDataType_t type, int peer,
     ncclComm_t comm, struct CUstream_st *stream)
{
	(void)stream;
	return add((struct transfer){
		.buf = buf, .bytes = count * types[type].bytes, .peer = peer,
		.comm = comm,
	});
}
