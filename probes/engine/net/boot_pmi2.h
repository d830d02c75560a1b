/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_BOOT_PMI2_H
#define PROBES_ENGINE_NET_BOOT_PMI2_H

#include "lib/base/err.h"
#include "probes/engine/net/boot.h"

/**
 * The PMI2 part of boot: who am I, and one fence that carries the contact
 * from rank 0 to all.  PMI2 is a matter of the whole process, so its state is
 * too.
 *
 * Seen with Slurm 22.05: outside a PMI2 server PMI2_Init succeeds with size 1
 * and only PMI2_Job_GetId fails; a fence that one task never enters, because
 * it died or hangs, blocks the others for ever; a task that leaves without
 * PMI2_Finalize disturbs nobody, before or after the others' fence.
 */

/** 1: @rank and @size are set; 0: no PMI2 server here; -1 with @e: there seems
 *  to be one, but no library to talk to it. */
int boot_pmi2_identify(int *rank, int *size, struct err *e);

/**
 * Enter the fence in a thread of its own, which may stay there for ever: rank
 * 0 gives @contact to all, the others (@contact NULL) get it.
 * 0, or -1 with @e when no thread can be had.
 */
int boot_pmi2_exchange(const struct boot_contact *contact, struct err *e);

/** 1: the fence brought @c; 0: not yet; -1 with @e: it failed. */
int boot_pmi2_result(struct boot_contact *c, struct err *e);

#endif
