// SPDX-License-Identifier: Apache-2.0

#include "src/api/coll_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "src/api/newer_struct.h"
#include "src/base/log.h"

namespace weir::api {
namespace {

constexpr int kCollUnset = NCCL_CONFIG_UNDEF_INT;
/// The struct of NCCL 2.31, the first.
constexpr size_t kLeastCollBytes = offsetof(ncclCollConfig_t, launchCompletionEvent);

struct CollField {
  const char* name;
  int ncclCollConfig_t::*member;
  int least;
  int most;
};
constexpr CollField kCollFields[] = {
    {"minCTAs", &ncclCollConfig_t::minCTAs, 1, INT_MAX},
    {"maxCTAs", &ncclCollConfig_t::maxCTAs, 1, INT_MAX},
    {"nvlsCTAs", &ncclCollConfig_t::nvlsCTAs, 1, INT_MAX},
    {"cgaClusterSize", &ncclCollConfig_t::cgaClusterSize, 0, INT_MAX},
    {"CTAPolicy", &ncclCollConfig_t::CTAPolicy, 0, NCCL_CTA_POLICY_EFFICIENCY | NCCL_CTA_POLICY_ZERO},
};

Status wrong_coll_config(const char* function, const std::string& what) {
  return {Code::invalid_argument, fmt::format("{} : config has {}", function, what)};
}

/// A pointer, so that nothing is read of a struct that is not one.
Status check_coll_layout(const char* function, const ncclCollConfig_t* config) {
  constexpr const char* kMade = "it was not made with NCCL_COLLCONFIG_INITIALIZER";
  size_t size = 0;
  std::memcpy(&size, &config->size, sizeof(size));
  if (size < kLeastCollBytes)
    return wrong_coll_config(
        function, fmt::format("the size {}; expected at least {}: {}", size, kLeastCollBytes, kMade));
  if (config->magic != NCCL_API_MAGIC)
    return wrong_coll_config(
        function, fmt::format("the magic {:#x}; expected {:#x}: {}", config->magic, NCCL_API_MAGIC, kMade));
  return {};
}

Status check_coll_values(const char* function, const ncclCollConfig_t& config) {
  if (config.forceAlgSelection != 0 && config.forceAlgSelection != 1)
    return wrong_coll_config(function,
                             fmt::format("forceAlgSelection {}; expected 0 or 1", config.forceAlgSelection));
  for (const CollField& field : kCollFields) {
    const int value = config.*field.member;
    if (value == kCollUnset || (value >= field.least && value <= field.most)) continue;
    const std::string most = field.most == INT_MAX ? "or more" : fmt::format("to {}", field.most);
    return wrong_coll_config(function,
                             fmt::format("{} {}; expected {} {}", field.name, value, field.least, most));
  }
  if (config.minCTAs != kCollUnset && config.maxCTAs != kCollUnset && config.minCTAs > config.maxCTAs)
    return wrong_coll_config(function, fmt::format("minCTAs {} and maxCTAs {}; expected minCTAs <= maxCTAs",
                                                   config.minCTAs, config.maxCTAs));
  if (config.launchCompletionEvent != nullptr)
    return {Code::invalid_usage,
            fmt::format("{} : config has a launchCompletionEvent, which weir does not record; expected NULL "
                        "(record an event on the stream after the call)",
                        function)};
  return {};
}

void note_unknown_coll_fields(const ncclCollConfig_t* config) {
  constexpr size_t kKnown =
      offsetof(ncclCollConfig_t, launchCompletionEvent) + sizeof(config->launchCompletionEvent);
  static std::once_flag said;
  const std::string unknown =
      unknown_fields("ncclCollConfig_t", config, config->size, kKnown, config->version);
  if (!unknown.empty()) std::call_once(said, [&] { WEIR_INFO(coll, "{}", unknown); });
}

}  // namespace

Result<ncclCollConfig_t> read_coll_config(const char* function, const ncclCollConfig_t* config) {
  WEIR_TRY(check_coll_layout(function, config));
  note_unknown_coll_fields(config);
  ncclCollConfig_t own = NCCL_COLLCONFIG_INITIALIZER;
  std::memcpy(&own, config, std::min(config->size, sizeof(own)));
  if (own.version < NCCL_VERSION(2, 32, 0)) own.launchCompletionEvent = nullptr;
  WEIR_TRY(check_coll_values(function, own));
  return own;
}

}  // namespace weir::api
