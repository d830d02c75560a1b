/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/hang/ras.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/net.h"
#include "lib/base/number.h"
#include "lib/data/json.h"

/* ---- asking -------------------------------------------------------------- */

/** "[::1]:28028" and the IPv4 one: who is there first. */
#define RAS_ADDRS 8

static int dial(const char *addr, int64_t deadline_ns, struct err *e)
{
	struct sockaddr_storage list[RAS_ADDRS];
	int n = net_lookup(addr, list, RAS_ADDRS, e), error = ENOENT;

	for (int i = 0; i < n; i++) {
		int fd = net_connect(&list[i], deadline_ns);

		if (fd >= 0) {
			return fd;
		}
		error = errno;
	}
	return n < 0 ? -1 : err_set(e, error, "nobody answers at %s", addr);
}

/** All that comes until the other end closes. */
static int read_all(int fd, int64_t deadline_ns, struct str *text,
		    struct err *e)
{
	char buf[65536];
	ssize_t n = 1;

	while (n > 0 && text->len <= RAS_MAX_BYTES && !text->failed) {
		int error = net_wait(fd, POLLIN, deadline_ns);

		if (error) {
			return err_set(e, error, "no whole answer of NCCL");
		}
		n = recv(fd, buf, sizeof(buf), 0);
		str_addmem(text, buf, n > 0 ? (size_t)n : 0);
	}
	return text->failed	       ? err_set(e, ENOMEM, "no memory") :
	       text->len > RAS_MAX_BYTES ?
			err_set(e, EFBIG, "NCCL's answer has more than %d MiB",
				RAS_MAX_BYTES >> 20) :
	       n < 0 ? err_set(e, errno, "NCCL's answer broke off") : 0;
}

int ras_ask(const char *addr, int64_t deadline_ns, struct str *text,
	    struct err *e)
{
	static const char ask[] = "TIMEOUT 3\nSET FORMAT json\n"
				  "VERBOSE STATUS\n";
	int fd = dial(addr, deadline_ns, e);
	int rc = fd < 0 ? -1 :
		 net_write_all(fd, ask, strlen(ask), deadline_ns, e);

	if (rc == 0) {
		rc = read_all(fd, deadline_ns, text, e);
	}
	if (fd >= 0) {
		close(fd);
	}
	return rc;
}

/* ---- the answer ---------------------------------------------------------- */

/** @json with the commas that are missing between a value and the name behind
 *  it. */
static void mend(const char *json, size_t len, struct str *out)
{
	bool quoted = false, escaped = false;
	char last = ',';	/* that is no blank */

	for (size_t i = 0; i < len; i++) {
		char c = json[i];

		if (!quoted && c == '"' && !strchr(",:{[", last)) {
			str_addch(out, ',');
		}
		if (c == '"' && !escaped) {
			quoted = !quoted;
		}
		escaped = quoted && c == '\\' && !escaped;
		last = isspace((unsigned char)c) ? last : c;
		str_addch(out, c);
	}
}

static void take_calls(const json_t *counts, struct ras_rank *r)
{
	struct str out = STR_INIT;
	const char *name;
	json_t *count;

	json_object_foreach((json_t *)counts, name, count) {
		const int64_t n = json_integer_value(count);

		if (n > 0) {
			str_addf(&out, "%s%s %lld", out.len ? ", " : "", name,
				 (long long)n);
			r->total = number_sum(r->total, n);
		}
	}
	STR_COPY(r->calls, str_text(&out));
	str_release(&out);
}

static int read_rank(const json_t *json, struct ras_rank *r, struct err *e)
{
	const json_t *status = json_object_get(json, "status");

	if (json_get_int(json, "rank", 0, INT32_MAX, &r->rank, e) < 0 ||
	    json_get_text(json, "host", r->host, sizeof(r->host), e) < 0 ||
	    json_get_int(json, "pid", 1, INT32_MAX, &r->pid, e) < 0 ||
	    json_opt_int(json, "nvml_dev", 0, INT16_MAX, &r->gpu, e) < 0 ||
	    json_opt_int(status, "async_error", 0, INT16_MAX, &r->async_error,
			 e) < 0 ||
	    json_opt_bool(status, "considered_dead", &r->dead, e) < 0) {
		return -1;
	}
	take_calls(json_object_get(json, "collective_counts"), r);
	return 0;
}

static int read_ranks(const json_t *comm, const char *key, bool missing,
		      struct ras_answer *a, struct err *e)
{
	const json_t *list = json_object_get(comm, key);
	struct ras_rank like = { .gpu = -1, .missing = missing,
				 .told = !missing };
	struct ras_rank *ranks = a->ranks;
	const json_t *json;
	size_t i;

	if (json_get_text(comm, "hash", like.comm, sizeof(like.comm), e) < 0 ||
	    json_get_int(comm, "size", 1, INT32_MAX, &like.comm_size, e) < 0) {
		return -1;
	}
	if (json_array_size(list) > RAS_MAX_RANKS - a->n) {
		return err_set(e, EFBIG, "NCCL names more than %d ranks",
			       RAS_MAX_RANKS);
	}
	ranks = realloc(ranks, (a->n + json_array_size(list) + 1) *
				       sizeof(*ranks));
	if (!ranks) {
		return err_set(e, ENOMEM, "no memory for NCCL's ranks");
	}
	a->ranks = ranks;
	json_array_foreach(list, i, json) {
		ranks[a->n] = like;
		if (read_rank(json, &ranks[a->n], e) < 0) {
			return -1;
		}
		a->n++;
	}
	return 0;
}

int ras_parse(const char *text, size_t len, struct ras_answer *a,
	      struct err *e)
{
	const char *begin = memchr(text, '{', len);
	struct str whole = STR_INIT;
	const json_t *comms, *comm;
	json_t *json = NULL;
	int rc = -1;
	size_t i;

	*a = (struct ras_answer){ 0 };
	if (!begin) {
		return ras_parse_text(text, len, a, e);
	}
	mend(begin, len - (size_t)(begin - text), &whole);
	if (!whole.failed) {
		json = json_parse(str_text(&whole), whole.len, e);
	}
	comms = json ? json_get_array(json, "communicators", RAS_MAX_RANKS, e) :
		       NULL;
	rc = comms ? json_opt_text(json, "nccl_version", a->version,
				   sizeof(a->version), e) : -1;
	json_array_foreach((json_t *)comms, i, comm) {
		if (rc == 0 &&
		    (read_ranks(comm, "ranks", false, a, e) < 0 ||
		     read_ranks(comm, "missing_ranks", true, a, e) < 0)) {
			rc = -1;
		}
	}
	json_decref(json);
	str_release(&whole);
	return rc;
}

void ras_release(struct ras_answer *a)
{
	free(a->ranks);
	*a = (struct ras_answer){ 0 };
}
