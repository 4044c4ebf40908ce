#include "cli/bundle_file.h"

#include <string.h>

#include "base/arena.h"
#include "cli/output.h"

bool bundle_file_open(const char *path, struct bundle_file *ret) {
  struct bundle_seal_info seal;
  struct lynx_error error = {0};
  *ret = (struct bundle_file){0};
  enum lynx_status status = bundle_open(path, &ret->bundle, &seal, &error);
  if (status == LYNX_OK) status = result_compute(ret->bundle, &seal, &ret->result, &error);
  ret->status = status;
  if (status == LYNX_OK) return true;
  lynx_error_at(&error, path, 0, NULL);
  (void)report_error(&error);
  bundle_close(ret->bundle);
  ret->bundle = NULL;
  return false;
}

bool bundle_file_open_possible(const char *path, struct bundle_file *ret) {
  struct lynx_error error = {0};
  if (!bundle_file_open(path, ret)) return false;
  const char *impossible = plausibility_text(&ret->result.plausibility, &ret->result.arena);
  if (impossible == NULL) return true;
  lynx_error_at(&error, path, 0, "rows");
  ret->status = lynx_fail(&error, LYNX_INPUT, "no run can have written them: %s. Next: `lynxbench audit`, and ask for the original bundle",
                          impossible);
  (void)report_error(&error);
  bundle_file_close(ret);
  return false;
}

void bundle_file_close(struct bundle_file *file) {
  result_release(&file->result);
  bundle_close(file->bundle);
  file->bundle = NULL;
}

bool bundle_files_interleaved(const struct bundle_file *a, const struct bundle_file *b) {
  const char *id_a = bundle_meta(a->bundle, "interleaved"), *id_b = bundle_meta(b->bundle, "interleaved");
  return id_a != NULL && id_b != NULL && strcmp(id_a, id_b) == 0;
}
