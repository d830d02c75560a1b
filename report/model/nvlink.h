/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_NVLINK_H
#define REPORT_MODEL_NVLINK_H

#include "report/model/run.h"

/**
 * Find the NVLink domains of @run, GPUs of several nodes that NVSwitches join:
 * those that a path P2P/MNNVL shows, with all of the same cluster and clique by
 * their facts; and those that only facts show, of NCCL's runs, where nobody has
 * gone another way, IMEX runs and NCCL_MNNVL_ENABLE is not 0: all of it may be
 * dead.  Cells inside one get the class PATH_NVLINK, but those that are
 * known to have gone another way.  0, or -1 when memory runs out.
 */
int nvlink_find(struct run *run);

#endif
