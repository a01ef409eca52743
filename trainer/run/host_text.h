// SPDX-License-Identifier: Apache-2.0
/// Text that is made once per host, because making it takes long and much memory.
/// Tests: tests/trainer/host_text_test.cc
#pragma once

#include <nccl.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/data/text.h"

namespace weir::trainer {

/// Text whose tokens are yet to be made.
struct TextSource {
  std::string name;
  std::optional<Token> separator;  ///< with which each document begins
  std::function<Result<std::vector<Token>>()> encode;
};

/// The text in tokens. The first rank of each host encodes it; the others map its tokens, which are in an
/// anonymous file (memfd_create) that only the same user can open and that ends with its last process. Ranks
/// that cannot open it, as in another PID namespace, encode the text themselves, and so do all if not all
/// have one `to_encode`: then the result of the others is nothing. Collective; an error of a rank is returned
/// on all.
Result<std::optional<Text>> text_of_host(ncclComm_t world, const std::optional<TextSource>& to_encode);

}  // namespace weir::trainer
