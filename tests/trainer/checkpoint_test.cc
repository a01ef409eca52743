// SPDX-License-Identifier: Apache-2.0
/// Checkpoints: written by some ranks, read by others; damage; failures while saving.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/trainer/dying_files.h"
#include "tests/trainer/temporary_folder.h"
#include "tests/trainer/toy.h"
#include "trainer/checkpoint/checksum.h"
#include "trainer/checkpoint/engine_state.h"
#include "trainer/checkpoint/folder.h"

namespace weir::checkpoint {
namespace {

using shard::EngineOptions;
using shard::ShardEngine;
using shard::Strategy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A number that tells step, array and element.
float value_of(uint64_t step, size_t array, int unit, size_t element) {
  return static_cast<float>(step * 1000003 + array * 77773 + unit * 9001 + element);
}

/// The parts of a shard that a partial array has: 20 elements of each 64 of a unit.
std::vector<shard::Range> some_of(const shard::Range& shard) {
  std::vector<shard::Range> parts;
  for (size_t at = shard.first / 64 * 64; at < shard.end(); at += 64) {
    const size_t first = std::max(at, shard.first), end = std::min(at + 20, shard.end());
    if (first < end) parts.push_back({first, end - first});
  }
  return parts;
}

enum class Moment { whole, partial };

/// An engine with one array beside the parameters.
class State {
 public:
  State(ncclComm_t world, std::vector<shard::Unit> units, EngineOptions options,
        Moment moment = Moment::whole) {
    options.limiter.kind = shard::Limit::off;
    Result<std::unique_ptr<ShardEngine>> made = ShardEngine::create(world, std::move(units), options);
    EXPECT_TRUE(made.ok()) << made.status().message();
    engine_ = std::move(*made);
    moment_.name = "moment1";
    for (int unit = 0; unit < count(); ++unit) {
      const shard::Range shard = engine_->shard_range(unit);
      held_.push_back(moment == Moment::partial ? some_of(shard) : std::vector<shard::Range>{shard});
      size_t floats = 0;
      for (const shard::Range& part : held_.back()) floats += part.count;
      values_.emplace_back(floats);
    }
    for (std::vector<float>& values : values_) moment_.units.emplace_back(values);
    if (moment == Moment::partial) moment_.parts = held_;
  }

  void fill(uint64_t step) {
    each([&](float& value, size_t array, int unit, size_t element) {
      value = value_of(step, array, unit, element);
    });
  }
  bool holds(uint64_t step) {
    bool same = true;
    each([&](float& value, size_t array, int unit, size_t element) {
      same = same && value == value_of(step, array, unit, element);
    });
    return same;
  }
  Status save(Saver& saver, uint64_t step) {
    fill(step);
    WEIR_TRY(start_saving(saver, *engine_, {&moment_, 1}, step, {step, 4711}));
    fill(step + 1000);  // training goes on meanwhile
    return saver.finish();
  }
  Result<std::optional<Loaded>> load(ncclComm_t world, const std::string& folder, bool is_local = false) {
    return load_latest(world, folder, *engine_, {&moment_, 1}, {}, is_local);
  }

 private:
  int count() const { return static_cast<int>(engine_->units().size()); }
  template <typename Act>
  void each(Act&& act) {
    for (int unit = 0; unit < count(); ++unit)
      for (size_t array = 0; array < 2; ++array) {
        const std::span<float> values = array == 0 ? engine_->shard(unit) : moment_.units[unit];
        const std::vector<shard::Range> all{engine_->shard_range(unit)};
        size_t next = 0;
        for (const shard::Range& part : array == 0 ? all : held_[static_cast<size_t>(unit)])
          for (size_t i = 0; i < part.count; ++i) act(values[next++], array, unit, part.first + i);
      }
  }

  std::unique_ptr<ShardEngine> engine_;
  std::vector<std::vector<shard::Range>> held_;  ///< index: unit; what the moment has
  std::vector<std::vector<float>> values_;
  ShardArray moment_;
};

std::vector<shard::Unit> small_units() { return {{"embedding table", 19}, {"head", 5}}; }

/// As two ranks whose parts are small, and not those of an engine.
Status save_parts(Saver& saver, int rank, uint64_t step) {
  Contents contents;
  contents.step = step;
  contents.units = small_units();
  contents.arrays = {"parameters", "moment1"};
  std::vector<std::vector<float>> values;
  std::vector<Part> parts;
  for (uint32_t unit = 0; unit < contents.units.size(); ++unit)
    for (uint32_t array = 0; array < 2; ++array) {
      const size_t middle = contents.units[unit].parameters / 3;
      const size_t first = rank == 0 ? 0 : middle;
      const size_t end = rank == 0 ? middle : contents.units[unit].parameters;
      std::vector<float>& part = values.emplace_back();
      for (size_t i = first; i < end; ++i) part.push_back(value_of(step, array, static_cast<int>(unit), i));
      parts.push_back({unit, array, first, part});
    }
  WEIR_TRY(saver.start(contents, parts));
  return saver.finish();
}

struct Cast {
  int world;
  Strategy strategy;
  int shard_ranks;
};

TEST(Checkpoint, LoadsAtAnyWorldSizeAndStrategy) {
  const std::vector<Cast> casts = {{1, Strategy::no_shard, 0},     {2, Strategy::full_shard, 0},
                                   {3, Strategy::no_shard, 0},     {3, Strategy::shard_grad_op, 0},
                                   {4, Strategy::hybrid_shard, 2}, {5, Strategy::full_shard, 0}};
  for (const Cast& from : casts) {
    TemporaryFolder folder;
    const auto options = [](const Cast& cast) {
      EngineOptions options;
      options.strategy = cast.strategy;
      options.shard_ranks = cast.shard_ranks;
      return options;
    };
    shard::toy::with_ranks(from.world, [&](int, ncclComm_t world) {
      State state(world, shard::toy::units(), options(from));
      Saver saver(world, folder.path() + "/new", 2);
      const Status saved = state.save(saver, 7);
      EXPECT_TRUE(saved.ok()) << saved.message();
    });
    for (const Cast& to : casts)
      shard::toy::with_ranks(to.world, [&](int rank, ncclComm_t world) {
        State state(world, shard::toy::units(), options(to));
        Result<std::optional<Loaded>> loaded = state.load(world, folder.path() + "/new");
        ASSERT_TRUE(loaded.ok()) << loaded.status().message();
        ASSERT_TRUE(loaded->has_value());
        EXPECT_EQ((**loaded).contents.step, 7U);
        EXPECT_THAT((**loaded).contents.words, ElementsAre(7, 4711));
        EXPECT_THAT((**loaded).skipped, IsEmpty());
        EXPECT_TRUE(state.holds(7)) << from.world << " to " << to.world << ", rank " << rank;
      });
  }
}

TEST(Checkpoint, PartialArraysHaveWhatIsNeeded) {
  const TemporaryFolder partial, whole;
  EngineOptions full, copies;
  copies.strategy = Strategy::no_shard;
  shard::toy::with_ranks(3, [&](int, ncclComm_t world) {
    for (const auto& [folder, moment] : {std::pair{&partial, Moment::partial}, {&whole, Moment::whole}}) {
      State state(world, shard::toy::units(), full, moment);
      Saver saver(world, folder->path(), 2);
      ASSERT_TRUE(saver.open(false).ok());
      ASSERT_TRUE(state.save(saver, 7).ok());
    }
  });
  for (const bool is_local : {false, true})
    shard::toy::with_ranks(2, [&](int, ncclComm_t world) {
      State wants_less(world, shard::toy::units(), copies, Moment::partial);
      for (const TemporaryFolder* folder : {&partial, &whole}) {
        const auto loaded = wants_less.load(world, folder->path(), is_local);
        ASSERT_TRUE(loaded.ok()) << loaded.status().message();
        ASSERT_TRUE(loaded->has_value());
        EXPECT_TRUE(wants_less.holds(7));
        wants_less.fill(8);
      }
      State wants_all(world, shard::toy::units(), copies);
      EXPECT_THAT(wants_all.load(world, partial.path(), is_local).status().message(),
                  HasSubstr("moment1 of embedding has 1571 of the 5003 elements from 0 on that are needed"));
    });
}

TEST(Checkpoint, RanksOfACopyWriteNothingTwice) {
  TemporaryFolder folder;
  shard::toy::with_ranks(4, [&](int, ncclComm_t world) {
    EngineOptions options;
    options.strategy = Strategy::no_shard;
    State state(world, {{"all", 4096}}, options);
    Saver saver(world, folder.path(), 2);
    ASSERT_TRUE(state.save(saver, 1).ok());
  });
  for (int rank = 0; rank < 4; ++rank)  // begin, 1024 elements of two arrays, two records in the index
    EXPECT_EQ(std::filesystem::file_size(folder.path() + "/step-00000001/" + file_name(rank)),
              8U + 2 * 4096 + 2 * 40);
}

TEST(Checkpoint, KeepsTheNewestAndReplacesAStepThatIsSavedAgain) {
  TemporaryFolder folder;
  shard::toy::with_ranks(2, [&](int rank, ncclComm_t world) {
    State state(world, small_units(), {});
    Saver saver(world, folder.path(), 2);
    EXPECT_FALSE(saver.under_way());
    for (uint64_t step : {1, 2, 3, 3}) ASSERT_TRUE(state.save(saver, step).ok());
    Result<std::optional<Loaded>> loaded = state.load(world, folder.path());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_TRUE(state.holds(3));
    if (rank != 0) return;
    EXPECT_THAT(steps_in(folder.path()), ElementsAre(3, 2));
    EXPECT_THAT(leftovers(folder.path()), IsEmpty());
  });
}

TEST(Checkpoint, AnEmptyFolderIsNoError) {
  shard::toy::with_ranks(2, [&](int, ncclComm_t world) {
    State state(world, small_units(), {});
    Result<std::optional<Loaded>> loaded = state.load(world, "/there/is/no/such/folder");
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_FALSE(loaded->has_value());
  });
}

TEST(Checkpoint, AnotherModelIsNamed) {
  TemporaryFolder folder;
  shard::toy::with_ranks(1, [&](int, ncclComm_t world) {
    State state(world, small_units(), {});
    Saver saver(world, folder.path(), 2);
    ASSERT_TRUE(state.save(saver, 1).ok());
    State other(world, {{"embedding table", 19}, {"head", 6}}, {});
    EXPECT_THAT(other.load(world, folder.path()).status().message(),
                HasSubstr("unit 1 is head with 5 parameters; expected head with 6"));
  });
}

/// Two checkpoints; what `damage` does to a file of the newer one.
void with_damage(const std::function<void(const std::string& file, const std::string& content, State& state,
                                          ncclComm_t world, const std::string& folder)>& damage) {
  TemporaryFolder folder;
  shard::toy::with_ranks(2, [&](int rank, ncclComm_t world) {
    Saver saver(world, folder.path(), 2);
    ASSERT_TRUE(save_parts(saver, rank, 1).ok());
    ASSERT_TRUE(save_parts(saver, rank, 2).ok());
  });
  shard::toy::with_ranks(1, [&](int, ncclComm_t world) {
    State state(world, small_units(), {});
    for (const char* name : {"manifest", "rank-00000", "rank-00001"}) {
      const std::string file = folder.path() + "/step-00000002/" + name;
      Result<std::string> content = read_file(file);
      ASSERT_TRUE(content.ok());
      damage(file, *content, state, world, folder.path());
      std::ofstream(file, std::ios::binary) << *content;
    }
    ASSERT_TRUE(state.load(world, folder.path()).ok());
    EXPECT_TRUE(state.holds(2));
  });
}

/// The damaged file is named and the checkpoint before is used.
void expect_fallback(State& state, ncclComm_t world, const std::string& folder, const std::string& file) {
  state.fill(5);
  Result<std::optional<Loaded>> loaded = state.load(world, folder);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  ASSERT_TRUE(loaded->has_value());
  EXPECT_EQ((**loaded).contents.step, 1U);
  EXPECT_TRUE(state.holds(1));
  ASSERT_EQ((**loaded).skipped.size(), 1U);
  EXPECT_THAT((**loaded).skipped[0], HasSubstr(file));
}

TEST(Checkpoint, AFlippedByteAnywhereIsNamed) {
  with_damage([](const std::string& file, const std::string& content, State& state, ncclComm_t world,
                 const std::string& folder) {
    for (size_t at = 0; at < content.size(); ++at) {
      std::string damaged = content;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
      std::ofstream(file, std::ios::binary) << damaged;
      SCOPED_TRACE(file + " at " + std::to_string(at));
      expect_fallback(state, world, folder, file);
    }
  });
}

TEST(Checkpoint, AFileCutShortAnywhereIsNamed) {
  with_damage([](const std::string& file, const std::string& content, State& state, ncclComm_t world,
                 const std::string& folder) {
    for (size_t length = 0; length < content.size(); ++length) {
      std::ofstream(file, std::ios::binary) << content.substr(0, length);
      SCOPED_TRACE(file + " of length " + std::to_string(length));
      expect_fallback(state, world, folder, file);
    }
    std::filesystem::remove(file);
    expect_fallback(state, world, folder, file);
  });
}

TEST(Checkpoint, DamagedValuesAreNamedByArrayAndUnit) {
  with_damage([](const std::string& file, const std::string& content, State& state, ncclComm_t world,
                 const std::string& folder) {
    if (file.find("rank-00000") == std::string::npos) return;
    std::string damaged = content;
    damaged[8 + 4 * 7] ^= 1;  // the second record, after the 6 elements of the first
    std::ofstream(file, std::ios::binary) << damaged;
    Result<std::optional<Loaded>> loaded = state.load(world, folder);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_THAT((**loaded).skipped[0], HasSubstr("elements 0 to 6"));
    EXPECT_THAT((**loaded).skipped[0], HasSubstr("moment1 of embedding table"));
  });
}

/// Each call of the file layer fails once, on one rank of two: all ranks get the error, the last complete
/// checkpoint is there, and the next save works.
TEST(Checkpoint, AnOlderFormatIsRefused) {
  std::string text = text_of({});
  text.replace(text.find("checkpoint 2"), 12, "checkpoint 1");
  text.resize(text.rfind("checksum"));
  text += fmt::format("checksum {:016x}\n", checksum(text.data(), text.size()));
  EXPECT_THAT(parse_manifest(text).status().message(), HasSubstr("line 1: expected 'weir checkpoint 2'"));
}

TEST(Checkpoint, AFailureAtAnyCallIsToldToAllRanksAndHarmsNothing) {
  for (int failing : {0, 1}) {
    int calls = 0;
    for (int fatal = 0; fatal <= calls; ++fatal) {  // 0: none, to count
      TemporaryFolder folder;
      std::atomic<int> failures{0};
      std::atomic<int> saved{0};
      shard::toy::with_ranks(2, [&](int rank, ncclComm_t world) {
        State state(world, small_units(), {});
        Saver saver(world, folder.path(), 1);
        ASSERT_TRUE(save_parts(saver, rank, 1).ok());
        DyingFiles files(DyingFiles::Way::fails, rank == failing ? fatal : 0);
        Saver broken(world, folder.path(), 1, files);
        const Status status = save_parts(broken, rank, 2);
        if (rank == failing && fatal == 0) calls = files.calls();
        if (!status.ok()) {
          ++failures;
          EXPECT_THAT(status.message(), HasSubstr("planted failure"));
        }
        Result<std::optional<Loaded>> loaded = state.load(world, folder.path());
        ASSERT_TRUE(loaded.ok() && loaded->has_value()) << loaded.status().message();
        EXPECT_TRUE(state.holds((**loaded).contents.step));
        const Status again = save_parts(saver, rank, 3);
        EXPECT_TRUE(again.ok()) << again.message();
        saved += again.ok();
        Result<std::optional<Loaded>> last = state.load(world, folder.path());
        ASSERT_TRUE(last.ok() && last->has_value());
        EXPECT_TRUE(state.holds(3));
      });
      EXPECT_EQ(failures, fatal == 0 ? 0 : 2) << "call " << fatal << " of rank " << failing;
      EXPECT_EQ(saved, 2);
      EXPECT_THAT(steps_in(folder.path()), ElementsAre(3));
      EXPECT_THAT(leftovers(folder.path()), IsEmpty());
    }
    EXPECT_GT(calls, failing == 0 ? 15 : 8);
  }
}

TEST(Checkpoint, AFolderServesOneRunAtATime) {
  TemporaryFolder folder;
  shard::toy::with_ranks(2, [&](int, ncclComm_t world) {
    std::optional<Saver> first(std::in_place, world, folder.path(), 2);
    EXPECT_TRUE(first->open(false).ok());
    Saver second(world, folder.path(), 2);
    const Status refused = second.open(false);
    EXPECT_EQ(refused.code(), Code::invalid_usage);
    EXPECT_THAT(refused.message(),
                HasSubstr(fmt::format("{} is in use by process {} on host ", folder.path(), getpid())));
    EXPECT_TRUE(second.open(true).ok()) << "its own earlier ranks may still have it";
    first.reset();
    EXPECT_TRUE(second.open(false).ok());
  });
}

TEST(Checkpoint, AFolderThatCannotBeWrittenIsRefusedAtOnce) {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "x";
  shard::toy::with_ranks(2, [&](int, ncclComm_t world) {
    Saver saver(world, file, 2);
    EXPECT_THAT(saver.open(false).message(), HasSubstr("cannot be written to " + file));
    Saver nowhere(world, folder.path() + "/none/below", 2);
    EXPECT_THAT(nowhere.open(false).message(), HasSubstr("/none/below: No such file or directory"));
  });
}

TEST(Checkpoint, AFolderThatNotAllRanksShareIsRefused) {
  TemporaryFolder folder;
  for (const char* name : {"/a", "/b"}) std::filesystem::create_directory(folder.path() + name);
  shard::toy::with_ranks(3, [&](int rank, ncclComm_t world) {
    Saver alike(world, folder.path() + "/a", 2);
    EXPECT_TRUE(alike.open(false).ok());
    Saver apart(world, folder.path() + (rank == 2 ? "/b" : "/c"), 2);
    const Status refused = apart.open(false);
    EXPECT_EQ(refused.code(), Code::invalid_usage);
    EXPECT_THAT(refused.message(),
                HasSubstr("rank 2: the checkpoint folder " + folder.path() + "/b on host "));
    EXPECT_THAT(refused.message(), HasSubstr("is another one than that of rank 0"));
    Saver nowhere(world, folder.path() + (rank == 1 ? "/none" : "/d"), 2);
    EXPECT_THAT(nowhere.open(false).message(),
                ::testing::AllOf(HasSubstr("rank 1: "), HasSubstr("No such file or directory")));
  });
  for (const char* name : {"/a", "/b", "/c", "/d"}) EXPECT_THAT(leftovers(folder.path() + name), IsEmpty());
}

TEST(Checkpoint, AFolderWithTooLittleSpaceIsRefused) {
  TemporaryFolder folder;
  shard::toy::with_ranks(2, [&](int, ncclComm_t world) {
    Saver saver(world, folder.path(), 2);
    const Status refused = saver.open(false, uint64_t{1} << 60);
    EXPECT_EQ(refused.code(), Code::system_error);
    EXPECT_THAT(refused.message(), HasSubstr("but a checkpoint takes 2199023255552.0 MiB"));
  });
}

/// Saves steps 1 and 2 with three ranks, two of which share the folder a; the third has b.
void save_apart(const std::string& path) {
  for (const char* name : {"/a", "/b"}) std::filesystem::create_directory(path + name);
  shard::toy::with_ranks(3, [&](int rank, ncclComm_t world) {
    Saver saver(world, path + (rank == 2 ? "/b" : "/a"), 2);
    saver.use_local_folders();
    const Status opened = saver.open(false, 100);
    ASSERT_TRUE(opened.ok()) << opened.message();
    State state(world, shard::toy::units(), {});
    for (const uint64_t step : {1, 2}) {
      const Status saved = state.save(saver, step);
      ASSERT_TRUE(saved.ok()) << saved.message();
    }
  });
}

/// The step that ranks load of which each looks into the folder of its letter; 0: none.
uint64_t loaded_from(const std::string& path, const std::string& letters, std::vector<std::string>& skipped) {
  std::atomic<uint64_t> step = 0;
  shard::toy::with_ranks(static_cast<int>(letters.size()), [&](int rank, ncclComm_t world) {
    State state(world, shard::toy::units(), {});
    const auto loaded = state.load(world, path + "/" + letters[static_cast<size_t>(rank)], true);
    if (rank == 0)
      skipped = loaded.ok() && *loaded ? (*loaded)->skipped : std::vector{loaded.status().message()};
    if (!loaded.ok() || !*loaded) return;
    EXPECT_TRUE(state.holds((*loaded)->contents.step)) << letters;
    step = (*loaded)->contents.step;
  });
  return step;
}

TEST(Checkpoint, OfFoldersOfHostsLoadsWhereverItsFilesAre) {
  TemporaryFolder folder;
  save_apart(folder.path());
  const auto exists = [&](const char* file) { return std::filesystem::exists(folder.path() + file); };
  for (const char* file :
       {"/a/step-00000002/rank-00000", "/a/step-00000002/rank-00001", "/a/step-00000002/manifest",
        "/b/step-00000002/rank-00002", "/b/step-00000002/manifest", "/a/step-00000001/manifest"})
    EXPECT_TRUE(exists(file)) << file;
  EXPECT_FALSE(exists("/a/step-00000002/rank-00002"));
  std::vector<std::string> skipped;
  for (const char* letters : {"aab", "ab", "ba", "bbaca"})
    EXPECT_EQ(loaded_from(folder.path(), letters, skipped), 2u) << letters;
  EXPECT_THAT(skipped, IsEmpty());
  EXPECT_EQ(loaded_from(folder.path(), "cc", skipped), 0u);
}

TEST(Checkpoint, OfFoldersOfHostsNamesWhatIsMissing) {
  TemporaryFolder folder;
  save_apart(folder.path());
  std::vector<std::string> skipped;
  EXPECT_EQ(loaded_from(folder.path(), "aa", skipped), 0u);
  EXPECT_THAT(skipped,
              ElementsAre(HasSubstr("/a/step-00000002: no host has an undamaged rank-00002; expected all 3 "
                                    "files on the hosts together")));
  EXPECT_EQ(loaded_from(folder.path(), "bb", skipped), 0u);
  EXPECT_THAT(skipped, ElementsAre(HasSubstr("rank-00000, rank-00001")));
  std::filesystem::remove(folder.path() + "/b/step-00000002/rank-00002");
  EXPECT_EQ(loaded_from(folder.path(), "ab", skipped), 1u);
  EXPECT_THAT(skipped, ElementsAre(HasSubstr("no host has an undamaged rank-00002")));
  // A value that is damaged is found when it is read.
  std::fstream file(folder.path() + "/a/step-00000001/rank-00001",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(100);
  file.put('\x7f');
  file.close();
  EXPECT_EQ(loaded_from(folder.path(), "ab", skipped), 0u);
}

/// Those of a process that was killed.
TEST(Checkpoint, LeftoversAreRemovedAtTheBeginning) {
  TemporaryFolder folder;
  for (const char* name : {"/step-00000003.tmp", "/probe-1-0.tmp", "/mine.tmp"})
    std::filesystem::create_directory(folder.path() + name);
  std::ofstream(folder.path() + "/step-00000003.tmp/rank-00000") << "x";
  shard::toy::with_ranks(1, [&](int, ncclComm_t world) {
    Saver saver(world, folder.path(), 2);
    EXPECT_TRUE(saver.open(false).ok());
  });
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/step-00000003.tmp"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/probe-1-0.tmp"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/mine.tmp"));
}

TEST(Checkpoint, MisuseIsRefused) {
  TemporaryFolder folder;
  shard::toy::with_ranks(1, [&](int, ncclComm_t world) {
    Saver saver(world, folder.path(), 2);
    EXPECT_THAT(saver.finish().message(), HasSubstr("expected start() first"));
    Contents contents;
    contents.arrays = {"two words"};
    EXPECT_THAT(saver.start(contents, {}).message(), HasSubstr("'two words' names an array"));
    contents.arrays = {"parameters"};
    ASSERT_TRUE(saver.start(contents, {}).ok());
    EXPECT_THAT(saver.start(contents, {}).message(), HasSubstr("expected finish() first"));
    EXPECT_TRUE(saver.finish().ok());
  });
}

}  // namespace
}  // namespace weir::checkpoint
