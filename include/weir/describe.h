// SPDX-License-Identifier: Apache-2.0
/// A line of text that describes what weir found on this machine. C and C++; needs no other header.
/// Tests: tests/api/life_test.cc
#ifndef WEIR_DESCRIBE_H_
#define WEIR_DESCRIBE_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes "weir 0.2.0: 8 cores, 1 NUMA node, no GPU, 1 NIC (10 Gb/s), bootstrap through eth0; ranks may use
 * loop shm cma tcp" or similar, truncated to size - 1 characters and terminated by a zero. Returns the length
 * of the untruncated line. Any thread. */
int weirDescribe(char* buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_DESCRIBE_H_ */
