/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_KEEP_H
#define CLI_FRONT_KEEP_H

#include "lib/spec/spec.h"
#include "report/show/judged.h"

/** A run that has ended with @code and was judged goes where --history and
 *  --metrics say.  What cannot be written is said, and changes nothing else. */
void keep(const struct judged *j, const struct spec *s, int code);
/** Do --metrics take stdout, which has no words then? */
bool keep_takes_stdout(const struct spec *s);

#endif
