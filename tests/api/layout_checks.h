/// Numbers that binaries compiled against NCCL's header rely on, checked while this compiles. Included after
/// a header of NCCL's interface, of ours or a vendor's; C11 and C++.
#include <stddef.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

_Static_assert(sizeof(ncclUniqueId) == 128, "passed by value");
_Static_assert(NCCL_UNIQUE_ID_BYTES == 128, "");
_Static_assert(sizeof(ncclComm_t) == sizeof(void*) && sizeof(ncclWindow_t) == sizeof(void*), "");
_Static_assert(sizeof(cudaStream_t) == sizeof(void*), "");

_Static_assert(sizeof(ncclResult_t) == 4 && sizeof(ncclDataType_t) == 4 && sizeof(ncclRedOp_t) == 4, "");
_Static_assert(sizeof(ncclScalarResidence_t) == 4, "");
_Static_assert(ncclSuccess == 0 && ncclUnhandledCudaError == 1 && ncclSystemError == 2 &&
                   ncclInternalError == 3,
               "");
_Static_assert(ncclInvalidArgument == 4 && ncclInvalidUsage == 5 && ncclRemoteError == 6 &&
                   ncclInProgress == 7,
               "");
_Static_assert(ncclInt8 == 0 && ncclChar == 0 && ncclUint8 == 1 && ncclInt32 == 2 && ncclInt == 2, "");
_Static_assert(ncclUint32 == 3 && ncclInt64 == 4 && ncclUint64 == 5 && ncclFloat16 == 6 && ncclHalf == 6, "");
_Static_assert(ncclFloat32 == 7 && ncclFloat == 7 && ncclFloat64 == 8 && ncclDouble == 8 && ncclBfloat16 == 9,
               "");
_Static_assert(ncclFloat8e4m3 == 10 && ncclFloat8e5m2 == 11 && ncclNumTypes == 12, "");
_Static_assert(ncclSum == 0 && ncclProd == 1 && ncclMax == 2 && ncclMin == 3 && ncclAvg == 4 &&
                   ncclNumOps == 5,
               "");
_Static_assert(ncclMaxRedOp == 0x7fffffff, "");
_Static_assert(ncclScalarDevice == 0 && ncclScalarHostImmediate == 1, "");

_Static_assert(NCCL_VERSION(2, 8, 4) == 2804 && NCCL_VERSION(2, 9, 0) == 20900, "");
_Static_assert(NCCL_VERSION_CODE == NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH), "");
_Static_assert(NCCL_CONFIG_UNDEF_INT == INT_MIN && NCCL_SPLIT_NOCOLOR == -1, "");
_Static_assert(NCCL_WIN_DEFAULT == 0 && NCCL_WIN_COLL_SYMMETRIC == 1 && NCCL_WIN_REQUIRED_ALIGNMENT == 4096,
               "");
_Static_assert(NCCL_CTA_POLICY_DEFAULT == 0 && NCCL_CTA_POLICY_EFFICIENCY == 1 && NCCL_CTA_POLICY_ZERO == 2,
               "");
_Static_assert(NCCL_SHRINK_DEFAULT == 0 && NCCL_SHRINK_ABORT == 1 && NCCL_REVOKE_DEFAULT == 0, "");

_Static_assert(offsetof(ncclConfig_t, size) == 0 && offsetof(ncclConfig_t, magic) == 8, "");
_Static_assert(offsetof(ncclConfig_t, version) == 12 && offsetof(ncclConfig_t, blocking) == 16, "");
_Static_assert(offsetof(ncclConfig_t, cgaClusterSize) == 20 && offsetof(ncclConfig_t, minCTAs) == 24, "");
_Static_assert(offsetof(ncclConfig_t, maxCTAs) == 28 && offsetof(ncclConfig_t, netName) == 32, "");
_Static_assert(offsetof(ncclConfig_t, splitShare) == 40 && offsetof(ncclConfig_t, trafficClass) == 44, "");
_Static_assert(offsetof(ncclConfig_t, commName) == 48 && offsetof(ncclConfig_t, collnetEnable) == 56, "");
_Static_assert(offsetof(ncclConfig_t, CTAPolicy) == 60 && offsetof(ncclConfig_t, shrinkShare) == 64, "");
_Static_assert(offsetof(ncclConfig_t, nvlsCTAs) == 68 && offsetof(ncclConfig_t, nChannelsPerNetPeer) == 72,
               "");
_Static_assert(offsetof(ncclConfig_t, nvlinkCentricSched) == 76, "");
#if NCCL_VERSION_CODE >= 23005
_Static_assert(sizeof(ncclConfig_t) == 96 && NCCL_VERSION_CODE == 23007, "");
_Static_assert(offsetof(ncclConfig_t, graphUsageMode) == 80 && offsetof(ncclConfig_t, numRmaCtx) == 84, "");
_Static_assert(offsetof(ncclConfig_t, maxP2pPeers) == 88 && offsetof(ncclConfig_t, graphStreamOrdering) == 92,
               "");
_Static_assert(ncclTimeout == 8 && ncclNumResults == 9, "");
_Static_assert(NCCL_WIN_STRICT_ORDERING == 2 && NCCL_SUSPEND_MEM == 1, "");
_Static_assert(sizeof(ncclWaitSignalDesc_t) == 16 && offsetof(ncclWaitSignalDesc_t, opCnt) == 0, "");
_Static_assert(offsetof(ncclWaitSignalDesc_t, peer) == 4 && offsetof(ncclWaitSignalDesc_t, sigIdx) == 8, "");
_Static_assert(offsetof(ncclWaitSignalDesc_t, ctx) == 12, "");
_Static_assert(sizeof(ncclCommMemStat_t) == 4 && ncclStatGpuMemSuspend == 0 && ncclStatGpuMemSuspended == 1,
               "");
_Static_assert(ncclStatGpuMemPersist == 2 && ncclStatGpuMemTotal == 3, "");
#else
_Static_assert(sizeof(ncclConfig_t) == 80 && NCCL_VERSION_CODE == 22809, "");
_Static_assert(ncclNumResults == 8, "");
#endif

_Static_assert(sizeof(ncclSimInfo_t) == 24 && offsetof(ncclSimInfo_t, size) == 0, "");
_Static_assert(offsetof(ncclSimInfo_t, magic) == 8 && offsetof(ncclSimInfo_t, version) == 12, "");
_Static_assert(offsetof(ncclSimInfo_t, estimatedTime) == 16, "");
