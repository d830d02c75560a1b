/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_ASK_H
#define PROBES_ENGINE_NET_ASK_H

#include <stdint.h>
#include <sys/socket.h>

/**
 * Asking a node whose process is silent: a connection is taken by its kernel,
 * however little time the process gets; where the process has ended it is
 * refused, and where the node or a link is down nobody says anything.
 */
enum ask_answer {
	ASK_PENDING,
	ASK_TAKEN,	/* the node lives, and somebody listens there */
	ASK_REFUSED,	/* the node lives, nobody listens */
	ASK_NOTHING,	/* no word, or no way to it */
};

/** One question; zeroed, none is under way. */
struct ask {
	int fd;		/* while it is pending; 0: none */
	int64_t until_ns;
	enum ask_answer answer;
};

/** Ask at @to, without waiting; ask_end() is due. */
void ask_begin(struct ask *a, const struct sockaddr_storage *to,
	       int64_t now_ns);
/** Has anybody said anything by now?  After three seconds nobody will. */
enum ask_answer ask_look(struct ask *a, int64_t now_ns);
/** Forget it; does nothing where none was asked. */
void ask_end(struct ask *a);

#endif
