#include "cli/command_help.h"

#include <string.h>

enum { COLUMNS = 80, TITLE = 9 };

static int say_title(const char *title, FILE *to) {
  say_to(to, "%-*s", TITLE, title);
  return TITLE;
}

/* Behind a group's title, in lines of 80; verbs of one word in brackets behind it. */
static void print_names(const struct command_list *list, const struct command_group *group, FILE *to) {
  int column = say_title(group->title, to);
  bool within = false;
  for (size_t i = 0; list->items[i] != NULL; i++) {
    if (list->items[i] == group->first) within = true;
    else if (within && list->items[i] == group[1].first) break;
    if (!within) continue;
    const char *verb = command_verb(list->items[i]), *name = verb != NULL ? verb : list->items[i]->name;
    const struct command *next = list->items[i + 1];
    bool verb_next = next != NULL && next != group[1].first && command_verb(next) != NULL;
    const char *after = verb != NULL && !verb_next ? ")" : verb == NULL && verb_next ? " (" : "";
    if (column + 1 + (int)strlen(name) + (int)strlen(after) > COLUMNS) {
      say_to(to, "\n%*s", TITLE, "");
      column = TITLE;
    }
    bool first_verb = verb != NULL && i > 0 && command_verb(list->items[i - 1]) == NULL;
    say_to(to, "%s%s%s", first_verb || column == TITLE ? "" : " ", name, after);
    column += (first_verb || column == TITLE ? 0 : 1) + (int)strlen(name) + (int)strlen(after);
  }
  say_to(to, "\n");
}

void print_help(const struct command_list *list, FILE *to) {
  say_to(to, "lynxbench measures an AI workload on the whole stack that runs it, by a method\n"
             "agreed in advance, and keeps a record that anybody can check.\n\n"
             "  lynxbench diagnose http://127.0.0.1:8000        why is it slow? (2 minutes)\n"
             "  lynxbench attribute trace.json                  where did the time go?\n"
             "  lynxbench run http://127.0.0.1:8000 --for 1min  how fast is it?\n\n"
             "usage: lynxbench COMMAND [options]\n\n");
  for (const struct command_group *g = list->groups; g->title != NULL; g++) print_names(list, g, to);
  say_to(to, "\nOne command, with an example: lynxbench COMMAND --help. All of them, and the\n"
             "exit codes: lynxbench help --all. Which one this is: lynxbench --version.\n");
}

void print_commands(const struct command_list *list, FILE *to) {
  const struct command_group *next = list->groups;
  for (size_t i = 0; list->items[i] != NULL; i++) {
    if (list->items[i] == next->first) {
      if (i > 0) say_to(to, "\n");
      say_to(to, "%s\n", next++->title);
    }
    say_to(to, "  %-14s %s\n", list->items[i]->name, list->items[i]->summary);
  }
}

void print_command_help(const struct command *command, FILE *to) {
  say_to(to, "lynxbench %s: %s\n\nusage: lynxbench %s%s%s%s\n", command->name, command->summary, command->name,
         command->usage[0] != 0 ? " " : "", command->usage, command->n_options > 0 ? " [options]" : "");
  if (command->details != NULL) {
    say_to(to, "\n");
    say_own(to, command->details);
    say_to(to, "\n");
  }
  if (command->n_options > 0) say_to(to, "\noptions:\n");
  for (size_t i = 0; i < command->n_options; i++) {
    char name[64];
    const struct option_spec *o = &command->options[i];
    (void)snprintf(name, sizeof name, "--%s%s%s", o->name, o->argument != NULL ? " " : "", o->argument != NULL ? o->argument : "");
    say_to(to, "  %-26s %s\n", name, o->help);
  }
  say_to(to, "\nexample:\n  ");
  say_own(to, command->example);
  say_to(to, "\n");
}
