/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_NCCL_LOG_H
#define PROBES_NCCL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/err.h"
#include "lib/data/record_rows.h"

/* ---- path ---------------------------------------------------------------- */

/**
 * Which way NCCL sends the bytes of one direction, as its log has it at level
 * INFO: one line a channel when ranks connect, "0[0] -> 1[1] via P2P/CUMEM".
 * Pure: from text to text.
 */
#define NCCL_PATH_SIZE 64
#define NCCL_NIC_SIZE  64
#define NCCL_NET_SIZE  32
#define NCCL_NICS_MAX  64

/** The NICs of this node as NCCL counts them. */
struct nccl_nics {
	char net[NCCL_NET_SIZE];	/* "IB", "AWS Libfabric"; "" = none
					 * known */
	char name[NCCL_NICS_MAX][NCCL_NIC_SIZE];	/* "" = not named */
};

/**
 * Read lines such as "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB
 * eth0", which some networks write once a process, or "NET/Libfabric : GPU
 * Direct RDMA Enabled for HCA 0 'rdmap79s0-rdm'", which NCCL writes of all,
 * into @nics; false when @text (@len bytes, need not end in NUL) has none.
 */
bool nccl_path_nics(const char *text, size_t len, struct nccl_nics *nics);

/**
 * How rank @src of a communicator reaches rank @dst of it, by the lines that
 * this end has in @text (@len bytes, need not end in NUL); @sends says which
 * end it is.  The receiving one only knows of network paths.
 *
 * @path gets P2P/IPC, P2P/CUMEM, SHM, NET/Socket/0, NET/IB/1/GDRDMA+PXN, ...;
 * numbers of several NICs are joined by '+', paths of other kinds by '|'.
 * @nic gets the names of the NICs, joined by '+', as far as @nics has them.
 * Both are "" when nothing is known.  False: no such line.
 */
bool nccl_path_find(const char *text, size_t len, int src, int dst, bool sends,
		    const struct nccl_nics *nics, char path[NCCL_PATH_SIZE],
		    char nic[NCCL_NIC_SIZE]);

/* ---- network ------------------------------------------------------------- */

/**
 * Which network NCCL has chosen, as its log has it at level INFO, and why no
 * better one.  Pure: from text to text.
 */
struct nccl_network {
	char name[NCCL_NET_SIZE];	/* "IB", "Socket", "AWS Libfabric" */
	char why[160];			/* of sockets: NCCL's line that says
					 * most; "" = it says nothing */
	char nvls[160];		/* why NCCL does not use NVLS; "" if it may,
				 * or was told not to */
};

/** The network of the last communicator that @text (@len bytes, need not end in
 *  NUL) tells of into @n; false when it tells of none. */
bool nccl_network_find(const char *text, size_t len, struct nccl_network *n);

/* ---- chosen -------------------------------------------------------------- */

/**
 * Algorithm and protocol that NCCL used, from the lines that its rank 0 logs
 * with the subsystem TUNING: it may use others than it was asked for, and
 * reports that nowhere else. Pure: from text to text.
 */
/**
 * The last choice for @function ("allreduce", in any case) in @text (@len
 * bytes, need not end in NUL): "AllReduce: 1024 Bytes -> Algo Ring proto LL
 * channel...", the same with numbers and without the function in older
 * versions, or "AllReduce [Symmetric]: 1024 Bytes -> Kernel NAME ...".  False:
 * no such line.
 */
bool nccl_chosen_find(const char *text, size_t len, const char *function,
		      char algo[NCCL_CHOSEN_ALGO],
		      char proto[NCCL_CHOSEN_PROTO]);

/* ---- log ----------------------------------------------------------------- */

/*
 * NCCL's log is a descriptor, or -1 where NCCL writes where the user wants.
 * NCCL opens one file per process, before the first pair and for good, so that
 * the file is memory; each pair remembers its offset, and only the part that a
 * failed pair wrote is saved.  The worker's agent holds that memory too, which
 * keeps the last words of a worker that was killed.
 */

/** Make the file; returns its descriptor, or -1 with @e. */
int nccl_log_open(struct err *e);
/** Another process is going to write: nothing of the last one stays. */
void nccl_log_clear(int *log);

/** "/proc/self/fd/9": the value for NCCL_DEBUG_FILE; returns @buf. */
const char *nccl_log_path(int log, char *buf, size_t size);

/** Where the log ends now: where what follows begins. */
off_t nccl_log_end(int log);

/** No pair is left that began before now: give the memory back. */
void nccl_log_forget(int log);

/**
 * Return the log since @from, of a long one only the end; malloc'ed, *@len
 * bytes without a final NUL. NULL if nothing was logged.
 */
char *nccl_log_since(int log, off_t from, size_t *len);

/** The last warning since @from into @buf, as nccl_log_find_warning() has it;
 *  false when there is none. */
bool nccl_log_last_warning(int log, off_t from, char *buf, size_t size);

/** Write what came since @from to @path, DIR/logs/NAME of a run directory of
 *  the caller; nothing when nothing came, or @path is "". */
int nccl_log_save(int log, off_t from, const char *path, struct err *e);

#define NCCL_LOG_SAYS 176
/**
 * Explain a failure since @from: "; NCCL: " and the last warning into @says, ""
 * if there is none, and the whole log to @path unless that is "".
 */
void nccl_log_explain(int log, off_t from, const char *path,
		      char says[NCCL_LOG_SAYS]);

#define NCCL_LINE 512
/** Take the next line off the log at *@text of *@len bytes, cut where it is
 *  longer, '?' for what cannot be printed; false at the end. */
bool nccl_line_next(const char **text, size_t *len, char line[NCCL_LINE]);

/**
 * Pure: the text after the last "NCCL WARN " of @text (@len bytes, need not
 * end in NUL) up to its line's end, into @buf; false when there is none.  A
 * warning that only follows from another, such as "Connection closed by remote
 * peer", counts if all do.
 */
bool nccl_log_find_warning(const char *text, size_t len, char *buf,
			   size_t size);

/** Pure: the warning of @text that a port has failed and another one of the NIC
 *  replaces it (NCCL 2.29), into @buf; false when there is none. */
bool nccl_log_find_failover(const char *text, size_t len, char *buf,
			    size_t size);

#endif
