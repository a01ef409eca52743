// SPDX-License-Identifier: Apache-2.0
/// The kernel of row operations, compiled as CUDA, and for the host, where fakes of the GPU driver run it.
#include "trainer/math/gpu/row_items.h"

namespace {

using weir::trainer::Index;
using weir::trainer::gpu::KernelCall;
using weir::trainer::gpu::RowLaunch;

/// Runs the items of one team out of `teams`.
template <typename Call>
WEIR_TRAINER_INLINE void run_items(const Call& call, Index team, Index teams) {
  const Index count = weir::trainer::gpu::items(call);
  for (Index item = team; item < count; item += teams) weir::trainer::gpu::run_item(call, item);
}

template <size_t kKind = 0>
WEIR_TRAINER_INLINE void run_team(const RowLaunch& launch, Index team, Index teams) {
  if constexpr (kKind < std::variant_size_v<KernelCall>) {
    if (launch.kind == kKind)
      run_items(*reinterpret_cast<const std::variant_alternative_t<kKind, KernelCall>*>(launch.call), team,
                teams);
    else
      run_team<kKind + 1>(launch, team, teams);
  }
}

}  // namespace

#if defined(__CUDACC__)
extern "C" __global__ __launch_bounds__(256) void weir_train_rows(const __grid_constant__ RowLaunch launch) {
  const Index teams = blockDim.x / weir::trainer::kLanes;
  run_team(launch, blockIdx.x * teams + threadIdx.x / weir::trainer::kLanes, gridDim.x * teams);
}
#else
// A block is one thread and one team. The fake driver has no code object to query, so the size of the
// argument is exported beside the kernel.
extern "C" {
extern __attribute__((visibility("default"))) const size_t weir_train_rows_argument_bytes = sizeof(RowLaunch);
__attribute__((visibility("default"))) void weir_train_rows(const void* launch, uint32_t block,
                                                            uint32_t blocks) {
  run_team(*static_cast<const RowLaunch*>(launch), block, blocks);
}
}
#endif
