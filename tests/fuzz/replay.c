/* Runs a fuzz target over the files of a folder: what `make test` does with every corpus. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
  DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
  if (dir == NULL) {
    (void)fprintf(stderr, "usage: fuzz_NAME CORPUS\n");
    return 2;
  }
  int n = 0;
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    char path[1024];
    if (entry->d_name[0] == '.') continue;
    (void)snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
    FILE *f = fopen(path, "rb");
    if (f == NULL) return 1;
    uint8_t *data = malloc(1 << 22);
    size_t size = data != NULL ? fread(data, 1, 1 << 22, f) : 0;
    (void)fclose(f);
    uint8_t *exact = malloc(size > 0 ? size : 1); /* so that a sanitizer sees every byte read beyond the end */
    if (data == NULL || exact == NULL) return 1;
    for (size_t i = 0; i < size; i++) exact[i] = data[i];
    free(data);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    n++;
  }
  (void)closedir(dir);
  (void)printf("%d inputs\n", n);
  return n > 0 ? 0 : 1;
}
