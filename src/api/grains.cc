// SPDX-License-Identifier: Apache-2.0
/// The C functions of weir/grains.h.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "src/api/handle.h"
#include "src/api/process.h"
#include "src/api/stream.h"
#include "src/core/grains/grain_sum.h"

#pragma GCC visibility push(default)
#include "weir/grains.h"
#pragma GCC visibility pop

/// The target of a weirGrainSum_t.
struct weirGrainSum {
  ncclComm* comm;
  int ranks;
  std::unique_ptr<weir::core::GrainSum> sum;
};

namespace weir::api {
namespace {

/// Made on first use and never destroyed: an application's threads may outlive static destructors.
device::LiveSet<weirGrainSum>& sums() {
  static auto* const set = new device::LiveSet<weirGrainSum>;
  return *set;
}

/// Prefixes an error with the function's name.
Status named(const char* function, const Status& status) {
  return status.ok() ? Status() : Status(status.code(), fmt::format("{} : {}", function, status.message()));
}

Result<std::shared_ptr<weirGrainSum>> find(weirGrainSum_t handle, const char* function) {
  auto found = sums().find(handle);
  if (found == nullptr)
    return Status(Code::invalid_argument,
                  fmt::format("{} : {} is not a sum, or was destroyed; expected one from weirGrainSumCreate",
                              function, static_cast<const void*>(handle)));
  return found;
}

/// Calls act(sum), and prefixes its error with the function's name.
template <typename Act>
Status with_sum(weirGrainSum_t handle, const char* function, Act act) {
  auto found = find(handle, function);
  WEIR_TRY(found.status());
  return named(function, act(*(*found)->sum));
}

/// The ranks of a communicator, and the pool that its sums share.
struct Setting {
  int ranks = 0;
  int rank = 0;
  std::shared_ptr<core::FloatPool> pool;
};

Result<Setting> setting_of(ncclComm* comm, const char* function) {
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, function);
  if (!comm->core->config().blocking)
    return Status(Code::invalid_usage,
                  fmt::format("{} : the communicator is non-blocking; expected a blocking one", function));
  auto& pool = comm->state->grain_arrays;
  if (pool == nullptr) pool = std::make_shared<core::FloatPool>();
  return Setting{comm->core->size(), comm->core->rank(), pool};
}

Status create(weirGrainSum_t* out, ncclComm* comm, size_t elements, const weirElementRange_t* pieces) {
  constexpr const char* kFunction = "weirGrainSumCreate";
  if (out == nullptr) return null_argument(kFunction, "sum");
  *out = nullptr;
  const auto setting = setting_of(comm, kFunction);
  WEIR_TRY(setting.status());
  if (pieces == nullptr) return null_argument(kFunction, "pieces");
  std::vector<core::ElementRange> by_rank;
  for (int rank = 0; rank < setting->ranks; ++rank)
    by_rank.push_back({pieces[rank].first, pieces[rank].count});
  auto made = core::GrainSum::make(elements, std::move(by_rank), setting->rank, setting->pool);
  WEIR_TRY(named(kFunction, made.status()));
  *out = sums().add(std::make_shared<weirGrainSum>(weirGrainSum{comm, setting->ranks, std::move(*made)}));
  return {};
}

std::vector<core::GrainRange> ranges_of(const weirGrainRange_t* ranges, int count) {
  std::vector<core::GrainRange> by_rank;
  for (int rank = 0; rank < count; ++rank) by_rank.push_back({ranges[rank].first, ranges[rank].end});
  return by_rank;
}

Status exchange(weirGrainSum_t handle, const weirGrainRange_t* ranges, weirStream* stream, size_t* sent) {
  constexpr const char* kFunction = "weirGrainSumExchange";
  auto found = find(handle, kFunction);
  WEIR_TRY(found.status());
  if (ranges == nullptr) return null_argument(kFunction, "ranges");
  auto place = host_stream(stream, kFunction);
  WEIR_TRY(place.status());
  ncclComm* const comm = (*found)->comm;
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, kFunction);
  const auto bytes =
      (*found)->sum->exchange(*comm->core, ranges_of(ranges, (*found)->ranks), std::move(*place));
  if (bytes.ok() && sent != nullptr) *sent = *bytes;
  return named(kFunction, bytes.status());
}

Status settle(weirGrainSum_t handle) {
  constexpr const char* kFunction = "weirGrainSumSettle";
  auto found = find(handle, kFunction);
  WEIR_TRY(found.status());
  (*found)->sum->await_oldest();
  Status state;
  WEIR_TRY(look_at((*found)->comm, kFunction, [&](const core::Communicator& core, const HandleState&) {
    state = core.lifecycle().revoked() ? core.lifecycle().usable() : core.state();
  }));
  WEIR_TRY(state);
  return named(kFunction, (*found)->sum->settle());
}

Status finish_sum(weirGrainSum_t handle, float* result) {
  constexpr const char* kFunction = "weirGrainSumFinish";
  if (result == nullptr && sums().find(handle) != nullptr) return null_argument(kFunction, "result");
  return with_sum(handle, kFunction, [&](core::GrainSum& sum) { return sum.finish(result); });
}

Status destroy(weirGrainSum_t handle) {
  WEIR_TRY(find(handle, "weirGrainSumDestroy").status());
  sums().remove(handle);
  return {};
}

/// Divides an array into equal pieces; the last ones may be shorter or empty.
std::vector<core::ElementRange> equal_pieces(size_t count, int ranks) {
  const size_t length = (count + static_cast<size_t>(ranks) - 1) / static_cast<size_t>(ranks);
  std::vector<core::ElementRange> pieces;
  for (size_t first = 0; pieces.size() < static_cast<size_t>(ranks); first = std::min(first + length, count))
    pieces.push_back({first, std::min(length, count - first)});
  return pieces;
}

Status gather(core::Communicator& core, const void* own, void* all, size_t count, DataType type) {
  const core::Operation gather = core::CollectiveOp{
      .kind = Collective::all_gather, .type = type, .input = own, .output = all, .count = count};
  return core.run({&gather, 1}, core::StreamPlace{});
}

/// A rank's arguments of an all-reduce.
struct Said {
  core::GrainRange own;
  uint64_t grains;
};

/// Checks the arguments of all ranks; the result is the same on all ranks.
Status check(const char* function, const std::vector<Said>& said) {
  const uint64_t grains = said[0].grains;
  std::vector<core::GrainRange> ranges;
  for (size_t rank = 0; rank < said.size(); ++rank) {
    const auto& [own, named] = said[rank];
    if (named != grains || own.first > own.end || own.end > grains)
      return {Code::invalid_argument,
              fmt::format("{} : rank {} has grains {} to {} of {}; expected first <= end, and {} grains in "
                          "all, as on rank 0",
                          function, rank, own.first, own.end, named, grains)};
    if (own.first < own.end) ranges.push_back(own);
  }
  std::ranges::sort(ranges, {}, &core::GrainRange::first);
  uint64_t end = 0;
  for (const core::GrainRange& range : ranges) {
    if (range.first != end) break;
    end = range.end;
  }
  return end == grains
             ? Status()
             : Status(Code::invalid_argument,
                      fmt::format("{} : grain {} of {} belongs to no rank, or to several; expected each "
                                  "grain to belong to one rank",
                                  function, end, grains));
}

Status all_reduce(const float* grains_data, float* result, size_t count, weirGrainRange_t own,
                  uint64_t grains, ncclComm* comm) {
  constexpr const char* kFunction = "weirGrainAllReduce";
  const auto setting = setting_of(comm, kFunction);
  WEIR_TRY(setting.status());
  const bool brings = own.end > own.first;
  if (count > 0 && brings && grains_data == nullptr) return null_argument(kFunction, "grains_data");
  if (count > 0 && result == nullptr) return null_argument(kFunction, "result");
  const HandleGuard guard(comm);
  if (!guard) return explain_no_entry(comm, kFunction);
  core::Communicator& core = *comm->core;
  std::vector<Said> said(static_cast<size_t>(setting->ranks));
  const Said mine{{own.first, own.end}, grains};
  WEIR_TRY(gather(core, &mine, said.data(), sizeof mine / sizeof(uint64_t), DataType::uint64));
  WEIR_TRY(check(kFunction, said));
  std::vector<core::GrainRange> ranges;
  for (const Said& of_rank : said) ranges.push_back(of_rank.own);
  const auto pieces = equal_pieces(count, setting->ranks);
  auto made = core::GrainSum::make(count, pieces, setting->rank, setting->pool);
  WEIR_TRY(named(kFunction, made.status()));
  core::GrainSum& sum = **made;
  WEIR_TRY(named(kFunction, sum.begin(grains)));
  for (uint64_t grain = own.first; grain < own.end; ++grain) {
    const auto array = sum.open();
    WEIR_TRY(array.status());
    std::copy_n(grains_data + (grain - own.first) * count, count, *array);
    WEIR_TRY(named(kFunction, sum.close({grain, grain + 1})));
  }
  WEIR_TRY(named(kFunction, sum.exchange(core, ranges, nullptr).status()));
  WEIR_TRY(named(kFunction, sum.settle()));
  const size_t length = pieces[0].count;
  std::vector<float> piece(length), padded(length * ranges.size());
  WEIR_TRY(named(kFunction, sum.finish(piece.data())));
  WEIR_TRY(gather(core, piece.data(), padded.data(), length, DataType::float32));
  std::copy_n(padded.begin(), count, result);
  return {};
}

}  // namespace
}  // namespace weir::api

using weir::api::report;

extern "C" {

int weirGrainSumCreate(weirGrainSum_t* sum, ncclComm* comm, size_t elements,
                       const weirElementRange_t* pieces) {
  return report([&] { return weir::api::create(sum, comm, elements, pieces); });
}
int weirGrainSumDestroy(weirGrainSum_t sum) {
  return report([&] { return weir::api::destroy(sum); });
}
int weirGrainSumBegin(weirGrainSum_t sum, uint64_t grains) {
  return report([&] {
    return weir::api::with_sum(sum, "weirGrainSumBegin",
                               [&](weir::core::GrainSum& s) { return s.begin(grains); });
  });
}
int weirGrainSumOpen(weirGrainSum_t sum, float** array) {
  return report([&] {
    return weir::api::with_sum(sum, "weirGrainSumOpen", [&](weir::core::GrainSum& s) {
      if (array == nullptr) return weir::Status(weir::Code::invalid_argument, "array argument is NULL");
      auto opened = s.open();
      *array = opened.ok() ? *opened : nullptr;
      return opened.status();
    });
  });
}
int weirGrainSumClose(weirGrainSum_t sum, uint64_t first, uint64_t end) {
  return report([&] {
    return weir::api::with_sum(sum, "weirGrainSumClose", [&](weir::core::GrainSum& s) {
      return s.close({first, end});
    });
  });
}
int weirGrainSumExchange(weirGrainSum_t sum, const weirGrainRange_t* ranges, weirStream* stream,
                         size_t* sent) {
  return report([&] { return weir::api::exchange(sum, ranges, stream, sent); });
}
int weirGrainSumSettle(weirGrainSum_t sum) {
  return report([&] { return weir::api::settle(sum); });
}
int weirGrainSumFinish(weirGrainSum_t sum, float* result) {
  return report([&] { return weir::api::finish_sum(sum, result); });
}
int weirGrainAllReduce(const float* grains_data, float* result, size_t count, weirGrainRange_t own,
                       uint64_t grains, ncclComm* comm) {
  return report([&] { return weir::api::all_reduce(grains_data, result, count, own, grains, comm); });
}
float weirTreeSum(const float* values, size_t count) {
  return values == nullptr ? 0.0F : weir::core::tree_sum({values, count});
}

}  // extern "C"
