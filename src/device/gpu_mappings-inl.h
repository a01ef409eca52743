// SPDX-License-Identifier: Apache-2.0
/// GpuMappings over one vendor's driver; see gpu_vendor-inl.h.
/// Tests: tests/device/gpu_sharing_test.cc
#pragma once

#include <fmt/format.h>

#include "src/base/chunks.h"
#include "src/device/gpu_mappings.h"
#include "src/device/gpu_sharing-inl.h"
#include "src/drivers/mapping_table.h"

namespace weir::device {

template <typename Api>
class VendorMappings final : public GpuMappings {
 public:
  VendorMappings(Api& api, const GpuSelf& self) : api_(api), self_(self) {}

  Result<GpuMapping> make(size_t bytes, Socket& file) override {
    GpuMapping made;
    WEIR_TRY(unhindered_on(api_, self_, [&]() -> Status {
      const Properties properties = own();
      size_t unit = 0;
      WEIR_TRY(say("MemGetAllocationGranularity",
                   table().granularity(&unit, &properties, drivers::kBestGranularity)));
      made.bytes = round_up(bytes, unit);
      Handle handle{};
      WEIR_TRY(say("MemCreate", table().create(&handle, made.bytes, &properties, 0)));
      int descriptor = -1;
      Status done =
          say("MemExportToShareableHandle", table().to_file(&descriptor, handle, drivers::kFileHandle, 0));
      if (done.ok()) {
        file = Socket(descriptor);
        done = take_addresses(handle, made);
      }
      return closed(handle, std::move(done));
    }));
    return made;
  }

  Result<GpuMapping> map(const Socket& file, size_t bytes) override {
    GpuMapping made{nullptr, bytes};
    WEIR_TRY(unhindered_on(api_, self_, [&]() -> Status {
      Handle handle{};
      auto* const descriptor = reinterpret_cast<void*>(static_cast<uintptr_t>(file.fd()));
      WEIR_TRY(
          say("MemImportFromShareableHandle", table().from_file(&handle, descriptor, drivers::kFileHandle)));
      return closed(handle, take_addresses(handle, made));
    }));
    return made;
  }

  Status free(const GpuMapping& mapping) override {
    return unhindered_on(api_, self_, [&]() -> Status {
      const Address at = Api::to_address(mapping.memory);
      WEIR_TRY(say("MemUnmap", table().unmap(at, mapping.bytes)));
      return say("MemAddressFree", table().forsake(at, mapping.bytes));
    });
  }

 private:
  using Table = typename Api::Mappings;
  using Address = typename Api::Address;
  using Handle = typename Api::Handle;
  using Properties = drivers::MappingProperties;

  Table& table() { return api_.mappings(); }
  Status say(const char* call, int code) { return api_.say_of(call, code); }
  Properties own() const {
    Properties properties;
    properties.kind = Table::kKind;
    properties.place.gpu = self_.index;
    return properties;
  }
  /// Releases the handle; the memory stays as long as it is mapped.
  Status closed(Handle handle, Status done) {
    const Status released = say("MemRelease", table().release(handle));
    return done.ok() ? released : done;
  }
  Status take_addresses(Handle handle, GpuMapping& made) {
    Address at{};
    WEIR_TRY(say("MemAddressReserve", table().reserve(&at, made.bytes, 0, Address{}, 0)));
    Status done = say("MemMap", table().map(at, made.bytes, 0, handle, 0));
    if (done.ok()) {
      drivers::MappingAccess access;
      access.place.gpu = self_.index;
      done = say("MemSetAccess", table().allow(at, made.bytes, &access, 1));
      if (!done.ok()) table().unmap(at, made.bytes);
    }
    if (!done.ok()) table().forsake(at, made.bytes);
    made.memory = Api::to_pointer(at);
    return done;
  }

  Api& api_;
  const GpuSelf& self_;
};

}  // namespace weir::device
