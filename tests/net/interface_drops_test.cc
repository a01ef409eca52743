// SPDX-License-Identifier: Apache-2.0

#include "src/net/interface_drops.h"

#include <gmock/gmock.h>

#include "src/net/interfaces.h"

namespace weir {
namespace {

std::set<std::string> all_names() {
  const auto interfaces = list_interfaces();
  EXPECT_TRUE(interfaces.ok());
  std::set<std::string> names;
  for (const Interface& interface : *interfaces) names.insert(interface.name);
  return names;
}

uint64_t dropped(const std::set<std::string>& names) {
  const auto faults = interface_faults(names);
  EXPECT_TRUE(faults.ok()) << faults.status().message();
  return faults.ok() ? faults->dropped : 0;
}

TEST(InterfaceDrops, NamesThatNobodyHasCountNothing) {
  EXPECT_EQ(dropped({}), 0u);
  EXPECT_EQ(dropped({"no such name", ""}), 0u);
}

TEST(InterfaceDrops, AddUpOverInterfaces) {
  const uint64_t before = dropped(all_names());
  uint64_t each = 0;
  for (const std::string& name : all_names()) each += dropped({name});
  EXPECT_GE(each, before);
  EXPECT_GE(dropped(all_names()), each);
}

}  // namespace
}  // namespace weir
