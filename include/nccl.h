// SPDX-License-Identifier: Apache-2.0
/// NCCL's C interface, as weir offers it: types, constants and functions of NCCL 2.28.9.
///
/// Compiles as C (C11) and C++. With a CUDA toolkit on the include path it includes the toolkit's headers, as
/// callers of NCCL expect; without one, or with WEIR_NO_CUDA defined, it needs nothing. With WEIR_NCCL_2_30
/// defined it is the header of NCCL 2.30.7 instead: a longer ncclConfig_t and the functions that came since.
///
/// weir works on host memory: buffers are host pointers; a stream is NULL (the call, or its outermost group,
/// is complete when it returns) or a host stream of weir/stream.h.
///
/// Every function has a twin with the prefix p. ncclX is a weak alias of pncclX, so that a tool can put
/// itself between. Unless said otherwise a function returns an ncclResult_t, and ncclGetLastError says in a
/// sentence what was wrong. A communicator may be used by one thread at a time, except where a function says
/// more.
#ifndef NCCL_H_
#define NCCL_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(WEIR_NO_CUDA) && !defined(WEIR_NCCL_WITH_HIP) && defined(__has_include)
#if __has_include(<cuda_runtime.h>) && __has_include(<cuda_fp16.h>)
#define WEIR_NCCL_WITH_CUDA 1
#endif
#endif

#ifdef WEIR_NCCL_WITH_CUDA
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#if CUDART_VERSION >= 11000
#include <cuda_bf16.h>
#endif
#if defined(__cplusplus) && CUDART_VERSION >= 11080
#include <cuda_fp8.h>
#endif
#elif !defined(WEIR_NCCL_WITH_HIP) /* rccl/rccl.h brings a stream type of its own */
typedef struct CUstream_st* cudaStream_t; /* the same declaration as in cuda_runtime.h */
#endif

/* Build systems search this file for lines like the first of each pair. */
/* clang-format off */
#define NCCL_MAJOR 2
#ifndef WEIR_NCCL_2_30
#define NCCL_MINOR 28
#define NCCL_PATCH 9
#define NCCL_VERSION_CODE 22809
#else
#  define NCCL_MINOR 30
#  define NCCL_PATCH 7
#  define NCCL_VERSION_CODE 23007
#endif
#define NCCL_SUFFIX ""
/* clang-format on */
#define NCCL_VERSION(X, Y, Z) (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types and constants ---- */

typedef struct ncclComm* ncclComm_t;
typedef struct ncclWindow_vidmem* ncclWindow_t;
#define NCCL_COMM_NULL NULL

/* Opaque; one rank makes it and hands it to the others by any means. */
#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,     /* a system call failed */
  ncclInternalError = 3,   /* a broken invariant of the library */
  ncclInvalidArgument = 4, /* one argument is wrong by itself */
  ncclInvalidUsage = 5,    /* arguments are right, but not together, or not now, or not offered */
  ncclRemoteError = 6,     /* a peer died, stopped or reported an error */
  ncclInProgress = 7,      /* not an error: not done yet (non-blocking communicators) */
#ifndef WEIR_NCCL_2_30
  ncclNumResults = 8
#else
  ncclTimeout = 8,
  ncclNumResults = 9
#endif
} ncclResult_t;

typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
} ncclDataType_t;

/* Values from ncclNumOps up to ncclMaxRedOp are made by ncclRedOpCreatePreMulSum. */
typedef enum { ncclNumOps_dummy = 5 } ncclRedOp_dummy_t;
typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;

typedef enum {
  ncclScalarDevice = 0,       /* read while the operation runs; must stay valid until then */
  ncclScalarHostImmediate = 1 /* read before ncclRedOpCreatePreMulSum returns */
} ncclScalarResidence_t;

#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_UNDEF_FLOAT -1.0f

#define NCCL_SPLIT_NOCOLOR -1
#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096
#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02
#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01
#define NCCL_REVOKE_DEFAULT 0x00

#ifndef WEIR_NCCL_2_30
#define WEIR_NCCL_CONFIG_TAG ncclConfig_v22800
#define WEIR_NCCL_CONFIG_SINCE_2_29
#else
#define WEIR_NCCL_CONFIG_TAG ncclConfig_v23000
#define WEIR_NCCL_CONFIG_SINCE_2_29 \
  , NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT
#endif

/* Options of a communicator. Always begin with NCCL_CONFIG_INITIALIZER: it tells the library how long the
 * caller's struct is and which fields the caller knows. */
typedef struct WEIR_NCCL_CONFIG_TAG {
  size_t size; /* set by the initializer, like magic and version */
  unsigned int magic;
  unsigned int version;
  int blocking;       /* 1: calls return when done or queued; 0: they may return ncclInProgress */
  int cgaClusterSize; /* checked, without effect, as all of these fields of which nothing is said */
  int minCTAs;        /* rings that plans run side by side, at least and at most; those of rank 0 count */
  int maxCTAs;
  const char* netName;
  int splitShare;
  int trafficClass;
  const char* commName; /* appears in messages; copied */
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer;
  int nvlinkCentricSched;
#ifdef WEIR_NCCL_2_30
  int graphUsageMode;
  int numRmaCtx;
  int maxP2pPeers;
  int graphStreamOrdering;
#endif
} ncclConfig_t;

/* After size, magic and version all fields are left to the library. */
#define NCCL_CONFIG_INITIALIZER                                                                        \
  {                                                                                                    \
    sizeof(ncclConfig_t), 0xcafebeef, NCCL_VERSION_CODE, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT,    \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,    \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,                           \
        NCCL_CONFIG_UNDEF_INT WEIR_NCCL_CONFIG_SINCE_2_29                                              \
  }

/* What ncclGroupSimulateEnd fills in. */
typedef struct ncclSimInfo_v22200 {
  size_t size;
  unsigned int magic;
  unsigned int version;
  float estimatedTime; /* microseconds; NCCL_UNDEF_FLOAT where there is no estimate */
} ncclSimInfo_t;

#define NCCL_SIM_INFO_INITIALIZER \
  { sizeof(ncclSimInfo_t), 0x74685283, NCCL_VERSION_CODE, NCCL_UNDEF_FLOAT }

/* ---- The library ---- */

/* The version whose interface this library offers, as NCCL_VERSION makes it. */
ncclResult_t ncclGetVersion(int* version);
ncclResult_t pncclGetVersion(int* version);

/* What a result means, in general. Never NULL. */
const char* ncclGetErrorString(ncclResult_t result);
const char* pncclGetErrorString(ncclResult_t result);

/* What was wrong lately in this process, in a sentence; "" if nothing was. comm may be NULL. Any thread. */
const char* ncclGetLastError(ncclComm_t comm);
const char* pncclGetLastError(ncclComm_t comm);

/* Reads NCCL_DEBUG and its like again. Deprecated. */
void ncclResetDebugInit(void);
void pncclResetDebugInit(void);

/* ---- Communicators ---- */

/* Makes the id of a new communicator and, in this process, the root where its ranks meet. */
ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId);
ncclResult_t pncclGetUniqueId(ncclUniqueId* uniqueId);

/* Makes this process's (thread's) rank of a communicator. Waits for all ranks; inside a group, at its end. */
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);
ncclResult_t pncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);

/* The same with options; config may be NULL. */
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config);
ncclResult_t pncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                     ncclConfig_t* config);

/* The same with several roots: nId ids, equal on all ranks. */
ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config);
ncclResult_t pncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                       ncclUniqueId* commIds, ncclConfig_t* config);

/* Makes all ndev ranks of a communicator in this thread. devlist may be NULL; host memory has no devices. */
ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);
ncclResult_t pncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);

/* Waits for everything issued. Afterwards only ncclCommDestroy and ncclCommAbort are allowed. */
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t pncclCommFinalize(ncclComm_t comm);

/* Finalizes if that was not done, then frees. NULL is fine. */
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t pncclCommDestroy(ncclComm_t comm);

/* Ends whatever is under way with an error, also a call that blocks in another thread, then frees. NULL is
 * fine. */
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t pncclCommAbort(ncclComm_t comm);

/* Ends what is under way but keeps the communicator for ncclCommSplit, ncclCommShrink and ncclCommDestroy. */
ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags);
ncclResult_t pncclCommRevoke(ncclComm_t comm, int revokeFlags);

/* Makes communicators of the ranks of equal color, ordered by key, then by rank. Called by all ranks of comm;
 * those with NCCL_SPLIT_NOCOLOR get NULL. config NULL: as the parent. */
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config);
ncclResult_t pncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config);

/* Makes a communicator without some ranks. Called only by those that stay. */
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                            ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags);
ncclResult_t pncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                             ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags);

/* Success, ncclInProgress, or the first error. Any thread, any time. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);
ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count);
ncclResult_t pncclCommCount(const ncclComm_t comm, int* count);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device);
ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int* device);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);
ncclResult_t pncclCommUserRank(const ncclComm_t comm, int* rank);

/* ---- Memory ---- */

/* Memory that other processes of the machine can map: collectives on it copy less. */
ncclResult_t ncclMemAlloc(void** ptr, size_t size);
ncclResult_t pncclMemAlloc(void** ptr, size_t size);
ncclResult_t ncclMemFree(void* ptr);
ncclResult_t pncclMemFree(void* ptr);

/* Announces a buffer. The handle may be NULL: success without effect. */
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);
ncclResult_t pncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle);
ncclResult_t pncclCommDeregister(const ncclComm_t comm, void* handle);

/* Makes memory of this rank one that others may write (ncclPutSignal), and that peers use directly where they
 * can map it. Waits for nobody; all ranks register in the same order. The memory must stay until it is
 * deregistered. */
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                    int winFlags);
ncclResult_t pncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                     int winFlags);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);
ncclResult_t pncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);

/* ---- Operators ---- */

/* Makes an operator of this communicator that multiplies each input by *scalar (of that type) and sums. */
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t pncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                       ncclScalarResidence_t residence, ncclComm_t comm);
/* May be called as soon as the calls that use it have returned, also before ncclGroupEnd. */
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);
ncclResult_t pncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

/* ---- Collectives: all ranks of comm call them, in the same order, with the same arguments ---- */

/* recvbuff of root = reduction of all sendbuff. In place: sendbuff == recvbuff. */
ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);

/* buff of every rank = buff of root. */
ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream);
ncclResult_t pncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                        cudaStream_t stream);

/* recvbuff of every rank = sendbuff of root. In place: sendbuff == recvbuff. */
ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                            int root, ncclComm_t comm, cudaStream_t stream);

/* recvbuff of every rank = reduction of all sendbuff. In place: sendbuff == recvbuff. */
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);

/* recvbuff of rank i = block i of the reduction; blocks of recvcount. In place: recvbuff == sendbuff + rank
 * blocks. */
ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                cudaStream_t stream);

/* Block i of recvbuff = sendbuff of rank i; blocks of sendcount. In place: sendbuff == recvbuff + rank
 * blocks. */
ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                            ncclComm_t comm, cudaStream_t stream);

/* Block i of recvbuff = block `own rank` of rank i's sendbuff; blocks of count. Not in place. */
ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                          ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream);

/* Block i of root's recvbuff = sendbuff of rank i; blocks of count. In place: sendbuff == recvbuff + root
 * blocks. */
ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                        ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         int root, ncclComm_t comm, cudaStream_t stream);

/* recvbuff of rank i = block i of root's sendbuff; blocks of count. In place: recvbuff == sendbuff + root
 * blocks. */
ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                          int root, ncclComm_t comm, cudaStream_t stream);

/* ---- Point to point: sends and receives that wait for each other belong in one group ---- */

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t pncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream);
ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t pncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                       cudaStream_t stream);

/* ---- Groups: per thread; what lies between is carried out together at the outermost end ---- */

ncclResult_t ncclGroupStart(void);
ncclResult_t pncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t pncclGroupEnd(void);
/* Ends the group without carrying it out and predicts the time that it would take, by the costs that choose
 * plans. NULL: as ncclGroupEnd. ncclInvalidUsage where a rank uses a GPU, and for groups of set-up calls. */
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo);
ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t* simInfo);

#ifdef WEIR_NCCL_2_30
/* ---- Since NCCL 2.29 ---- */

#define NCCL_SUSPEND_MEM 0x01
#define NCCL_WIN_STRICT_ORDERING 0x02

typedef struct {
  int opCnt;
  int peer;
  int sigIdx;
  int ctx;
} ncclWaitSignalDesc_t;

typedef enum {
  ncclStatGpuMemSuspend = 0,   /* what ncclCommSuspend gives back, or gave */
  ncclStatGpuMemSuspended = 1, /* 1 while it is suspended, else 0 */
  ncclStatGpuMemPersist = 2,   /* what it keeps: nothing that is counted */
  ncclStatGpuMemTotal = 3      /* both */
} ncclCommMemStat_t;

/* Makes the id by which a communicator grows; of one of its ranks, the coordinator. */
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);
ncclResult_t pncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);
/* Makes a communicator of comm's ranks, which keep theirs, and of newcomers up to nRanks. Ranks of comm pass
 * rank -1, and one of them the id of ncclCommGetUniqueId, the others NULL; newcomers pass NULL for comm, the
 * id and their rank. Waits for all; comm goes on. config NULL: ranks of comm have its, newcomers the
 * defaults. */
ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                          ncclComm_t* newcomm, ncclConfig_t* config);
ncclResult_t pncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                           ncclComm_t* newcomm, ncclConfig_t* config);
/* Gives back the memory, channels and connections of a communicator once nothing is under way, until
 * ncclCommResume makes them again. Both are called by all ranks. Meanwhile it can be asked, finalized,
 * aborted and destroyed; all else gives ncclInvalidUsage. flags: NCCL_SUSPEND_MEM. */
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t pncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t ncclCommResume(ncclComm_t comm);
ncclResult_t pncclCommResume(ncclComm_t comm);
/* Bytes that the communicator holds for this rank, or gave back when it was suspended: pages in use of memory
 * that ranks of a host share, and what it took of the GPU. Any thread. */
ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value);
ncclResult_t pncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value);
/* The memory of a window. */
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr);
ncclResult_t pncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr);

/* Writes into a window of the peer, the one that it registered as peerWin was here, then raises signal sigIdx
 * of ctx of this rank at the peer, which need not be in a call. Done when both have arrived. Host memory.
 * flags: 0. */
ncclResult_t ncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                           ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                           unsigned int flags, ncclComm_t comm, cudaStream_t stream);
ncclResult_t pncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                            ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                            unsigned int flags, ncclComm_t comm, cudaStream_t stream);
/* Raises a signal alone. */
ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        cudaStream_t stream);
ncclResult_t pncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                         cudaStream_t stream);
/* Waits until opCnt signals have come for each entry, and takes them off. What was put before them is there.
 * The list is read before this returns. */
ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                            cudaStream_t stream);
ncclResult_t pncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                             cudaStream_t stream);

/* ---- Since NCCL 2.30: parameters (the variables of the environment) by name ---- */

typedef struct ncclParamHandle ncclParamHandle_t;

ncclResult_t ncclParamBind(ncclParamHandle_t** out, const char* key);
ncclResult_t pncclParamBind(ncclParamHandle_t** out, const char* key);
ncclResult_t ncclParamGetI8(ncclParamHandle_t* handle, int8_t* out);
ncclResult_t pncclParamGetI8(ncclParamHandle_t* handle, int8_t* out);
ncclResult_t ncclParamGetI16(ncclParamHandle_t* handle, int16_t* out);
ncclResult_t pncclParamGetI16(ncclParamHandle_t* handle, int16_t* out);
ncclResult_t ncclParamGetI32(ncclParamHandle_t* handle, int32_t* out);
ncclResult_t pncclParamGetI32(ncclParamHandle_t* handle, int32_t* out);
ncclResult_t ncclParamGetI64(ncclParamHandle_t* handle, int64_t* out);
ncclResult_t pncclParamGetI64(ncclParamHandle_t* handle, int64_t* out);
ncclResult_t ncclParamGetU8(ncclParamHandle_t* handle, uint8_t* out);
ncclResult_t pncclParamGetU8(ncclParamHandle_t* handle, uint8_t* out);
ncclResult_t ncclParamGetU16(ncclParamHandle_t* handle, uint16_t* out);
ncclResult_t pncclParamGetU16(ncclParamHandle_t* handle, uint16_t* out);
ncclResult_t ncclParamGetU32(ncclParamHandle_t* handle, uint32_t* out);
ncclResult_t pncclParamGetU32(ncclParamHandle_t* handle, uint32_t* out);
ncclResult_t ncclParamGetU64(ncclParamHandle_t* handle, uint64_t* out);
ncclResult_t pncclParamGetU64(ncclParamHandle_t* handle, uint64_t* out);
ncclResult_t ncclParamGetStr(ncclParamHandle_t* handle, const char** out);
ncclResult_t pncclParamGetStr(ncclParamHandle_t* handle, const char** out);
ncclResult_t ncclParamGet(ncclParamHandle_t* handle, void* out, int maxLen, int* len);
ncclResult_t pncclParamGet(ncclParamHandle_t* handle, void* out, int maxLen, int* len);
ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* valueLen);
ncclResult_t pncclParamGetParameter(const char* key, const char** value, int* valueLen);
ncclResult_t ncclParamGetAllParameterKeys(const char*** table, int* tableLen);
ncclResult_t pncclParamGetAllParameterKeys(const char*** table, int* tableLen);
void ncclParamDumpAll(void);
void pncclParamDumpAll(void);
#endif /* WEIR_NCCL_2_30 */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NCCL_H_ */
