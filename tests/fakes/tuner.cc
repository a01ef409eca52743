// SPDX-License-Identifier: Apache-2.0
// A tuner plugin of NCCL, built once per version of the interface (WEIR_TUNER_VERSION, 2 to 6, and
// WEIR_TUNER_SYMBOL). Structures
// are written down here anew, so that a mistake in weir's is found.
//
// Read from the environment at init:
//   FAKE_TUNER_INIT      result of init
//   FAKE_TUNER_RESULT    result of getCollInfo
//   FAKE_TUNER_ANSWERS   function:algorithm:protocol:channels:least:most;... in NCCL's numbers: what is
//   wanted for
//                        sizes from least to most; algorithm -1 leaves the table as it is
//   FAKE_TUNER_CHUNK     the size of chunks that is wanted; 0 or unset: the one that is offered
//   FAKE_TUNER_FILE      gets a line for each call
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace fake_tuner {
namespace {

constexpr int kAlgorithms = 7, kProtocols = 3;
constexpr int kOk = 0, kMisuse = 3;

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

struct Domains {
  int nNvlDomains, minRanksPerNvlDomain, maxRanksPerNvlDomain;
};
struct Constants {
  double baseLatencies[7][3];
  double hwLatencies[3][7][3];
  double llMaxBws[4][3], perChMaxRingLL128Bws[4][3], perChMaxTreeLL128Bws[4][3], perChMaxTreeBws[4][3],
      perChMaxNVLSTreeBws[4][3];
};

struct Answer {
  int function, algorithm, protocol, channels;
  size_t least, most;
};

struct Context {
  std::vector<Answer> answers;
  std::string file;
  int result;
  size_t ranks;
};

int number(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : 0;
}

void write(const std::string& file, const std::string& line) {
  if (file.empty()) return;
  std::FILE* const out = std::fopen(file.c_str(), "a");
  if (out == nullptr) return;
  std::fputs((line + "\n").c_str(), out);
  std::fclose(out);
}

std::vector<Answer> answers() {
  std::vector<Answer> all;
  const char* const text = std::getenv("FAKE_TUNER_ANSWERS");
  std::istringstream lines(text != nullptr ? text : "");
  for (std::string line; std::getline(lines, line, ';');) {
    Answer one{};
    if (std::sscanf(line.c_str(), "%d:%d:%d:%d:%zu:%zu", &one.function, &one.algorithm, &one.protocol,
                    &one.channels, &one.least, &one.most) == 6)
      all.push_back(one);
  }
  return all;
}

int begin(void** context, size_t ranks, size_t nodes, const std::string& more, Logger logger) {
  const char* const file = std::getenv("FAKE_TUNER_FILE");
  auto* const own = new Context{answers(), file != nullptr ? file : "", number("FAKE_TUNER_RESULT"), ranks};
  write(own->file, "init " + std::to_string(ranks) + " ranks " + std::to_string(nodes) + " nodes" + more);
  constexpr unsigned long kTuning = 1 << 6;
  logger(3, kTuning, __func__, __LINE__, "the fake tuner has %zu answers", own->answers.size());
  if (const int result = number("FAKE_TUNER_INIT"); result != kOk) {
    delete own;
    return result;
  }
  *context = own;
  return kOk;
}

#if WEIR_TUNER_VERSION == 2
/// Version 2 has no table: of what the answers name, the last one counts.
int getCollInfo(void* context, int function, size_t bytes, int collnet, int nvls, int operations,
                int* algorithm, int* protocol, int* channels) {
  if (*algorithm != -1 || *protocol != -1 || operations < 1) return kMisuse;
  Context& own = *static_cast<Context*>(context);
  std::ostringstream line;
  line << "ask " << function << " of " << bytes << ": collnet " << collnet << " nvls " << nvls;
  write(own.file, line.str());
  for (const Answer& answer : own.answers) {
    if (answer.function != function || bytes < answer.least || bytes > answer.most) continue;
    *algorithm = answer.algorithm;
    *protocol = answer.protocol;
    if (answer.channels > 0) *channels = answer.channels;
  }
  return own.result;
}
#else
int answer_by_table(void* context, int function, size_t bytes, int operations, float** costs, int algorithms,
                    int protocols, int registered, int* channels) {
  if (algorithms != kAlgorithms || protocols != kProtocols || operations < 1 || registered != 0)
    return kMisuse;
  Context& own = *static_cast<Context*>(context);
  auto* const table = reinterpret_cast<float(*)[kProtocols]>(costs);
  std::ostringstream line;
  line << "ask " << function << " of " << bytes << ":";
  for (int a = 0; a < kAlgorithms; ++a)
    for (int p = 0; p < kProtocols; ++p) line << " " << table[a][p];
  write(own.file, line.str());
  for (const Answer& answer : own.answers) {
    if (answer.function != function || bytes < answer.least || bytes > answer.most) continue;
    if (answer.algorithm >= 0) table[answer.algorithm][answer.protocol] = 0;
    if (answer.channels > 0) *channels = answer.channels;
  }
  return own.result;
}
#if WEIR_TUNER_VERSION == 3
int getCollInfo(void* context, int function, size_t bytes, int operations, float** costs, int algorithms,
                int protocols, int* channels) {
  return answer_by_table(context, function, bytes, operations, costs, algorithms, protocols, 0, channels);
}
#else
int getCollInfo(void* context, int function, size_t bytes, int operations, float** costs, int algorithms,
                int protocols, int registered, int* channels) {
  return answer_by_table(context, function, bytes, operations, costs, algorithms, protocols, registered,
                         channels);
}
#endif
#endif

#if WEIR_TUNER_VERSION == 6
int getChunkSize(void* context, int function, size_t bytes, int algorithm, int protocol, int channels,
                 size_t* chunk) {
  if (algorithm < 0 || algorithm >= kAlgorithms || protocol < 0 || protocol >= kProtocols || channels < 1)
    return kMisuse;
  Context& own = *static_cast<Context*>(context);
  std::ostringstream line;
  line << "chunk " << function << " of " << bytes << " by " << algorithm << " " << protocol << " over "
       << channels << ": " << *chunk;
  write(own.file, line.str());
  if (const int wanted = number("FAKE_TUNER_CHUNK"); wanted != 0) *chunk = static_cast<size_t>(wanted);
  return own.result;
}
#endif

int finalize(void* context) {
  Context* const own = static_cast<Context*>(context);
  write(own->file, "finalize");
  delete own;
  return kOk;
}

#if WEIR_TUNER_VERSION <= 4
int init(size_t ranks, size_t nodes, Logger logger, void** context) {
  return begin(context, ranks, nodes, "", logger);
}

struct Table {
  const char* name;
  int (*init)(size_t, size_t, Logger, void**);
  decltype(&getCollInfo) get;
  int (*destroy)(void*);
};
#else
int init(void** context, uint64_t communicator, size_t ranks, size_t nodes, Logger logger, Domains* domains,
         Constants* constants) {
  if (domains == nullptr || constants == nullptr || communicator == 0) return kMisuse;
  std::ostringstream more;
  more << ", " << domains->nNvlDomains << " domains of " << domains->minRanksPerNvlDomain << " to "
       << domains->maxRanksPerNvlDomain << " ranks, tree " << constants->baseLatencies[0][2] << " us, "
       << constants->perChMaxNVLSTreeBws[3][2] << " GB/s";
  constants->baseLatencies[0][2] = 1;  // plugins may write there
  return begin(context, ranks, nodes, more.str(), logger);
}

struct Table {
  const char* name;
  int (*init)(void**, uint64_t, size_t, size_t, Logger, Domains*, Constants*);
  int (*getCollInfo)(void*, int, size_t, int, float**, int, int, int, int*);
  int (*finalize)(void*);
#if WEIR_TUNER_VERSION == 6
  int (*getChunkSize)(void*, int, size_t, int, int, int, size_t*);
#endif
};
#endif

}  // namespace

extern "C" {
[[gnu::visibility("default")]] extern const Table WEIR_TUNER_SYMBOL = {"fake tuner", init, getCollInfo,
                                                                       finalize
#if WEIR_TUNER_VERSION == 6
                                                                       ,
                                                                       getChunkSize
#endif
};
}

}  // namespace fake_tuner
