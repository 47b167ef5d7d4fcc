/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/jpeg.h"

#include <turbojpeg.h>

/* The decoder's cheapest scale at which the longer side is still at least max_side. */
static tjscalingfactor choose_scale(int longest, int max_side)
{
	tjscalingfactor best = {1, 1};
	int n = 0;
	const tjscalingfactor *all = tjGetScalingFactors(&n);

	for (int i = 0; i < n; i++)
		if (TJSCALED(longest, all[i]) >= max_side && TJSCALED(longest, all[i]) < TJSCALED(longest, best))
			best = all[i];
	return best;
}

static struct gray *decode_scaled(tjhandle tj, const void *data, size_t len, int width, int height, int max_side)
{
	tjscalingfactor scale = choose_scale(width > height ? width : height, max_side);
	struct gray *g = gray_new(TJSCALED(width, scale), TJSCALED(height, scale));

	if (g != NULL && tjDecompress2(tj, data, (unsigned long)len, g->px, g->width, g->width, g->height, TJPF_GRAY,
			     TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) < 0) {
		gray_free(g);
		g = NULL;
	}
	return g;
}

int jpeg_decode(const void *data, size_t len, int max_side, struct jpeg_image *ret, struct err *e)
{
	struct gray *decoded = NULL, *small = NULL;
	int width, height, subsampling, colorspace, status = -1;
	tjhandle tj = tjInitDecompress();

	if (tj == NULL)
		return err_set(e, "out of memory");
	if (tjDecompressHeader3(tj, data, (unsigned long)len, &width, &height, &subsampling, &colorspace) < 0) {
		err_set(e, "not a JPEG: %s", tjGetErrorStr2(tj));
		goto out;
	}
	if ((long)width * height > JPEG_PIXELS_MAX) {
		err_set(e, "%d x %d pixels; at most %d are accepted", width, height, JPEG_PIXELS_MAX);
		goto out;
	}
	decoded = decode_scaled(tj, data, len, width, height, max_side);
	if (decoded == NULL) {
		err_set(e, "broken JPEG: %s", tjGetErrorStr2(tj));
		goto out;
	}
	small = gray_shrink(decoded, max_side);
	if (small == NULL) {
		err_set(e, "out of memory");
		goto out;
	}
	*ret = (struct jpeg_image){width, height, small};
	status = 0;
out:
	gray_free(decoded);
	tjDestroy(tj);
	return status;
}
