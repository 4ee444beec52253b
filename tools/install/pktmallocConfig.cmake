# SPDX-License-Identifier: MIT
# find_package(pktmalloc) gives pktmalloc::pktmalloc, the shared library, and pktmalloc::static, which
# becomes part of the program. Each takes the place of malloc and its kin in whatever links it.
get_filename_component(_pktmalloc_lib "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
# Debian has a folder for the processor between.
foreach(_pktmalloc_prefix ".." "../..")
  get_filename_component(_pktmalloc_include "${_pktmalloc_lib}/${_pktmalloc_prefix}/include" ABSOLUTE)
  if(EXISTS "${_pktmalloc_include}/pktmalloc.h")
    break()
  endif()
endforeach()

if(NOT TARGET pktmalloc::pktmalloc)
  # A program that only uses malloc names nothing of ours: the linker must keep the library all the same.
  add_library(pktmalloc::pktmalloc SHARED IMPORTED)
  set_target_properties(pktmalloc::pktmalloc PROPERTIES
    IMPORTED_LOCATION "${_pktmalloc_lib}/libpktmalloc.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_pktmalloc_include}"
    INTERFACE_LINK_OPTIONS "LINKER:--no-as-needed")

  add_library(pktmalloc::static INTERFACE IMPORTED)
  set_target_properties(pktmalloc::static PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_pktmalloc_include}"
    INTERFACE_LINK_LIBRARIES
    "-Wl,--whole-archive,${_pktmalloc_lib}/libpktmalloc.a,--no-whole-archive;-pthread")
endif()

unset(_pktmalloc_lib)
unset(_pktmalloc_include)
unset(_pktmalloc_prefix)
