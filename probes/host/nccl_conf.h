/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_NCCL_CONF_H
#define PROBES_HOST_NCCL_CONF_H

#include <jansson.h>

/** Settings that NCCL takes from files, where the environment has none. */

#define NCCL_CONF_NAME	128	/* of a setting, with its NUL */
#define NCCL_CONF_VALUE 256

/**
 * The next setting of @text, the lines "NCCL_NAME=value" of nccl.conf as NCCL
 * itself reads them: no blanks are cut, no quotes taken off, other lines have no
 * effect.  Returns behind its line, or NULL at the end.
 */
const char *nccl_conf_next(const char *text, char name[NCCL_CONF_NAME],
			   char value[NCCL_CONF_VALUE]);

/** Facts of scope node: is there /etc/nccl.conf below @root, and what it and the
 *  user's own file set that the environment does not. */
void nccl_conf_facts(const char *root, json_t *facts);

#endif
