// SPDX-License-Identifier: Apache-2.0
// Compares the table's names, types and numbers with those of the headers of lldpd's client library.
#include "src/drivers/lldp_table.h"

#include <gtest/gtest.h>
#include <lldpctl.h>

#include "tests/drivers/same_call.h"

namespace weir::drivers {
namespace {

using Table = LldpTable;

TEST(LldpTable, IsAsTheHeadersSay) {
  Comparison<Table> compare;
  EXPECT_EQ(compare.differ<decltype(lldpctl_new_name)>("lldpctl_new_name", &Table::new_name), "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_get_default_transport)>("lldpctl_get_default_transport",
                                                                    &Table::default_transport),
            "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_release)>("lldpctl_release", &Table::release), "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_last_error)>("lldpctl_last_error", &Table::last_error), "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_strerror)>("lldpctl_strerror", &Table::error_text), "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_get_interfaces)>("lldpctl_get_interfaces", &Table::interfaces),
            "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_get_port)>("lldpctl_get_port", &Table::port), "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_atom_iter)>("lldpctl_atom_iter", &Table::iter), "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_atom_iter_next)>("lldpctl_atom_iter_next", &Table::iter_next),
            "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_atom_iter_value)>("lldpctl_atom_iter_value", &Table::iter_value),
            "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_atom_get)>("lldpctl_atom_get", &Table::get), "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_atom_get_str)>("lldpctl_atom_get_str", &Table::get_text), "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_atom_get_int)>("lldpctl_atom_get_int", &Table::get_int), "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_atom_dec_ref)>("lldpctl_atom_dec_ref", &Table::dec_ref), "");
  EXPECT_EQ(compare.differ<decltype(lldpctl_log_callback)>("lldpctl_log_callback", &Table::log_callback), "");
  EXPECT_EQ(compare.left(), "");
}

TEST(LldpTable, HasTheNumbersOfTheHeaders) {
  EXPECT_EQ(lldp::kErrEof, LLDPCTL_ERR_EOF);
  EXPECT_EQ(lldp::kErrCannotConnect, LLDPCTL_ERR_CANNOT_CONNECT);
  EXPECT_EQ(lldp::kErrCallbackFailure, LLDPCTL_ERR_CALLBACK_FAILURE);
  EXPECT_EQ(lldp::kInterfaceName, lldpctl_k_interface_name);
  EXPECT_EQ(lldp::kPortNeighbors, lldpctl_k_port_neighbors);
  EXPECT_EQ(lldp::kPortId, lldpctl_k_port_id);
  EXPECT_EQ(lldp::kPortChassis, lldpctl_k_port_chassis);
  EXPECT_EQ(lldp::kChassisId, lldpctl_k_chassis_id);
  EXPECT_EQ(lldp::kChassisName, lldpctl_k_chassis_name);
  EXPECT_EQ(lldp::kChassisCapEnabled, lldpctl_k_chassis_cap_enabled);
}

}  // namespace
}  // namespace weir::drivers
