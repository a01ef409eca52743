# SPDX-License-Identifier: Apache-2.0
# Man pages and the completion of bash, in build/manual: of weir by itself (`weir manual`), of the other programs from their --help.
# Called with -P, this file writes one such page: PROGRAM, PAGE and SUMMARY.
if(CMAKE_SCRIPT_MODE_FILE)
  get_filename_component(name ${PROGRAM} NAME)
  string(TOUPPER ${name} title)
  execute_process(COMMAND ${PROGRAM} --help OUTPUT_VARIABLE help RESULT_VARIABLE status)
  if(status)
    message(FATAL_ERROR "${PROGRAM} --help gives ${status}")
  endif()
  string(REGEX REPLACE "\\\\" "\\\\e" help "${help}")
  string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" help "${help}")
  string(REPLACE "-" "\\-" help "${help}")
  file(WRITE ${PAGE} ".TH ${title} 1 \"\" \"weir ${VERSION}\" \"User Commands\"\n.SH NAME\n${name} \\- ${SUMMARY}\n"
                     ".SH DESCRIPTION\n.nf\n${help}\n.fi\n.SH SEE ALSO\n\\fBweir\\fR(1)\n")
  return()
endif()

set(manual ${PROJECT_BINARY_DIR}/manual)
find_program(WEIR_GZIP gzip REQUIRED)
add_custom_command(OUTPUT ${manual}/weir.bash COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}/weir
                   COMMAND weir manual ${manual}/weir COMMAND ${WEIR_GZIP} -9nr ${manual}/weir/man1
                   COMMAND ${CMAKE_COMMAND} -E copy ${manual}/weir/weir.bash ${manual}/weir.bash DEPENDS weir VERBATIM)
add_custom_target(manual ALL DEPENDS ${manual}/weir.bash)
install(DIRECTORY ${manual}/weir/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tools)
install(FILES ${manual}/weir.bash RENAME weir DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)

# weir_man_page(TARGET COMPONENT SUMMARY)
function(weir_man_page program component summary)
  set(page ${manual}/programs/${program}.1)
  add_custom_command(OUTPUT ${page}.gz
                     COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}> -DPAGE=${page} -DVERSION=${PROJECT_VERSION}
                             "-DSUMMARY=${summary}" -P ${PROJECT_SOURCE_DIR}/cmake/manual.cmake
                     COMMAND ${WEIR_GZIP} -9nf ${page} DEPENDS ${program} VERBATIM)
  add_custom_target(manual_${program} ALL DEPENDS ${page}.gz)
  install(FILES ${page}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
endfunction()
foreach(program ${WEIR_PERF_PROGRAMS})
  if(TARGET ${program})
    weir_man_page(${program} tools "times a collective as nccl-tests does, and checks its results")
  endif()
endforeach()
if(TARGET weir-train)
  weir_man_page(weir-train trainer "trains a transformer on bytes of text, over any number of ranks")
endif()
