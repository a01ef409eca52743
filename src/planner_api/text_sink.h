// SPDX-License-Identifier: Apache-2.0
/// The public headers, with functions that the libraries show, and how texts leave the library.
/// Tests: tests/api/planner_api_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#pragma GCC visibility push(default)
#include "weir/bound.h"
#include "weir/plan.h"
#include "weir/topology.h"
#pragma GCC visibility pop

#include "src/base/status.h"

namespace weir::planner_api {

/// /// Calls the sink, unless the caller gave none.
inline void give(weirTextSink sink, void* keeper, std::string_view text) {
  if (sink != nullptr) sink(keeper, text.data(), text.size());
}

/// /// Passes the ownership to the caller; on failure returns null and calls `error` with the sentence.
template <typename Made>
const Made* release(Result<std::unique_ptr<Made>> made, weirTextSink error, void* keeper) {
  if (made.ok()) return made->release();
  give(error, keeper, made.status().message());
  return nullptr;
}

}  // namespace weir::planner_api
