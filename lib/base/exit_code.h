/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_EXIT_CODE_H
#define LIB_BASE_EXIT_CODE_H

/**
 * What the process tells its caller, gpucheck(1) EXIT STATUS.  When several
 * apply: usage, unable, partial, fault, healthy.
 */
enum exit_code {
	CODE_HEALTHY = 0,	/* measured, nothing wrong */
	CODE_FAULT = 1,		/* measured, a fault found */
	CODE_USAGE = 2,		/* the command line makes no sense */
	CODE_UNABLE = 3,	/* could not measure, or could not write */
	CODE_PARTIAL = 4,	/* stopped before the end, results saved */
};

#endif
