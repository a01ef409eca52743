// SPDX-License-Identifier: Apache-2.0
// Programs as operations of streams, over the stand-in of a driver, against Run: the same programs, the same
// bits. Compiled for CUDA and for HIP.
#include "src/exec/gpu/stream_executor.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "tests/device/gpu_user.h"
#include "tests/exec/gpu_operation.h"

namespace weir::exec::gpu {
namespace {

using device::user;

constexpr size_t kSegmentBytes = 64 << 10;

#if defined(__SANITIZE_THREAD__) || defined(WEIR_TEST_HIP)  // the same but for slow threads, or for names
constexpr int kRanks[] = {3};
#else
constexpr int kRanks[] = {1, 2, 5};
#endif

/// Memory of a GPU with a copy on the host.
class OnGpu {
 public:
  OnGpu(device::Gpu& gpu, device::GpuStream stream, std::vector<uint64_t>& words)
      : gpu_(gpu),
        stream_(stream),
        words_(words),
        memory_(*gpu.allocate(bytes(), device::GpuMemory::device)) {
    EXPECT_TRUE(gpu_.copy(memory_, words_.data(), bytes(), stream_).ok());
  }
  ~OnGpu() { EXPECT_TRUE(gpu_.free(memory_, device::GpuMemory::device).ok()); }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  std::byte* at(size_t shift) const { return static_cast<std::byte*>(memory_) + shift; }
  /// Copies the memory to the host; waits for the copy.
  void read() { EXPECT_TRUE(gpu_.copy(words_.data(), memory_, bytes(), stream_).ok()); }

 private:
  size_t bytes() const { return words_.size() * sizeof(uint64_t); }
  device::Gpu& gpu_;
  device::GpuStream stream_;
  std::vector<uint64_t>& words_;
  void* memory_;
};

/// A rank: its GPU, its stream and what the executor needs.
struct GpuRank {
  GpuRank(device::Gpus& gpus, int index, Rank rank, int ranks) : gpu(**gpus.at(index)) {
    EXPECT_EQ(user("SetDevice", index), 0);
    stream = device::user_stream(1);
    segment = static_cast<std::byte*>(*gpu.allocate(kSegmentBytes, device::GpuMemory::device));
    auto made = FlagPages::create(gpu, rank, ranks);
    EXPECT_TRUE(made.ok()) << made.status().message();
    flags = std::move(*made);
  }
  ~GpuRank() {
    executor.reset();
    flags.reset();
    if (module != nullptr) {
      EXPECT_TRUE(gpu.kernels()->unload(module).ok());
    }
    EXPECT_EQ(user("StreamDestroy", stream), 0);
    EXPECT_TRUE(gpu.free(segment, device::GpuMemory::device).ok());
  }
  void open(std::vector<std::byte*> segments) {
    auto loaded = gpu.kernels()->load("fake-gpu-module:" WEIR_HOST_KERNELS);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    module = *loaded;
    const auto kernel = gpu.kernels()->find(module, "weir_transfer");
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    StreamExecutor::Dependencies dependencies{
        &gpu, *kernel, flags.get(), {flags->rank(), std::move(segments), kSegmentBytes}};
    auto made = StreamExecutor::create(std::move(dependencies));
    ASSERT_TRUE(made.ok()) << made.status().message();
    executor = std::move(*made);
  }
  void wait() const {
    const Status done = gpu.synchronize(stream);
    EXPECT_TRUE(done.ok()) << done.message();
  }

  device::Gpu& gpu;
  device::GpuStream stream = nullptr;
  std::byte* segment = nullptr;
  device::GpuModule module = nullptr;
  std::unique_ptr<FlagPages> flags;
  std::unique_ptr<StreamExecutor> executor;
};

/// All ranks in this process, dealt out to `gpus` GPUs.
class Ranks {
 public:
  Ranks(int ranks, int gpus) {
    EXPECT_EQ(user("SetDevice", 0), 0);
    for (Rank rank = 0; rank < ranks; ++rank)
      gpu_ranks.push_back(std::make_unique<GpuRank>(*gpus_, rank % gpus, rank, ranks));
    std::vector<std::byte*> segments;
    for (const auto& gpu_rank : gpu_ranks) segments.push_back(gpu_rank->segment);
    for (const auto& gpu_rank : gpu_ranks) {
      for (const auto& other : gpu_ranks)
        if (other != gpu_rank) gpu_rank->flags->share(*other->flags);
      gpu_rank->open(segments);
    }
  }
  ~Ranks() {
    for (const auto& gpu_rank : gpu_ranks) gpu_rank->wait();
    for (const auto& gpu_rank : gpu_ranks) gpu_rank->executor.reset();  // all executors before any page
  }
  GpuRank& gpu_rank(Rank rank) { return *gpu_ranks[static_cast<size_t>(rank)]; }

  std::vector<std::unique_ptr<Ready>> prepare(const ir::Plan& plan, const std::vector<Program>& programs) {
    std::vector<std::unique_ptr<Ready>> ready;
    for (const auto& gpu_rank : gpu_ranks) {
      auto made = gpu_rank->executor->prepare(plan, programs, {});
      EXPECT_TRUE(made.ok()) << plan.algorithm << ": " << made.status().message();
      ready.push_back(made.ok() ? std::move(*made) : nullptr);
    }
    return ready;
  }

 private:
  const std::unique_ptr<device::Gpus> gpus_ = device::make_gpus();

 public:
  std::vector<std::unique_ptr<GpuRank>> gpu_ranks;
};

using QueueCalls = std::function<void(std::vector<Work>&)>;

/// Runs an operation on memory of the GPUs by `queue`, and compares with Run.
void compare(Ranks& ranks, const std::vector<Program>& programs, const Work& work, size_t shift,
             const QueueCalls& queue, const std::string& what) {
  const auto seed = static_cast<uint32_t>(work.count + programs.size());
  Operation want(programs[0].shape, work, shift, seed);
  Operation got(programs[0].shape, work, shift, seed);
  run_on_host(programs, want);
  if (::testing::Test::HasFatalFailure()) return;
  std::vector<std::unique_ptr<OnGpu>> inputs, outputs;
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    GpuRank& gpu_rank = *ranks.gpu_ranks[rank];
    inputs.push_back(std::make_unique<OnGpu>(gpu_rank.gpu, gpu_rank.stream, got.input[rank].words));
    outputs.push_back(std::make_unique<OnGpu>(gpu_rank.gpu, gpu_rank.stream, got.output[rank].words));
    got.works[rank].input = inputs[rank]->at(shift);
    got.works[rank].output = outputs[rank]->at(shift);
  }
  queue(got.works);
  for (size_t rank = 0; rank < programs.size(); ++rank) outputs[rank]->read();
  for (size_t rank = 0; rank < programs.size(); ++rank)
    ASSERT_EQ(got.output[rank].words, want.output[rank].words) << what << " rank " << rank;
}

/// How this thread, which has all ranks, queues a call.
enum class Turns { whole_calls, parts };

void run_both(Ranks& ranks, const ir::Plan& plan, const Work& work, size_t shift, const std::string& what,
              Turns turns = Turns::whole_calls) {
  const std::vector<Program> programs = lower_all(plan);
  const auto ready = ranks.prepare(plan, programs);
  if (::testing::Test::HasFailure()) return;
  const auto whole = [&](std::vector<Work>& works) {
    for (size_t rank = 0; rank < works.size(); ++rank) {
      GpuRank& gpu_rank = *ranks.gpu_ranks[rank];
      const Status queued = gpu_rank.executor->queue(*ready[rank], works[rank], gpu_rank.stream);
      ASSERT_TRUE(queued.ok()) << queued.message();
    }
  };
  const auto in_parts = [&](std::vector<Work>& works) {
    size_t ended = 0;
    for (size_t part = 0; ended == 0; ++part) {
      // The last rank first: nothing of a part may depend on the same part of a lower rank.
      for (size_t rank = works.size(); rank-- > 0;) {
        GpuRank& gpu_rank = *ranks.gpu_ranks[rank];
        const auto more = gpu_rank.executor->queue_part(*ready[rank], works[rank], gpu_rank.stream, part);
        ASSERT_TRUE(more.ok()) << more.status().message();
        ended += *more ? 0 : 1;
      }
    }
    ASSERT_EQ(ended, works.size()) << what << ": the ranks have different numbers of parts";
  };
  if (turns == Turns::parts)
    compare(ranks, programs, work, shift, in_parts, what);
  else
    compare(ranks, programs, work, shift, whole, what);
}

/// Every entry of the catalogue, or every n-th one, on the same executors; types, operations and counts
/// alternate.
void run_catalogue(Ranks& ranks, int count, uint32_t each = 1, Turns turns = Turns::whole_calls) {
  constexpr size_t kCounts[] = {1, 100, 1003, 2500};
  uint32_t turn = 0;
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    if (turn++ % each != 0) continue;
    Work work;
    work.count = kCounts[turn % std::size(kCounts)];
    work.type = static_cast<DataType>(turn * 7 % kDataTypes);
    work.op = static_cast<RedOp>(turn % 4);
    work.tag = (uint64_t{turn} << 32) + 5;
    if (turn % 3 == 0) work.tile_bytes = 512;
    run_both(ranks, plan_of(entry, count), work, 0, fmt::format("{} turn {}", label(entry, count), turn),
             turns);
    if (::testing::Test::HasFailure()) return;
  }
}

const algorithms::Entry& ring() { return *algorithms::find("ring", Collective::all_reduce); }

class StreamExecutorTest : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("WEIR_FAKE_GPU_QUEUES");
    unsetenv("WEIR_FAKE_GPU_PENDING");
    unsetenv("WEIR_FAKE_GPUS");
  }
};

TEST_F(StreamExecutorTest, EveryAlgorithmGivesTheBitsOfRun) {
  for (const int count : kRanks) {
    Ranks ranks(count, 2);
    run_catalogue(ranks, count);
    if (HasFailure()) return;
  }
}

/// An operation never waits for one that is submitted later.
TEST_F(StreamExecutorTest, FewHardwareQueuesAreEnough) {
  setenv("WEIR_FAKE_GPUS", "3", 1);
  for (const int queues : {1, 2}) {
    setenv("WEIR_FAKE_GPU_QUEUES", std::to_string(queues).c_str(), 1);
    Ranks ranks(3, 3);
    run_catalogue(ranks, 3, static_cast<uint32_t>(queues));
    if (HasFailure()) return;
  }
}

/// A driver blocks this thread at each operation until the stream, or the hardware queue, has come to the one
/// before. An operation that waits for a later part of another rank would block it for ever.
TEST_F(StreamExecutorTest, ASinglePendingOperationIsEnough) {
  setenv("WEIR_FAKE_GPUS", "3", 1);
  setenv("WEIR_FAKE_GPU_PENDING", "1", 1);
  for (const char* const queues : {"0", "1"}) {  // one per stream, and one for all streams of a GPU
    setenv("WEIR_FAKE_GPU_QUEUES", queues, 1);
    Ranks ranks(3, 3);
    run_catalogue(ranks, 3, 1, Turns::parts);
    if (HasFailure()) return;
  }
}

TEST_F(StreamExecutorTest, TypesScalarsAveragesAndOddAddresses) {
  Ranks ranks(3, 2);
  const ir::Plan plan = plan_of(ring(), 3);
  uint32_t number = 0;
  for (int kind = 0; kind < kDataTypes; ++kind) {
    Work work;
    work.type = static_cast<DataType>(kind);
    work.op = static_cast<RedOp>(kind % 4);
    work.count = 333;
    work.scales = kind % 2 == 0 || is_float(work.type);
    if (is_float(work.type)) work.factor = device::ratio(work.type, 1, 3);
    if (!is_float(work.type)) work.factor.bits[0] = 3;
    if (!is_float(work.type)) work.divisor = 3;
    work.tag = uint64_t{++number} << 32;
    run_both(ranks, plan, work, size_of(work.type), std::string(name(work.type)));
    if (HasFailure()) return;
  }
}

TEST_F(StreamExecutorTest, RefusesBuffersThatAreNotAligned) {
  Ranks ranks(1, 1);
  const ir::Plan plan = plan_of(ring(), 1);
  const auto ready = ranks.prepare(plan, lower_all(plan));
  Work work;
  work.count = 1;
  work.input = ranks.gpu_rank(0).segment + 2;
  work.output = ranks.gpu_rank(0).segment;
  EXPECT_EQ(ranks.gpu_rank(0).executor->queue(*ready[0], work, ranks.gpu_rank(0).stream).code(),
            Code::invalid_argument);
}

TEST_F(StreamExecutorTest, ACapturedCallIsReplayed) {
  setenv("WEIR_FAKE_GPU_QUEUES", "1", 1);
  Ranks ranks(2, 2);
  const ir::Plan plan = plan_of(ring(), 2);
  const std::vector<Program> programs = lower_all(plan);
  const auto ready = ranks.prepare(plan, programs);
  const auto capture_and_replay = [&](std::vector<Work>& works) {
    std::vector<std::unique_ptr<device::UserGraph>> graphs;
    for (size_t rank = 0; rank < works.size(); ++rank) {
      GpuRank& gpu_rank = *ranks.gpu_ranks[rank];
      gpu_rank.wait();
      ASSERT_EQ(user("StreamBeginCapture", gpu_rank.stream, 0), 0);
      EXPECT_TRUE(gpu_rank.executor->queue(*ready[rank], works[rank], gpu_rank.stream).ok());
      graphs.push_back(std::make_unique<device::UserGraph>(gpu_rank.stream));
      ASSERT_EQ(graphs.back()->code(), 0);
    }
    for (int replay = 0; replay < 3; ++replay)
      for (size_t rank = 0; rank < works.size(); ++rank) graphs[rank]->launch(ranks.gpu_ranks[rank]->stream);
    for (const auto& gpu_rank : ranks.gpu_ranks) gpu_rank->wait();
  };
  Work work;
  work.count = 4321;
  work.tile_bytes = 512;
  work.tag = uint64_t{9} << 32;
  compare(ranks, programs, work, 0, capture_and_replay, "replayed");
}

TEST_F(StreamExecutorTest, AnAbortEndsWhatWaitsAndIsSeenByAll) {
  setenv("WEIR_FAKE_GPU_QUEUES", "1", 1);
  Ranks ranks(2, 2);
  const ir::Plan plan = plan_of(ring(), 2);
  const auto ready = ranks.prepare(plan, lower_all(plan));
  Operation operation(plan.shape, Work{.count = 20000, .tag = uint64_t{1} << 32}, 0, 1);
  GpuRank& gpu_rank = ranks.gpu_rank(0);
  OnGpu input(gpu_rank.gpu, gpu_rank.stream, operation.input[0].words);
  OnGpu output(gpu_rank.gpu, gpu_rank.stream, operation.output[0].words);
  Work& work = operation.works[0];
  work.input = input.at(0);
  work.output = output.at(0);
  ASSERT_TRUE(gpu_rank.executor->queue(*ready[0], work, gpu_rank.stream).ok());  // and rank 1 does not
  while (gpu_rank.executor->look().waiting_for != 1) std::this_thread::yield();
  EXPECT_EQ(ranks.gpu_rank(1).executor->look().left, -1);
  gpu_rank.executor->abort();
  EXPECT_EQ(ranks.gpu_rank(1).executor->look().left, 0);
  ranks.gpu_rank(1).executor->abort();  // as a rank that sees this does
  gpu_rank.wait();
  EXPECT_EQ(gpu_rank.executor->look().left, 1);
  EXPECT_TRUE(gpu_rank.executor->queue(*ready[0], work, gpu_rank.stream).ok());
  gpu_rank.wait();
}

TEST_F(StreamExecutorTest, RanksThatCalledDifferentOperationsAreTold) {
  Ranks ranks(2, 2);
  const uint64_t number = uint64_t{3} << 32;
  ranks.gpu_rank(0).flags->enter(number | 5);
  EXPECT_EQ(ranks.gpu_rank(0).executor->look().foreign, -1);
  ranks.gpu_rank(1).flags->enter(number | 6);
  const Look look = ranks.gpu_rank(0).executor->look();
  EXPECT_EQ(look.foreign, 1);
  EXPECT_EQ(look.foreign_tag, number | 6);
  EXPECT_EQ(ranks.gpu_rank(1).executor->look().foreign, 0);
}

TEST(QueuePlan, SaysWhatThereIsNoRoomFor) {
  const auto programs = lower_all(plan_of(ring(), 3));
  EXPECT_EQ(plan_queue(programs, 0, 100, FlagPages::kFlags).status().code(), Code::invalid_argument);
  EXPECT_EQ(plan_queue(programs, 0, kSegmentBytes, 1).status().code(), Code::invalid_argument);
  const auto first = plan_queue(programs, 0, kSegmentBytes, FlagPages::kFlags);
  const auto last = plan_queue(programs, 2, kSegmentBytes, FlagPages::kFlags);
  ASSERT_TRUE(first.ok() && last.ok());
  EXPECT_EQ(first->tile_bytes, last->tile_bytes);
  EXPECT_LE(first->slot_bytes, kQueuedMessageBytes);
}

/// What a rank sends to the rank in the other process.
struct Introduction {
  device::GpuShareHandle segment;
  device::ShareHandle flags;
};

/// One of two ranks on the first GPU, each in a process of its own, joined by pipes.
void run_in_process(Rank rank, int from, int to) {
  const auto gpus = device::make_gpus();
  ASSERT_TRUE(gpus->at(0).ok());
  GpuRank gpu_rank(*gpus, 0, rank, 2);
  Introduction mine{*gpu_rank.gpu.sharing()->share(gpu_rank.segment), gpu_rank.flags->handle()}, theirs;
  const auto meet = [&] {
    ASSERT_EQ(write(to, &mine, sizeof(mine)), ssize_t{sizeof(mine)});
    ASSERT_EQ(read(from, &theirs, sizeof(theirs)), ssize_t{sizeof(theirs)});
  };
  meet();
  std::vector<std::byte*> segments(2, gpu_rank.segment);
  void* const attached = *gpu_rank.gpu.sharing()->attach(theirs.segment);
  segments[static_cast<size_t>(1 - rank)] = static_cast<std::byte*>(attached);
  std::vector<device::ShareHandle> handles(2, theirs.flags);
  const Status reached = gpu_rank.flags->attach(handles);
  ASSERT_TRUE(reached.ok()) << reached.message();
  gpu_rank.open(segments);
  uint32_t number = 0;
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    const ir::Plan plan = plan_of(entry, 2);
    const auto programs = lower_all(plan);
    auto ready = gpu_rank.executor->prepare(plan, programs, {});
    ASSERT_TRUE(ready.ok()) << ready.status().message();
    const Work work{.count = 3000, .type = DataType::int32, .tag = uint64_t{++number} << 32};
    Operation want(plan.shape, work, 0, number), got(plan.shape, work, 0, number);
    run_on_host(programs, want);
    const auto own = static_cast<size_t>(rank);
    OnGpu input(gpu_rank.gpu, gpu_rank.stream, got.input[own].words);
    OnGpu output(gpu_rank.gpu, gpu_rank.stream, got.output[own].words);
    got.works[own].input = input.at(0);
    got.works[own].output = output.at(0);
    ASSERT_TRUE(gpu_rank.executor->queue(**ready, got.works[own], gpu_rank.stream).ok());
    output.read();
    EXPECT_EQ(got.output[own].words, want.output[own].words) << label(entry, 2);
  }
  meet();  // neither rank uses the other's memory any more
  EXPECT_TRUE(gpu_rank.gpu.sharing()->detach(attached).ok());
}

TEST_F(StreamExecutorTest, TwoProcessesShareAGpuWithOneHardwareQueueEach) {
  setenv("WEIR_FAKE_GPU_QUEUES", "1", 1);
  int there[2], back[2];
  ASSERT_EQ(pipe(there), 0);
  ASSERT_EQ(pipe(back), 0);
  const pid_t process = fork();  // before this process uses its GPU
  close(process == 0 ? there[1] : there[0]);
  close(process == 0 ? back[0] : back[1]);
  if (process == 0) {
    run_in_process(1, there[0], back[1]);
    _exit(HasFailure() ? 1 : 0);
  }
  run_in_process(0, back[0], there[1]);
  close(there[1]);
  int status = -1;
  ASSERT_EQ(waitpid(process, &status, 0), process);
  EXPECT_EQ(status, 0) << "the other process failed";
}

}  // namespace
}  // namespace weir::exec::gpu
