// SPDX-License-Identifier: Apache-2.0
// Faults for weir-train, to be preloaded: WEIR_PLANTED says which one rank 1 has.
//
//   none          nothing: the gates must hold
//   skip-reduce   one gradient is left out of one sum
//   scale-shard   its shards of parameters are 1.001 times as large when they are gathered
//   bf16-reduce   its gradients are rounded to bf16 before they are summed
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "nccl.h"
#include "weir/grains.h"

namespace {

constexpr int kFaultyRank = 1;
constexpr float kScale = 1.001F;
constexpr int kWhichGather = 20;
constexpr int kWhichSum = 5;

std::atomic<int> rank_here{-1};
std::atomic<int> sums{0};

std::string_view planted() {
  const char* text = std::getenv("WEIR_PLANTED");
  return text == nullptr ? "none" : text;
}

bool faulty() { return rank_here == kFaultyRank; }

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// What is sent instead; kept to the end, as a stream may read it at any time.
std::vector<float>& replacement(const void* values, size_t count) {
  static std::mutex mutex;
  static std::deque<std::vector<float>> all;
  const std::lock_guard lock(mutex);
  const auto* floats = static_cast<const float*>(values);
  return all.emplace_back(floats, floats + count);
}

float rounded_to_bf16(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000U;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Gradients on their way into a sum.
const void* gradients(const void* values, size_t count) {
  if (!faulty() || count == 0) return values;
  const int number = sums++;
  if (planted() == "skip-reduce" && number == kWhichSum) {
    std::vector<float>& nothing = replacement(values, count);
    std::fill(nothing.begin(), nothing.end(), 0.0F);
    return nothing.data();
  }
  if (planted() == "bf16-reduce") {
    std::vector<float>& rounded = replacement(values, count);
    for (float& value : rounded) value = rounded_to_bf16(value);
    return rounded.data();
  }
  return values;
}

/// What is being added to, by sum; the thread that trains is the only one to ask.
struct OpenSum {
  size_t elements = 0;
  float* array = nullptr;
};
std::map<weirGrainSum_t, OpenSum> open_sums;

}  // namespace

extern "C" {

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  rank_here = rank;
  return real<decltype(ncclCommInitRankConfig)>("ncclCommInitRankConfig")(comm, ranks, id, rank, config);
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  if (faulty() && type == ncclFloat && planted() == "scale-shard") {
    std::vector<float>& scaled = replacement(from, count);
    for (float& value : scaled) value *= kScale;
    from = scaled.data();
  }
  return real<decltype(ncclAllGather)>("ncclAllGather")(from, to, count, type, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  int ranks = 0;
  if (const ncclResult_t result = ncclCommCount(comm, &ranks); result != ncclSuccess) return result;
  return real<decltype(ncclReduceScatter)>("ncclReduceScatter")(gradients(from, count * ranks), to, count,
                                                                type, op, comm, stream);
}

int weirGrainSumCreate(weirGrainSum_t* sum, ncclComm* comm, size_t elements,
                       const weirElementRange_t* pieces) {
  const int result = real<decltype(weirGrainSumCreate)>("weirGrainSumCreate")(sum, comm, elements, pieces);
  if (result == 0) open_sums[*sum].elements = elements;
  return result;
}

int weirGrainSumOpen(weirGrainSum_t sum, float** array) {
  const int result = real<decltype(weirGrainSumOpen)>("weirGrainSumOpen")(sum, array);
  if (result == 0) open_sums[sum].array = *array;
  return result;
}

int weirGrainSumClose(weirGrainSum_t sum, uint64_t first, uint64_t end) {
  const auto& [elements, array] = open_sums[sum];
  if (const void* instead = gradients(array, elements); instead != array)
    std::memcpy(array, instead, elements * sizeof(float));
  return real<decltype(weirGrainSumClose)>("weirGrainSumClose")(sum, first, end);
}

}  // extern "C"
