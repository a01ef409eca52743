# SPDX-License-Identifier: Apache-2.0
# For those who change weir: a compiler cache where there is one, which serves all clones of a machine, and the targets
# `format` and `tidy`.
find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE AND PROJECT_IS_TOP_LEVEL)
  foreach(language C CXX)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true ${WEIR_CCACHE})
    endif()
  endforeach()
endif()

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(format COMMAND ${PROJECT_SOURCE_DIR}/cmake/format.sh VERBATIM)
  add_custom_target(tidy COMMAND run-clang-tidy-14 -quiet -p ${PROJECT_BINARY_DIR}
                    "${PROJECT_SOURCE_DIR}/(src|algorithms|transports|bench|tests)/" VERBATIM)
endif()
