#include "measure/image.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/random.h"
#include "base/root.h"

static void put_u32(unsigned char *to, uint32_t value) {
  for (int i = 0; i < 4; i++) to[i] = (unsigned char)(value >> (24 - 8 * i));
}

static bool put_chunk(struct buffer *out, const char *type, const void *data, size_t length) {
  unsigned char word[4];
  uLong sum = crc32(crc32(0, (const Bytef *)type, 4), data, (uInt)length);
  put_u32(word, (uint32_t)length);
  bool good = buffer_append(out, word, 4) && buffer_append(out, type, 4) && buffer_append(out, data, length);
  put_u32(word, (uint32_t)sum);
  return good && buffer_append(out, word, 4);
}

bool image_noise_url(int width, int height, uint64_t seed, struct buffer *ret) {
  struct random_stream random;
  struct buffer png;
  size_t row = 1 + 3 * (size_t)width, n = row * (size_t)height;
  uLongf packed = compressBound((uLong)n);
  unsigned char *pixels = try_alloc(n, 1), *zipped = try_alloc(packed, 1), header[13] = {0};
  buffer_init(&png, packed + 4096);
  random_init(&random, seed, "image");
  for (size_t i = 0; pixels != NULL && i < n; i++)
    pixels[i] = i % row == 0 ? 0 : (unsigned char)random_next(&random); /* each row: no filter */
  bool good = pixels != NULL && zipped != NULL && compress2(zipped, &packed, pixels, (uLong)n, 1) == Z_OK;
  put_u32(header, (uint32_t)width);
  put_u32(header + 4, (uint32_t)height);
  header[8] = 8; /* bits */
  header[9] = 2; /* RGB */
  good = good && buffer_append(&png, "\x89PNG\r\n\x1a\n", 8) && put_chunk(&png, "IHDR", header, sizeof header) &&
         put_chunk(&png, "IDAT", zipped, packed) && put_chunk(&png, "IEND", "", 0);
  good = good && buffer_text(ret, "data:image/png;base64,") && base64_encode(ret, png.data, png.length);
  free(pixels);
  free(zipped);
  buffer_release(&png);
  return good;
}

enum lynx_status image_file_url(const char *path, struct buffer *ret, struct lynx_error *error) {
  static const struct {
    const char *begins, *type;
    size_t at, n;
  } kinds[] = {
      {"\x89PNG", "image/png", 0, 4}, {"\xff\xd8\xff", "image/jpeg", 0, 3}, {"GIF8", "image/gif", 0, 4}, {"WEBP", "image/webp", 8, 4}};
  const struct root root = {""};
  struct buffer file;
  buffer_init(&file, IMAGE_FILE_MAX);
  enum lynx_status status = root_read(&root, path, &file, error);
  const char *type = NULL;
  for (size_t i = 0; i < LYNX_COUNT(kinds) && status == LYNX_OK; i++)
    if (file.length >= 12 && memcmp(file.data + kinds[i].at, kinds[i].begins, kinds[i].n) == 0) type = kinds[i].type;
  if (status == LYNX_OK && type == NULL) {
    lynx_error_at(error, path, 0, NULL);
    status = lynx_fail(error, LYNX_INPUT, "no PNG, JPEG, GIF or WebP by its first bytes");
  }
  if (status == LYNX_OK && !(buffer_printf(ret, "data:%s;base64,", type) && base64_encode(ret, file.data, file.length)))
    status = lynx_fail(error, LYNX_LIMIT, "a picture of more than %d bytes", IMAGE_FILE_MAX);
  buffer_release(&file);
  return status;
}
