// SPDX-License-Identifier: Apache-2.0

#include "src/exec/posted_buffers.h"

#include <algorithm>

#include "transports/memory/memory_owner.h"

namespace weir::exec {

PostedBuffers::PostedBuffers(Rank self, const std::vector<ExchangeArea>& areas, Allocations& allocations)
    : self_(self), areas_(areas), allocations_(allocations), of_(areas.size()) {
  areas_[static_cast<size_t>(self)].process() = MemoryOwner::self();
}

void PostedBuffers::look_up(const Own& own) {
  const uint64_t version = allocations_.version();
  const bool known =
      own.may_map && own.input == looked_up_input_ && own.output == looked_up_output_ && version == version_;
  if (!known) {
    own_ = {};
    looked_up_input_ = nullptr;
    if (own.may_map) {
      own_.input = allocations_.post(own.input, own.input_bytes);
      if (own.output_bytes > 0) own_.output = allocations_.post(own.output, own.output_bytes, own_.input);
      looked_up_input_ = own.input;
      looked_up_output_ = own.output;
      version_ = version;
    }
  }
  unread_ = false;
  own_.address = own.rendezvous && own_.input.slot < 0 ? reinterpret_cast<RemoteAddress>(own.input) : 0;
}

/// Calls that repeat the last one's buffers only compare.
Status PostedBuffers::learn(uint64_t stage) {
  bool same = true;
  for (size_t rank = 0; rank < of_.size(); ++rank) {
    const BufferPositions& posted = areas_[rank].stage(stage % 2).buffers;
    if (posted == of_[rank].posted) continue;
    same = false;
    WEIR_TRY(map(static_cast<Rank>(rank), posted));
  }
  if (same) return {};
  const auto has_input = [](const Known& known) {
    return known.posted.input.slot >= 0 || known.posted.address != 0;
  };
  any_ = std::ranges::any_of(of_, has_input);
  all_ = std::ranges::all_of(of_, has_input);
  all_outputs_ = std::ranges::all_of(of_, [](const Known& known) { return known.posted.output.slot >= 0; });
  any_rendezvous_ = std::ranges::any_of(of_, [](const Known& known) { return known.posted.address != 0; });
  return {};
}

Status PostedBuffers::map(Rank rank, const BufferPositions& posted) {
  Known& known = of_[static_cast<size_t>(rank)];
  known = {};
  if (rank != self_ && posted.input.slot >= 0) {
    auto input = allocations_.resolve(rank, posted.input);
    WEIR_TRY(input.status());
    known.input = *input;
  }
  if (rank != self_ && posted.output.slot >= 0) {
    auto output = allocations_.resolve(rank, posted.output);
    WEIR_TRY(output.status());
    known.output = *output;
  }
  known.posted = posted;
  return {};
}

bool PostedBuffers::read(Rank rank, size_t offset, std::byte* to, size_t bytes) {
  const auto at = static_cast<size_t>(rank);
  const bool read = read_memory(areas_[at].process(), of_[at].posted.address + offset, to, bytes);
  unread_ |= !read;
  return read;
}

}  // namespace weir::exec
