// SPDX-License-Identifier: Apache-2.0
// Mistakes that users make, and the sentence that each of them gets. docs/troubleshooting.md lists them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/library/processes.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::string sentence() { return ncclGetLastError(nullptr); }

/// Two communicators of all ranks.
struct Two {
  explicit Two(const Rank& rank) : first(rank.connect()) {
    expect_success(ncclCommSplit(first, 0, rank.rank(), &second, nullptr), "ncclCommSplit");
    float one = 1;
    for (ncclComm_t comm : {first, second}) expect_success(sum_of(comm, &one), "ncclAllReduce");
  }
  static ncclResult_t sum_of(ncclComm_t comm, float* value) {
    return ncclAllReduce(value, value, 1, ncclFloat, ncclSum, comm, nullptr);
  }
  ncclComm_t first, second = nullptr;
};

/// Calls act(rank) in a process per rank, with the settings; each has to end well.
void in_processes(int ranks, const std::vector<std::pair<std::string, std::string>>& settings,
                  const std::function<void(const Rank&)>& act) {
  EXPECT_TRUE(all_well(run_ranks(ranks, [&](const Rank& rank) {
    for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
    act(rank);
  })));
}

ncclComm_t alone() {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  expect_success(ncclGetUniqueId(&id), "ncclGetUniqueId");
  expect_success(ncclCommInitRank(&comm, 1, id, 0), "ncclCommInitRank");
  return comm;
}

ncclResult_t sum(ncclComm_t comm, const void* in, void* out, size_t count) {
  return ncclAllReduce(in, out, count, ncclFloat, ncclSum, comm, nullptr);
}

/// Sums over all ranks of a communicator that was made just now.
void expect_sum(const ncclUniqueId& id, int ranks, int rank) {
  ncclComm_t comm = nullptr;
  expect_success(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");
  if (comm == nullptr) return;
  std::vector<float> data(1000, 1);
  expect_success(sum(comm, data.data(), data.data(), data.size()), "ncclAllReduce");
  EXPECT_EQ(data, std::vector<float>(1000, static_cast<float>(ranks)));
  expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
}

/// Runs act() in a forked child, which ends like a program does.
void expect_child_does_well(const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    act();
    fflush(nullptr);
    exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "of the child";
}

TEST(Mistakes, AnInterfaceThatIsNotThere) {
  in_processes(1, {{"NCCL_SOCKET_IFNAME", "nosuch"}}, [](const Rank&) {
    ncclUniqueId id;
    EXPECT_NE(ncclGetUniqueId(&id), ncclSuccess);
    EXPECT_THAT(
        sentence(),
        AllOf(
            HasSubstr("no running network interface matches NCCL_SOCKET_IFNAME=nosuch; running interfaces: "),
            HasSubstr("lo (127.0.0.1)")));
  });
}

TEST(Mistakes, AnInterfaceThatWasNotMeant) {
  const std::string file = "/tmp/weir_mistakes_" + std::to_string(getpid());
  in_processes(1, {{"NCCL_SOCKET_IFNAME", "=lo"}, {"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_FILE", file}},
               [](const Rank&) { expect_success(ncclCommDestroy(alone()), "ncclCommDestroy"); });
  std::ostringstream log;
  log << std::ifstream(file).rdbuf();
  std::filesystem::remove(file);
  EXPECT_THAT(log.str(), HasSubstr("NCCL INFO Bootstrap: Using lo: "));
}

/// Rank 1 alone has the setting; all get the right sums.
void expect_sums_though_rank_1_has(const char* name, const char* value) {
  EXPECT_TRUE(all_well(run_ranks(3, [&](const Rank& rank) {
    if (rank.rank() == 1) setenv(name, value, 1);
    ncclComm_t comm = rank.connect();
    for (const size_t count : {size_t{1}, size_t{1000}, size_t{300'000}}) {
      std::vector<float> data(count, static_cast<float>(1 + rank.rank()));
      expect_success(sum(comm, data.data(), data.data(), count), "ncclAllReduce");
      EXPECT_EQ(data, std::vector<float>(count, 6)) << name << "=" << value;
    }
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
}

TEST(Mistakes, TransportsThatDiffer) {
  for (const char* list : {"tcp", "shm,tcp", "cma,tcp", "loop,shm"})
    expect_sums_though_rank_1_has("WEIR_TRANSPORTS", list);
  expect_sums_though_rank_1_has("NCCL_SHM_DISABLE", "1");
}

TEST(Mistakes, ANetworkThatIsNotThere) {
  in_processes(2, {{"NCCL_NET", "AWS Libfabric"}}, [](const Rank& rank) {
    setenv("NCCL_HOSTID", rank.rank() == 0 ? "here" : "there", 1);
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 2, rank.id(), rank.rank()), ncclSystemError);
    EXPECT_THAT(sentence(), AllOf(HasSubstr("net_plugin: no net plugin: could not find"),
                                  HasSubstr("tcp: network \"AWS Libfabric\" is selected (NCCL_NET")));
  });
  in_processes(2, {{"NCCL_NET", "AWS Libfabric"}}, [](const Rank& rank) {
    expect_sum(rank.id(), 2, rank.rank());  // on one host no network is needed
  });
}

TEST(Mistakes, ANetPluginThatIsNotThere) {
  const std::string file = "/tmp/weir_mistakes_" + std::to_string(getpid());
  in_processes(2, {{"NCCL_NET_PLUGIN", "nosuch"}, {"NCCL_DEBUG", "WARN"}, {"NCCL_DEBUG_FILE", file + ".%p"}},
               [&](const Rank& rank) {
                 setenv("NCCL_HOSTID", rank.rank() == 0 ? "here" : "there", 1);
                 expect_sum(rank.id(), 2, rank.rank());
                 const std::string own = file + "." + std::to_string(getpid());
                 std::ostringstream log;
                 log << std::ifstream(own).rdbuf();
                 std::filesystem::remove(own);
                 EXPECT_THAT(log.str(),
                             HasSubstr("NCCL_NET_PLUGIN=nosuch has no effect: no net plugin: could not find "
                                       "nosuch, libnccl-net-nosuch.so"));
               });
}

TEST(Mistakes, ExchangeAreasThatDiffer) {
  for (const char* bytes : {"0", "20000", "65536", "5M"})
    expect_sums_though_rank_1_has("WEIR_EXCHANGE_AREA_BYTES", bytes);
}

TEST(Mistakes, SettingsThatMustNotDiffer) {
  for (const char* name : {"WEIR_SLOTS", "WEIR_SLOT_BYTES", "WEIR_CHECK"}) {
    EXPECT_TRUE(all_well(run_ranks(3, [&](const Rank& rank) {
      const bool is_check = std::string(name) == "WEIR_CHECK";
      if (rank.rank() == 1) setenv(name, is_check ? "0" : "512", 1);
      if (rank.rank() == 1 && std::string(name) == "WEIR_SLOTS") setenv(name, "8", 1);
      ncclComm_t comm = nullptr;
      EXPECT_EQ(ncclCommInitRank(&comm, 3, rank.id(), rank.rank()), ncclInvalidUsage);
      EXPECT_THAT(sentence(), AllOf(HasSubstr(std::string(name) + " is "), HasSubstr(" on ranks 0 and 2, "),
                                    HasSubstr(" on rank 1; expected the same value on all ranks")));
    })));
  }
}

/// Gives this process a host name of its own; false where the system does not allow it.
bool take_host_name(const std::string& name) {
  if (unshare(CLONE_NEWUTS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWUTS) != 0) return false;
  return sethostname(name.data(), name.size()) == 0;
}

bool may_take_host_name() {
  const pid_t child = fork();
  if (child == 0) _exit(take_host_name("weir-other") ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

TEST(Mistakes, AnInterfaceThatOtherHostsDoNotReach) {
  if (!may_take_host_name()) GTEST_SKIP() << "this system gives processes no host names of their own";
  in_processes(2, {{"NCCL_SOCKET_IFNAME", "lo"}}, [](const Rank& rank) {
    if (rank.rank() == 1 && !take_host_name("weir-other")) _exit(3);
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 2, rank.id(), rank.rank()), ncclInvalidUsage);
    EXPECT_THAT(sentence(),
                AllOf(HasSubstr("which only its own host can reach, but there are ranks on other hosts; set "
                                "NCCL_SOCKET_IFNAME to an interface that all hosts can reach")));
  });
}

/// A port that is taken.
class TakenPort {
 public:
  TakenPort() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = std::to_string(ntohs(address.sin_port));
  }
  ~TakenPort() { close(socket_); }
  const std::string& port() const { return port_; }

 private:
  int socket_;
  std::string port_;
};

TEST(Mistakes, PortsThatAreAllTaken) {
  const TakenPort taken;
  in_processes(1, {{"WEIR_PORTS", taken.port()}, {"NCCL_SOCKET_IFNAME", "lo"}}, [&](const Rank&) {
    ncclUniqueId id;
    EXPECT_NE(ncclGetUniqueId(&id), ncclSuccess);
    EXPECT_THAT(sentence(), AllOf(HasSubstr("no port of WEIR_PORTS=" + taken.port() + " is free"),
                                  HasSubstr("wider range")));
  });
}

TEST(Mistakes, APortForRankZeroThatIsTaken) {
  const TakenPort taken;
  in_processes(1, {{"NCCL_COMM_ID", "127.0.0.1:" + taken.port()}}, [&](const Rank&) {
    ncclUniqueId id;
    ncclComm_t comm = nullptr;
    expect_success(ncclGetUniqueId(&id), "ncclGetUniqueId");
    EXPECT_NE(ncclCommInitRank(&comm, 2, id, 0), ncclSuccess);
    EXPECT_THAT(sentence(), AllOf(HasSubstr("127.0.0.1:" + taken.port()),
                                  HasSubstr("is already used by another program; choose another port")));
  });
}

/// A port of this host whose queue of connections is full: whoever connects gets no answer.
class FullPort {
 public:
  FullPort() {
    sockaddr_in where{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    auto* const address = reinterpret_cast<sockaddr*>(&where);
    socklen_t bytes = sizeof(where);
    for (int& end : ends_) end = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(ends_[0], address, bytes), 0);
    EXPECT_EQ(listen(ends_[0], 0), 0);
    EXPECT_EQ(getsockname(ends_[0], address, &bytes), 0);
    for (const int end : {ends_[1], ends_[2]}) (void)connect(end, address, bytes);
    port_ = ntohs(where.sin_port);
  }
  ~FullPort() {
    for (const int end : ends_) close(end);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int ends_[3];
  int port_ = 0;
};

TEST(Mistakes, ARankZeroThatIsOutOfReach) {
  const FullPort nobody;
  in_processes(1, {{"NCCL_COMM_ID", nobody.address()}, {"WEIR_INIT_TIMEOUT", "1"}}, [&](const Rank&) {
    ncclUniqueId id;
    ncclComm_t comm = nullptr;
    expect_success(ncclGetUniqueId(&id), "ncclGetUniqueId");
    EXPECT_NE(ncclCommInitRank(&comm, 2, id, 1), ncclSuccess);
    EXPECT_THAT(sentence(), HasSubstr("rank 0 at NCCL_COMM_ID=" + nobody.address() + " cannot be reached: "));
  });
}

/// Of a root that is gone; or, where tests run beside each other, whose port another process listens at
/// already.
const auto kNobodyThere = AnyOf(HasSubstr("it has ended, or this id has served a communicator already"),
                                HasSubstr("the one that made it may have ended, and this one have its port"),
                                HasSubstr("closed the connection before it answered"));

TEST(Mistakes, AnIdWhoseProcessHasEnded) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  in_processes(1, {}, [&](const Rank&) {
    ncclUniqueId id;
    expect_success(ncclGetUniqueId(&id), "ncclGetUniqueId");
    EXPECT_EQ(write(ends[1], &id, sizeof(id)), static_cast<ssize_t>(sizeof(id)));
  });
  ncclUniqueId id;
  ASSERT_EQ(read(ends[0], &id, sizeof(id)), static_cast<ssize_t>(sizeof(id)));
  close(ends[0]);
  close(ends[1]);
  in_processes(1, {{"WEIR_INIT_TIMEOUT", "3"}}, [&](const Rank&) {
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 1), ncclRemoteError);
    EXPECT_THAT(sentence(), AllOf(HasSubstr("the process that made the unique id, at "), kNobodyThere));
  });
}

TEST(Mistakes, RanksOneAfterTheOtherInOneThread) {
  in_processes(1, {{"WEIR_INIT_TIMEOUT", "1"}}, [](const Rank& rank) {
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 2, rank.id(), 0), ncclRemoteError);
    EXPECT_THAT(sentence(), HasSubstr("1 of 2 ranks have not joined within 1 s (WEIR_INIT_TIMEOUT): rank 1"));
  });
}

TEST(Mistakes, TwoProcessesThatAreTheSameRank) {
  in_processes(3, {}, [](const Rank& rank) {
    ncclComm_t comm = nullptr;
    EXPECT_NE(ncclCommInitRank(&comm, 3, rank.id(), rank.rank() == 2 ? 1 : rank.rank()), ncclSuccess);
    const auto clash = HasSubstr("two processes or threads joined as rank 1: pid ");
    if (rank.rank() == 0) {
      EXPECT_THAT(sentence(), AnyOf(clash, kNobodyThere));
    } else {
      EXPECT_THAT(sentence(), clash);
    }
  });
}

TEST(Mistakes, RanksThatDisagreeHowManyTheyAre) {
  in_processes(3, {}, [](const Rank& rank) {
    ncclComm_t comm = nullptr;
    EXPECT_NE(ncclCommInitRank(&comm, rank.rank() == 2 ? 4 : 3, rank.id(), rank.rank()), ncclSuccess);
    const auto clash =
        AllOf(HasSubstr("the ranks disagree on nranks: rank "), HasSubstr(" has 3"), HasSubstr(" has 4"));
    if (rank.rank() == 2) {
      EXPECT_THAT(sentence(), clash);
    } else {
      EXPECT_THAT(sentence(), AnyOf(clash, kNobodyThere));
    }
  });
}

TEST(Mistakes, NoRoomForSharedMemory) {
  in_processes(1, {{"NCCL_DEBUG", "WARN"}}, [](const Rank& rank) {
    const ncclUniqueId id = rank.id();
    ::testing::internal::CaptureStdout();
    signal(SIGXFSZ, SIG_IGN);
    const rlimit little{4096, 4096};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
    EXPECT_THAT(::testing::internal::GetCapturedStdout(),
                AllOf(HasSubstr("rank 0 goes on without shared memory: shared memory of "),
                      HasSubstr("exceeds the file size limit of 4096 bytes; raise it with "
                                "ulimit -f unlimited")));
    EXPECT_EQ(sentence(), "") << "it is no error";
  });
}

TEST(Mistakes, ASendToOneselfAlone) {
  in_processes(1, {}, [](const Rank&) {
    ncclComm_t comm = alone();
    float in = 5, out = 0;
    EXPECT_EQ(ncclSend(&in, 1, ncclFloat, 0, comm, nullptr), ncclInvalidUsage);
    EXPECT_EQ(sentence(),
              "ncclSend : peer 0 is the caller itself; a send to itself and its receive must be in one group "
              "(ncclGroupStart, ncclGroupEnd)");
    EXPECT_EQ(ncclRecv(&out, 1, ncclFloat, 0, comm, nullptr), ncclInvalidUsage);
    expect_success(ncclGroupStart(), "ncclGroupStart");
    expect_success(ncclSend(&in, 1, ncclFloat, 0, comm, nullptr), "ncclSend");
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    EXPECT_EQ(sentence(),
              "ncclGroupEnd : rank 0 sends 1 message to itself and receives 0 messages from itself; expected "
              "as many "
              "receives as sends in one group");
    expect_success(ncclGroupStart(), "ncclGroupStart");
    expect_success(ncclRecv(&out, 1, ncclFloat, 0, comm, nullptr), "ncclRecv");
    expect_success(ncclSend(&in, 1, ncclFloat, 0, comm, nullptr), "ncclSend");
    expect_success(ncclGroupEnd(), "ncclGroupEnd");
    EXPECT_EQ(out, 5) << "and the communicator is as good as before";
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  });
}

TEST(Mistakes, ABufferThatWasFreed) {
  in_processes(1, {{"NCCL_CHECK_POINTERS", "1"}}, [](const Rank&) {
    ncclComm_t comm = alone();
    const auto page = static_cast<size_t>(getpagesize());
    void* const memory = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    char* const bytes = static_cast<char*>(memory);
    expect_success(sum(comm, bytes, bytes, 2 * page / sizeof(float)), "ncclAllReduce");
    munmap(bytes + page, page);
    std::vector<char> other(2 * page);
    EXPECT_EQ(sum(comm, bytes, other.data(), 2 * page / sizeof(float)), ncclInvalidArgument);
    EXPECT_THAT(sentence(),
                ContainsRegex("ncclAllReduce : sendbuff 0x[0-9a-f]+ is not 8192 bytes of memory of this "
                              "process: its last byte is not there; was it freed\\?"));
    munmap(bytes, page);
    EXPECT_EQ(sum(comm, other.data(), bytes, 1), ncclInvalidArgument);
    EXPECT_THAT(sentence(), HasSubstr("recvbuff"));
    EXPECT_THAT(sentence(), HasSubstr("its first byte is not there"));
    expect_success(sum(comm, other.data(), other.data(), 4), "ncclAllReduce");
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  });
}

TEST(Mistakes, AForkedChildWithItsParentsCommunicator) {
  in_processes(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.connect();
    std::vector<float> data(1000, 1);
    expect_child_does_well([&] {
      EXPECT_EQ(sum(comm, data.data(), data.data(), data.size()), ncclInvalidUsage);
      EXPECT_THAT(sentence(),
                  AllOf(HasSubstr("ncclAllReduce : comm argument "),
                        HasSubstr(" belongs to the process that forked this one; a child makes communicators "
                                  "of its own, and the parent destroys its")));
      EXPECT_EQ(ncclCommDestroy(comm), ncclInvalidUsage);
      EXPECT_EQ(ncclCommAbort(comm), ncclInvalidUsage);
      int count = 0;
      EXPECT_EQ(ncclCommCount(comm, &count), ncclInvalidUsage);
    });
    expect_success(sum(comm, data.data(), data.data(), data.size()), "ncclAllReduce");
    EXPECT_EQ(data, std::vector<float>(1000, 2));
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  });
}

/// Threads of the library do not live in a child; it has to begin anew.
TEST(Mistakes, AForkedChildMakesCommunicatorsOfItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends forked children of a process with threads when they start one";
#endif
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  in_processes(2, {}, [&](const Rank& rank) {
    ncclComm_t comm = rank.connect();
    rank.reach(1);
    expect_child_does_well([&] {
      ncclUniqueId id;
      if (rank.rank() == 0) {
        expect_success(ncclGetUniqueId(&id), "ncclGetUniqueId");
        EXPECT_EQ(write(ends[1], &id, sizeof(id)), static_cast<ssize_t>(sizeof(id)));
      } else {
        EXPECT_EQ(read(ends[0], &id, sizeof(id)), static_cast<ssize_t>(sizeof(id)));
      }
      expect_sum(id, 2, rank.rank());
    });
    float one = 1;
    expect_success(sum(comm, &one, &one, 1), "ncclAllReduce");
    EXPECT_EQ(one, 2);
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  });
  close(ends[0]);
  close(ends[1]);
}

TEST(Mistakes, CommunicatorsInAnotherOrder) {
  in_processes(3, {{"WEIR_DEADLOCK_TIMEOUT", "1"}, {"WEIR_CALIBRATION", "0"}}, [](const Rank& rank) {
    const Two two(rank);
    float one = 1;
    EXPECT_EQ(Two::sum_of(rank.rank() == 0 ? two.first : two.second, &one), ncclRemoteError);
    EXPECT_THAT(sentence(),
                AllOf(ContainsRegex("rank [012] \\(pid [0-9]+ on host .*\\) waits for rank [012] .* "
                                    "in communicator 0x.*, which waits for rank"),
                      HasSubstr("closes a ring of ranks that wait for each other in several "
                                "communicators; the wait timed out (WEIR_DEADLOCK_TIMEOUT)")));
    rank.reach(1);
    for (int other = 0; other < 3; ++other) rank.wait_until_reached(other, 1);
  });
}

/// A thread for each communicator may wait for long: another one goes on.
TEST(Mistakes, CommunicatorsOfThreadsInAnotherOrderAreNone) {
  in_processes(2, {{"WEIR_DEADLOCK_TIMEOUT", "0.5"}, {"WEIR_CALIBRATION", "0"}}, [](const Rank& rank) {
    const Two two(rank);
    float one = 1, other = 1;
    std::thread second([&] {
      if (rank.rank() == 1) expect_success(Two::sum_of(two.second, &other), "ncclAllReduce");
    });
    if (rank.rank() == 1) sleep(3);
    expect_success(Two::sum_of(two.first, &one), "ncclAllReduce");
    if (rank.rank() == 0) expect_success(Two::sum_of(two.second, &other), "ncclAllReduce");
    second.join();
  });
}

/// At once after it: the thread that waits for the ranks has hardly begun.
TEST(Mistakes, AForkAfterAnIdWasMade) {
  in_processes(1, {}, [](const Rank&) {
    for (int i = 0; i < 10; ++i) {
      ncclUniqueId id;
      expect_success(ncclGetUniqueId(&id), "ncclGetUniqueId");
      expect_child_does_well([] {});
      expect_sum(id, 1, 0);
    }
  });
}

}  // namespace
}  // namespace weir::testing
