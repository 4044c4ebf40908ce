#include "cli/command_help.h"

void print_commands(const struct command_list *list, FILE *to) {
  const struct command_group *next = list->groups;
  for (size_t i = 0; list->items[i] != NULL; i++) {
    if (list->items[i] == next->first) {
      if (i > 0) say_to(to, "\n");
      say_to(to, "%s\n", next++->title);
    }
    say_to(to, "  %-10s %s\n", list->items[i]->name, list->items[i]->summary);
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
