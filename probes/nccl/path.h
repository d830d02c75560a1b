/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_NCCL_PATH_H
#define PROBES_NCCL_PATH_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
