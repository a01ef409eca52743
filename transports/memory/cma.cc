// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/cma.h"

#include <fmt/format.h>

#include "transports/address.h"
#include "transports/memory/cma_board.h"
#include "transports/memory/cma_channel.h"

namespace weir {
namespace {

constexpr uint32_t kCmaAddressVersion = 1;
// Half a round trip, and bandwidth of a stream of 64 KiB messages in small pages.
constexpr Cost kCmaCost = {.latency_us = 1.0, .gigabytes_per_s = 10};

class Cma final : public Transport {
 public:
  explicit Cma(const Identity& self) : self_(self) {
    Result<std::unique_ptr<cma::Board>> board = cma::Board::create();
    if (board.ok()) board_ = std::move(*board);
    no_board_ = board.status();
  }

  std::string_view name() const override { return "cma"; }
  Traits traits() const override { return {}; }
  Bytes address() const override {
    if (board_ == nullptr) return {};
    return begin_address(name(), kCmaAddressVersion, {self_.rank, self_.host}).put(board_->address()).take();
  }
  Reach reach(BytesView peer_address) const override {
    const Result<cma::PeerBoard> peer = peer_of(peer_address);
    if (!peer.ok()) return {false, {}, peer.status().message()};
    return {true, kCmaCost, {}};
  }
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) override {
    const Result<cma::PeerBoard> peer = peer_of(peer_address);
    if (!peer.ok()) return peer.status();
    return cma::open_cma_sender(*board_, peer.value(), spec);
  }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) override {
    const Result<cma::PeerBoard> peer = peer_of(peer_address);
    if (!peer.ok()) return peer.status();
    return cma::open_cma_receiver(*board_, peer.value(), spec);
  }

 private:
  /// The board of the transport address's owner, if this process can read it.
  Result<cma::PeerBoard> peer_of(BytesView address) const {
    WEIR_TRY(no_board_);
    ByteReader reader(address);
    const Result<AddressHead> head = read_address(reader, name(), kCmaAddressVersion);
    if (!head.ok()) return head.status();
    const auto board_address = reader.get<cma::BoardAddress>();
    if (!reader.ok()) return short_address(name(), head.value().rank);
    if (head.value().host != self_.host) return Status(Code::invalid_usage, "the peer is on another host");
    if (board_address.pid_namespace != pid_namespace()) {
      return Status(
          Code::invalid_usage,
          fmt::format(
              "process {} is in another pid namespace; start both containers in the same one (docker: "
              "--pid=host)",
              board_address.pid));
    }
    const cma::PeerBoard peer(board_address);
    if (const int error = peer.check(); error != 0) {
      return Status(Code::system_error, explain_refusal(board_address.pid, error));
    }
    return peer;
  }

  const Identity self_;
  std::unique_ptr<cma::Board> board_;
  Status no_board_;
};

}  // namespace

std::unique_ptr<Transport> make_cma(const Identity& self) { return std::make_unique<Cma>(self); }

}  // namespace weir
