/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_TRANSPORT_XPORT_H
#define PROBES_TRANSPORT_XPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/data/record.h"
#include "lib/spec/spec.h"

/* ---- worker -------------------------------------------------------------- */

/** State that outlives a worker that crashes or hangs: memory shared with the
 *  agent that started it. */
struct worker_note {
	char step[256];		/* what is being done */
	int64_t peer, attempt;	/* of the pair at hand */
	int64_t log_from;	/* where the log begins to be about it */
};

/**
 * The process that a transport works in, as far as a transport may ask of it.
 * Whoever runs transports fills it in; a transport keeps the pointer.
 */
struct worker {
	struct worker_note *note;
	const char *log;	/* file for the log of the task at hand, "" when
				 * not wanted */
	int log_fd;		/* what a library logs, -1 where no agent holds
				 * such a file */
	json_t *facts;		/* of worker_fact(), not yet reported; NULL:
				 * none */
	json_t *flows;		/* the same of xport_lost() */
	/**
	 * Wait for the data connection whose opener named @nonce; the agent
	 * owns the listening socket, has it prove itself and passes the
	 * connection on.  Returns a non-blocking fd (caller closes), or -1
	 * with @e: ETIMEDOUT, ECANCELED when the coordinator called the task
	 * off.
	 */
	int (*conn)(struct worker *w, const char *nonce, int64_t deadline_ns,
		    struct err *e);
	/** Connect to a peer's agent at @addr for the task @nonce; both prove
	 *  that they are of this run.  A non-blocking fd (caller closes), or
	 *  -1 with @e. */
	int (*dial)(struct worker *w, const char *addr, const char *nonce,
		    int64_t deadline_ns, struct err *e);
	/** worker_cancelled() */
	bool (*cancelled)(struct worker *w);
};

/** Note what is being done now ("ncclCommInitRankConfig with rank 9"), for the
 *  agent to read when the worker crashes or hangs.  Cheap. */
void worker_step(struct worker *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Return true if the coordinator has cancelled the current task. For polling
 *  loops. */
bool worker_cancelled(struct worker *w);

/* ---- xport --------------------------------------------------------------- */

/**
 * A transport moves bytes between two ranks and times it.  Everything runs in
 * a worker process, which may block up to its deadline and may even crash:
 * the agent watches.  Deadlines are absolute, CLOCK_MONOTONIC, nanoseconds.
 *
 * The table of transports is probes/transports.h; what each can do is in
 * lib/spec/options.c.
 */
#define XPORT_TICKET_MAX 4096

/** Identity of this worker. */
struct xport_self {
	int rank;
	int local_rank;		/* GPU index to use */
	char node[64];
	bool pretend;		/* the node is one of several that this
				 * machine plays (--local=NxG) */
	char ifname[64];	/* by which other nodes reach this one; "" if
				 * it is not known */
	char part[96];		/* HCA port to use, or ports, apart by commas;
				 * "": as the transport chooses */
	const struct spec *spec;	/* what the user asked for */
	struct worker *worker;	/* the process around */
};

/** A measurement in one direction. */
struct xport_cell {
	bool sender;		/* this end sends */
	bool bidi;		/* while the other end sends back: that only
				 * loads the way, it is not measured */
	uint64_t size_bytes;
	int iters;		/* 0 = until steady, within the deadline */
	int warmup;
	bool check;
	bool flows;		/* test --flows, too */
	bool spread;		/* measure --flows at once, too */
	bool latency;		/* measure lat_us too (8 B, half round trip) */
	uint64_t pattern_seed;	/* data pattern, same on both ends */
	/* a drill: this end is told what to do, the other does not know */
	enum xport_drill {
		XPORT_DRILL_NONE, XPORT_DRILL_STAY_AWAY, XPORT_DRILL_HANG,
		XPORT_DRILL_CRASH, XPORT_DRILL_CORRUPT
	} drill;
	double slow_factor;	/* 1 = none; sender throttles */
};

/** Begins the detail of an end that obeys a drill: "(drill) hangs". */
#define XPORT_DRILL_MARK "(drill) "

/** One at each end: the relay of what that end sends. */
#define TASK_MATES 2

/** The place of this end in a communicator: 0 makes the ticket, 1 is its peer,
 *  more are mates, which only relay. */
struct xport_seat {
	int me, ranks;
};

/** Result of a measurement; NAN / RECORD_NONE where this end did not
 *  measure. */
struct xport_result {
	int64_t iters;
	double bw_GB_s, bw_min_GB_s, bw_max_GB_s;
	double lat_us, lat_p99_us;
	int64_t wrong;		/* bytes, set by the receiver */
	char path[64];		/* as this end knows it */
	char nic[64];		/* of this end, "" where it is not known */
	enum outcome outcome;	/* ok error timeout corrupt */
	char code[48];
	char detail[200];	/* this end's sentence */
	bool echo;		/* only says that the other end left, or that
				 * waiting for it was in vain */
	int64_t flows;		/* of --flows, that were tested */
	double flow_GB_s, flows_GB_s;	/* of one of them, of several at once */
};

/** Flows of a pair, at most. */
#define XPORT_FLOWS_MAX 128

/** Streams of data to measure one of them before and after several at once. */
#define XPORT_FLOW_STREAMS 3

/** A flow that loses packets. */
struct xport_flow {
	bool sends;		/* from this end; else to it */
	int64_t port;		/* UDP source port */
	int64_t sent, lost;	/* messages */
	char says[240];
};

/**
 * Cost of a healthy run, for plans: from a measured run that the transport's
 * file names. pair_s 0: unknown, or not worth planning.
 */
struct xport_cost {
	double open_s;		/* once: libraries, driver, contexts */
	double pair_s;		/* until a pair can measure, and latency */
	double flow_s;		/* until each flow of --flows can, and its
				 * test; 0: there are none */
	double sample_s;	/* then, what a sample lasts, or longer ... */
	double rate_GB_s;	/* ... as large messages take that */
	double inside_GB_s;	/* the same of a collective inside a node */
};

struct collective_ops;	/* probes/collective/collective.h */
struct xport;		/* one open transport in one worker */
struct xport_link;	/* one joined pair */

struct xport_ops {
	const char *name;
	int priority;		/* --transport=auto takes the highest usable */
	const struct collective_ops *collective;	/* NULL: knows none */
	uint64_t default_size_bytes;
	int64_t default_timeout_ns;	/* a pair at one size, after set-up */
	/* Whoever moves many bytes at less than this is as good as dead: what
	 * was asked for is waited for as long.  The default size takes less
	 * than the time above.  0: not known. */
	double dead_GB_s;
	int64_t setup_timeout_ns;	/* join() */
	int64_t open_timeout_ns;
	struct xport_cost cost;
	/** Codes of open() that say: what was asked for is not to be had
	 *  here.  No fault of a part; cells are skipped.  NULL ends; may be
	 *  NULL. */
	const char *const *lacks;

	/**
	 * Get ready once, before any pair: library, context, buffers.  May
	 * block, as drivers do: the agent watches.  Returns a handle (close
	 * with shutdown()), or NULL with @e; @code names the kind of failure
	 * for the row ("cuda_missing", "gpu_missing", "cuda_init", ...).
	 */
	struct xport *(*open)(const struct xport_self *self, const char **code,
			      struct err *e);
	/** Add facts found while opening, by facts_add(); may be NULL. */
	void (*describe)(struct xport *x, json_t *facts);
	/**
	 * Write the text that the peer needs to join into @ticket; called on
	 * the lower rank of each pair. Returns 0, or -1 with @e. If neither
	 * this nor offer() exists, the ticket is the address where the worker's
	 * agent accepts data connections.
	 */
	int (*ticket)(struct xport *x, char ticket[XPORT_TICKET_MAX],
		      struct err *e);
	/**
	 * Optional, in place of ticket(), where the lead needs one of its peer
	 * too: offer() makes that of the lead; answer() takes it on the other
	 * end and makes its own, and from then on that end can be reached.
	 * Each then joins with the other's.  0, or -1 with @r.
	 */
	int (*offer)(struct xport *x, const char *nonce,
		     char ticket[XPORT_TICKET_MAX], struct xport_result *r);
	int (*answer)(struct xport *x, const char *ticket, const char *nonce,
		      int peer, char answer[XPORT_TICKET_MAX],
		      struct xport_result *r);
	/**
	 * Both ends: become a pair.  @nonce is the task's, 32 hex digits;
	 * @lead is true on the end that made the ticket.  Returns NULL with
	 * @r->outcome, code and detail filled in on failure.
	 */
	struct xport_link *(*join)(struct xport *x, const char *ticket,
				   const char *nonce, bool lead, int peer,
				   int64_t deadline_ns,
				   struct xport_result *r);
	/**
	 * Optional, in place of join(), where becoming a pair takes long but
	 * needs no GPU: begin() starts it and returns at once, several may be
	 * under way; begun() is 0 while it is, 1 when meet() may follow, -1
	 * with @r filled in when it failed (then close()); meet() is the rest,
	 * which needs the GPU for itself: 0, or -1 with @r filled in.  Mates
	 * never meet: they are closed when the pair is done.
	 */
	struct xport_link *(*begin)(struct xport *x, const char *ticket,
				    struct xport_seat seat, int peer,
				    int64_t deadline_ns,
				    struct xport_result *r);
	int (*begun)(struct xport_link *l, struct xport_result *r);
	int (*meet)(struct xport_link *l, int64_t deadline_ns,
		    struct xport_result *r);
	/** Both ends: one direction.  Always fills @r; false when the link is
	 *  of no more use. */
	bool (*run)(struct xport_link *l, const struct xport_cell *c,
		    int64_t deadline_ns, struct xport_result *r);
	void (*close)(struct xport_link *l);	/* never blocks; NULL is fine */
	/** Optional: false when an error has spoilt this process for further
	 *  pairs; it is replaced then. */
	bool (*fit)(const struct xport *x);
	void (*shutdown)(struct xport *x);
};

/** Return true if @ops has one of @flags (enum xport_caps). */
static inline bool xport_is(const struct xport_ops *ops, unsigned flags)
{
	return spec_transport_is(ops->name, flags);
}

void xport_result_init(struct xport_result *r);
/** Report @f with the task at hand. */
void xport_lost(struct worker *w, const struct xport_flow *f);
/** After so long a queue pair sends again what is not acknowledged, ns. */
int64_t xport_timeout_ns(const struct spec *s);
/** How long --flows may take in one direction, ns: a queue pair has given up
 *  by then, even if its timeout is twice as long as set. */
int64_t xport_flows_ns(const struct spec *s);
/** Do what a drill makes this end do instead of its work, with @r filled in;
 *  false: nothing. */
bool xport_act_drill(struct worker *w, const struct xport_cell *c,
		     int64_t deadline_ns, struct xport_result *r);
/** A drill's slow end: sleep until what took @s has taken as long as it would
 *  at @factor of the speed; returns those seconds. */
double xport_throttle(double s, double factor);
/** Fill in outcome, code and detail; returns NULL for join()'s sake. */
void *xport_fail(struct xport_result *r, enum outcome o, const char *code,
		 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/** The same for a limit of this process, @why, that says nothing of the way or
 *  its ends. */
void *xport_short(struct xport_result *r, int why, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- samples ------------------------------------------------------------- */

/**
 * How long to measure.  A sample is a batch of transfers timed as one; samples
 * are taken until the last few agree.  Two ends that enter the same times
 * decide the same, without further words.
 */
#define SAMPLES_MAX	64
#define SAMPLE_BATCH	64	/* transfers of a sample, at most */
#define SAMPLES_STEADY	5	/* the last so many must agree */
/** Unsteady after so many times as long as a sample: not going to be. */
#define SAMPLES_ENOUGH	25

struct samples {
	double sample_s;	/* what a sample shall last */
	double spread;		/* samples agree to this share; 0 = 1 % */
	double one_s;		/* what one transfer takes, about */
	double total_s;
	double bw_GB_s[SAMPLES_MAX];
	int n;
	int64_t iters;
};

/** Transfers of the next sample. */
int samples_batch(const struct samples *s, const struct xport_cell *c);
/** @count transfers of a cell's size took @seconds. */
void samples_add(struct samples *s, const struct xport_cell *c, int count,
		 double seconds);
/** Return true if the figure is steady or will not become steady. */
bool samples_enough(const struct samples *s, const struct xport_cell *c);
/** Median, extremes and count; sorts. */
void samples_result(struct samples *s, struct xport_result *r);

/* ---- peer conn ----------------------------------------------------------- */

/**
 * The connection between the two workers of a pair, for transports that need
 * one: the lead waits for it, the other end dials the lead's agent, whose
 * address is the ticket.
 */

/**
 * Connect to rank @peer and exchange a first byte.  Returns a non-blocking fd,
 * or -1 with @r filled in.
 */
int peer_connect(struct worker *w, const char *ticket, const char *nonce,
		 bool lead, int peer, int64_t deadline_ns,
		 struct xport_result *r);

/**
 * Write @n bytes of @out and read as many into @in at the same time, by
 * @deadline_ns; 0, or -1 with @e as net_write_all().
 */
int peer_swap(int fd, const void *out, void *in, size_t n, int64_t deadline_ns,
	      struct err *e);

/**
 * Fill in @r from a socket error; one that only says that the other end left
 * or kept silent is an echo.
 */
void peer_fault(struct xport_result *r, const struct err *e,
		const char *doing);

#endif
