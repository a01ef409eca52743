// SPDX-License-Identifier: Apache-2.0

#include "src/base/exception.h"

#include <exception>
#include <new>
#include <system_error>

namespace weir {
namespace {

/// Made while there is memory, and never destroyed: threads may outlive static objects.
const Status& prepared_out_of_memory() {
  static const auto* const kStatus = new Status(
      Status::shortage("this process gets no more memory from the system; ulimit -v, the control group "
                       "(memory.max) or the host may limit it"));
  return *kStatus;
}

[[maybe_unused]] const Status& prepared_when_loaded = prepared_out_of_memory();

Status describe(const std::exception& thrown, Code code, const char* before) {
  try {
    return {code, std::string(before) + thrown.what()};
  } catch (...) {
    return out_of_memory();
  }
}

}  // namespace

Status out_of_memory() noexcept { return prepared_out_of_memory(); }

Status status_of_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::system_error& thrown) {
    return describe(thrown, Code::system_error, "a function of the system failed: ");
  } catch (const std::exception& thrown) {
    return describe(thrown, Code::internal_error, "weir met a condition that it does not expect: ");
  } catch (...) {
    return describe(std::exception(), Code::internal_error, "weir met an exception of an unknown type: ");
  }
}

}  // namespace weir
