# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where. Our own names go to the usual folders; files that a vendor also has go to folders of
# our own, so that an install never overwrites a vendor's file:
#
#   lib/libweir.so*                    include/weir/                      bin/
#   lib/nccl-compat/libnccl.so*        include/weir-compat/nccl.h, nccl_params.h, nccl_device.h, nccl_device/
#                                      lib/nccl-compat/pkgconfig/nccl.pc
#   lib/rccl-compat/librccl.so*        include/weir-compat/rccl/rccl.h
#   lib/libweir_cuda.so, lib/libweir_hip.so, which are built where there is a compiler for them; links to them beside
#   each library, which looks for them there
#   lib/cmake/weir/                    find_package(weir): weir::weir; its component nccl: NCCL::nccl too
#   lib/cmake/NCCL-weir/               find_package(NCCL): NCCL::nccl
include(CMakePackageConfigHelpers)

set(compat ${CMAKE_INSTALL_LIBDIR}/nccl-compat)
set(rocm_compat ${CMAKE_INSTALL_LIBDIR}/rccl-compat)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
set(nccl_package ${CMAKE_INSTALL_LIBDIR}/cmake/NCCL-weir)

install(TARGETS libweir EXPORT weirTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS nccl EXPORT NCCLTargets LIBRARY DESTINATION ${compat})
install(TARGETS rccl LIBRARY DESTINATION ${rocm_compat})
if(TARGET weir_heap)
  install(TARGETS weir_heap LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
foreach(kernels weir_cuda weir_hip)
  if(TARGET ${kernels})
    install(TARGETS ${kernels} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    set(link ${PROJECT_BINARY_DIR}/package/lib${kernels}.so)
    file(CREATE_LINK ../lib${kernels}.so ${link} SYMBOLIC)
    install(FILES ${link} DESTINATION ${compat})
    install(FILES ${link} DESTINATION ${rocm_compat})
  endif()
endforeach()
if(TARGET weir_train_cuda)
  install(TARGETS weir_train_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})  # weir-train looks in ../lib
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/include/nccl.h ${PROJECT_SOURCE_DIR}/include/nccl_params.h
              ${PROJECT_SOURCE_DIR}/include/nccl_device.h
        DESTINATION ${WEIR_INSTALL_COMPAT_HEADERS})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/nccl_device DESTINATION ${WEIR_INSTALL_COMPAT_HEADERS}
        FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/include/rccl/rccl.h DESTINATION ${WEIR_INSTALL_COMPAT_HEADERS}/rccl)

# Programs, as far as they are built. They find libnccl.so.2 wherever the prefix is moved to.
file(RELATIVE_PATH from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/nccl-compat)
foreach(program weir all_reduce_perf all_gather_perf reduce_scatter_perf broadcast_perf reduce_perf alltoall_perf
                alltoallv_perf gather_perf scatter_perf sendrecv_perf hypercube_perf weir-train)
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${from_bin}")
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

install(EXPORT weirTargets NAMESPACE weir:: DESTINATION ${package})
install(EXPORT NCCLTargets NAMESPACE NCCL:: DESTINATION ${nccl_package})
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
        DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/package/NCCLConfig.cmake ${PROJECT_BINARY_DIR}/package/NCCLConfigVersion.cmake
        DESTINATION ${nccl_package})

configure_file(${CMAKE_CURRENT_LIST_DIR}/package/weir.pc.in ${PROJECT_BINARY_DIR}/package/weir.pc @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/package/nccl.pc.in ${PROJECT_BINARY_DIR}/package/nccl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/weir.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_BINARY_DIR}/package/nccl.pc DESTINATION ${compat}/pkgconfig)
