#include "cli/completion.h"

void print_bash_completion(const struct command *const *commands) {
  (void)printf("_lynxbench() {\n  local word=${COMP_WORDS[COMP_CWORD]} list\n  case ${COMP_WORDS[1]} in\n");
  for (int i = 0; commands[i] != NULL; i++) {
    (void)printf("    %s) list='--help", commands[i]->name);
    for (size_t k = 0; k < commands[i]->n_options; k++) (void)printf(" --%s", commands[i]->options[k].name);
    (void)printf("' ;;\n");
  }
  (void)printf("  esac\n  if [ \"$COMP_CWORD\" = 1 ]; then list='");
  for (int i = 0; commands[i] != NULL; i++) (void)printf("%s%s", i > 0 ? " " : "", commands[i]->name);
  (void)printf("'; fi\n  case $word in\n    -*) COMPREPLY=($(compgen -W \"$list\" -- \"$word\")) ;;\n    *) COMPREPLY=($(compgen -f -- "
               "\"$word\")); if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W \"$list\" -- \"$word\")); fi ;;\n  esac\n}\ncomplete "
               "-o filenames -F _lynxbench lynxbench\n");
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
    (void)printf("    '%s:", commands[i]->name);
    put_quoted(commands[i]->summary, quote, ":\\");
    (void)printf("'\n");
  }
  (void)printf("  )\n  if (( CURRENT == 2 )); then _describe command names; return; fi\n  case $words[2] in\n");
  for (int i = 0; commands[i] != NULL; i++) {
    (void)printf("    %s) _arguments '--help[help]'", commands[i]->name);
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
    (void)printf("complete -c lynxbench -n __fish_use_subcommand -f -a %s -d '", commands[i]->name);
    put_quoted(commands[i]->summary, quote, "\\");
    (void)printf("'\n");
    for (size_t k = 0; k < commands[i]->n_options; k++) {
      const struct option_spec *o = &commands[i]->options[k];
      (void)printf("complete -c lynxbench -n '__fish_seen_subcommand_from %s' -l %s%s -d '", commands[i]->name, o->name,
                   o->argument != NULL ? " -r" : "");
      put_quoted(o->help, quote, "\\");
      (void)printf("'\n");
    }
  }
}
