// SPDX-License-Identifier: Apache-2.0
// Kernels that use NCCL's device interface in the ways in which nccl-tests, NCCL's examples and PyTorch do. They are compiled,
// never run.
#include <nccl.h>
#include <nccl_device.h>

#include <vector>

template <typename T>
__global__ void sum_in_place(ncclWindow_t window, size_t at, size_t count, struct ncclDevComm comm) {
  ncclLsaBarrierSession<ncclCoopCta> bar{ncclCoopCta(), comm, ncclTeamLsa(comm), comm.lsaBarrier, blockIdx.x};
  bar.sync(ncclCoopCta(), cuda::memory_order_acquire);
  for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
    T sum = 0;
    for (int peer = 0; peer < comm.nRanks; ++peer) sum += static_cast<T*>(ncclGetLsaPointer(window, at, peer))[i];
    static_cast<T*>(ncclGetLocalPointer(window, at))[i] = sum;
  }
  bar.sync(ncclCoopCta(), cuda::memory_order_release);
}

__global__ void sum_by_multicast(ncclWindow_t window, size_t at, float* out, int count, ncclDevComm comm) {
  const ncclCoopCta coop{};
  ncclLsaBarrierSession<ncclCoopCta> bar{coop, comm, ncclTeamTagLsa(), blockIdx.x, true};
  bar.sync(coop, cuda::memory_order_acq_rel);
  out[0] = *reinterpret_cast<float*>(ncclGetLsaMultimemPointer(window, at, comm));
  ncclMultimemReduceSum(coop, window, at, out, count, comm.lsaMultimem);
  ncclLsaReduceSum(coop, window, at, out, count, comm);
  ncclLsaReduceSum<float>(coop, ncclSymPtr<float>(window, at), out, count, ncclTeamLsa(comm));
  ncclLsaCopy(ncclCoopWarp(), out, ncclSymPtr<float>(window, at), count, comm);
}

template <typename T>
__global__ void all_to_all(ncclWindow_t from, ncclWindow_t to, size_t count, ncclDevComm comm) {
  const unsigned signal = blockIdx.x;
  ncclGin gin{comm, 0};
  const uint64_t before = gin.readSignal(signal);
  ncclBarrierSession<ncclCoopCta> bar{ncclCoopCta(), ncclTeamTagWorld(), gin, blockIdx.x};
  bar.sync(ncclCoopCta(), cuda::memory_order_acquire, ncclGinFenceLevel::Relaxed);
  bar.lsaBarrier().sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  const ncclTeam world = ncclTeamWorld(comm), lsa = ncclTeamLsa(comm);
  const size_t bytes = count * sizeof(T);
  for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
    if (ncclTeamRankIsMember(lsa, world, peer)) continue;
    gin.put(world, peer, to, world.rank * bytes, from, peer * bytes, bytes, ncclGin_SignalInc{signal});
    gin.put(world, peer, to, 0, from, 0, bytes, ncclGin_WeakSignalAdd{signal, 2}, ncclGin_WeakCounterInc{0});
  }
  gin.waitSignal(ncclCoopCta(), signal, before + comm.nRanks);
  gin.flush(ncclCoopCta());
  ncclGinBarrierSession<ncclCoopCta> other{ncclCoopCta(), gin, ncclTeamTagWorld(), blockIdx.x};
  other.sync(ncclCoopCta(), cuda::memory_order_release, ncclGinFenceLevel::Put | ncclGinFenceLevel::Get);
  ncclLLA2ASession<ncclCoopCta> boxes{ncclCoopCta(), comm, world, ncclLLA2AHandle{}, blockIdx.x, 8};
  boxes.send(0, 0, T());
  static_cast<T*>(ncclGetLocalPointer(to, 0))[0] = boxes.template recv<T>(0);
  boxes.endEpoch(ncclCoopCta());
}

/// Groups of threads do not need a communicator.
__global__ void ranks_in_groups(int* out) {
  ncclCoopAny any[] = {ncclCoopCta(), ncclCoopWarp(), ncclCoopThread(), ncclCoopLanes(3u), ncclCoopWarpSpan(0, 1, 2)};
  for (ncclCoopAny& group : any) {
    group.sync();
    *out++ = group.thread_rank() + group.size() + group.num_threads();
  }
  *out = ncclCoopCoalesced(ncclCoopCta()).size() + ncclCoopCoalesced().size();
}

ncclResult_t create(ncclComm_t comm, ncclDevComm* made) {
  ncclCommProperties_t properties = NCCL_COMM_PROPERTIES_INITIALIZER;
  if (ncclCommQueryProperties(comm, &properties) != ncclSuccess || properties.ginType == NCCL_GIN_TYPE_NONE)
    return ncclInvalidUsage;
  ncclDevCommRequirements needed = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  needed.lsaBarrierCount = 16;
  needed.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  return ncclDevCommCreate(comm, &needed, made);
}

void launch(ncclComm_t comm, ncclWindow_t window, float* out, int* ranks) {
  std::vector<ncclDevComm> comms(1);
  if (create(comm, comms.data()) != ncclSuccess) return;
  sum_in_place<float><<<1, 32>>>(window, 0, 8, comms[0]);
  sum_by_multicast<<<1, 32>>>(window, 0, out, 8, comms[0]);
  all_to_all<double><<<1, 32>>>(window, window, 8, comms[0]);
  ranks_in_groups<<<1, 32>>>(ranks);
  ncclDevCommDestroy(comm, comms.data());
}
