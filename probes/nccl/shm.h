/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_NCCL_SHM_H
#define PROBES_NCCL_SHM_H

/**
 * Unlink NCCL's files in /dev/shm that this process has mapped; call it when
 * none of its communicators will be used again.  NCCL unlinks one once all
 * ranks of its host have opened it, which a mate of a relayed pair never does
 * (seen with 2.28.9: 34 MB a worker stayed), or when the communicator is
 * destroyed, which may hang.  Returns how many were unlinked.
 */
int nccl_shm_unlink(void);

#endif
