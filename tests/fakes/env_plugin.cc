// SPDX-License-Identifier: Apache-2.0
// An env plugin of NCCL, built once per version of the interface (WEIR_ENV_VERSION, 1 or 2, and
// WEIR_ENV_SYMBOL). It gives what the environment has under names with FAKE_ before them. Structures are
// written down here anew, so that a mistake in weir's is found.
//
// Read from the environment:
//   FAKE_ENV_INIT   result of init
//   FAKE_ENV_FILE   gets a line for each init and finalize
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace fake_env_plugin {
namespace {

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

void write(const std::string& line) {
  const char* const file = std::getenv("FAKE_ENV_FILE");
  std::FILE* const out = file != nullptr ? std::fopen(file, "a") : nullptr;
  if (out == nullptr) return;
  std::fputs((line + "\n").c_str(), out);
  std::fclose(out);
}

int begin(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix) {
  write("init " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch) + suffix);
  const char* const result = std::getenv("FAKE_ENV_INIT");
  return result != nullptr ? std::atoi(result) : 0;
}

#if WEIR_ENV_VERSION == 1
int init(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix) {
  return begin(major, minor, patch, suffix);
}
#else
int init(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix, Logger logger) {
  constexpr int kInfo = 3;
  constexpr unsigned long kEnv = 1 << 7;
  logger(kInfo, kEnv, __func__, __LINE__, "the fake env plugin begins");
  return begin(major, minor, patch, suffix);
}
#endif

int finalize() {
  write("finalize");
  return 0;
}

const char* getEnv(const char* name) { return std::getenv(("FAKE_" + std::string(name)).c_str()); }

struct Table {
  const char* name;
  decltype(&init) begin;
  int (*finalize)();
  const char* (*getEnv)(const char*);
};

}  // namespace

extern "C" {
[[gnu::visibility("default")]] extern const Table WEIR_ENV_SYMBOL = {"fake env", init, finalize, getEnv};
}

}  // namespace fake_env_plugin
