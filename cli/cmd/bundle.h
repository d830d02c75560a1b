/* SPDX-License-Identifier: BSD-3-Clause */
/* Archive of a run for a support request: its files, redacted. */
#ifndef CLI_CMD_BUNDLE_H
#define CLI_CMD_BUNDLE_H

#include <limits.h>

#include "lib/base/err.h"
#include "lib/data/redact.h"

/* ---- bundle -------------------------------------------------------------- */

/** The archive has no more bytes than that, ... */
#define BUNDLE_MOST 5000000
/** ... of which its README may take these. */
#define BUNDLE_README 65536

/** The parts of a run that may be given to a stranger. */
struct bundle {
	const char *dir;	/* of the run; borrowed */
	char name[61];		/* the folder in the archive */
	struct redact hide;
	json_t *accused;	/* nodes of findings: a set */
	struct str members;	/* the archive without its README and end */
	struct str in, out;	/* a line per file: included, and left out */
	struct str parts;	/* serial numbers, firmware, ... of @accused */
	size_t n_out;
};

/* ---- bundle part --------------------------------------------------------- */

/** Appends up to @most bytes of the file @name of the run to @text, redacted,
 *  and describes in @note what is missing; -1 with @e. */
typedef int part_fn(struct bundle *b, const char *name, size_t most,
		    struct str *text, struct str *note, struct err *e);

#endif
