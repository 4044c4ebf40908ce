/* Two start commands as facts, and mixtures of them. */
#include "experiment/swap.h"

#include <string.h>

#include "tests/check.h"

static struct text_list list_of(struct arena *arena, const char *words) {
  struct text_list list = {arena_alloc(arena, strlen(words) + 1, sizeof(char *)), 0};
  char *copy = arena_copy(arena, words), *rest = copy;
  for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) list.items[list.n_items++] = word;
  return list;
}

static const char *joined(struct arena *arena, const struct text_list *list) {
  const char *text = "";
  for (size_t i = 0; i < list->n_items; i++) text = arena_printf(arena, "%s%s%s", text, i > 0 ? " " : "", list->items[i]);
  return text;
}

struct sides {
  struct arena arena;
  struct contract_start a, b;
  struct swap_list swaps;
};

static enum lynx_status make(struct sides *s, const char *a, const char *a_environment, const char *b, const char *b_environment) {
  *s = (struct sides){.a = {.set = 0}};
  s->a.command = list_of(&s->arena, a);
  s->b.command = list_of(&s->arena, b);
  s->a.environment = list_of(&s->arena, a_environment);
  s->b.environment = list_of(&s->arena, b_environment);
  return swap_list_make(&s->a, &s->b, &s->arena, &s->swaps, NULL);
}

static void check_mix(struct sides *s, uint64_t facts, const char *command, const char *environment) {
  struct text_list c, e;
  swap_mix(&s->swaps, facts, &s->arena, &c, &e);
  CHECK_TEXT(joined(&s->arena, &c), command);
  CHECK_TEXT(joined(&s->arena, &e), environment);
}

static void check_facts(void) {
  struct sides s;
  CHECK_INT(make(&s, "vllm serve m --max-num-seqs 8 --x -1 -O3", "A=1 OMP_NUM_THREADS=1 HF_TOKEN=abc",
                 "vllm serve m --max-num-seqs 16 --y=2 --x -1 -O3", "OMP_NUM_THREADS=2 HF_TOKEN=def LD_LIBRARY_PATH=/opt"),
            LYNX_OK);
  CHECK_INT(s.swaps.n, 6);
  CHECK_TEXT(s.swaps.items[0].name, "--max-num-seqs");
  CHECK_TEXT(s.swaps.items[0].a, "8");
  CHECK_TEXT(s.swaps.items[0].b, "16");
  CHECK(s.swaps.items[0].has_layer && s.swaps.items[0].layer == LAYER_SERVING);
  CHECK_TEXT(s.swaps.items[1].name, "--y");
  CHECK_TEXT(s.swaps.items[1].a, "not set");
  CHECK_TEXT(s.swaps.items[1].b, "2");
  CHECK_TEXT(s.swaps.items[4].name, "HF_TOKEN");
  CHECK_TEXT(s.swaps.items[4].a, "(hidden)");
  check_mix(&s, 0, "vllm serve m --max-num-seqs 8 --x -1 -O3", "A=1 OMP_NUM_THREADS=1 HF_TOKEN=abc");
  check_mix(&s, 0x3f, "vllm serve m --max-num-seqs 16 --y=2 --x -1 -O3", "OMP_NUM_THREADS=2 HF_TOKEN=def LD_LIBRARY_PATH=/opt");
  check_mix(&s, 2, "vllm serve m --max-num-seqs 8 --y=2 --x -1 -O3", "A=1 OMP_NUM_THREADS=1 HF_TOKEN=abc");
  check_mix(&s, 0x9, "vllm serve m --max-num-seqs 16 --x -1 -O3", "A=1 OMP_NUM_THREADS=2 HF_TOKEN=abc");
  arena_release(&s.arena);
}

static void check_words(void) {
  struct sides s;
  CHECK_INT(make(&s, "python3 server.py --a 1", "", "taskset -c 0 python3 server.py --a 2", ""), LYNX_OK);
  CHECK_INT(s.swaps.n, 2);
  CHECK_TEXT(s.swaps.items[0].name, "in front");
  check_mix(&s, 1, "taskset -c 0 python3 server.py --a 1", "");
  check_mix(&s, 2, "python3 server.py --a 2", "");
  arena_release(&s.arena);
  CHECK_INT(make(&s, "/venv1/bin/python server.py", "X=1", "/venv2/bin/python server.py", "X=1 X=1"), LYNX_OK);
  CHECK_INT(s.swaps.n, 1); /* of a variable that is there twice the last counts */
  CHECK_TEXT(s.swaps.items[0].name, "program");
  arena_release(&s.arena);
  CHECK_INT(make(&s, "a b c", "", "a b", ""), LYNX_OK);
  CHECK_INT(s.swaps.n, 1); /* words that are not as many are one fact */
  check_mix(&s, 1, "a b", "");
  arena_release(&s.arena);
  CHECK_INT(make(&s, "a --x 1 --x 2", "", "a --x 1", ""), LYNX_OK); /* given twice: both are its words */
  check_mix(&s, 0, "a --x 1 --x 2", "");
  check_mix(&s, 1, "a --x 1", "");
  arena_release(&s.arena);
}

/* The order in which words stand may mean something: both ends are started as they are written. */
static void check_order(void) {
  struct sides s;
  CHECK_INT(make(&s, "w --preset fast --preset slow --z", "", "w --g 20 --preset fast --z", ""), LYNX_OK);
  check_mix(&s, 0, "w --preset fast --preset slow --z", "");
  check_mix(&s, 3, "w --g 20 --preset fast --z", "");
  check_mix(&s, s.swaps.items[0].name[2] == 'g' ? 1 : 2, "w --g 20 --preset fast --preset slow --z", "");
  arena_release(&s.arena);
  CHECK_INT(make(&s, "timeout -s KILL 9 server --x 1", "", "timeout --foreground -s KILL 9 server --x 2", ""), LYNX_OK);
  CHECK_INT(s.swaps.n, 2);
  CHECK_TEXT(s.swaps.items[0].name, "--foreground");
  check_mix(&s, 1, "timeout --foreground -s KILL 9 server --x 1", "");
  arena_release(&s.arena);
}

static void check_values(void) {
  struct sides s;
  CHECK_INT(make(&s, "a --gap=5ms --t -.5 --api-key abc --hf-token=abc", "", "a --gap 5ms --t -.7 --api-key def --hf-token=def", ""),
            LYNX_OK);
  CHECK_INT(s.swaps.n, 3); /* written otherwise, the same */
  CHECK_TEXT(s.swaps.items[0].name, "--t");
  CHECK_TEXT(s.swaps.items[0].a, "-.5");
  for (size_t i = 1; i < 3; i++) {
    CHECK_TEXT(s.swaps.items[i].a, "(hidden)");
    CHECK_TEXT(s.swaps.items[i].b, "(hidden)");
  }
  arena_release(&s.arena);
  CHECK_INT(make(&s, "a --e\342\200\256vil", "", "a", ""), LYNX_OK);
  CHECK(strchr(s.swaps.items[0].name, '\342') == NULL); /* what turns a terminal's line around */
  arena_release(&s.arena);
}

static void check_refusals(void) {
  struct sides s;
  char words[1000] = "a";
  CHECK_INT(make(&s, "a --x=1 --y 2 -- --x 9", "", "a --x=1 --y 3 --s 2 -- --x 9", ""), LYNX_OK);
  CHECK_INT(s.swaps.n, 2); /* what is behind "--" is another program's */
  check_mix(&s, 1, "a --x=1 --y 3 -- --x 9", "");
  check_mix(&s, 2, "a --x=1 --y 2 --s 2 -- --x 9", "");
  arena_release(&s.arena);
  CHECK_INT(make(&s, "a --b", "C=1", "a --b", "C=1"), LYNX_OK);
  CHECK_INT(s.swaps.n, 0);
  arena_release(&s.arena);
  for (int i = 0; i < 61; i++) (void)snprintf(words + strlen(words), sizeof words - strlen(words), " --f%d", i);
  CHECK_INT(make(&s, "a", "", words, ""), LYNX_INPUT);
  arena_release(&s.arena);
  words[strlen(words) - 5] = 0; /* sixty */
  CHECK_INT(make(&s, "a", "", words, ""), LYNX_OK);
  CHECK_INT(s.swaps.n, 60);
  arena_release(&s.arena);
}

int main(void) {
  check_facts();
  check_words();
  check_order();
  check_values();
  check_refusals();
  return check_end();
}
