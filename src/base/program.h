/* base/program.h: other people's programs that we may run as ourselves.
 * Trust    whoever may write the program, or a folder on its path, may do with it what its runner may: they are root's, or the runner's
 *          own. A folder that all may write is no such folder, but where only owners may rename what is in it (/tmp)
 * Limits   of search_path only absolute folders count: a relative one is whoever's folder this is */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <limits.h>

#include "base/status.h"

/* In the folders of search_path (as PATH; NULL: none), its links resolved, so that what is checked is what is run. False: there is none. */
bool program_find(const char *search_path, const char *name, char ret[PATH_MAX]);
/* path: as program_find gives it. False also where its name is another: a link to another program. */
bool program_is_trusted(const char *path, const char *name);

#endif
