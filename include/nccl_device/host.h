// SPDX-License-Identifier: Apache-2.0
/// The types and host functions of NCCL's device interface, as of NCCL 2.32.3. C11 and C++.
///
/// weir's kernels do not offer this interface to others: ncclCommQueryProperties says so (deviceApiSupport),
/// and ncclDevCommCreate returns ncclInvalidUsage. Everything around it exists, so that programs that use the
/// interface where it is supported compile, start and can choose another way: requirements are accepted,
/// teams have members. Layouts are those that kernels compiled against NCCL's headers expect.
///
/// Every function also exists with the prefix p (not declared here). Unless stated otherwise, functions are
/// thread-safe.
/// Tests: tests/preload/interface_test.cc, tests/api/vendor_headers_test.py
#ifndef NCCL_DEVICE_HOST_H_
#define NCCL_DEVICE_HOST_H_

#include <nccl.h>
#include <stdbool.h>

#ifdef __cplusplus
#define NCCL_EXTERN_C extern "C"
#else
#define NCCL_EXTERN_C
#endif

/* ---- Teams ---- */

/* Some ranks of a communicator, at equal distances; rank: the caller's place among them. */
typedef struct ncclTeam {
  int nRanks, rank, stride;
} ncclTeam_t;

typedef enum {
  NCCL_CFT_TEAM_FLAT = 0,
  NCCL_CFT_TEAM_HIER_MULTIMEM = 1,
  NCCL_CFT_TEAM_HIER_LSA = 2
} ncclCftTeamMode_t;

/* ---- Memory that kernels share: numbers of it, and what a communicator for kernels is asked to have ---- */

typedef uint32_t ncclDevResourceHandle;
typedef ncclDevResourceHandle ncclDevResourceHandle_t;
typedef uint32_t ncclGinSignal_t;
typedef uint32_t ncclGinCounter_t;
typedef uint32_t ncclCftLeId;
typedef ncclCftLeId ncclCftLeId_t;
#define NCCL_LE_ID_INVALID ((ncclCftLeId_t)-1)

#define NCCL_GIN_MAX_CONNECTIONS 4
#define NCCL_GIN_MAX_ACTIVE_BACKENDS 4

typedef enum {
  NCCL_GIN_CONNECTION_NONE = 0,
  NCCL_GIN_CONNECTION_FULL = 1,
  NCCL_GIN_CONNECTION_RAIL = 2,
  NCCL_GIN_CONNECTION_CUSTOM_STRIDE = 3
} ncclGinConnectionType_t;

typedef enum {
  NCCL_GIN_TYPE_NONE = 0, /* none, or any */
  NCCL_GIN_TYPE_PROXY = 2,
  NCCL_GIN_TYPE_GDAKI = 3,
  NCCL_GIN_TYPE_GPI = 4,
  NCCL_GIN_TYPE_EFA_GDA = 5,
  NCCL_GIN_MAX_TYPES = 6
} ncclGinType_t;

typedef enum { NCCL_CFT_NONE = 0, NCCL_CFT = 1, NCCL_CFT_MULTIMEM = 2 } ncclCftCap_t;

typedef struct {
  uint64_t opaque[2];
} ncclGinRequest_t;

/* Handles, which the functions below fill in, and kernels read. */
typedef struct ncclMultimemHandle {
  void* mcBasePtr;
} ncclMultimemHandle_t;
typedef struct ncclLsaBarrierHandle {
  ncclDevResourceHandle_t bufHandle;
  int nBarriers;
} ncclLsaBarrierHandle_t;
typedef struct ncclGinBarrierHandle {
  ncclGinSignal_t signal0;
  ncclDevResourceHandle_t unused;
} ncclGinBarrierHandle_t;
typedef struct ncclCftBarrierHandle {
  ncclDevResourceHandle_t bufHandle;
  int nBarriers;
} ncclCftBarrierHandle_t;
typedef struct ncclLLA2AHandle {
  ncclDevResourceHandle_t bufHandle;
  uint32_t nSlots;
} ncclLLA2AHandle_t;
typedef struct ncclGinOutboxHandle {
  ncclDevResourceHandle bufHandle;
  uint32_t size_log2;
} ncclGinOutboxHandle_t;
typedef struct ncclGinInboxA2AHandle {
  ncclDevResourceHandle bufHandle;
  ncclGinSignal_t signals;
  uint32_t size_log2;
  uint32_t nPeers_rcp32;
} ncclGinInboxA2AHandle_t;

/* One requirement: memory, signals and counters, of which the communicator writes the numbers to where the
 * pointers point, unless they are NULL. */
typedef struct ncclDevResourceRequirements {
  struct ncclDevResourceRequirements* next;
  size_t bufferSize, bufferAlign;
  ncclDevResourceHandle_t* outBufferHandle;
  int ginSignalCount;
  int ginCounterCount;
  ncclGinSignal_t* outGinSignalStart;
  ncclGinCounter_t* outGinCounterStart;
} ncclDevResourceRequirements_t;

typedef struct ncclTeamRequirements {
  struct ncclTeamRequirements* next;
  ncclTeam_t team;
  bool multimem;
  ncclMultimemHandle_t* outMultimemHandle;
} ncclTeamRequirements_t;

typedef struct ncclDevCommRequirements {
  size_t size; /* set by the initializer, like magic and version */
  unsigned int magic;
  unsigned int version;
  ncclDevResourceRequirements_t* resourceRequirementsList;
  ncclTeamRequirements_t* teamRequirementsList;
  bool lsaMultimem;
  int barrierCount;
  int lsaBarrierCount;
  int railGinBarrierCount;
  int lsaLLA2ABlockCount, lsaLLA2ASlotCount;
  bool ginForceEnable;
  int ginContextCount;
  int ginSignalCount;
  int ginCounterCount;
  ncclGinConnectionType_t ginConnectionType;
  bool ginExclusiveContexts;
  int ginQueueDepth;
  int ginTrafficClass;
  int worldGinBarrierCount;
  bool ginStrongSignalsRequired;
  bool ginVaSignalsRequired;
  int ginCustomStride;
  ncclGinType_t ginType;
  bool useRuntimeVersion;
  int cftCaps; /* of ncclCftCap_t */
  int cftBarrierCount;
} ncclDevCommRequirements_t;

#define NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER                                                              \
  {                                                                                                         \
    sizeof(ncclDevCommRequirements_t), NCCL_API_MAGIC, NCCL_VERSION_CODE, NULL, NULL, false, 0, 0, 0, 0, 0, \
        false, 4, 0, 0, NCCL_GIN_CONNECTION_NONE, false, 0, NCCL_CONFIG_UNDEF_INT, 0, true, true, 1,        \
        NCCL_GIN_TYPE_NONE, false, NCCL_CFT_NONE, 0                                                         \
  }

/* ---- The communicator that kernels get, by value ---- */

typedef struct ncclWindow_vidmem ncclWindow_vidmem_t;
typedef struct ncclDevCommWindowTable* ncclDevCommWindowTable_t;
typedef struct ncclResourceWindow_vidmem {
  char* lsaFlatBase;
  uint32_t stride4G;
  uint32_t mcOffset4K;
} ncclResourceWindow_vidmem_t;

typedef struct ncclDevComm {
  unsigned int magic;
  unsigned int version;
  int rank, nRanks;
  uint32_t nRanks_rcp32;
  int lsaRank, lsaSize;
  uint32_t lsaSize_rcp32;
  ncclDevCommWindowTable_t windowTable;
  ncclWindow_t resourceWindow;
  ncclResourceWindow_vidmem_t resourceWindow_inlined;
  ncclGinBarrierHandle_t hybridDenseGinBarrier;
  ncclMultimemHandle_t lsaMultimem;
  ncclLsaBarrierHandle_t lsaBarrier;
  ncclGinBarrierHandle_t railGinBarrier;
  uint8_t ginConnectionCount;
  uint8_t backendIndex;
  uint8_t ginNetDeviceTypes[NCCL_GIN_MAX_CONNECTIONS];
  void* ginHandles[NCCL_GIN_MAX_CONNECTIONS];
  int ginSignalCount;
  int ginCounterCount;
  uint64_t* ginSignalShadows;
  uint32_t ginContextCount;
  int ginConnectionStride;
  int ginContextStride;
  bool ginStrongLegacySignals;
  uint32_t* abortFlag;
  ncclLsaBarrierHandle_t hybridLsaBarrier;
  ncclGinBarrierHandle_t hybridRailGinBarrier;
  ncclGinBarrierHandle_t worldGinBarrier;
  uint32_t ginConnectionStride_rcp32;
  int cftRank, cftSize;
  int cftMultimemRank, cftMultimemSize;
  uint32_t cftMultimemSize_rcp32;
  ncclCftLeId ucLeId;
  ncclCftLeId mcLeId;
  ncclCftBarrierHandle_t cftBarrier;
  ncclCftBarrierHandle_t cftMultimemBarrier;
} ncclDevComm_t;

/* What a communicator offers. */
typedef struct ncclCommProperties {
  size_t size; /* set by the initializer, like magic and version */
  unsigned int magic;
  unsigned int version;
  int rank;
  int nRanks;
  int cudaDev;
  int nvmlDev;
  bool deviceApiSupport; /* whether ncclDevCommCreate can succeed: never */
  bool multimemSupport;
  ncclGinType_t ginType;
  int nLsaTeams;
  bool hostRmaSupport; /* whether ncclPutSignal and the like can succeed: if no rank's process uses GPUs */
  ncclGinType_t railedGinType;
  uint64_t commHash; /* always 0 */
  int ginMinStride;
  ncclGinConnectionType_t ginConnectionType;
  bool ginSupport[64]; /* by ncclGinType_t */
  size_t devCommRuntimeVersionSize;
  bool cftSupport;
  bool cftMulticastSupport;
  bool cftCountedSupport;
} ncclCommProperties_t;

#define NCCL_COMM_PROPERTIES_INITIALIZER                                                                     \
  {                                                                                                          \
    sizeof(ncclCommProperties_t), NCCL_API_MAGIC, NCCL_VERSION_CODE, 0, 0, 0, 0, false, false,               \
        NCCL_GIN_TYPE_NONE, 0, false, NCCL_GIN_TYPE_NONE, 0, 0, NCCL_GIN_CONNECTION_NONE, {false}, 0, false, \
        false, false                                                                                         \
  }

/* Writes as much of the properties as the caller's struct holds. */
NCCL_EXTERN_C ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t* props);

/* ncclInvalidUsage. */
NCCL_EXTERN_C ncclResult_t ncclDevCommCreate(ncclComm_t comm, const ncclDevCommRequirements_t* reqs,
                                             ncclDevComm_t* outDevComm);
NCCL_EXTERN_C ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const ncclDevComm_t* devComm);

/* ---- Teams of a communicator; one without ranks if it is not valid ---- */

NCCL_EXTERN_C ncclTeam_t ncclTeamWorld(ncclComm_t comm);
/* Ranks that can access each other's memory from kernels: each rank alone. */
NCCL_EXTERN_C ncclTeam_t ncclTeamLsa(ncclComm_t comm);
/* One rank of each of these teams: all ranks. */
NCCL_EXTERN_C ncclTeam_t ncclTeamRail(ncclComm_t comm);
/* Each rank alone. */
#ifdef __cplusplus
NCCL_EXTERN_C ncclTeam_t ncclTeamCft(ncclComm_t comm, ncclCftTeamMode_t mode = NCCL_CFT_TEAM_FLAT);
#else
NCCL_EXTERN_C ncclTeam_t ncclTeamCft(ncclComm_t comm, ncclCftTeamMode_t mode);
#endif
NCCL_EXTERN_C ncclTeam_t ncclTeamCftMultimem(ncclComm_t comm);
/* The rank, or the place in ncclTeamLsa, of the member `rank` of a team. */
NCCL_EXTERN_C int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank);
NCCL_EXTERN_C int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank);

/* ---- Requirements: what barriers and mailboxes of so many blocks take. They fill in both structs; the
 * handle must not move before ncclDevCommCreate. ncclInvalidArgument for NULL and numbers out of range. ----
 */

NCCL_EXTERN_C ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t team, int nBarriers,
                                                           ncclLsaBarrierHandle_t* outHandle,
                                                           ncclDevResourceRequirements_t* outReq);
NCCL_EXTERN_C ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t comm, ncclTeam_t team, int nBarriers,
                                                           ncclGinBarrierHandle_t* outHandle,
                                                           ncclDevResourceRequirements_t* outReq);
NCCL_EXTERN_C ncclResult_t ncclCftBarrierCreateRequirement(ncclTeam_t team, int nBarriers,
                                                           ncclCftBarrierHandle_t* outHandle,
                                                           ncclDevResourceRequirements_t* outReq);
NCCL_EXTERN_C int ncclLLA2ACalcSlots(int maxElts, int maxEltSize);
NCCL_EXTERN_C ncclResult_t ncclLLA2ACreateRequirement(int nBlocks, int nSlots, ncclLLA2AHandle_t* outHandle,
                                                      ncclDevResourceRequirements_t* outReq);
NCCL_EXTERN_C ncclResult_t ncclGinOutboxCreateRequirement(int nBlocks, int size_log2,
                                                          ncclGinOutboxHandle_t* outHandle,
                                                          ncclDevResourceRequirements_t* outReq);
NCCL_EXTERN_C ncclResult_t ncclGinInboxA2ACreateRequirement(ncclTeam_t peers, int nBlocks, int size_log2,
                                                            ncclGinInboxA2AHandle_t* outHandle,
                                                            ncclDevResourceRequirements_t* outReq);

/* ---- Addresses of windows for kernels: ncclInvalidUsage, and NULL or NCCL_LE_ID_INVALID ---- */

NCCL_EXTERN_C ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset, void** outPtr);
NCCL_EXTERN_C ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t window, size_t offset,
                                                        ncclMultimemHandle_t multimem, void** outPtr);
NCCL_EXTERN_C ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t window, size_t offset, int lsaRank,
                                                   void** outPtr);
NCCL_EXTERN_C ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer,
                                                    void** outPtr);
NCCL_EXTERN_C ncclResult_t ncclGetMultimemDeviceLeInfo(ncclWindow_t window, size_t offset, ncclCftLeId* leId,
                                                       size_t* leOffset);
NCCL_EXTERN_C ncclResult_t ncclGetCftDeviceLeInfo(ncclWindow_t window, size_t offset, int peerCft,
                                                  ncclTeam_t cftTeam, ncclCftLeId* leId, size_t* leOffset);
NCCL_EXTERN_C ncclResult_t ncclGetPeerDeviceLeInfo(ncclWindow_t window, size_t offset, int peerWorld,
                                                   ncclCftLeId* leId, size_t* leOffset);

#endif /* NCCL_DEVICE_HOST_H_ */
