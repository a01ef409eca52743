// SPDX-License-Identifier: Apache-2.0

#include "trainer/data/baselines.h"

#include <fmt/format.h>
#include <lzma.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

namespace weir::trainer {

double order_one_entropy(std::span<const uint8_t> text) {
  constexpr size_t kBytes = 256;
  std::vector<double> pairs(kBytes * kBytes);
  std::array<double, kBytes> firsts{};
  for (size_t at = 1; at < text.size(); ++at) {
    ++pairs[text[at - 1] * kBytes + text[at]];
    ++firsts[text[at - 1]];
  }
  double bits = 0;
  for (size_t at = 0; at < pairs.size(); ++at)
    if (pairs[at] > 0) bits += pairs[at] * std::log2(firsts[at / kBytes] / pairs[at]);
  return bits / static_cast<double>(text.size() - 1);
}

Result<double> xz_bits(std::span<const uint8_t> text) {
  std::vector<uint8_t> packed(lzma_stream_buffer_bound(text.size()));
  size_t bytes = 0;
  const lzma_ret code =
      lzma_easy_buffer_encode(9 | LZMA_PRESET_EXTREME, LZMA_CHECK_CRC64, nullptr, text.data(), text.size(),
                              packed.data(), &bytes, packed.size());
  if (code != LZMA_OK)
    return Status(Code::system_error, fmt::format("xz could not compress (liblzma's error {})", int{code}));
  return 8.0 * static_cast<double>(bytes) / static_cast<double>(text.size());
}

}  // namespace weir::trainer
