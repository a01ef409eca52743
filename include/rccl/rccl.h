// SPDX-License-Identifier: Apache-2.0
/// RCCL's C interface, as weir offers it: the interface of nccl.h with hipStream_t instead of cudaStream_t,
/// and RCCL's own functions.
///
/// Compiles as C (C11) and C++. Where HIP is on the include path and its platform is chosen (hipcc does; else
/// __HIP_PLATFORM_AMD__ or __HIP_PLATFORM_NVIDIA__) it includes HIP's headers; without, or with WEIR_NO_HIP
/// defined, it needs nothing. A source file includes either this header or nccl.h.
#ifndef RCCL_H_
#define RCCL_H_

#ifdef NCCL_H_
#error "include either nccl.h or rccl/rccl.h, not both: they declare the same functions for different streams"
#endif

#if !defined(WEIR_NO_HIP) && defined(__has_include) && \
    (defined(__HIP_PLATFORM_AMD__) || defined(__HIP_PLATFORM_NVIDIA__))
#if __has_include(<hip/hip_runtime_api.h>) && __has_include(<hip/hip_fp16.h>)
#define WEIR_RCCL_FOUND_HIP 1
#endif
#endif

#ifdef WEIR_RCCL_FOUND_HIP
#include <hip/hip_fp16.h>
#include <hip/hip_runtime_api.h>
#else
typedef struct ihipStream_t* hipStream_t; /* the same declarations as in hip_runtime_api.h */
typedef struct ihipEvent_t* hipEvent_t;
#endif

#define WEIR_NCCL_WITH_HIP 1
#define cudaStream_t hipStream_t
#define cudaEvent_t hipEvent_t
#include "../nccl.h"
#undef cudaEvent_t
#undef cudaStream_t

/* Macros that clients check at compile time. */
#define RCCL_BFLOAT16 1
#define RCCL_FLOAT8 1
#define RCCL_GATHER_SCATTER 1
#define RCCL_ALLTOALLV 1
#define RCCL_ALLREDUCE_WITH_BIAS 1
#define RCCL_SUSPEND_RESUME 1

/* The names in RCCL before 2.25. */
#define ncclFp8E4M3 ncclFloat8e4m3
#define ncclFp8E5M2 ncclFloat8e5m2

#ifdef __cplusplus
extern "C" {
#endif

/* ncclAlltoAll in RCCL's original spelling. */
ncclResult_t ncclAllToAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                          ncclComm_t comm, hipStream_t stream);
ncclResult_t pncclAllToAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclComm_t comm, hipStream_t stream);

/* sendcounts[i] elements from sdispls[i] on go to rank i; recvcounts[i] elements from rank i arrive at
 * rdispls[i]. Counts and displacements are in elements. Not in place. */
ncclResult_t ncclAlltoAllv(const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                           void* recvbuff, const size_t recvcounts[], const size_t rdispls[],
                           ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream);
ncclResult_t pncclAlltoAllv(const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                            void* recvbuff, const size_t recvcounts[], const size_t rdispls[],
                            ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream);
ncclResult_t ncclAllToAllv(const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                           void* recvbuff, const size_t recvcounts[], const size_t rdispls[],
                           ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream);
ncclResult_t pncclAllToAllv(const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                            void* recvbuff, const size_t recvcounts[], const size_t rdispls[],
                            ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream);

/* As ncclAllReduce; the result is then combined with acc (count elements of this rank; may be NULL). */
ncclResult_t ncclAllReduceWithBias(const void* sendbuff, void* recvbuff, size_t count,
                                   ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                   hipStream_t stream, const void* acc);
ncclResult_t pncclAllReduceWithBias(const void* sendbuff, void* recvbuff, size_t count,
                                    ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                    hipStream_t stream, const void* acc);

/* Plans of MSCCL's files, which RCCL has ignored since 2.28: loaded and proven, run as a collective,
 * forgotten. Counts and displacements by rank must be NULL. */
typedef int mscclAlgoHandle_t;
ncclResult_t mscclLoadAlgo(const char* mscclAlgoFilePath, mscclAlgoHandle_t* mscclAlgoHandle, int rank);
ncclResult_t pmscclLoadAlgo(const char* mscclAlgoFilePath, mscclAlgoHandle_t* mscclAlgoHandle, int rank);
ncclResult_t mscclRunAlgo(const void* sendBuff, const size_t sendCounts[], const size_t sDisPls[],
                          void* recvBuff, const size_t recvCounts[], const size_t rDisPls[], size_t count,
                          ncclDataType_t dataType, int root, int peer, ncclRedOp_t op,
                          mscclAlgoHandle_t mscclAlgoHandle, ncclComm_t comm, hipStream_t stream);
ncclResult_t pmscclRunAlgo(const void* sendBuff, const size_t sendCounts[], const size_t sDisPls[],
                           void* recvBuff, const size_t recvCounts[], const size_t rDisPls[], size_t count,
                           ncclDataType_t dataType, int root, int peer, ncclRedOp_t op,
                           mscclAlgoHandle_t mscclAlgoHandle, ncclComm_t comm, hipStream_t stream);
ncclResult_t mscclUnloadAlgo(mscclAlgoHandle_t mscclAlgoHandle);
ncclResult_t pmscclUnloadAlgo(mscclAlgoHandle_t mscclAlgoHandle);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* RCCL_H_ */
