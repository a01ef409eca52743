// SPDX-License-Identifier: Apache-2.0
/// Settings of a communicator that ncclConfig_t does not have: the order of its sums (docs/determinism.md). C
/// and C++; works with the nccl.h of this library, of NCCL and of RCCL. Include RCCL's before this header.
///
///     weirConfig_t config = weirConfig();
///     config.nccl.blocking = 1;
///     config.order = weirOrderRanks;
///     ncclCommInitRankConfig(&comm, ranks, id, rank, &config.nccl);
///
/// NCCL's library takes such a configuration too and ignores what it does not know. A program that must also
/// run with it should declare weirCommOrder weak or look it up with dlsym.
/// Tests: tests/api/config_test.cc, tests/library/sum_order_test.cc
#ifndef WEIR_CONFIG_H_
#define WEIR_CONFIG_H_

#if !defined(NCCL_H_) && !defined(RCCL_H_)
#include <nccl.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a communicator promises about the order in which it sums. */
enum {
  weirOrderUnset = -1, /* the parent's, for a split and the like, or else that of WEIR_ORDER */
  weirOrderRun = 0,    /* the same in every run of the job */
  weirOrderAny = 1,    /* whatever is fastest, by measured rates */
  weirOrderRanks = 2   /* that of the ranks, for any size, algorithm and distribution over hosts */
};

#define WEIR_CONFIG_MARK 0x77656972u

/* A configuration of NCCL with more fields. Always begin with weirConfig(), and pass a pointer to `nccl`. */
typedef struct weirConfig {
  ncclConfig_t nccl;
  unsigned int mark; /* set by weirConfig(), like nccl.size */
  int order;         /* one of weirOrder...; all ranks must have the same */
} weirConfig_t;

/* Without any settings. Any thread. */
static inline weirConfig_t weirConfig(void) {
  const ncclConfig_t nccl = NCCL_CONFIG_INITIALIZER;
  weirConfig_t config;
  config.nccl = nccl;
  config.nccl.size = sizeof(config);
  config.mark = WEIR_CONFIG_MARK;
  config.order = weirOrderUnset;
  return config;
}

/* Writes the order of the communicator's sums, one of weirOrder... but never weirOrderUnset. Not collective;
   does not wait. Returns an ncclResult_t: 0; 4 (ncclInvalidArgument) if `comm` is not a communicator, is used
   by another thread, or `order` is NULL; the error of the communicator's set-up if that failed, or
   5 (ncclInvalidUsage) while it is not connected. ncclGetLastError describes the error in a sentence. One
   thread at a time per communicator. */
int weirCommOrder(struct ncclComm* comm, int* order);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_CONFIG_H_ */
