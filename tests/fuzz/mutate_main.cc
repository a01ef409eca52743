// SPDX-License-Identifier: Apache-2.0
// A fuzz target without a fuzzer: TARGET COUNT SEEDS... tries every seed, its beginnings, and COUNT mutations
// of seeds, the same ones in every run. For everyday tests; libFuzzer looks deeper (see CMakeLists.txt).
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

std::mt19937_64 random_bits(1);

size_t below(size_t limit) { return limit == 0 ? 0 : random_bits() % limit; }

/// Words that parsers dislike.
constexpr const char* kWords[] = {"0",          "-1",
                                  "4294967296", "99999999999999999999",
                                  "1e999",      "nan",
                                  "\xff",       "<",
                                  ">",          "\"",
                                  "&#0;",       "[",
                                  "]",          "[1-999999999]",
                                  ",",          ":",
                                  "=",          "\n",
                                  "\t",         "#",
                                  "(",          ")",
                                  "x",          "GPU0",
                                  "/",          "]]>"};

void mutate(std::string& text, const std::vector<std::string>& seeds) {
  for (size_t changes = 1 + below(6); changes > 0; --changes) {
    const size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0: text.erase(at, 1 + below(20)); break;
      case 1: text.insert(at, kWords[below(std::size(kWords))]); break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random_bits());
        break;
      case 3: text.insert(at, text.substr(below(text.size()), below(200))); break;
      case 4: {
        const std::string& other = seeds[below(seeds.size())];
        text.insert(at, other.substr(below(other.size()), below(300)));
        break;
      }
      default: {  // a digit for another
        const size_t digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) text[digit] = static_cast<char>('0' + below(10));
      }
    }
  }
  if (text.size() > 200'000) text.resize(200'000);
}

void try_one(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> seeds;
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    seeds.push_back(text.str());
  }
  if (seeds.empty() || std::atoi(argv[1]) <= 0) {
    std::fprintf(stderr, "expected: COUNT SEED...\n");
    return 2;
  }
  for (const std::string& seed : seeds) {
    try_one(seed);
    const size_t step = 1 + seed.size() / 500;
    for (size_t length = 0; length < seed.size(); length += step) try_one(seed.substr(0, length));
  }
  for (int i = std::atoi(argv[1]); i > 0; --i) {
    std::string text = seeds[below(seeds.size())];
    mutate(text, seeds);
    try_one(text);
  }
  return 0;
}
