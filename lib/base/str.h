/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_STR_H
#define LIB_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A row of a table of names, each with its text. */
struct name_text {
	const char *name, *text;
};

/**
 * Declare @symbol, the bytes of the file @path and a NUL, part of the program.
 * @path is relative to the top of the tree; the Makefile lists it as a
 * prerequisite, since -MMD does not see it.  The symbol is hidden: for two that
 * are reached by the GOT, the linker of aarch64 uses one slot if they are
 * local.
 */
#define EMBED_TEXT(symbol, path)                                               \
	__asm__(".section .rodata\n"                                           \
		#symbol ":\n"                                                  \
		".incbin \"" path "\"\n"                                       \
		".byte 0\n"                                                    \
		".previous\n");                                                \
	extern const char symbol[] __attribute__((visibility("hidden")))

/**
 * A growing byte string, always NUL-ended.  When memory runs out the string
 * stops growing and @failed stays true until str_reset(): check it once, at
 * the end, instead of at every step.
 */
struct str {
	char *data;	/* never NULL after the first successful add */
	size_t len;	/* bytes without the final NUL */
	size_t cap;
	bool failed;
};

#define STR_INIT { 0 }

void str_release(struct str *s);	/* safe on a zeroed one and on NULL */
void str_reset(struct str *s);		/* empty it, keep the memory */
/** Take off what was added behind its first @len bytes. */
void str_cut(struct str *s, size_t len);
void str_add(struct str *s, const char *text);
void str_addmem(struct str *s, const void *mem, size_t n);
/** @n bytes more, for the caller to fill, or str_cut() to take off again; NULL
 *  without memory. */
char *str_more(struct str *s, size_t n);
void str_addch_slow(struct str *s, char c);	/* where it must grow */
static inline void str_addch(struct str *s, char c)
{
	if (s->failed || s->len + 1 >= s->cap) {
		str_addch_slow(s, c);
		return;
	}
	s->data[s->len++] = c;
	s->data[s->len] = '\0';
}
void str_addf(struct str *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void str_vaddf(struct str *s, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
/** Add @number to the list @list of *@n numbers, "0, 1, 2"; of more than @most
 *  only that there are more. */
void str_add_number(struct str *list, size_t *n, size_t most, int64_t number);
/** All that @fd has up to its end, which is closed; -1, as open(2) left it, is
 *  a failure, too.  0 or an errno: EFBIG when there is more than @max. */
int str_add_file(struct str *s, int fd, size_t max);
/** The text, "" when nothing was added; borrowed until the next change. */
const char *str_text(const struct str *s);

/** Characters that str_harmless() keeps. */
enum {
	STR_LINES = 1,	/* ends of lines and tabs */
	STR_COLORS = 2,	/* \033[...m, where they are our own */
};

/**
 * Make @text fit to be shown, in place: control characters, C0 and C1 alike,
 * what turns the direction of writing, and bytes that are no UTF-8 become '?',
 * but what @keep says.  What is left is UTF-8.  Returns its length, which is
 * never more than it was.
 */
size_t str_harmless(char *text, unsigned keep);
/** The same of what was added to @s behind its first @from bytes. */
void str_harmless_from(struct str *s, size_t from, unsigned keep);
/** Bytes of the UTF-8 character at @text, its number in *@c, if str_harmless()
 *  would replace it; 0 otherwise. */
size_t str_harmful(const char *text, uint32_t *c);

/**
 * Copy @text into the array @buf of @size bytes, cut at a UTF-8 boundary when
 * too long, NUL-ended and made harmless, so that what strangers send can be
 * printed; a path that is to be opened is none of that.  Returns false when it
 * was cut.
 */
bool str_copy(char *buf, size_t size, const char *text);
#define STR_COPY(array, text) str_copy((array), sizeof(array), (text))

/** Append @word as one word of a shell, quoted where needed. */
void str_add_quoted(struct str *out, const char *word);
/** Make what @s has behind its first @from bytes a part of a word of a shell,
 *  inside quotes or not: other characters than names of nodes, NICs and GPUs
 *  have become '_'. */
void str_plain_from(struct str *s, size_t from);
/** The path @dir so, for a hint of limited length: "DIR" where it does not fit
 *  @buf.  Returns @buf. */
const char *str_quoted_dir(const char *dir, char *buf, size_t size);

bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *end);

/** Return true if a name of list @a is also in list @b. Names are joined by '+'
 *  or ' ', as NICs are that NCCL uses as one. */
bool str_names_meet(const char *a, const char *b);

/**
 * Number of the first item of @list whose member, text or a pointer to it, is
 * @word, among @n, or with STR_TO_END up to one with a NULL pointer; the number
 * of what ends the list if there is none.
 */
#define STR_TO_END SIZE_MAX
#define STR_FIND(list, n, member, word)                                        \
	str_find(list, n, sizeof(*(list)),                                     \
		 offsetof(__typeof__(*(list)), member),                        \
		 _Generic(&(list)->member, char **: false,                     \
			  const char **: false, char *const *: false,          \
			  const char *const *: false, default: true), word)
size_t str_find(const void *list, size_t n, size_t size, size_t at, bool chars,
		const char *word);

/** Where @word stands in @words (NULL at the end); -1: nowhere. */
int str_index(const char *const words[], const char *word);

/**
 * The entry of @words (NULL at the end) nearest to @word by edit distance,
 * or NULL when none is within a third of its length.
 */
const char *str_nearest(const char *word, const char *const words[]);

/** For qsort() of arrays of characters: numbers in names by their value. */
int str_order(const void *a, const void *b);
/** The same for arrays of pointers to text. */
int str_order_text(const void *a, const void *b);

#endif
