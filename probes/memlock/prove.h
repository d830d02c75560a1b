/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_MEMLOCK_PROVE_H
#define PROBES_MEMLOCK_PROVE_H

#include "lib/base/err.h"
#include "probes/memlock/look.h"

/**
 * Between the files of the proof: proof.c, verbs.c, trial.c and drop.c.
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
	int (*attempt)(int64_t size_B, void *arg); /* as in struct bisect */
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

/** Say that nobody knows what @check would do, by @why. */
void proof_unknown(const struct proof *p, const char *check,
		   const struct err *why);

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

/* bisect.c */

/** What is searched for: the size at which something begins to fail. */
struct bisect {
	int64_t unit_B;		/* sizes are multiples of it */
	int64_t first_B;	/* tried first, then twice that, and so on
				 * ... */
	int64_t ceiling_B;	/* ... up to here */
	/** Try one size, leave nothing behind: 0 or the errno why not. */
	int (*attempt)(int64_t size_B, void *arg);
	void *arg;
};

struct bisect_result {
	int64_t max_ok_B;	/* 0: not even one unit worked */
	int64_t min_fail_B;	/* RECORD_NONE: all sizes worked */
	int error;		/* errno of min_fail_B */
};

/** Assumes that what fails at one size fails at all larger ones. */
void bisect_run(const struct bisect *b, struct bisect_result *r);

/* refusal.c */

/** What was refused: by which errno, at what size, in which surroundings. */
struct refusal {
	const char *check;	/* CHECK_CQ, ... */
	int error;
	int64_t tried_B;	/* the smallest size that fails */
	bool nothing_works;	/* the smallest possible size fails too */
	int64_t limit_B;	/* RLIMIT_MEMLOCK, soft */
	int64_t cgroup_B;	/* limit of the memory cgroup */
	int64_t maps, max_maps;	/* of this process; vm.max_map_count */
	int64_t device_max;	/* objects of that kind on the device */
};

/**
 * Name the cause.  ENOMEM has many: only where the size meets the limit is it
 * memlock.  Returns a word for the column code, the sentence in @detail.
 */
const char *refusal_explain(const struct refusal *r, char *detail,
			    size_t size);

#endif
