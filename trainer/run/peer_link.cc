// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/peer_link.h"

#include <weir/failures.h>
#include <weir/unique_id.h>

#include <chrono>
#include <thread>

#include "trainer/shard/calls.h"

namespace weir::trainer {
namespace {

constexpr auto kBetweenPolls = std::chrono::milliseconds(5);

}  // namespace

Result<PeerLink> PeerLink::open(const std::string& address, int rank, const GivesUp& gives_up) {
  ncclUniqueId id;
  WEIR_TRY(shard::checked(weirGetUniqueIdAt(address.c_str(), &id), "the address of a job"));
  PeerLink link(rank);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.commName = "newcomer";
  const ncclResult_t begun = ncclCommInitRankConfig(&link.comm_, 2, id, rank, &config);
  link.failed_ = false;
  WEIR_TRY(link.settled(begun, "meeting a process that joins", gives_up));
  return link;
}

PeerLink::~PeerLink() {
  if (comm_ == nullptr) return;
  if (failed_)
    (void)ncclCommAbort(comm_);
  else
    (void)ncclCommDestroy(comm_);
}

Status PeerLink::settled(ncclResult_t result, const char* what, const GivesUp& gives_up) {
  Status status;
  while (result == ncclInProgress && status.ok()) {
    if (gives_up())
      status = Status(Code::in_progress, std::string(what) + ": it was given up");
    else if (ncclCommGetAsyncError(comm_, &result) != ncclSuccess)
      result = ncclInternalError;
    if (result == ncclInProgress && status.ok()) std::this_thread::sleep_for(kBetweenPolls);
  }
  if (status.ok()) status = shard::checked(result, what);
  failed_ = failed_ || !status.ok();
  return status;
}

Status PeerLink::send(const void* data, size_t bytes, const GivesUp& gives_up) {
  return settled(ncclSend(data, bytes, ncclChar, 1 - rank_, comm_, nullptr),
                 "talking to a process that joins", gives_up);
}

Status PeerLink::receive(void* data, size_t bytes, const GivesUp& gives_up) {
  return settled(ncclRecv(data, bytes, ncclChar, 1 - rank_, comm_, nullptr),
                 "talking to a process that joins", gives_up);
}

Status PeerLink::wait_long() { return shard::checked(weirCommSetStuckTimeout(comm_, 0), "waiting to join"); }

}  // namespace weir::trainer
