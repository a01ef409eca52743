// SPDX-License-Identifier: Apache-2.0
// Prints the tokens of the standard input: print_tokens TOKENIZER. With --decode, the text of them.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string_view>

#include "trainer/tokenizer/bpe_tokenizer.h"

using namespace weir;
using namespace weir::trainer;

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  const auto tokenizer = BpeTokenizer::open(argv[1]);
  const auto tokens =
      tokenizer.ok() ? (*tokenizer)->encode(text) : Result<std::vector<Token>>(tokenizer.status());
  if (!tokens.ok()) {
    fmt::print(stderr, "{}\n", tokens.status().message());
    return 1;
  }
  const bool decodes = argc > 2 && std::string_view(argv[2]) == "--decode";
  const std::string said =
      decodes ? (*tokenizer)->decode(*tokens) : TokenNumbers(std::nullopt).decode(*tokens);
  std::fwrite(said.data(), 1, said.size(), stdout);
  return 0;
}
