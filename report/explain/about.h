/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_EXPLAIN_ABOUT_H
#define REPORT_EXPLAIN_ABOUT_H

#include <stdbool.h>
#include <stddef.h>

/** What a line of a log is about, as far as it says so.  Names are of letters,
 *  digits and a few signs between them: they may stand in a command. */
struct about {
	char host[64];	/* "" */
	char bus[16];	/* of a device on PCIe, "0000:9b:00"; "" */
	char hca[24];	/* "mlx5_0"; "" */
	int port;	/* of it, from 1; 0 */
	int rank;	/* -1 */
	int gpu;	/* index within the node; -1 */
	long pid;	/* 0 */
	double time;	/* s since 1970, in the zone of the log; 0 */
	bool no_year;	/* the time is of 1972 */
};

/** Pure. */
void about_line(const char *line, size_t len, struct about *a);

/** The same of a line of NCCL, its host and process alone: cheaper. */
void about_nccl(const char *line, size_t len, struct about *a);

/** The same of a line "exitcode : -9 (pid: 7)" of torchrun, whose rank, host
 *  and time stand in the lines before it, back to @text. */
void about_exit(const char *text, const char *line, struct about *a);

/** The rank in the name of a file, "rank_3.log" or "3/stderr.log"; or -1. */
int about_file(const char *name);

/** As NCCL writes it, 0x9b000, from "0000:9b:00"; 0 when @bus is "". */
unsigned long about_bus_id(const char *bus);

#endif
