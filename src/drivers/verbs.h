// SPDX-License-Identifier: Apache-2.0
/// RDMA devices, as libibverbs offers them: their ports, and queue pairs between two of them.
///
/// An interface, so that tests can replace the devices. A queue pair is reliable and connected (RC): what is
/// posted on one end arrives at the other once and in order, or completes with an error, after which the pair
/// transfers nothing more. Objects must outlive what was made from them: Verbs its VerbsDevices, a
/// VerbsDevice its regions and pairs.
///
/// Thread safety: a VerbsDevice may be used by several threads at once, a VerbsPair by one at a time.
/// Tests: tests/transports/verbs_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace weir::drivers {

/// One entry of a port's GID table.
struct VerbsGid {
  enum class Kind : uint8_t { infiniband, roce_v1, roce_v2 };

  int index = 0;
  Kind kind = Kind::infiniband;
  std::array<uint8_t, 16> bytes{};  ///< IPv6 address; an IPv4 address is written as ::ffff:a.b.c.d
  std::string interface;            ///< network interface that has the address; "" on InfiniBand
};

/// One port of a device.
struct VerbsPort {
  std::string device;
  uint8_t number = 1;
  bool ethernet = false;
  bool active = false;
  double gigabits_per_s = 0;
  uint32_t mtu = 0;         ///< MTU in bytes
  uint32_t most_bytes = 0;  ///< maximum size of one request
  uint16_t lid = 0;         ///< local identifier; 0 on Ethernet
  std::vector<VerbsGid> gids;

  /// The name in messages and options: "mlx5_0:1".
  std::string name() const { return device + ":" + std::to_string(number); }
};

/// An asynchronous event of a device, not of one request.
struct VerbsEvent {
  enum class Kind : uint8_t { port_down, port_up, device_lost, other };

  Kind kind = Kind::other;
  uint8_t port = 0;  ///< port number; 0: the whole device, or one of its queues
  std::string text;  ///< libibverbs' description of the event
};

/// The completion of one request.
struct VerbsCompletion {
  bool received = false;  ///< true: a message was received; false: a posted write has completed
  uint64_t id = 0;        ///< id of the posted request
  uint32_t immediate = 0;
  std::string error;  ///< "" for success, else libibverbs' description of the error
};

/// The other end of a queue pair, and its address.
struct VerbsPath {
  uint32_t pair = 0;   ///< number of the peer's pair
  uint32_t first = 0;  ///< packet sequence number with which the peer begins
  uint16_t lid = 0;
  std::array<uint8_t, 16> gid{};
  uint32_t mtu = 0;  ///< MTU in bytes: the smaller one of both ports
};

struct VerbsPairSpec {
  uint8_t port = 1;
  int gid_index = 0;
  bool global = false;  ///< true: packets carry GIDs, as always on Ethernet
  uint16_t pkey_index = 0;
  uint8_t traffic_class = 0;
  uint8_t service_level = 0;
  uint8_t timeout = 20;       ///< a packet is retransmitted after 4.096 us * 2^timeout
  uint8_t retries = 7;        ///< retransmissions before the connection is declared broken
  uint32_t sends = 16;        ///< maximum number of requests that are posted and not polled
  uint32_t receives = 16;     ///< maximum number of received messages with an immediate that are not polled
  uint32_t inline_bytes = 0;  ///< wanted maximum size of messages that are copied into the request
  uint32_t first = 0;         ///< initial packet sequence number, 24 bits
};

/// An RDMA write from a local region to a region of the peer.
struct VerbsWrite {
  const std::byte* from = nullptr;
  uint32_t bytes = 0;
  uint32_t local_key = 0;
  uint64_t to = 0;
  uint32_t remote_key = 0;
};

/// Memory that the device may read, and that a peer with the remote key may write. Deregistered when
/// destroyed.
class VerbsRegion {
 public:
  virtual ~VerbsRegion() = default;
  virtual uint32_t local_key() const = 0;
  virtual uint32_t remote_key() const = 0;
};

/// The rates to which a device can pace the packets of a reliable pair, in kbit/s; `most` is 0 if it cannot
/// pace.
struct VerbsPacing {
  uint32_t least = 0;
  uint32_t most = 0;

  /// The rate in kbit/s with which a pair sends at most `bytes_per_s`; 0 means no limit for both. `device` is
  /// used in messages. invalid_usage if the device cannot pace, or not to so low a rate; invalid_argument for
  /// an invalid rate.
  Result<uint32_t> rate_for(double bytes_per_s, const std::string& device) const;
};

class VerbsPair {
 public:
  virtual ~VerbsPair() = default;
  virtual uint32_t number() const = 0;
  virtual uint32_t inline_bytes() const = 0;  ///< inline size that the device granted
  /// Connects the pair; call it once. Afterwards requests may be posted.
  virtual Status connect(const VerbsPath& to) = 0;
  /// Posts a write (null: only the immediate is sent). It gives one completion here, and one with `immediate`
  /// at the peer. An error means that the pair is broken.
  virtual Status post(const VerbsWrite* write, uint32_t immediate, uint64_t id) = 0;
  /// Writes new completions to `into` and returns their number. For each received message a new receive is
  /// posted.
  virtual Result<size_t> poll(std::span<VerbsCompletion> into) = 0;
  /// Limits the pair's send rate from now on, in bytes per second; 0: no limit, the initial state. Errors,
  /// which leave the rate unchanged: those of VerbsPacing::rate_for, system_error. REQUIRES: connected.
  virtual Status set_rate(double bytes_per_s) = 0;
  /// Stops sending and receiving; posted requests complete with an error if the device still works.
  virtual void halt() = 0;
};

class VerbsDevice {
 public:
  virtual ~VerbsDevice() = default;
  virtual Result<std::unique_ptr<VerbsRegion>> enroll(std::byte* memory, size_t bytes) = 0;
  /// Registers memory of another device: a whole dmabuf, at the addresses of `memory`. The descriptor is not
  /// needed afterwards.
  virtual Result<std::unique_ptr<VerbsRegion>> enroll_file(int file, std::byte* memory, size_t bytes) = 0;
  virtual Result<std::unique_ptr<VerbsPair>> make_pair(const VerbsPairSpec& spec) = 0;
  /// The oldest event that was not returned yet. Never blocks.
  virtual std::optional<VerbsEvent> next_event() = 0;
};

class Verbs {
 public:
  virtual ~Verbs() = default;
  /// All ports of all devices, in libibverbs' order.
  virtual Result<std::vector<VerbsPort>> ports() = 0;
  virtual Result<std::unique_ptr<VerbsDevice>> open(const std::string& device) = 0;
};

/// Loads libibverbs. system_error if the library or any device is missing; the message says which.
Result<std::unique_ptr<Verbs>> load_verbs();

}  // namespace weir::drivers
