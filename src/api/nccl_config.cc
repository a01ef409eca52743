// SPDX-License-Identifier: Apache-2.0

#include "src/api/nccl_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "src/api/newer_struct.h"
#include "src/api/process.h"
#include "src/base/log.h"

#pragma GCC visibility push(default)
#include "weir/config.h"
#pragma GCC visibility pop

namespace weir::api {
namespace {

constexpr unsigned kMagic = NCCL_API_MAGIC;
constexpr int kUnset = NCCL_CONFIG_UNDEF_INT;

/// An integer field: the version that introduced it, and its range.
struct Field {
  const char* name;
  int ncclConfig_t::*member;
  unsigned since;  ///< version code; 0: read from callers of any version whose struct contains it
  int least;
  int most;
  int also = NCCL_CONFIG_UNDEF_INT;  ///< another value that is allowed
};

constexpr Field kFields[] = {
    {"blocking", &ncclConfig_t::blocking, NCCL_VERSION(2, 14, 0), 0, 1},
    {"cgaClusterSize", &ncclConfig_t::cgaClusterSize, NCCL_VERSION(2, 17, 0), 0, INT_MAX},
    {"minCTAs", &ncclConfig_t::minCTAs, NCCL_VERSION(2, 17, 0), 1, INT_MAX},
    {"maxCTAs", &ncclConfig_t::maxCTAs, NCCL_VERSION(2, 17, 0), 1, INT_MAX},
    {"splitShare", &ncclConfig_t::splitShare, 0, 0, 1},
    {"trafficClass", &ncclConfig_t::trafficClass, NCCL_VERSION(2, 25, 0), INT_MIN, INT_MAX},
    {"collnetEnable", &ncclConfig_t::collnetEnable, NCCL_VERSION(2, 27, 0), 0, 1},
    {"CTAPolicy", &ncclConfig_t::CTAPolicy, NCCL_VERSION(2, 27, 0), 0,
     NCCL_CTA_POLICY_EFFICIENCY | NCCL_CTA_POLICY_ZERO},
    {"shrinkShare", &ncclConfig_t::shrinkShare, NCCL_VERSION(2, 27, 0), 0, 1},
    {"nvlsCTAs", &ncclConfig_t::nvlsCTAs, NCCL_VERSION(2, 27, 0), 1, INT_MAX},
    {"nChannelsPerNetPeer", &ncclConfig_t::nChannelsPerNetPeer, NCCL_VERSION(2, 28, 0), 1, 64},
    {"nvlinkCentricSched", &ncclConfig_t::nvlinkCentricSched, NCCL_VERSION(2, 28, 0), 0, 1},
    {"graphUsageMode", &ncclConfig_t::graphUsageMode, NCCL_VERSION(2, 29, 0), 0, 2},
    {"numRmaCtx", &ncclConfig_t::numRmaCtx, NCCL_VERSION(2, 29, 0), 0, INT_MAX},
    {"maxP2pPeers", &ncclConfig_t::maxP2pPeers, NCCL_VERSION(2, 30, 0), 1, INT_MAX},
    {"graphStreamOrdering", &ncclConfig_t::graphStreamOrdering, NCCL_VERSION(2, 30, 5), 0, 1},
    {"launchOrderImplicit", &ncclConfig_t::launchOrderImplicit, NCCL_VERSION(2, 31, 0), 0, 1},
    {"numRmaSig", &ncclConfig_t::numRmaSig, NCCL_VERSION(2, 31, 0), 0, INT_MAX},
    {"rmaEagerInit", &ncclConfig_t::rmaEagerInit, NCCL_VERSION(2, 31, 0), 0, 1},
    {"hostCftMode", &ncclConfig_t::hostCftMode, NCCL_VERSION(2, 31, 0), ncclHostCftEnable,
     ncclHostCftFallback},
    {"nvlsHostMode", &ncclConfig_t::nvlsHostMode, NCCL_VERSION(2, 32, 0), ncclNvlsHostModeEnable,
     ncclNvlsHostModeDisableTransport | ncclNvlsHostModeDisableSymmetricMultimem, ncclNvlsHostModeDisable},
};

Status check_field(const Field& field, int value) {
  if (value == kUnset || value == field.also || (value >= field.least && value <= field.most)) return {};
  const std::string most = field.most == INT_MAX ? "or more" : fmt::format("to {}", field.most);
  return {Code::invalid_argument, fmt::format("Invalid config {} attribute value {}; expected {} {}",
                                              field.name, value, field.least, most)};
}

/// What a weirConfig_t has behind the caller's ncclConfig_t, whatever the version of that.
struct Appendix {
  unsigned mark = 0;
  int order = weirOrderUnset;
};
static_assert(offsetof(weirConfig_t, mark) == sizeof(ncclConfig_t));
static_assert(sizeof(weirConfig_t) == sizeof(ncclConfig_t) + sizeof(Appendix));

constexpr size_t kLeastBytes = offsetof(ncclConfig_t, version) + sizeof(ncclConfig_t::version);

/// Of a config of this size; without a mark if that is one of NCCL.
Appendix appendix_of(const ncclConfig_t* config, size_t size) {
  Appendix appendix;
  if (size < kLeastBytes + sizeof(appendix)) return {};
  std::memcpy(&appendix, reinterpret_cast<const std::byte*>(config) + size - sizeof(appendix),
              sizeof(appendix));
  return appendix.mark == WEIR_CONFIG_MARK ? appendix : Appendix();
}

size_t size_in(const ncclConfig_t* config) {
  size_t size = 0;
  std::memcpy(&size, &config->size, sizeof(size));
  return size;
}

/// `size`: without what a weirConfig_t has in addition.
void note_unknown_fields(const ncclConfig_t* config, size_t size, unsigned version) {
  constexpr size_t kKnown = offsetof(ncclConfig_t, nvlsHostMode) + sizeof(ncclConfig_t::nvlsHostMode);
  static std::once_flag said;
  const std::string unknown = unknown_fields("ncclConfig_t", config, size, kKnown, version);
  if (!unknown.empty()) std::call_once(said, [&] { WEIR_INFO(init, "{}", unknown); });
}

Result<std::optional<SumOrder>> sum_order_in(const ncclConfig_t* config) {
  const int order = order_in(config);
  if (order == weirOrderUnset) return std::optional<SumOrder>();
  if (order < weirOrderRun || order > weirOrderRanks)
    return Status(Code::invalid_argument,
                  fmt::format("Invalid config order attribute value {}; expected {} to {}, or {} for none",
                              order, int{weirOrderRun}, int{weirOrderRanks}, int{weirOrderUnset}));
  return std::optional(static_cast<SumOrder>(order));
}

}  // namespace

int order_in(const ncclConfig_t* config) { return appendix_of(config, size_in(config)).order; }

Result<ncclConfig_t> read_config(const ncclConfig_t* config) {
  size_t size = size_in(config);
  if (size < kLeastBytes) {
    return Status(
        Code::invalid_argument,
        fmt::format("ncclConfig_t has the size {}: it was not made with NCCL_CONFIG_INITIALIZER", size));
  }
  if (appendix_of(config, size).mark != 0) size -= sizeof(Appendix);
  ncclConfig_t own = NCCL_CONFIG_INITIALIZER;
  std::memcpy(&own, config, std::min(size, sizeof(own)));
  if (own.magic != kMagic) {
    return Status(Code::invalid_argument,
                  fmt::format("ncclConfig_t has the magic {:#x} instead of {:#x}: it was not made with "
                              "NCCL_CONFIG_INITIALIZER",
                              own.magic, kMagic));
  }
  note_unknown_fields(config, size, own.version);
  if (own.version < NCCL_VERSION(2, 17, 0)) own.netName = nullptr;
  for (const Field& field : kFields) {
    if (own.version < field.since) own.*field.member = kUnset;
    if (Status status = check_field(field, own.*field.member); !status.ok()) return status;
  }
  // As in NCCL, this is checked before defaults apply: minCTAs alone exceeds an unset maxCTAs.
  if (own.minCTAs != kUnset && own.minCTAs > own.maxCTAs) {
    return Status(
        Code::invalid_argument,
        fmt::format("Invalid config min/max CTAs: minCTAs is {} and maxCTAs is {}; expected minCTAs <= "
                    "maxCTAs",
                    own.minCTAs, own.maxCTAs == kUnset ? "not set" : std::to_string(own.maxCTAs)));
  }
  return own;
}

Result<core::Config> communicator_config(const ncclConfig_t* config, const core::Config* parent) {
  core::Config result;
  if (config != nullptr) {
    Result<ncclConfig_t> read = read_config(config);
    if (!read.ok()) return read.status();
    result.blocking = read->blocking != 0;
    if (read->commName != nullptr) result.name = read->commName;
    if (read->netName != nullptr) result.network.name = read->netName;
    if (read->trafficClass != kUnset) result.network.traffic_class = read->trafficClass;
    if (read->minCTAs != kUnset) result.least_rings = static_cast<size_t>(read->minCTAs);
    if (read->maxCTAs != kUnset) result.most_rings = static_cast<size_t>(read->maxCTAs);
    auto order = sum_order_in(config);
    WEIR_TRY(order.status());
    result.order = *order;
    if (!result.order && parent != nullptr) result.order = parent->order;
  } else if (parent != nullptr) {
    result = *parent;
  }
  result.check_pointers = runtime().options().check_pointers;
  const int64_t blocking = runtime().options().comm_blocking;
  if (blocking >= 0) result.blocking = blocking != 0;
  return result;
}

}  // namespace weir::api
