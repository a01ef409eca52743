// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::perf {
namespace {

using ::testing::HasSubstr;

CommandLine parse(std::vector<std::string> words) {
  words.insert(words.begin(), "/somewhere/all_reduce_perf");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return parse_command_line(static_cast<int>(words.size()), arguments.data());
}

TEST(PerfOptions, HaveTheDefaultsOfNcclTests) {
  CommandLine line = parse({});
  ASSERT_FALSE(line.exit_code);
  const PerfOptions& o = line.options;
  EXPECT_EQ(o.min_bytes, 32u << 20);
  EXPECT_EQ(o.max_bytes, 32u << 20);
  EXPECT_EQ(o.step_bytes, 1u << 20);
  EXPECT_EQ(o.step_factor, 1);
  EXPECT_EQ(o.iterations, 20);
  EXPECT_EQ(o.warmup, 1);
  EXPECT_EQ(o.checks, 1);
  EXPECT_EQ(o.average, Average::mean);
  EXPECT_EQ(o.device_ctas, 16);
  EXPECT_STREQ(o.types.front().name, "float");
  EXPECT_STREQ(o.ops.front().name, "sum");
  EXPECT_EQ(o.ranks, 0);
  EXPECT_EQ(o.allocator, "nccl");
}

TEST(PerfOptions, AreReadInTheirShortForms) {
  CommandLine line =
      parse({"-t",       "2",  "-g3",    "-b", "8", "-e", "1.5M", "-f", "2", "-n", "7",      "-w",
             "0",        "-m", "4",      "-N", "0", "-p", "1",    "-c", "2", "-o", "mulsum", "-d",
             "bfloat16", "-r", "-1",     "-z", "3", "-y", "1",    "-T", "9", "-C", "1",      "-S",
             "1",        "-J", "x.json", "-a", "3", "-R", "2",    "-x", "1", "-D", "1",      "-V",
             "128",      "-M", "1",      "-u", "3", "-I", "1",    "-K", "6", "-G", "2"});
  ASSERT_FALSE(line.exit_code) << line.text;
  const PerfOptions& o = line.options;
  EXPECT_EQ(o.threads, 2);
  EXPECT_EQ(o.gpus, 3);
  EXPECT_EQ(o.min_bytes, 8);
  EXPECT_EQ(o.max_bytes, 1572864);
  EXPECT_EQ(o.step_factor, 2);
  EXPECT_EQ(o.iterations, 7);
  EXPECT_EQ(o.warmup, 0);
  EXPECT_EQ(o.aggregated, 4);
  EXPECT_EQ(o.cycles, 0);
  EXPECT_EQ(o.checks, 2);
  EXPECT_EQ(o.ops.front().op, Op::mulsum);
  EXPECT_EQ(o.types.front().type, ncclBfloat16);
  EXPECT_EQ(o.root, -1);
  EXPECT_EQ(o.blocking, 3);
  EXPECT_EQ(o.timeout_s, 9);
  EXPECT_EQ(o.output_file, "x.json");
  EXPECT_EQ(o.average, Average::maximum);
  EXPECT_EQ(o.local_register, 2);
  EXPECT_EQ(o.cta_policy, 1);
  EXPECT_EQ(o.unalign, 3);
  EXPECT_EQ(o.per_iteration_skip, 6);
  EXPECT_EQ(o.graph, 2);
}

TEST(PerfOptions, AreReadInTheirLongForms) {
  CommandLine line = parse({"--minbytes=1K", "--maxbytes", "2K", "--datatype", "all", "--op", "all",
                            "--ranks", "4", "--bind", "none", "--allocator", "system"});
  ASSERT_FALSE(line.exit_code) << line.text;
  EXPECT_EQ(line.options.min_bytes, 1024);
  EXPECT_EQ(line.options.types.size(), 12);
  EXPECT_EQ(line.options.ops.size(), 6);
  EXPECT_EQ(line.options.ranks, 4);
  EXPECT_EQ(line.options.bind, "none");
  EXPECT_EQ(line.options.allocator, "system");
}

TEST(PerfOptions, ABadOptionPrintsTheUsageAndIsNoError) {
  for (const char* word : {"-q", "--nosuch", "stray"}) {
    CommandLine line = parse({word});
    EXPECT_EQ(line.exit_code, 0) << word;
    EXPECT_THAT(line.text, HasSubstr("invalid"));
    EXPECT_THAT(line.text, HasSubstr("usage: all_reduce_perf"));
  }
  EXPECT_EQ(parse({"-b"}).exit_code, 0);
  CommandLine help = parse({"-h"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.text, HasSubstr("--per_iter_skip"));
  EXPECT_THAT(help.text, HasSubstr("Examples:\n  "));
  CommandLine version = parse({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.text, HasSubstr(" of weir "));
}

TEST(PerfOptions, BadSizesAreErrors) {
  EXPECT_EQ(parse({"-b", "8X"}).exit_code, 255);
  EXPECT_EQ(parse({"-e", "lots"}).exit_code, 255);
  EXPECT_EQ(parse({"-b", "2M", "-e", "1M"}).exit_code, 255);
}

TEST(PerfOptions, BadValuesAreNamedWithWhatWasExpected) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{"-n", "0"}, "invalid value '0' of --iters: expected an integer of at least 1"},
      {{"-n", "1x"}, "invalid value '1x' of --iters"},
      {{"-z", "4"}, "of --blocking: expected an integer from 0 to 3"},
      {{"-d", "int7"}, "of --datatype: expected one of: int8"},
      {{"-o", "xor"}, "of --op: expected one of: sum"},
      {{"--bind", "x"}, "expected auto, core or none"},
      {{"--allocator", "x"}, "expected nccl or system"},
      {{"-R", "1", "--allocator", "system"}, "leave out -R or --allocator system"},
      {{"-D", "1"}, "needs symmetric memory: add -R 2"},
      {{"-I", "1", "-K", "20"}, "leaves none of the 20 iterations"},
      {{"-b", "1", "-e", "2", "-i", "0"}, "would never reach maxbytes"},
  };
  for (const auto& [words, sentence] : cases) {
    CommandLine line = parse(words);
    EXPECT_EQ(line.exit_code, 6) << sentence;
    EXPECT_THAT(line.text, HasSubstr(sentence));
  }
}

}  // namespace
}  // namespace weir::perf
