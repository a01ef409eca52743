// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/lldp.h"

#include <fmt/format.h>

#include "src/drivers/library.h"

#ifdef WEIR_HAS_LLDP

#include <lldpctl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <memory>

namespace weir::drivers {
namespace {

struct LldpFunctions {
  decltype(lldpctl_new_name)* new_name;
  decltype(lldpctl_get_default_transport)* default_transport;
  decltype(lldpctl_release)* release;
  decltype(lldpctl_last_error)* last_error;
  decltype(lldpctl_strerror)* error_text;
  decltype(lldpctl_get_interfaces)* interfaces;
  decltype(lldpctl_get_port)* port;
  decltype(lldpctl_atom_iter)* iter;
  decltype(lldpctl_atom_iter_next)* iter_next;
  decltype(lldpctl_atom_iter_value)* iter_value;
  decltype(lldpctl_atom_get)* get;
  decltype(lldpctl_atom_get_str)* get_str;
  decltype(lldpctl_atom_get_int)* get_int;
  decltype(lldpctl_atom_dec_ref)* dec_ref;
  decltype(lldpctl_log_callback)* log_callback;

  bool find_in(const Library& library) {
    return library.find("lldpctl_new_name", new_name) &&
           library.find("lldpctl_get_default_transport", default_transport) &&
           library.find("lldpctl_release", release) && library.find("lldpctl_last_error", last_error) &&
           library.find("lldpctl_strerror", error_text) &&
           library.find("lldpctl_get_interfaces", interfaces) && library.find("lldpctl_get_port", port) &&
           library.find("lldpctl_atom_iter", iter) && library.find("lldpctl_atom_iter_next", iter_next) &&
           library.find("lldpctl_atom_iter_value", iter_value) && library.find("lldpctl_atom_get", get) &&
           library.find("lldpctl_atom_get_str", get_str) && library.find("lldpctl_atom_get_int", get_int) &&
           library.find("lldpctl_atom_dec_ref", dec_ref) &&
           library.find("lldpctl_log_callback", log_callback);
  }
};

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

  static ssize_t send_some(lldpctl_conn_t*, const uint8_t* data, size_t length, void* wire) {
    return static_cast<Wire*>(wire)->send(data, length);
  }
  static ssize_t receive_some(lldpctl_conn_t*, const uint8_t* data, size_t length, void* wire) {
    return static_cast<Wire*>(wire)->receive(const_cast<uint8_t*>(data), length);
  }

 private:
  ssize_t send(const uint8_t* data, size_t length) {
    if (socket_ < 0 && !connect()) return LLDPCTL_ERR_CANNOT_CONNECT;
    if (!ready(POLLOUT)) return LLDPCTL_ERR_CALLBACK_FAILURE;
    const ssize_t sent = ::send(socket_, data, length, MSG_NOSIGNAL);
    return sent < 0 ? static_cast<ssize_t>(LLDPCTL_ERR_CALLBACK_FAILURE) : sent;
  }
  ssize_t receive(uint8_t* data, size_t length) {
    if (!ready(POLLIN)) return LLDPCTL_ERR_CALLBACK_FAILURE;
    const ssize_t received = ::recv(socket_, data, length, 0);
    if (received == 0) return LLDPCTL_ERR_EOF;
    return received < 0 ? static_cast<ssize_t>(LLDPCTL_ERR_CALLBACK_FAILURE) : received;
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
  Reader(const LldpFunctions& functions, lldpctl_conn_t* connection)
      : functions_(functions), connection_(connection) {}

  Result<std::vector<LldpNeighbor>> read() {
    const Atom interfaces = own(functions_.interfaces(connection_));
    if (interfaces == nullptr)
      return Status(
          Code::system_error,
          fmt::format("lldpd did not answer: {}", functions_.error_text(functions_.last_error(connection_))));
    for (lldpctl_atom_iter_t* at = functions_.iter(interfaces.get()); at != nullptr;
         at = functions_.iter_next(interfaces.get(), at)) {
      const Atom interface = own(functions_.iter_value(interfaces.get(), at));
      read_interface(interface.get());
    }
    return std::move(found_);
  }

 private:
  using Atom = std::unique_ptr<lldpctl_atom_t, decltype(LldpFunctions::dec_ref)>;
  Atom own(lldpctl_atom_t* atom) const { return Atom(atom, functions_.dec_ref); }

  std::string text(lldpctl_atom_t* atom, lldpctl_key_t key) const {
    const char* const value = atom == nullptr ? nullptr : functions_.get_str(atom, key);
    return value == nullptr ? "" : value;
  }

  void read_interface(lldpctl_atom_t* interface) {
    const Atom port = own(functions_.port(interface));
    if (port == nullptr) return;
    const Atom neighbors = own(functions_.get(port.get(), lldpctl_k_port_neighbors));
    if (neighbors == nullptr) return;
    for (lldpctl_atom_iter_t* at = functions_.iter(neighbors.get()); at != nullptr;
         at = functions_.iter_next(neighbors.get(), at)) {
      const Atom neighbor = own(functions_.iter_value(neighbors.get(), at));
      const Atom chassis = own(functions_.get(neighbor.get(), lldpctl_k_port_chassis));
      if (chassis == nullptr) continue;
      LldpNeighbor& one = found_.emplace_back();
      one.interface = text(interface, lldpctl_k_interface_name);
      one.chassis = text(chassis.get(), lldpctl_k_chassis_id);
      one.chassis_name = text(chassis.get(), lldpctl_k_chassis_name);
      one.port = text(neighbor.get(), lldpctl_k_port_id);
      const long enabled = functions_.get_int(chassis.get(), lldpctl_k_chassis_cap_enabled);
      one.is_switch = enabled > 0 && (enabled & kForwards) != 0;
    }
  }

  const LldpFunctions& functions_;
  lldpctl_conn_t* const connection_;
  std::vector<LldpNeighbor> found_;
};

}  // namespace

Result<std::vector<LldpNeighbor>> lldp_neighbors(const std::string& socket) {
  Result<Library> library = Library::open("liblldpctl.so.4");
  if (!library.ok()) return library.status();
  LldpFunctions functions;
  if (!functions.find_in(*library))
    return Status(Code::system_error, "liblldpctl.so.4 lacks functions that weir needs");
  functions.log_callback([](int, const char*) {});  // suppresses output: the error has the reason
  const std::string path = socket.empty() ? functions.default_transport() : socket;
  Wire wire(path);  // must outlive the connection
  const std::unique_ptr<lldpctl_conn_t, decltype(functions.release)> connection(
      functions.new_name(path.c_str(), Wire::send_some, Wire::receive_some, &wire), functions.release);
  if (connection == nullptr)
    return Status(Code::system_error, "cannot create a connection with lldpd's client library");
  return Reader(functions, connection.get()).read();
}

}  // namespace weir::drivers

#else

namespace weir::drivers {

Result<std::vector<LldpNeighbor>> lldp_neighbors(const std::string&) {
  return Status(
      Code::system_error,
      "this build of weir lacks LLDP support: it was built without lldpd's header (Debian: liblldpctl-dev)");
}

}  // namespace weir::drivers

#endif
