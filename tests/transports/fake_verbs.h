// SPDX-License-Identifier: Apache-2.0
/// RDMA devices that exist only in the memory of a test: reliable pairs between them, and the ways in which
/// real ones break.
///
/// All ranks of the test are threads of one process. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/drivers/verbs.h"

namespace weir::testing {

class FakePair;

/// What happens to requests that are posted by pairs of a device or to them.
enum class Wire : uint8_t {
  works,
  silent,   ///< they neither arrive nor complete, until fail()
  one_way,  ///< they arrive, but nobody who posted them hears of it, until fail()
};

/// The network and all its devices, "fake0" to "fakeN", each with one RoCE port at 10.0.0.N+1.
class FakeFabric {
 public:
  explicit FakeFabric(int devices, uint32_t most_bytes = 1u << 30);
  ~FakeFabric();

  /// For one rank. The fabric outlives it.
  std::unique_ptr<drivers::Verbs> verbs();

  void set_wire(const std::string& device, Wire wire);
  /// The pairs of the device, and their peers once they send, find out that nothing goes: they complete with
  /// errors.
  void fail(const std::string& device);
  /// New pairs of the device work; those that have failed do not.
  void mend(const std::string& device);
  /// The device registers no more memory.
  void refuse_regions(const std::string& device);
  /// Everybody who opened the device is told.
  void tell(const std::string& device, drivers::VerbsEvent::Kind kind);
  /// Pairs of the device can be paced so from now on; before, not at all.
  void set_pacing(const std::string& device, drivers::VerbsPacing pacing);
  /// The rates of all pairs of the device, in kbit/s; 0: no limit.
  std::vector<uint32_t> rates_of(const std::string& device) const;
  /// Bytes that pairs of the device have sent.
  uint64_t bytes_from(const std::string& device) const;
  /// How often a message found no room at the receiver: pairs of too little depth.
  int overflows() const;

  struct State;

 private:
  const std::unique_ptr<State> state_;
};

}  // namespace weir::testing
