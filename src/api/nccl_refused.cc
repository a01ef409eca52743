// Functions that are there so that programs load, and that weir does not offer: each says what to use
// instead.
#include "src/api/process.h"

using weir::api::refuse;

ncclResult_t pncclCommGetUniqueId(ncclComm_t, ncclUniqueId*) {
  return refuse("ncclCommGetUniqueId", "communicators do not grow; use ncclGetUniqueId and ncclCommInitRank");
}
WEIR_WEAK_ALIAS(ncclCommGetUniqueId);

ncclResult_t pncclCommGrow(ncclComm_t, int, const ncclUniqueId*, int, ncclComm_t* newcomm, ncclConfig_t*) {
  if (newcomm != nullptr) *newcomm = nullptr;
  return refuse("ncclCommGrow", "make a new communicator of all ranks with ncclCommInitRank");
}
WEIR_WEAK_ALIAS(ncclCommGrow);

ncclResult_t pncclCommSuspend(ncclComm_t, int) {
  return refuse("ncclCommSuspend", "destroy the communicator and make it again later");
}
WEIR_WEAK_ALIAS(ncclCommSuspend);

ncclResult_t pncclCommResume(ncclComm_t) {
  return refuse("ncclCommResume", "destroy the communicator and make it again later");
}
WEIR_WEAK_ALIAS(ncclCommResume);

ncclResult_t pncclCommMemStats(ncclComm_t, ncclCommMemStat_t, uint64_t*) {
  return refuse("ncclCommMemStats", "it counts memory of GPUs, and weir uses memory of the host");
}
WEIR_WEAK_ALIAS(ncclCommMemStats);

ncclResult_t pncclWinGetUserPtr(ncclComm_t, ncclWindow_t, void** outUserPtr) {
  if (outUserPtr != nullptr) *outUserPtr = nullptr;
  return refuse("ncclWinGetUserPtr", "windows have no handles here; keep the pointer of ncclMemAlloc");
}
WEIR_WEAK_ALIAS(ncclWinGetUserPtr);

ncclResult_t pncclPutSignal(const void*, size_t, ncclDataType_t, int, ncclWindow_t, size_t, int, int,
                            unsigned int, ncclComm_t, cudaStream_t) {
  return refuse("ncclPutSignal", "use ncclSend and ncclRecv");
}
WEIR_WEAK_ALIAS(ncclPutSignal);

ncclResult_t pncclSignal(int, int, int, unsigned int, ncclComm_t, cudaStream_t) {
  return refuse("ncclSignal", "use ncclSend and ncclRecv with a count of 0");
}
WEIR_WEAK_ALIAS(ncclSignal);

ncclResult_t pncclWaitSignal(int, ncclWaitSignalDesc_t*, ncclComm_t, cudaStream_t) {
  return refuse("ncclWaitSignal", "use ncclSend and ncclRecv with a count of 0");
}
WEIR_WEAK_ALIAS(ncclWaitSignal);
