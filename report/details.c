/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/details.h"

#include <math.h>

#include "report/part.h"
#include "report/wrap.h"

#define INDENT 6

static void add_line(const struct wrap *w, const char *text)
{
	str_add(w->out, "      ");
	wrap_text(w, INDENT + 2, text);
}

static void add_finding(const struct run *run, const struct finding *f,
			size_t number, const struct wrap *w)
{
	char name[PART_NAME_SIZE];
	struct str line = STR_INIT;

	str_addf(&line, "%s, %s: ",
		 part_name(run, &f->part, name, sizeof(name)), f->code);
	if (!isnan(f->score)) {
		str_addf(&line, "score %.2f, ", f->score);
	}
	str_addf(&line, "explains %zu of %zu cells that touch it",
		 f->explained, f->cells);
	str_addf(w->out, "\n%4zu  ", number);
	wrap_text(w, INDENT, str_text(&line));
	str_release(&line);
	for (size_t i = 0; i < f->n_or; i++) {
		str_addf(&line, "or %s", part_name(run, &f->or_parts[i], name,
						   sizeof(name)));
		add_line(w, str_text(&line));
		str_reset(&line);
	}
	str_release(&line);
	for (size_t i = 0; i < f->n_evidence; i++) {
		add_line(w, f->evidence[i]);
	}
}

void details_render(const struct run *run, const struct verdict *v, int width,
		    struct str *out)
{
	const struct wrap w = { .out = out, .width = width };

	if (v->n > 0) {
		str_add(out, "\nfindings in detail\n");
	}
	for (size_t i = 0; i < v->n; i++) {
		add_finding(run, &v->findings[i], i + 1, &w);
	}
}
