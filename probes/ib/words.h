/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_WORDS_H
#define PROBES_IB_WORDS_H

#include <stdbool.h>

/**
 * Codes and causes of what verbs report.  Pure: numbers and errnos in, words
 * out, the same with and without rdma-core's headers.
 */
struct verbs_words {
	const char *code;	/* of the row */
	const char *says;	/* what happened, and its usual cause */
};

/** Status of a work completion, as in enum ibv_wc_status; never NULL. */
const struct verbs_words *verbs_wc_words(int status);

/** What a failed call was for. */
enum verbs_call {
	VERBS_OPEN, VERBS_PD, VERBS_REG_MR, VERBS_REG_GPU, VERBS_CREATE_CQ,
	VERBS_CREATE_QP, VERBS_TO_INIT, VERBS_TO_RTR, VERBS_TO_RTS,
	VERBS_POST, VERBS_POLL, VERBS_CALLS
};

/** "ibv_modify_qp INIT to RTR". */
const char *verbs_call_name(enum verbs_call call);
/** Why @call failed with errno @err, locked memory being @limited or not;
 *  never NULL. */
const struct verbs_words *verbs_call_words(enum verbs_call call, int err,
					   bool limited);

#endif
