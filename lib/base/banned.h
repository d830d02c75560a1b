/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_BANNED_H
#define LIB_BASE_BANNED_H

/**
 * Functions that have no place here, and what to use instead.  Forced into
 * every compilation by the Makefile (-include), after the system headers that
 * declare them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison strcpy strcat strncpy strncat	/* str_copy, struct
							 * str */
#pragma GCC poison sprintf vsprintf gets		/* snprintf, str_addf */
#pragma GCC poison strtok atoi atol atof		/* units_parse_... */
#pragma GCC poison system popen				/* spawn_capture */

#endif
