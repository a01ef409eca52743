// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/profiler.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "src/base/log.h"
#include "src/drivers/plugin_file.h"

namespace weir::drivers {
namespace {

using profiler_abi::CollectiveCall;
using profiler_abi::CollectiveCallV7;
using profiler_abi::CollectiveV1;
using profiler_abi::CollectiveV2;
using profiler_abi::CollectiveV3;
using profiler_abi::CollectiveV4;
using profiler_abi::CollectiveV5;
using profiler_abi::CollectiveV7;
using profiler_abi::EventV5;
using profiler_abi::EventV7;
using profiler_abi::PairCall;
using profiler_abi::PairCallV7;
using profiler_abi::PairV1;
using profiler_abi::PairV2;
using profiler_abi::PairV4;
using profiler_abi::PairV5;
using profiler_abi::PairV7;

/// The mask of wanted events. Plugins keep its address and write it later from their own threads. As in NCCL
/// there is one mask for all communicators.
int wanted_events = 0;

/// The mask that a user has asked for while the job runs; -1: none.
std::atomic<int> forced_events{-1};

/// Who began an event that is described to a plugin before version 4.
struct Source {
  const char* name;
  uint64_t communicator;
};

/// The number of a word in a list of NCCL's; `otherwise` if it is not there.
template <size_t N>
uint8_t number_in(const std::string_view (&words)[N], std::string_view word, uint8_t otherwise) {
  const auto at = std::ranges::find(words, word);
  return at == std::end(words) ? otherwise : static_cast<uint8_t>(at - std::begin(words));
}

uint8_t function_number(std::string_view function) {
  constexpr std::string_view kFunctions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                             "AllReduce", "SendRecv", "Send",      "Recv"};
  constexpr uint8_t kSendRecv = 5;  // what NCCL makes of all others
  return number_in(kFunctions, function, kSendRecv);
}

uint8_t type_number(std::string_view type) {
  constexpr std::string_view kTypes[] = {"ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
                                         "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
                                         "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  return number_in(kTypes, type, 0);
}

/// The family of NCCL's that the algorithm is counted to in docs/plugins.md.
uint8_t algorithm_number(std::string_view algorithm) {
  constexpr uint8_t kTree = 0, kRing = 1, kPat = 6;
  if (algorithm == "pat") return kPat;
  return algorithm.starts_with("ring") || algorithm == "hierarchical" ? kRing : kTree;
}

uint8_t protocol_number(std::string_view protocol) {
  constexpr std::string_view kProtocols[] = {"LL", "LL128", "SIMPLE"};
  return number_in(kProtocols, protocol, 2);
}

/// What all versions have.
template <typename Event>
void describe_common(Event& event, const Profiler::Collective& one) {
  event.sequence = one.sequence;
  event.input = one.input;
  event.output = one.output;
  event.count = one.count;
  event.root = one.root;
  event.channels = one.channels;
}
template <typename Event>
void describe_words(Event& event, const Profiler::Collective& one) {
  describe_common(event, one);
  event.function = one.function;
  event.type = one.type;
  event.algorithm = one.algorithm;
  event.protocol = one.protocol;
}

void describe(CollectiveV1& event, const Profiler::Collective& one, const Source& source, void* /*group*/) {
  describe_common(event, one);
  event.name = source.name;
  event.communicator = source.communicator;
  event.function = function_number(one.function);
  event.type = type_number(one.type);
  event.algorithm = algorithm_number(one.algorithm);
  event.protocol = protocol_number(one.protocol);
}
void describe(CollectiveV2& event, const Profiler::Collective& one, const Source& source, void* /*group*/) {
  describe_words(event, one);
  event.name = source.name;
  event.communicator = source.communicator;
}
void describe(CollectiveV3& event, const Profiler::Collective& one, const Source& source, void* /*group*/) {
  describe_words(event, one);
  event.name = source.name;
  event.communicator = source.communicator;
}
void describe(CollectiveV4& event, const Profiler::Collective& one, const Source& /*source*/,
              void* /*group*/) {
  describe_words(event, one);
}
void describe(CollectiveV5& event, const Profiler::Collective& one, const Source& source, void* group) {
  describe(event.older, one, source, group);
  event.group = group;
}
void describe(CollectiveV7& event, const Profiler::Collective& one, const Source& source, void* group) {
  describe(event.older, one, source, group);
  event.user_tag = one.user_tag;
}

void describe(PairV1& event, const Profiler::Pair& one, const Source& source, void* /*group*/) {
  event = {source.name, source.communicator,   function_number(one.function),
           one.buffer,  type_number(one.type), one.count,
           one.peer};
}
void describe(PairV2& event, const Profiler::Pair& one, const Source& source, void* /*group*/) {
  event = {source.name, source.communicator, one.function, one.buffer, one.type, one.count, one.peer};
}
void describe(PairV4& event, const Profiler::Pair& one, const Source& /*source*/, void* /*group*/) {
  event = {one.function, one.buffer, one.type, one.count, one.peer, 1};
}
void describe(PairV5& event, const Profiler::Pair& one, const Source& source, void* group) {
  describe(event.older, one, source, group);
  event.group = group;
}
void describe(PairV7& event, const Profiler::Pair& one, const Source& source, void* group) {
  describe(event.older, one, source, group);
  event.user_tag = one.user_tag;
}

void describe(CollectiveCall& event, const Profiler::Collective& one) {
  event = {one.function, one.count, one.type, one.root, nullptr, false};
}
void describe(CollectiveCallV7& event, const Profiler::Collective& one) {
  describe(event.older, one);
  event.user_tag = one.user_tag;
}
void describe(PairCall& event, const Profiler::Pair& one) {
  event = {one.function, one.count, one.type, nullptr, false};
}
void describe(PairCallV7& event, const Profiler::Pair& one) {
  describe(event.older, one);
  event.user_tag = one.user_tag;
}

/// Whether events of a version have calls of the interface.
template <typename Event>
constexpr bool kHasCalls = std::is_same_v<Event, EventV5> || std::is_same_v<Event, EventV7>;

profiler_abi::AnyTable table_of(int version, const void* table) {
  switch (version) {
    case 1: return static_cast<const profiler_abi::TableV1*>(table);
    case 2: return static_cast<const profiler_abi::TableV2*>(table);
    case 3: return static_cast<const profiler_abi::TableV3*>(table);
    case 4: return static_cast<const profiler_abi::TableV4*>(table);
    case 7: return static_cast<const profiler_abi::TableV7*>(table);
    default: return static_cast<const profiler_abi::TableV5*>(table);
  }
}

}  // namespace

void force_profiler_mask(int kinds) { forced_events.store(kinds, std::memory_order_relaxed); }

Result<std::unique_ptr<Profiler>> Profiler::load(const ProfilerSpec& spec) {
  auto found = find_plugin({.kind = "profiler",
                            .variable = "NCCL_PROFILER_PLUGIN",
                            .symbol = "ncclProfiler_v",
                            .newest = 7,
                            .oldest = 1,
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
  table_ = table_of(version_, table);
  const bool complete = std::visit(
      [](const auto* own) {
        return own->name != nullptr && own->init != nullptr && own->start != nullptr &&
               own->stop != nullptr && own->record != nullptr && own->finalize != nullptr;
      },
      table_);
  if (!complete)
    return {Code::system_error,
            fmt::format("profiler plugin {}: the table ncclProfiler_v{} lacks a name or a function", file_,
                        version_)};
  rank_ = spec.rank;
  communicator_ = spec.communicator;
  communicator_name_ = spec.name;
  const char* const name = spec.name.empty() ? nullptr : communicator_name_.c_str();
  const int result = std::visit(
      [&](const auto* own) {
        using Init = std::remove_pointer_t<decltype(own->init)>;
        name_ = own->name;
        if constexpr (std::is_same_v<Init, profiler_abi::InitV1>)
          return own->init(&context_, &wanted_events);
        else if constexpr (std::is_same_v<Init, profiler_abi::InitV4>)
          return own->init(&context_, &wanted_events, name, spec.communicator, spec.nodes, spec.ranks,
                           spec.rank, log_of_plugin);
        else
          return own->init(&context_, spec.communicator, &wanted_events, name, spec.nodes, spec.ranks,
                           spec.rank, log_of_plugin);
      },
      table_);
  if (result != 0) context_ = nullptr;
  return check(result, "init");
}

/// As with NCCL, a plugin that has made no context is not finalized.
Profiler::~Profiler() {
  if (context_ == nullptr) return;
  const int result = std::visit([&](const auto* own) { return own->finalize(context_); }, table_);
  if (const Status ended = check(result, "finalize"); !ended.ok()) WEIR_INFO(init, "{}", ended.message());
}

bool Profiler::wants(int kinds) const {
  const int forced = forced_events.load(std::memory_order_relaxed);
  return ((forced >= 0 ? forced : __atomic_load_n(&wanted_events, __ATOMIC_RELAXED)) & kinds) != 0;
}

/// Describes an event in the plugin's version and begins it, unless fill() says that the version does not
/// have it. The plugin's results of events are ignored, as in NCCL.
template <typename Fill>
Profiler::Event Profiler::begin(int kind, Event parent, Fill fill) {
  if (!wants(kind)) return nullptr;
  return std::visit(
      [&](const auto* own) -> Event {
        typename std::remove_cvref_t<decltype(*own)>::Event event{};
        event.kind = static_cast<decltype(event.kind)>(kind);
        event.parent = parent;
        event.rank = rank_;
        if (!fill(event)) return nullptr;
        Event handle = nullptr;
        return own->start(context_, &handle, &event) == 0 ? handle : nullptr;
      },
      table_);
}

Profiler::Event Profiler::group_call(int depth) {
  return begin(profiler_abi::kGroupCall, nullptr, [&]<typename E>(E& event) {
    if constexpr (kHasCalls<E>) event.group_call = {false, depth};
    return kHasCalls<E>;
  });
}

Profiler::Event Profiler::collective_call(const Collective& collective, Event group_call) {
  return begin(profiler_abi::kCollectiveCall, group_call, [&]<typename E>(E& event) {
    if constexpr (kHasCalls<E>) describe(event.collective_call, collective);
    return kHasCalls<E>;
  });
}

Profiler::Event Profiler::pair_call(const Pair& pair, Event group_call) {
  return begin(profiler_abi::kPairCall, group_call, [&]<typename E>(E& event) {
    if constexpr (kHasCalls<E>) describe(event.pair_call, pair);
    return kHasCalls<E>;
  });
}

Profiler::Event Profiler::group() {
  return begin(profiler_abi::kGroup, nullptr, [](auto&) { return true; });
}

Profiler::Event Profiler::collective(const Collective& collective, Event call, Event group) {
  const Source source{communicator_name_.empty() ? nullptr : communicator_name_.c_str(), communicator_};
  return begin(profiler_abi::kCollective, version_ < 5 ? group : call, [&](auto& event) {
    event.collective = {};
    describe(event.collective, collective, source, group);
    return true;
  });
}

Profiler::Event Profiler::pair(const Pair& pair, Event call, Event group) {
  const Source source{communicator_name_.empty() ? nullptr : communicator_name_.c_str(), communicator_};
  return begin(profiler_abi::kPair, version_ < 5 ? group : call, [&](auto& event) {
    describe(event.pair, pair, source, group);
    return true;
  });
}

Profiler::Event Profiler::proxy(Event parent, int channel, int peer, int chunk_bytes, bool sends) {
  return begin(profiler_abi::kProxy, parent, [&](auto& event) {
    event.proxy = {getpid(), static_cast<uint8_t>(channel), peer, 0, chunk_bytes, sends ? 1 : 0};
    return true;
  });
}

Profiler::Event Profiler::step(Event proxy, int number) {
  return begin(profiler_abi::kStep, proxy, [&](auto& event) {
    event.step = {number};
    return true;
  });
}

void Profiler::end(Event event) {
  if (event == nullptr) return;
  std::visit([&](const auto* own) { (void)own->stop(event); }, table_);
}

void Profiler::state(Event event, int state, size_t bytes) {
  const bool newer = state == profiler_abi::kProxyInProgress || state == profiler_abi::kSendPeerWait;
  if (event == nullptr || (newer && version_ < 4)) return;
  std::visit(
      [&](const auto* own) {
        if constexpr (requires {
                        own->record(event, state, std::declval<profiler_abi::StateArgumentsV1*>());
                      }) {
          profiler_abi::StateArgumentsV1 arguments{};  // NCCL fills nothing in for what is reported here
          (void)own->record(event, state, &arguments);
        } else {
          profiler_abi::StateArguments arguments{bytes};
          (void)own->record(event, state, &arguments);
        }
      },
      table_);
}

Status Profiler::check(int result, const char* call) const {
  if (result == 0) return {};
  return plugin_result(result, fmt::format("profiler plugin {} ({}, version {})", name_, file_, version_),
                       call);
}

}  // namespace weir::drivers
