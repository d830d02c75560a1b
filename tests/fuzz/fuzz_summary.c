/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "report/history/history.h"

/** What was read is written and read again: it is the same. */
static void check_round(const struct summary *s)
{
	struct str text = STR_INIT, again = STR_INIT;
	struct summary back;
	json_t *json = summary_json(s);

	json_add(json, JSON_COMPACT, &text);
	json_decref(json);
	if (summary_parse(str_text(&text), text.len, &back, NULL) < 0) {
		abort();
	}
	json = summary_json(&back);
	json_add(json, JSON_COMPACT, &again);
	json_decref(json);
	if (strcmp(str_text(&text), str_text(&again)) != 0) {
		abort();
	}
	summary_release(&back);
	str_release(&text);
	str_release(&again);
}

/** A file of the history, which others write, and what an index holds of a
 *  node: behind a zero byte. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct history_about about = { .dir = "d", .verbose = true };
	struct str text = STR_INIT;
	const struct wrap w = { .out = &text, .width = 80 };
	struct summary s = { .inter_GB_s = NAN, .intra_GB_s = NAN,
			     .busbw_GB_s = NAN };
	struct history h;

	if (size > 0 && data[0] == 0) {
		if (summary_parse_node((const char *)data + 1, size - 1, &s,
				       NULL) == 0 && s.n_nodes != 1) {
			abort();
		}
	} else if (summary_parse((const char *)data, size, &s, NULL) == 0) {
		check_round(&s);
		if (history_make(&s, 1, &h) == 0) {
			history_words(&h, &about, &w);
			history_csv(&h, &about, &text);
			json_decref(history_json(&h, &about));
		}
		history_release(&h);
	}
	summary_release(&s);
	str_release(&text);
	return 0;
}
