/* tests/fuzz/holds.h: a check that a fuzzer sees as a crash, and keeps the input of. */
#ifndef TESTS_FUZZ_HOLDS_H
#define TESTS_FUZZ_HOLDS_H

#define HOLDS(condition) ((condition) ? (void)0 : __builtin_trap())

#endif
