// SPDX-License-Identifier: Apache-2.0

#include "src/exec/posted_buffers.h"

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
    input_ = output_ = {};
    looked_up_input_ = nullptr;
    if (own.may_map) {
      input_ = allocations_.post(own.input, own.input_bytes);
      if (own.output_bytes > 0) output_ = allocations_.post(own.output, own.output_bytes, input_);
      looked_up_input_ = own.input;
      looked_up_output_ = own.output;
      version_ = version;
    }
  }
  unread_ = false;
  address_ = own.rendezvous && input_.slot < 0 ? reinterpret_cast<RemoteAddress>(own.input) : 0;
}

void PostedBuffers::post(StageEntry& line) const {
  line.input = input_;
  line.output = output_;
  line.address = address_;
}

Status PostedBuffers::learn(uint64_t stage) {
  any_ = any_rendezvous_ = false;
  all_ = all_outputs_ = true;
  for (size_t rank = 0; rank < of_.size(); ++rank) {
    const StageEntry& line = areas_[rank].stage(stage % 2);
    const bool posted = line.input.slot >= 0 || line.address != 0;
    any_ |= posted;
    all_ &= posted;
    all_outputs_ &= line.output.slot >= 0;
    any_rendezvous_ |= line.address != 0;
    Known& known = of_[rank];
    known.address = line.address;
    if (static_cast<Rank>(rank) == self_) continue;
    if (known.posted_input == line.input && known.posted_output == line.output) continue;
    known = {};
    known.address = line.address;
    WEIR_TRY(map(static_cast<Rank>(rank), line, known));
  }
  return {};
}

Status PostedBuffers::map(Rank rank, const StageEntry& line, Known& known) {
  if (line.input.slot >= 0) {
    auto input = allocations_.resolve(rank, line.input);
    WEIR_TRY(input.status());
    known.input = *input;
  }
  if (line.output.slot >= 0) {
    auto output = allocations_.resolve(rank, line.output);
    WEIR_TRY(output.status());
    known.output = *output;
  }
  known.posted_input = line.input;
  known.posted_output = line.output;
  return {};
}

bool PostedBuffers::read(Rank rank, size_t offset, std::byte* to, size_t bytes) {
  const auto at = static_cast<size_t>(rank);
  const bool read = read_memory(areas_[at].process(), of_[at].address + offset, to, bytes);
  unread_ |= !read;
  return read;
}

}  // namespace weir::exec
