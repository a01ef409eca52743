// SPDX-License-Identifier: Apache-2.0
/// The time that no plan of a collective can beat on a topology, and what proves it.
///
///     const auto bound = weir::lower_bound(*topology, weir::Collective::all_gather);
///     if (!bound) return complain(bound.error());
///     print(bound->gb_per_s());  // 200
///     print(bound->sentence());  // "the 2 cables into host host0 and host host1 limit it: ..."
///     for (const weir::Cut& cut : bound->cuts())
///       for (const int link : cut.links) widen(topology->links()[link]);
///
/// A bound is exact: it is a fraction of whole numbers that is found without floating point, and it is
/// checked against the cuts that prove it (docs/planning.md). M is the size of the whole (weir/collective.h).
/// Latencies do not count.
///
/// Every function may be called from any thread; several threads may use one const Bound at once. No function
/// throws anything but std::bad_alloc, and none prints. A Bound that is default-constructed or moved-from has
/// the time 0 and no cuts. C++20.
/// Tests: tests/api/planner_api_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "weir/collective.h"
#include "weir/expected.h"
#include "weir/topology.h"

namespace weir {

/// A fraction in lowest terms.
struct Fraction {
  int64_t numerator = 0;    ///< 0 where one of the two needs more than 64 bits
  int64_t denominator = 1;  ///< 0 where one of the two needs more than 64 bits
  double value = 0;         ///< the fraction, rounded
  const char* text = "0";   ///< such as "7/2400"; always exact
};

/// What the cuts of a bound prove.
enum class Witness : uint8_t {
  nothing,  ///< one rank alone needs no time
  into,     ///< bytes that have to enter one set of nodes
  out_of,   ///< bytes that have to leave one set of nodes
  between,  ///< bytes that have to enter several sets in all; each rank is in exactly one set
};

/// A set of nodes, and the links that cross its border in the direction of the witness.
struct Cut {
  List<int> nodes;      ///< nodes of the set that lie on paths between ranks, ascending
  List<int> links;      ///< places in Topology::links(), ascending
  double gb_per_s = 0;  ///< bandwidth of all these links together
};

}  // namespace weir

struct weirBound {
  weir::Collective collective = weir::Collective::all_gather;
  weir::Witness witness = weir::Witness::nothing;
  int root = 0;
  int ranks = 0;
  weir::Fraction seconds_per_gb;
  weir::List<weir::Cut> cuts;
  const char* sentence = "";
};

extern "C" {
/* `devices` are places in Topology::devices(), one per rank; none: all devices. Returns NULL on failure, and
   calls `error` with the sentence. */
const weirBound* weirBoundFind(const weirTopology* topology, weir::Collective collective, int root,
                               const int* devices, size_t count, weirTextSink error, void* keeper);
void weirBoundFree(const weirBound* bound);
}

namespace weir {

namespace detail {

struct FreeBound {
  bool owned = true;  ///< false: the bound belongs to a plan
  void operator()(const weirBound* bound) const {
    if (owned) weirBoundFree(bound);
  }
};

}  // namespace detail

class Bound {
 public:
  Bound() = default;
  /// Takes ownership of what a C function returned, or refers to what outlives this object.
  explicit Bound(const weirBound* data, bool owned = true) : data_(data, detail::FreeBound{owned}) {}

  Collective collective() const { return data().collective; }
  int root() const { return data().root; }
  int ranks() const { return data().ranks; }

  /// T / M: the exact number of seconds for 1e9 bytes of M.
  const Fraction& seconds_per_gb() const { return data().seconds_per_gb; }
  double seconds(double bytes) const { return bytes / 1e9 * seconds_per_gb().value; }
  /// M / T, which nccl-tests call algbw; 0 where the time is 0.
  double gb_per_s() const { return seconds_per_gb().value > 0 ? 1 / seconds_per_gb().value : 0; }

  Witness witness() const { return data().witness; }
  /// One cut for Witness::into and out_of, several for between.
  List<Cut> cuts() const { return data().cuts; }
  /// Such as "the 2 cables into host host0 and host host1 limit it: 1/2 of all bytes have to pass 100 GB/s".
  const char* sentence() const { return data().sentence; }

 private:
  const weirBound& data() const {
    static constexpr weirBound kEmpty;
    return data_ ? *data_ : kEmpty;
  }

  std::unique_ptr<const weirBound, detail::FreeBound> data_;
};

/// The bound for a collective among some devices. `devices` are places in Topology::devices(), that of rank r
/// at devices[r]; an empty span means all devices. `root` is the root's rank for reduce, broadcast, gather
/// and scatter. Takes up to 10 ms for 1,200 GPUs and 1 to 3 s for 100,000. Fails where ranks cannot reach
/// each other, where the bandwidth of a link between them is not known, where a device is named twice or does
/// not exist, and where `root` is not a rank.
inline Expected<Bound> lower_bound(const Topology& topology, Collective collective, int root = 0,
                                   std::span<const int> devices = {}) {
  std::string error;
  const weirBound* const data = weirBoundFind(topology.data(), collective, root, devices.data(),
                                              devices.size(), detail::keep_text, &error);
  return data ? Expected<Bound>(Bound(data)) : Expected<Bound>::failed(std::move(error));
}

}  // namespace weir
