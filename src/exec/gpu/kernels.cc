// SPDX-License-Identifier: Apache-2.0
/// The kernels, compiled as CUDA, as HIP and for the host. See launch.h.
#include "src/exec/gpu/lane.h"
#include "src/exec/gpu/move_launch.h"
#include "src/exec/gpu/pairs.h"

#if defined(__CUDACC__)
#define WEIR_KERNEL extern "C" __global__ __launch_bounds__(512, 1) void
#define WEIR_ARGUMENT __grid_constant__
#elif defined(__HIP__)
#define WEIR_KERNEL extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256))) void
#define WEIR_ARGUMENT
#else
#define WEIR_KERNEL extern "C" __attribute__((visibility("default"))) void
#endif

namespace {

using weir::exec::gpu::Launch;
using weir::exec::gpu::MoveLaunch;
using weir::exec::gpu::PairsLaunch;
using weir::exec::gpu::RingProtocol;

static_assert(weir::exec::gpu::kMostThreads == 512 && weir::exec::gpu::kMostThreadsOfAmd == 256);

template <RingProtocol kProtocol>
WEIR_DEVICE void run_block(const Launch& launch, uint32_t host_block) {
  WEIR_SHARED weir::exec::gpu::LaneTransfer shared;
  WEIR_SHARED weir::device::BarrierWords words;
  weir::device::Block block = weir::device::Block::current(host_block, words);
  weir::exec::gpu::LaneRun<kProtocol>(launch, block, shared).run();
}

/// The only argument of a kernel, in the driver's argument memory. A pointer to it avoids that HIP's compiler
/// copies indexed parts for each thread.
template <typename T>
WEIR_DEVICE const T& as_passed([[maybe_unused]] const T& argument) {
#if defined(__HIP_DEVICE_COMPILE__)
  return *(const T*)__builtin_amdgcn_kernarg_segment_ptr();
#else
  return argument;
#endif
}

WEIR_DEVICE void run_pairs(const PairsLaunch& launch, uint32_t host_block) {
  WEIR_SHARED weir::exec::gpu::PairCopy shared;
  WEIR_SHARED weir::device::BarrierWords words;
  weir::device::Block block = weir::device::Block::current(host_block, words);
  weir::exec::gpu::PairsRun(launch, block, shared).run();
}

/// Runs one move; all blocks together act as one large block.
WEIR_DEVICE void run_move(const MoveLaunch& launch, uint32_t host_block) {
  WEIR_SHARED weir::device::BarrierWords words;
  weir::device::Block all = weir::device::Block::current(host_block, words);
  all.thread += all.index * all.threads;
  all.threads *= launch.blocks;
  weir::exec::gpu::transfer_memory(launch, launch.transfer, all);
}

}  // namespace

#if defined(__CUDACC__) || defined(__HIP__)
WEIR_KERNEL weir_lanes_bandwidth(const WEIR_ARGUMENT Launch launch) {
  run_block<RingProtocol::bandwidth>(launch, 0);
}
WEIR_KERNEL weir_lanes_packet(const WEIR_ARGUMENT Launch launch) {
  run_block<RingProtocol::packet>(launch, 0);
}
WEIR_KERNEL weir_transfer(const WEIR_ARGUMENT MoveLaunch launch) { run_move(launch, 0); }
WEIR_KERNEL weir_pairs(const WEIR_ARGUMENT PairsLaunch launch) { run_pairs(as_passed(launch), 0); }
#else
WEIR_KERNEL weir_lanes_bandwidth(const Launch* launch, uint32_t block, uint32_t) {
  run_block<RingProtocol::bandwidth>(*launch, block);
}
WEIR_KERNEL weir_lanes_packet(const Launch* launch, uint32_t block, uint32_t) {
  run_block<RingProtocol::packet>(*launch, block);
}
WEIR_KERNEL weir_transfer(const MoveLaunch* launch, uint32_t block, uint32_t) { run_move(*launch, block); }
WEIR_KERNEL weir_pairs(const PairsLaunch* launch, uint32_t block, uint32_t) { run_pairs(*launch, block); }
// The simulated driver has no code object to query, so the library exports these.
extern "C" {
extern __attribute__((visibility("default"))) const size_t weir_lanes_bandwidth_argument_bytes =
    sizeof(Launch);
extern __attribute__((visibility("default"))) const size_t weir_lanes_packet_argument_bytes = sizeof(Launch);
extern __attribute__((visibility("default"))) const size_t weir_transfer_argument_bytes = sizeof(MoveLaunch);
extern __attribute__((visibility("default"))) const size_t weir_pairs_argument_bytes = sizeof(PairsLaunch);
}
#endif
