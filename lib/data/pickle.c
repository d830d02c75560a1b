/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pickles of Python and of PyTorch's C++ code, as JSON values.  A pickle is a
 * program for a stack machine: only opcodes that build plain values are known,
 * all that could import or call something is refused.
 */
#include "lib/data/json.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/** Values of a pickle and of its memo: 2,000 calls have 200,000. */
#define VALUES_MAX (4 << 20)
/** Levels of lists and dictionaries within each other. */
#define LEVELS_MAX 64

enum does {
	DOES_UNKNOWN, DOES_CODE, DOES_SKIP, DOES_UINT, DOES_INT, DOES_LONG,
	DOES_TEXT, DOES_REAL, DOES_NULL, DOES_TRUE, DOES_FALSE, DOES_LIST,
	DOES_DICT, DOES_MARK, DOES_APPEND, DOES_APPENDS, DOES_SET, DOES_SETS,
	DOES_TUPLE, DOES_TUPLE_MARK, DOES_PUT, DOES_MEMOIZE, DOES_GET, DOES_STOP
};

/** By opcode: its effect, and the bytes of the number behind it; of a tuple its
 *  length. */
static const struct {
	enum does does;
	uint8_t bytes;
} ops[256] = {
	[0x80] = { DOES_SKIP, 1 }, [0x95] = { DOES_SKIP, 8 },
	['K'] = { DOES_UINT, 1 }, ['M'] = { DOES_UINT, 2 },
	['J'] = { DOES_INT, 4 }, [0x8a] = { DOES_LONG, 1 },
	['X'] = { DOES_TEXT, 4 }, [0x8c] = { DOES_TEXT, 1 },
	[0x8d] = { DOES_TEXT, 8 }, ['T'] = { DOES_TEXT, 4 },
	['U'] = { DOES_TEXT, 1 }, ['B'] = { DOES_TEXT, 4 },
	['C'] = { DOES_TEXT, 1 }, ['G'] = { DOES_REAL, 8 },
	['N'] = { DOES_NULL, 0 }, [0x88] = { DOES_TRUE, 0 },
	[0x89] = { DOES_FALSE, 0 }, [']'] = { DOES_LIST, 0 },
	[')'] = { DOES_LIST, 0 }, ['}'] = { DOES_DICT, 0 },
	['('] = { DOES_MARK, 0 }, ['a'] = { DOES_APPEND, 0 },
	['e'] = { DOES_APPENDS, 0 }, ['s'] = { DOES_SET, 0 },
	['u'] = { DOES_SETS, 0 }, [0x85] = { DOES_TUPLE, 1 },
	[0x86] = { DOES_TUPLE, 2 }, [0x87] = { DOES_TUPLE, 3 },
	['t'] = { DOES_TUPLE_MARK, 0 }, ['q'] = { DOES_PUT, 1 },
	['r'] = { DOES_PUT, 4 }, [0x94] = { DOES_MEMOIZE, 0 },
	['h'] = { DOES_GET, 1 }, ['j'] = { DOES_GET, 4 },
	['.'] = { DOES_STOP, 0 },
	/* globals, calls, objects, persistent IDs, extensions */
	['c'] = { DOES_CODE, 0 }, [0x93] = { DOES_CODE, 0 },
	['R'] = { DOES_CODE, 0 }, ['b'] = { DOES_CODE, 0 },
	['i'] = { DOES_CODE, 0 }, ['o'] = { DOES_CODE, 0 },
	[0x81] = { DOES_CODE, 0 }, [0x92] = { DOES_CODE, 0 },
	['P'] = { DOES_CODE, 0 }, ['Q'] = { DOES_CODE, 0 },
	[0x82] = { DOES_CODE, 0 }, [0x83] = { DOES_CODE, 0 },
	[0x84] = { DOES_CODE, 0 },
};

/** A value on the stack (NULL: a mark), or of the memo. */
struct pickle_slot {
	json_t *value;
	size_t memo;		/* on the stack: where it is in the memo + 1 */
	int levels;
	bool complete;		/* of the memo: it was read from there, and
				 * could become a part of itself otherwise */
};

struct pickle {
	const uint8_t *at, *end;
	struct pickle_slot *stack, *memo;
	size_t n, n_memo, room, memo_room, values;
	const char *wrong;	/* the reason to refuse it; NULL */
};

static bool refuse(struct pickle *p, const char *why)
{
	p->wrong = p->wrong ? p->wrong : why;
	return false;
}

/** Make room for @n entries of @size bytes in the array at @list. */
static bool make_room(struct pickle *p, void *list, size_t *room, size_t n,
		      size_t size)
{
	size_t more = *room;
	void *old, *new;

	if (n <= *room) {
		return true;
	}
	if (n > VALUES_MAX) {
		return refuse(p, "it has too many values");
	}
	while (more < n) {
		more = more ? 2 * more : 256;
	}
	memcpy(&old, list, sizeof(old));
	new = realloc(old, more * size);
	if (!new) {
		return refuse(p, "no memory");
	}
	memset((char *)new + *room * size, 0, (more - *room) * size);
	memcpy(list, &new, sizeof(new));
	*room = more;
	return true;
}

/** Push @value, whose reference is taken. */
static bool push(struct pickle *p, json_t *value)
{
	if (!value) {
		return refuse(p, "a text is not UTF-8");
	}
	if (++p->values > VALUES_MAX ||
	    !make_room(p, &p->stack, &p->room, p->n + 1, sizeof(*p->stack))) {
		json_decref(value);
		return refuse(p, "it has too many values");
	}
	p->stack[p->n++] = (struct pickle_slot){ .value = value };
	return true;
}

/** The number of @bytes bytes, little-endian. */
static bool take(struct pickle *p, size_t bytes, uint64_t *n)
{
	*n = 0;
	if ((size_t)(p->end - p->at) < bytes) {
		return refuse(p, "it is cut short");
	}
	for (size_t i = 0; i < bytes; i++) {
		*n |= (uint64_t)p->at[i] << 8 * i;
	}
	p->at += bytes;
	return true;
}

/** An integer of @len bytes, with a sign. */
static bool push_long(struct pickle *p, uint64_t len)
{
	uint64_t n;

	if (len > 8) {
		return refuse(p, "it has a number of more than 64 bits");
	}
	if (!take(p, (size_t)len, &n)) {
		return false;
	}
	if (len > 0 && len < 8 && n >> (8 * len - 1)) {
		n |= UINT64_MAX << 8 * len;
	}
	return push(p, json_integer((json_int_t)n));
}

/** Add @value as @key, a text or an integer, whose references stay. */
static bool set_member(struct pickle *p, json_t *dict, const json_t *key,
		       json_t *value)
{
	char digits[24];
	const char *name = json_string_value(key);

	if (json_is_integer(key)) {
		snprintf(digits, sizeof(digits), "%" PRId64,
			 (int64_t)json_integer_value(key));
		name = digits;
	}
	return name && json_object_set(dict, name, value) == 0 ? true :
		       refuse(p, "a key is neither a text nor a number");
}

/** Note that the values from @from on become a part of @to. */
static bool add_levels(struct pickle *p, size_t from, struct pickle_slot *to)
{
	for (size_t i = from; i < p->n; i++) {
		to->levels = p->stack[i].levels >= to->levels ?
				     p->stack[i].levels + 1 : to->levels;
	}
	if (to->memo > 0) {
		p->memo[to->memo - 1].levels = to->levels;
	}
	return to->levels <= LEVELS_MAX ? true :
		       refuse(p, "it has too many levels");
}

/** Move the values from @from on into the list or dictionary below them, of
 *  which @mark is the number of marks in between. */
static bool fill(struct pickle *p, size_t from, size_t mark, bool dict)
{
	struct pickle_slot *to = from > mark ? &p->stack[from - mark - 1] :
					       NULL;
	const size_t step = dict ? 2 : 1;

	if (!to || !to->value || (p->n - from) % step != 0 ||
	    !(dict ? json_is_object(to->value) : json_is_array(to->value))) {
		return refuse(p, "a list or a dictionary is not where it must "
				 "be");
	}
	if (to->memo > 0 && p->memo[to->memo - 1].complete) {
		return refuse(p, "a value is a part of itself");
	}
	if (!add_levels(p, from, to)) {
		return false;
	}
	for (size_t i = from; i < p->n; i += step) {
		json_t *value = p->stack[i].value;

		if (!value || (dict && !p->stack[i + 1].value)) {
			return refuse(p, "a mark is where a value must be");
		}
		if (dict && !set_member(p, to->value, value,
					p->stack[i + 1].value)) {
			return false;
		}
		if (!dict && json_array_append(to->value, value) < 0) {
			return refuse(p, "no memory");
		}
	}
	while (p->n > from - mark) {
		json_decref(p->stack[--p->n].value);
	}
	return true;
}

/** Replace the values from @from on, and @mark marks below them, by a list. */
static bool make_tuple(struct pickle *p, size_t from, size_t mark)
{
	struct pickle_slot list = { .value = json_array() };
	bool ok = list.value && add_levels(p, from, &list);

	for (size_t i = from; i < p->n && ok; i++) {
		ok = p->stack[i].value &&
		     json_array_append(list.value, p->stack[i].value) == 0;
	}
	if (!ok) {
		json_decref(list.value);
		return refuse(p, "a mark is where a value must be");
	}
	while (p->n > from - mark) {
		json_decref(p->stack[--p->n].value);
	}
	if (!push(p, list.value)) {
		return false;
	}
	p->stack[p->n - 1].levels = list.levels;
	return true;
}

/** Remember the last value as number @at of the memo. */
static bool put(struct pickle *p, uint64_t at)
{
	struct pickle_slot *s = p->n > 0 ? &p->stack[p->n - 1] : NULL;

	if (!s || !s->value || s->memo > 0 || at >= VALUES_MAX ||
	    !make_room(p, &p->memo, &p->memo_room, (size_t)at + 1,
		       sizeof(*p->memo)) ||
	    p->memo[at].value) {
		return refuse(p, "its memo is not in order");
	}
	p->memo[at].value = json_incref(s->value);
	p->memo[at].levels = s->levels;
	s->memo = (size_t)at + 1;
	p->n_memo = at >= p->n_memo ? (size_t)at + 1 : p->n_memo;
	return true;
}

static bool get(struct pickle *p, uint64_t at)
{
	if (at >= p->n_memo || !p->memo[at].value) {
		return refuse(p, "its memo is not in order");
	}
	p->memo[at].complete = true;
	if (!push(p, json_incref(p->memo[at].value))) {
		return false;
	}
	p->stack[p->n - 1].memo = (size_t)at + 1;
	p->stack[p->n - 1].levels = p->memo[at].levels;
	return true;
}

static bool push_mark(struct pickle *p)
{
	if (!make_room(p, &p->stack, &p->room, p->n + 1, sizeof(*p->stack))) {
		return false;
	}
	p->stack[p->n++] = (struct pickle_slot){ 0 };
	return true;
}

/** Carry out an opcode that changes values on the stack; @n is its number. */
static bool build(struct pickle *p, enum does does, uint64_t n)
{
	size_t mark = p->n;	/* the index of the last one + 1 */

	while (mark > 0 && p->stack[mark - 1].value) {
		mark--;
	}
	if (mark == 0 && (does == DOES_APPENDS || does == DOES_SETS ||
			  does == DOES_TUPLE_MARK)) {
		return refuse(p, "a mark is missing");
	}
	switch (does) {
	case DOES_APPEND:
		return p->n > 0 && fill(p, p->n - 1, 0, false);
	case DOES_APPENDS:
		return fill(p, mark, 1, false);
	case DOES_SET:
		return p->n > 1 && fill(p, p->n - 2, 0, true);
	case DOES_SETS:
		return fill(p, mark, 1, true);
	case DOES_TUPLE_MARK:
		return make_tuple(p, mark, 1);
	case DOES_TUPLE:
		return p->n >= n && make_tuple(p, p->n - (size_t)n, 0);
	default:
		return refuse(p, "it has an opcode that is not known");
	}
}

/** Carry out the opcode @code; false: refused, or the end. */
static bool step(struct pickle *p, uint8_t code)
{
	const enum does does = ops[code].does;
	uint64_t n = ops[code].bytes;
	double real;

	if (does != DOES_TUPLE && n > 0 && !take(p, (size_t)n, &n)) {
		return false;
	}
	switch (does) {
	case DOES_SKIP:
		return true;
	case DOES_UINT:
		return push(p, json_integer((json_int_t)n));
	case DOES_INT:
		return push(p, json_integer((int32_t)(uint32_t)n));
	case DOES_LONG:
		return push_long(p, n);
	case DOES_TEXT:
		if (n > (size_t)(p->end - p->at)) {
			return refuse(p, "it is cut short");
		}
		p->at += n;
		return push(p, json_stringn((const char *)p->at - n,
					    (size_t)n));
	case DOES_REAL:
		n = htobe64(htole64(n));
		memcpy(&real, &n, sizeof(real));
		return push(p, isfinite(real) ? json_real(real) : json_null());
	case DOES_NULL:
		return push(p, json_null());
	case DOES_TRUE:
	case DOES_FALSE:
		return push(p, json_boolean(does == DOES_TRUE));
	case DOES_LIST:
		return push(p, json_array());
	case DOES_DICT:
		return push(p, json_object());
	case DOES_MARK:
		return push_mark(p);
	case DOES_PUT:
		return put(p, n);
	case DOES_MEMOIZE:
		return put(p, p->n_memo);
	case DOES_GET:
		return get(p, n);
	case DOES_STOP:
		return false;
	case DOES_CODE:
		return refuse(p, "it would run code");
	default:
		return build(p, does, n);
	}
}

json_t *json_parse_pickle(const void *bytes, size_t n, struct err *e)
{
	struct pickle p = { .at = bytes, .end = (const uint8_t *)bytes + n };
	json_t *top = NULL;
	bool more = n >= 2 && p.at[0] == 0x80 && p.at[1] >= 2 && p.at[1] <= 5;
	uint8_t code = 0;

	if (!more) {
		refuse(&p, "it is not a pickle of protocol 2 to 5");
	}
	while (more) {
		if (p.at == p.end) {
			more = refuse(&p, "it is cut short");
		} else {
			code = *p.at++;
			more = step(&p, code);
		}
	}
	if (!p.wrong && (code != '.' || p.n != 1 || !p.stack[0].value)) {
		refuse(&p, "it is not in order");
	} else if (!p.wrong && p.at != p.end) {
		refuse(&p, "bytes follow its end");
	}
	if (p.wrong) {
		err_set(e, 0, "the pickle is refused at byte %zu: %s",
			(size_t)(p.at - (const uint8_t *)bytes), p.wrong);
	} else {
		top = json_incref(p.stack[0].value);
	}
	while (p.n > 0) {
		json_decref(p.stack[--p.n].value);
	}
	while (p.n_memo > 0) {
		json_decref(p.memo[--p.n_memo].value);
	}
	free(p.stack);
	free(p.memo);
	return top;
}
