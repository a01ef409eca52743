// SPDX-License-Identifier: Apache-2.0

#include "src/exec/lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace weir::exec {
namespace {

/// Smallest buffer that received bytes reach past the caches: of a larger one they would be gone from there
/// before somebody reads them.
constexpr size_t kLeastStreamed = size_t{16} << 20;

/// Smaller messages are always copied into slots.
constexpr size_t kLeastRendezvous = 8192;

/// Whether reading through the kernel pays in an operation with such blocks. It spares the sender a copy, but
/// is slower than two that overlap once data exceed caches: so it pays where the sender is the slower end,
/// and elsewhere while data are small (measured: docs/lab/changes.md).
bool prefers_kernel_reads(const ir::Shape& shape, size_t block_bytes) {
  constexpr size_t kCached = 512 << 10;
  if (shape.kind == Collective::scatter) return true;
  if (shape.kind == Collective::gather) return block_bytes * static_cast<size_t>(shape.ranks) <= kCached;
  return shape.kind == Collective::broadcast && shape.ranks == 2 && block_bytes > (64 << 10) &&
         block_bytes <= kCached;
}

bool is_buffer(const Place& place) {
  return place.kind == Place::Kind::input || place.kind == Place::Kind::output;
}

/// Whether what is in a buffer stays there until the operation ends, once a message of it was sent: the
/// program writes nothing twice, and the collective does not write to its input if the call is in place.
bool keeps_buffers(const Program& program) {
  const Collective kind = program.shape.kind;
  if (reduces(kind) || kind == Collective::all_to_all) return false;
  std::set<uint32_t> written;
  for (const std::vector<Step>& steps : program.lanes) {
    for (const Step& step : steps) {
      for (int d = 0; step.op == Op::move && d < step.destinations; ++d) {
        const Place& place = program.places[step.dst[d]];
        if (place.kind != Place::Kind::output) continue;
        for (uint32_t i = 0; i < step.chunks; ++i)
          if (!written.insert(step.chunk + static_cast<uint32_t>(place.bias) + i).second) return false;
      }
    }
  }
  return true;
}

}  // namespace

Run::Run(const Program& program, Binding binding)
    : program_(program),
      binding_(std::move(binding)),
      keeps_buffers_(keeps_buffers(program)),
      scaled_(binding_.tile_bytes),
      incoming_(program.channels.size()),
      outgoing_(program.channels.size()) {
  for (const std::vector<Step>& steps : program.lanes) {
    if (!steps.empty()) lanes_.push_back({steps});
  }
  for (Sender* sender : binding_.senders) {
    if (sender != nullptr) flushing_.push_back(sender);
    hands_on_.push_back(sender != nullptr && sender->send_mode({}, 0) == SendMode::handed_on);
  }
  rendezvous_.reserve(flushing_.size());
}

void Run::start(const Work& work) {
  work_ = &work;
  if (work.count != division_.count || work.type != type_ || work.tile_bytes != tile_bytes_) {
    type_ = work.type;
    tile_bytes_ = work.tile_bytes;
    element_ = size_of(type_);
    division_ =
        divide_work(work.count, program_.shape.chunks, element_, std::min(tile_bytes_, binding_.tile_bytes));
    const size_t blocks = reduces(program_.shape.kind) || program_.shape.kind == Collective::broadcast
                              ? 1
                              : static_cast<size_t>(program_.shape.ranks);
    streams_ = work.count * element_ * blocks >= kLeastStreamed;
    kernel_reads_ = prefers_kernel_reads(program_.shape, work.count * element_);
  }
  for (Lane& lane : lanes_) lane = {lane.steps};
  error_ = {};
  rendezvous_.clear();
  for (size_t i = 0; i < binding_.paces.size(); ++i) {
    if (binding_.senders[i] != nullptr) binding_.senders[i]->pace(binding_.paces[i]);
  }
}

Progress Run::advance() {
  bool moved = false;
  bool running = false;
  for (Lane& lane : lanes_) {
    if (lane.pass == division_.passes) continue;
    moved |= advance_lane(lane);
    if (!error_.ok()) return Progress::failed;
    running |= lane.pass < division_.passes;
  }
  if (!running && flushed()) return Progress::done;
  if (!moved) {  // a receiver may be unable to read a rendezvous; serve() tells of broken channels
    for (Sender* sender : rendezvous_) static_cast<void>(sender->progress());
  }
  return moved ? Progress::moved : Progress::blocked;
}

/// Runs a lane until it blocks or ends. Returns true if it made progress.
bool Run::advance_lane(Lane& lane) {
  bool moved = false;
  while (lane.pass < division_.passes) {
    const Step& step = lane.steps[lane.step];
    const bool stepped = step.op == Op::move                                                ? move(step, lane)
                         : !is_due(step, lane.pass == 0, lane.pass + 1 == division_.passes) ? true
                         : step.op == Op::signal ? signal(step, lane)
                                                 : wait(step, lane);
    if (!stepped) return moved;
    moved = true;
    if (++lane.step == lane.steps.size()) {
      lane.step = 0;
      ++lane.pass;
    }
  }
  return moved;
}

bool Run::wait(const Step& step, Lane& lane) {
  const uint32_t channel = program_.places[step.src[0]].index;
  Receiver& receiver = *binding_.receivers[channel];
  for (; lane.waited < step.chunks; ++lane.waited) {
    if (!message_ready(channel, lane)) return false;
    receiver.release();
  }
  lane.waited = 0;
  return true;
}

bool Run::signal(const Step& step, Lane& lane) {
  const uint32_t channel = program_.places[step.dst[0]].index;
  if (!slot_ready(channel, lane)) return false;
  binding_.senders[channel]->publish(work_->tag, 0);
  return true;
}

/// Another core reads slots.
inline void Run::copy(const Place& place, std::byte* to, const std::byte* from, size_t bytes) {
  if (place.kind == Place::Kind::send) return handed_copies_.copy(to, from, bytes);
  device::copy(to, from, bytes);
}

/// The most frequent step: copies one chunk from one place to another.
inline bool Run::copy_one(const Step& step, Lane& lane) {
  const Place& from = program_.places[step.src[0]];
  const Place& to = program_.places[step.dst[0]];
  const bool receives = from.kind == Place::Kind::receive;
  const bool sends = to.kind == Place::Kind::send;
  if (receives && !message_ready(from.index, lane)) return false;
  if (sends && !slot_ready(to.index, lane)) return false;
  const Piece piece = division_.piece_of(step.part, lane.pass);
  const size_t bytes = piece.count * element_;
  if (receives && bytes > 0 && incoming_[from.index] == nullptr) [[unlikely]] {
    if (!binding_.receivers[from.index]->fetch(destination(to, step.chunk + to.bias, piece, 0))) return false;
    if (sends) binding_.senders[to.index]->publish(work_->tag, static_cast<uint32_t>(bytes));
    binding_.receivers[from.index]->release();
    return true;
  }
  const std::byte* const read = source(from, step.chunk + from.bias, piece, 0);
  if (is_buffer(from) && may_rendezvous(to, read, bytes)) {
    send_buffer(to.index, read, bytes);
  } else if (spares_slot(step, 0)) {
    binding_.senders[to.index]->publish(work_->tag, static_cast<uint32_t>(bytes), {read});
  } else {
    std::byte* const written = destination(to, step.chunk + to.bias, piece, 0);
    if (receives && streams_ && to.kind == Place::Kind::output) {
      device::copy(written, read, bytes, device::Traffic::streaming);
    } else {
      copy(to, written, read, bytes);
    }
    if (sends) binding_.senders[to.index]->publish(work_->tag, static_cast<uint32_t>(bytes));
  }
  if (receives) binding_.receivers[from.index]->release();
  return true;
}

bool Run::move(const Step& step, Lane& lane) {
  if (step.sources == 1 && step.destinations == 1 && step.chunks == 1 && !work_->scales && !step.completes)
    return copy_one(step, lane);
  if (!channels_ready(step, lane)) return false;
  if (!fetch_messages(step, lane)) return false;
  const uint32_t rendezvous = rendezvous_with(step, lane.pass);
  size_t offset = 0;  // offset of the chunk's piece in messages, in bytes
  const std::byte* whole = nullptr;
  for (uint32_t i = 0; i < step.chunks; ++i) {
    const Piece piece = division_.piece_of((step.part + i) % program_.shape.chunks, lane.pass);
    if (piece.count > 0) whole = move_chunk(step, i, piece, offset, rendezvous);
    offset += piece.count * element_;
  }
  for (int d = 0; d < step.destinations; ++d) {
    const Place& place = program_.places[step.dst[d]];
    if (place.kind != Place::Kind::send) continue;
    Sender& sender = *binding_.senders[place.index];
    if ((rendezvous >> d & 1) != 0) {
      send_buffer(place.index, buffer_of(step, lane.pass), offset);
    } else if (whole != nullptr && spares_slot(step, d)) {
      sender.publish(work_->tag, static_cast<uint32_t>(offset), {whole});
    } else {
      sender.publish(work_->tag, static_cast<uint32_t>(offset));
    }
  }
  for (int s = 0; s < step.sources; ++s) {
    const Place& place = program_.places[step.src[s]];
    if (place.kind == Place::Kind::receive) binding_.receivers[place.index]->release();
  }
  return true;
}

bool Run::channels_ready(const Step& step, Lane& lane) {
  for (int s = 0; s < step.sources; ++s) {
    const Place& place = program_.places[step.src[s]];
    if (place.kind == Place::Kind::receive && !message_ready(place.index, lane)) return false;
  }
  for (int d = 0; d < step.destinations; ++d) {
    const Place& place = program_.places[step.dst[d]];
    if (place.kind == Place::Kind::send && !slot_ready(place.index, lane)) return false;
  }
  return true;
}

bool Run::message_ready(uint32_t channel, Lane& lane) {
  lane.blocked_on = channel;
  const Message* const message = binding_.receivers[channel]->peek();
  if (message == nullptr || !check(*message, channel)) return false;
  incoming_[channel] = message->data;
  return true;
}

bool Run::slot_ready(uint32_t channel, Lane& lane) {
  lane.blocked_on = channel;
  outgoing_[channel] = binding_.senders[channel]->acquire();
  return outgoing_[channel] != nullptr;
}

/// Whether the message to a destination is sent directly from its source memory instead of a slot; its bytes
/// must be contiguous.
inline bool Run::spares_slot(const Step& step, int destination) const {
  const Place& place = program_.places[step.dst[destination]];
  return step.chunks == 1 && place.kind == Place::Kind::send && hands_on_[place.index];
}

inline bool Run::may_rendezvous(const Place& to, const std::byte* data, size_t bytes) const {
  if (!keeps_buffers_ || bytes < kLeastRendezvous || to.kind != Place::Kind::send) return false;
  const SendMode mode = binding_.senders[to.index]->send_mode({data, true}, static_cast<uint32_t>(bytes));
  return mode == SendMode::shared_read || (mode == SendMode::kernel_read && kernel_reads_);
}

/// The destinations that get the message of a step by rendezvous: bit d for destination d.
uint32_t Run::rendezvous_with(const Step& step, size_t pass) {
  if (!keeps_buffers_ || work_->scales || step.completes || step.chunks != 1 || step.sources != 1) return 0;
  const size_t bytes = division_.piece_of(step.part, pass).count * element_;
  const std::byte* const data = bytes >= kLeastRendezvous ? buffer_of(step, pass) : nullptr;
  uint32_t found = 0;
  for (int d = 0; data != nullptr && d < step.destinations; ++d)
    if (may_rendezvous(program_.places[step.dst[d]], data, bytes)) found |= uint32_t{1} << d;
  return found;
}

void Run::send_buffer(uint32_t channel, const std::byte* data, size_t bytes) {
  Sender* const sender = binding_.senders[channel];
  sender->publish(work_->tag, static_cast<uint32_t>(bytes), {data, true});
  if (std::ranges::find(rendezvous_, sender) == rendezvous_.end()) rendezvous_.push_back(sender);
}

/// Where the bytes of a step of one chunk stay until the operation ends: in the buffer from which it reads,
/// or in one to which it writes; null: neither.
const std::byte* Run::buffer_of(const Step& step, size_t pass) {
  const Place& from = program_.places[step.src[0]];
  const Piece piece = division_.piece_of(step.part, pass);
  return is_buffer(from) ? source(from, step.chunk + from.bias, piece, 0) : written_buffer(step, pass);
}

std::byte* Run::written_buffer(const Step& step, size_t pass) {
  const Piece piece = division_.piece_of(step.part, pass);
  for (int d = 0; d < step.destinations; ++d) {
    const Place& to = program_.places[step.dst[d]];
    if (is_buffer(to)) return destination(to, step.chunk + to.bias, piece, 0);
  }
  return nullptr;
}

/// Reads the messages of a step that are rendezvous: to where they go, or into their slots. False if the
/// sender has to send them first.
bool Run::fetch_messages(const Step& step, Lane& lane) {
  for (int s = 0; s < step.sources; ++s) {
    const Place& from = program_.places[step.src[s]];
    if (from.kind != Place::Kind::receive || incoming_[from.index] != nullptr) continue;
    Receiver& receiver = *binding_.receivers[from.index];
    if (receiver.peek()->bytes == 0) continue;
    std::byte* const to = keeps_buffers_ && step.chunks == 1 ? written_buffer(step, lane.pass) : nullptr;
    lane.blocked_on = from.index;
    if (!receiver.fetch(to)) return false;
    incoming_[from.index] = to != nullptr ? to : receiver.peek()->data;
  }
  return true;
}

/// Folds the sources into the first destination, then copies the result to the others, but for those that
/// get it by rendezvous. Returns the address from which senders that spare slots send the bytes; null: the
/// bytes are in the slots.
const std::byte* Run::move_chunk(const Step& step, uint32_t i, const Piece& piece, size_t offset,
                                 uint32_t rendezvous) {
  const std::byte* sources[kFanIn];
  for (int s = 0; s < step.sources; ++s) {
    const Place& place = program_.places[step.src[s]];
    sources[s] = source(place, step.chunk + place.bias + i, piece, offset);
    if (work_->scales && place.kind == Place::Kind::input) {
      device::scale(work_->type, scaled_.data(), sources[s], work_->factor, piece.count);
      sources[s] = scaled_.data();
    }
  }
  const auto target = [&](int d) {
    const Place& place = program_.places[step.dst[d]];
    return destination(place, step.chunk + place.bias + i, piece, offset);
  };
  const size_t bytes = piece.count * element_;
  const bool divides = step.completes && work_->divisor > 1;
  const std::byte* value = sources[0];
  bool in_slot = false;
  if (step.sources > 1 || divides || ((rendezvous & 1) == 0 && !spares_slot(step, 0))) {
    std::byte* const first = target(0);
    if (step.sources > 1) {
      device::fold(work_->type, work_->op, first, reinterpret_cast<const void* const*>(sources), step.sources,
                   piece.count);
    } else if (first != sources[0]) {
      copy(program_.places[step.dst[0]], first, sources[0], bytes);
    }
    if (divides) device::divide(work_->type, first, work_->divisor, piece.count);
    value = first;
    in_slot = program_.places[step.dst[0]].kind == Place::Kind::send;
  }
  for (int d = 1; d < step.destinations; ++d) {
    if ((rendezvous >> d & 1) != 0 || (!in_slot && spares_slot(step, d))) continue;
    std::byte* other = target(d);
    if (other != value) copy(program_.places[step.dst[d]], other, value, bytes);
  }
  return in_slot ? nullptr : value;
}

inline const std::byte* Run::source(const Place& place, uint32_t chunk, const Piece& piece, size_t offset) {
  switch (place.kind) {
    case Place::Kind::input: return work_->input + block_offset(chunk, piece);
    case Place::Kind::output: return work_->output + block_offset(chunk, piece);
    case Place::Kind::scratch: return binding_.scratch + chunk * binding_.tile_bytes;
    case Place::Kind::peer_scratch: return binding_.peer_scratch[place.index] + chunk * binding_.tile_bytes;
    default: return incoming_[place.index] + offset;
  }
}

inline std::byte* Run::destination(const Place& place, uint32_t chunk, const Piece& piece, size_t offset) {
  switch (place.kind) {
    case Place::Kind::output: return work_->output + block_offset(chunk, piece);
    case Place::Kind::scratch: return binding_.scratch + chunk * binding_.tile_bytes;
    default: return outgoing_[place.index] + offset;
  }
}

size_t Run::block_offset(uint32_t chunk, const Piece& piece) const {
  return division_.offset_of(chunk, piece) * element_;
}

bool Run::check(const Message& message, uint32_t channel) {
  if (message.tag == work_->tag) return true;
  error_ = Status(
      Code::invalid_usage,
      fmt::format("rank {} sent a message of operation #{} where rank {} expected one of operation #{}: the "
                  "ranks called different operations, or the same ones in another order",
                  program_.channels[channel].peer, message.tag >> 32, program_.rank, work_->tag >> 32));
  return false;
}

bool Run::flushed() const {
  for (const Sender* sender : flushing_) {
    if (!sender->flushed()) return false;
  }
  return true;
}

void Run::recall() {
  for (Sender* sender : rendezvous_) sender->recall();
}

Status Run::serve(Rank& peer) {
  const auto serve_all = [&](const auto& ends) -> Status {
    for (size_t i = 0; i < ends.size(); ++i) {
      if (ends[i] == nullptr) continue;
      Status trouble = ends[i]->progress();
      if (trouble.ok()) continue;
      peer = program_.channels[i].peer;
      return trouble;
    }
    return {};
  };
  WEIR_TRY(serve_all(binding_.senders));
  return serve_all(binding_.receivers);
}

/// A blocked lane, preferably one that waits for a message: a peer that has not released a slot itself waits
/// for another rank, so only missing messages lead to the rank that blocks all others.
const Run::Lane* Run::blocked_lane() const {
  const Lane* found = nullptr;
  for (const Lane& lane : lanes_) {
    if (lane.pass == division_.passes) continue;
    found = &lane;
    if (!program_.channels[lane.blocked_on].outgoing) break;
  }
  return found;
}

Rank Run::waiting_for() const {
  const Lane* const lane = blocked_lane();
  Rank peer = lane != nullptr ? program_.channels[lane->blocked_on].peer : program_.rank;
  if (lane != nullptr && !program_.channels[lane->blocked_on].outgoing) return peer;
  for (size_t i = 0; i < binding_.senders.size() && peer == program_.rank;
       ++i) {  // everything is sent, but not everything is received
    if (binding_.senders[i] != nullptr && !binding_.senders[i]->flushed()) peer = program_.channels[i].peer;
  }
  return peer;
}

/// Each lane may wait for a different rank, and any of these may be the one that blocks the operation.
std::vector<Rank> Run::awaited() const {
  std::vector<Rank> ranks;
  for (const Lane& lane : lanes_) {
    if (lane.pass == division_.passes) continue;
    const Channel& channel = program_.channels[lane.blocked_on];
    const bool new_one = std::ranges::find(ranks, channel.peer) == ranks.end();
    if (!channel.outgoing && channel.peer != program_.rank && new_one) ranks.push_back(channel.peer);
  }
  if (ranks.empty()) ranks.push_back(waiting_for());
  return ranks;
}

std::string Run::place() const {
  const Lane* const lane = blocked_lane();
  if (lane == nullptr) return "the end, waiting for peers to receive messages";
  const auto number = std::ranges::find_if(
      program_.lanes, [&](const std::vector<Step>& steps) { return steps.data() == lane->steps.data(); });
  return fmt::format("step {} of {} of lane {}, tile {} of {}", lane->step + 1, lane->steps.size(),
                     number - program_.lanes.begin(), lane->pass + 1, division_.passes);
}

}  // namespace weir::exec
