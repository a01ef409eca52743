// SPDX-License-Identifier: Apache-2.0
/// Protocol between workers of ucx; for the files of this folder only.
///
/// Each active message is a header and, for kind `message`, a payload. Numbers are in host order; weir runs
/// on little-endian machines only.
/// Tests: tests/transports/ucx_test.cc
#pragma once

#include <cstdint>

#include "src/base/types.h"

namespace weir::ucx {

inline constexpr uint32_t kMagic = 0x75637877;

enum class HeaderKind : uint32_t {
  hello,    ///< sender: its life and shape
  message,  ///< sender: message `number`
  left,     ///< sender: it has published `number` messages and closed
  welcome,  ///< receiver: it has received the hello of this life
  credit,   ///< receiver: it has released `number` messages
  closed    ///< receiver: it has closed
};
constexpr bool is_for_receiver(HeaderKind kind) { return kind <= HeaderKind::left; }

struct Header {
  uint32_t magic = kMagic;
  HeaderKind kind = HeaderKind::hello;
  Rank from = 0;
  uint32_t channel = 0;
  int64_t life = 0;  ///< time at which the sending end was opened; later lives of a channel have a later one
  uint64_t number = 0;
  uint64_t tag = 0;
  uint32_t slots = 0;
  uint32_t slot_bytes = 0;
};
static_assert(sizeof(Header) == 48);

}  // namespace weir::ucx
