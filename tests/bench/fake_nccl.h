// SPDX-License-Identifier: Apache-2.0
/// Controls of the fake libnccl.
#pragma once

namespace weir::testing {

/// What the environment variable FAKE_NCCL asks the fake to do wrong, comma-separated:
///   corrupt   the first byte of every result of rank 1 is inverted
///   fail      every collective returns ncclInternalError
///   hang      rank 1 never comes to its collectives, until it is aborted
///   no_memory ncclMemAlloc returns ncclSystemError
inline constexpr const char* kFakeVariable = "FAKE_NCCL";

}  // namespace weir::testing
