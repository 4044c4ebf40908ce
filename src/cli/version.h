/* cli/version.h: `lynxbench --version`. */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#include <stdbool.h>

/* verbose: the libraries, the programs that it starts and from where, and what of the cage around readers this kernel cannot do. The exit
 * code. */
int print_version(bool verbose);

#endif
