#include "cli/decide_precision.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/output.h"
#include "cli/text_file.h"
#include "report/precision_report.h"

enum { PAGE_MAX = 4 << 20, TEXT_MOST = 256 << 20, TASK = 128, PATH = 4200 };
#define CONFIDENCE 0.95

static bool read_one(struct task_answers *set, const char *path, const char *task) {
  struct lynx_error error = {0};
  struct buffer text;
  if (!text_file_read(path, TEXT_MOST, &text, NULL)) return false;
  enum lynx_status status = task_answers_read(set, path, task, (struct bytes){text.data, text.length}, &error);
  buffer_release(&text);
  if (status != LYNX_OK) (void)report_error(&error);
  return status == LYNX_OK;
}

static int is_samples(const struct dirent *entry) {
  return strncmp(entry->d_name, "samples_", 8) == 0 && text_ends_with(entry->d_name, ".jsonl");
}

static int is_folder_name(const struct dirent *entry) {
  return entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

/* The harness makes a folder of the model's name in the one that it is given. path[4200] */
static void go_deeper(char *path) {
  struct dirent **entries = NULL, **inner = NULL;
  int n = scandir(path, &entries, is_samples, NULL), n_inner = n == 0 ? scandir(path, &inner, is_folder_name, NULL) : 0;
  if (n_inner == 1 && strlen(path) + strlen(inner[0]->d_name) + 2 < PATH) {
    strcat(path, "/");
    strcat(path, inner[0]->d_name);
  }
  for (int i = 0; i < n; i++) free(entries[i]);
  for (int i = 0; i < n_inner; i++) free(inner[i]);
  free(entries);
  free(inner);
}

/* A run writes one file for each task. Two of one task are two runs, and which is meant is not known. */
static bool read_folder(struct task_answers *set, const char *named) {
  struct dirent **entries = NULL;
  char folder[PATH], path[2 * PATH], task[TASK], before[TASK] = "";
  (void)snprintf(folder, sizeof folder, "%s", named);
  go_deeper(folder);
  int n = scandir(folder, &entries, is_samples, alphasort);
  bool good = n > 0;
  if (!good) complain("lynxbench decide precision: %s: found no samples_*.jsonl; accepted: what --log_samples writes\n", folder);
  for (int i = 0; i < n; i++) {
    (void)task_of_file(entries[i]->d_name, task, sizeof task);
    if (good && strcmp(task, before) == 0) {
      complain("lynxbench decide precision: %s: found two files of %s; accepted: one run in a folder, or the file itself\n", folder, task);
      good = false;
    }
    (void)snprintf(before, sizeof before, "%s", task);
    (void)snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    good = good && read_one(set, path, task);
    free(entries[i]);
  }
  free(entries);
  return good;
}

/* named: a file of the task that is compared. Of two files the second's name does not matter: digests say which questions are the same. */
static bool read_side(struct task_answers *set, const char *path, const char *named, const char *metric) {
  struct stat info;
  char task[TASK];
  *set = (struct task_answers){.n = 0};
  if (metric != NULL) (void)snprintf(set->asked, sizeof set->asked, "%s", metric);
  bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
  bool good = is_folder ? read_folder(set, path) : read_one(set, path, task_of_file(named, task, sizeof task));
  if (good) task_answers_finish(set);
  return good;
}

static int judge(const struct decide_precision *asked, const struct task_answers *before, const struct task_answers *after) {
  struct lynx_error error = {0};
  struct buffer out;
  struct precision_judgement *j = xalloc(1, sizeof *j);
  const struct precision_report report = {.judgement = j, .before = asked->before, .after = asked->after, .confidence = CONFIDENCE};
  lynx_error_at(&error, asked->after, 0, NULL);
  if (precision_judge(before, after, asked->margin, CONFIDENCE, j, &error) != LYNX_OK) {
    free(j);
    return report_error(&error);
  }
  buffer_init(&out, PAGE_MAX);
  bool good;
  if (asked->json) {
    struct json_writer writer;
    json_begin_object(&writer, &out);
    precision_report_json(&report, &writer);
    good = json_end_line(&writer);
  } else good = precision_report_text(&report, color_wanted(stdout), &out);
  good = good && write_buffer(NULL, &out);
  int code = j->decision == PRECISION_GO ? EXIT_HOLDS : j->decision == PRECISION_NO_GO ? EXIT_DOES_NOT_HOLD : EXIT_INCONCLUSIVE;
  buffer_release(&out);
  free(j);
  return good ? code : EXIT_CONDITIONS;
}

int decide_precision(const struct decide_precision *asked) {
  struct task_answers before, after = {.n = 0};
  bool good = read_side(&before, asked->before, asked->before, asked->metric) &&
              read_side(&after, asked->after, asked->before, asked->metric);
  int code = good ? judge(asked, &before, &after) : EXIT_WRONG_INPUT;
  task_answers_release(&before);
  task_answers_release(&after);
  return code;
}
