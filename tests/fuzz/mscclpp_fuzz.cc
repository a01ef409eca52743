// SPDX-License-Identifier: Apache-2.0

#include "algorithms/ir/verify.h"
#include "algorithms/mscclpp/mscclpp.h"
#include "tests/fuzz/fuzz.h"

/// What is read may be wrong as a plan; what is right stays so when it is written and read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto plan = weir::mscclpp::read(text_of(data, size), "fuzz");
  if (!plan.ok() || !weir::ir::verify(*plan).ok()) return 0;
  const auto text = weir::mscclpp::write(*plan, {});
  if (!text.ok()) return 0;
  const auto again = weir::mscclpp::read(*text, "written");
  require(again.ok() && weir::ir::verify(*again).ok());
  return 0;
}
