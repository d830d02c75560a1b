/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_HISTORY_DIR_H
#define CLI_FRONT_HISTORY_DIR_H

#include <limits.h>
#include <stdbool.h>

#include "lib/base/err.h"

/**
 * Where the history is: @wanted as --history has it, "-" or "" for
 * $XDG_DATA_HOME/gpucheck/history (~/.local/share).  With @write it is made
 * where it is not there, and must be the caller's own.  The absolute path goes
 * to @path.  0, or -1 with @e.
 */
int history_dir(const char *wanted, bool write, char path[PATH_MAX],
		struct err *e);

/**
 * The file of the index of the history @dir: this user's alone, below
 * $XDG_CACHE_HOME (~/.cache), or where that is on another machine
 * $XDG_RUNTIME_DIR.  False: no such place is on a disk of this machine.
 */
bool history_index(const char *dir, char path[PATH_MAX]);

#endif
