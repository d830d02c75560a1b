/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * system: headers that builds with sanitizers read once for all files (clang
 * -include-pch).  Files include what they use: gcc compiles them without this.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#if HAVE_CUDA
#include <cuda.h>
#endif
