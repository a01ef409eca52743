// SPDX-License-Identifier: Apache-2.0
/// Help for tests of communicators whose collectives go by kernels: ranks in threads of one process, each on
/// a GPU of the stand-in, with memory that only its streams touch.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>
#include <thread>
#include <vector>

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/group_launch.h"
#include "src/core/communicator/runtime.h"
#include "tests/core/logged.h"
#include "tests/device/gpu_user.h"

#ifndef WEIR_TEST_IMAGE  // where the build put the kernels
#define WEIR_TEST_IMAGE ""
#endif

namespace weir::core {

inline Options device_options() {
  Options options = Options::from_environment();
  options.calibration = false;
  options.gpu_kernels = WEIR_TEST_IMAGE;
  return options;
}

/// What the library shares in this process, with the stand-in's GPUs.
struct GpuSite {
  explicit GpuSite(const Options& options = device_options()) : runtime(options) {
    EXPECT_EQ(device::user("SetDevice", 0), 0);
    EXPECT_TRUE(gpus->at(0).ok());
    runtime.set_gpus(gpus.get());
  }
  const std::unique_ptr<device::Gpus> gpus = device::make_gpus();
  Runtime runtime;
};

/// One rank's GPU and a stream of its own there.
class GpuRank {
 public:
  GpuRank(GpuSite& site, int index) : gpu(*choose(site, index)), stream(device::user_stream(1)) {}
  ~GpuRank() { EXPECT_EQ(device::user("StreamDestroy", stream), 0); }
  GpuRank(const GpuRank&) = delete;
  GpuRank& operator=(const GpuRank&) = delete;
  StreamPlace place() const { return {nullptr, true, stream}; }
  void wait() const {
    const Status done = gpu.synchronize(stream);
    EXPECT_TRUE(done.ok()) << done.message();
  }

  device::Gpu& gpu;
  const device::GpuStream stream;

 private:
  static device::Gpu* choose(GpuSite& site, int index) {
    EXPECT_EQ(device::user("SetDevice", index), 0);
    return *site.gpus->at(index);
  }
};

/// Elements in memory of a GPU, brought and read through a stream.
class Elements {
 public:
  Elements(const GpuRank& gpu_rank, size_t count, device::GpuMemory kind = device::GpuMemory::device)
      : gpu_rank_(gpu_rank), kind_(kind), host_(count) {
    auto memory = gpu_rank.gpu.allocate(count * sizeof(int) + 1, kind);
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    data_ = static_cast<int*>(*memory);
  }
  ~Elements() { EXPECT_TRUE(gpu_rank_.gpu.free(data_, kind_).ok()); }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  int* data() const { return data_; }
  size_t size() const { return host_.size(); }
  /// Element i becomes of(i), of the first `count`, in the order of the stream.
  template <typename Of>
  void fill(size_t count, Of of) {
    gpu_rank_.wait();
    for (size_t i = 0; i < count; ++i) host_[i] = static_cast<int>(of(i));
    EXPECT_TRUE(gpu_rank_.gpu.copy(data_, host_.data(), count * sizeof(int), gpu_rank_.stream).ok());
    gpu_rank_.wait();
  }
  const std::vector<int>& read(size_t count) {
    gpu_rank_.wait();
    EXPECT_TRUE(gpu_rank_.gpu.copy(host_.data(), data_, count * sizeof(int), gpu_rank_.stream).ok());
    gpu_rank_.wait();
    return host_;
  }

 private:
  const GpuRank& gpu_rank_;
  const device::GpuMemory kind_;
  std::vector<int> host_;
  int* data_ = nullptr;
};

/// How many ranks there are, and on which GPUs: rank r on gpus[r % gpus.size()].
struct GpuRanks {
  int ranks;
  std::vector<int> gpus;
};

/// What a rank does.
using Act = std::function<void(Communicator&, int, GpuRank&)>;

/// act(communicator, rank, gpu_rank) on a thread for each rank of `own`, those of this process; rank r is on
/// GPU gpus[r % gpus.size()].
inline void with_own_device_ranks(GpuSite& site, const UniqueId& id, int ranks, const std::vector<int>& own,
                                  const std::vector<int>& gpus, const Act& act) {
  std::vector<std::thread> threads;
  for (const int rank : own) {
    threads.emplace_back([&, rank] {
      GpuRank gpu_rank(site, gpus[static_cast<size_t>(rank) % gpus.size()]);
      Communicator communicator(site.runtime, IdOrigin{id, ranks, rank}, Config());
      const Status connected = communicator.connect();
      ASSERT_TRUE(connected.ok()) << connected.message();
      act(communicator, rank, gpu_rank);
      (void)communicator.finalize();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// The same with all ranks in this process.
inline void with_device_ranks(GpuSite& site, int ranks, const std::vector<int>& gpus, const Act& act) {
  const auto id = site.runtime.make_unique_id();
  ASSERT_TRUE(id.ok()) << id.status().message();
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  with_own_device_ranks(site, *id, ranks, all, gpus, act);
}

/// A collective of ints.
inline CollectiveOp operation(Collective kind, const int* input, int* output, size_t count, Rank root = 0) {
  return {
      .kind = kind, .root = root, .type = DataType::int32, .input = input, .output = output, .count = count};
}
/// Messages of ints.
inline Operation send(const int* from, size_t count, Rank peer) {
  return SendOp{.input = from, .count = count, .type = DataType::int32, .peer = peer};
}
inline Operation receive(int* to, size_t count, Rank peer) {
  return RecvOp{.output = to, .count = count, .type = DataType::int32, .peer = peer};
}

/// What rank `rank` puts at element `i` of block `block`, and what is to be expected of it.
inline int put(int rank, size_t block, size_t i) {
  return static_cast<int>(block * 1000 + i % 97) + 7 * rank;
}
inline int put_sum(int ranks, size_t block, size_t i) {
  int sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += put(rank, block, i);
  return sum;
}

/// Output of `rank` at element `i` of block `block`, where it has any.
inline int expected(Collective kind, int ranks, int rank, Rank root, size_t block, size_t i) {
  switch (kind) {
    case Collective::all_reduce:
    case Collective::reduce: return put_sum(ranks, 0, i);
    case Collective::broadcast: return put(root, 0, i);
    case Collective::all_gather:
    case Collective::gather: return put(static_cast<int>(block), 0, i);
    case Collective::reduce_scatter: return put_sum(ranks, static_cast<size_t>(rank), i);
    case Collective::all_to_all: return put(static_cast<int>(block), static_cast<size_t>(rank), i);
    default: return put(root, static_cast<size_t>(rank), i);
  }
}
inline size_t blocks_out(Collective kind, int ranks, int rank, Rank root) {
  const bool at_root = rank == root;
  switch (kind) {
    case Collective::reduce: return at_root ? 1 : 0;
    case Collective::gather: return at_root ? static_cast<size_t>(ranks) : 0;
    case Collective::all_gather:
    case Collective::all_to_all: return static_cast<size_t>(ranks);
    default: return 1;
  }
}

inline constexpr Collective kAll[] = {
    Collective::all_reduce,     Collective::reduce,     Collective::broadcast, Collective::all_gather,
    Collective::reduce_scatter, Collective::all_to_all, Collective::gather,    Collective::scatter};

/// One collective, checked.
inline void run_and_check(Communicator& communicator, const GpuRank& gpu_rank, Collective kind, size_t count,
                          Rank root, Elements& in, Elements& out) {
  const int ranks = communicator.size(), rank = communicator.rank();
  const size_t used = count * static_cast<size_t>(ranks);
  in.fill(used, [&](size_t i) { return put(rank, i / count, i % count); });
  out.fill(used, [](size_t) { return -1; });
  const Operation one = operation(kind, in.data(), out.data(), count, has_root(kind) ? root : 0);
  const Status status = communicator.run({&one, 1}, gpu_rank.place());
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<int>& got = out.read(used);
  ASSERT_TRUE(communicator.state().ok()) << communicator.state().message();
  for (size_t block = 0; block < blocks_out(kind, ranks, rank, root); ++block) {
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(got[block * count + i], expected(kind, ranks, rank, root, block, i))
          << name(kind) << " of " << count << ", rank " << rank << " of " << ranks << ", block " << block
          << ", element " << i;
    }
  }
}

}  // namespace weir::core
