/* cli/decide_upgrade.h: `decide RUN --upgrade LIST`: would it help, by what a perturbed run measured? */
#ifndef CLI_DECIDE_UPGRADE_H
#define CLI_DECIDE_UPGRADE_H

#include <stdbool.h>

/* As they were written; NULL: not given. */
struct decide_upgrade {
  const char *path, *list, *from, *to, *margin, *price_ratio;
  bool json;
};

int decide_upgrade(const struct decide_upgrade *asked); /* the exit code */

#endif
