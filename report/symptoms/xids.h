/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SYMPTOMS_XIDS_H
#define REPORT_SYMPTOMS_XIDS_H

#include "report/symptoms/symptom.h"

/**
 * Add a section xid_N or sxid_N for each number of @text, which is such as
 * data/xids.txt (NULL: that one, part of the program), with what its action
 * "[xid ACTION]" has in @s; numbers that have a section already are left out.
 * 0; -1 with @e naming the line, or for want of memory: @s is as far as it
 * came.
 */
int xids_add(struct symptoms *s, const char *text, struct err *e);

#endif
