// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/lldp.h"

#include <fmt/format.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "src/drivers/library.h"
#include "src/drivers/lldp_table.h"

namespace weir::drivers {
namespace {

constexpr int kTimeoutMs = 2000;  // lldpd answers from memory, so normally at once

/// The connection to lldpd. The library's own connection would wait forever for a stopped daemon.
class Wire {
 public:
  explicit Wire(std::string path) : path_(std::move(path)) {}
  ~Wire() {
    if (socket_ >= 0) close(socket_);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  static ssize_t send_some(LldpConnection*, const uint8_t* data, size_t length, void* wire) {
    return static_cast<Wire*>(wire)->send(data, length);
  }
  static ssize_t receive_some(LldpConnection*, const uint8_t* data, size_t length, void* wire) {
    return static_cast<Wire*>(wire)->receive(const_cast<uint8_t*>(data), length);
  }

 private:
  ssize_t send(const uint8_t* data, size_t length) {
    if (socket_ < 0 && !connect()) return lldp::kErrCannotConnect;
    if (!ready(POLLOUT)) return lldp::kErrCallbackFailure;
    const ssize_t sent = ::send(socket_, data, length, MSG_NOSIGNAL);
    return sent < 0 ? ssize_t{lldp::kErrCallbackFailure} : sent;
  }
  ssize_t receive(uint8_t* data, size_t length) {
    if (!ready(POLLIN)) return lldp::kErrCallbackFailure;
    const ssize_t received = ::recv(socket_, data, length, 0);
    if (received == 0) return lldp::kErrEof;
    return received < 0 ? ssize_t{lldp::kErrCallbackFailure} : received;
  }
  bool connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof(address.sun_path)) return false;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return socket_ >= 0 &&
           ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  /// Waits until the socket is ready. After one timeout all later calls fail at once, so that the whole query
  /// waits only once.
  bool ready(short what) {
    pollfd waiting{socket_, what, 0};
    late_ = late_ || poll(&waiting, 1, kTimeoutMs) <= 0;
    return !late_;
  }

  const std::string path_;
  int socket_ = -1;
  bool late_ = false;
};

constexpr long kForwards = 0x04;  // the "Bridge" bit of the capabilities in 802.1AB

/// Walks the atoms of lldpd's library.
class Reader {
 public:
  Reader(const LldpTable& functions, LldpConnection* connection)
      : functions_(functions), connection_(connection) {}

  Result<std::vector<LldpNeighbor>> read() {
    const Atom interfaces = own(functions_.interfaces(connection_));
    if (interfaces == nullptr)
      return Status(
          Code::system_error,
          fmt::format("lldpd did not answer: {}", functions_.error_text(functions_.last_error(connection_))));
    for (LldpIterator* at = functions_.iter(interfaces.get()); at != nullptr;
         at = functions_.iter_next(interfaces.get(), at)) {
      const Atom interface = own(functions_.iter_value(interfaces.get(), at));
      read_interface(interface.get());
    }
    return std::move(found_);
  }

 private:
  using Atom = std::unique_ptr<LldpAtom, decltype(LldpTable::dec_ref)>;
  Atom own(LldpAtom* atom) const { return Atom(atom, functions_.dec_ref); }

  std::string text(LldpAtom* atom, int key) const {
    const char* const value = atom == nullptr ? nullptr : functions_.get_text(atom, key);
    return value == nullptr ? "" : value;
  }

  void read_interface(LldpAtom* interface) {
    const Atom port = own(functions_.port(interface));
    if (port == nullptr) return;
    const Atom neighbors = own(functions_.get(port.get(), lldp::kPortNeighbors));
    if (neighbors == nullptr) return;
    for (LldpIterator* at = functions_.iter(neighbors.get()); at != nullptr;
         at = functions_.iter_next(neighbors.get(), at)) {
      const Atom neighbor = own(functions_.iter_value(neighbors.get(), at));
      const Atom chassis = own(functions_.get(neighbor.get(), lldp::kPortChassis));
      if (chassis == nullptr) continue;
      LldpNeighbor& one = found_.emplace_back();
      one.interface = text(interface, lldp::kInterfaceName);
      one.chassis = text(chassis.get(), lldp::kChassisId);
      one.chassis_name = text(chassis.get(), lldp::kChassisName);
      one.port = text(neighbor.get(), lldp::kPortId);
      const long enabled = functions_.get_int(chassis.get(), lldp::kChassisCapEnabled);
      one.is_switch = enabled > 0 && (enabled & kForwards) != 0;
    }
  }

  const LldpTable& functions_;
  LldpConnection* const connection_;
  std::vector<LldpNeighbor> found_;
};

}  // namespace

Result<std::vector<LldpNeighbor>> lldp_neighbors(const std::string& socket) {
  Result<Library> library = Library::open("liblldpctl.so.4");
  if (!library.ok()) return library.status();
  LldpTable functions;
  if (const char* const missing = functions.find_in(*library))
    return Status(Code::system_error, fmt::format("liblldpctl.so.4 lacks {}", missing));
  functions.log_callback([](int, const char*) {});  // suppresses output: the error has the reason
  const std::string path = socket.empty() ? functions.default_transport() : socket;
  Wire wire(path);  // must outlive the connection
  const std::unique_ptr<LldpConnection, decltype(functions.release)> connection(
      functions.new_name(path.c_str(), Wire::send_some, Wire::receive_some, &wire), functions.release);
  if (connection == nullptr)
    return Status(Code::system_error, "cannot create a connection with lldpd's client library");
  return Reader(functions, connection.get()).read();
}

}  // namespace weir::drivers
