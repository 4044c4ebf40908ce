#include "cli/completion.h"

#include <string.h>

/* Each first word once. */
static bool is_again(const struct command *const *commands, int i) {
  size_t first = strcspn(commands[i]->name, " ");
  return i > 0 && strcspn(commands[i - 1]->name, " ") == first && strncmp(commands[i - 1]->name, commands[i]->name, first) == 0;
}

void print_bash_completion(const struct command *const *commands) {
  (void)printf("_lynxbench() {\n  local word=${COMP_WORDS[COMP_CWORD]} list\n  case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n");
  for (int two = 1; two >= 0; two--) /* those of two words first */
    for (int i = 0; commands[i] != NULL; i++) {
      if ((command_verb(commands[i]) != NULL) != two) continue;
      (void)printf("    '%s'%s) list='--help", commands[i]->name, two ? "" : "\\ *");
      for (size_t k = 0; k < commands[i]->n_options; k++) (void)printf(" --%s", commands[i]->options[k].name);
      (void)printf("' ;;\n");
    }
  (void)printf("  esac\n  if [ \"$COMP_CWORD\" = 1 ]; then list='");
  for (int i = 0; commands[i] != NULL; i++)
    if (!is_again(commands, i)) (void)printf("%s%.*s", i > 0 ? " " : "", (int)strcspn(commands[i]->name, " "), commands[i]->name);
  (void)printf("'; fi\n  if [ \"$COMP_CWORD\" = 2 ] && [ \"${COMP_WORDS[1]}\" = ledger ]; then list='");
  for (int i = 0; commands[i] != NULL; i++)
    if (command_verb(commands[i]) != NULL) (void)printf("%s ", command_verb(commands[i]));
  for (const char *c = LEDGER_ACTIONS; *c != 0; c++)
    if (*c != ',') (void)putchar(*c);
  (void)printf("'; fi\n  case $word in\n    -*) COMPREPLY=($(compgen -W "
               "\"$list\" -- \"$word\")) ;;\n    *) COMPREPLY=($(compgen -f -- \"$word\")); if [ \"$COMP_CWORD\" = 1 ] || [ "
               "\"$COMP_CWORD ${COMP_WORDS[1]}\" = '2 ledger' ]; then COMPREPLY=($(compgen -W \"$list\" -- \"$word\")); fi ;;\n  esac\n}\n"
               "complete -o filenames -F _lynxbench lynxbench\n");
}

/* Within single quotes. */
static void put_quoted(const char *text, const char *quote, const char *also) {
  for (const char *c = text; *c != 0; c++)
    if (*c == '\'') (void)fputs(quote, stdout);
    else {
      for (const char *a = also; *a != 0; a++)
        if (*c == *a) (void)fputc('\\', stdout);
      (void)fputc(*c, stdout);
    }
}

void print_zsh_completion(const struct command *const *commands) {
  static const char quote[] = "'\\''";
  (void)printf("#compdef lynxbench\n_lynxbench() {\n  local -a names\n  names=(\n");
  for (int i = 0; commands[i] != NULL; i++) {
    if (is_again(commands, i)) continue;
    (void)printf("    '%s:", commands[i]->name);
    put_quoted(commands[i]->summary, quote, ":\\");
    (void)printf("'\n");
  }
  (void)printf("  )\n  if (( CURRENT == 2 )); then _describe command names; return; fi\n  case \"$words[2] $words[3]\" in\n");
  for (int turn = 0; turn < 2; turn++) /* those of two words first */
    for (int i = 0; commands[i] != NULL; i++) {
      bool two = command_verb(commands[i]) != NULL;
      if (two != (turn == 0)) continue;
      (void)printf("    '%s'%s) _arguments '--help[help]'", commands[i]->name, two ? "" : "\\ *");
      for (size_t k = 0; k < commands[i]->n_options; k++) {
        const struct option_spec *o = &commands[i]->options[k];
        (void)printf(" '--%s[", o->name);
        put_quoted(o->help, quote, "[]\\");
        (void)printf("]%s'", o->argument != NULL ? ":value:_files" : "");
      }
      (void)printf(" '*:file:_files' ;;\n");
    }
  (void)printf("  esac\n}\n_lynxbench \"$@\"\n");
}

void print_fish_completion(const struct command *const *commands) {
  static const char quote[] = "\\'";
  for (int i = 0; commands[i] != NULL; i++) {
    const char *verb = command_verb(commands[i]);
    if (verb != NULL) (void)printf("complete -c lynxbench -n '__fish_seen_subcommand_from ledger' -f -a %s -d '", verb);
    else (void)printf("complete -c lynxbench -n __fish_use_subcommand -f -a %s -d '", commands[i]->name);
    put_quoted(commands[i]->summary, quote, "\\");
    (void)printf("'\n");
    for (size_t k = 0; k < commands[i]->n_options; k++) {
      const struct option_spec *o = &commands[i]->options[k];
      (void)printf("complete -c lynxbench -n '__fish_seen_subcommand_from %s' -l %s%s -d '", verb != NULL ? verb : commands[i]->name,
                   o->name, o->argument != NULL ? " -r" : "");
      put_quoted(o->help, quote, "\\");
      (void)printf("'\n");
    }
  }
}
