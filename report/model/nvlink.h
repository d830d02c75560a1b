/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_NVLINK_H
#define REPORT_MODEL_NVLINK_H

#include "report/model/run.h"

/**
 * Find the NVLink domains of @run, GPUs of several nodes that NVSwitches join:
 * those that a path P2P/MNNVL shows, with all of the same cluster and clique by
 * their facts.  Cells inside one get the class PATH_NVLINK, but those that are
 * known to have gone another way.  0, or -1 when memory runs out.
 */
int nvlink_find(struct run *run);

#endif
