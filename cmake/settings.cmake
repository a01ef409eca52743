# SPDX-License-Identifier: Apache-2.0
# What every target of weir is built with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()

# Files are named from the root of the tree in messages, and so for a compiler cache in all clones alike.
add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

# What -O3 makes faster asks for it: reductions and the trainer's arithmetic. Elsewhere it only takes longer to compile.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
set(WEIR_ARITHMETIC $<$<CONFIG:Release>:-O3>)
# Command lines, readers and writers of files, and pages: what takes time is elsewhere.
set(WEIR_COMMAND_LINE $<$<CONFIG:Release>:-O1>)

set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

# Several files of a target are compiled together, which takes a quarter of the time. -DCMAKE_UNITY_BUILD=OFF compiles each file
# by itself.
if(NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
endif()
if(NOT DEFINED CMAKE_UNITY_BUILD_BATCH_SIZE)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)
endif()

set(WEIR_SANITIZE "" CACHE STRING "Value of -fsanitize= for everything, for example address,undefined")
if(WEIR_SANITIZE)
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # g++ 12 imagines them in std::function of instrumented code
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
  # What the sanitizers know of each check is data with addresses: 2.5 million of them in a test program, which would be relocated
  # whenever one begins.
  add_link_options($<$<AND:$<CXX_COMPILER_ID:GNU>,$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>:-no-pie>)
  find_program(WEIR_LLD ld.lld DOC "LLVM's linker: three times as fast with programs of this size")
  if(WEIR_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
  if(WEIR_SANITIZE MATCHES thread)
    # It does not model fences: what only a fence orders it reports as a race, which is the safe side.
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
endif()

# Results must not depend on what the compiler fuses or reorders.
add_compile_options(-ffp-contract=off)

# g++ 12 sees overflows where a vector that grows is inlined; the sanitizers look for the real ones.
set(WEIR_WARNINGS -Wall -Wextra
    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR MATCHES "arm|aarch64")
  list(APPEND WEIR_WARNINGS -Wno-psabi)  # it notes what changed in GCC 10
endif()
if(NOT WEIR_SANITIZE)  # about instrumented code g++ 12 warns of what is not there
  list(APPEND WEIR_WARNINGS -Werror)
endif()

# weir_library(NAME files...): a static library of one floor.
function(weir_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${name} PRIVATE ${WEIR_WARNINGS})
  target_link_libraries(${name} PUBLIC Threads::Threads weir_fmt)
endfunction()

# WEIR_GLIBC_ROOT: a folder with an older glibc (older_glibc.sh), with which the libraries are linked, so that they load where that
# one is. What is compiled is the same.
set(WEIR_GLIBC_ROOT "" CACHE PATH "Folder with the glibc to link the libraries with, of cmake/older_glibc.sh; empty: the system's")

if(WEIR_GLIBC_ROOT)
  file(GLOB WEIR_GLIBC_FOLDERS ${WEIR_GLIBC_ROOT}/usr/lib/*-linux-gnu ${WEIR_GLIBC_ROOT}/lib/*-linux-gnu)
  file(GLOB glibc ${WEIR_GLIBC_ROOT}/lib/*/libc-2.*.so)
  if(NOT glibc MATCHES "/libc-([0-9.]+)\\.so$")
    message(FATAL_ERROR "WEIR_GLIBC_ROOT=${WEIR_GLIBC_ROOT}: no glibc there; expected a folder of cmake/older_glibc.sh")
  endif()
  set(WEIR_GLIBC ${CMAKE_MATCH_1})
  add_library(weir_older_glibc OBJECT ${PROJECT_SOURCE_DIR}/src/base/older_library.c)
endif()

# weir_link_with_older_glibc(TARGET): the target's code is as before; what it asks for when it is loaded is in WEIR_GLIBC_ROOT.
function(weir_link_with_older_glibc target)
  list(TRANSFORM WEIR_GLIBC_FOLDERS PREPEND -L OUTPUT_VARIABLE folders)  # the compiler looks into its own folders first
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:weir_older_glibc>)
  target_link_options(${target} PRIVATE --sysroot=${WEIR_GLIBC_ROOT} ${folders})
  target_link_libraries(${target} PRIVATE -lpthread -ldl -lrt -lm)
endfunction()

# weir_link_alone(TARGET): links a shared library with no C++ library of the machine.
function(weir_link_alone target)
  if(NOT WEIR_GLIBC_ROOT)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
    return()
  endif()
  weir_link_with_older_glibc(${target})
  # The unwinder that is linked in asks glibc 2.35 for something; libgcc_s.so.1 is wherever there is a glibc.
  target_link_options(${target} PRIVATE -static-libstdc++ -shared-libgcc)
endfunction()

# weir_link_beside_cpp(TARGET): links a shared library that shares the C++ library with who loads it.
function(weir_link_beside_cpp target)
  if(NOT WEIR_GLIBC_ROOT)
    return()
  endif()
  weir_link_with_older_glibc(${target})
  # Objects are shared with the loader's C++ library, so that it has to be the one; what an older one lacks is linked in.
  find_library(older NAMES libstdc++.so.6 PATHS ${WEIR_GLIBC_FOLDERS} NO_DEFAULT_PATH NO_CACHE REQUIRED)
  target_link_options(${target} PRIVATE -nodefaultlibs -Wl,--exclude-libs,libstdc++.a)
  target_link_libraries(${target} PRIVATE ${older} -Wl,-Bstatic -lstdc++ -Wl,-Bdynamic -lgcc_s -lgcc -lc -lgcc)
endfunction()
