/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_SWITCHES_H
#define LIB_DATA_SWITCHES_H

#include <stddef.h>

#include "lib/base/str.h"

/**
 * Which switch a node or its port is connected to, as other programs list it:
 *
 *	SwitchName=leaf1 Nodes=n[1-4]		topology.conf of Slurm, and
 *						"scontrol show topology"
 *	Switch 40 "S-..." # "leaf1" ...		ibnetdiscover, with below it
 *	[7] "H-..."[1](PORTGUID) # "n1 mlx5_0" ...
 *
 * Other lines mean nothing here.
 */
#define SWITCHES_MAX_BYTES (32 * 1024 * 1024)
#define SWITCHES_MAX	   262144	/* links of a file */

struct switch_link {
	char node[64];		/* Slurm: its name; else the first word of what
				 * the HCA is called, if it has two */
	char nic[64];		/* the second of these; "": all of the node */
	char guid[20];		/* of the port, 16 hex digits; "": not known */
	char name[64];		/* of the switch */
	char port[16];		/* its port; "": not known */
};

/**
 * Read the links in @text (@len bytes) into *@links, which the caller frees.
 * Returns how many there are, those past SWITCHES_MAX left out, or -1 when
 * memory runs out; *@links is NULL then.  Pure.
 */
long switches_parse(const char *text, size_t len, struct switch_link **links);

#endif
