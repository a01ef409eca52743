// SPDX-License-Identifier: Apache-2.0
/// What a transport offers whose ends may have their slots in registered memory (Transport::slot_registrar).
///
/// Used by one thread at a time, like its transport.
/// Tests: tests/transports/verbs_registered_slots_test.cc
#pragma once

#include "src/base/status.h"
#include "transports/slot_memory.h"

namespace weir {

class SlotRegistrar {
 public:
  virtual ~SlotRegistrar() = default;
  /// Registers this memory for slots of ends until deregister_slots(). After an error nothing has changed.
  virtual Status register_slots(SlotMemory& memory) = 0;
  /// REQUIRES: no end has its slots there.
  virtual void deregister_slots(SlotMemory& memory) = 0;
};

}  // namespace weir
