/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PING_SELECT_H
#define PROBES_PING_SELECT_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "lib/base/ip.h"
#include "lib/spec/spec.h"

/** Which addresses take part: --ifname, --subnet, --skip. */

/** Do the three lists make sense?  0, or -1 with @e. */
int ping_select_check(const struct spec *s, struct err *e);
/** Does address @ip of interface @ifname of @node take part?  Without --ifname
 *  all interfaces but those of containers do. */
bool ping_select(const struct spec *s, const char *ifname,
		 const struct ip_addr *ip);

#endif
