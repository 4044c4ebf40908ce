#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum lynx_status lynx_fail(struct lynx_error *error, enum lynx_status status, const char *format, ...) {
  if (error == NULL || error->status != LYNX_OK) return status;
  error->status = status;
  va_list args;
  va_start(args, format);
  (void)vsnprintf(error->message, sizeof error->message, format, args); /* truncation is acceptable in a message */
  va_end(args);
  return status;
}

void lynx_error_at(struct lynx_error *error, const char *file, int line, const char *field) {
  if (error == NULL) return;
  if (file != NULL && error->file[0] == 0) (void)snprintf(error->file, sizeof error->file, "%s", file);
  if (line > 0 && error->line == 0) error->line = line;
  if (field != NULL && error->field[0] == 0) (void)snprintf(error->field, sizeof error->field, "%s", field);
}

void lynx_error_text(const struct lynx_error *error, char *text, size_t size) {
  char place[300] = "";
  if (error->file[0] != 0 && error->line > 0) (void)snprintf(place, sizeof place, "%s:%d: ", error->file, error->line);
  else if (error->file[0] != 0) (void)snprintf(place, sizeof place, "%s: ", error->file);
  (void)snprintf(text, size, "%s%s%s%s", place, error->field, error->field[0] != 0 ? ": " : "",
                 error->message[0] != 0 ? error->message : lynx_status_sentence(error->status));
}

const char *lynx_status_sentence(enum lynx_status status) {
  static const char *const sentences[] = {
      [LYNX_OK] = "done",
      [LYNX_INPUT] = "the input is wrong",
      [LYNX_LIMIT] = "the input exceeds a limit",
      [LYNX_EXISTS] = "there is one already",
      [LYNX_NOT_FOUND] = "not found",
      [LYNX_PROTOCOL] = "the other side broke the protocol",
      [LYNX_IO] = "the operating system refused",
      [LYNX_UNSUPPORTED] = "not supported by this build or machine",
      [LYNX_MACHINE] = "the machine's condition makes the measurement invalid",
  };
  return (size_t)status < LYNX_COUNT(sentences) ? sentences[status] : "unknown status";
}

_Noreturn void lynx_bug(const char *what, const char *file, int line) {
  char text[512];
  int n = snprintf(text, sizeof text, "lynxbench: a bug of ours: %s does not hold at %s:%d. Please report it.\n", what, file, line);
  if (n > 0) {
    ssize_t written = write(STDERR_FILENO, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
    (void)written; /* nothing is left to do with a failure here */
  }
  _exit(70);
}
