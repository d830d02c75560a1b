/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_PLAN_TIERS_H
#define CLI_PLAN_TIERS_H

#include <jansson.h>

#include "cli/plan/forecast.h"
#include "lib/base/str.h"

/**
 * The ways to measure fewer pairs or more, each with its time and how likely
 * it sees a fault, beside the forecast @f: of p2p, where no list and no kind
 * of pairs is asked for, and where it makes a difference.
 */
void tiers_words(const struct forecast *f, struct str *out);
/** The same as a list, empty where there is nothing to choose from; NULL
 *  without memory. */
json_t *tiers_json(const struct forecast *f);

#endif
