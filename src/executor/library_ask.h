/* executor/library_ask.h: which kernels a library selects on this processor, where it can be asked (oneDNN, OpenBLAS, BLIS, MKL,
 * ggml, PyTorch). To ask it, it is loaded, and that runs its start-up code: so it is loaded only where the user asks for it, never by
 * root, and by a program of its own, `lynxbench --ask-library FILE`: a session without a terminal, no network where the kernel allows
 * that, nothing of ours open, the rest given up by base/cage.h. What that program says is one line for each answer, and is believed
 * for that library only.
 * Limits   as long as the request's deadline
 */
#ifndef EXECUTOR_LIBRARY_ASK_H
#define EXECUTOR_LIBRARY_ASK_H

#include "base/status.h"

#define LIBRARY_ASK_OPTION "--ask-library"

enum { LIBRARY_ANSWER_MAX = 300 };

/* By its name: is there anything that it could be asked? */
bool library_is_askable(const char *file_name);

/* What `lynxbench --ask-library FILE` does: prints "key, tab, answer, tab, call" on lines, or "why, tab, reason"; and ends. */
_Noreturn void library_ask_main(const char *path);

struct library_request {
  const char *path;
  char *const *environment; /* all that the program gets; ends in NULL */
  int64_t deadline_ns;
};

/* Calls told for each answer. Returns NULL, or why there is none, in words (in room, or constant). */
const char *library_ask(const struct library_request *request,
                        void (*told)(void *context, const char *key, const char *answer, const char *call), void *context,
                        char room[LIBRARY_ANSWER_MAX]);

#endif
