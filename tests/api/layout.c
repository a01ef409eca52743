// SPDX-License-Identifier: Apache-2.0

/* Layouts, enum values and initialisers of a header of NCCL's interface; compiled for several headers, in C
 * and C++. */
#ifdef WEIR_TEST_RCCL
#include <rccl/rccl.h>
#define cudaStream_t hipStream_t
#define cudaEvent_t hipEvent_t
#else
#include <nccl.h>
#endif

#include <stdio.h>

#include "tests/api/layout_checks.inc"

static int is_initialized(const ncclConfig_t* c) {
  int unset = NCCL_CONFIG_UNDEF_INT;
  int same = c->size == sizeof(*c) && c->magic == 0xcafebeef && c->version == NCCL_VERSION_CODE &&
             c->netName == NULL && c->commName == NULL && c->blocking == unset &&
             c->cgaClusterSize == unset && c->minCTAs == unset && c->maxCTAs == unset &&
             c->splitShare == unset && c->trafficClass == unset && c->collnetEnable == unset &&
             c->CTAPolicy == unset && c->shrinkShare == unset && c->nvlsCTAs == unset &&
             c->nChannelsPerNetPeer == unset && c->nvlinkCentricSched == unset;
#if NCCL_VERSION_CODE >= 23005
  same = same && c->graphUsageMode == unset && c->numRmaCtx == unset && c->maxP2pPeers == unset &&
         c->graphStreamOrdering == unset;
#endif
#if NCCL_VERSION_CODE >= 23200
  same = same && c->launchOrderImplicit == unset && c->numRmaSig == unset && c->rmaEagerInit == unset &&
         c->hostCftMode == unset && c->nvlsHostMode == unset;
#endif
  return same;
}

#if NCCL_VERSION_CODE >= 23200
static int is_plain(const ncclCollConfig_t* c) {
  int unset = NCCL_CONFIG_UNDEF_INT;
  return c->size == sizeof(*c) && c->magic == 0xcafebeef && c->version == NCCL_VERSION_CODE &&
         c->ext == NULL && c->minCTAs == unset && c->maxCTAs == unset && c->nvlsCTAs == unset &&
         c->cgaClusterSize == unset && c->algSelection == NULL && c->forceAlgSelection == 1 &&
         c->CTAPolicy == unset && c->userProfilerTag == 0 && c->launchCompletionEvent == NULL;
}
#endif

int main(void) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  if (!is_initialized(&config)) {
    printf("NCCL_CONFIG_INITIALIZER leaves a field set\n");
    return 1;
  }
#if NCCL_VERSION_CODE >= 23200
  ncclCollConfig_t coll = NCCL_COLLCONFIG_INITIALIZER;
  if (!is_plain(&coll)) {
    printf("NCCL_COLLCONFIG_INITIALIZER is wrong\n");
    return 1;
  }
#endif
  if (info.size != sizeof(info) || info.magic != 0x74685283 || info.version != NCCL_VERSION_CODE ||
      info.estimatedTime != NCCL_UNDEF_FLOAT) {
    printf("NCCL_SIM_INFO_INITIALIZER is wrong\n");
    return 1;
  }
  return 0;
}
