# SPDX-License-Identifier: Apache-2.0
# Makes code for one of AMD's GPUs: cmake -DOBJECT=gfx942.o -DTEXT=gfx942.s -P hip_object.cmake -- clang++ flags... source
# TEXT is what OBJECT is assembled from, so that tests can read it without a disassembler. Where the compiler fails, both are empty and
# the build goes on: the library then has no code for this architecture, and kernels.hip (ctest) says so.
foreach(at RANGE ${CMAKE_ARGC})
  if(seen AND DEFINED CMAKE_ARGV${at})
    list(APPEND command ${CMAKE_ARGV${at}})
  elseif("${CMAKE_ARGV${at}}" STREQUAL "--")
    set(seen TRUE)
  endif()
endforeach()
list(GET command 0 clang)
string(REGEX MATCH "gfx[0-9a-f]+" architecture "${command}")

execute_process(COMMAND ${command} -MD -MF ${OBJECT}.d -MT ${OBJECT} -S -o ${TEXT} RESULT_VARIABLE failed ERROR_VARIABLE says)
if(NOT failed)
  execute_process(COMMAND ${clang} --target=amdgcn-amd-amdhsa -mcpu=${architecture} -nogpulib -o ${OBJECT} ${TEXT}
                  RESULT_VARIABLE failed ERROR_VARIABLE says)
endif()
if(failed)
  file(WRITE ${OBJECT} "")
  file(WRITE ${TEXT} "")
  file(WRITE ${OBJECT}.log "${says}")
  string(REGEX MATCH "error: [^\n;]*" says "${says}")
  message(NOTICE "weir: no code for ${architecture}: ${clang} says ${says} (${OBJECT}.log)")
endif()
