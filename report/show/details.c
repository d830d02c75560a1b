/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/show.h"

#include <math.h>

#include "report/model/part.h"
#include "report/base/wrap.h"

#define INDENT 6

const char *show_score(const struct finding *f, char *buf, size_t size)
{
	char score[24] = "";

	if (!isnan(f->score)) {
		snprintf(score, sizeof(score), "score %.2f, ", f->score);
	}
	snprintf(buf, size, "%sexplains %zu of %zu tests with it", score,
		 f->explained, f->cells);
	return buf;
}

static void add_line(const struct wrap *w, const char *text)
{
	str_add(w->out, "      ");
	wrap_text(w, INDENT + 2, text);
}

static void add_finding(const struct run *run, const struct finding *f,
			size_t number, const struct wrap *w)
{
	char name[PART_NAME_SIZE], score[120];
	struct str line = STR_INIT;

	str_addf(&line, "%s, %s: %s",
		 part_name(run, &f->part, name, sizeof(name)), f->code,
		 show_score(f, score, sizeof(score)));
	str_addf(w->out, "\n%4zu  ", number);
	wrap_text(w, INDENT, str_text(&line));
	str_release(&line);
	for (size_t i = 0; i < f->n_or; i++) {
		str_addf(&line, "could also be %s",
			 part_name(run, &f->or_parts[i], name,
						   sizeof(name)));
		add_line(w, str_text(&line));
		str_reset(&line);
	}
	str_release(&line);
	for (size_t i = 0; i < f->n_evidence; i++) {
		add_line(w, f->evidence[i]);
	}
}

void judged_details(const struct judged *j, int width, struct str *out)
{
	const struct wrap w = { .out = out, .width = width };

	if (j->kind->details) {
		j->kind->details(j, width, out);
	}
	if (j->verdict.n > 0) {
		str_add(out, "\nfindings in detail\n");
	}
	for (size_t i = 0; i < j->verdict.n; i++) {
		add_finding(&j->run, &j->verdict.findings[i], i + 1, &w);
	}
}
