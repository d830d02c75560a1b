/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_NCCL_FILE_H
#define PROBES_NCCL_FILE_H

#include <stdio.h>

#include "lib/base/err.h"

/**
 * Is the file @path, as far as a look at its bytes can tell, a library with
 * NCCL's functions?  Nothing of it is loaded or run, so a login node can ask.
 * 0, or -1 with @e: it cannot be read, is no shared library of this kind of
 * machine, or does not have the name of ncclCommInitRank in it.
 */
int nccl_file_check(const char *path, struct err *e);
/** The same of the open file @f, called @path. */
int nccl_file_check_stream(FILE *f, const char *path, struct err *e);

#endif
