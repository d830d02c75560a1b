/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_WITHIN_H
#define LIB_BASE_WITHIN_H

#include <stdbool.h>

/**
 * Call @call(@arg), which may hang where nothing can end it.  True once it has
 * returned; false after @seconds: it goes on in a thread that was left behind,
 * to which @arg, and all that it names, belongs from then on.
 */
bool within(int seconds, void *(*call)(void *arg), void *arg);

#endif
