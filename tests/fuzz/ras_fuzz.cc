// SPDX-License-Identifier: Apache-2.0
// Requests to the RAS port, in one piece and byte by byte.
#include "src/survey/ras_session.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::survey;
  const std::string_view text = text_of(data, size);
  RasSession at_once;
  const std::string reply = at_once.take(text);
  RasSession in_pieces;
  std::string replies;
  for (size_t i = 0; i < text.size(); ++i) replies += in_pieces.take(text.substr(i, 1));
  require(at_once.wants_report() == in_pieces.wants_report());
  require(at_once.broken() || in_pieces.broken() || reply == replies);
  require(at_once.timeout_ms() >= 0);
  if (at_once.wants_report()) (void)at_once.report({}, {});
  return 0;
}
