// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/agree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "trainer/shard/calls.h"

namespace weir::checkpoint {
namespace {

struct Word {
  int code = 0;
  char message[508] = {};  // longer messages are truncated
};

}  // namespace

Status agree(ncclComm_t world, const Status& own) {
  int rank = 0, ranks = 0;
  WEIR_TRY(shard::checked(ncclCommUserRank(world, &rank), "agreeing"));
  WEIR_TRY(shard::checked(ncclCommCount(world, &ranks), "agreeing"));
  std::vector<Word> words(ranks);
  words[rank].code = static_cast<int>(own.code());
  own.message().copy(words[rank].message, sizeof words[rank].message - 1);
  WEIR_TRY(shard::checked(ncclAllGather(&words[rank], words.data(), sizeof(Word), ncclChar, world, nullptr),
                          "agreeing"));
  const auto wrong =
      std::find_if(words.begin(), words.end(), [](const Word& word) { return word.code != 0; });
  if (wrong == words.end()) return Status();
  return Status(static_cast<Code>(wrong->code),
                fmt::format("rank {}: {}", wrong - words.begin(), static_cast<const char*>(wrong->message)));
}

}  // namespace weir::checkpoint
