/* measure/image.h: pictures as data URLs.
 * Source   PNG (ISO/IEC 15948), 8-bit RGB, no interlace; RFC 2397 for data URLs
 * Errors   INPUT: a file that is no picture by its first bytes; LIMIT: more than IMAGE_FILE_MAX */
#ifndef MEASURE_IMAGE_H
#define MEASURE_IMAGE_H

#include "base/buffer.h"

enum { IMAGE_FILE_MAX = 8 << 20 };

/* Noise, so that nothing can be compressed away or looked up: width x height, the same for the same seed. */
bool image_noise_url(int width, int height, uint64_t seed, struct buffer *ret);
/* A PNG, JPEG, GIF or WebP file as it is. */
enum lynx_status image_file_url(const char *path, struct buffer *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
