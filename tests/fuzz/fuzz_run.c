/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the files of a run directory: it is read or refused, judged,
 * said and drawn, and the classes of the cells add up.
 */
#include "report/draw/picture.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/show/judged.h"
#include "tests/fuzz/fuzz_dir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Pictures of larger runs only cost time. */
#define MAX_RANKS 64

static void draw(const struct run *r, const struct verdict *v)
{
	struct str out = STR_INIT;
	struct picture picture;

	show_words(&(struct judged){ .kind = &judged_pairs, .run = *r,
				     .verdict = *v },
		   80, true, &out);
	judged_details(&(struct judged){ .kind = &judged_pairs, .run = *r,
					  .verdict = *v }, 80, &out);
	for (int style = TERM_ASCII; style <= TERM_COLOR; style++) {
		term_render(r, NULL, 80, (enum term_style)style, TERM_MAP,
				     &out);
	}
	if (r->n_ranks > 0) {
		if (picture_make(r, VIEW_BANDWIDTH, v, NULL, &picture) == 0) {
			picture_svg(&picture, &out);
		}
		picture_release(&picture);
	}
	str_release(&out);
}

static void check(const struct run *r, const struct verdict *v)
{
	size_t sum = 0, planned = 0;
	json_t *json = verdict_json(r, v);

	for (int c = 0; c < CELL_CLASSES; c++) {
		sum += v->cells[c];
	}
	for (int i = 0; i < r->n_ranks * r->n_ranks; i++) {
		planned += r->cells[i].class != CELL_UNPLANNED;
	}
	if (sum != planned || !json) {
		abort();
	}
	for (size_t i = 0; i < v->n; i++) {
		if (v->findings[i].explained > v->findings[i].cells ||
		    v->findings[i].code[0] == '\0') {
			abort();
		}
	}
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct verdict v;
	struct run r;

	fuzz_dir_fill(data, size);
	if (levels_read(fuzz_dir, &r, NULL) < 0) {
		return 0;
	}
	if (r.n_ranks <= MAX_RANKS) {
		if (verdict_compute(&r, &v) < 0) {
			abort();
		}
		check(&r, &v);
		draw(&r, &v);
		verdict_release(&v);
	}
	run_release(&r);
	return 0;
}
