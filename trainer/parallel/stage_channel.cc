// SPDX-License-Identifier: Apache-2.0

#include "trainer/parallel/stage_channel.h"

namespace weir::parallel {

using shard::Kind;
using shard::PassRecord;

Result<StageChannel> StageChannel::make(shard::Communicator comm, int peer, shard::GpuOps* gpu) {
  Result<shard::Stream> stream = shard::Stream::make(gpu);
  if (!stream.ok()) return stream.status();
  return StageChannel(std::move(comm), peer, std::move(*stream));
}

Status StageChannel::receive(float* to, size_t count, int unit, PassRecord& record) {
  const uint64_t begin = PassRecord::now_ns();
  Result<PassRecord::Mark> mark = record.start(*stream_);
  if (!mark.ok()) return mark.status();
  WEIR_TRY(shard::checked(ncclRecv(to, count, ncclFloat, peer_, comm_.handle(), stream_->cuda()),
                          "receiving from a stage"));
  WEIR_TRY(record.stop(*mark, *stream_));
  WEIR_TRY(record.wait(*mark, *stream_, Kind::move, unit, "receiving from a stage"));
  record.counts.part_bytes += count * sizeof(float);
  record.waited(Kind::move, begin);
  return Status();
}

Status StageChannel::send(const float* from, size_t count, size_t slot, int unit, PassRecord& record) {
  WEIR_TRY(sent(slot, record));
  if (slot >= sending_.size()) sending_.resize(slot + 1);
  Result<PassRecord::Mark> mark = record.start(*stream_);
  if (!mark.ok()) return mark.status();
  WEIR_TRY(shard::checked(ncclSend(from, count, ncclFloat, peer_, comm_.handle(), stream_->cuda()),
                          "sending to a stage"));
  WEIR_TRY(record.stop(*mark, *stream_));
  sending_[slot].emplace(Sending{std::move(*mark), unit});
  record.counts.part_bytes += count * sizeof(float);
  return Status();
}

Status StageChannel::sent(size_t slot, PassRecord& record) {
  if (slot >= sending_.size() || !sending_[slot]) return Status();
  const uint64_t begin = PassRecord::now_ns();
  WEIR_TRY(
      record.wait(sending_[slot]->mark, *stream_, Kind::move, sending_[slot]->unit, "sending to a stage"));
  sending_[slot].reset();
  record.waited(Kind::move, begin);
  return Status();
}

Status StageChannel::all_sent(PassRecord& record) {
  for (size_t slot = 0; slot < sending_.size(); ++slot) WEIR_TRY(sent(slot, record));
  return Status();
}

}  // namespace weir::parallel
