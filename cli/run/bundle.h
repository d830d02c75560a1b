/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_BUNDLE_H
#define CLI_RUN_BUNDLE_H

#include <limits.h>

#include "lib/base/err.h"
#include "lib/data/redact.h"

/** The archive has no more bytes than that, ... */
#define BUNDLE_MOST 5000000
/** ... of which its README may take these. */
#define BUNDLE_README 65536

/** What of a run goes to a stranger. */
struct bundle {
	const char *dir;	/* of the run; borrowed */
	char name[61];		/* the folder in the archive */
	struct redact hide;
	json_t *accused;	/* nodes of findings: a set */
	struct str members;	/* the archive without its README and end */
	struct str in, out;	/* a line a file: what is there, what is not */
	struct str parts;	/* serial numbers, firmware, ... of @accused */
	size_t n_out;
};

/**
 * Collect the files of the run directory @dir, which may be anybody's: no link
 * is followed.  @anonymous: names of hosts and users are replaced.  What cannot
 * be read is left out and said in @out.  Returns 0, or -1 with @e (no memory);
 * bundle_release() in any case.
 */
int bundle_collect(struct bundle *b, const char *dir, bool anonymous,
		   struct err *e);
/** The whole archive, with @readme, which is cut where it is too long. */
int bundle_finish(const struct bundle *b, const char *readme,
		  struct str *archive, struct err *e);
void bundle_release(struct bundle *b);

#endif
