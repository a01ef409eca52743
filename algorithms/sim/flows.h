// SPDX-License-Identifier: Apache-2.0
/// Flow-level simulation of data transfers on a network.
///
/// A flow moves bytes along a path. It starts when everything it waits for has happened, sends at the current
/// max-min fair rate (fair_share.h), and ends when the last byte has arrived, the latency of its path later.
/// Packets, queues and losses are not modelled: the simulation suits long flows on lossless or well-paced
/// networks, and is optimistic for short ones.
///
/// Bytes are counted in doubles (a share of a buffer need not be whole), time in seconds on a virtual clock
/// that begins at 0, rates in GB/s (1e9 bytes). Events closer together than 1e-11 of the elapsed time are one
/// event. One thread at a time; const calls may be concurrent. The same set gives the same bits, on every
/// run.
/// Tests: tests/algorithms/sim_flows_test.cc
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/network/network.h"
#include "src/base/status.h"

namespace weir::sim {

using algorithms::Network;
using FlowId = uint32_t;
using PathId = int32_t;

inline constexpr PathId kNoPath = -1;

/// Whether a figure of a model is valid: neither negative nor infinite.
inline bool is_sound(double figure) { return std::isfinite(figure) && figure >= 0; }

struct Flow {
  PathId path = kNoPath;  ///< kNoPath: takes no time; an event to wait for
  double bytes = 0;
  double alpha = 0;  ///< seconds from the end of the waiting to the start
  double pace = 0;   ///< maximum rate in GB/s; 0: unlimited
  double window =
      0;  ///< bytes in flight: limits the rate to window / (2 * latency of the path); 0: unlimited
  /// Flows of a stream send one after the other, in the order in which they start. -1: no stream; else a
  /// number below the number of flows.
  int32_t stream = -1;
  int32_t shares = 1;  ///< number of flows for which it counts when edges are shared; at least 1
};

/// The events of a flow. A flow that waits in its stream has started, but sends nothing yet.
enum class FlowEvent : uint8_t { started, sent, ended };

struct Wait {
  FlowId flow = 0;  ///< may be added later
  FlowEvent point = FlowEvent::ended;
  double delay = 0;  ///< seconds after the event
};

/// The result of a simulation.
struct Timeline {
  double seconds = 0;              ///< time at which the last flow has ended
  std::vector<double> started;     ///< index: flow
  std::vector<double> ended;       ///< index: flow
  std::vector<double> edge_bytes;  ///< index: edge of the network
  std::vector<double> tokens;      ///< bytes in the buckets at the end; index: edge; empty without bursts
};

class FlowSet {
 public:
  /// Keeps a reference to the network. For every edge: `hop_latency` in seconds, in addition to the latency
  /// that the network states for it; `burst`: bytes that a rate limiter passes at once after an idle period
  /// (buckets.h).
  explicit FlowSet(const Network& network, double hop_latency = 0, double burst = 0);

  void set_latency(int32_t edge, double seconds) { edge_latency_[static_cast<size_t>(edge)] = seconds; }
  /// Sets the contents of the edges' buckets at time 0, such as those that a timeline of this network left;
  /// default: empty.
  void set_tokens(std::vector<double> bytes) { tokens_ = std::move(bytes); }
  /// Adds a path; the same edges give the same id.
  PathId path(std::span<const int32_t> edges);
  FlowId add(const Flow& flow);
  /// Room for so many flows, and for about as many events as they usually wait for.
  void reserve(size_t flows);
  /// Makes `flow` start no earlier than this event.
  void wait(FlowId flow, const Wait& what) { waits_.push_back({flow, what}); }

  const Network& network() const { return network_; }
  size_t size() const { return flows_.size(); }
  const Flow& flow(FlowId id) const { return flows_[id]; }
  std::span<const int32_t> edges(PathId path) const;
  /// Latency of the whole path, one way.
  double latency(PathId path) const;

  /// Runs the simulation. Errors: invalid_argument for an invalid path (an edge that does not exist, does not
  /// continue where the last one ended, or occurs twice), a figure that is negative or not finite, an invalid
  /// stream or flow to wait for, and flows that wait for each other in a cycle; the sentence names them.
  Result<Timeline> simulate() const;

 private:
  friend class FlowEngine;
  struct Waiting {
    FlowId flow;
    Wait what;
  };
  Status check() const;
  Status check_path(PathId path) const;

  const Network& network_;
  const double burst_;
  std::vector<double> tokens_;
  std::vector<double> edge_latency_;
  std::vector<int32_t> path_edges_;
  std::vector<size_t> path_ends_;             // index: path; end of its edges in path_edges_
  std::vector<std::vector<PathId>> by_hash_;  // paths with the same hash
  std::vector<Flow> flows_;
  std::vector<Waiting> waits_;
};

/// An edge and its load.
struct EdgeLoad {
  int32_t edge = 0;
  double bytes = 0;
  double use = 0;  ///< fraction of what it could have carried in that time: 0 to 1
};

/// The edges with the highest use, sorted; at most `count`.
std::vector<EdgeLoad> busiest(const Network& network, std::span<const double> edge_bytes, double seconds,
                              size_t count);

}  // namespace weir::sim
