/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_KERNEL_LOG_H
#define PROBES_HOST_KERNEL_LOG_H

#include <stdint.h>

#define KERNEL_LOG "/dev/kmsg"

/** A message, as @text, that the kernel wrote @us after the boot. */
typedef void kernel_log_line(void *user, int64_t us, const char *text);

/** Each message that the kernel's log has now, of this machine, or of the one
 *  recorded below @root (not ""); never blocks.  0, or -1 with errno: mostly
 *  EPERM, as it takes CAP_SYSLOG where kernel.dmesg_restrict is set. */
int kernel_log_read(const char *root, kernel_log_line *line, void *user);

/** Pure: one record of it, "6,1234,98765,-;TEXT", cut into its text; NULL: it
 *  is none. */
const char *kernel_log_parse(char *record, int64_t *us);

#endif
