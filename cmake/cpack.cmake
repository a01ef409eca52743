# SPDX-License-Identifier: Apache-2.0
# .deb files, one per component, and a tarball that may be unpacked anywhere:
#
#   cmake --workflow --preset package        writes them to build-package/packages
set(CPACK_PACKAGE_NAME weir)
set(CPACK_PACKAGE_VENDOR weir)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library tools dev trainer)
if(NOT TARGET weir-train)
  list(REMOVE_ITEM CPACK_COMPONENTS_ALL trainer)
endif()
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/package/prefix.cmake)

set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "weir maintainers <maintainers@users.noreply.a-seed-35db5e81.example>" CACHE STRING "Maintainer of the .deb files")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)  # repack.cmake compresses them anew
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/package/repack.cmake)
# libnccl.so.2 and librccl.so.1 are in folders of their own: no other package is to depend on these.
file(WRITE ${PROJECT_BINARY_DIR}/package/shlibs "libweir 0 libweir0 (>= ${PROJECT_VERSION})\n")
file(WRITE ${PROJECT_BINARY_DIR}/package/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/package/shlibs ${PROJECT_BINARY_DIR}/package/triggers)

# weir_deb(COMPONENT NAME SECTION DEPENDS SUMMARY DESCRIPTION)
set(release "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
macro(weir_deb component name section depends summary description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${description}")
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/package/copyright ${PROJECT_BINARY_DIR}/package/changelog.Debian.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/package/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
          RENAME ${name} COMPONENT ${component})
endmacro()
weir_deb(library libweir0 libs "" "collective communication with NCCL's interface"
  "All-reduce, all-gather and the other collectives between processes, over
shared memory, TCP and RDMA. Programs that load libnccl.so.2 or librccl.so.1
find the same code in /usr/lib/*/nccl-compat and rccl-compat.")
weir_deb(tools weir net "libweir0 (= ${release})" "launcher, planner and benchmarks of the library weir"
  "Starts programs as several ranks, shows topologies, plans and simulates
collectives, looks into jobs that hang, and measures collectives as nccl-tests
does.")
weir_deb(dev libweir-dev libdevel "libweir0 (= ${release})" "headers of the library weir"
  "Headers of NCCL's and RCCL's interface and of weir's own, with files for CMake
and pkg-config.")
weir_deb(trainer weir-train science "libweir0 (= ${release})" "sharded training of language models"
  "Trains transformers on bytes of text over any number of ranks, sharded as
PyTorch's FSDP does, and plans such training for other clusters.")

file(WRITE ${PROJECT_BINARY_DIR}/package/changelog.Debian
  "weir (${release}) bookworm; urgency=medium\n\n  * Release ${PROJECT_VERSION}: CHANGELOG.md of the sources says what is new.\n\n"
  " -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  Thu, 01 Jan 2026 00:00:00 +0000\n")
execute_process(COMMAND gzip -9nf ${PROJECT_BINARY_DIR}/package/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
include(CPack)
