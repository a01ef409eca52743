// SPDX-License-Identifier: Apache-2.0
/// The event loop of FlowSet::simulate(). Used only by flows.cc.
///
/// There are two kinds of events: a flow starts, and the first flow of a group completes. Flows of a group
/// are served equally, so a group needs one event and one counter: the bytes that each share of its flows has
/// been served since the group was last empty. A flow completes when the counter has grown by its bytes.
/// Tests: tests/algorithms/sim_flows_test.cc
#pragma once

#include <vector>

#include "algorithms/sim/buckets.h"
#include "algorithms/sim/fair_share.h"
#include "algorithms/sim/flows.h"

namespace weir::sim {

class FlowEngine {
  static constexpr uint32_t kGroup = uint32_t{1} << 31;
  static constexpr FlowId kNobody = UINT32_MAX;

 public:
  /// REQUIRES: a set whose check() was ok.
  explicit FlowEngine(const FlowSet& set);
  Result<Timeline> run();

 private:
  struct Served {
    double until;  // the group's counter when this flow completes
    FlowId flow;
    bool operator<(const Served& other) const {
      return until != other.until ? until > other.until : flow > other.flow;
    }
  };
  struct Progress {
    double served = 0;          // bytes, at time `since`
    double since = 0;           // seconds
    double rate = 0;            // bytes per second of each flow
    double load = 0;            // bytes per second of all flows
    uint32_t version = 0;       // events of earlier versions are void
    bool stale = false;         // needs a new event
    std::vector<Served> flows;  // a heap
  };
  struct Event {
    double time;
    uint32_t id;       // id of the flow that starts, or kGroup + the group
    uint32_t version;  // version of the group
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : id > other.id;
    }
  };
  struct Stream {
    bool busy = false;
    FlowId first = kNobody;  // the first flow that waits in its stream; behind_ has the others
    FlowId last = kNobody;
  };
  struct Waiter {
    FlowId flow;
    FlowEvent point;
    double delay;
  };

  std::vector<FlowGroup> make_groups();
  void index_waits();
  void push(Event event);
  void happened(FlowId flow, FlowEvent point, double when);
  void ready(FlowId flow);
  void start(FlowId flow);
  void send(FlowId flow);
  void sent(FlowId flow);
  void serve(GroupId group);
  void mark_stale(GroupId group);
  void carry_out_due();
  void reschedule();
  void advance(Progress& group) const;
  double tolerance() const { return now_ * 1e-11; }
  Status cycle() const;
  Timeline conclude();

  const FlowSet& set_;
  std::vector<double> latency_;    // index: path
  std::vector<GroupId> group_of_;  // index: flow; -1: without path
  std::vector<Progress> groups_;
  FairShares shares_;
  Buckets buckets_;
  std::vector<Stream> streams_;
  std::vector<FlowId> behind_;                  // index: flow; the next one in its stream
  std::vector<Waiter> waiters_;                 // sorted by the event they wait for
  std::vector<uint32_t> first_waiter_;          // index: flow
  std::vector<uint32_t> waiting_for_;           // index: flow; number of events that have not happened
  std::vector<double> ready_;                   // index: flow; time of the last of these events
  std::vector<double> started_, sent_, ended_;  // index: flow; below 0: not yet
  std::vector<Event> events_;                   // a heap
  std::vector<FlowId> due_;                     // flows that start now, or are next in their stream now
  std::vector<GroupId> stale_;
  double now_ = 0;
  size_t done_ = 0;
};

}  // namespace weir::sim
