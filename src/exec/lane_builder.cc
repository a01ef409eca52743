// SPDX-License-Identifier: Apache-2.0

#include "src/exec/lane_builder.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::exec {
namespace {

bool is_memory(const LaneBuilder::Site& site) {
  return site.kind != Place::Kind::receive && site.kind != Place::Kind::send;
}
/// Whether the site is memory of this rank, which it can read again.
bool is_local(const LaneBuilder::Site& site) {
  using Kind = Place::Kind;
  return site.kind == Kind::input || site.kind == Kind::output || site.kind == Kind::scratch;
}

LaneBuilder::Site local_site(const ir::Operand& operand) {
  using Kind = ir::Operand::Kind;
  const Place::Kind kind = operand.kind == Kind::input    ? Place::Kind::input
                           : operand.kind == Kind::output ? Place::Kind::output
                                                          : Place::Kind::scratch;
  return {kind, 0, operand.index};
}

Status not_kept(uint32_t move, uint32_t needed) {
  return {Code::invalid_argument,
          fmt::format(
              "move {} uses the value of move {}, which is neither kept in memory nor made by the move just "
              "before it in the same lane; give move {} a `to`, or emit the two next to each other",
              move, needed, needed)};
}

}  // namespace

uint32_t ProgramTables::channel(Rank peer, uint32_t number, bool outgoing, uint32_t chunks) {
  auto& channels = program_.channels;
  for (uint32_t i = 0; i < channels.size(); ++i) {
    if (channels[i].peer == peer && channels[i].number == number && channels[i].outgoing == outgoing) {
      channels[i].chunks = std::max(channels[i].chunks, chunks);
      return i;
    }
  }
  channels.push_back({peer, number, outgoing, chunks});
  return static_cast<uint32_t>(channels.size() - 1);
}

uint16_t ProgramTables::place(const Place& place) {
  auto& places = program_.places;
  auto found = std::find(places.begin(), places.end(), place);
  if (found == places.end()) found = places.insert(places.end(), place);
  return static_cast<uint16_t>(found - places.begin());
}

Status LaneBuilder::arrive(uint32_t id, const ir::Plan& plan, const Site& source, const Fact& fact) {
  const ir::Move& move = plan.moves[id];
  if (move.with.kind == ir::Operand::Kind::value) {
    const bool extends = !open_.empty() && open_[0].value == move.with.index &&
                         open_[0].destinations.empty() && open_[0].chunks == move.chunks;
    if (!extends) {
      const ir::Operand& kept = plan.moves[move.with.index].to;
      if (!kept.in_memory()) return not_kept(id, move.with.index);
      begin(local_site(kept), id, move.chunks, fact);
    }
    add_source(source);
  } else if (move.with.in_memory()) {
    begin(local_site(move.with), id, move.chunks, fact);
    add_source(source);
  } else {
    begin(source, id, move.chunks, fact);
  }
  open_[0].value = id;
  open_[0].fact = fact;
  if (move.to.in_memory()) add_destination(local_site(move.to));
  return {};
}

Status LaneBuilder::depart(uint32_t id, const ir::Plan& plan, const Site& target, const Fact& fact) {
  const ir::Move& move = plan.moves[id];
  const bool is_value = move.from.kind == ir::Operand::Kind::value;
  if (is_value && !open_.empty() && open_[0].value == move.from.index && open_[0].chunks == move.chunks) {
    add_destination(target);
    return {};
  }
  const ir::Operand& place = is_value ? plan.moves[move.from.index].to : move.from;
  if (!place.in_memory()) return not_kept(id, move.from.index);
  const Site site = local_site(place);
  const bool fans_out = !open_.empty() && open_[0].value == kNoValue && open_[0].chunks == move.chunks &&
                        open_[0].sources[0].kind == site.kind && open_[0].sources[0].chunk == site.chunk;
  if (!fans_out) begin(site, kNoValue, move.chunks, {fact.part, false});
  add_destination(target);
  return {};
}

void LaneBuilder::signal(uint32_t channel, PassFilter passes) {
  close();
  Step step;
  step.op = Op::signal;
  step.part = static_cast<uint32_t>(passes);
  step.destinations = 1;
  step.dst[0] = tables_.place({Place::Kind::send, 0, channel});
  steps_.push_back(step);
}

void LaneBuilder::wait(uint32_t channel, uint32_t messages, PassFilter passes) {
  // An open fold without destinations may wait for one more source, because no other step depends on it yet.
  if (!open_.empty() && !open_[0].destinations.empty()) close();
  Step step;
  step.op = Op::wait;
  step.part = static_cast<uint32_t>(passes);
  step.sources = 1;
  step.chunks = messages;
  step.src[0] = tables_.place({Place::Kind::receive, 0, channel});
  steps_.push_back(step);
}

Result<std::vector<Step>> LaneBuilder::take() {
  close();
  if (useless_ != kNoValue) {
    return Status(
        Code::invalid_argument,
        fmt::format("the value of move {} is unused: it is neither kept in memory nor passed on", useless_));
  }
  return std::move(steps_);
}

void LaneBuilder::begin(const Site& source, int64_t value, uint32_t chunks, const Fact& fact) {
  close();
  open_.push_back({{source}, {}, value, chunks, fact});
}

void LaneBuilder::add_source(const Site& site) {
  if (open_[0].sources.size() == kFanIn) spill();
  open_[0].sources.push_back(site);
}

void LaneBuilder::add_destination(const Site& site) {
  Open& open = open_[0];
  if (open.destinations.size() + 1 == kFanOut && !is_local(site) &&
      std::none_of(open.destinations.begin(), open.destinations.end(), is_local) &&
      !(open.sources.size() == 1 && is_local(open.sources[0]))) {
    // With one destination left the value must be in memory to be read again, so keep it in memory first.
    spill();
  } else if (open.destinations.size() == kFanOut) {
    const auto kept = std::find_if(open.destinations.begin(), open.destinations.end(), is_local);
    const Site again = kept != open.destinations.end() ? *kept : open.sources[0];
    const Open old = open;
    begin(again, old.value, old.chunks, {old.fact.part, false});
  }
  open_[0].destinations.push_back(site);
}

/// Ends the open step by storing its value in spill scratch, and continues from there.
void LaneBuilder::spill() {
  const Site site{Place::Kind::scratch, 0, spill_chunk_};
  open_[0].destinations.push_back(site);
  const Open old = open_[0];
  begin(site, old.value, old.chunks, {old.fact.part, false});
}

void LaneBuilder::close() {
  if (open_.empty()) return;
  if (open_[0].destinations.empty()) useless_ = open_[0].value;
  steps_.push_back(encode(open_[0]));
  open_.clear();
}

Step LaneBuilder::encode(const Open& open) {
  Step step;
  step.completes = open.fact.completes;
  step.part = open.fact.part;
  step.chunks = open.chunks;
  for (const auto* sites : {&open.sources, &open.destinations}) {
    const auto local = std::find_if(sites->begin(), sites->end(), is_memory);
    if (local != sites->end()) {
      step.chunk = local->chunk;
      break;
    }
  }
  const auto place_of = [&](const Site& site) {
    const int32_t bias =
        is_memory(site) ? static_cast<int32_t>(site.chunk) - static_cast<int32_t>(step.chunk) : 0;
    return tables_.place({site.kind, bias, site.index});
  };
  for (const Site& site : open.sources) step.src[step.sources++] = place_of(site);
  for (const Site& site : open.destinations) step.dst[step.destinations++] = place_of(site);
  return step;
}

}  // namespace weir::exec
