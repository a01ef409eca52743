// SPDX-License-Identifier: Apache-2.0
// NCCL 2.30's parameters by name: all kinds of values, all ways to ask, and what cannot be asked.
#include "src/base/options.h"
#include "tests/api/ranks.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ncclParamHandle_t bound(const char* key) {
  ncclParamHandle_t handle = nullptr;
  EXPECT_EQ(ncclParamBind(&handle, key), ncclSuccess) << last_sentence();
  return handle;
}

TEST(Params, AWholeNumberInEveryWidth) {
  const ncclParamHandle_t slots = bound("WEIR_SLOTS");
  int8_t i8 = 0;
  int16_t i16 = 0;
  int32_t i32 = 0;
  int64_t i64 = 0;
  uint8_t u8 = 0;
  uint16_t u16 = 0;
  uint32_t u32 = 0;
  uint64_t u64 = 0;
  EXPECT_EQ(ncclParamGetI8(slots, &i8), ncclSuccess);
  EXPECT_EQ(ncclParamGetI16(slots, &i16), ncclSuccess);
  EXPECT_EQ(ncclParamGetI32(slots, &i32), ncclSuccess);
  EXPECT_EQ(ncclParamGetI64(slots, &i64), ncclSuccess);
  EXPECT_EQ(ncclParamGetU8(slots, &u8), ncclSuccess);
  EXPECT_EQ(ncclParamGetU16(slots, &u16), ncclSuccess);
  EXPECT_EQ(ncclParamGetU32(slots, &u32), ncclSuccess);
  EXPECT_EQ(ncclParamGetU64(slots, &u64), ncclSuccess);
  EXPECT_THAT(
      (std::vector<uint64_t>{static_cast<uint64_t>(i8), static_cast<uint64_t>(i16),
                             static_cast<uint64_t>(i32), static_cast<uint64_t>(i64), u8, u16, u32, u64}),
      ::testing::Each(4u));
}

TEST(Params, WhatATypeCannotHoldIsRefusedAndTheOutputLeftAlone) {
  const ncclParamHandle_t automatic = bound("WEIR_SPIN");  // -1
  uint32_t u32 = 77;
  EXPECT_EQ(ncclParamGetU32(automatic, &u32), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), AllOf(HasSubstr("WEIR_SPIN"), HasSubstr("'-1'")));
  EXPECT_EQ(u32, 77u);
  int8_t i8 = 0;
  EXPECT_EQ(ncclParamGetI8(automatic, &i8), ncclSuccess);
  EXPECT_EQ(i8, -1);
  int64_t i64 = 77;
  EXPECT_EQ(ncclParamGetI64(bound("WEIR_TRANSPORTS"), &i64), ncclInvalidArgument) << "a text";
  EXPECT_EQ(i64, 77);
  uint16_t u16 = 77;
  EXPECT_EQ(ncclParamGetU16(bound("WEIR_EXCHANGE_AREA_BYTES"), &u16), ncclInvalidArgument);
  EXPECT_EQ(u16, 77);
}

TEST(Params, TextsAndTheirBytes) {
  const ncclParamHandle_t transports = bound("WEIR_TRANSPORTS");
  const std::string expected = Options().transports;
  const char* text = nullptr;
  ASSERT_EQ(ncclParamGetStr(transports, &text), ncclSuccess);
  EXPECT_EQ(text, expected);
  std::string bytes(expected.size(), '?');
  int length = -1;
  ASSERT_EQ(ncclParamGet(transports, bytes.data(), static_cast<int>(bytes.size()), &length), ncclSuccess);
  EXPECT_EQ(bytes, expected);
  EXPECT_EQ(length, static_cast<int>(expected.size()));
  EXPECT_EQ(ncclParamGet(transports, bytes.data(), length - 1, &length), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("bytes, but maxLen is"));
  EXPECT_EQ(ncclParamGet(transports, bytes.data(), -1, &length), ncclInvalidArgument);
  EXPECT_EQ(ncclParamGet(transports, nullptr, 100, &length), ncclInvalidArgument);
}

TEST(Params, ByNameWithoutAHandle) {
  const char* value = nullptr;
  int length = -1;
  ASSERT_EQ(ncclParamGetParameter("WEIR_SLOTS", &value, &length), ncclSuccess);
  EXPECT_STREQ(value, "4");
  EXPECT_EQ(length, 1);
  for (const char* const key : {"", "weir_slots", "WEIR_SLOTS ", static_cast<const char*>(nullptr)}) {
    EXPECT_EQ(ncclParamGetParameter(key, &value, &length), ncclInvalidArgument);
    EXPECT_THAT(last_sentence(), HasSubstr("ncclParamGetAllParameterKeys"));
  }
  EXPECT_EQ(ncclParamGetParameter("WEIR_SLOTS", nullptr, &length), ncclInvalidArgument);
  EXPECT_EQ(ncclParamGetParameter("WEIR_SLOTS", &value, nullptr), ncclInvalidArgument);
}

TEST(Params, AllKeysCanBeBoundAndRead) {
  const char** keys = nullptr;
  int count = 0;
  ASSERT_EQ(ncclParamGetAllParameterKeys(&keys, &count), ncclSuccess);
  ASSERT_EQ(static_cast<size_t>(count), option_table().size());
  const std::vector<std::string> names(keys, keys + count);
  for (const std::string& name : names) {
    const char* text = nullptr;
    EXPECT_EQ(ncclParamGetStr(bound(name.c_str()), &text), ncclSuccess) << name;
    EXPECT_NE(text, nullptr) << name;
  }
  EXPECT_EQ(ncclParamGetAllParameterKeys(nullptr, &count), ncclInvalidArgument);
  ncclParamDumpAll();
}

TEST(Params, HandlesThatNobodyMade) {
  int number = 0;
  const char* text = nullptr;
  auto* const stray = reinterpret_cast<ncclParamHandle_t>(&number);
  int32_t i32 = 0;
  for (const ncclParamHandle_t handle : {stray, ncclParamHandle_t{}}) {
    EXPECT_EQ(ncclParamGetI32(handle, &i32), ncclInvalidArgument);
    EXPECT_THAT(last_sentence(), HasSubstr("ncclParamBind"));
    EXPECT_EQ(ncclParamGetStr(handle, &text), ncclInvalidArgument);
    EXPECT_EQ(ncclParamGet(handle, &number, 4, &number), ncclInvalidArgument);
  }
  EXPECT_EQ(ncclParamBind(nullptr, "WEIR_SLOTS"), ncclInvalidArgument);
  EXPECT_EQ(ncclParamGetI32(bound("WEIR_SLOTS"), nullptr), ncclInvalidArgument);
}

}  // namespace
}  // namespace weir::api
