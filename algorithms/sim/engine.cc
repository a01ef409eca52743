// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/index.h"

namespace weir::sim {
namespace {

constexpr double kBytesPerUnit = algorithms::kCapacityUnit * 1e9;  // bytes per second

/// The maximum capacity, in units, that each share of a flow can use.
double ceiling_of(const FlowSet& set, const Flow& flow, double latency) {
  double ceiling = 0;
  for (const int32_t edge : set.edges(flow.path)) {
    const auto capacity = static_cast<double>(set.network().edges[at(edge)].capacity);
    if (ceiling == 0 || capacity < ceiling) ceiling = capacity;
  }
  if (flow.pace > 0) ceiling = std::min(ceiling, flow.pace / flow.shares / algorithms::kCapacityUnit);
  if (flow.window > 0 && latency > 0) {
    ceiling = std::min(ceiling, flow.window / flow.shares / (2 * latency) / kBytesPerUnit);
  }
  return ceiling;
}

}  // namespace

FlowEngine::FlowEngine(const FlowSet& set)
    : set_(set),
      group_of_(set.size(), -1),
      shares_(set.network(), make_groups()),
      buckets_(set.network(), set.burst_, set.tokens_),
      behind_(set.size(), kNobody),
      waiting_for_(set.size()),
      ready_(set.size()),
      started_(set.size(), -1),
      sent_(set.size(), -1),
      ended_(set.size(), -1) {
  int32_t streams = 0;
  for (FlowId f = 0; f < set.size(); ++f) streams = std::max(streams, set.flow(f).stream + 1);
  streams_.resize(at(streams));
  index_waits();
}

/// Groups flows with the same path and ceiling.
std::vector<FlowGroup> FlowEngine::make_groups() {
  const size_t paths = set_.path_ends_.size();
  for (size_t p = 0; p < paths; ++p) latency_.push_back(set_.latency(static_cast<PathId>(p)));
  std::vector<FlowGroup> groups;
  std::vector<GroupId> newest(paths, -1);  // index: path; the last group made, which links to the others
  std::vector<GroupId> older;              // index: group
  for (FlowId f = 0; f < set_.size(); ++f) {
    const Flow& flow = set_.flow(f);
    if (flow.path == kNoPath) continue;
    const double ceiling = ceiling_of(set_, flow, latency_[at(flow.path)]);
    GroupId group = newest[at(flow.path)];
    while (group >= 0 && groups[at(group)].ceiling != ceiling) group = older[at(group)];
    if (group < 0) {
      group = static_cast<GroupId>(groups.size());
      groups.push_back({set_.edges(flow.path), ceiling});
      older.push_back(std::exchange(newest[at(flow.path)], group));
    }
    group_of_[f] = group;
  }
  groups_.resize(groups.size());
  return groups;
}

void FlowEngine::index_waits() {
  first_waiter_.resize(set_.size() + 1);
  for (const auto& [flow, what] : set_.waits_) {
    ++first_waiter_[what.flow + 1];
    ++waiting_for_[flow];
  }
  for (size_t f = 0; f < set_.size(); ++f) first_waiter_[f + 1] += first_waiter_[f];
  waiters_.resize(set_.waits_.size());
  std::vector<uint32_t> place(first_waiter_.begin(), first_waiter_.end() - 1);
  for (const auto& [flow, what] : set_.waits_) waiters_[place[what.flow]++] = {flow, what.point, what.delay};
}

Result<Timeline> FlowEngine::run() {
  for (FlowId f = 0; f < set_.size(); ++f) {
    if (waiting_for_[f] == 0) ready(f);
  }
  carry_out_due();
  reschedule();
  while (!events_.empty()) {
    now_ = std::max(now_, events_.front().time);
    while (!events_.empty() && events_.front().time <= now_ + tolerance()) {
      const Event event = events_.front();
      std::pop_heap(events_.begin(), events_.end());
      events_.pop_back();
      if (event.id < kGroup) {
        due_.push_back(event.id);
      } else if (groups_[event.id - kGroup].version == event.version) {
        serve(static_cast<GroupId>(event.id - kGroup));
      }
    }
    carry_out_due();
    reschedule();
  }
  if (done_ < set_.size()) return cycle();
  return conclude();
}

void FlowEngine::push(Event event) {
  events_.push_back(event);
  std::push_heap(events_.begin(), events_.end());
}

/// Notifies the flows that wait for it.
void FlowEngine::happened(FlowId flow, FlowEvent point, double when) {
  for (uint32_t n = first_waiter_[flow]; n < first_waiter_[flow + 1]; ++n) {
    const Waiter& next = waiters_[n];
    if (next.point != point) continue;
    ready_[next.flow] = std::max(ready_[next.flow], when + next.delay);
    if (--waiting_for_[next.flow] == 0) ready(next.flow);
  }
}

void FlowEngine::ready(FlowId flow) {
  const double when = ready_[flow] + set_.flow(flow).alpha;
  if (when <= now_ + tolerance()) {
    due_.push_back(flow);
  } else {
    push({when, flow, 0});
  }
}

void FlowEngine::carry_out_due() {
  for (size_t next = 0; next < due_.size(); ++next) {
    const FlowId flow = due_[next];
    started_[flow] < 0 ? start(flow) : send(flow);
  }
  due_.clear();
}

void FlowEngine::start(FlowId flow) {
  started_[flow] = now_;
  happened(flow, FlowEvent::started, now_);
  if (set_.flow(flow).stream < 0) return send(flow);
  Stream& stream = streams_[at(set_.flow(flow).stream)];
  if (!std::exchange(stream.busy, true)) return send(flow);
  (stream.first == kNobody ? stream.first : behind_[stream.last]) = flow;
  stream.last = flow;
}

void FlowEngine::send(FlowId flow) {
  const GroupId group = group_of_[flow];
  if (group < 0) return sent(flow);
  double bytes = set_.flow(flow).bytes;
  bytes -= buckets_.take(set_.edges(set_.flow(flow).path), bytes, now_);
  if (bytes == 0) return sent(flow);
  Progress& progress = groups_[at(group)];
  advance(progress);
  if (progress.flows.empty()) progress.served = 0;
  const int32_t shares = set_.flow(flow).shares;
  progress.flows.push_back({progress.served + bytes / shares, flow});
  std::push_heap(progress.flows.begin(), progress.flows.end());
  shares_.change(group, shares);
  mark_stale(group);
}

void FlowEngine::sent(FlowId flow) {
  const PathId path = set_.flow(flow).path;
  sent_[flow] = now_;
  ended_[flow] = path == kNoPath ? now_ : now_ + latency_[at(path)];
  ++done_;
  happened(flow, FlowEvent::sent, sent_[flow]);
  happened(flow, FlowEvent::ended, ended_[flow]);
  if (set_.flow(flow).stream < 0) return;
  Stream& stream = streams_[at(set_.flow(flow).stream)];
  stream.busy = stream.first != kNobody;
  if (!stream.busy) return;
  due_.push_back(stream.first);
  stream.first = behind_[stream.first];
}

/// Ends the group's flows that are complete.
void FlowEngine::serve(GroupId group) {
  Progress& progress = groups_[at(group)];
  advance(progress);
  const double served = progress.served + progress.rate * tolerance();
  mark_stale(group);
  bool first = true;  // the event is for the first flow: rounding must not undo that
  while (!progress.flows.empty() && (first || progress.flows.front().until <= served)) {
    first = false;
    const FlowId flow = progress.flows.front().flow;
    std::pop_heap(progress.flows.begin(), progress.flows.end());
    progress.flows.pop_back();
    shares_.change(group, -set_.flow(flow).shares);
    sent(flow);
  }
}

void FlowEngine::advance(Progress& group) const {
  group.served += group.rate * (now_ - group.since);
  group.since = now_;
}

void FlowEngine::mark_stale(GroupId group) {
  if (!std::exchange(groups_[at(group)].stale, true)) stale_.push_back(group);
}

/// Computes new rates, and the next event of every group that needs one.
void FlowEngine::reschedule() {
  for (const GroupId group : shares_.settle()) mark_stale(group);
  for (const GroupId group : stale_) {
    Progress& progress = groups_[at(group)];
    advance(progress);
    progress.rate = shares_.rate(group) * kBytesPerUnit;
    progress.stale = false;
    ++progress.version;
    const double load = progress.rate * shares_.flows(group);
    buckets_.add_load(shares_.path(group), load - std::exchange(progress.load, load), now_);
    if (progress.flows.empty()) continue;
    const double left = std::max(0.0, progress.flows.front().until - progress.served);
    push({now_ + left / progress.rate, kGroup + static_cast<uint32_t>(group), progress.version});
  }
  stale_.clear();
}

/// A cycle of waiting flows: follows the lowest flow that never started until a flow repeats.
Status FlowEngine::cycle() const {
  constexpr size_t kNamed = 8;
  std::vector<FlowId> blocker(set_.size());
  for (const auto& [flow, what] : set_.waits_) {
    if (started_[flow] < 0 && started_[what.flow] < 0) blocker[flow] = what.flow;
  }
  FlowId flow = 0;
  while (started_[flow] >= 0) ++flow;
  std::vector<char> seen(set_.size());
  for (; !seen[flow]; flow = blocker[flow]) seen[flow] = 1;
  std::string list = fmt::format("{}", flow);
  size_t length = 1;
  for (FlowId f = blocker[flow]; f != flow; f = blocker[f], ++length) {
    if (length < kNamed) list += fmt::format(", which waits for flow {}", f);
  }
  const std::string more = length > kNamed ? fmt::format(" ... ({} flows)", length) : "";
  if (length == 1) return {Code::invalid_argument, fmt::format("flow {} waits for itself", flow)};
  return {Code::invalid_argument,
          fmt::format("flows wait in a cycle: flow {}{}, which waits for flow {}", list, more, flow)};
}

Timeline FlowEngine::conclude() {
  Timeline timeline;
  timeline.started = started_;
  timeline.ended = ended_;
  for (const double end : ended_) timeline.seconds = std::max(timeline.seconds, end);
  timeline.tokens = buckets_.tokens(timeline.seconds);
  std::vector<double> path_bytes(latency_.size());
  for (FlowId f = 0; f < set_.size(); ++f) {
    if (group_of_[f] >= 0) path_bytes[at(set_.flow(f).path)] += set_.flow(f).bytes;
  }
  timeline.edge_bytes.resize(set_.network().edges.size());
  for (size_t p = 0; p < path_bytes.size(); ++p) {
    for (const int32_t edge : set_.edges(static_cast<PathId>(p)))
      timeline.edge_bytes[at(edge)] += path_bytes[p];
  }
  return timeline;
}

}  // namespace weir::sim
