/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_INFO_H
#define LIB_DATA_RECORD_INFO_H

#include "lib/data/record.h"

/** Facts by which a verdict is made. */
#define INFO_EXPECTED "gpus_expected"	/* of a node, by -G or Slurm */
#define INFO_NONE     "none"		/* of a library that is not there */

/** One line of results.csv of info: did the node answer?  What it said is in
 *  facts.csv. */
struct info_row {
	char node[64];
	enum outcome outcome;
	char code[48];
	char detail[400];
	char start_utc[32];
};

extern const struct schema schema_info;

#endif
