#include <stdlib.h>
#include <unistd.h>

#include "drivers/tensor.h"
#include "tests/check.h"

static struct tensor make(enum tensor_type type, int64_t a, int64_t b) {
  return (struct tensor){.name = "x", .type = type, .dims = {a, b}, .n_dims = 2};
}

static void filling(void) {
  struct arena arena = {0};
  struct lynx_error error = {0};
  for (int type = 0; type < TENSOR_TYPE_COUNT; type++) {
    struct tensor t = make((enum tensor_type)type, 2, 3), again = t, other = t;
    CHECK_INT(tensor_fill(&t, 1, 100, (struct bytes){"ab", 2}, &arena, &error), LYNX_OK);
    CHECK_INT(tensor_fill(&again, 1, 100, (struct bytes){"ab", 2}, &arena, &error), LYNX_OK);
    CHECK_INT(tensor_fill(&other, 2, 100, (struct bytes){"ab", 2}, &arena, &error), LYNX_OK);
    size_t each = type == TENSOR_BYTES ? 6 : tensor_type_bytes((enum tensor_type)type);
    CHECK_INT(t.data.length, 6 * each);
    CHECK(memcmp(t.data.ptr, again.data.ptr, t.data.length) == 0); /* the seed decides */
    if (type > TENSOR_UINT8 && type != TENSOR_BYTES) CHECK(memcmp(t.data.ptr, other.data.ptr, t.data.length) != 0);
    enum tensor_type back;
    CHECK(tensor_type_parse(tensor_type_text((enum tensor_type)type), &back) && back == (enum tensor_type)type);
  }
  struct tensor t = make(TENSOR_INT64, 100, 10);
  CHECK_INT(tensor_fill(&t, 3, 7, (struct bytes){"", 0}, &arena, &error), LYNX_OK);
  int64_t value, greatest = 0;
  for (size_t i = 0; i < 1000; i++) {
    memcpy(&value, t.data.ptr + 8 * i, 8);
    CHECK(value >= 0 && value < 7);
    greatest = value > greatest ? value : greatest;
  }
  CHECK_INT(greatest, 6);
  t = make(TENSOR_FP16, 1, 64); /* halves that are what the singles are: +-k/512 */
  struct tensor same = make(TENSOR_FP32, 1, 64);
  CHECK(tensor_fill(&t, 5, 1, (struct bytes){"", 0}, &arena, &error) == LYNX_OK &&
        tensor_fill(&same, 5, 1, (struct bytes){"", 0}, &arena, &error) == LYNX_OK);
  for (size_t i = 0; i < 64; i++) {
    uint16_t half;
    float single;
    memcpy(&half, t.data.ptr + 2 * i, 2);
    memcpy(&single, same.data.ptr + 4 * i, 4);
    int exponent = half >> 10 & 31;
    double value_of_half = (half >> 15 ? -1 : 1) * (exponent == 0 ? 0 : ldexp(1 + (half & 1023) / 1024.0, exponent - 15));
    CHECK_NEAR(value_of_half, (double)single, 0);
  }
  t = make(TENSOR_FP32, INT64_MAX, INT64_MAX);
  CHECK_INT(tensor_fill(&t, 1, 1, (struct bytes){"", 0}, &arena, &error), LYNX_LIMIT);
  t = make(TENSOR_FP32, -1, 2);
  CHECK_INT(tensor_fill(&t, 1, 1, (struct bytes){"", 0}, &arena, &error), LYNX_LIMIT);
  arena_release(&arena);
}

/* Rows of {what is given, the half that is nearest}: ties to even, small ones without a leading one, the largest. */
static void halves(void) {
  static const struct {
    const char *given;
    uint16_t half, brain;
  } rows[] = {{"1", 0x3c00, 0x3f80},
              {"-2", 0xc000, 0xc000},
              {"0.1", 0x2e66, 0x3dcd},
              {"2049", 0x6800, 0x4500},
              {"2051", 0x6802, 0x4500},
              {"65504", 0x7bff, 0x4780},
              {"5.960464477539063e-8", 1, 0x3380},
              {"2.9802322387695312e-8", 0, 0x3300},
              {"2.98023224e-8", 0, 0x3300},
              {"6.103515625e-5", 0x400, 0x3880},
              {"6.1e-5", 0x3ff, 0x3880},
              {"0", 0, 0}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++)
    for (int brain = 0; brain < 2; brain++) {
      char text[300];
      struct arena arena = {0};
      struct tensor_set *sets = NULL;
      size_t n = 0;
      struct lynx_error error = {0};
      (void)snprintf(text, sizeof text, "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"%s\",\"data\":[%s]}]}",
                     brain != 0 ? "BF16" : "FP16", rows[i].given);
      CHECK_INT(tensor_parse(text, strlen(text), &arena, &sets, &n, &error), LYNX_OK);
      uint16_t found = 0;
      if (n == 1) memcpy(&found, sets[0].items[0].data.ptr, 2);
      CHECK_INT(found, brain != 0 ? rows[i].brain : rows[i].half);
      arena_release(&arena);
    }
  struct arena arena = {0};
  struct tensor_set *sets = NULL;
  size_t n = 0;
  struct lynx_error error = {0};
  static const char large[] = "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP16\",\"data\":[70000]}]}";
  CHECK_INT(tensor_parse(large, sizeof large - 1, &arena, &sets, &n, &error), LYNX_INPUT);
  CHECK_CONTAINS(error.message, "70000 does not fit into FP16");
  arena_release(&arena);
}

static void sizes(void) {
  const struct tensor_sizes s = {"batch=8, x.1=128,*=2"}, none = {NULL};
  struct lynx_error error = {0};
  CHECK_INT(tensor_size_of(&s, "x", 0, "batch"), 8);
  CHECK_INT(tensor_size_of(&s, "x", 1, ""), 128);
  CHECK_INT(tensor_size_of(&s, "y", 1, NULL), 2);
  CHECK_INT(tensor_size_of(&none, "y", 1, "batch"), 1);
  CHECK_INT(tensor_sizes_check(&s, &error), LYNX_OK);
  static const char *const bad[] = {"batch", "batch=", "batch=0", "batch=x", "=,", "a=1 b=2"};
  for (size_t i = 0; i < LYNX_COUNT(bad); i++) {
    const struct tensor_sizes wrong = {bad[i]};
    CHECK_INT(tensor_sizes_check(&wrong, NULL), LYNX_INPUT);
  }
}

/* A row per file: what it says, or what is said of it. */
static void files(void) {
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"{\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[[1,2],[3,4.5]]}]}\n\n{\"inputs\":[{\"name\":\"t\","
       "\"shape\":[1],"
       "\"datatype\":\"BYTES\",\"data\":[\"a\\u00e4\"]}]}",
       NULL},
      {"{\"inputs\":[{\"name\":\"x\",\"shape\":[3],\"datatype\":\"FP32\",\"data\":[1,2]}]}", "has 2 elements, and its shape asks for 3"},
      {"{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FLOAT\",\"data\":[1]}]}", "there is no datatype 'FLOAT'"},
      {"{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"INT8\",\"data\":[200]}]}", "200 does not fit into INT8"},
      {"{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"UINT8\",\"data\":[-1]}]}", "-1 does not fit into UINT8"},
      {"{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"INT32\",\"data\":[1.5]}]}", "element 0 is not what INT32 holds"},
      {"{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"BOOL\",\"data\":[1]}]}", "element 0 is not what BOOL holds"},
      {"{\"inputs\":[{\"name\":\"x\",\"shape\":[9999999999,9999999999],\"datatype\":\"BOOL\",\"data\":[]}]}", "more than"},
      {"{\"inputs\":[]}", "no list \"inputs\""},
      {"{}\n", "no list \"inputs\""},
      {"not JSON", ""},
      {"\n\n", "no line"},
  };
  char path[] = "/tmp/lynx-tensor-XXXXXX";
  int fd = mkstemp(path);
  CHECK(fd >= 0);
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    struct arena arena = {0};
    struct lynx_error error = {0};
    struct tensor_set *sets = NULL;
    size_t n = 0;
    CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, rows[i].text, strlen(rows[i].text), 0) == (ssize_t)strlen(rows[i].text));
    enum lynx_status status = tensor_read_file(path, &arena, &sets, &n, &error);
    CHECK_INT(status,
              rows[i].message != NULL ? LYNX_INPUT + (strcmp(rows[i].message, "more than") == 0 ? LYNX_LIMIT - LYNX_INPUT : 0) : LYNX_OK);
    if (rows[i].message != NULL) CHECK_CONTAINS(error.message, rows[i].message);
    else {
      CHECK_INT(n, 2);
      float last;
      memcpy(&last, sets[0].items[0].data.ptr + 12, 4);
      CHECK_NEAR((double)last, 4.5, 0);
      CHECK_INT(tensor_find(&sets[1], "t")->data.length, 4 + 3);
      CHECK(tensor_find(&sets[1], "x") == NULL);
    }
    arena_release(&arena);
  }
  (void)close(fd);
  (void)unlink(path);
}

int main(void) {
  filling();
  halves();
  sizes();
  files();
  return check_end();
}
