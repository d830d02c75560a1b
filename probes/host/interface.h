/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_INTERFACE_H
#define PROBES_HOST_INTERFACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/base/err.h"
#include "lib/base/net.h"
#include "lib/base/str.h"

/* ---- route --------------------------------------------------------------- */

/** The kernel's routes, as it would use them for one packet. */

/** A socket to ask for them; -1: they cannot be asked for. */
int routes_open(void);
/**
 * Return true if this node's routes lead from address @from through interface
 * @ifindex to @to. A packet bound to an interface leaves even without a route,
 * as if every address were on its wire. True if the kernel does not tell.
 */
bool routes_lead(int fd, const struct ip_addr *from, unsigned ifindex,
		 const struct ip_addr *to);

/* ---- bonds --------------------------------------------------------------- */

#define BOND_LEGS 8	/* more are not looked at */

/** Ends of a leg that speak LACP: this node, and the switch. */
enum bond_end { BOND_ACTOR, BOND_PARTNER, BOND_ENDS };

/**
 * A bond as /proc/net/bonding has it, which tells LACP to root alone; sysfs has
 * the states for all users.
 */
struct bond {
	bool lacp;		/* IEEE 802.3ad */
	int n_legs;
	struct bond_leg {
		char name[32];
		bool up;	/* by its MII status */
		int aggregator;	/* -1: not said */
		int state[BOND_ENDS];	/* bits of LACP, -1: not said */
		char partner[24];	/* MAC address of the switch, or "" */
	} legs[BOND_LEGS];
};

/** Parse @text, NUL-ended; false if it has no leg.  Pure. */
bool bond_parse(const char *text, struct bond *b);

#define BOND_FAULT 128
/**
 * Write to @buf why the bond does not use leg @leg: it is down, the switch does
 * not speak LACP or does not carry data, or other legs are another aggregate.
 * Returns @buf, "" if there is no fault.  Pure.
 */
const char *bond_leg_fault(const struct bond *b, int leg, char buf[BOND_FAULT]);

/* ---- peer way ------------------------------------------------------------ */

/** The PCIe path between a GPU and a NIC, read below @root ("" = /). */

/** Access Control Services of a PCIe device. */
enum acs_state {
	ACS_NONE,		/* no bridge, or none that has them */
	ACS_OFF,
	ACS_REDIRECTS_ON,	/* peer traffic takes the way over the root */
	ACS_UNKNOWN,		/* too little of the file may be read */
	ACS_STATES
};

/** From the configuration space in /sys/bus/pci/devices/DEVICE/config. */
enum acs_state acs_of_config(const void *bytes, size_t len);

#define ACS_SOURCE   "/sys/bus/pci/devices"
#define IOMMU_SOURCE "/sys/kernel/iommu_groups"

/** How many PCI devices are in each state, to @count; returns how many devices
 *  there are. */
size_t acs_count(const char *root, int count[ACS_STATES]);

#define IOMMU_TRANSLATES "translates DMA"
/** IOMMU_TRANSLATES, "passes DMA through" or "off". */
const char *iommu_does(const char *root);

/* ---- interface ----------------------------------------------------------- */

/** Addresses that one node may have. */
#define INTERFACE_MAX 256
/** Ethernet has 6 bytes, IPoIB 20. */
#define INTERFACE_MAC 20

/** One address of an interface of this machine. */
struct interface {
	char name[32];
	struct ip_net net;
	int64_t mtu_B;		/* 0 = not known */
	uint8_t mac[INTERFACE_MAC];
	size_t mac_len;		/* 0 = it has none */
	char state[16];		/* up, down, no_carrier */
};

/** All addresses but those of loopback and those of one link only, in the
 *  kernel's order; returns how many. */
size_t interface_list(struct interface *list, size_t max);

/** The one that has the address @sa; false and @found all 0: none has, or
 *  loopback. */
bool interface_of(const struct sockaddr *sa, struct interface *found);

/** Return the line rate of interface @name below @root ("" = /) per direction
 *  according to its driver, 10^9 bytes per second; NAN if the driver does not
 *  know it. */
double interface_line_GB_s(const char *root, const char *name);
/** Return true if the interface is IPoIB: TCP/IP over an InfiniBand port. */
bool interface_is_ipoib(const char *root, const char *name);

enum interface_way { INTERFACE_UNKNOWN, INTERFACE_DOWN, INTERFACE_UP };

/** "eth0 no_carrier" into @buf: the interface that has the address @sa, and how
 *  it is; "" and UNKNOWN: none has, or loopback. */
enum interface_way interface_says(const struct sockaddr *sa, char *buf,
				  size_t size);

/** Return the statistics of the driver of interface @name as "ethtool -S"
 *  prints them, with @settings also its FEC and its priorities, for which other
 *  parts of the kernel are asked; below @root (not "") the recorded text
 *  ethtool/NAME.  free() frees; NULL: there are none. */
char *interface_stats(const char *root, const char *name, bool settings);
/** The counter @name of such a @text (NULL: none) into *@value; false: it is
 *  not there.  Pure; input is untrusted. */
bool interface_stat(const char *text, const char *name, uint64_t *value);
/* Lines of such a text: the active FEC ("RS"); the priorities with flow control
 * (PFC: "3", "3 4", "none"), and the priority of each DSCP ("0=0 26=3"), if
 * packets are sorted by it. */
#define INTERFACE_FEC  "Active FEC encoding: "
#define INTERFACE_PFC  "PFC priorities: "
#define INTERFACE_DSCP "DSCP priorities: "

/** The rest of the line that begins with @mark of such a @text (NULL: none)
 *  into @buf, "" and false without one.  Pure. */
bool interface_said(const char *text, const char *mark, char *buf, size_t size);

/** Append these lines about priorities by the attributes of a kernel's answer
 *  to DCB_CMD_IEEE_GET.  Pure; input is untrusted. */
void interface_dcb_parse(const void *answer, size_t len, struct str *out);

/** An entry of an inventory's array "interfaces"; new reference. */
json_t *interface_json(const struct interface *i);
/** The other way; 0, or -1 with @e: @i is undefined then. */
int interface_parse(const json_t *json, struct interface *i, struct err *e);

#endif
