#include "cli/serving_url.h"

#include <string.h>

#include "base/shell.h"
#include "cli/output.h"
#include "telemetry/process_tree.h"

bool serving_url(const char *tool, int64_t pid, char url[LISTENING_URL]) {
  const struct root root = {""};
  struct process_tree tree;
  char urls[LISTENING_MAX][LISTENING_URL];
  size_t n = 0;
  if (!listening_here(&root, pid)) {
    complain("lynxbench %s: --pid: process %lld is in another network (a container's): give the URL by which it is reached too\n", tool,
             (long long)pid);
    return false;
  }
  process_tree_read(&root, pid, &tree); /* itself first */
  for (size_t i = 0; i < tree.n && n == 0; i++) n = listening_urls(&root, tree.pids[i], urls, 0);
  if (n == 1) {
    memcpy(url, urls[0], LISTENING_URL);
    return true;
  }
  if (n == 0)
    complain("lynxbench %s: --pid: process %lld is not there, listens on no port, or is not visible to this user; give its "
             "URL too, or run as root\n",
             tool, (long long)pid);
  else {
    complain("lynxbench %s: --pid: process %lld listens on several ports; say which:\n", tool, (long long)pid);
    for (size_t i = 0; i < n; i++) complain("  lynxbench %s %s --pid %lld\n", tool, shell_word(urls[i]), (long long)pid);
  }
  return false;
}
