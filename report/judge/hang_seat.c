/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of each communicator have begun, compared. */
#include "report/judge/hang_seat.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/number.h"

bool hang_is_told(const struct hang_row *r)
{
	return strcmp(r->ras, HANG_RAS_ANSWERS) == 0;
}

bool hang_is_heard(const struct hang_rows *rows)
{
	bool heard = false;

	for (size_t i = 0; i < rows->n; i++) {
		heard = heard || hang_is_told(&rows->list[i]);
	}
	return heard;
}

bool hang_goes_on(const struct hang_rows *rows)
{
	bool on = false;

	for (size_t i = 0; i < rows->n; i++) {
		on = on || strcmp(rows->list[i].calls,
				  rows->list[i].calls_later) != 0;
	}
	return on;
}

/* ---- what RAS has counted ------------------------------------------------ */

static int call_index(struct hang *h, const char *name)
{
	for (int i = 0; i < h->n_names; i++) {
		if (strcmp(h->names[i], name) == 0) {
			return i;
		}
	}
	if (h->n_names == CALLS_MAX) {
		return -1;
	}
	STR_COPY(h->names[h->n_names], name);
	return h->n_names++;
}

/** "AllReduce 21, AllGather 1" */
static void read_calls(struct hang *h, const char *text, struct calls *c)
{
	char name[32];
	long long count;
	int used = 0;

	while (sscanf(text, "%31[A-Za-z] %lld%n", name, &count, &used) == 2) {
		int i = call_index(h, name);

		if (i >= 0 && count > 0) {
			c->n[i] = count;
			c->total = number_sum(c->total, count);
		}
		text += used;
		text += strspn(text, ", ");
	}
}

/** Has @a begun of any kind more than @b?  Collectives of a communicator have
 *  one order: where each has more of some kind, whenever they were asked, they
 *  do not keep to it. */
static bool is_ahead(const struct hang *h, const struct calls *a,
		     const struct calls *b)
{
	for (int i = 0; i < h->n_names; i++) {
		if (a->n[i] > b->n[i]) {
			return true;
		}
	}
	return false;
}

static bool same_calls(const struct calls *a, const struct calls *b)
{
	return memcmp(a->n, b->n, sizeof(a->n)) == 0;
}

/* ---- one communicator ---------------------------------------------------- */

static struct seat *seat_of(const struct hang *h, const struct comm *c,
			    size_t i)
{
	return &h->seats[c->seats[i]];
}

/** Nodes are asked one after the other: others may have gone on before this one
 *  was.  Each answer that its own node had must agree. */
static bool was_behind(const struct hang_row *r)
{
	return r->behind == RECORD_NONE || r->behind == HANG_LOOKS;
}

/** Of a communicator that stands still: who is behind the front, or, where
 *  nobody has begun all that others have, behind the most; and who does not
 *  keep to the order of the most. */
static void compare_still(struct hang *h, struct comm *c)
{
	struct calls front = { 0 };
	const struct calls *most = NULL, *last = NULL;
	size_t votes = 0, same = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct seat *s = seat_of(h, c, i);

		for (int k = 0; k < h->n_names; k++) {
			front.n[k] = s->now.n[k] > front.n[k] ? s->now.n[k] :
								front.n[k];
		}
		/* if more than half agree, it is they that are left */
		if (hang_is_told(s->row)) {
			most = votes == 0 ? &s->now : most;
			votes += same_calls(&s->now, most) ? 1 : SIZE_MAX;
		}
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct seat *s = seat_of(h, c, i);

		if (hang_is_told(s->row)) {
			last = same_calls(&s->now, &front) ? &front : last;
			same += same_calls(&s->now, most);
		}
	}
	last = last ? last : same * 2 > c->told ? most : NULL;
	for (size_t i = 0; i < c->n && last; i++) {
		struct seat *s = seat_of(h, c, i);

		if (hang_is_told(s->row) && is_ahead(h, last, &s->now)) {
			s->odd = is_ahead(h, &s->now, last);
			s->behind = !s->odd && was_behind(s->row);
		}
	}
}

/** Of one that goes on, who has begun more, or less, of a kind that stands
 *  still than the most, and yet less, or more, of another. */
static void compare_moving(struct hang *h, struct comm *c)
{
	for (int k = 0; k < h->n_names; k++) {
		struct calls high = { 0 }, low = { 0 };
		size_t votes = 0, same = 0;
		int64_t most = 0;
		bool still = true;

		for (size_t i = 0; i < c->n; i++) {
			const struct seat *s = seat_of(h, c, i);

			if (hang_is_told(s->row)) {
				still = still && s->now.n[k] == s->then.n[k];
				most = votes == 0 ? s->now.n[k] : most;
				votes += s->now.n[k] == most ? 1 : SIZE_MAX;
			}
		}
		for (size_t i = 0; i < c->n && still; i++) {
			const struct seat *s = seat_of(h, c, i);

			if (!hang_is_told(s->row) || s->now.n[k] != most) {
				continue;
			}
			low = same == 0 ? s->now : low;
			for (int m = 0; m < h->n_names; m++) {
				int64_t n = s->now.n[m];

				high.n[m] = n > high.n[m] ? n : high.n[m];
				low.n[m] = n < low.n[m] ? n : low.n[m];
			}
			same++;
		}
		for (size_t i = 0; i < c->n && same * 2 > c->told; i++) {
			struct seat *s = seat_of(h, c, i);
			int64_t n = s->now.n[k];

			s->odd = s->odd ||
				 (hang_is_told(s->row) &&
				  ((n > most && is_ahead(h, &high, &s->now)) ||
				   (n < most && is_ahead(h, &s->now, &low))));
		}
	}
}

static void compare(struct hang *h, struct comm *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct seat *s = seat_of(h, c, i);
		bool moves = s->now.total > s->then.total;

		c->told += hang_is_told(s->row);
		c->goes_on = c->goes_on || moves;
		h->seats[s->process].moves |= moves;
	}
	(c->goes_on ? compare_moving : compare_still)(h, c);
	for (size_t i = 0; i < c->n; i++) {
		const struct seat *s = seat_of(h, c, i);

		c->behind += s->behind;
		c->wait += hang_is_told(s->row) && !s->behind &&
			   !hang_computes(s->row);
	}
	for (size_t i = 0; i < c->n && c->behind > 0; i++) {
		const struct seat *s = seat_of(h, c, i);

		if (hang_is_told(s->row) && !s->behind) {
			h->seats[s->process].victim = true;
		}
	}
}

/* ---- rows to seats ------------------------------------------------------- */

static int by_process(const void *a, const void *b)
{
	const struct seat *s = *(const struct seat *const *)a;
	const struct seat *t = *(const struct seat *const *)b;
	int c = strcmp(s->row->node, t->row->node);

	c = c ? c : (s->row->pid > t->row->pid) - (s->row->pid < t->row->pid);
	return c ? c : (s > t) - (s < t);
}

static int by_comm(const void *a, const void *b)
{
	const struct seat *s = *(const struct seat *const *)a;
	const struct seat *t = *(const struct seat *const *)b;
	int c = strcmp(s->row->comm, t->row->comm);

	return c ? c : (s > t) - (s < t);
}

static bool same_process(const struct seat *s, const struct seat *t)
{
	return s->row->pid == t->row->pid &&
	       strcmp(s->row->node, t->row->node) == 0;
}

static void find_processes(struct hang *h, struct seat **order)
{
	qsort(order, h->rows->n, sizeof(struct seat *), by_process);
	for (size_t i = 0; i < h->rows->n; i++) {
		bool again = i > 0 && same_process(order[i - 1], order[i]);

		order[i]->process = again ? order[i - 1]->process :
					    (size_t)(order[i] - h->seats);
	}
}

static void find_comms(struct hang *h, struct seat **order)
{
	struct comm *c = NULL;

	qsort(order, h->rows->n, sizeof(struct seat *), by_comm);
	for (size_t i = 0; i < h->rows->n; i++) {
		struct seat *s = order[i];

		h->places[i] = (size_t)(s - h->seats);
		s->comm = NO_COMM;
		if (s->row->comm[0] == '\0') {
			continue;
		}
		if (!c || strcmp(h->seats[c->seats[0]].row->comm,
				 s->row->comm) != 0) {
			c = &h->comms[h->n_comms++];
			c->seats = &h->places[i];
		}
		c->n++;
		s->comm = (size_t)(c - h->comms);
	}
}

bool hang_seats_make(struct hang *h)
{
	size_t n = h->rows->n;
	struct seat **order = calloc(n + 1, sizeof(struct seat *));

	h->seats = calloc(n + 1, sizeof(*h->seats));
	h->comms = calloc(n + 1, sizeof(*h->comms));
	h->places = calloc(n + 1, sizeof(*h->places));
	if (!order || !h->seats || !h->comms || !h->places) {
		free(order);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		struct seat *s = order[i] = &h->seats[i];

		s->row = &h->rows->list[i];
		read_calls(h, s->row->calls, &s->then);
		read_calls(h, s->row->calls_later, &s->now);
	}
	find_processes(h, order);
	find_comms(h, order);
	free(order);
	for (size_t i = 0; i < h->n_comms; i++) {
		compare(h, &h->comms[i]);
	}
	return true;
}

void hang_seats_free(struct hang *h)
{
	free(h->seats);
	free(h->comms);
	free(h->places);
}
