// SPDX-License-Identifier: Apache-2.0
// Documents in JSON lines, and lines that are something else.
#include "trainer/data/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "tests/trainer/temporary_folder.h"

namespace weir::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JsonLines : public ::testing::Test {
 protected:
  Status read(const std::string& content) {
    documents_.clear();
    std::ofstream(path(), std::ios::binary) << content;
    return for_each_document(path(), [&](std::string_view text) {
      documents_.emplace_back(text);
      return text == "stop" ? Status(Code::invalid_argument, "was asked to") : Status();
    });
  }
  std::string path() const { return folder_.path() + "/lines.jsonl"; }
  std::vector<std::string> documents_;

 private:
  checkpoint::TemporaryFolder folder_;
};

TEST_F(JsonLines, AreDocumentsInOrder) {
  const Status status = read(R"({"text": "one\ntwo", "id": 3})"
                             "\n\n  \r\n"
                             R"({"text": "\u00e9 and \u0000"})"
                             "\r\n"
                             R"({"text": ""})");
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(documents_, ElementsAre("one\ntwo", std::string("\xc3\xa9 and \0", 8), ""));
}

TEST_F(JsonLines, OfAnotherFormAreNamed) {
  const auto said = [&](const std::string& content) { return read(content).message().substr(path().size()); };
  EXPECT_THAT(said("{\"text\": \"a\"}\n{\"text\": \n"), HasSubstr(", line 2: is not JSON: "));
  EXPECT_EQ(said("[1]\n"), ", line 1: is JSON's array; expected an object with the field \"text\"");
  EXPECT_EQ(said("{\"story\": \"a\"}\n"), ", line 1: has no field \"text\"; expected the document there");
  EXPECT_EQ(said("{\"text\": 7}\n"), ", line 1: the field \"text\" is JSON's number; expected a string");
  EXPECT_EQ(read("{\"text\": \"stop\"}\n{\"text\": \"a\"}\n").message(), "was asked to");
  EXPECT_THAT(documents_, ElementsAre("stop"));
  EXPECT_THAT(for_each_document("/no/such", {}).message(),
              HasSubstr("/no/such: the documents cannot be read: No such file"));
}

}  // namespace
}  // namespace weir::trainer
