#include "base/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool program_find(const char *search_path, const char *name, char ret[PATH_MAX]) {
  char path[PATH_MAX];
  for (const char *at = search_path != NULL ? search_path : ""; *at != 0;) {
    size_t n = strcspn(at, ":");
    if (n > 0 && n < 1000 && at[0] == '/') {
      (void)snprintf(path, sizeof path, "%.*s/%.200s", (int)n, at, name);
      if (access(path, X_OK) == 0 && realpath(path, ret) != NULL) return true;
    }
    at += n + (at[n] == ':');
  }
  return false;
}

bool program_is_trusted(const char *path, const char *name) {
  struct stat info;
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  if (slash == NULL || strcmp(slash + 1, name) != 0 || strlen(path) >= sizeof folder) return false;
  (void)snprintf(folder, sizeof folder, "%s", path);
  for (bool program = true;; program = false) {
    if (stat(folder[0] != 0 ? folder : "/", &info) != 0 || (info.st_uid != 0 && info.st_uid != geteuid())) return false;
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (program || (info.st_mode & S_ISVTX) == 0)) return false;
    if (folder[0] == 0) return true;
    *strrchr(folder, '/') = 0;
  }
}
