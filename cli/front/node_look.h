/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_NODE_LOOK_H
#define CLI_FRONT_NODE_LOOK_H

#include "cli/front/command.h"

/**
 * --node: the probe @name looks at this node, here and now, without agents;
 * a run directory is made with -o only.  Returns an enum exit_code.
 */
int node_look(const struct session *s, const char *name);

#endif
