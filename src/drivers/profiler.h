// SPDX-License-Identifier: Apache-2.0
/// NCCL profiler plugins: shared objects that receive the events of a communicator.
///
/// There is one Profiler per communicator, with the same lifetime. The plugin's result of an event has no
/// effect, except that it may decline to receive the end of the event.
///
/// Thread safety: different objects may be used by several threads at once, each object by one thread at a
/// time.
/// Tests: tests/library/profiler_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/drivers/library.h"
#include "src/drivers/profiler_abi.h"

namespace weir::drivers {

/// From now on all profilers of the process get events of these kinds, whatever their plugins want. Any
/// thread.
void force_profiler_mask(int kinds);

struct ProfilerSpec {
  std::string plugin;       ///< file or name, as in NCCL_PROFILER_PLUGIN; empty: libnccl-profiler.so, if any
  std::string net_plugins;  ///< value of NCCL_NET_PLUGIN: one of these plugins may contain a profiler
  uint64_t communicator = 0;
  std::string name;  ///< name of the communicator; may be empty
  int nodes = 1;
  int ranks = 1;
  int rank = 0;
};

class Profiler {
 public:
  /// An event's handle, owned by the plugin. Null: the plugin does not want the event's further states and
  /// end.
  using Event = void*;

  /// Texts must be literals, because plugins keep the pointers.
  struct Collective {
    uint64_t sequence = 0;  ///< sequence number of the call in its communicator
    const char* function = "";
    const char* type = "";
    const char* algorithm = "";
    const char* protocol = "";
    const void* input = nullptr;
    void* output = nullptr;
    size_t count = 0;
    int root = 0;
    uint8_t channels = 0;
    uint64_t user_tag = 0;  ///< userProfilerTag of the call, like that of pairs
  };
  struct Pair {
    const char* function = "";
    const char* type = "";
    void* buffer = nullptr;
    size_t count = 0;
    int peer = 0;
    uint64_t user_tag = 0;
  };

  /// Loads the plugin; null if there is none. Errors: a requested plugin cannot be loaded, or its init
  /// failed. Its code stays in the process permanently.
  static Result<std::unique_ptr<Profiler>> load(const ProfilerSpec& spec);
  ~Profiler();
  Profiler(const Profiler&) = delete;

  /// Returns whether the plugin currently wants events of one of these kinds (profiler_abi); this may change
  /// at any time.
  bool wants(int kinds) const;

  // The functions below begin events; they return null for kinds that are not wanted.
  Event group_call(int depth);
  Event collective_call(const Collective& collective, Event group_call);
  Event pair_call(const Pair& pair, Event group_call);
  Event group();
  /// `call` is the parent from version 5 on; before, the parent is `group`.
  Event collective(const Collective& collective, Event call, Event group);
  Event pair(const Pair& pair, Event call, Event group);
  /// Begins the event of one operation's messages on a channel.
  Event proxy(Event parent, int channel, int peer, int chunk_bytes, bool sends);
  /// Begins the event of one message of a proxy event.
  Event step(Event proxy, int number);

  /// Ends an event; does nothing if it is null.
  void end(Event event);
  /// Records a state of a proxy or step event; does nothing if it is null.
  void state(Event event, int state, size_t bytes = 0);

  std::string_view plugin_name() const { return name_; }
  int version() const { return version_; }

 private:
  Profiler(Library library, std::string file, int version)
      : library_(std::move(library)), file_(std::move(file)), version_(version) {}
  Status start(const ProfilerSpec& spec, const void* table);
  Status check(int result, const char* call) const;
  template <typename Fill>
  Event begin(int kind, Event parent, Fill fill);

  Library library_;
  std::string file_;
  int version_;
  int rank_ = 0;
  uint64_t communicator_ = 0;
  std::string communicator_name_;
  std::string name_;
  profiler_abi::AnyTable table_;
  void* context_ = nullptr;  ///< null: the plugin has none, and is not finalized
};

}  // namespace weir::drivers
