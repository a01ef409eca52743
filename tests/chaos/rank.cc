// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/rank.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "src/api/abi.h"

namespace weir::testing {
namespace {

using Numbers = std::vector<int32_t>;

/// What rank `rank` puts at place `i` of its input of call `number`.
int32_t given(int rank, size_t i, int number) {
  return static_cast<int32_t>((i * 7 + static_cast<size_t>(number)) % 1009) + rank;
}

int32_t sum_of_all(int ranks, size_t i, int number) {
  return ranks * given(0, i, number) + ranks * (ranks - 1) / 2;
}

/// Memory of a rank for all of its calls: it is the library's memory that is to run out, not ours.
struct Buffers {
  explicit Buffers(const Round& round) {
    size_t most = 0;
    for (const Call& call : round.calls) most = std::max(most, call.count * static_cast<size_t>(round.ranks));
    for (Numbers* numbers : {&input, &output}) {
      numbers->resize(most);
      numbers->clear();
    }
  }
  Numbers input, output;
};

/// One call.
class Calling {
 public:
  Calling(const Call& call, int ranks, int rank, int number, Buffers& buffers)
      : call_(call),
        ranks_(ranks),
        rank_(rank),
        number_(number),
        input_(buffers.input),
        output_(buffers.output) {
    const size_t blocks = static_cast<size_t>(ranks);
    input_.resize(call.count * (call.kind == 2 || call.kind == 3 ? blocks : 1));
    output_.assign(call.count * (call.kind == 1 || call.kind == 3 ? blocks : 1), -1);
    for (size_t i = 0; i < input_.size(); ++i) input_[i] = given(rank, i, number);
  }

  ncclResult_t make(ncclComm_t comm) {
    switch (call_.kind) {
      case 0:
        return ncclAllReduce(input_.data(), output_.data(), call_.count, ncclInt32, ncclSum, comm, nullptr);
      case 1: return ncclAllGather(input_.data(), output_.data(), call_.count, ncclInt32, comm, nullptr);
      case 2:
        return ncclReduceScatter(input_.data(), output_.data(), call_.count, ncclInt32, ncclSum, comm,
                                 nullptr);
      case 3: return ncclAlltoAll(input_.data(), output_.data(), call_.count, ncclInt32, comm, nullptr);
      case 4:
        return ncclBroadcast(input_.data(), output_.data(), call_.count, ncclInt32, call_.root, comm,
                             nullptr);
      default:
        return ncclReduce(input_.data(), output_.data(), call_.count, ncclInt32, ncclSum, call_.root, comm,
                          nullptr);
    }
  }

  /// The first wrong place, or -1.
  int64_t wrong() const {
    if (call_.kind == 5 && rank_ != call_.root) return -1;
    for (size_t i = 0; i < output_.size(); ++i) {
      if (output_[i] != expected(i)) return static_cast<int64_t>(i);
    }
    return -1;
  }

 private:
  int32_t expected(size_t i) const {
    const size_t own = static_cast<size_t>(rank_) * call_.count;
    switch (call_.kind) {
      case 1: return given(static_cast<int>(i / call_.count), i % call_.count, number_);
      case 2: return sum_of_all(ranks_, own + i, number_);
      case 3: return given(static_cast<int>(i / call_.count), own + i % call_.count, number_);
      case 4: return given(call_.root, i, number_);
      default: return sum_of_all(ranks_, i, number_);
    }
  }

  const Call call_;
  const int ranks_, rank_, number_;
  Numbers &input_, &output_;
};

/// From now on this process gets next to no more memory.
void exhaust_memory() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t size = pages * static_cast<rlim_t>(getpagesize()) + (256 << 10);
  const rlimit limit{size, size};
  setrlimit(RLIMIT_AS, &limit);
}

std::string words(ncclResult_t result) {
  return fmt::format("{}: {}", static_cast<int>(result), ncclGetLastError(nullptr));
}

void configure(const Round& round, int rank, const std::string& meeting) {
  setenv("NCCL_COMM_ID", meeting.c_str(), 1);
  setenv("WEIR_TRANSPORTS", round.transports.c_str(), 1);
  setenv("WEIR_FAST", round.fast ? "1" : "0", 1);
  setenv("WEIR_CALIBRATION", "0", 1);
  if (!round.calm) {
    setenv("WEIR_INIT_TIMEOUT", std::to_string(kJoinSeconds).c_str(), 1);
    setenv("WEIR_PEER_TIMEOUT", std::to_string(kPeerSeconds).c_str(), 1);
  }
  if (round.injury == Injury::absent) setenv("WEIR_STUCK_TIMEOUT", std::to_string(kAbsentSeconds).c_str(), 1);
  if (round.hosts > 1) {
    setenv("NCCL_HOSTID", fmt::format("chaos-{}", round.host_of(rank)).c_str(), 1);
    setenv("NCCL_SOCKET_IFNAME", "=eth0", 1);
  }
}

/// A rank of a communicator; null: it is not in it.
struct Member {
  ncclComm_t comm = nullptr;
  int ranks = 1, rank = 0;

  explicit Member(ncclComm_t of) : comm(of) {
    if (comm == nullptr) return;
    ncclCommCount(comm, &ranks);
    ncclCommUserRank(comm, &rank);
  }
};

/// The communicators by which the calls go in turn.
ncclResult_t divide(const Round& round, int rank, ncclComm_t world, std::vector<Member>& members) {
  if (round.group == 0) {
    members.emplace_back(world);
    return ncclSuccess;
  }
  for (const int color : {rank / round.group, rank % round.group}) {
    ncclComm_t part = nullptr;
    const ncclResult_t result = ncclCommSplit(world, color, rank, &part, nullptr);
    if (result != ncclSuccess) return result;
    members.emplace_back(part);
  }
  if (!round.shrinks) return ncclSuccess;
  int last = round.ranks - 1;
  ncclComm_t shrunk = nullptr;
  if (rank != last) {
    const ncclResult_t result = ncclCommShrink(world, &last, 1, &shrunk, nullptr, NCCL_SHRINK_DEFAULT);
    if (result != ncclSuccess) return result;
  }
  members.emplace_back(shrunk);
  return ncclSuccess;
}

/// The line that the rank ends with.
std::string live(const Round& round, int rank, ncclComm_t comm) {
  const bool hurts_itself =
      rank == round.victim && (round.injury == Injury::absent || round.injury == Injury::starve);
  const bool for_ever = !round.ends_well() && round.injury != Injury::starve;
  const int calls = static_cast<int>(round.calls.size());
  Buffers buffers(round);
  std::vector<Member> members;
  if (const ncclResult_t result = divide(round, rank, comm, members); result != ncclSuccess)
    return words(result);
  for (int number = 0; for_ever || number < calls; ++number) {
    if (hurts_itself && number == round.last_call) {
      if (round.injury == Injury::absent) pause();
      exhaust_memory();
    }
    const Member member = members[static_cast<size_t>(number) % members.size()];
    if (member.comm == nullptr) continue;
    Call call = round.calls[static_cast<size_t>(number % calls)];
    call.root %= member.ranks;
    Calling calling(call, member.ranks, member.rank, number, buffers);
    if (const ncclResult_t result = calling.make(member.comm); result != ncclSuccess) return words(result);
    if (const int64_t place = calling.wrong(); place >= 0) {
      return fmt::format("wrong: element {} of call {}", place, number);
    }
  }
  return "done";
}

}  // namespace

void run_rank(const Round& round, int rank, const std::string& meeting, const Processes::Voice& voice) {
  configure(round, rank, meeting);
  voice.say("begins");
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ncclResult_t result = ncclGetUniqueId(&id);
  if (result == ncclSuccess) result = ncclCommInitRank(&comm, round.ranks, id, rank);
  const std::string last = result == ncclSuccess ? live(round, rank, comm) : words(result);
  voice.say(last);
  if (comm != nullptr) last == "done" ? ncclCommDestroy(comm) : ncclCommAbort(comm);
}

}  // namespace weir::testing
