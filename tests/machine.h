/* tests/machine.h: a folder that stands for "/", filled file by file. */
#ifndef TESTS_MACHINE_H
#define TESTS_MACHINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/check.h"

static char top[64];

static void machine_begin(void) {
  (void)snprintf(top, sizeof top, "/tmp/lynx-machine-XXXXXX"); /* mkdtemp replaces the last six */
  CHECK(mkdtemp(top) != NULL);
}

static void put(const char *path, const char *text) {
  char whole[300];
  (void)snprintf(whole, sizeof whole, "%s%s", top, path);
  for (char *slash = strchr(whole + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    (void)mkdir(whole, 0700);
    *slash = '/';
  }
  FILE *file = fopen(whole, "w");
  CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void machine_end(void) {
  char command[100];
  (void)snprintf(command, sizeof command, "rm -r %s", top);
  CHECK_INT(system(command), 0); /* NOLINT(cert-env33-c): a path of our own making */
}

#endif
