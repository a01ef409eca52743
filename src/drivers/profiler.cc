// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/profiler.h"

#include <fmt/format.h>
#include <unistd.h>

#include "src/base/log.h"
#include "src/drivers/plugin_file.h"

namespace weir::drivers {
namespace {

using profiler_abi::CollectiveV4;
using profiler_abi::EventV4;
using profiler_abi::EventV5;
using profiler_abi::PairV4;

/// The mask of wanted events. Plugins keep its address and write it later from their own threads. As in NCCL
/// there is one mask for all communicators.
int wanted_events = 0;

CollectiveV4 described(const Profiler::Collective& one) {
  CollectiveV4 all{};
  all.sequence = one.sequence;
  all.function = one.function;
  all.input = one.input;
  all.output = one.output;
  all.count = one.count;
  all.root = one.root;
  all.type = one.type;
  all.channels = one.channels;
  all.algorithm = one.algorithm;
  all.protocol = one.protocol;
  return all;
}

PairV4 described(const Profiler::Pair& one) {
  return {one.function, one.buffer, one.type, one.count, one.peer, 1};
}

}  // namespace

Result<std::unique_ptr<Profiler>> Profiler::load(const ProfilerSpec& spec) {
  auto found = find_plugin({.kind = "profiler",
                            .variable = "NCCL_PROFILER_PLUGIN",
                            .symbol = "ncclProfiler_v",
                            .newest = 5,
                            .oldest = 4,
                            .name = spec.plugin,
                            .net_plugins = spec.net_plugins});
  WEIR_TRY(found.status());
  if (!*found) return std::unique_ptr<Profiler>();
  FoundPlugin& plugin = **found;
  std::unique_ptr<Profiler> profiler(new Profiler(std::move(plugin.opened), plugin.file, plugin.version));
  WEIR_TRY(profiler->start(spec, plugin.table));
  WEIR_INFO(init, "PROFILER/Plugin: Using {} (v{}) of {}", profiler->name_, profiler->version_,
            profiler->file_);
  return profiler;
}

Status Profiler::start(const ProfilerSpec& spec, const void* table) {
  const auto is_complete = [](const auto& own) {
    return own.name != nullptr && own.init != nullptr && own.start != nullptr && own.stop != nullptr &&
           own.record != nullptr && own.finalize != nullptr;
  };
  const auto* const v4 = static_cast<const profiler_abi::TableV4*>(table);
  const auto* const v5 = static_cast<const profiler_abi::TableV5*>(table);
  if (version_ == 4 ? !is_complete(*v4) : !is_complete(*v5))
    return {Code::system_error,
            fmt::format("profiler plugin {}: the table ncclProfiler_v{} lacks a name or a function", file_,
                        version_)};
  rank_ = spec.rank;
  const char* const name = spec.name.empty() ? nullptr : spec.name.c_str();
  int result = 0;
  if (version_ == 4) {
    v4_ = v4;
    name_ = v4->name;
    result = v4->init(&context_, &wanted_events, name, spec.communicator, spec.nodes, spec.ranks, spec.rank,
                      log_of_plugin);
  } else {
    v5_ = v5;
    name_ = v5->name;
    result = v5->init(&context_, spec.communicator, &wanted_events, name, spec.nodes, spec.ranks, spec.rank,
                      log_of_plugin);
  }
  begun_ = result == 0;
  return check(result, "init");
}

Profiler::~Profiler() {
  if (!begun_) return;
  const Status ended = check(v4_ != nullptr ? v4_->finalize(context_) : v5_->finalize(context_), "finalize");
  if (!ended.ok()) WEIR_INFO(init, "{}", ended.message());
}

bool Profiler::wants(int kinds) const {
  return (__atomic_load_n(&wanted_events, __ATOMIC_RELAXED) & kinds) != 0;
}

/// The plugin's results of events are ignored, as in NCCL.
Profiler::Event Profiler::begin(EventV4& event) {
  Event handle = nullptr;
  if (v4_->start(context_, &handle, &event) != 0) return nullptr;
  return handle;
}

Profiler::Event Profiler::begin(EventV5& event) {
  Event handle = nullptr;
  if (v5_->start(context_, &handle, &event) != 0) return nullptr;
  return handle;
}

/// Builds and begins an event in the plugin's version.
template <typename Fill>
Profiler::Event Profiler::begin_either(int kind, Event parent, Fill fill) {
  if (!wants(kind)) return nullptr;
  const auto begin_one = [&](auto event) {
    event.kind = static_cast<decltype(event.kind)>(kind);
    event.parent = parent;
    event.rank = rank_;
    fill(event);
    return begin(event);
  };
  return v4_ != nullptr ? begin_one(EventV4{}) : begin_one(EventV5{});
}

Profiler::Event Profiler::group_call(int depth) {
  if (v5_ == nullptr || !wants(profiler_abi::kGroupCall)) return nullptr;
  EventV5 event{};
  event.kind = profiler_abi::kGroupCall;
  event.rank = rank_;
  event.group_call = {false, depth};
  return begin(event);
}

Profiler::Event Profiler::collective_call(const Collective& collective, Event group_call) {
  if (v5_ == nullptr || !wants(profiler_abi::kCollectiveCall)) return nullptr;
  EventV5 event{};
  event.kind = profiler_abi::kCollectiveCall;
  event.parent = group_call;
  event.rank = rank_;
  event.collective_call = {collective.function, collective.count, collective.type,
                           collective.root,     nullptr,          false};
  return begin(event);
}

Profiler::Event Profiler::pair_call(const Pair& pair, Event group_call) {
  if (v5_ == nullptr || !wants(profiler_abi::kPairCall)) return nullptr;
  EventV5 event{};
  event.kind = profiler_abi::kPairCall;
  event.parent = group_call;
  event.rank = rank_;
  event.pair_call = {pair.function, pair.count, pair.type, nullptr, false};
  return begin(event);
}

Profiler::Event Profiler::group() {
  return begin_either(profiler_abi::kGroup, nullptr, [](auto&) {});
}

Profiler::Event Profiler::collective(const Collective& collective, Event call, Event group) {
  return begin_either(profiler_abi::kCollective, v4_ != nullptr ? group : call, [&](auto& event) {
    if constexpr (std::is_same_v<std::decay_t<decltype(event)>, EventV4>) {
      event.collective = described(collective);
    } else {
      event.collective = {described(collective), group};
    }
  });
}

Profiler::Event Profiler::pair(const Pair& pair, Event call, Event group) {
  return begin_either(profiler_abi::kPair, v4_ != nullptr ? group : call, [&](auto& event) {
    if constexpr (std::is_same_v<std::decay_t<decltype(event)>, EventV4>) {
      event.pair = described(pair);
    } else {
      event.pair = {described(pair), group};
    }
  });
}

Profiler::Event Profiler::proxy(Event parent, int channel, int peer, int chunk_bytes, bool sends) {
  return begin_either(profiler_abi::kProxy, parent, [&](auto& event) {
    event.proxy = {getpid(), static_cast<uint8_t>(channel), peer, 0, chunk_bytes, sends ? 1 : 0};
  });
}

Profiler::Event Profiler::step(Event proxy, int number) {
  return begin_either(profiler_abi::kStep, proxy, [&](auto& event) { event.step = {number}; });
}

void Profiler::end(Event event) {
  if (event == nullptr) return;
  (void)(v4_ != nullptr ? v4_->stop(event) : v5_->stop(event));
}

void Profiler::state(Event event, int state, size_t bytes) {
  if (event == nullptr) return;
  profiler_abi::StateArguments arguments{bytes};
  (void)(v4_ != nullptr ? v4_->record(event, state, &arguments) : v5_->record(event, state, &arguments));
}

Status Profiler::check(int result, const char* call) const {
  if (result == 0) return {};
  return plugin_result(result, fmt::format("profiler plugin {} ({}, version {})", name_, file_, version_),
                       call);
}

}  // namespace weir::drivers
