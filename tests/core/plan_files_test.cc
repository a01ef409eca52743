// SPDX-License-Identifier: Apache-2.0
// Plans from files and folders, as rank 0 reads and sends them.
#include "src/core/planning/plan_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/text.h"
#include "algorithms/msccl/msccl.h"
#include "algorithms/mscclpp/mscclpp.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr uint32_t kSlots = 4;

class PlanFiles : public ::testing::Test {
 protected:
  PlanFiles() {
    char name[] = "/tmp/weir_plans_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~PlanFiles() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "") const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
    return path(name);
  }
  /// The file names of what is read.
  std::vector<std::string> read(const std::string& communicator = "", int ranks = 4) const {
    const auto plans = read_plan_files(path(), communicator, ranks, kSlots);
    EXPECT_TRUE(plans.ok()) << plans.status().message();
    std::vector<std::string> names;
    if (!plans.ok()) return names;
    for (const auto& plan : plans->all()) names.push_back(plan->name.substr(folder_.size() + 1));
    return names;
  }

 private:
  std::string folder_;
};

ir::Plan ring(Collective kind, int ranks) {
  return *algorithms::emit(
      "ring", {kind, ranks, 0, static_cast<uint32_t>(kind == Collective::all_reduce ? ranks : 1)});
}

TEST_F(PlanFiles, AFolderHasOnePerFile) {
  write("b.plan", ir::write_text(ring(Collective::all_reduce, 4)));
  write("a.xml", *msccl::write(ring(Collective::all_gather, 4)));
  write("c.plan", ir::write_text(ring(Collective::all_reduce, 3)));
  write("README", "not a plan");
  write("d.json", *mscclpp::write(ring(Collective::reduce_scatter, 4), {}));
  EXPECT_THAT(read(), ElementsAre("a.xml", "b.plan", "d.json"));
  EXPECT_THAT(read("", 3), ElementsAre("c.plan"));
  EXPECT_THAT(read("", 2), IsEmpty());
}

TEST_F(PlanFiles, ACommunicatorsNameChoosesAFolder) {
  write("all.plan", ir::write_text(ring(Collective::all_reduce, 4)));
  write("data/own.plan", ir::write_text(ring(Collective::all_gather, 4)));
  EXPECT_THAT(read("data"), ElementsAre("data/own.plan"));
  EXPECT_THAT(read("other"), ElementsAre("all.plan"));
  EXPECT_THAT(read(".."), ElementsAre("all.plan"));
  EXPECT_THAT(read("data/../data"), ElementsAre("all.plan"));
}

TEST_F(PlanFiles, WrongPlansAreRefusedWithTheirMove) {
  ir::Plan wrong = ring(Collective::all_reduce, 4);
  wrong.moves.back().to.kind = ir::Operand::Kind::input;
  const std::string file = write("wrong.plan", ir::write_text(wrong));
  const auto refused = read_plan_files(file, "", 4, kSlots).status();
  EXPECT_EQ(refused.code(), Code::invalid_usage);
  EXPECT_THAT(refused.message(),
              AllOf(StartsWith(file + " is not run, because its plan is wrong: "), HasSubstr("move ")));
  EXPECT_THAT(read_plan_files(write("no.plan", "nothing"), "", 4, kSlots).status().message(),
              StartsWith(path("no.plan") + ": line 1: expected \"weir plan 1\""));
  EXPECT_THAT(read_plan_files(path("missing"), "", 4, kSlots).status().message(), HasSubstr(path("missing")));
}

TEST_F(PlanFiles, ReachAllRanksAsTheyAre) {
  write("a.plan", ir::write_text(ring(Collective::all_reduce, 4)));
  const auto read = read_plan_files(path(), "", 4, kSlots);
  ASSERT_TRUE(read.ok());
  const auto told = decode_plans(encode_plans(read));
  ASSERT_TRUE(told.ok()) << told.status().message();
  ASSERT_EQ(told->all().size(), 1u);
  EXPECT_EQ(told->all()[0]->plan, read->all()[0]->plan);
  EXPECT_EQ(told->all()[0]->name, path("a.plan"));
}

TEST_F(PlanFiles, SoDoesWhatWasWrong) {
  const auto told = decode_plans(encode_plans(Status(Code::system_error, "it burns")));
  EXPECT_EQ(told.status().code(), Code::system_error);
  EXPECT_EQ(told.status().message(), "it burns");
}

TEST_F(PlanFiles, DamagedBytesAreRefused) {
  write("a.plan", ir::write_text(ring(Collective::all_reduce, 4)));
  const Bytes good = encode_plans(read_plan_files(path(), "", 4, kSlots));
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    Bytes bytes = good;
    if (random() % 2 == 0) bytes.resize(random() % bytes.size());
    for (size_t n = random() % 4; n > 0 && !bytes.empty(); --n)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    const auto told = decode_plans(bytes);
    EXPECT_TRUE(told.ok() || !told.status().message().empty());
  }
  EXPECT_EQ(decode_plans({}).status().code(), Code::remote_error);
}

}  // namespace
}  // namespace weir::core
