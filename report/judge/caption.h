/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes and captions that texts, pictures and HTML share.  Pure; plain text. */
#ifndef REPORT_JUDGE_CAPTION_H
#define REPORT_JUDGE_CAPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "report/judge/verdict.h"

#define CAPTION_SIZE 512
#define CAPTION_UTC_SIZE 32

/** Returns a time of run.json as "2026-11-21 20:06 UTC" in @buf; "" for "". */
const char *caption_utc(const char *utc, char buf[CAPTION_UTC_SIZE]);
/** "20 rows: 18 pass, 2 fail" of @what, those that are slow as @slow; @buf. */
const char *caption_count(const char *what, const size_t count[CELL_CLASSES],
			  const char *slow, char *buf, size_t size);

/** "p2p on 2 nodes with 16 GPUs: tcp, 4 MiB, schedule nic, <UTC>"; @buf. */
const char *caption_what(const struct run *run, char *buf, size_t size);
/** Returns "slow", or "lossy" for ping. */
const char *run_slow_word(const struct run *run);
/** "240 tests: 192 pass, 48 timeout"; returns @buf. */
const char *caption_cells(const struct run *run, char *buf, size_t size);
/** The status in words: that of the verdict, or CAPTION_PASS_SAMPLE if a sample
 *  was measured without a finding, for wrap_status(). */
#define CAPTION_PASS_SAMPLE "pass (sample)"
const char *caption_status(const struct run *run, const struct verdict *v);
/** Writes what stands in brackets after the status, "144 of 240 pairs; ...", by
 *  the notes of @v.  Returns false if that is nothing. */
bool caption_aside(const struct verdict *v, char *buf, size_t size);
/** Writes "partial: 40 of 240 measured, the run did not finish (interrupted)",
 *  or "running: 40 of 240 measured so far".  Returns false if the run is
 *  complete. */
bool caption_partial(const struct run *run, const struct verdict *v, char *buf,
		     size_t size);
/** "GPU 4 of n1 (dead)": the part of @f and its state; returns @buf. */
const char *finding_short(const struct run *run, const struct finding *f,
			  char *buf, size_t size);
/**
 * The verdict in a few words: "GPU 4 of n1 (dead), NIC 3 of n9 (50 % slow) and
 * 2 more"; as a @sentence "GPU 4 of n1 is dead, and 3 more"; without findings
 * what was tested, "p2p, 2 nodes, 16 GPUs, 240 tests".  Returns @buf.
 */
const char *caption_short(const struct run *run, const struct verdict *v,
			  bool sentence, char *buf, size_t size);
/** "gpucheck p2p -N 2 ...", as it was typed; returns @buf. */
const char *caption_command(const struct run *run, char *buf, size_t size);
/** Median and range of what passed; false when nothing of the class did. */
bool caption_bandwidth(const struct run *run, enum path_class path, char *buf,
		       size_t size);
/** Returns the median round trip of ping, us; NAN: none. */
double caption_round_trip(const struct run *run);
/** Writes the median and minimum share of line rate.  Returns false if no line
 *  rate is known. */
bool caption_line(const struct run *run, char *buf, size_t size);
/** The same of what the other pass has of the bandwidth. */
bool caption_contrast(const struct run *run, enum path_class path, char *buf,
		      size_t size);
/** Returns a note on what @transport does not test in @probe, such as GPUs;
 *  NULL: no note. */
const char *caption_transport(const char *transport, const char *probe);
/**
 * Writes note @i (from 0) that a reader needs before the results into @buf: a
 * drill, an error, no GPUs tested, a model, damaged rows.  With @line it has
 * one line if possible: no details, which some have behind their first ';'.
 * Returns false after the last one.
 */
bool caption_note(const struct run *run, int i, bool line, char *buf,
		  size_t size);
/** One of these: which GPUs are slower than the others on every node. */
void note_built_so(const struct run *run, struct str *out);

#endif
