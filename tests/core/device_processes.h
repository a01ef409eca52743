// SPDX-License-Identifier: Apache-2.0
/// Help for tests of communicators whose collectives go by kernels, with ranks in several processes. Each
/// case forks before it uses a GPU itself.
#pragma once

#include <gmock/gmock.h>
#include <signal.h>

#include <string>
#include <vector>

#include "tests/core/device_collectives.h"
#include "tests/core/rank.h"

namespace weir::core {

using testing::Processes;
using testing::RootProcess;

inline constexpr Collective kSome[] = {Collective::all_reduce, Collective::all_to_all, Collective::broadcast};

/// Everybody sends to the next rank.
inline void send_around(Communicator& communicator, const GpuRank& gpu_rank, size_t count, Elements& in,
                        Elements& out) {
  const int ranks = communicator.size(), rank = communicator.rank(), before = (rank + ranks - 1) % ranks;
  in.fill(count, [&](size_t i) { return put(rank, 3, i); });
  out.fill(count, [](size_t) { return -1; });
  const Operation both[] = {send(in.data(), count, (rank + 1) % ranks), receive(out.data(), count, before)};
  const Status status = communicator.run(both, gpu_rank.place());
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<int>& got = out.read(count);
  ASSERT_TRUE(communicator.state().ok()) << communicator.state().message();
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], put(before, 3, i)) << i;
}

/// Of a process on a host that is told apart.
inline Options options_of(int host, Options options) {
  options.host_id = fmt::format("host {}", host);
  return options;
}

struct ProcessesOfRanks {
  int processes = 1;
  int ranks = 1;                          ///< of each
  std::vector<int> hosts;                 ///< by process; empty: this one
  std::vector<int> gpus;                  ///< by process
  std::vector<std::string> visible = {};  ///< CUDA_VISIBLE_DEVICES, by process; empty: not set
};

/// Some collectives, and sends. What the log of rank 0's process says, or of what went wrong.
inline std::string run_in_processes(const ProcessesOfRanks& all_of, const Options& options) {
  const auto& [processes, ranks, hosts, gpus, visible] = all_of;
  const RootProcess root;
  const UniqueId id = root.id();
  Processes all(processes, [&](int process, const Processes::Voice& voice) {
    const Logged logged;
    const int gpu = gpus[static_cast<size_t>(process)];
    if (!visible.empty()) setenv("CUDA_VISIBLE_DEVICES", visible[static_cast<size_t>(process)].c_str(), 1);
    {
      GpuSite site(hosts.empty() ? options : options_of(hosts[static_cast<size_t>(process)], options));
      std::vector<int> here;
      for (int i = 0; i < ranks; ++i) here.push_back(process * ranks + i);
      with_own_device_ranks(site, id, processes * ranks, here, {gpu},
                            [&](Communicator& communicator, int, GpuRank& gpu_rank) {
                              const auto all_ranks = static_cast<size_t>(processes * ranks);
                              Elements in(gpu_rank, 20'000 * all_ranks), out(gpu_rank, in.size());
                              for (const size_t count : {size_t{100}, size_t{20'000}}) {
                                send_around(communicator, gpu_rank, count, in, out);
                                if (::testing::Test::HasFatalFailure()) return;
                                for (const Collective kind : kSome) {
                                  run_and_check(communicator, gpu_rank, kind, count, 1, in, out);
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

/// What waits on a GPU for a rank whose process was killed ends, and the error names the rank.
struct Killing {
  std::string path = "auto";
  bool sends = false;
  bool hosts = false;  ///< each rank is on its own
};
inline void kill_a_peer(const Killing& killing) {
  using ::testing::AllOf;
  using ::testing::AnyOf;
  using ::testing::HasSubstr;

  const RootProcess root;
  const UniqueId id = root.id();
  Options options = device_options();
  options.peer_timeout_s = 2;
  options.gpu_path = killing.path;
  Processes all(2, [&](int rank, const Processes::Voice& voice) {
    GpuSite site(killing.hosts ? options_of(rank, options) : options);
    with_own_device_ranks(
        site, id, 2, {rank}, {rank}, [&](Communicator& communicator, int, GpuRank& gpu_rank) {
          Elements data(gpu_rank, 100);
          voice.say("connected");
          if (rank == 1) pause();
          const Operation one = killing.sends
                                    ? receive(data.data(), 100, 1)
                                    : operation(Collective::all_reduce, data.data(), data.data(), 100);
          const Status queued = communicator.run({&one, 1}, gpu_rank.place());
          gpu_rank.wait();
          while (communicator.state().ok()) std::this_thread::yield();
          voice.say(queued.ok() ? communicator.state().message() : queued.message());
        });
  });
  for (const int rank : {0, 1}) EXPECT_EQ(all.line(rank), "connected");
  all.signal(1, SIGKILL);
  EXPECT_THAT(all.line(0), AllOf(HasSubstr(fmt::format("rank 1 (pid {} on host", all.pid(1))),
                                 HasSubstr("is dead: the process has ended"),
                                 // It may have ended before the call has begun.
                                 AnyOf(HasSubstr(killing.sends ? "in sends and receives" : "ncclAllReduce"),
                                       HasSubstr("whose connection to it has ended"))));
}

}  // namespace weir::core
