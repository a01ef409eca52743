# SPDX-License-Identifier: Apache-2.0
# One file of the code for all of AMD's GPUs: cmake -DBUNDLER=... -DBUNDLE=all.hipfb -P hip_bundle.cmake -- gfx90a.o gfx942.o...
# Leaves out those that are empty, because the compiler failed (hip_object.cmake).
set(targets host-x86_64-unknown-linux)
set(inputs -input=/dev/null)
foreach(at RANGE ${CMAKE_ARGC})
  if(seen AND DEFINED CMAKE_ARGV${at})
    file(SIZE ${CMAKE_ARGV${at}} bytes)
    if(bytes GREATER 0)
      get_filename_component(architecture ${CMAKE_ARGV${at}} NAME_WE)
      string(APPEND targets ",hipv4-amdgcn-amd-amdhsa--${architecture}")
      list(APPEND inputs -input=${CMAKE_ARGV${at}})
    endif()
  elseif("${CMAKE_ARGV${at}}" STREQUAL "--")
    set(seen TRUE)
  endif()
endforeach()
list(LENGTH inputs count)
if(count EQUAL 1)
  file(WRITE ${BUNDLE} "")  # a driver refuses it, and collectives are staged
  return()
endif()
execute_process(COMMAND ${BUNDLER} -type=o -bundle-align=4096 -targets=${targets} ${inputs} -output=${BUNDLE} COMMAND_ERROR_IS_FATAL ANY)
