/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_SITE_H
#define CLI_FRONT_SITE_H

#include "lib/base/err.h"
#include "lib/base/str.h"

/** Where a site says what its hardware carries; the variable is for another. */
#define SITE_EXPECTED_D	  "/etc/gpucheck/expected.d"
#define SITE_EXPECTED_ENV "GPUCHECK_EXPECTED_D"

/**
 * Read *.ini there, by name, and check each: into @text, one after the other,
 * "" when there are none.  The run keeps a copy, so that its report says the
 * same elsewhere.  0, or -1 with @e: a file that makes no sense.
 */
int site_expected(struct str *text, struct err *e);

/** Append the file @path, "" = none, which lists who is connected to which
 *  switch (lib/data/switches.h), to @text; -1 with @e: it lists nobody. */
int site_switches(const char *path, struct str *text, struct err *e);

#endif
