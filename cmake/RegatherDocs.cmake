# Reference pages, as mlir-tblgen writes them. docs/generate.py adds examples.
# `regather-docs` builds all pages into docs/raw of the build directory.

include_guard()

add_custom_target(regather-docs)

# regather_add_docs(TD OUTPUT GENERATOR ARGS...): one page from a TableGen file.
# The page has a target of its own because only targets of the same directory
# see the command that makes a file.
function(regather_add_docs td output)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${td})
  set(raw ${PROJECT_BINARY_DIR}/docs/raw)
  file(MAKE_DIRECTORY ${raw})
  add_custom_command(OUTPUT ${raw}/${output}.md
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN}
      -I${PROJECT_SOURCE_DIR}/include -I${MLIR_INCLUDE_DIRS}
      ${source} -o ${raw}/${output}.md -d ${raw}/${output}.md.d
    DEPENDS ${source}
    DEPFILE ${raw}/${output}.md.d
    COMMENT "Writing docs/raw/${output}.md"
    VERBATIM)
  add_custom_target(regather-docs-${output} DEPENDS ${raw}/${output}.md)
  add_dependencies(regather-docs regather-docs-${output})
  set_property(GLOBAL APPEND PROPERTY REGATHER_DOCS ${raw}/${output}.md)
endfunction()
