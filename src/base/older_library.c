// SPDX-License-Identifier: Apache-2.0
// What the static C++ library wants of glibc 2.32 and newer, for libraries that are linked with an older one
// (WEIR_GLIBC_ROOT).
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

// Not one thread only, as far as is known: reference counts are atomic.
char __libc_single_threaded = 0;

uint32_t arc4random(void) {
  uint32_t number = 0;
  // Never short: the kernel gives up to 256 bytes at once, and is interrupted only before it has random bits.
  while (getrandom(&number, sizeof number, 0) < 0)
    if (errno != EINTR) abort();  // as glibc's own
  return number;
}
