// SPDX-License-Identifier: Apache-2.0
/// What this process is doing, as a value: its communicators, for each the state of its rank, the operations
/// begun and ended, the latest of them, and what went along its channels.
///
/// Taking a report does not disturb operations: it reads what they write as they go, without their locks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/bytes.h"
#include "src/core/diagnosis/activity_registry.h"
#include "src/core/diagnosis/recorder.h"

namespace weir::core {

enum class RankState : uint8_t {
  joining,    ///< being made, or exchanging set-up information
  idle,       ///< in no call
  running,    ///< in a call, at work
  waiting,    ///< in a call, waiting for other ranks
  failed,     ///< CommunicatorReport::sentence says why
  aborted,    ///< by ncclCommAbort, or revoked
  suspended,  ///< by ncclCommSuspend
};
/// "waiting".
std::string_view name(RankState state);

/// An operation in words that leave the process.
struct OperationReport {
  uint64_t number = 0;   ///< counts what this rank has begun from 1
  uint64_t call = 0;     ///< number of the call, the same on all ranks; sends and receives: of the last one
  Operation operation;   ///< without pointers and factors
  std::string plan;      ///< the algorithm; "exchange" for the fast paths; "" for sends, receives and puts
  int64_t begun_ns = 0;  ///< of the wall clock, since 1970; 0: nobody knows
  bool exact = false;    ///< else begun_ns is that of an operation shortly before
  int64_t took_ns = 0;   ///< until its end; while it goes on, until now; 0: nobody knows
  bool ended = false;
};

struct ChannelReport {
  Rank peer = 0;
  uint32_t number = 0;
  bool sends = false;
  std::string transport;  ///< "tcp"
  uint64_t bytes = 0;     ///< since the channel was opened
  uint64_t messages = 0;
};

/// One rank of one communicator.
struct CommunicatorReport {
  std::string id;  ///< 16 digits, the same on all its ranks; says nothing about the name it has at listeners
  std::string name;  ///< that the user gave; may be empty
  int ranks = 0;     ///< 0: not known yet
  Rank rank = 0;
  std::string device;  ///< "host memory"
  int gpu = -1;        ///< the number of the GPU in its process; -1: host memory
  RankState state = RankState::idle;
  Code code = Code::success;  ///< of the failure
  std::string sentence;       ///< why, where it failed
  Rank culprit = -1;          ///< of the failure; -1: nobody in particular
  std::vector<Rank> waiting_for;
  int64_t waiting_ns = 0;
  uint64_t calls = 0;  ///< begun: the number of the last call
  std::array<Recorder::Count, kCollectives> counts;
  std::optional<OperationReport> last;  ///< begun
  std::vector<OperationReport> recent;  ///< oldest first, the last one included
  std::vector<ChannelReport> channels;
  std::vector<PeerAddress> members;  ///< by rank; told by the first rank of the process that knows them
};

struct ProcessReport {
  std::string hostname;
  uint64_t host = 0;  ///< host_identity()
  int32_t pid = 0;
  std::string program;
  std::string version;  ///< of weir
  int64_t time_ns = 0;  ///< of the wall clock, when it was taken
  std::vector<CommunicatorReport> communicators;
  std::vector<ActivityRegistry::Joining> joining;  ///< since_ns: of the wall clock
};

/// What a report is to contain beside the rest.
struct ReportScope {
  size_t recent = Recorder::kDefaultCapacity;  ///< operations of each communicator, at most
  bool channels = true;
  bool members = true;
};

/// Any thread. `host`: host_identity() of this process. Allocates; not for signal handlers.
ProcessReport report_of(const ActivityRegistry& activities, uint64_t host, const ReportScope& scope = {});

/// A line of JSON, without an end.
std::string to_json(const ProcessReport& report);
/// What to_json wrote. invalid_argument where the text is none, with what is wrong.
Result<ProcessReport> read_report(std::string_view json);

/// What a listener is asked for the report of its process, under any scope; the answer is JSON.
Bytes report_question(const ReportScope& scope);
bool is_report_question(BytesView question);
Bytes answer_report_question(const ActivityRegistry& activities, uint64_t host, BytesView question);

}  // namespace weir::core
