// SPDX-License-Identifier: Apache-2.0
/// Reports a communicator's events to an NCCL profiler plugin: groups, collectives, sends and receives, the
/// channels' part in them, and each message.
///
/// Not thread-safe: belongs to the thread that carries operations out. Outlives the channel ends that it has
/// decorated.
/// Tests: tests/library/profiler_test.cc
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/options.h"
#include "src/core/call/operation.h"
#include "src/drivers/profiler.h"
#include "transports/transport.h"

namespace weir::core {

class Bootstrap;

class ProfilerFeed {
 public:
  /// A feed for the plugin that the options name; null if they name none, or, with a warning, if it cannot be
  /// loaded. `name`: the communicator's.
  static std::unique_ptr<ProfilerFeed> of(const Options& options, const Bootstrap& bootstrap,
                                          const std::string& name);
  explicit ProfilerFeed(std::unique_ptr<drivers::Profiler> profiler) : profiler_(std::move(profiler)) {}

  /// Starts the reports; earlier events are not reported.
  void start() { started_ = true; }

  /// Report that a group of operations begins and ends; the end also ends the operations that have not ended.
  void begin_group(std::span<const Operation> operations);
  void end_group();
  /// Reports that operations[index] begins. `algorithm`: its name in the catalogue; empty: shm collectives.
  void begin_collective(size_t index, uint64_t sequence, std::string_view algorithm, size_t channels);
  /// Reports that all sends and receives of the group begin.
  void begin_pairs();
  /// Reports the end of the last begun collective or of the pairs.
  void end_task();

  /// Wrap channel ends so that they report their messages.
  std::unique_ptr<Sender> profiled(std::unique_ptr<Sender> inner, const LinkSpec& spec);
  std::unique_ptr<Receiver> profiled(std::unique_ptr<Receiver> inner, const LinkSpec& spec);

 private:
  using Event = drivers::Profiler::Event;
  class ProfiledEnd;
  class ProfiledSender;
  class ProfiledReceiver;

  /// The event of the begun operations[index].
  struct Begun {
    size_t index;
    Event event;
  };
  Event parent_for(Rank peer, bool sends) const;

  const std::unique_ptr<drivers::Profiler> profiler_;
  bool started_ = false;
  std::span<const Operation> operations_;  ///< operations of the group; empty: no reports
  Event group_call_ = nullptr;
  Event group_ = nullptr;
  std::vector<Event> calls_;        ///< API events, by operation
  std::vector<Begun> task_;         ///< operations in flight
  std::vector<ProfiledEnd*> busy_;  ///< ends that have reported events of the task
};

}  // namespace weir::core
