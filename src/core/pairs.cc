#include "src/core/pairs.h"

#include <fmt/format.h>

namespace weir::core {
namespace {

/// Beyond the numbers that lanes of plans give (program.h).
constexpr uint32_t kPairChannel = 1u << 20;

exec::Program pair_program(Rank self, Rank peer, bool sends) {
  exec::Program program;
  program.shape = {Collective::send_recv, 2, 0, 1};
  program.rank = self;
  program.channels = {{peer, kPairChannel, sends, 1}};
  using Kind = exec::Place::Kind;
  program.places = {{sends ? Kind::input : Kind::receive, 0, 0}, {sends ? Kind::send : Kind::output, 0, 0}};
  exec::Step step;
  step.sources = 1;
  step.destinations = 1;
  step.src[0] = 0;
  step.dst[0] = 1;
  program.lanes = {{step}};
  return program;
}

}  // namespace

Result<Pairs::Direction*> Pairs::direction(Rank peer, bool sends) {
  std::unique_ptr<Direction>& entry = directions_[2 * static_cast<size_t>(peer) + (sends ? 1 : 0)];
  if (entry == nullptr) {
    auto made = std::make_unique<Direction>();
    made->peer = peer;
    made->sends = sends;
    made->program = pair_program(self_, peer, sends);
    const exec::Channel& channel = made->program.channels[0];
    WEIR_TRY(links_.open(channel));
    exec::Binding binding;
    binding.senders = {links_.sender(channel)};
    binding.receivers = {links_.receiver(channel)};
    binding.tile_bytes = links_.slot_bytes();
    made->run = std::make_unique<exec::Run>(made->program, std::move(binding));
    entry = std::move(made);
  }
  return entry.get();
}

Status Pairs::start(std::span<const Operation> operations, bool check) {
  error_ = {};
  for (Direction* direction : busy_) {
    direction->queue.clear();
    direction->done = 0;
  }
  busy_.clear();
  for (const Operation& operation : operations) {
    auto found = direction(operation.root, operation.sends);
    WEIR_TRY(found.status());
    Direction& to = **found;
    if (to.queue.empty()) busy_.push_back(&to);
    exec::Work& work = to.queue.emplace_back();
    work.input = static_cast<const std::byte*>(operation.input);
    work.output = static_cast<std::byte*>(operation.output);
    work.count = operation.count * size_of(operation.type);
    work.type = DataType::uint8;
    work.tag = uint64_t{++to.sequence} << 32 | (check ? signature(operation) : 0);
  }
  for (Direction* direction : busy_) direction->run->start(direction->queue[0]);
  return {};
}

exec::Progress Pairs::advance() {
  bool moved = false;
  bool running = false;
  for (Direction* direction : busy_) {
    if (direction->done == direction->queue.size()) continue;
    moved |= advance(*direction);
    if (!error_.ok()) return exec::Progress::failed;
    if (direction->done < direction->queue.size()) {
      if (!running || !direction->sends)
        waiting_for_ = direction->peer;  // rather for a message than for a slot
      running = true;
    }
  }
  if (!running) return exec::Progress::done;
  return moved ? exec::Progress::moved : exec::Progress::blocked;
}

/// Runs what is queued in one direction until it blocks. True if it got anywhere.
bool Pairs::advance(Direction& direction) {
  bool moved = false;
  for (;;) {
    const exec::Progress progress = direction.run->advance();
    if (progress == exec::Progress::failed) explain_mismatch(direction);
    if (progress == exec::Progress::blocked || progress == exec::Progress::failed) return moved;
    moved = true;
    if (progress != exec::Progress::done) continue;
    if (++direction.done == direction.queue.size()) return true;
    direction.run->start(direction.queue[direction.done]);
  }
}

void Pairs::explain_mismatch(const Direction& direction) {
  const exec::Work& work = direction.queue[direction.done];
  error_ =
      Status(Code::invalid_usage,
             fmt::format(
                 "rank {}'s send to rank {} (number {} between the two) has another size than the receive of "
                 "{} bytes that rank {} called for it",
                 direction.peer, self_, work.tag >> 32, work.count, self_));
}

Status Pairs::serve() {
  for (Direction* direction : busy_) {
    if (direction->done < direction->queue.size()) WEIR_TRY(direction->run->serve());
  }
  return {};
}

}  // namespace weir::core
