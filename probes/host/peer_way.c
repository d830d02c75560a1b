/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/peer_way.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "probes/host/sysfile.h"

#define PCI_HEADER_B 64	/* what everybody may read */
#define NAMES_MAX    1024
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

static enum acs_state acs_of_device(const char *root, const char *name)
{
	char path[PATH_MAX], config[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.2000s" ACS_SOURCE "/%.64s/config",
		 root, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return ACS_UNKNOWN;
	}
	/* a whole configuration space is slow to read: bridges only */
	n = pread(fd, config, PCI_HEADER_B, 0);
	if (n == PCI_HEADER_B &&
	    acs_of_config(config, (size_t)n) == ACS_UNKNOWN) {
		n = pread(fd, config, sizeof(config), 0);
	}
	close(fd);
	return n < 0 ? ACS_UNKNOWN : acs_of_config(config, (size_t)n);
}

size_t acs_count(const char *root, int count[ACS_STATES])
{
	static char names[NAMES_MAX][64];
	size_t n = sysfile_list(names, NAMES_MAX, "%s" ACS_SOURCE, root);

	memset(count, 0, ACS_STATES * sizeof(*count));
	for (size_t i = 0; i < n; i++) {
		count[acs_of_device(root, names[i])]++;
	}
	return n;
}

const char *iommu_does(const char *root)
{
	static char groups[NAMES_MAX][64];
	size_t n = sysfile_list(groups, NAMES_MAX, "%s" IOMMU_SOURCE, root);
	char type[32];

	for (size_t i = 0; i < n; i++) {
		sysfile_read(type, sizeof(type), "%s" IOMMU_SOURCE "/%s/type",
			     root, groups[i]);
		if (str_starts(type, "DMA")) {
			return IOMMU_TRANSLATES;
		}
	}
	return n == 0 ? "off" : "passes DMA through";
}
