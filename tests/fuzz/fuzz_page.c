/* Addresses of pages, over a recorded ledger; and how two executors differ, as another process says it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page/pages.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct board board = {.address = "LEDGER"};
static struct pages pages = {.board = &board};
static struct bytes said; /* by the other process */

static bool view(void *context, enum bundle_view view, const uint8_t a[DIGEST_BYTES], const uint8_t b[DIGEST_BYTES], struct buffer *ret) {
  (void)context, (void)view, (void)a, (void)b;
  return buffer_append(ret, said.ptr, said.length);
}

/* Once; the copy is nobody's after that. */
static void begin(void) {
  char command[300], path[64] = "/tmp/lynxbench-fuzz-XXXXXX";
  struct lynx_error error = {0};
  bool more = true;
  HOLDS(mkdtemp(path) != NULL);
  (void)snprintf(command, sizeof command, "cp " TEMPLATES "/../ledger/story.ledger %s/", path);
  HOLDS(system(command) == 0);
  (void)snprintf(command, sizeof command, "%s/story.ledger", path);
  HOLDS(ledger_open(command, STORE_WRITE, NULL, &pages.ledger, &error) == LYNX_OK);
  while (more) HOLDS(board_update(&board, pages.ledger, 100, &more, &error) == LYNX_OK);
  (void)snprintf(command, sizeof command, "rm -rf %s", path);
  HOLDS(system(command) == 0);
  pages.view = view;
}

static void answer(const char *address) {
  struct page page;
  pages_answer(&pages, address, &page);
  HOLDS(page.status == 200 || page.status == 404 || page.status == 503);
  HOLDS(page.body.length > 0 && page.type != NULL);
  HOLDS(strstr(address, "result/") != NULL || strstr(page.body.data, "<script>") == NULL || strstr(page.type, "html") == NULL);
  page_release(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char address[300];
  if (pages.ledger == NULL) begin();
  const uint8_t *line = memchr(data, '\n', size);
  size_t length = line != NULL ? (size_t)(line - data) : size;
  if (length >= sizeof address) return 0;
  memcpy(address, data, length);
  address[length] = 0;
  said = line != NULL ? (struct bytes){(const char *)line + 1, size - length - 1} : (struct bytes){"", 0};
  answer(address);
  for (size_t i = 0; i < board.n_contracts && said.length > 0; i++) {
    struct board_contract *c = &board.contracts[i];
    board_judge(&board, c);
    for (size_t e = 0; e < c->history.n_events; e++) (void)board_learn(c, e, said.ptr, said.length);
    (void)snprintf(address, sizeof address, "%s/%s.%s", i % 2 == 0 ? "contract" : "meeting", c->hex, size % 2 == 0 ? "html" : "json");
    answer(address);
  }
  return 0;
}
