/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_PIN_H
#define PROBES_HOST_PIN_H

#include <sched.h>
#include <stdbool.h>

/**
 * Add the CPUs of @text, a list of the kernel's such as "0-15,64-79", to @set.
 * Returns how many there are, or -1 when @text is no such list or names a CPU
 * beyond CPU_SETSIZE; then @set is empty.
 */
int pin_parse(const char *text, cpu_set_t *set);

/**
 * Keep this process on the CPUs next to PCI device @bus ("0000:1b:00.0"), as
 * far as it may use them now: memory and interrupts of the other socket cost
 * bandwidth.  Where the kernel knows none, or none is allowed, nothing
 * changes.
 */
void pin_to_device(const char *bus);
/** The same of the HCA @hca ("mlx5_0"); soft-RoCE is next to none. */
void pin_to_hca(const char *hca);
/** Keep it off these CPUs, so on another socket, whatever it was kept on
 *  before; false where there is none. */
bool pin_far_from(const char *bus);

#endif
