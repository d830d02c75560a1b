/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_PRESSURE_H
#define PROBES_HOST_PRESSURE_H

#include <stddef.h>
#include <stdint.h>

/** "waited in the last 10 s: cpu 34.08 %, memory 0.00 %, io 1.20 %" into @buf,
 *  by the pressure files below @root ("" = /): the share of the time in which
 *  some process of this machine waited for it; "load 12.30 on 2 CPUs" where the
 *  kernel has none; "" without either. */
void pressure_text(const char *root, char *buf, size_t size);
/** How long, since the machine booted, some process of it could have run and
 *  had no CPU, in nanoseconds; -1 where the kernel does not say. */
int64_t pressure_waited_ns(const char *root);

#endif
