# What a build of the Python package needs, all that is missing named at once, and
# the tools that it takes. Comes before project(), which ends at the first one.

include_guard()

set(missing "")
macro(regather_need variable package)
  if(NOT ${variable})
    list(APPEND missing ${package})
  endif()
endmacro()

# With `-DLLVM_ROOT=DIR` LLVM lies elsewhere.
set(LLVM_ROOT /usr/lib/llvm-22 CACHE PATH "Where LLVM 22 is installed")
set(hints HINTS ${LLVM_ROOT}/bin)
find_program(REGATHER_CLANG NAMES clang-22 clang ${hints})
find_program(REGATHER_CLANGXX NAMES clang++-22 clang++ ${hints})
find_program(REGATHER_WHEEL_LLD NAMES ld.lld-22 ld.lld ${hints})
find_file(REGATHER_LLVM_CONFIG LLVMConfig.cmake
  HINTS ${LLVM_ROOT}/lib/cmake/llvm)
find_file(REGATHER_MLIR_CONFIG MLIRConfig.cmake
  HINTS ${LLVM_ROOT}/lib/cmake/mlir)
find_program(REGATHER_MLIR_TBLGEN NAMES mlir-tblgen-22 mlir-tblgen ${hints})
find_path(NLOHMANN_JSON_INCLUDE_DIR nlohmann/json.hpp
  PATHS /usr/local/include /usr/include)
if(NOT CMAKE_CXX_COMPILER AND NOT "$ENV{CXX}")
  regather_need(REGATHER_CLANGXX clang-22)
endif()
regather_need(REGATHER_WHEEL_LLD lld-22)
regather_need(REGATHER_LLVM_CONFIG llvm-22-dev)
regather_need(REGATHER_MLIR_CONFIG libmlir-22-dev)
regather_need(REGATHER_MLIR_TBLGEN mlir-22-tools)
regather_need(NLOHMANN_JSON_INCLUDE_DIR nlohmann-json3-dev)
if(missing)
  list(JOIN missing " " missing)
  message(FATAL_ERROR "Regather is built from source and lacks: ${missing}\n"
    "On Debian and Ubuntu: apt-get install ${missing}\n"
    "LLVM 22 comes from bookworm-security on Debian 12, and from apt.llvm.org "
    "elsewhere; -DLLVM_ROOT=DIR names another place of it.")
endif()

if(REGATHER_CLANGXX AND NOT CMAKE_CXX_COMPILER AND NOT "$ENV{CXX}")
  set(CMAKE_C_COMPILER ${REGATHER_CLANG})
  set(CMAKE_CXX_COMPILER ${REGATHER_CLANGXX})
endif()
set(CMAKE_SHARED_LINKER_FLAGS_INIT -fuse-ld=${REGATHER_WHEEL_LLD})
set(CMAKE_EXE_LINKER_FLAGS_INIT -fuse-ld=${REGATHER_WHEEL_LLD})
get_filename_component(LLVM_DIR ${REGATHER_LLVM_CONFIG} DIRECTORY)
get_filename_component(MLIR_DIR ${REGATHER_MLIR_CONFIG} DIRECTORY)
