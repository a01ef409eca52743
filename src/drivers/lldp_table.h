// SPDX-License-Identifier: Apache-2.0
/// The functions and numbers of lldpd's client library (liblldpctl.so.4) that are used, declared here because
/// its headers are not needed to build: the package that has them starts the daemon. tests/drivers compares
/// them with the headers where these are installed.
/// Tests: tests/drivers/lldp_table_test.cc
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "src/drivers/library.h"

namespace weir::drivers {

// Objects of the library, of which only addresses are known here.
struct LldpConnection;
struct LldpAtom;
struct LldpIterator;

/// The library's numbers, under its names without LLDPCTL_ and lldpctl_k_.
namespace lldp {
inline constexpr int kErrEof = -502;
inline constexpr int kErrCannotConnect = -504;
inline constexpr int kErrCallbackFailure = -902;
inline constexpr int kInterfaceName = 1000;
inline constexpr int kPortNeighbors = 1200;
inline constexpr int kPortId = 1204;
inline constexpr int kPortChassis = 1208;
inline constexpr int kChassisId = 1802;
inline constexpr int kChassisName = 1803;
inline constexpr int kChassisCapEnabled = 1806;
}  // namespace lldp

struct LldpTable {
  using Transfer = ssize_t (*)(LldpConnection*, const uint8_t*, size_t, void*);

  LldpConnection* (*new_name)(const char*, Transfer, Transfer, void*) = nullptr;
  const char* (*default_transport)() = nullptr;
  int (*release)(LldpConnection*) = nullptr;
  int (*last_error)(LldpConnection*) = nullptr;
  const char* (*error_text)(int) = nullptr;
  LldpAtom* (*interfaces)(LldpConnection*) = nullptr;
  LldpAtom* (*port)(LldpAtom*) = nullptr;
  LldpIterator* (*iter)(LldpAtom*) = nullptr;
  LldpIterator* (*iter_next)(LldpAtom*, LldpIterator*) = nullptr;
  LldpAtom* (*iter_value)(LldpAtom*, LldpIterator*) = nullptr;
  LldpAtom* (*get)(LldpAtom*, int) = nullptr;
  const char* (*get_text)(LldpAtom*, int) = nullptr;
  long (*get_int)(LldpAtom*, int) = nullptr;
  void (*dec_ref)(LldpAtom*) = nullptr;
  void (*log_callback)(void (*)(int, const char*)) = nullptr;

  /// Calls visit(name, function, true) for each function; all are required.
  template <typename Visitor>
  void each(Visitor&& visit) {
    visit("lldpctl_new_name", new_name, true);
    visit("lldpctl_get_default_transport", default_transport, true);
    visit("lldpctl_release", release, true);
    visit("lldpctl_last_error", last_error, true);
    visit("lldpctl_strerror", error_text, true);
    visit("lldpctl_get_interfaces", interfaces, true);
    visit("lldpctl_get_port", port, true);
    visit("lldpctl_atom_iter", iter, true);
    visit("lldpctl_atom_iter_next", iter_next, true);
    visit("lldpctl_atom_iter_value", iter_value, true);
    visit("lldpctl_atom_get", get, true);
    visit("lldpctl_atom_get_str", get_text, true);
    visit("lldpctl_atom_get_int", get_int, true);
    visit("lldpctl_atom_dec_ref", dec_ref, true);
    visit("lldpctl_log_callback", log_callback, true);
  }

  /// The name of a function that `library` lacks, or null.
  const char* find_in(const Library& library) {
    const char* missing = nullptr;
    each([&](const char* name, auto*& function, bool) {
      if (!library.find(name, function) && missing == nullptr) missing = name;
    });
    return missing;
  }
};

}  // namespace weir::drivers
