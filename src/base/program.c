#include "base/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct program programs[PROGRAMS] = {
    [PROGRAM_PY_SPY] = {"py-spy", "Python functions of a profiled server", true, "--py-spy PATH"},
    [PROGRAM_NVIDIA_SMI] = {"nvidia-smi", "clocks, power and memory of NVIDIA's GPUs while a run goes on", false, NULL},
    [PROGRAM_SYSTEMCTL] = {"systemctl", "the timers of `schedule`", false, NULL},
    [PROGRAM_REFERENCE] = {"lynxbench-ref", "the metronome that `calibrate` measures against", true, "--reference PATH"},
};

const char *const program_folders[] = {"/usr/bin", "/bin", "/usr/local/bin", "/usr/local/nvidia/bin", "/usr/lib/wsl/lib", NULL};

/* The folder of our own program; "": not known. */
static void our_folder(char ret[PATH_MAX]) {
  ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
  ret[n > 0 ? n : 0] = 0;
  char *slash = strrchr(ret, '/');
  if (slash != NULL) *slash = 0;
}

/* Whose is it, and who may write it? Every folder of an absolute path without links. owner: one who is trusted besides. */
static bool is_trusted(const char *path, uid_t owner) {
  struct stat info;
  char folder[PATH_MAX];
  (void)snprintf(folder, sizeof folder, "%s", path);
  for (bool program = true;; program = false) {
    if (stat(folder[0] != 0 ? folder : "/", &info) != 0 || (info.st_uid != 0 && info.st_uid != geteuid() && info.st_uid != owner))
      return false;
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (program || (info.st_mode & S_ISVTX) == 0)) return false;
    if (folder[0] == 0) return true;
    *strrchr(folder, '/') = 0;
  }
}

/* False also where it is a link to a program of another name: such a one does what the link's name makes it do. */
static bool look(const struct program *p, const char *path, uid_t owner, char ret[PATH_MAX], bool *ret_found) {
  *ret_found = access(path, X_OK) == 0 && realpath(path, ret) != NULL;
  if (!*ret_found) return false;
  const char *slash = strrchr(ret, '/');
  return slash != NULL && strcmp(slash + 1, p->name) == 0 && is_trusted(ret, owner);
}

bool program_find(enum program_id id, const struct root *root, const char *named, char ret[PATH_MAX], char *why, size_t size) {
  const struct program *p = &programs[id];
  struct stat own;
  char folder[PATH_MAX], path[PATH_MAX + 64], untrusted[PATH_MAX] = "";
  bool found, trusted = false;
  if (named != NULL) {
    trusted = look(p, named, 0, ret, &found);
    if (!found) (void)snprintf(why, size, "%s: %.300s is no program that can be run", p->name, named);
    else if (!trusted) (void)snprintf(untrusted, sizeof untrusted, "%s", ret);
  } else {
    found = false;
    our_folder(folder);
    (void)snprintf(path, sizeof path, "%s/%s", folder, p->name);
    /* Whoever owns our own program is trusted already: it runs. */
    bool ours = p->beside_ours && folder[0] == '/' && stat("/proc/self/exe", &own) == 0;
    if (ours) trusted = look(p, path, own.st_uid, ret, &found);
    for (size_t i = 0; program_folders[i] != NULL && !found; i++) {
      (void)snprintf(path, sizeof path, "%s/%s", root_path(root, program_folders[i], folder, sizeof folder), p->name);
      trusted = look(p, path, 0, ret, &found);
    }
    if (found && !trusted) (void)snprintf(untrusted, sizeof untrusted, "%s", ret);
    if (!found)
      (void)snprintf(why, size, "%s is not %sin %s, %s or %s%s%s", p->name, p->beside_ours ? "beside lynxbench, nor " : "",
                     program_folders[0], program_folders[1], program_folders[2], p->option != NULL ? ": name it by " : "",
                     p->option != NULL ? p->option : "");
  }
  if (untrusted[0] != 0)
    (void)snprintf(why, size, "%s: %.300s, or a folder on its way, belongs to another user, or others may write it: it is not run", p->name,
                   untrusted);
  return found && trusted;
}
