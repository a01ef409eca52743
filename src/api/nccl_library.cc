// SPDX-License-Identifier: Apache-2.0
// Calls about the library itself: version, names of results, the last error.
#include "src/api/process.h"
#include "src/base/log.h"
#include "src/core/communicator/process_plugins.h"

using namespace weir;
using namespace weir::api;

ncclResult_t pncclGetVersion(int* version) {
  return report([&] {
    if (version == nullptr) return null_argument("ncclGetVersion", "version");
    *version = static_cast<int>(runtime().options().nccl_version);
    return Status();
  });
}
WEIR_WEAK_ALIAS(ncclGetVersion);

const char* pncclGetErrorString(ncclResult_t result) {
  switch (number(result)) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError: return "internal error - please report this issue to the weir developers";
    case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    case ncclTimeout: return "timeout";
    default: return "unknown result code";
  }
}
WEIR_WEAK_ALIAS(ncclGetErrorString);

const char* pncclGetLastError(ncclComm_t) { return last_error(); }
WEIR_WEAK_ALIAS(ncclGetLastError);

void pncclResetDebugInit() {
  report([] {
    configure_log(core::read_options(WEIR_VERSION).log);
    return Status();
  });
}
WEIR_WEAK_ALIAS(ncclResetDebugInit);

// NCCL exports this function without a p name.
extern "C" __attribute__((visibility("default"))) void ncclResetDebugInitInternal() { pncclResetDebugInit(); }
