// SPDX-License-Identifier: Apache-2.0
/// A report of this process: for each communicator the state of its rank, counts of operations begun and
/// ended, the latest operations, and the traffic of its channels.
///
/// Making a report does not disturb operations: it takes none of their locks.
/// Tests: tests/core/process_report_test.cc
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
  joining,    ///< being created, or exchanging set-up information
  idle,       ///< not in a call
  running,    ///< working in a call
  waiting,    ///< waiting for other ranks in a call
  failed,     ///< CommunicatorReport::sentence says why
  aborted,    ///< aborted by ncclCommAbort, or revoked
  suspended,  ///< suspended by ncclCommSuspend
};
/// "waiting".
std::string_view name(RankState state);

/// An operation, without anything that is valid only in its process.
struct OperationReport {
  uint64_t number = 0;  ///< counts this rank's operations from 1
  uint64_t call = 0;    ///< call number, the same on all ranks; sends and receives: the last collective's
  OperationSummary operation;
  std::string plan;      ///< algorithm; "exchange" for the fast paths; "" for sends, receives and puts
  int64_t begun_ns = 0;  ///< wall-clock time of its begin, since 1970; 0: unknown
  bool exact = false;    ///< false: begun_ns is that of an operation shortly before
  int64_t took_ns = 0;   ///< duration until its end, until it failed, or until now; 0: unknown
  bool ended = false;    ///< false: it is in flight, or has failed
};

struct ChannelReport {
  Rank peer = 0;
  uint32_t number = 0;
  bool sends = false;
  std::string transport;  ///< "tcp"
  uint64_t bytes = 0;     ///< bytes carried since the channel was opened
  uint64_t messages = 0;
};

/// One rank of one communicator.
struct CommunicatorReport {
  std::string id;    ///< 16 digits, the same on all its ranks; a hash that hides the uid
  uint32_t job = 0;  ///< job_key_of() its unique id; 0: not told
  std::string name;  ///< name given by the user; may be empty
  int ranks = 0;     ///< number of ranks; 0: not known yet
  Rank rank = 0;
  std::string device;  ///< "host memory", or a description of the GPU
  int gpu = -1;        ///< the GPU's number in its process; -1: host memory
  /// What the rank pretends to be (WEIR_PRETEND): "GPU 3 of node0 of FILE"; empty: nothing.
  std::string pretended;
  RankState state = RankState::idle;
  Code code = Code::success;  ///< code of the failure
  std::string sentence;       ///< message of the failure
  Rank culprit = -1;          ///< rank that caused the failure; -1: none known
  std::vector<Rank> waiting_for;
  int64_t waiting_ns = 0;
  uint64_t calls = 0;       ///< number of the last call begun
  uint64_t bad_values = 0;  ///< calls with a NaN or an infinity in this rank's input (WEIR_CHECK_VALUES)
  std::array<Recorder::Count, kCollectives> counts;
  std::optional<OperationReport> last;  ///< operation begun last
  std::vector<OperationReport> recent;  ///< latest operations, oldest first, with `last`
  std::vector<ChannelReport> channels;
  std::vector<LinkSpeed> links;      ///< with `channels`
  std::vector<PeerAddress> members;  ///< addresses by rank; only for the process's first rank that has them
};

struct ProcessReport {
  std::string hostname;
  uint64_t host = 0;  ///< host_identity()
  int32_t pid = 0;
  std::string program;
  std::string version;  ///< version of weir
  int64_t time_ns = 0;  ///< wall-clock time of the report
  std::vector<CommunicatorReport> communicators;
  std::vector<ActivityRegistry::Joining> joining;  ///< ranks that are joining; since_ns: wall-clock time
};

/// Optional contents of a report.
struct ReportScope {
  size_t recent = Recorder::kDefaultCapacity;  ///< maximum number of operations per communicator
  bool channels = true;
  bool members = true;
  /// Events that the profiler plugins of the process are to get from now on, whatever they want; an order of
  /// the user beside the question.
  std::optional<int32_t> profiler_mask = std::nullopt;
};

/// Makes the report. Any thread. `host`: host_identity() of this process. Allocates; not for signal handlers.
ProcessReport report_of(const ActivityRegistry& activities, uint64_t host, const ReportScope& scope = {});

/// The report as one line of JSON, without a line end.
std::string to_json(const ProcessReport& report);
/// Parses what to_json wrote. invalid_argument, with the reason, if the text is not such a report.
Result<ProcessReport> read_report(std::string_view json);

/// The message that requests a process's report from its listener, under any uid; the answer is JSON.
Bytes report_question(const ReportScope& scope);
bool is_report_question(BytesView question);
/// ReportScope::profiler_mask of the question.
std::optional<int32_t> profiler_mask_of(BytesView question);
Bytes answer_report_question(const ActivityRegistry& activities, uint64_t host, BytesView question);

}  // namespace weir::core
