/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/explain/works.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"

#define LINE_MAX_LEN 511
#define SHOWN	     16

void works_release(struct works *w)
{
	free(w->list);
	str_release(&w->named);
	*w = (struct works){ 0 };
}

static long number_behind(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	at = at ? at + strlen(key) : "";
	return isdigit((unsigned char)*at) && strspn(at, "0123456789") < 16 ?
		       strtol(at, NULL, 10) : 0;
}

static struct work *work_of(struct works *w, const char *group, int rank)
{
	struct work new = { .rank = rank };

	/* ranks speak several times in a row */
	for (size_t i = w->n; i-- > 0;) {
		if (w->list[i].rank == rank &&
		    strcmp(w->list[i].group, group) == 0) {
			return &w->list[i];
		}
	}
	if (w->n == WORKS_MAX) {
		return NULL;
	}
	STR_COPY(new.group, group);
	return grow_add(&w->list, &w->n, &new, sizeof(new));
}

/** "PG 1", "PG ID 0": its number; "" where it is not said. */
static void take_group(const char *line, char group[24])
{
	const char *at = strstr(line, "[PG ");

	group[0] = '\0';
	if (at) {
		at += str_starts(at + 4, "ID ") ? 7 : 4;
		snprintf(group, 24, "%.*s",
			 (int)strspn(at, "0123456789") % 20, at);
	}
}

/** "Ranks 4, 5 failed to pass", "[missing ranks: 0, 2]" */
static void take_named(struct works *w, const char *line)
{
	const char *at = strstr(line, "[missing ranks: ");
	size_t len;

	at = at ? at + 16 : strstr(line, "]: Ranks ");
	if (!at) {
		return;
	}
	at += *at == ']' ? 9 : 0;
	len = strspn(at, "0123456789, ");
	while (len > 0 && !isdigit((unsigned char)at[len - 1])) {
		len--;
	}
	if (w->named.len == 0 && len < 200) {
		str_addmem(&w->named, at, len);
	}
}

void works_line(struct works *w, const char *line, size_t len, int rank)
{
	char copy[LINE_MAX_LEN + 1], group[24];
	long waits, enqueued, ranks;
	struct work *x;

	len = len < LINE_MAX_LEN ? len : LINE_MAX_LEN;
	for (size_t i = 0; i < len; i++) {
		copy[i] = line[i] ? line[i] : ' ';
	}
	copy[len] = '\0';
	ranks = number_behind(copy, " nranks ");
	w->ranks = ranks > w->ranks && ranks < WORKS_MAX ? (int)ranks :
							   w->ranks;
	take_named(w, copy);
	take_group(copy, group);
	waits = number_behind(copy, "at work: ");
	waits = waits ? waits : number_behind(copy, "Timeout at NCCL work: ");
	enqueued = number_behind(copy, "last enqueued NCCL work: ");
	/* the line with SeqNum= does not name its group */
	x = enqueued && rank >= 0 ? work_of(w, group, rank) : NULL;
	if (x) {
		x->waits = waits > x->waits ? waits : x->waits;
		x->enqueued = enqueued > x->enqueued ? enqueued : x->enqueued;
	}
}

static int by_group_and_rank(const void *a, const void *b)
{
	const struct work *x = a, *y = b;
	int groups = strcmp(x->group, y->group);

	return groups ? groups : (x->rank > y->rank) - (x->rank < y->rank);
}

static void add_rank(struct str *list, size_t *n, int rank)
{
	if (*n < SHOWN) {
		str_addf(list, "%s%d", *n ? ", " : "", rank);
	}
	++*n;
}

/** @list[0..@n] are one group. */
static void judge_group(const struct work *list, size_t n, int ranks,
			struct works_verdict *v)
{
	int next = 0;

	STR_COPY(v->group, list[0].group);
	for (size_t i = 0; i < n; i++) {
		v->work = list[i].waits > v->work ? list[i].waits : v->work;
	}
	for (size_t i = 0; i < n; i++) {
		v->waiting += list[i].enqueued >= v->work;
		if (list[i].enqueued < v->work) {
			add_rank(&v->behind, &v->n_behind, list[i].rank);
		}
		for (; next < list[i].rank && next < ranks; next++) {
			add_rank(&v->silent, &v->n_silent, next);
		}
		next = list[i].rank + 1;
	}
	for (; next < ranks; next++) {
		add_rank(&v->silent, &v->n_silent, next);
	}
}

static void release_verdict(struct works_verdict *v)
{
	str_release(&v->behind);
	str_release(&v->silent);
	*v = (struct works_verdict){ 0 };
}

void works_judge(struct works *w, struct works_verdict *v)
{
	*v = (struct works_verdict){ 0 };
	if (w->n > 0) {
		qsort(w->list, w->n, sizeof(*w->list), by_group_and_rank);
	}
	for (size_t i = 0, end; i < w->n; i = end) {
		struct works_verdict one = { 0 };

		for (end = i + 1; end < w->n &&
		     strcmp(w->list[end].group, w->list[i].group) == 0;
		     end++) {
			/* its last */
		}
		judge_group(&w->list[i], end - i, w->ranks, &one);
		if (one.work && (v->work == 0 || one.n_behind > v->n_behind ||
				 (one.n_behind == v->n_behind &&
				  one.waiting > v->waiting))) {
			release_verdict(v);
			*v = one;
		} else {
			release_verdict(&one);
		}
	}
}
