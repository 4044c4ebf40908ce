/* Runs a fuzz target over the files of folders: what `make test` does with every corpus. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 22 };

static bool replay(const char *path) {
  FILE *f = fopen(path, "rb");
  uint8_t *data = malloc(INPUT_MAX);
  size_t size = f != NULL && data != NULL ? fread(data, 1, INPUT_MAX, f) : 0;
  uint8_t *exact = malloc(size > 0 ? size : 1); /* so that a sanitizer sees every byte read beyond the end */
  bool good = f != NULL && data != NULL && exact != NULL;
  for (size_t i = 0; good && i < size; i++) exact[i] = data[i];
  if (f != NULL) (void)fclose(f);
  free(data);
  if (good) (void)LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  return good;
}

int main(int argc, char **argv) {
  int n = 0;
  for (int i = 1; i < argc; i++) {
    DIR *dir = opendir(argv[i]);
    if (dir == NULL) {
      (void)fprintf(stderr, "%s: no folder\nusage: fuzz_NAME CORPUS...\n", argv[i]);
      return 2;
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
      char path[1024];
      if (entry->d_name[0] == '.') continue;
      (void)snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
      if (!replay(path)) return 1;
      n++;
    }
    (void)closedir(dir);
  }
  (void)printf("%d inputs\n", n);
  return n > 0 ? 0 : 1;
}
