# Links what has LLVM inside: without the shared libraries of LLVM and MLIR a program
# starts in a quarter of the time, and a library stands beside any other LLVM. Such
# a program cannot load plugins.

include_guard()

# regather_find_archives(OUT ROOT): our static libraries that ROOT needs, and ROOT.
function(regather_find_archives out root)
  set(found ${root})
  set(pending ${root})
  while(pending)
    list(POP_FRONT pending library)
    get_target_property(needed ${library} LINK_LIBRARIES)
    foreach(candidate ${needed})
      get_property(known GLOBAL PROPERTY REGATHER_LIBRARIES)
      if(candidate IN_LIST known AND NOT candidate IN_LIST found)
        list(APPEND found ${candidate})
        list(APPEND pending ${candidate})
      endif()
    endforeach()
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# regather_find_llvm_archives(OUT): all of LLVM and MLIR, and what they need of the
# system.
function(regather_find_llvm_archives out)
  file(GLOB found ${LLVM_LIBRARY_DIRS}/libMLIR*.a ${LLVM_LIBRARY_DIRS}/libLLVM*.a)
  execute_process(
    COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-config --link-static --system-libs
    OUTPUT_VARIABLE system_libraries OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(system_libraries)
  # LLVM's packages depend on libraries, but not on the names that linkers search.
  foreach(library ${system_libraries})
    string(REGEX REPLACE "^-l" "" library "${library}")
    if(NOT IS_ABSOLUTE ${library})
      find_library(REGATHER_LIBRARY_${library}
        NAMES ${library} lib${library}.so.1 lib${library}.so.2 REQUIRED)
      set(library ${REGATHER_LIBRARY_${library}})
    endif()
    list(APPEND found ${library})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# regather_link_archives(TARGET LIBRARIES...): our libraries and what they need, and
# LLVM's, by file: the link interface of ours names the shared LLVM. The linker takes
# from LLVM's archives what is called, in whatever order they come.
function(regather_link_archives target)
  set(archives "")
  foreach(library ${ARGN})
    regather_find_archives(found ${library})
    list(APPEND archives ${found})
  endforeach()
  list(REMOVE_DUPLICATES archives)
  add_dependencies(${target} ${archives})
  foreach(archive ${archives})
    target_link_libraries(${target} PRIVATE $<TARGET_FILE:${archive}>)
  endforeach()
  find_package(Threads REQUIRED)
  regather_find_llvm_archives(llvm_archives)
  target_link_options(${target} PRIVATE LINKER:--gc-sections LINKER:--as-needed)
  target_link_libraries(${target} PRIVATE ${llvm_archives}
    Threads::Threads ${CMAKE_DL_LIBS})
endfunction()
