/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_MEMLOCK_PROVE_H
#define PROBES_MEMLOCK_PROVE_H

#include "lib/base/err.h"
#include "probes/memlock/bisect.h"
#include "probes/memlock/look.h"
#include "probes/memlock/refusal.h"

/**
 * Between the files of the proof: proof.c, verbs.c and
 * drop.c.
 */
struct proof {
	struct memlock *m;
	enum memlock_context context;	/* whose limit it is */
	int64_t limit_B;
};

/** One thing to try. */
struct trial {
	const char *check;
	const char *hca;	/* "" without */
	int64_t needed_B;	/* tried first, if not above ... */
	int64_t ceiling_B;	/* ... the largest that is tried */
	int64_t device_max;	/* objects of that kind, 0 = no device */
	int (*attempt)(int64_t size_B, void *arg);	/* as in bisect.h */
	void *arg;
};

/** Search for the size that breaks, say the row. */
void proof_try(const struct proof *p, const struct trial *t);
/** Say that @check of @hca was refused before a size could be tried. */
void proof_refused(const struct proof *p, const char *check, const char *hca,
		   int error);

/** Say why @check of @hca was not tried. */
void proof_skipped(const struct proof *p, const char *check, const char *hca,
		   const char *why);

/**
 * Try every HCA that libibverbs shows; refuse those of the kernel that it does
 * not.  Returns how many that are, or -1 with @e: there is no libibverbs, or
 * this program was built without its header.
 */
int proof_verbs(const struct proof *p, struct err *e);

/**
 * Become the user nobody, without CAP_IPC_LOCK, for good; who is not root stays
 * who he is.  -1 with @e: the capability is still there.
 */
int memlock_drop_privileges(struct err *e);

#endif
