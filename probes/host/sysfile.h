/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_SYSFILE_H
#define PROBES_HOST_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/str.h"

/* ---- kernel log ---------------------------------------------------------- */

#define KERNEL_LOG "/dev/kmsg"

/** Add to @lines, for kernel_log_next(), what the kernel's log has now, of this
 *  machine, or of the one recorded below @root (not ""); else, until
 *  @deadline_ns (0: never), the journal, which some users may read that may not
 *  read the log.  Returns the source, or NULL with errno: mostly EPERM, as the
 *  log takes CAP_SYSLOG where kernel.dmesg_restrict is set. */
const char *kernel_log_read(const char *root, int64_t deadline_ns,
			    struct str *lines);
/** Return the next message of the lines at *@next (NULL: there are none), which
 *  are cut, and the time when the kernel wrote it, *@us after the boot; NULL at
 *  the end. */
const char *kernel_log_next(char **next, int64_t *us);

/** The time of the boot's clock, by which messages count, of this machine or of
 *  the one recorded below @root; microseconds. */
int64_t kernel_log_now_us(const char *root);

/** Pure: one record of it, "6,1234,98765,-;TEXT", cut into its text; NULL: it
 *  is none. */
const char *kernel_log_parse(char *record, int64_t *us);

/* ---- pressure ------------------------------------------------------------ */

/** "waited in the last 10 s: cpu 34.08 %, memory 0.00 %, io 1.20 %" into @buf,
 *  by the pressure files below @root ("" = /): the share of the time in which
 *  some process of this machine waited for it; "load 12.30 on 2 CPUs" where the
 *  kernel has none; "" without either. */
void pressure_text(const char *root, char *buf, size_t size);
/** How long, since the machine booted, some process of it could have run and
 *  had no CPU, in nanoseconds; -1 where the kernel does not say. */
int64_t pressure_waited_ns(const char *root);

/* ---- process ------------------------------------------------------------- */

/** A process called @comm (as the kernel has it: 15 bytes at most) below @root
 *  ("" = /): the lowest number of one, 0 when there is none. */
long process_find(const char *root, const char *comm);

/** The parent of process @pid below @root; 0 if it cannot be seen. */
int64_t process_parent(const char *root, int64_t pid);
/** Return true if process @pid below @root is @above or a descendant of it. */
bool process_is_below(const char *root, int64_t pid, int64_t above);

/** The value of @name in @vars, /proc/PID/environ of @len bytes that a NUL
 *  follows; "" for none.  Pure. */
const char *process_env(const char *vars, size_t len, const char *name);

/* ---- sysfile ------------------------------------------------------------- */

/**
 * Small files of /proc and /sys, their paths as printf() makes them; one that
 * is too long is not there.
 */

/**
 * The first @size - 1 bytes of the file into @buf, NUL-ended, white space at
 * the end cut.  Returns the length, or -1 with errno and @buf "".
 */
int sysfile_read(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * The first @max bytes of the file as they are, NUL-ended, malloc'ed; NULL with
 * errno.
 */
char *sysfile_whole(size_t max, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Names in the folder, sorted, without those that begin with a dot.
 * Returns how many (0 when there is no such folder), at most @max.
 */
size_t sysfile_list(char names[][64], size_t max, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Where node @node is below @sysroot: the folder there of its name, or, as of
 *  one machine alone, @sysroot; "" stays "". */
void sysfile_root(const char *sysroot, const char *node, char *root,
		  size_t size);

/** Return true if the file or folder exists. */
bool sysfile_there(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/**
 * The value after "@key:" at the beginning of a line of @text into @buf;
 * false when no line has it.
 */
bool sysfile_value(const char *text, const char *key, char *buf, size_t size);

#endif
