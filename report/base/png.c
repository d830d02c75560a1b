/* SPDX-License-Identifier: BSD-3-Clause */
/* PNG (RFC 2083) around zlib (RFC 1950). */
#include "report/base/png.h"

#include <zlib.h>

#include "report/base/pack.h"

static void add_u32(struct str *out, uint32_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8) {
		str_addch(out, (char)(v >> shift & 0xff));
	}
}

static void add_chunk(struct str *out, const char kind[4],
		      const struct str *data)
{
	size_t from;

	add_u32(out, (uint32_t)data->len);
	from = out->len;
	str_addmem(out, kind, 4);
	str_addmem(out, data->data, data->len);
	add_u32(out, out->failed ? 0 :
		     (uint32_t)crc32(0, (const Bytef *)out->data + from,
				     (uInt)(out->len - from)));
}

/** Each row behind a zero, which says that it stands as it is; two pixels a
 *  byte. */
static void add_rows(const uint8_t *pixels, int width, int height,
		     struct str *out)
{
	for (int y = 0; y < height; y++) {
		const uint8_t *row = pixels + (size_t)y * (size_t)width;

		str_addch(out, 0);
		for (int x = 0; x < width; x += 2) {
			int next = x + 1 < width ? row[x + 1] : 0;

			str_addch(out, (char)(row[x] << 4 | next));
		}
	}
}

void png_add(const uint8_t *pixels, int width, int height,
	     const uint32_t colors[16], struct str *out)
{
	struct str raw = STR_INIT, data = STR_INIT;

	str_addmem(out, "\x89PNG\r\n\x1a\n", 8);
	add_u32(&data, (uint32_t)width);
	add_u32(&data, (uint32_t)height);
	str_addmem(&data, "\4\3\0\0\0", 5);	/* four bits, of a palette */
	add_chunk(out, "IHDR", &data);
	str_reset(&data);
	for (int i = 0; i < 16; i++) {
		str_addch(&data, (char)(colors[i] >> 16));
		str_addch(&data, (char)(colors[i] >> 8));
		str_addch(&data, (char)colors[i]);
	}
	add_chunk(out, "PLTE", &data);
	add_rows(pixels, width, height, &raw);
	str_reset(&data);
	pack_add(raw.data, raw.len, &data);
	out->failed |= raw.failed || data.failed;
	add_chunk(out, "IDAT", &data);
	str_reset(&data);
	add_chunk(out, "IEND", &data);
	str_release(&raw);
	str_release(&data);
}
