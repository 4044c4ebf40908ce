/* A file that somebody brings is shown, and not kept. */
#include <stdio.h>
#include <string.h>

#include "page/frame.h"

static const struct {
  const char *title, *keep;
} kinds[LOOKED_KINDS] = {
    [LOOKED_UNKNOWN] = {"This file cannot be read", NULL},
    [LOOKED_BUNDLE] = {"A bundle", "lynxbench ledger put %s FILE --key TEAM.key"},
    [LOOKED_TRACE] = {"A trace", "lynxbench attribute FILE --record RUN.lynx --ledger %s --key TEAM.key"},
    [LOOKED_RESULT] = {"Another tool's result", "lynxbench import FILE --out R.lynx && lynxbench ledger put %s R.lynx --key TEAM.key"}};

static void put_form(struct frame *f) {
  struct markup *m = &f->markup;
  markup_open(m, "form", "action", "look.html", "method", "post", "enctype", "multipart/form-data", NULL);
  markup_open(m, "label", NULL);
  markup_text(m, "A file ");
  markup_empty(m, "input", "type", "file", "name", "file", "required", "", NULL);
  markup_close(m);
  markup_text(m, " ");
  markup_open(m, "button", "type", "submit", NULL);
  markup_text(m, "Show it");
  markup_close(m);
  markup_close(m);
  markup_whole(
      m, "p", "dim",
      "A bundle; a trace of PyTorch, Nsight Systems, ONNX Runtime, perf or OpenTelemetry; or what MLPerf LoadGen, AIPerf, GuideLLM, "
      "vllm bench, inference-perf or llama-bench wrote. It is read in a cage, shown to you alone, and thrown away.");
}

static void put_looked(struct frame *f, const struct looked *x) {
  struct markup *m = &f->markup;
  const char *keep = kinds[x->kind].keep;
  if (keep == NULL) {
    markup_whole(m, "p", "lead", "It is none of what is known here, or it is broken.");
    markup_open(m, "pre", NULL);
    markup_text(m, x->why);
    markup_close(m);
    return;
  }
  markup_open(m, "p", "class", "dim", NULL);
  markup_text(m, "It is not kept: nothing of it is in the ledger. A team adds it under its signature: ");
  const char *ledger = strstr(keep, "%s");
  markup_open(m, "code", NULL);
  markup_printf(m, "%.*s%s%s", (int)(ledger - keep), keep, f->pages->board->address, ledger + 2);
  markup_close(m);
  markup_close(m);
  markup_made(m, x->inside);
}

void look_page(struct frame *f, const struct looked *x) {
  frame_begin(f, x != NULL ? x->name : "Look at a file", "");
  frame_title(f, x != NULL ? x->name : f->pages->board->origin, x != NULL ? kinds[x->kind].title : "Look at a file");
  if (x != NULL) put_looked(f, x);
  if (x != NULL) frame_heading(f, "Another file");
  put_form(f);
  frame_end(f);
}
