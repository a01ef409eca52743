# SPDX-License-Identifier: Apache-2.0
# weir_define_mpi_names(LIST OUTPUT): writes C++ that defines the names of the list (names.txt) that are not functions of abi.h.

# weir_mpi_definition(KIND NAME PLACE OUT): the line that defines a name; PLACE is its number among the names of its kind.
function(weir_mpi_definition kind name place out)
  set(integer "extern const int MPIABI_${name} =")
  if(kind STREQUAL "error")
    set(line "${integer} ${place};")
  elseif(kind STREQUAL "number")
    set(line "${integer} ${place} + 1;")
  elseif(kind STREQUAL "flag")
    set(line "${integer} 1 << ${place};")
  elseif(kind STREQUAL "null")
    set(line "extern const std::uintptr_t MPIABI_${name} = 0;")
  elseif(kind STREQUAL "handle")
    set(line "extern const std::uintptr_t MPIABI_${name} = ${place} + 1;")
  elseif(kind STREQUAL "pointer")
    set(line "extern void* const MPIABI_${name} = nullptr;")
  elseif(kind STREQUAL "address")
    set(line "extern void* const MPIABI_${name} = &object_${place};")
  elseif(kind STREQUAL "offset")
    set(line "extern const std::int64_t MPIABI_${name} = -1;")
  elseif(kind STREQUAL "refused")
    set(line "int MPIABI_${name}() { static std::atomic<bool> said; return weir::mpi::refuse(\"MPI_${name}\", said); }")
  elseif(kind STREQUAL "refused_handle")
    set(line "std::uintptr_t MPIABI_${name}() { static std::atomic<bool> said; weir::mpi::refuse(\"MPI_${name}\", said); return 0; }")
  elseif(kind STREQUAL "extension")
    set(line "int MPIXABI_${name}() { return 0; }")
  elseif(kind STREQUAL "offered")
    set(line "static_assert(sizeof(&MPIABI_${name}) != 0);")  # it does not compile if abi.h lacks it
  else()
    message(FATAL_ERROR "src/mpi/names.txt: '${kind}' is no kind of name")
  endif()
  set(${out} "${line}\n" PARENT_SCOPE)
endfunction()

function(weir_define_mpi_names list output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} lines REGEX "^[a-z]")
  set(text "")
  foreach(line IN LISTS lines)
    separate_arguments(names UNIX_COMMAND "${line}")
    list(POP_FRONT names kind)
    if(kind STREQUAL "value")
      list(GET names 0 name)
      list(GET names 1 value)
      string(APPEND text "extern const int MPIABI_${name} = ${value};\n")
      continue()
    endif()
    foreach(name IN LISTS names)
      if(NOT DEFINED next_${kind})
        set(next_${kind} 0)
      endif()
      weir_mpi_definition(${kind} ${name} ${next_${kind}} definition)
      string(APPEND text "${definition}")
      math(EXPR next_${kind} "${next_${kind}} + 1")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
// Written by src/mpi/define_names.cmake.
#include <atomic>
#include <cstdint>

#include "src/mpi/abi.h"
#include "src/mpi/error.h"

namespace {
char object_0;
}
#pragma GCC visibility push(default)
extern "C" {
@text@
}
#pragma GCC visibility pop
]])
endfunction()
