/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/verdict/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SHOWN 6

static bool names(const struct finding *f, const struct part *p)
{
	bool is = part_compare(&f->part, p) == 0;

	for (size_t i = 0; i < f->n_or; i++) {
		is = is || part_compare(&f->or_parts[i], p) == 0;
	}
	return is;
}

static void show(const struct truth *t, const struct run *run,
		 const struct verdict *v)
{
	char name[PART_NAME_SIZE];

	for (size_t i = 0; i < t->n; i++) {
		printf("#   is: %s %s\n",
		       part_name(run, &t->parts[i], name, sizeof(name)),
		       part_direction_name(t->parts[i].direction));
	}
	for (size_t k = 0; k < v->n && k < MOST_SHOWN; k++) {
		const struct finding *f = &v->findings[k];

		printf("#   said (%s, %s): %s\n", f->code,
		       f->fail ? "fail" : "warn", f->says);
		for (size_t i = 0; i < f->n_or && i < MOST_SHOWN; i++) {
			printf("#     or %s\n",
			       part_name(run, &f->or_parts[i], name,
					 sizeof(name)));
		}
	}
}

bool score_add(struct score *s, const struct truth *t, const struct run *run,
	       const struct verdict *v)
{
	size_t right = 0, found = 0, n = 0, fails = 0;
	bool exact, severe = true;

	for (size_t k = 0; k < v->n; k++) {
		const struct finding *f = &v->findings[k];
		bool is = false;

		if (t->is_site && t->is_site(t->ctx, f)) {
			continue;
		}
		n++;
		fails += f->fail;
		for (size_t i = 0; i < t->n; i++) {
			is |= names(f, &t->parts[i]);
		}
		right += is;
		severe &= t->severity == EITHER ||
			  f->fail == (t->severity == FAIL);
		s->drains += f->drain;
	}
	for (size_t i = 0; i < t->n; i++) {
		bool is = false;

		for (size_t k = 0; k < v->n; k++) {
			is |= names(&v->findings[k], &t->parts[i]);
		}
		found += is;
	}
	exact = right == n && found == t->n;
	s->runs++;
	s->exact += exact;
	s->severe += exact && severe;
	s->fails += fails > 0;
	s->warns += n > 0 && fails == 0;
	s->findings += n;
	s->right += right;
	s->faults += t->n;
	s->found += found;
	if (getenv("V") && !(exact && severe)) {
		show(t, run, v);
	}
	return exact && severe;
}

bool score_enough(size_t right, size_t of, double percent)
{
	double p = percent / 100, n = (double)of, chance = 0;

	for (size_t i = 0; i <= right && percent < 100; i++) {
		double k = (double)i;

		chance += exp(lgamma(n + 1) - lgamma(k + 1) -
			      lgamma(n - k + 1) + k * log(p) +
			      (n - k) * log(1 - p));
	}
	return right == of || chance >= 0.01;
}

static double percent(size_t part, size_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 100;
}

/** Print the line of @row; is it good enough? */
static bool end_row(const struct row *row, const struct score *s)
{
	bool ok = score_enough(s->severe, s->runs, row->least) &&
		  !(s->faults == 0 && s->fails * 1000 > s->runs);

	printf("#| %-35s %6zu %6zu %6zu %7.1f %7.1f %9.1f %6.1f\n", row->name,
	       s->fails, s->warns, s->drains, percent(s->exact, s->runs),
	       percent(s->severe, s->runs), percent(s->right, s->findings),
	       percent(s->found, s->faults));
	if (row->least > 0) {
		printf("%sok - %s: %g %% or more are exact\n", ok ? "" : "not ",
		       row->name, row->least);
	}
	fflush(stdout);
	return ok || !(row->least > 0);
}

int table_main(const struct table *t, int argc, char **argv)
{
	uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	const char *only = argc > 3 ? argv[3] : "";
	bool ok = true;

	printf("#| seeds %llu to %llu: %s\n", (unsigned long long)first,
	       (unsigned long long)(first + seeds - 1), t->clusters);
	printf("#| %-35s %6s %6s %6s %7s %7s %9s %6s\n", "", "fail", "warn",
	       "drain", "exact", "severe", "precision", "recall");
	for (size_t i = 0; i < t->n; i++) {
		const void *question = (const char *)t->questions + i * t->size;
		const struct row *row = question;
		struct score s = { 0 };

		if (strncmp(row->name, only, strlen(only)) != 0) {
			continue;
		}
		for (uint64_t k = 0; k < seeds; k++) {
			t->ask(question, first + k, &s);
		}
		ok &= end_row(row, &s);
	}
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
