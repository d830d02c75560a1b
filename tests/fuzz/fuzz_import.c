/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>

#include "lib/data/record_rows.h"
#include "report/import/import.h"
#include "report/judge/pairs.h"
#include "report/show/judged.h"

/* A file of any kind: the first byte says under which name it is read, so that
 * logs of pairs are reached too.  What was read must print and be judged. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {
		"log", "p2p-test-0-1-7.out", "p2p-test-1-0-7.err",
		"latency.json",
	};
	struct import x = { 0 };
	struct collective_pair both = { .reference = &both.now };
	struct sweep *s = &both.now;
	struct judged j = { .kind = &judged_collective, .more = &both };
	struct str out = STR_INIT;
	FILE *f;

	if (size < 2) {
		return 0;
	}
	f = fmemopen((void *)(uintptr_t)(data + 1), size - 1, "r");
	if (!f) {
		return 0;
	}
	j.run.json = json_object();
	if (import_stream(&x, names[data[0] % 4], f, NULL) == 0 &&
	    import_end(&x, NULL) == 0) {
		for (size_t i = 0; i < x.rows.n; i++) {
			union import_row row;

			record_list_get(&x.rows, i, &row);
			record_add_csv(x.rows.schema, &row, &out);
			if (x.rows.schema == &schema_collective) {
				sweep_add(s, &row.collective);
			}
		}
		json_decref(import_pairs_layout(&x));
		json_decref(x.rows.schema == &schema_ping ?
				    import_ping_layout(&x) :
				    import_matrix_layout(&x));
		if (sweep_group(s) == 0 &&
		    collective_judge(&j.run, s, s, &j.verdict) == 0) {
			judged_words(&j, 80, false, TERM_ASCII, &out);
			verdict_release(&j.verdict);
		}
	}
	fclose(f);
	run_release(&j.run);
	str_release(&out);
	sweep_release(s);
	import_release(&x);
	return 0;
}
