# Functions that declare Regather's libraries and tools with one set of flags.

include_guard()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Otherwise ccache does not cache what includes a precompiled header.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# Flags of code that links no LLVM.
function(regather_set_flags target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter
    -fvisibility-inlines-hidden
    $<$<BOOL:${REGATHER_WARNINGS_AS_ERRORS}>:-Werror>)
endfunction()

# Flags of code that includes LLVM headers: theirs are system headers, so that
# only our own code has to be free of warnings.
function(regather_set_llvm_flags target)
  regather_set_flags(${target})
  target_include_directories(${target} SYSTEM PUBLIC
    $<BUILD_INTERFACE:${MLIR_INCLUDE_DIRS}> $<BUILD_INTERFACE:${LLVM_INCLUDE_DIRS}>)
  target_compile_options(${target} PRIVATE -fno-exceptions)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # A precompiled header is equal if its contents are.
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

# Compiles the headers of MLIR that most files include once, which halves the time
# that libraries take to build.
function(regather_add_precompiled_headers)
  set(source ${PROJECT_BINARY_DIR}/RegatherPrecompiled.cpp)
  file(WRITE ${source} "")
  add_library(RegatherPrecompiled OBJECT ${source})
  regather_set_llvm_flags(RegatherPrecompiled)
  target_precompile_headers(RegatherPrecompiled PRIVATE
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/Linalg/IR/Linalg.h>
    <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Tensor/IR/Tensor.h>
    <mlir/IR/BuiltinOps.h>
    <mlir/IR/PatternMatch.h>
    <mlir/Pass/Pass.h>)
endfunction()

# regather_add_library(NAME SOURCES... DEPENDS tablegen... LINK libraries...)
# A static library on top of the shared libMLIR and libLLVM.
function(regather_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(Regather::${name} ALIAS ${name})
  regather_set_llvm_flags(${name})
  target_precompile_headers(${name} REUSE_FROM RegatherPrecompiled)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  set_property(GLOBAL APPEND PROPERTY REGATHER_LIBRARIES ${name})
endfunction()

# regather_add_plain_library(NAME SOURCES... LINK libraries...)
# A static library without LLVM, which a build of the runtime alone has, too.
function(regather_add_plain_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(Regather::${name} ALIAS ${name})
  regather_set_flags(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY REGATHER_LIBRARIES ${name})
endfunction()

# regather_add_tool(NAME SOURCES... LINK libraries... ARCHIVES mlir-archives...)
# ARCHIVES are parts of MLIR that libMLIR does not hold; they are linked by file
# because their link interface would pull static copies of the rest.
function(regather_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK;ARCHIVES" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  regather_set_llvm_flags(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  foreach(archive ${ARG_ARCHIVES})
    target_link_libraries(${name} PRIVATE $<TARGET_FILE:${archive}>)
  endforeach()
  target_link_libraries(${name} PRIVATE MLIR LLVM)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
