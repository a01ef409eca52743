// SPDX-License-Identifier: Apache-2.0
/// What happens when these bytes go over this network: a simulation at flow level.
///
/// A flow takes bytes along a path. It starts when everything it waits for has happened, sends at the max-min
/// fair rate of the moment (fair_share.h), and ends when the last byte has arrived, the latency of its path
/// later. Packets, queues and losses are not in the model: it is for long flows on lossless or well-paced
/// networks, and optimistic for short ones.
///
/// Bytes are counted in doubles (a share of a buffer need not be whole), time in seconds on a virtual clock
/// that begins at 0, rates in GB/s (1e9 bytes). Events that are closer than 1e-11 of the time passed are one.
/// One thread at a time; const calls are safe to share. The same set gives the same bits, on every run.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/network/network.h"
#include "weir/status.h"

namespace weir::sim {

using algorithms::Network;
using FlowId = uint32_t;
using PathId = int32_t;

inline constexpr PathId kNoPath = -1;

/// Whether a figure of a model can be one: a number that is neither negative nor infinite.
inline bool is_sound(double figure) { return std::isfinite(figure) && figure >= 0; }

struct Flow {
  PathId path = kNoPath;  ///< kNoPath: takes no time; something to wait for
  double bytes = 0;
  double alpha = 0;   ///< seconds from the end of the waiting to the start
  double pace = 0;    ///< GB/s at most; 0: any
  double window = 0;  ///< bytes in flight at most: a rate of window / (2 * latency of the path); 0: any
  /// Flows of a stream send one after the other, in the order in which they start. -1: alone; else a number
  /// below that of the flows.
  int32_t stream = -1;
  int32_t shares = 1;  ///< for how many flows it counts where it shares edges; at least 1
};

/// What can happen to a flow. One that waits in its stream has started, but sends nothing yet.
enum class Point : uint8_t { started, sent, ended };

struct Wait {
  FlowId flow = 0;  ///< may be added later
  Point point = Point::ended;
  double delay = 0;  ///< seconds after it
};

/// What came out.
struct Timeline {
  double seconds = 0;              ///< until the last flow has ended
  std::vector<double> started;     ///< by flow
  std::vector<double> ended;       ///< by flow
  std::vector<double> edge_bytes;  ///< by edge of the network
  std::vector<double> tokens;      ///< bytes saved up at the end, by edge; empty without bursts
};

class FlowSet {
 public:
  /// Keeps a reference to the network. Of every edge: `hop_latency` in seconds; `burst`, the bytes that a
  /// rate limiter there lets pass at once after a rest (buckets.h).
  explicit FlowSet(const Network& network, double hop_latency = 0, double burst = 0);

  void set_latency(int32_t edge, double seconds) { edge_latency_[static_cast<size_t>(edge)] = seconds; }
  /// What the buckets of the edges hold at time 0, such as what a timeline of this network left; else
  /// nothing.
  void set_tokens(std::vector<double> bytes) { tokens_ = std::move(bytes); }
  /// Names a path; the same edges get the same name.
  PathId path(std::span<const int32_t> edges);
  FlowId add(const Flow& flow);
  /// `flow` starts no earlier than this.
  void wait(FlowId flow, const Wait& what) { waits_.push_back({flow, what}); }

  const Network& network() const { return network_; }
  size_t size() const { return flows_.size(); }
  const Flow& flow(FlowId id) const { return flows_[id]; }
  std::span<const int32_t> edges(PathId path) const;
  /// Of the whole path, one way.
  double latency(PathId path) const;

  /// Lets it happen. Errors: invalid_argument for a path that is none (an edge that does not exist, or does
  /// not go on where the last one ended, or comes twice), a figure that is negative or not finite, a stream
  /// or a wait for a flow that cannot be, and flows that wait for each other in a cycle; the sentence names
  /// them.
  Result<Timeline> simulate() const;

 private:
  friend class Engine;
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
  std::vector<size_t> path_ends_;             // by path: where its edges end in path_edges_
  std::vector<std::vector<PathId>> by_hash_;  // paths with the same hash
  std::vector<Flow> flows_;
  std::vector<Waiting> waits_;
};

/// An edge and what it did.
struct EdgeLoad {
  int32_t edge = 0;
  double bytes = 0;
  double use = 0;  ///< of what it could have carried in that time: 0 to 1
};

/// The edges that were used most, the first one most; at most `count`.
std::vector<EdgeLoad> busiest(const Network& network, std::span<const double> edge_bytes, double seconds,
                              size_t count);

}  // namespace weir::sim
