/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_PORT_H
#define PROBES_HOST_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/**
 * What an HCA port says about itself in /sys/class/infiniband and at its PCI
 * device.  No library is asked, so a sick driver cannot hang the reader.
 */
#define PORT_MAX      64	/* of a node */
#define PORT_COUNTERS 40
#define PORT_NAME     80
#define PORT_PKEYS    8		/* looked at: jobs use one of the first */
#define PORT_SUBNET   20

struct port_pcie {
	double speed_GT_s;	/* NAN: not known */
	int width;		/* 0: not known */
};

struct port {
	char hca[64];
	int number;
	char name[PORT_NAME];	/* mlx5_0; mlx5_0:2 where the HCA has more */
	char state[32];		/* ACTIVE, DOWN, INIT ... */
	char phys_state[32];	/* LinkUp, Polling, Disabled ... */
	char link_layer[32];	/* InfiniBand, Ethernet */
	char width[16];		/* 4X HDR */
	double rate_Gb_s;	/* NAN: not known */
	char firmware[64];
	char board[64];
	char netdev[64];	/* of RoCE */
	char gids[160];		/* of RoCE, by index: "0:v1 1:v2 ..." */
	char gid_kinds[256];	/* the same: "0:link 1:IPv6 2:IPv4 ..." */
	char subnet[PORT_SUBNET];	/* of InfiniBand: fe80:0000:0000:0000 */
	char guid[20];			/* the same: 16 hex digits */
	int pkeys[PORT_PKEYS], n_pkeys;	/* of InfiniBand, by index */
	int numa;		/* -1: not known */
	bool software;		/* no PCI device: the rate says nothing */
	struct port_pcie link, most;	/* as it runs, as it could with this
					 * device in this slot */
	int64_t moved_B;	/* sent and received; -1: not known */
	uint64_t counters[PORT_COUNTERS];	/* as port_counter_defs[] */
	bool has_counter[PORT_COUNTERS];
};

/** A counter that tells of trouble when it grows. */
struct port_counter_def {
	const char *name;
	const char *folder;	/* counters, hw_counters; NULL: of the netdev */
};

extern const struct port_counter_def port_counter_defs[];	/* NULL ends */

/** "4: ACTIVE" gives "ACTIVE"; text without a number stays as it is. */
void port_parse_state(const char *text, char *buf, size_t size);
/** "200 Gb/sec (4X HDR)": the rate in Gb/s, NAN when there is none, and what
 *  stands in the brackets. */
double port_parse_rate(const char *text, char *width, size_t size);
/** "16.0 GT/s PCIe" or "16 GT/s": transfers per second and lane; NAN. */
double port_parse_speed(const char *text);

/** "0xffff": a partition key; 0 when it is none. */
int port_parse_pkey(const char *text);

/** All ports below @root ("" = /), ordered by name; at most @max. */
size_t port_list(const char *root, struct port *ports, size_t max);

/** The errno of the device file of HCA @hca on this machine; @otherwise where
 *  it may be opened, or is not there. */
int port_device_errno(const char *hca, int otherwise);

/**
 * What the port can carry one way, 10^9 bytes per second: the slower of the
 * line and the PCIe link; NAN when neither is known or it is software.
 */
double port_line_GB_s(const struct port *p);

struct interface;

/**
 * Facts of RoCE ports: to the networks of which others of them, which have
 * addresses of the same family, the routes of this machine lead ("route_to"),
 * and to which not ("no_route_to"): names, apart by blanks.  As the kernel
 * would send from the one's address by the one's interface.
 */
void port_route_facts(const struct port *ports, size_t n,
		      const struct interface *list, size_t n_list,
		      json_t *facts);

/** Facts of scope p->name, and the counters as they stand. */
void port_facts(const struct port *p, json_t *facts);
/** How much each counter of @after is above @before, where it is, and what the
 *  port has sent and received, "data_moved". */
void port_growth_facts(const struct port *before, const struct port *after,
		       json_t *facts);

#endif
