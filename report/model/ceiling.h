/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_CEILING_H
#define REPORT_MODEL_CEILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/str.h"
#include "lib/data/record_rows.h"

/**
 * The bus bandwidth that a collective can reach at most, by the links of its
 * machine.  docs/ceilings.md derives each bound.  Pure.
 */

/** Paths that differ in the share of the ceiling that healthy machines reach:
 *  section [collective] of data/expected.ini. */
enum ceiling_path {
	CEILING_NVLINK,		/* inside a node, or an NVLink domain */
	CEILING_RING,		/* between nodes, by algorithm */
	CEILING_TREE,
	CEILING_SHARP,
	CEILING_DIRECT,		/* alltoall and sendrecv */
	CEILING_PATHS
};

/** The word of each path in expected.ini; NULL ends. */
extern const char *const ceiling_path_names[CEILING_PATHS + 1];

/** Shares of the ceiling, in percent; 0: not known. */
struct ceiling_share {
	double warn, fail;	/* less is a warning, a fault */
};

/** Links of one node, one direction, GB/s; NAN: not known. */
struct machine {
	double rails_GB_s;	/* all NICs of its GPUs together */
	double nic_GB_s;	/* NICs of one GPU */
	double nvlink_GB_s;	/* NVLinks of one GPU */
	int rails;		/* NICs; 0: not known */
	int64_t gpus;		/* of the whole node; 0: not known */
	bool whole;		/* the rails are those of all its GPUs, and a
				 * run may use fewer: --machine */
	bool one_domain;	/* NVLink joins all nodes */
};

struct ceiling {
	double GB_s;		/* busbw; NAN: not known */
	enum ceiling_path path;
	const char *algo;	/* the algorithm; "": any */
	int rails;		/* that it is of; 0: NVLink, or not known */
};

/** Maximum rails, and gigabits per second of one, of "8x400G". */
#define MACHINE_RAILS_MAX 64
#define MACHINE_RATE_MAX  10000

/** Parse "8x400G", rails and Gb/s of each. Returns 0, or -1 if @text is
 *  anything else; @GB_s is then undefined. */
int machine_rails_parse(const char *text, int *rails, double *GB_s);

/** Set @m to unknown links. */
void machine_init(struct machine *m);
/** Set the rails of @m, of a node with @gpus GPUs (0: not known). */
void machine_set_rails(struct machine *m, int rails, double GB_s, int64_t gpus);

/** Number of nodes of @row: its own, else by the GPUs of a node of @m; 0 if
 *  neither is known. */
int64_t machine_nodes(const struct machine *m,
		      const struct collective_row *row);

/**
 * Sets *@most to the ceiling of @row by the algorithm that it names, and
 * *@least to the same.  If it names none, or one that is not known, they are the
 * largest and the smallest ceiling of any algorithm.
 */
void ceiling_of_row(const struct machine *m, const struct collective_row *row,
		    struct ceiling *most, struct ceiling *least);

/** Smaller messages say more of the latency than of the links. */
#define CEILING_LARGE_B (INT64_C(128) << 20)

struct run;
/** Fill @m in by --machine or --rails of @run (an import), else by its facts:
 *  the NICs of its GPUs, at their rate, of the node that has least; the NVLinks
 *  of its GPUs, by expected.ini.  Unknown if the run did not use them: by TCP,
 *  simulated, several nodes on one machine. */
void machine_of_run(const struct run *run, struct machine *m);

/** Append "83 % of what 4 rails carry by Ring", for a busbw of @GB_s. */
void ceiling_words(const struct ceiling *c, double GB_s, struct str *out);

#endif
