/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_NCCL_CONF_H
#define PROBES_HOST_NCCL_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/**
 * The NCCL settings that are in force on this node, merged as NCCL does: the
 * environment, then the user's file ($NCCL_CONF_FILE where that is set, from
 * 2.23 on, else ~/.nccl.conf), then /etc/nccl.conf; the first that has a
 * setting counts, with an empty value too.
 *
 * As read in NCCL's src/misc/param.cc from 2.8.4 to 2.30.7.  Where versions
 * differ, @version (as ncclGetVersion() has it) decides, 0 being the newest:
 * before 2.23 there is no NCCL_CONF_FILE, and before 2.30 ~ is what passwd
 * says, not $HOME, and a CR at the end of a line is part of the value.
 */
#define NCCL_FAILOVER "NCCL_IB_RESILIENCY_PORT_FAILOVER"
#define NCCL_CONF_NAME	128	/* of a setting, with its NUL */
#define NCCL_CONF_VALUE 1024	/* the same; NCCL cuts here as well */

/** Return the settings in force, {NAME: {"value":, "source":}}, whose source is
 *  "environment" or the file; files are read below @root ("" = /). New
 *  reference. */
json_t *nccl_conf_read(const char *root, int version);

/** The value of @name in @conf, NULL without one; @source, unless NULL, gets
 *  where it is from.  Both live as long as @conf. */
const char *nccl_conf_get(const json_t *conf, const char *name,
			  const char **source);

/** The same of a number, as NCCL reads one: decimal, 0x or 0, up to the first
 *  byte that is none of it.  False without one in [@min, @max]. */
bool nccl_conf_int(const json_t *conf, const char *name, int64_t min,
		   int64_t max, int64_t *value, const char **source);

/** Return true if a file has @name, and the environment does not. */
bool nccl_conf_of_file(const json_t *conf, const char *name);

/** Set what files have in the environment of this process, before any other
 *  thread runs, so that whoever asks it next knows that there is a value. */
void nccl_conf_apply(const json_t *conf);

/** Facts of scope node: is there /etc/nccl.conf below @root, and what @conf has
 *  from files. */
void nccl_conf_facts(const json_t *conf, const char *root, json_t *facts);

/**
 * Pure: the next setting of @text, the lines "NCCL_NAME=value" of nccl.conf: no
 * blanks are cut, no quotes taken off, other lines have no effect here.
 * Returns behind its line, or NULL at the end.
 */
const char *nccl_conf_next(const char *text, int version,
			   char name[NCCL_CONF_NAME],
			   char value[NCCL_CONF_VALUE]);

#endif
