/* executor/git_object.h: what git's own files say, read without running git: the index (versions 2 to 4), and a commit's tree.
 * Shapes   names of objects are SHA-1, 20 bytes; a repository whose objects are named by SHA-256 is not read
 * Errors   false: damaged, larger than is looked at, or of another kind
 * Limits   an object of at most 1 MiB (commits are), reached by at most 64 deltas. The bytes are hostile */
#ifndef EXECUTOR_GIT_OBJECT_H
#define EXECUTOR_GIT_OBJECT_H

#include "base/buffer.h"
#include "base/root.h"

enum { GIT_NAME = 20, GIT_PATH_MAX = 4000, GIT_ENTRIES_MAX = 200000 };

struct git_index {
  const uint8_t *data;
  size_t length, at;
  uint32_t version, n, i;
  char path[GIT_PATH_MAX]; /* of the entry of now: version 4 tells only where it departs from the one before */
};

struct git_entry {
  const char *path; /* until the next one is asked for */
  uint32_t mode, size, ctime_s, ctime_ns, mtime_s, mtime_ns;
  const uint8_t *name; /* GIT_NAME bytes */
  bool conflict;       /* one of several stages of a merge */
  bool left_out;       /* by a sparse checkout: it need not be there */
  bool intended;       /* announced by `git add -N`, and not in the tree yet */
};

bool git_index_open(const void *data, size_t length, struct git_index *ret);
/* 1: *ret is the next entry; 0: there is none; -1: the index is damaged, or is not whole without another file (a split index). */
int git_index_next(struct git_index *index, struct git_entry *ret);

/* The name of the tree that `git commit` would write now. False also where a merge is not finished or directories are collapsed. */
bool git_index_tree(const void *data, size_t length, uint8_t ret[GIT_NAME]);

/* A pack, and the index by which a delta finds its base where that is named; NULL and 0: none. */
struct git_pack {
  const uint8_t *data, *idx;
  size_t length, idx_length;
};

/* The contents of the object at an offset of a pack, deltas applied. *ret_type: 1 commit, 2 tree, 3 blob, 4 tag. */
bool git_pack_object(const struct git_pack *pack, uint64_t offset, struct buffer *ret, int *ret_type);
/* Where an object lies in its pack. */
bool git_pack_find(const uint8_t *idx, size_t length, const uint8_t name[GIT_NAME], uint64_t *ret);

/* The tree that a commit names. git: the directory that holds "objects", below the root. */
bool git_commit_tree(const struct root *root, const char *git, const uint8_t commit[GIT_NAME], uint8_t ret[GIT_NAME]);

#endif
