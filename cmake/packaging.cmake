# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where. Our own names go to the usual folders; files that a vendor also has go to folders of
# our own, so that an install never overwrites a vendor's file:
#
#   lib/libweir.so*                    include/weir/                      bin/
#   lib/libweir_mpi.so
#   lib/nccl-compat/libnccl.so*        include/weir-compat/nccl.h, nccl_params.h, nccl_device.h, nccl_device/
#                                      lib/nccl-compat/pkgconfig/nccl.pc
#   lib/rccl-compat/librccl.so*        include/weir-compat/rccl/rccl.h
#   lib/libweir_cuda.so, lib/libweir_hip.so, which are built where there is a compiler for them; links to them beside
#   each library, which looks for them there
#   lib/weir-stand-in/                 stand-ins of CUDA's driver and runtimes, which only `weir run --pretend` loads
#   lib/cmake/weir/                    find_package(weir): weir::weir; its component nccl: NCCL::nccl too
#   lib/cmake/NCCL-weir/               find_package(NCCL): NCCL::nccl
#   share/man/man1, share/bash-completion/completions/weir
#
# Each belongs to a component, which is a package of Debian's (cpack.cmake): library, tools, dev, trainer.
include(CMakePackageConfigHelpers)

set(compat ${CMAKE_INSTALL_LIBDIR}/nccl-compat)
set(rocm_compat ${CMAKE_INSTALL_LIBDIR}/rccl-compat)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
set(nccl_package ${CMAKE_INSTALL_LIBDIR}/cmake/NCCL-weir)

install(TARGETS libweir EXPORT weirTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev)
install(TARGETS nccl EXPORT NCCLTargets LIBRARY DESTINATION ${compat} COMPONENT library NAMELINK_COMPONENT dev)
install(TARGETS rccl LIBRARY DESTINATION ${rocm_compat} COMPONENT library NAMELINK_COMPONENT dev)
install(TARGETS weir_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
if(TARGET weir_heap)
  install(TARGETS weir_heap LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
endif()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
foreach(kernels weir_cuda weir_hip)
  if(TARGET ${kernels})
    install(TARGETS ${kernels} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
    set(link ${PROJECT_BINARY_DIR}/package/lib${kernels}.so)
    file(CREATE_LINK ../lib${kernels}.so ${link} SYMBOLIC)
    install(FILES ${link} DESTINATION ${compat} COMPONENT library)
    install(FILES ${link} DESTINATION ${rocm_compat} COMPONENT library)
  endif()
endforeach()
if(TARGET weir_train_cuda)
  install(TARGETS weir_train_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT trainer)  # weir-train looks in ../lib
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
        FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/include/nccl.h ${PROJECT_SOURCE_DIR}/include/nccl_params.h
              ${PROJECT_SOURCE_DIR}/include/nccl_device.h
        DESTINATION ${WEIR_INSTALL_COMPAT_HEADERS} COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/nccl_device DESTINATION ${WEIR_INSTALL_COMPAT_HEADERS} COMPONENT dev
        FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/include/rccl/rccl.h DESTINATION ${WEIR_INSTALL_COMPAT_HEADERS}/rccl COMPONENT dev)

# Programs, as far as they are built. They find libnccl.so.2 wherever the prefix is moved to.
file(RELATIVE_PATH from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/nccl-compat)
set(WEIR_PERF_PROGRAMS all_reduce_perf all_gather_perf reduce_scatter_perf broadcast_perf reduce_perf alltoall_perf
    alltoallv_perf gather_perf scatter_perf sendrecv_perf hypercube_perf)
foreach(program weir ${WEIR_PERF_PROGRAMS} weir-train)
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${from_bin}")
    set(component tools)
    if(program STREQUAL weir-train)
      set(component trainer)
    endif()
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
  endif()
endforeach()
install(TARGETS fake_cuda fake_cudart_12 fake_cudart_13 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weir-stand-in COMPONENT tools)
if(NOT WEIR_SANITIZE)  # what is written by programs that are run needs no sanitizer
  include(${CMAKE_CURRENT_LIST_DIR}/manual.cmake)
endif()

install(EXPORT weirTargets NAMESPACE weir:: DESTINATION ${package} COMPONENT dev)
install(EXPORT NCCLTargets NAMESPACE NCCL:: DESTINATION ${nccl_package} COMPONENT dev)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/package/weirConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/weirConfig.cmake INSTALL_DESTINATION ${package})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/package/NCCLConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/NCCLConfig.cmake INSTALL_DESTINATION ${nccl_package}
  PATH_VARS WEIR_INSTALL_COMPAT_HEADERS)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/weirConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/NCCLConfigVersion.cmake
  VERSION ${WEIR_NCCL_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/weirConfig.cmake ${PROJECT_BINARY_DIR}/package/weirConfigVersion.cmake
        DESTINATION ${package} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/package/NCCLConfig.cmake ${PROJECT_BINARY_DIR}/package/NCCLConfigVersion.cmake
        DESTINATION ${nccl_package} COMPONENT dev)

# pkg-config's files find the prefix from their own folder, so that it may be moved.
file(RELATIVE_PATH from_weir_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH from_nccl_pc ${CMAKE_INSTALL_FULL_LIBDIR}/nccl-compat/pkgconfig ${CMAKE_INSTALL_PREFIX})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/cluster/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/weir/examples COMPONENT tools
        USE_SOURCE_PERMISSIONS)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/c_api ${PROJECT_SOURCE_DIR}/examples/planner
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libweir-dev/examples COMPONENT dev)
configure_file(${CMAKE_CURRENT_LIST_DIR}/package/weir.pc.in ${PROJECT_BINARY_DIR}/package/weir.pc @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/package/nccl.pc.in ${PROJECT_BINARY_DIR}/package/nccl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/weir.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/package/nccl.pc DESTINATION ${compat}/pkgconfig COMPONENT dev)
