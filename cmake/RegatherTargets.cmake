# Functions that declare Regather's libraries and tools with one set of flags.

include_guard()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Otherwise ccache does not cache what includes a precompiled header, and runs the
  # preprocessor first, which takes a tenth of a build from nothing.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    CCACHE_DEPEND=1 ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

option(REGATHER_UNITY "Compile the files of a target several at a time" ON)
# Larger ones build faster from nothing, smaller ones after a change.
set(REGATHER_UNITY_SIZE 8 CACHE STRING "Files that are compiled at a time")

# Compiles several files of a target as one, which instantiates the templates of
# MLIR that they have in common once. So no two files of a target define the same
# name, not even in an anonymous namespace.
function(regather_set_unity target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${REGATHER_UNITY}
    UNITY_BUILD_BATCH_SIZE ${REGATHER_UNITY_SIZE}
    UNITY_BUILD_CODE_BEFORE_INCLUDE
      "// NOLINTNEXTLINE(bugprone-suspicious-include)"
    UNITY_BUILD_CODE_AFTER_INCLUDE "#undef DEBUG_TYPE")
endfunction()

# regather_compile_alone(SOURCES...): files that open a namespace whose names clash
# with those of their neighbours.
function(regather_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

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

# Compiles what most files include once, which takes more than half off the time of
# a build: the headers of MLIR, and with those of our dialects for all targets that
# see one. A target that shares a precompiled header has the same flags.
function(regather_add_precompiled_headers)
  set(mlir_headers
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/Linalg/IR/Linalg.h>
    <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Tensor/IR/Tensor.h>
    <mlir/IR/BuiltinOps.h>
    <mlir/IR/PatternMatch.h>
    <mlir/Pass/Pass.h>)
  # Nothing there knows MLIR.
  set(plain_headers
    <algorithm>
    <functional>
    <map>
    <memory>
    <mutex>
    <optional>
    <string>
    <unordered_map>
    <vector>
    <llvm/ADT/DenseMap.h>
    <llvm/ADT/SmallVector.h>
    <llvm/Support/Error.h>
    <llvm/Support/JSON.h>
    <llvm/Support/raw_ostream.h>)
  set(source ${PROJECT_BINARY_DIR}/RegatherPrecompiled.cpp)
  file(WRITE ${source} "")
  add_library(RegatherPrecompiledPlain OBJECT ${source})
  target_precompile_headers(RegatherPrecompiledPlain PRIVATE ${plain_headers})
  add_library(RegatherPrecompiledDialects OBJECT ${source})
  target_precompile_headers(RegatherPrecompiledDialects PRIVATE ${mlir_headers}
    <regather/Dialect/Exec/IR/Exec.h>
    <regather/Dialect/TG/IR/TG.h>)
  add_dependencies(RegatherPrecompiledDialects RegatherTGIncGen
    RegatherExecIncGen)
  foreach(target RegatherPrecompiledPlain RegatherPrecompiledDialects)
    regather_set_llvm_flags(${target})
  endforeach()
endfunction()

# regather_share_precompiled_headers(TARGET [PLAIN]): PLAIN for what includes no
# header of MLIR.
function(regather_share_precompiled_headers target)
  cmake_parse_arguments(ARG "PLAIN" "" "" ${ARGN})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    # CMake's choice, -fPIE, differs from that of the headers.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  if(ARG_PLAIN)
    target_precompile_headers(${target} REUSE_FROM RegatherPrecompiledPlain)
  else()
    target_precompile_headers(${target} REUSE_FROM RegatherPrecompiledDialects)
  endif()
endfunction()

# regather_compile_quickly(TARGET): without optimization where builds are to be
# quick. Most tests compute next to nothing themselves, and compile in half of the
# time.
function(regather_compile_quickly target)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Dev>:-O0>)
    get_target_property(header ${target} PRECOMPILE_HEADERS_REUSE_FROM)
    if(header)
      # It differs in the macro __OPTIMIZE__ alone. CMake knows what it depends on.
      target_compile_options(${target} PRIVATE
        "$<$<CONFIG:Dev>:SHELL:-Xclang -fno-validate-pch>")
    endif()
  endif()
endfunction()

# regather_add_library(NAME [PLAIN] SOURCES... DEPENDS tablegen...
#                      LINK libraries...)
# A static library on top of the shared libMLIR and libLLVM. PLAIN: none of its
# files includes a header of MLIR.
function(regather_add_library name)
  cmake_parse_arguments(ARG "PLAIN" "" "DEPENDS;LINK" ${ARGN})
  set(plain "")
  if(ARG_PLAIN)
    set(plain PLAIN)
  endif()
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(Regather::${name} ALIAS ${name})
  regather_set_llvm_flags(${name})
  regather_set_unity(${name})
  regather_share_precompiled_headers(${name} ${plain})
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
  regather_set_unity(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY REGATHER_LIBRARIES ${name})
endfunction()

# regather_add_tool(NAME [STATIC] SOURCES... LINK libraries...
#                   ARCHIVES mlir-archives...)
# STATIC: with LLVM inside, see RegatherArchives.cmake. ARCHIVES are parts of MLIR that
# libMLIR does not hold; they are linked by file because their link interface would
# pull static copies of the rest.
function(regather_add_tool name)
  cmake_parse_arguments(ARG "STATIC" "" "LINK;ARCHIVES" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  regather_set_llvm_flags(${name})
  regather_set_unity(${name})
  regather_share_precompiled_headers(${name})
  if(ARG_STATIC)
    regather_link_archives(${name} ${ARG_LINK})
    # Nothing has to be moved when it starts.
    target_link_options(${name} PRIVATE -no-pie)
  else()
    target_link_libraries(${name} PRIVATE ${ARG_LINK})
    foreach(archive ${ARG_ARCHIVES})
      target_link_libraries(${name} PRIVATE $<TARGET_FILE:${archive}>)
    endforeach()
    target_link_libraries(${name} PRIVATE MLIR LLVM)
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# regather_add_option_tables(TD OUTPUT TARGET): how texts name the options of the
# passes of a TableGen file.
function(regather_add_option_tables td output target)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${td})
  set(tables ${CMAKE_CURRENT_BINARY_DIR}/${output})
  add_custom_command(OUTPUT ${tables}
    COMMAND regather-tblgen -I${PROJECT_SOURCE_DIR}/include -I${MLIR_INCLUDE_DIRS}
      ${source} -o ${tables} -d ${tables}.d
    DEPENDS ${source} regather-tblgen
    DEPFILE ${tables}.d
    COMMENT "Writing ${output}"
    VERBATIM)
  add_custom_target(${target} DEPENDS ${tables})
endfunction()
