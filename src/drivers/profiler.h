// SPDX-License-Identifier: Apache-2.0
/// Profiler plugins of NCCL: shared objects that are told what a communicator does, and when.
///
/// One object per communicator: made with it, told of its events, ended with it. What a plugin answers to an
/// event has no effect but that it may not want to hear of its end.
///
/// Thread safety: different objects may be used by several threads at once, one by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/drivers/library.h"
#include "src/drivers/profiler_abi.h"
#include "weir/status.h"

namespace weir::drivers {

struct ProfilerSpec {
  std::string plugin;  ///< file or name, as NCCL_PROFILER_PLUGIN has it; empty: libnccl-profiler.so, if any
  std::string net_plugins;  ///< as NCCL_NET_PLUGIN has it: one of them may have a profiler
  uint64_t communicator = 0;
  std::string name;  ///< of the communicator; may be empty
  int nodes = 1;
  int ranks = 1;
  int rank = 0;
};

class Profiler {
 public:
  /// Belongs to the plugin. Null: it does not want to hear more of the event.
  using Event = void*;

  /// Texts are literals: plugins keep the pointers.
  struct Collective {
    uint64_t sequence = 0;  ///< of the communicator's calls
    const char* function = "";
    const char* type = "";
    const char* algorithm = "";
    const char* protocol = "";
    const void* input = nullptr;
    void* output = nullptr;
    size_t count = 0;
    int root = 0;
    uint8_t channels = 0;
  };
  struct Pair {
    const char* function = "";
    const char* type = "";
    void* buffer = nullptr;
    size_t count = 0;
    int peer = 0;
  };

  /// Null where there is no plugin. Errors: one is asked for and cannot be had, or its init failed. Its code
  /// stays in the process for good.
  static Result<std::unique_ptr<Profiler>> load(const ProfilerSpec& spec);
  ~Profiler();
  Profiler(const Profiler&) = delete;

  /// Whether the plugin wants events of one of these kinds now (profiler_abi): it may change its mind.
  bool wants(int kinds) const;

  // Begin events, of kinds that are wanted; null otherwise.
  Event group_call(int depth);
  Event collective_call(const Collective& collective, Event group_call);
  Event pair_call(const Pair& pair, Event group_call);
  Event group();
  /// `call` is of version 5; before, the parent is the group.
  Event collective(const Collective& collective, Event call, Event group);
  Event pair(const Pair& pair, Event call, Event group);
  /// What goes along a channel in an operation.
  Event proxy(Event parent, int channel, int peer, int chunk_bytes, bool sends);
  /// A message of it.
  Event step(Event proxy, int number);

  /// Ends an event; nothing for a null one.
  void end(Event event);
  /// What happens to a proxy or a step; nothing for a null one.
  void state(Event event, int state, size_t bytes = 0);

  std::string_view plugin_name() const { return name_; }
  int version() const { return version_; }

 private:
  Profiler(Library library, std::string file, int version)
      : library_(std::move(library)), file_(std::move(file)), version_(version) {}
  Status start(const ProfilerSpec& spec, const void* table);
  Status check(int result, const char* call) const;
  Event begin(profiler_abi::EventV4& event);
  Event begin(profiler_abi::EventV5& event);
  template <typename Fill>
  Event begin_either(int kind, Event parent, Fill fill);

  Library library_;
  std::string file_;
  int version_;
  int rank_ = 0;
  std::string name_;
  const profiler_abi::TableV4* v4_ = nullptr;  ///< one of them is not null
  const profiler_abi::TableV5* v5_ = nullptr;
  bool begun_ = false;
  void* context_ = nullptr;
};

}  // namespace weir::drivers
