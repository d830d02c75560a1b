/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "probes/transport/order.h"
#include "probes/engine/net/wire.h"

static void frames_survive_any_cut(void **state)
{
	struct str out = STR_INIT;
	json_t *msg = json_pack("{s:s,s:i}", "t", "beat", "n", 7);
	struct err e = { 0 };
	int found = 0;

	(void)state;
	assert_int_equal(wire_frame(msg, &out), 0);
	assert_int_equal(wire_frame(msg, &out), 0);
	json_decref(msg);
	for (size_t cut = 0; cut <= out.len; cut++) {
		struct wire_buf b = { 0 };

		found = 0;
		wire_buf_add(&b, out.data, cut);
		while (wire_buf_next(&b, &msg, &e) > 0) {
			found++;
			json_decref(msg);
		}
		wire_buf_add(&b, out.data + cut, out.len - cut);
		while (wire_buf_next(&b, &msg, &e) > 0) {
			assert_int_equal(message_type(msg), MSG_BEAT);
			found++;
			json_decref(msg);
		}
		assert_int_equal(found, 2);
		wire_buf_release(&b);
	}
	str_release(&out);
}

static int feed(const char *bytes, size_t n)
{
	struct wire_buf b = { 0 };
	struct err e = { 0 };
	json_t *msg = NULL;
	int rc;

	wire_buf_add(&b, bytes, n);
	rc = wire_buf_next(&b, &msg, &e);
	if (rc < 0) {
		assert_string_not_equal(e.text, "");
	}
	wire_buf_release(&b);
	return rc;
}

static void noise_is_refused(void **state)
{
	(void)state;
	assert_int_equal(feed("\xff\xff\xff\xff....", 8), -1);
	assert_int_equal(feed("\0\0\0\0", 4), -1);
	assert_int_equal(feed("\x02\0\0\0[]", 6), -1);
	assert_int_equal(feed("\x02\0\0\0{}", 6), -1);
	assert_int_equal(feed("\x02\0\0\0{", 5), 0);
	assert_int_equal(feed("GET / HTTP/1.1\r\n", 16), -1);
}

/* What two versions say to each other is read by both; nothing else is text. */
static void versions_understand_each_other(void **state)
{
	(void)state;
	for (int i = 0; i < MESSAGE_TYPES; i++) {
		json_t *msg = json_pack("{s:s}", "t", messages[i].name), *back;
		bool text = i == MSG_BEAT || i == MSG_HELLO || i == MSG_WELCOME;
		struct wire_buf b = { 0 };

		assert_int_equal(wire_frame(msg, &b.bytes), 0);
		assert_int_equal(b.bytes.data[4] == '{', text);
		assert_int_equal(wire_buf_next(&b, &back, NULL), 1);
		assert_true(json_equal(msg, back));
		json_decref(back);
		json_decref(msg);
		wire_buf_release(&b);
	}
}

/* @o as bytes that are read again into @back. */
static int order_round(const struct order *o, struct order *back)
{
	struct str bytes = STR_INIT;
	int rc;

	order_add(o, &bytes);
	rc = order_read(bytes.data, bytes.len, back, NULL);
	str_release(&bytes);
	return rc;
}

static int report_round(const struct order_report *r, struct order_report *back)
{
	struct str bytes = STR_INIT;
	int rc;

	order_report_add(r, &bytes);
	rc = order_report_read(bytes.data, bytes.len, back, NULL);
	str_release(&bytes);
	return rc;
}

/* Bytes that are no entry, and how many. */
struct none {
	const char *bytes;
	size_t n;
};
#define NONE(text) { text, sizeof(text) - 1 }

static void orders_come_back_as_sent(void **state)
{
	struct order o = { .id = 5, .attempt = 2, .rank = 3, .peer = 9,
			   .seat = { .me = 1, .ranks = 4 }, .ticket = "here" };
	struct order back;

	(void)state;
	memcpy(o.nonce, "00112233445566778899aabbccddeeff", 33);
	o.dirs[0].slow_factor = 1;
	o.dirs[1] = (struct order_dir){ .wanted = true, .slow_factor = 0.5,
					.drill = XPORT_DRILL_HANG };
	assert_int_equal(order_round(&o, &back), 0);
	assert_int_equal(back.id, 5);
	assert_int_equal(back.attempt, 2);
	assert_int_equal(back.seat.ranks, 4);
	assert_false(back.dirs[0].wanted || back.lead);
	assert_true(back.dirs[1].wanted && back.dirs[1].sender);
	assert_int_equal(back.dirs[1].drill, XPORT_DRILL_HANG);
	assert_true(back.dirs[1].slow_factor == 0.5);
	assert_string_equal(back.nonce, o.nonce);
	assert_string_equal(back.ticket, "here");
	o.seat.me = 4;		/* no such place */
	assert_int_equal(order_round(&o, &back), -1);
}

/* As most are: what is left out of them comes back all the same. */
static void usual_orders_come_back_as_sent(void **state)
{
	static const struct none none[] = {
		NONE(""),
		NONE("\x80\x60"),	/* more than an order */
		NONE("\x81\xf6"),	/* no rank is null */
		NONE("\x81\x20"),	/* nor below 0 */
		NONE("\x90"),		/* more places than there are */
		NONE("\x90\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
	};
	struct order o = { .attempt = 1, .seat = { .ranks = 2 } }, back;
	struct str bytes = STR_INIT;

	(void)state;
	o.dirs[0] = o.dirs[1] =
		(struct order_dir){ .wanted = true, .slow_factor = 1 };
	order_add(&o, &bytes);
	assert_string_equal(str_text(&bytes), "\x80");
	str_release(&bytes);
	memset(&back, 0xff, sizeof(back));
	assert_int_equal(order_round(&o, &back), 0);
	assert_int_equal(back.attempt, 1);
	assert_int_equal(back.peer, 0);
	assert_int_equal(back.seat.ranks, 2);
	assert_string_equal(back.ticket, "");
	assert_true(back.lead && back.dirs[0].wanted && back.dirs[0].sender);
	assert_true(back.dirs[0].slow_factor == 1 && !back.dirs[1].sender);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(order_read(none[i].bytes, none[i].n, &back,
					    NULL), -1);
	}
}

static void what_all_orders_share_has_limits(void **state)
{
	const struct order_how how = { .setup_ns = 7, .run_ns = 8, .n_sizes = 2,
				       .sizes = { 8, 4096 }, .iters = 20,
				       .warmup = 1, .check = true };
	struct order_how back = { 0 };
	json_t *j = schema_json(order_how_fields, &how);

	(void)state;
	assert_int_equal(order_how_parse(j, &back, NULL), 0);
	assert_memory_equal(&back, &how, sizeof(how));
	json_object_set_new(j, "sizes", json_pack("[i]", -1));
	assert_int_equal(order_how_parse(j, &back, NULL), -1);
	json_object_set_new(j, "sizes", json_pack("[I]", INT64_MAX));
	assert_int_equal(order_how_parse(j, &back, NULL), -1);
	json_object_set_new(j, "sizes", json_array());
	assert_int_equal(order_how_parse(j, &back, NULL), -1);
	json_decref(j);
}

static void results_keep_unmeasured_apart_from_zero(void **state)
{
	const struct xport_flow lost = { .sends = true, .port = 49153,
					 .sent = 140, .lost = 7, .says = "x" };
	struct order_result r = { .dir = 1, .size_B = 64 };
	struct worker w = { 0 };
	struct order_report report = { .rank = 2, .id = 9, .late_ns = 4,
				       .unfit = true, .crashed = RECORD_NONE,
				       .facts = json_pack("[s]", "a fact"),
				       .results = &r, .n = 1 }, back;

	(void)state;
	xport_result_init(&r.r);
	r.r.flows = 16;
	xport_lost(&w, &lost);
	report.flows = w.flows;
	xport_fail(&r.r, OUTCOME_TIMEOUT, "task_timeout", "late by %d", 3);
	assert_int_equal(report_round(&report, &back), 0);
	assert_true(back.rank == 2 && back.id == 9 && back.late_ns == 4);
	assert_true(back.unfit && back.crashed == RECORD_NONE);
	assert_true(json_equal(back.facts, report.facts));
	assert_true(json_equal(back.flows, report.flows));
	assert_int_equal(back.results->r.flows, 16);
	assert_int_equal(back.n, 1);
	assert_true(back.results->dir == 1 && back.results->size_B == 64);
	assert_true(isnan(back.results->r.bw_GB_s));
	assert_true(back.results->r.wrong == RECORD_NONE);
	assert_int_equal(back.results->r.outcome, OUTCOME_TIMEOUT);
	assert_string_equal(back.results->r.detail, "late by 3");
	order_report_release(&back);
	/* a library's words may be no UTF-8 */
	xport_fail(&r.r, OUTCOME_ERROR, "nccl_error", "cannot open \xff");
	assert_int_equal(report_round(&report, &back), 0);
	assert_string_equal(back.results->r.detail, "cannot open ?");
	order_report_release(&back);
	/* it says one result, and has none, or two */
	assert_int_equal(order_report_read("\x83\2\x09\1", 4, &back, NULL),
			 -1);
	assert_int_equal(order_report_read("\x83\2\x09\1\x80\x80", 6, &back,
					   NULL), -1);
	json_decref(report.facts);
	json_decref(report.flows);
}

static void drop(void *arg, json_t *msg)
{
	(void)arg;
	(void)msg;
}

static int hear_one(struct wire_fd *w)
{
	static const struct wire_events events = { .message = drop };

	return wire_fd_hear(w, &events, NULL, clock_now_ns() + NS_PER_S, NULL);
}

static void descriptors_travel_with_messages(void **state)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr mh = { 0 };
	struct cmsghdr *c;
	struct iovec iov;
	struct str out = STR_INIT;
	struct wire_fd w;
	json_t *msg = message_new(MSG_CONN, "{s:i,s:s}", "id", 1, "nonce", "");
	int s[2], p[2], fd;
	char byte = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	assert_int_equal(pipe(p), 0);
	wire_frame(msg, &out);
	json_decref(msg);
	iov = (struct iovec){ out.data, out.len };
	mh.msg_iov = &iov;
	mh.msg_iovlen = 1;
	mh.msg_control = control.space;
	mh.msg_controllen = sizeof(control.space);
	c = CMSG_FIRSTHDR(&mh);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &p[1], sizeof(int));
	assert_int_equal(sendmsg(s[0], &mh, 0), (int)out.len);
	w = (struct wire_fd){.fd = s[1], .way = MSG_TO_WORKER};
	assert_int_equal(hear_one(&w), 1);
	fd = wire_fd_take(&w);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(read(p[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(wire_fd_take(&w), -1);
	close(s[0]);
	assert_int_equal(hear_one(&w), -1);
	close(s[1]);
	close(fd);
	close(p[0]);
	close(p[1]);
	wire_buf_release(&w.in);
	str_release(&out);
}

static void gone(void *arg, const char *why)
{
	(void)arg;
	(void)why;
}

/* Words about a task, at their limits and beyond. */
static void words_come_back_as_sent(void **state)
{
	static const struct none none[] = {
		NONE(""), NONE("\x80\0"), NONE("\x81\xf6"), NONE("\x81\x20"),
		NONE("\x83\1\2\x61\x61\xff"), NONE("\x84\1\2\x61\x61\0"),
		NONE("\x83\1\2\x61\0"),
	};
	struct order_word o = { .rank = 3, .id = UINT32_MAX }, back;

	(void)state;
	memset(o.text, 'x', sizeof(o.text) - 1);
	for (int i = 0; i < 2; i++) {
		struct str bytes = STR_INIT;

		order_word_add(&o, &bytes);
		memset(&back, 0xff, sizeof(back));
		assert_int_equal(order_word_read(bytes.data, bytes.len, &back,
						 NULL), 0);
		assert_true(back.rank == 3 && back.id == UINT32_MAX);
		assert_string_equal(back.text, o.text);
		assert_int_equal(bytes.len < 10, i == 1);
		str_release(&bytes);
		o.text[0] = '\0';
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(order_word_read(none[i].bytes, none[i].n,
						 &back, NULL), -1);
	}
}

/* What is heard of a wire. */
struct heard {
	int entries, messages;
	int64_t next;		/* rank of the entry that is to come */
	struct wire *close_at;	/* the first entry */
};

static void hear_message(void *arg, json_t *msg)
{
	struct heard *h = arg;

	(void)msg;
	h->messages++;
}

static void hear_entry(void *arg, enum message_type type, const void *bytes,
		       size_t n)
{
	struct heard *h = arg;
	struct order_word o;

	assert_int_equal(type, MSG_JOINED);
	assert_int_equal(order_word_read(bytes, n, &o, NULL), 0);
	assert_int_equal(o.rank, h->next++);
	h->entries++;
	if (h->close_at != NULL) {
		wire_close(h->close_at, NULL);
	}
}

/* Until @n have been heard, or the wire is closed. */
static void listen_for(uv_loop_t *loop, const struct heard *h, int n,
		       const struct wire *w)
{
	int64_t deadline = clock_now_ns() + 10 * NS_PER_S;

	while (h->entries + h->messages < n && !w->closing) {
		assert_true(clock_now_ns() < deadline);
		uv_run(loop, UV_RUN_ONCE);
	}
}

static void send_frame(int fd, const struct str *in)
{
	uint32_t head = htole32((uint32_t)in->len);

	assert_int_equal(write(fd, &head, 4), 4);
	assert_int_equal(write(fd, in->data, in->len), (ssize_t)in->len);
}

/* The message of three entries; of some more. */
static void make_list(int more, struct str *out)
{
	struct list_out list = { 0 };
	struct str entry = STR_INIT;

	for (int i = 0; i < 3; i++) {
		str_reset(&entry);
		order_word_add(&(struct order_word){ .rank = i }, &entry);
		list_add(&list, MSG_JOINED, entry.data, entry.len);
	}
	while (more-- > 0) {
		list_add(&list, MSG_JOINED, entry.data, entry.len);
	}
	list_write(&list, out);
	list_release(&list);
	str_release(&entry);
}

/* One at a time and in order; a list that is written otherwise, or may not
 * come, is refused.  Whoever closes in between hears no more. */
static void lists_are_heard_entry_by_entry(void **state)
{
	static const struct wire_events events = {
		.message = hear_message, .entry = hear_entry, .closed = gone };
	static const struct {
		enum message_way way;
		bool other, closes, many;
		int entries;
	} cases[] = {
		{ .way = MSG_TO_COORDINATOR, .entries = 3 },
		{ .way = MSG_TO_COORDINATOR, .other = true },
		{ .way = MSG_TO_COORDINATOR, .closes = true, .entries = 1 },
		{ .way = MSG_TO_COORDINATOR, .many = true },
		{ .way = MSG_TO_AGENT },
	};
	uv_loop_t loop;

	(void)state;
	uv_loop_init(&loop);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int want = cases[i].entries, s[2];
		uv_pipe_t *pipe = malloc(sizeof(*pipe));
		struct str out = STR_INIT;
		struct heard h = { 0 };
		struct wire w;

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
		uv_pipe_init(&loop, pipe, 1);
		uv_pipe_open(pipe, s[0]);
		wire_open(&w, (uv_stream_t *)pipe, cases[i].way, NULL, &events,
			  &h);
		h.close_at = cases[i].closes ? &w : NULL;
		if (cases[i].other) {	/* its entry is a text */
			str_add(&out, "\xa2" "at" "fjoined" "dends" "\x81"
				"b80");
		} else {
			make_list(cases[i].many ? MESSAGE_LIST : 0, &out);
		}
		send_frame(s[1], &out);
		listen_for(&loop, &h, want > 0 ? want : 1, &w);
		assert_int_equal(h.entries, cases[i].entries);
		assert_int_equal(h.messages, 0);
		assert_int_equal(w.closing, want != 3);
		wire_close(&w, NULL);
		uv_run(&loop, UV_RUN_DEFAULT);
		close(s[1]);
		str_release(&out);
	}
	uv_loop_close(&loop);
}

static void send_order(struct wire *w, int rank)
{
	const struct order o = {
		.rank = rank, .attempt = 1, .seat = { .ranks = 2 },
		.dirs = { { .wanted = true, .slow_factor = 1 },
			  { .wanted = true, .slow_factor = 1 } } };
	struct str entry = STR_INIT;

	order_add(&o, &entry);
	wire_send_entry(w, MSG_TASK, entry.data, entry.len);
	str_release(&entry);
}

static void hear_order(void *arg, enum message_type type, const void *bytes,
		       size_t n)
{
	struct heard *h = arg;
	struct order o;

	assert_int_equal(type, MSG_TASK);
	assert_int_equal(order_read(bytes, n, &o, NULL), 0);
	assert_int_equal(o.rank, h->next++);
	h->entries++;
}

/* Orders in a row and few leave as one message, what is between them stays
 * there; to a worker, which does one thing at a time, each is one. */
static void lists_leave_as_one_message(void **state)
{
	static const struct wire_events events = {
		.message = hear_message, .entry = hear_order, .closed = gone };
	static const struct {
		enum message_way here, there;
		int entries[5];	/* of the messages that are heard first */
	} cases[] = {
		{ MSG_TO_COORDINATOR, MSG_TO_AGENT, { MESSAGE_LIST, 4, 0, 1 } },
		{ MSG_FROM_WORKER, MSG_TO_WORKER, { 1, 1, 1, 1, 1 } },
	};
	uv_loop_t loop;

	(void)state;
	uv_loop_init(&loop);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uv_pipe_t *pipe = malloc(sizeof(*pipe));
		struct wire_fd end = { .way = cases[i].there };
		struct heard h = { 0 };
		struct wire w;
		int s[2], seen;

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
		uv_pipe_init(&loop, pipe, 1);
		uv_pipe_open(pipe, s[0]);
		wire_open(&w, (uv_stream_t *)pipe, cases[i].here, NULL,
			  &events, &h);
		for (int k = 0; k < MESSAGE_LIST + 4; k++) {
			send_order(&w, k);
		}
		wire_send(&w, message_new(MSG_CANCEL, "{s:i,s:i}", "id", 1,
					  "rank", 2));
		send_order(&w, MESSAGE_LIST + 4);
		wire_push(&w);
		end.fd = s[1];
		for (int k = 0; k < 4 + (i == 1); k++) {
			seen = h.entries;
			assert_int_equal(wire_fd_hear(&end, &events, &h,
						      clock_now_ns() +
						      10 * NS_PER_S, NULL), 1);
			assert_int_equal(h.entries - seen, cases[i].entries[k]);
		}
		send_order(&w, 0);	/* never leaves */
		wire_close(&w, NULL);
		uv_run(&loop, UV_RUN_DEFAULT);
		close(s[1]);
		wire_buf_release(&end.in);
	}
	uv_loop_close(&loop);
}

static void pattern_sees_each_kind_of_damage(void **state)
{
	unsigned char buf[1003], was;

	(void)state;
	for (size_t n = 1; n < sizeof(buf); n += 7) {
		pattern_fill(buf, n, 42);
		assert_int_equal(pattern_wrong(buf, n, 42), 0);
		was = buf[n - 1];
		buf[n - 1] ^= 1;
		assert_int_equal(pattern_wrong(buf, n, 42), 1);
		buf[n - 1] = was;
		pattern_spoil(buf, n);
		assert_true(pattern_wrong(buf, n, 42) > 0);
	}
	pattern_fill(buf, 1000, 42);
	memmove(buf, buf + 8, 992);	/* shifted by a word */
	assert_true(pattern_wrong(buf, 992, 42) > 500);
	memset(buf, 0, 1000);
	assert_true(pattern_wrong(buf, 1000, 42) > 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_survive_any_cut),
		cmocka_unit_test(noise_is_refused),
		cmocka_unit_test(versions_understand_each_other),
		cmocka_unit_test(orders_come_back_as_sent),
		cmocka_unit_test(usual_orders_come_back_as_sent),
		cmocka_unit_test(what_all_orders_share_has_limits),
		cmocka_unit_test(results_keep_unmeasured_apart_from_zero),
		cmocka_unit_test(descriptors_travel_with_messages),
		cmocka_unit_test(words_come_back_as_sent),
		cmocka_unit_test(lists_are_heard_entry_by_entry),
		cmocka_unit_test(lists_leave_as_one_message),
		cmocka_unit_test(pattern_sees_each_kind_of_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
