// SPDX-License-Identifier: Apache-2.0
/// The functions of libibverbs.so.1 that are used, and the conversion of its errors to messages; for
/// verbs*.cc of src/drivers, which include libibverbs' header.
/// Tests: tests/transports/verbs_test.cc
#pragma once

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>

#include "src/drivers/library.h"

namespace weir::drivers {

struct VerbsTable {
  decltype(ibv_get_device_list)* get_device_list;
  decltype(ibv_free_device_list)* free_device_list;
  decltype(ibv_get_device_name)* get_device_name;
  decltype(ibv_open_device)* open_device;
  decltype(ibv_close_device)* close_device;
  decltype(ibv_query_device)* query_device;
  int (*query_port)(ibv_context*, uint8_t, _compat_ibv_port_attr*);
  decltype(_ibv_query_gid_table)* query_gid_table;
  decltype(ibv_get_async_event)* get_async_event;
  decltype(ibv_ack_async_event)* ack_async_event;
  decltype(ibv_event_type_str)* event_type_str;
  decltype(ibv_wc_status_str)* wc_status_str;
  decltype(ibv_alloc_pd)* alloc_pd;
  decltype(ibv_dealloc_pd)* dealloc_pd;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, size_t, int);
  decltype(ibv_dereg_mr)* dereg_mr;
  /// Available since rdma-core 34; null before.
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, uint64_t, size_t, uint64_t, int, int);
  decltype(ibv_create_cq)* create_cq;
  decltype(ibv_destroy_cq)* destroy_cq;
  decltype(ibv_create_qp)* create_qp;
  decltype(ibv_modify_qp)* modify_qp;
  decltype(ibv_destroy_qp)* destroy_qp;

  /// The name of a function that `library` lacks, or null.
  const char* find_in(const Library& library) {
    const char* missing = nullptr;
    const auto find = [&](const char* name, auto*& function) {
      if (!library.find(name, function)) missing = name;
    };
    find("ibv_get_device_list", get_device_list);
    find("ibv_free_device_list", free_device_list);
    find("ibv_get_device_name", get_device_name);
    find("ibv_open_device", open_device);
    find("ibv_close_device", close_device);
    find("ibv_query_device", query_device);
    find("ibv_query_port", query_port);
    find("_ibv_query_gid_table", query_gid_table);
    find("ibv_get_async_event", get_async_event);
    find("ibv_ack_async_event", ack_async_event);
    find("ibv_event_type_str", event_type_str);
    find("ibv_wc_status_str", wc_status_str);
    find("ibv_alloc_pd", alloc_pd);
    find("ibv_dealloc_pd", dealloc_pd);
    find("ibv_reg_mr", reg_mr);
    find("ibv_dereg_mr", dereg_mr);
    find("ibv_create_cq", create_cq);
    find("ibv_destroy_cq", destroy_cq);
    find("ibv_create_qp", create_qp);
    find("ibv_modify_qp", modify_qp);
    find("ibv_destroy_qp", destroy_qp);
    if (!library.find("ibv_reg_dmabuf_mr", reg_dmabuf_mr)) reg_dmabuf_mr = nullptr;
    return missing;
  }
};

/// Makes the error "RDMA device rxe0 cannot `what`: reason"; `error` is an errno value.
inline Status verbs_error(const std::string& device, const char* what, int error) {
  return Status(Code::system_error, fmt::format("RDMA device {} cannot {}: {}", device, what,
                                                std::generic_category().message(error)));
}

}  // namespace weir::drivers
