#include "src/core/operation.h"

#include <fmt/format.h>

namespace weir::core {
namespace {

std::string_view call_name(const Operation& operation) {
  constexpr std::string_view kNames[kCollectives] = {"ncclAllReduce", "ncclReduce",        "ncclBroadcast",
                                                     "ncclAllGather", "ncclReduceScatter", "ncclAlltoAll",
                                                     "ncclGather",    "ncclScatter",       "ncclRecv"};
  return operation.sends ? "ncclSend" : kNames[static_cast<int>(operation.kind)];
}

std::string_view reduction_name(const Reduction& reduction) {
  switch (reduction.scaling) {
    case Reduction::Scaling::average: return "avg";
    case Reduction::Scaling::premultiply: return "premulsum";
    default: return name(reduction.op);
  }
}

/// Spreads the bits of two numbers over 32 (multiplicative hashing, with the constants of MurmurHash3).
uint32_t mix(uint64_t a, uint64_t b) {
  const uint64_t x = (a * 0xff51afd7ed558ccdULL) ^ (b * 0xc4ceb9fe1a85ec53ULL);
  return static_cast<uint32_t>((x ^ (x >> 32)) * 0x9e3779b97f4a7c15ULL >> 32);
}

}  // namespace

std::string describe(const Operation& operation) {
  std::string text =
      fmt::format("{}(count {}, {}", call_name(operation), operation.count, name(operation.type));
  if (reduces(operation.kind)) text += fmt::format(", {}", reduction_name(operation.reduction));
  if (has_root(operation.kind)) text += fmt::format(", root {}", operation.root);
  if (operation.kind == Collective::send_recv) text += fmt::format(", peer {}", operation.root);
  return text + ")";
}

uint32_t signature(const Operation& operation) {
  if (operation.kind == Collective::send_recv) {  // only the bytes must agree
    return mix(operation.count * size_of(operation.type), 1);
  }
  const uint64_t kind =
      static_cast<uint64_t>(operation.kind) | static_cast<uint64_t>(operation.type) << 8 |
      (reduces(operation.kind) ? static_cast<uint64_t>(operation.reduction.op) << 16 |
                                     static_cast<uint64_t>(operation.reduction.scaling) << 24
                               : 0) |
      (has_root(operation.kind) ? static_cast<uint64_t>(operation.root) << 32 : 0);
  return mix(operation.count, kind);
}

}  // namespace weir::core
