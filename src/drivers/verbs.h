// SPDX-License-Identifier: Apache-2.0
/// RDMA devices, as libibverbs offers them: their ports, and queue pairs between two of them.
///
/// An interface, so that tests can put devices of their own behind it. A queue pair is reliable and connected
/// (RC): what is posted on one end arrives at the other once and in order, or completes with an error, after
/// which nothing more moves. Whoever is destroyed late outlives what was made from it: Verbs, then
/// VerbsDevice, then regions and pairs.
///
/// Thread safety: a VerbsDevice may be used by several threads at once, a VerbsPair by one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/status.h"

namespace weir::drivers {

/// One entry of a port's table of addresses.
struct VerbsGid {
  enum class Kind : uint8_t { infiniband, roce_v1, roce_v2 };

  int index = 0;
  Kind kind = Kind::infiniband;
  std::array<uint8_t, 16> bytes{};  ///< an IPv6 address; IPv4 as ::ffff:a.b.c.d
  std::string interface;            ///< the network interface that has the address; "" on InfiniBand
};

/// One port of a device.
struct VerbsPort {
  std::string device;
  uint8_t number = 1;
  bool ethernet = false;
  bool active = false;
  double gigabits_per_s = 0;
  uint32_t mtu = 0;         ///< bytes
  uint32_t most_bytes = 0;  ///< of one request
  uint16_t lid = 0;         ///< 0 on Ethernet
  std::vector<VerbsGid> gids;

  /// "mlx5_0:1".
  std::string name() const { return device + ":" + std::to_string(number); }
};

/// Something that happened to a device, not to one request.
struct VerbsEvent {
  enum class Kind : uint8_t { port_down, port_up, device_lost, other };

  Kind kind = Kind::other;
  uint8_t port = 0;  ///< 0: the whole device, or a queue of it
  std::string text;  ///< in the words of libibverbs
};

/// One finished request.
struct VerbsCompletion {
  bool received = false;  ///< something came in; else something of ours has arrived at the peer
  uint64_t id = 0;        ///< of what was posted
  uint32_t immediate = 0;
  std::string error;  ///< "" for success, else the words of libibverbs
};

/// The other end of a queue pair, and how to get there.
struct VerbsPath {
  uint32_t pair = 0;   ///< number of the peer's pair
  uint32_t first = 0;  ///< packet number with which the peer begins
  uint16_t lid = 0;
  std::array<uint8_t, 16> gid{};
  uint32_t mtu = 0;  ///< bytes, the smaller of both ports
};

struct VerbsPairSpec {
  uint8_t port = 1;
  int gid_index = 0;
  bool global = false;  ///< packets carry GIDs; always on Ethernet
  uint16_t pkey_index = 0;
  uint8_t traffic_class = 0;
  uint8_t service_level = 0;
  uint8_t timeout = 20;    ///< a packet is sent again after 4.096 us * 2^timeout
  uint8_t retries = 7;     ///< so often
  uint32_t sends = 16;     ///< requests that are posted and not polled, at most
  uint32_t receives = 16;  ///< messages with an immediate that come in and are not polled, at most
  uint32_t inline_bytes =
      0;               ///< wanted: bytes of a message that go with its request instead of being fetched
  uint32_t first = 0;  ///< packet number to begin with, 24 bits
};

/// Bytes from a region of ours to one of the peer's.
struct VerbsWrite {
  const std::byte* from = nullptr;
  uint32_t bytes = 0;
  uint32_t local_key = 0;
  uint64_t to = 0;
  uint32_t remote_key = 0;
};

/// Memory that the device may read, and that a peer who knows the key may write. Forgotten when destroyed.
class VerbsRegion {
 public:
  virtual ~VerbsRegion() = default;
  virtual uint32_t local_key() const = 0;
  virtual uint32_t remote_key() const = 0;
};

/// To which rates a device can pace the packets of a reliable pair, in kbit/s; `most` 0: to none.
struct VerbsPacing {
  uint32_t least = 0;
  uint32_t most = 0;

  /// The kbit/s to ask for so that a pair sends at most `bytes_per_s`; 0, of both, is no limit. `device` is
  /// for sentences. invalid_usage where the device does not pace, or not to so low a rate; invalid_argument
  /// for what is no rate.
  Result<uint32_t> rate_for(double bytes_per_s, const std::string& device) const;
};

class VerbsPair {
 public:
  virtual ~VerbsPair() = default;
  virtual uint32_t number() const = 0;
  virtual uint32_t inline_bytes() const = 0;  ///< granted
  /// Once. From then on requests may be posted.
  virtual Status connect(const VerbsPath& to) = 0;
  /// Posts a write (null: none, only the immediate travels), which ends in a completion here and one with
  /// `immediate` there. An error means that the pair is broken.
  virtual Status post(const VerbsWrite* write, uint32_t immediate, uint64_t id) = 0;
  /// What has completed; how many. What came in makes room for the next to come in.
  virtual Result<size_t> poll(std::span<VerbsCompletion> into) = 0;
  /// From now on the device sends at most so many bytes per second; 0: without a limit, as in the beginning.
  /// Errors, after which the rate is what it was: those of VerbsPacing::rate_for, system_error. REQUIRES:
  /// connected.
  virtual Status set_rate(double bytes_per_s) = 0;
  /// Nothing is sent or taken in from now on; what was posted completes with an error, if it can.
  virtual void halt() = 0;
};

class VerbsDevice {
 public:
  virtual ~VerbsDevice() = default;
  virtual Result<std::unique_ptr<VerbsRegion>> enroll(std::byte* memory, size_t bytes) = 0;
  /// Memory of another device: all of a dmabuf, at the addresses `memory` names. The descriptor is not needed
  /// afterwards.
  virtual Result<std::unique_ptr<VerbsRegion>> enroll_file(int file, std::byte* memory, size_t bytes) = 0;
  virtual Result<std::unique_ptr<VerbsPair>> make_pair(const VerbsPairSpec& spec) = 0;
  /// The oldest event not yet told. Never blocks.
  virtual std::optional<VerbsEvent> next_event() = 0;
};

class Verbs {
 public:
  virtual ~Verbs() = default;
  /// All ports of all devices, in the order of libibverbs.
  virtual Result<std::vector<VerbsPort>> ports() = 0;
  virtual Result<std::unique_ptr<VerbsDevice>> open(const std::string& device) = 0;
};

/// libibverbs of this machine. system_error where it, or any device, is missing; the sentence says which.
Result<std::unique_ptr<Verbs>> load_verbs();

}  // namespace weir::drivers
