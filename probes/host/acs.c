/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/acs.h"

#define CONFIG_BASE	0x100	/* extended capabilities begin here */
#define CAPABILITY_ACS	0x000d
#define CLASS_OFFSET	0x0a	/* sub-class, then class */
#define CLASS_BRIDGE	0x0604
/* Request and completion redirect, upstream forwarding. */
#define ACS_REDIRECTS	(0x04 | 0x08 | 0x10)

static unsigned word(const unsigned char *config, size_t at)
{
	return config[at] | (unsigned)config[at + 1] << 8;
}

enum acs_state acs_of_config(const void *bytes, size_t len)
{
	const unsigned char *config = bytes;
	size_t at = CONFIG_BASE;

	if (len < CLASS_OFFSET + 2) {
		return ACS_UNKNOWN;
	}
	if (word(config, CLASS_OFFSET) != CLASS_BRIDGE) {
		return ACS_NONE;
	}
	if (len < CONFIG_BASE + 4) {
		return ACS_UNKNOWN;	/* what all may read ends before it */
	}
	/* a capability is 4 bytes at least: a chain has no more than these */
	for (size_t i = 0; i < len / 4 && at >= CONFIG_BASE && at + 8 <= len;
	     i++) {
		if (word(config, at) == CAPABILITY_ACS) {
			return word(config, at + 6) & ACS_REDIRECTS ?
				       ACS_REDIRECTS_ON :
				       ACS_OFF;
		}
		at = word(config, at + 2) >> 4;
	}
	return ACS_NONE;
}
