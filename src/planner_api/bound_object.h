// SPDX-License-Identifier: Apache-2.0
/// What a weirBound points to, and what bounds and plans are asked of.
/// Tests: tests/api/planner_api_test.cc
#pragma once

#include <span>
#include <string>
#include <vector>

#include "algorithms/bound/bound.h"
#include "algorithms/network/network.h"
#include "algorithms/packing/rational.h"
#include "src/planner_api/text_sink.h"
#include "src/planner_api/topology_object.h"

namespace weir::planner_api {

/// A fraction with the text that it points to. Never moved.
class ExactFraction {
 public:
  ExactFraction() = default;
  ExactFraction(const ExactFraction&) = delete;
  ExactFraction& operator=(const ExactFraction&) = delete;

  void set(const algorithms::Rational& number);
  Fraction fraction() const { return {numerator_, denominator_, value_, text_.c_str()}; }

 private:
  int64_t numerator_ = 0;
  int64_t denominator_ = 1;
  double value_ = 0;
  std::string text_ = "0";
};

/// T / M in seconds for 1e9 bytes, from T / M times one unit of capacity.
algorithms::Rational seconds_per_gb(const algorithms::Rational& time);

/// A collective among some devices of a topology.
struct DeviceNetwork {
  const TopologyObject* topology = nullptr;
  algorithms::Network network;
};
/// `devices` are numbers in weirTopology::devices; none: all. Errors: invalid_argument for an empty topology,
/// a collective that is none and a device that is not there; those of network_of().
Result<DeviceNetwork> request_of(const weirTopology* handle, Collective collective,
                                 std::span<const int> devices);

/// Constant once it is made. Never moved: lists point into it.
class BoundObject : public weirBound {
 public:
  /// REQUIRES: check_bound() accepts the bound of the request's network.
  BoundObject(const algorithms::Bound& bound, const DeviceNetwork& request);
  BoundObject(const BoundObject&) = delete;
  BoundObject& operator=(const BoundObject&) = delete;

 private:
  void fill_cuts(const algorithms::Bound& bound, const DeviceNetwork& request);

  struct CutLists {
    std::vector<int> nodes;
    std::vector<int> links;
  };
  ExactFraction time_;
  std::string sentence_text_;
  std::vector<CutLists> cut_lists_;
  std::vector<Cut> cut_list_;
};

}  // namespace weir::planner_api
