/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_PORT_FILTER_H
#define LIB_DATA_PORT_FILTER_H

#include <stdbool.h>

/**
 * Is @name meant by @filter, a list as NCCL_IB_HCA and NCCL_SOCKET_IFNAME have
 * it: names that begin so, after "=" exact ones, after "^" all others, of which
 * "mlx5_0:1" is that port alone?  "" means every one.
 */
bool port_matches(const char *filter, const char *name);

#endif
