/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_NODE_SELF_H
#define CLI_FRONT_NODE_SELF_H

#include "cli/front/command.h"

/** Where there is no --max-time: within what hooks of Slurm and NHC wait. */
#define NODE_SELF_NS (4500 * NS_PER_MS)

/**
 * "gpucheck node": this node looks at itself, within --max-time
 * whatever hangs; the result on stdout.  Returns an enum exit_code.
 */
int node_self(const struct session *s);

#endif
