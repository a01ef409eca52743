// Communicators whose collectives go by kernels, ranks in several processes. Each case forks before it uses a
// GPU itself.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/core/rank.h"
#include "tests/core/resident.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Processes;
using testing::RootProcess;

constexpr Collective kSome[] = {Collective::all_reduce, Collective::all_to_all, Collective::broadcast};

/// Everybody sends to the next rank.
void send_around(Communicator& communicator, const Seated& seat, size_t count, Elements& in, Elements& out) {
  const int ranks = communicator.size(), rank = communicator.rank(), before = (rank + ranks - 1) % ranks;
  in.fill(count, [&](size_t i) { return put(rank, 3, i); });
  out.fill(count, [](size_t) { return -1; });
  Operation both[] = {operation(Collective::send_recv, in.data(), nullptr, count, (rank + 1) % ranks),
                      operation(Collective::send_recv, nullptr, out.data(), count, before)};
  both[0].sends = true;
  const Status status = communicator.run(both, seat.place());
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<int>& got = out.read(count);
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], put(before, 3, i)) << i;
}

/// `processes` processes with `ranks` ranks each, the ranks of process p on GPU gpus[p]: some collectives,
/// and sends. What the log of rank 0's process says, or of what went wrong.
std::string run_in_processes(int processes, int ranks, const std::vector<int>& gpus, const Options& options) {
  const RootProcess root;
  const UniqueId id = root.id();
  Processes all(processes, [&](int process, const Processes::Voice& voice) {
    const Logged logged;
    {
      GpuSite site(options);
      std::vector<int> own;
      for (int i = 0; i < ranks; ++i) own.push_back(process * ranks + i);
      with_own_residents(site, id, processes * ranks, own, {gpus[static_cast<size_t>(process)]},
                         [&](Communicator& communicator, int, Seated& seat) {
                           const auto all_ranks = static_cast<size_t>(processes * ranks);
                           Elements in(seat, 20'000 * all_ranks), out(seat, in.size());
                           for (const size_t count : {size_t{100}, size_t{20'000}}) {
                             send_around(communicator, seat, count, in, out);
                             if (::testing::Test::HasFatalFailure()) return;
                             for (const Collective kind : kSome) {
                               run_and_check(communicator, seat, kind, count, 1, in, out);
                               if (::testing::Test::HasFatalFailure()) return;
                             }
                           }
                         });
    }
    std::string said = logged.text();
    const size_t at = said.find("GPUs: ");
    said = at == std::string::npos ? "nothing of GPUs" : said.substr(at, said.find('\n', at) - at);
    voice.say(::testing::Test::HasFailure() ? "failed" : said);
  });
  const std::string said = all.line(0);
  for (int process = 0; process < processes; ++process) {
    if (process > 0) {
      EXPECT_NE(all.line(process), "failed");
    }
    EXPECT_TRUE(all.ended_well(process));
  }
  return said;
}

TEST(ResidentProcesses, ShareMemoryByIpc) {
  EXPECT_THAT(run_in_processes(2, 2, {0, 1}, resident_options()), HasSubstr("by kernels on"));
}

TEST(ResidentProcesses, OfOneGpuGoByStreamsUnlessTold) {
  ASSERT_EQ(setenv("WEIR_FAKE_GPU_QUEUES", "1", 1), 0);
  EXPECT_THAT(run_in_processes(2, 1, {0, 0}, resident_options()), HasSubstr("by operations of streams on"));
  unsetenv("WEIR_FAKE_GPU_QUEUES");
  Options options = resident_options();
  options.gpu_path = "kernel";
  EXPECT_THAT(run_in_processes(2, 1, {0, 0}, options), HasSubstr("by kernels on"));
}

/// As between containers.
TEST(ResidentProcesses, ShareMemoryByFilesWhereIpcIsRefused) {
  ASSERT_EQ(setenv("WEIR_FAKE_GPU_FAULTS", "ipc", 1), 0);
  const std::string said = run_in_processes(2, 2, {0, 1}, resident_options());
  unsetenv("WEIR_FAKE_GPU_FAULTS");
  EXPECT_THAT(said, AllOf(HasSubstr("by kernels on"), Not(HasSubstr("pinned memory"))));
}

TEST(ResidentProcesses, AreStagedWhereFilesAreRefusedToo) {
  ASSERT_EQ(setenv("WEIR_FAKE_GPU_FAULTS", "ipc,vmm", 1), 0);
  const std::string said = run_in_processes(2, 1, {0, 1}, resident_options());
  unsetenv("WEIR_FAKE_GPU_FAULTS");
  EXPECT_THAT(said, AllOf(HasSubstr("through pinned memory: rank"), HasSubstr("another process"),
                          HasSubstr("nor by files: rank"), HasSubstr("MemCreate failed")));
}

/// What waits on a GPU for a rank whose process was killed ends, and the error names the rank.
void kill_a_peer(const char* path, bool sends = false) {
  const RootProcess root;
  const UniqueId id = root.id();
  Options options = resident_options();
  options.peer_timeout_s = 2;
  options.gpu_path = path;
  Processes all(2, [&](int rank, const Processes::Voice& voice) {
    GpuSite site(options);
    with_own_residents(site, id, 2, {rank}, {rank}, [&](Communicator& communicator, int, Seated& seat) {
      Elements data(seat, 100);
      voice.say("connected");
      if (rank == 1) pause();
      const Collective kind = sends ? Collective::send_recv : Collective::all_reduce;
      const Operation one = operation(kind, data.data(), data.data(), 100, 1);
      const Status queued = communicator.run({&one, 1}, seat.place());
      seat.wait();
      while (communicator.state().ok()) std::this_thread::yield();
      voice.say(queued.ok() ? communicator.state().message() : queued.message());
    });
  });
  for (const int rank : {0, 1}) EXPECT_EQ(all.line(rank), "connected");
  all.signal(1, SIGKILL);
  EXPECT_THAT(all.line(0), AllOf(HasSubstr(fmt::format("rank 1 (pid {} on host", all.pid(1))),
                                 HasSubstr("is dead: the process has ended"),
                                 HasSubstr(sends ? "in sends and receives" : "ncclAllReduce")));
}

TEST(ResidentProcesses, AKilledPeerIsNamed) { kill_a_peer("auto"); }
TEST(ResidentProcesses, AKilledSenderIsNamed) { kill_a_peer("auto", true); }
TEST(ResidentProcesses, AKilledPeerIsNamedByStreams) { kill_a_peer("stream"); }

}  // namespace
}  // namespace weir::core
