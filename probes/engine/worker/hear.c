/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between a worker and its agent, and what transports ask of it. */
#include "probes/engine/worker/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/data/json.h"
#include "probes/engine/net/door.h"

#define WORKER_SEND_NS (10 * NS_PER_S)

void heard_free(struct heard *h)
{
	if (h != NULL) {
		json_decref(h->msg);
		free(h);
	}
}

static void keep(struct process *w, struct heard *h)
{
	if (w->n_kept < WORKER_KEPT) {
		w->kept[w->n_kept++] = h;
	} else {
		heard_free(h);
	}
}

static struct heard *heard_new(struct process *w, enum message_type type)
{
	if (w->last != NULL) {
		keep(w, w->last);
	}
	w->last = calloc(1, sizeof(*w->last));
	if (w->last != NULL) {
		w->last->type = type;
	}
	return w->last;
}

static void hear_message(void *arg, json_t *msg)
{
	struct heard *h = heard_new(arg, message_type(msg));

	if (h != NULL) {
		h->msg = json_incref(msg);
	}
}

static void hear_entry(void *arg, enum message_type type, const void *bytes,
		       size_t n)
{
	struct process *w = arg;
	struct heard *h = heard_new(w, type);

	if (h != NULL && (type == MSG_TASK ?
			  order_read(bytes, n, &h->order, NULL) :
			  order_word_read(bytes, n, &h->word, NULL)) < 0) {
		heard_free(h);	/* its deadline tells */
		w->last = NULL;
	}
}

struct heard *worker_hear(struct process *w, int64_t deadline_ns, int *got,
			  struct err *e)
{
	static const struct wire_events events = { .message = hear_message,
						   .entry = hear_entry };
	struct heard *h;

	do {
		*got = wire_fd_hear(&w->wire, &events, w, deadline_ns, e);
		h = w->last;
	} while (*got > 0 && h == NULL);
	w->last = NULL;
	return h;
}

/* Returns true if @h is about the current task; messages about older tasks are
 * stale. */
static bool about_task(const struct process *w, const struct heard *h)
{
	return (h->type == MSG_TICKET ? h->word.id :
					message_int(h->msg, "id")) == w->task;
}

struct heard *worker_wait(struct process *w, enum message_type type,
			  int64_t deadline_ns, struct err *e)
{
	for (;;) {
		struct heard *h;
		int got;

		if (w->cancelled) {
			err_set(e, ECANCELED, "cancelled");
			return NULL;
		}
		h = worker_hear(w, deadline_ns, &got, e);
		if (h == NULL) {
			w->gone = got < 0;
			if (got == 0) {
				err_set(e, ETIMEDOUT,
					"nothing arrived in time");
			}
			return NULL;
		}
		if (h->type == type && about_task(w, h)) {
			return h;
		}
		if (h->type == MSG_CANCEL && about_task(w, h)) {
			w->cancelled = true;
		} else if (h->type == MSG_CONN) {
			close(wire_fd_take(&w->wire));
		} else {
			keep(w, h);
			continue;
		}
		heard_free(h);
	}
}

static bool cancelled(struct worker *as)
{
	struct process *w = (struct process *)as;
	struct heard *h = worker_wait(w, MSG_CANCEL, 0, NULL);

	w->cancelled |= h != NULL;
	heard_free(h);
	return w->cancelled || w->gone;
}

static int conn(struct worker *as, const char *nonce, int64_t deadline_ns,
		struct err *e)
{
	struct process *w = (struct process *)as;
	struct heard *h;
	bool ours;
	int fd;

	do {
		h = worker_wait(w, MSG_CONN, deadline_ns, e);
		if (h == NULL) {
			return -1;
		}
		fd = wire_fd_take(&w->wire);
		ours = strcmp(message_read(h->msg).nonce, nonce) == 0;
		heard_free(h);
		if (!ours && fd >= 0) {
			close(fd);
		}
	} while (!ours || fd < 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static int dial(struct worker *as, const char *addr, const char *nonce,
		int64_t deadline_ns, struct err *e)
{
	struct process *w = (struct process *)as;
	char addrs[1][NET_ADDR_TEXT];
	uint8_t raw[AUTH_ID_BYTES];

	STR_COPY(addrs[0], addr);
	if (hash_unhex(nonce, raw, sizeof(raw)) < 0) {
		return err_set(e, EPROTO, "the task's nonce is not valid");
	}
	return door_dial(addrs, 1, &w->auth, raw, NULL, deadline_ns,
			 deadline_ns, e);
}

int worker_tell(struct process *w, json_t *msg, struct err *e)
{
	return wire_fd_send(&w->wire, msg, clock_now_ns() + WORKER_SEND_NS, e);
}

int worker_tell_entry(struct process *w, enum message_type type,
		      struct str *entry, struct err *e)
{
	int rc = wire_fd_send_entry(&w->wire, type, entry,
				    clock_now_ns() + WORKER_SEND_NS, e);

	str_release(entry);
	return rc;
}

int worker_make_ticket(struct process *w, char ticket[XPORT_TICKET_MAX],
		       struct err *e)
{
	if (w->ops->ticket == NULL) {
		return err_set(e, EPROTO, "the transport '%s' makes no tickets",
			       w->ops->name);
	}
	return w->ops->ticket(w->x, ticket, e);
}

void worker_listen(struct process *w)
{
	w->as.conn = conn;
	w->as.dial = dial;
	w->as.cancelled = cancelled;
	w->wire = (struct wire_fd){ .fd = WORKER_FD, .way = MSG_TO_WORKER };
	w->task = -1;
}
