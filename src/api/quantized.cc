// SPDX-License-Identifier: Apache-2.0
/// The C functions of weir/quantized.h.
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <optional>

#include "src/api/handle.h"
#include "src/api/process.h"
#include "src/api/stream.h"
#include "src/core/quantized/quantized_collectives.h"

#pragma GCC visibility push(default)
#include "weir/quantized.h"
#pragma GCC visibility pop

namespace weir::api {
namespace {

static_assert(core::kBlockElements == WEIR_QUANTIZED_BLOCK);

std::optional<core::BlockFormat> block_format(int format) {
  switch (format) {
    case weirQuantizedInt8: return core::BlockFormat::int8;
    case weirQuantizedFloat8: return core::BlockFormat::float8;
    case weirQuantizedBfloat16: return core::BlockFormat::bfloat16;
    default: return std::nullopt;
  }
}

/// The arguments of a function on arrays of `blocks` times `count` elements.
Result<core::QuantizedCall> checked_call(const char* function, const float* input, float* output,
                                         size_t count, int format, uint64_t seed, size_t blocks) {
  const auto known = block_format(format);
  if (!known)
    return Status(Code::invalid_argument,
                  fmt::format("{} : format is {}; expected weirQuantizedInt8, weirQuantizedFloat8 or "
                              "weirQuantizedBfloat16 (0, 1, 2)",
                              function, format));
  const size_t most = std::numeric_limits<ptrdiff_t>::max() / sizeof(float) / 2 / blocks;
  if (count > most)
    return Status(Code::invalid_argument,
                  fmt::format("{} : count is {}; expected at most {}", function, count, most));
  if (count > 0 && input == nullptr) return null_argument(function, "input");
  if (count > 0 && output == nullptr) return null_argument(function, "output");
  return core::QuantizedCall{input, output, count, *known, seed};
}

/// What the collectives have in common.
struct Arguments {
  const float* input;
  float* output;
  size_t count;
  int format;
  uint64_t seed;
  ncclComm* comm;
  weirStream* stream;
};

Status collective(const char* function, const Arguments& given,
                  Status (*run)(const core::QuantizedPlace&, const core::QuantizedCall&)) {
  const HandleGuard guard(given.comm);
  if (!guard) return explain_no_entry(given.comm, function);
  core::Communicator& core = *given.comm->core;
  if (!core.config().blocking)
    return Status(Code::invalid_usage,
                  fmt::format("{} : the communicator is non-blocking; expected a blocking one", function));
  const auto call = checked_call(function, given.input, given.output, given.count, given.format, given.seed,
                                 static_cast<size_t>(core.size()));
  WEIR_TRY(call.status());
  const auto stream = host_stream(given.stream, function);
  WEIR_TRY(stream.status());
  if (given.count == 0) return {};
  auto& pool = given.comm->state->encoded_arrays;
  if (pool == nullptr) pool = std::make_shared<core::BytePool>();
  const Status done = run({&core, pool, stream->get()}, *call);
  return done.ok() ? done : Status(done.code(), fmt::format("{} : {}", function, done.message()));
}

Status round(const float* input, float* output, size_t count, int format, uint64_t seed) {
  const auto call = checked_call("weirQuantizedRound", input, output, count, format, seed, 1);
  WEIR_TRY(call.status());
  core::round(call->format, {input, count}, {.seed = seed}, {output, count});
  return {};
}

}  // namespace
}  // namespace weir::api

using weir::api::report;

extern "C" {

size_t weirQuantizedBytes(size_t count, int format) {
  const auto known = weir::api::block_format(format);
  return known ? weir::core::encoded_bytes(*known, count) : 0;
}
int weirQuantizedAllGather(const float* input, float* output, size_t count, int format, uint64_t seed,
                           ncclComm* comm, weirStream* stream) {
  return report([&] {
    return weir::api::collective("weirQuantizedAllGather", {input, output, count, format, seed, comm, stream},
                                 weir::core::quantized_all_gather);
  });
}
int weirQuantizedReduceScatter(const float* input, float* output, size_t count, int format, uint64_t seed,
                               ncclComm* comm, weirStream* stream) {
  return report([&] {
    return weir::api::collective("weirQuantizedReduceScatter",
                                 {input, output, count, format, seed, comm, stream},
                                 weir::core::quantized_reduce_scatter);
  });
}
int weirQuantizedAllReduce(const float* input, float* output, size_t count, int format, uint64_t seed,
                           ncclComm* comm, weirStream* stream) {
  return report([&] {
    return weir::api::collective("weirQuantizedAllReduce", {input, output, count, format, seed, comm, stream},
                                 weir::core::quantized_all_reduce);
  });
}
int weirQuantizedRound(const float* input, float* output, size_t count, int format, uint64_t seed) {
  return report([&] { return weir::api::round(input, output, count, format, seed); });
}

}  // extern "C"
