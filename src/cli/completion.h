/* cli/completion.h: what shells complete, from the tables of commands.: lists that end in NULL. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "cli/command.h"

void print_bash_completion(const struct command *const *commands);
void print_zsh_completion(const struct command *const *commands);
void print_fish_completion(const struct command *const *commands);

#endif
