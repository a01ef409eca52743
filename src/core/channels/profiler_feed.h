// SPDX-License-Identifier: Apache-2.0
/// What a profiler plugin of NCCL is told of a communicator: groups, collectives, sends and receives, what
/// goes along each channel in them, and each message.
///
/// Not thread-safe: belongs to the thread that carries operations out. Outlives the ends of channels that it
/// has decorated.
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
  /// Of the plugin that the options name; null where there is none, or where it cannot be had, which is a
  /// warning. `name`: of the communicator.
  static std::unique_ptr<ProfilerFeed> of(const Options& options, const Bootstrap& bootstrap,
                                          const std::string& name);
  explicit ProfilerFeed(std::unique_ptr<drivers::Profiler> profiler) : profiler_(std::move(profiler)) {}

  /// From now on; what was done before is nobody's.
  void start() { started_ = true; }

  /// Operations that belong together begin, and end; whatever of them has not ended does then.
  void begin_group(std::span<const Operation> operations);
  void end_group();
  /// operations[index] begins. `algorithm`: of the catalogue; empty: the exchange.
  void begin_collective(size_t index, uint64_t sequence, std::string_view algorithm, size_t channels);
  /// All sends and receives of the group do.
  void begin_pairs();
  /// What was begun last is done.
  void end_task();

  /// Ends of channels that tell of their messages.
  std::unique_ptr<Sender> profiled(std::unique_ptr<Sender> inner, const LinkSpec& spec);
  std::unique_ptr<Receiver> profiled(std::unique_ptr<Receiver> inner, const LinkSpec& spec);

 private:
  using Event = drivers::Profiler::Event;
  class ProfiledEnd;
  class ProfiledSender;
  class ProfiledReceiver;

  /// Of operations[index] that was begun.
  struct Begun {
    size_t index;
    Event event;
  };
  Event parent_for(Rank peer, bool sends) const;

  const std::unique_ptr<drivers::Profiler> profiler_;
  bool started_ = false;
  std::span<const Operation> operations_;  ///< none: nothing is told
  Event group_call_ = nullptr;
  Event group_ = nullptr;
  std::vector<Event> calls_;        ///< by operation
  std::vector<Begun> task_;         ///< what is under way
  std::vector<ProfiledEnd*> busy_;  ///< ends that have told something of the task
};

}  // namespace weir::core
