#include "cli/bundle_file.h"

#include "cli/command.h"

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
  return false;
}

void bundle_file_close(struct bundle_file *file) {
  result_release(&file->result);
  bundle_close(file->bundle);
}
