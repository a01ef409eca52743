// SPDX-License-Identifier: Apache-2.0

#include "src/base/options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = Options::Note::Kind;

Options from(const std::map<std::string, std::string>& texts) {
  std::map<std::string, Options::Value> values;
  for (const auto& [name, text] : texts) values[name] = {text, "the test"};
  return Options::from(values);
}

std::vector<std::string> warnings(const Options& options) {
  std::vector<std::string> found;
  for (const auto& note : options.notes) {
    if (note.kind == Kind::warning) found.push_back(note.text);
  }
  return found;
}

TEST(Options, NothingSetGivesDefaults) {
  const Options options = from({});
  EXPECT_THAT(options.notes, IsEmpty());
  EXPECT_EQ(options.nccl_version, 23203);
  EXPECT_EQ(options.transports, "loop,shm,cma,net_plugin,verbs,tcp");
  EXPECT_EQ(options.peer_timeout_s, 30);
  EXPECT_EQ(options.stuck_timeout_s, 1800);
  EXPECT_EQ(options.deadlock_timeout_s, 30);
  EXPECT_EQ(options.stuck_warning_s, 30);
}

TEST(Options, ReadsEveryType) {
  const Options options = from({{"NCCL_DEBUG", "INFO"},
                                {"NCCL_SOCKET_IFNAME", "=eth0"},
                                {"WEIR_SLOTS", "0x10"},
                                {"WEIR_SLOT_BYTES", "128K"},
                                {"NCCL_SHM_DISABLE", "1"},
                                {"WEIR_CHECK", "0"},
                                {"WEIR_YIELD", "0"},
                                {"WEIR_PEER_TIMEOUT", "2.5"}});
  EXPECT_THAT(warnings(options), IsEmpty());
  EXPECT_EQ(options.notes.size(), 8u);
  EXPECT_EQ(options.log.level, "INFO");
  EXPECT_EQ(options.socket_ifname, "=eth0");
  EXPECT_EQ(options.slots, 16);
  EXPECT_EQ(options.slot_bytes, 128 * 1024);
  EXPECT_TRUE(options.shm_disable);
  EXPECT_FALSE(options.check);
  EXPECT_EQ(options.spins, -1);
  EXPECT_EQ(options.yields, 0);
  EXPECT_EQ(options.peer_timeout_s, 2.5);
}

TEST(Options, BadValuesKeepTheDefaultAndSayWhatWasExpected) {
  const std::pair<const char*, const char*> bad[] = {
      {"WEIR_SLOTS", "many"},
      {"WEIR_SLOTS", "1"},
      {"WEIR_SLOTS", "65"},
      {"WEIR_SLOTS", "4x"},
      {"WEIR_SLOTS", ""},
      {"WEIR_SLOTS", "4K"},
      {"WEIR_SLOT_BYTES", "4X"},
      {"WEIR_SLOT_BYTES", "1"},
      {"NCCL_SHM_DISABLE", "yes"},
      {"NCCL_MIN_NCHANNELS", "0"},
      {"NCCL_MIN_NCHANNELS", "-2"},
      {"NCCL_MAX_NCHANNELS", "65"},
      {"NCCL_SHM_DISABLE", "2"},
      {"WEIR_PEER_TIMEOUT", "-1"},
      {"WEIR_PEER_TIMEOUT", "nan"},
      {"WEIR_PEER_TIMEOUT", "5 s"},
      {"WEIR_NCCL_VERSION", "2.28"},
      {"WEIR_SLOTS", "99999999999999999999"},
  };
  for (const auto& [name, text] : bad) {
    const Options options = from({{name, text}});
    EXPECT_THAT(warnings(options),
                ::testing::ElementsAre(AllOf(HasSubstr(fmt::format("{}={} ", name, text)),
                                             HasSubstr("the test"), HasSubstr("expected"))));
    for (const OptionRow& row : option_table())
      EXPECT_EQ(value_text(options, row), value_text(Options(), row)) << text;
  }
}

TEST(Options, LimitsOfCtasAreThoseOfChannels) {
  const Options options = from({{"NCCL_MIN_CTAS", "4"}, {"NCCL_MAX_CTAS", "8"}});
  EXPECT_EQ(options.least_rings, 4);
  EXPECT_EQ(options.most_rings, 8);
  EXPECT_THAT(warnings(options), IsEmpty());
  EXPECT_THAT(warnings(from({{"NCCL_MAX_CTAS", "65"}})),
              ::testing::ElementsAre(AllOf(HasSubstr("NCCL_MAX_CTAS=65"), HasSubstr("expected"))));
  const Options both = from({{"NCCL_MIN_NCHANNELS", "2"}, {"NCCL_MIN_CTAS", "4"}});
  EXPECT_EQ(both.least_rings, 2);
  EXPECT_THAT(warnings(both),
              ::testing::ElementsAre(HasSubstr("NCCL_MIN_CTAS=4 (from the test) is not read")));
}

TEST(Options, WhatOtherPartsReadIsNoMisspeltOption) {
  for (const char* name : {"WEIR_TORCH_REPLACE", "WEIR_MPI_JOB", "WEIR_TRAIN_KERNELS"})
    EXPECT_THAT(from({{name, "gloo"}}).notes, IsEmpty()) << name;
}

TEST(Options, ASecretIsNotShown) {
  EXPECT_THAT(from({{"WEIR_SECRET", "sesame"}}).notes, IsEmpty());
  EXPECT_EQ(from({{"WEIR_SECRET_FILE", "/a/file"}}).secret_file, "/a/file");
  EXPECT_EQ(Options().reports, "user");
  EXPECT_EQ(from({{"WEIR_REPORTS", "off"}}).reports, "off");
}

TEST(Options, ExpectsANumberWithoutAUnitWhereFractionsMean) {
  EXPECT_EQ(from({{"WEIR_PACE", "0.95"}}).pace_share, 0.95);
  EXPECT_THAT(warnings(from({{"WEIR_PACE", "-1"}})),
              ::testing::ElementsAre(HasSubstr("expected a number, 0 to 100")));
}

TEST(Options, AnAutomaticValueMayLieBesideTheRange) {
  EXPECT_EQ(Options().slot_bytes, 0);
  EXPECT_EQ(from({{"WEIR_SLOT_BYTES", "0"}}).slot_bytes, 0);
  EXPECT_THAT(warnings(from({{"WEIR_SLOT_BYTES", "0"}})), IsEmpty());
  EXPECT_THAT(warnings(from({{"WEIR_SLOT_BYTES", "255"}})),
              ::testing::ElementsAre(HasSubstr("expected bytes, 256 to 67108864, or 0; 0 is used")));
}

TEST(Options, UnknownNamesAreNamedOnce) {
  const Options options = from({{"WEIR_SLOT", "4"},
                                {"NCCL_IB_AR_THRESHOLD", "106"},
                                {"NCCL_CONF_FILE", "x"},
                                {"WEIR_FAKE_GPUS", "4"},  // set by weir run --pretend
                                {"PATH", "/bin"}});
  EXPECT_THAT(warnings(options),
              ::testing::ElementsAre(HasSubstr("WEIR_SLOT is set by the test, but weir has no such option")));
  ASSERT_EQ(options.notes.size(), 2u);
  EXPECT_THAT(options.notes[0].text, HasSubstr("NCCL_IB_AR_THRESHOLD set by the test to 106 has no effect"));
  EXPECT_EQ(options.notes[0].kind, Options::Note::Kind::info);
}

TEST(Options, MisspeltNamesAreGuessedAt) {
  EXPECT_THAT(warnings(from({{"WEIR_SLOT", "4"}, {"NCCL_DEUBG", "INFO"}, {"NCCL_IB_AR_TRESHOLD", "1"}})),
              ::testing::UnorderedElementsAre(HasSubstr("did you mean WEIR_SLOTS?"),
                                              HasSubstr("did you mean NCCL_DEBUG?"),
                                              HasSubstr("did you mean NCCL_IB_AR_THRESHOLD?")));
  // NCCL's source reads names that its documentation lacks: they must not cause a warning.
  const Options options = from({{"NCCL_QUITE_SOMETHING_ELSE", "1"}});
  ASSERT_EQ(options.notes.size(), 1u);
  EXPECT_EQ(options.notes[0].kind, Options::Note::Kind::info);
  EXPECT_THAT(options.notes[0].text, HasSubstr("is left to plugins"));
}

TEST(Options, TheTableIsWhole) {
  std::set<std::string_view> names;
  for (const OptionRow& row : option_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_FALSE(type_name(row).empty()) << row.name;
    const std::string text = value_text(Options(), row);
    if (text.empty()) continue;
    EXPECT_THAT(warnings(from({{std::string(row.name), text}})), IsEmpty()) << "the default is a valid value";
  }
  EXPECT_LE(names.size(), 89u);
}

TEST(Options, ConfFilesAreReadAsNcclDoes) {
  std::map<std::string, Options::Value> values = {{"SET", {"before", "the environment"}}};
  const std::string longest(1023, 'v');
  read_conf_text(
      "# NCCL_A=comment\nNCCL_B=1\r\n NCCL_C = 2 \nno equals "
      "sign\n=5\nSET=after\nNCCL_B=second\nNCCL_D=\nNCCL_E=x=y\nNCCL_L=" +
          longest + "\nNCCL_M=" + longest + "v\nNCCL_LAST=end",
      "file", values);
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : values) texts[name] = value.text;
  EXPECT_EQ(texts, (std::map<std::string, std::string>{{"SET", "before"},
                                                       {"NCCL_B", "1"},
                                                       {" NCCL_C ", " 2 "},
                                                       {"NCCL_D", ""},
                                                       {"NCCL_E", "x=y"},
                                                       {"NCCL_L", longest},
                                                       {"NCCL_LAST", "end"}}));
  EXPECT_EQ(values["NCCL_B"].origin, "file");
}

TEST(Options, APluginGivesWhatTheEnvironmentWouldHave) {
  const std::string path = ::testing::TempDir() + "weir-options-test.conf";
  std::ofstream(path) << "NCCL_IB_SL=3\n";
  const std::map<std::string, std::string> all = {
      {"NCCL_CONF_FILE", path}, {"NCCL_ALGO", "tree"}, {"NCCL_PROTO", "LL"}, {"WEIR_SLOTS", "8"}};
  for (const auto& [name, value] : all) setenv(name.c_str(), value.c_str(), 1);
  const EnvironmentPlugin plugin{"env plugin test",
                                 [](const std::string& name) -> std::optional<std::string> {
                                   if (name == "NCCL_ALGO") return "ring";
                                   if (name == "NCCL_IB_HCA") return "mlx5_0";
                                   return std::nullopt;
                                 }};
  const Options options = Options::from_environment(&plugin);
  for (const auto& [name, value] : all) unsetenv(name.c_str());
  std::remove(path.c_str());
  EXPECT_EQ(options.nccl_algorithms, "ring");
  EXPECT_EQ(options.ib_hca, "mlx5_0") << "also where the environment has nothing";
  EXPECT_EQ(options.nccl_protocols, "") << "what the plugin does not give is not set";
  EXPECT_EQ(options.slots, 8) << "plugins are made for NCCL's variables";
  EXPECT_EQ(options.ib_service_level, 3) << "files are weir's";
  EXPECT_TRUE(std::ranges::any_of(options.notes, [](const Options::Note& note) {
    return note.text == "NCCL_ALGO set by env plugin test to ring";
  }));
}

TEST(Options, TheEnvironmentWinsOverFiles) {
  const std::string path = ::testing::TempDir() + "weir-options-test.conf";
  std::ofstream(path) << "WEIR_SLOTS=9\nWEIR_ALGO=ring\n";
  setenv("NCCL_CONF_FILE", path.c_str(), 1);
  setenv("WEIR_SLOTS", "8", 1);
  const Options options = Options::from_environment();
  unsetenv("NCCL_CONF_FILE");
  unsetenv("WEIR_SLOTS");
  std::remove(path.c_str());
  EXPECT_EQ(options.slots, 8);
  EXPECT_EQ(options.algorithm, "ring");
}

/// Reads options with `text` in $HOME/.nccl.conf and the given NCCL_CONF_FILE.
Options with_home(const std::string& text, const char* conf_file) {
  std::string folder = ::testing::TempDir() + "weir-options-XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/.nccl.conf";
  std::ofstream(path) << text;
  const char* const user_folder = std::getenv("HOME");
  const std::string before = user_folder == nullptr ? "" : user_folder;
  setenv("HOME", folder.c_str(), 1);
  if (conf_file != nullptr) setenv("NCCL_CONF_FILE", conf_file, 1);
  Options options = Options::from_environment();
  unsetenv("NCCL_CONF_FILE");
  if (user_folder != nullptr) {
    setenv("HOME", before.c_str(), 1);
  } else {
    unsetenv("HOME");
  }
  std::remove(path.c_str());
  rmdir(folder.c_str());
  return options;
}

/// A home that does not exist is not made; a folder that is named is taken as it is.
TEST(Options, RatesAreCachedInHomesThatExist) {
  const auto cache_of = [](const char* home) {
    const char* const before = std::getenv("HOME");
    const std::string kept = before == nullptr ? "" : before;
    setenv("HOME", home, 1);
    std::string folder = Options::from_environment().cache_dir;
    if (before != nullptr) setenv("HOME", kept.c_str(), 1);
    if (before == nullptr) unsetenv("HOME");
    return folder;
  };
  unsetenv("XDG_CACHE_HOME");
  unsetenv("WEIR_CACHE_DIR");
  EXPECT_EQ(cache_of("/no/such/home"), "");
  EXPECT_EQ(cache_of("/tmp"), "/tmp/.cache/weir");
  setenv("WEIR_CACHE_DIR", "/no/such/folder", 1);
  EXPECT_EQ(cache_of("/no/such/home"), "/no/such/folder");
  unsetenv("WEIR_CACHE_DIR");
}

TEST(Options, TheUsersFileIsReadUnlessAnotherOneIsNamed) {
  EXPECT_EQ(with_home("WEIR_SLOTS=9\n#WEIR_SLOTS=7\nWEIR_SLOTS=6", nullptr).slots, 9);
  const Options other = with_home("WEIR_SLOTS=9\n", "/dev/null");
  EXPECT_EQ(other.slots, Options().slots);
  EXPECT_THAT(warnings(other), IsEmpty());
}

TEST(Options, AFileThatIsNamedAndNotThereIsWarnedOf) {
  EXPECT_THAT(warnings(with_home("WEIR_SLOTS=9\n", "/no/such/file")),
              ::testing::ElementsAre(HasSubstr("NCCL_CONF_FILE=/no/such/file cannot be read")));
}

}  // namespace
}  // namespace weir
