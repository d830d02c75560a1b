/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_WATCHDOG_H
#define LIB_BASE_WATCHDOG_H

#include <stdint.h>

/**
 * This process ends with @exit_code @wait_ns from now (a millisecond to an
 * hour), whatever it is at then, unless this is called again before: for who
 * must not outlive what it waits for, even where its event loop is stuck.
 * Takes SIGALRM.
 */
void watchdog_set(int64_t wait_ns, int exit_code);

#endif
