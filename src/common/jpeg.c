/* SPDX-License-Identifier: Apache-2.0 */
#include "common/jpeg.h"

#include <stdbool.h>

enum { SOI = 0xd8, EOI = 0xd9, SOS = 0xda, DHT = 0xc4, JPG = 0xc8, DAC = 0xcc, LENGTH_BYTES = 2 };

/* Start of frame: C0 to CF but for three that mean something else. */
static bool is_sof(unsigned marker)
{
	return marker >= 0xc0 && marker <= 0xcf && marker != DHT && marker != JPG && marker != DAC;
}

static bool has_end(const unsigned char *p, size_t len)
{
	/* Cameras pad the end with zeros now and then. */
	while (len > 2 && p[len - 1] == 0)
		len--;
	return len >= 2 && p[len - 2] == 0xff && p[len - 1] == EOI;
}

int jpeg_check(const void *data, size_t len, struct jpeg_size *ret, struct err *e)
{
	const unsigned char *p = data;
	struct jpeg_size size = {0, 0};
	size_t at = 2;

	if (len < 4 || p[0] != 0xff || p[1] != SOI)
		return err_set(e, len == 0 ? "the image is empty" : "not a JPEG file");
	while (at + 2 + LENGTH_BYTES <= len) {
		unsigned marker = p[at + 1];
		size_t segment = (size_t)p[at + 2] << 8 | p[at + 3];

		if (p[at] != 0xff)
			return err_set(e, "a broken JPEG file: no marker at byte %zu", at);
		if (marker == 0xff) { /* fill byte */
			at++;
			continue;
		}
		if (segment < LENGTH_BYTES || at + 2 + segment > len)
			return err_set(e, "a truncated JPEG file: a segment at byte %zu ends beyond the file", at);
		if (is_sof(marker) && segment >= 7) {
			size.height = (unsigned)p[at + 5] << 8 | p[at + 6];
			size.width = (unsigned)p[at + 7] << 8 | p[at + 8];
		}
		if (marker == SOS) {
			if (size.width == 0 || size.height == 0)
				return err_set(e, "a broken JPEG file: picture data without a size");
			if (!has_end(p, len))
				return err_set(e, "a truncated JPEG file: the end is missing");
			if (ret != NULL)
				*ret = size;
			return 0;
		}
		at += 2 + segment;
	}
	return err_set(e, "a truncated JPEG file: no picture data");
}
