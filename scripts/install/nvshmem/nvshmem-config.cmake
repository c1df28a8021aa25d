# find_package(NVSHMEM) gives the targets nvshmem::nvshmem_host, nvshmem::nvshmem_device and
# nvshmem::nvshmem for C, C++ and CUDA, and the variable NVSHMEM_LAUNCHER, the program that starts
# PEs. Device code is in the headers: the archives are for build files that name them. All paths are
# relative to this file, so that an installation may be moved.
get_filename_component(nvshmem_PREFIX "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(nvshmem_PREFIX "${nvshmem_PREFIX}/../../.." ABSOLUTE)
set(NVSHMEM_LAUNCHER "${nvshmem_PREFIX}/bin/nvshmrun")
set(NVSHMEM_INCLUDE_DIR "${nvshmem_PREFIX}/include/nvshmem")
set(NVSHMEM_LIB_DIR "${nvshmem_PREFIX}/lib")

# A kernel of relocatable device code needs as many registers as the largest function that its calls
# lead to, and a thread of a block of 1,024 has 64. Without separable compilation the assembler
# warns that it ignores this flag.
set(NVSHMEM_RDC_FLAGS
  "$<$<AND:$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>,$<BOOL:$<TARGET_PROPERTY:CUDA_SEPARABLE_COMPILATION>>>:SHELL:-Xptxas -func-maxrregcount=64>")

if(NOT TARGET nvshmem::nvshmem_host)
  add_library(nvshmem::nvshmem_host SHARED IMPORTED)
  set_target_properties(nvshmem::nvshmem_host PROPERTIES
    IMPORTED_LOCATION "${nvshmem_PREFIX}/lib/libshmem_nvshmem.so"
    IMPORTED_SONAME libshmem_nvshmem.so
    INTERFACE_COMPILE_OPTIONS "${NVSHMEM_RDC_FLAGS}"
    INTERFACE_INCLUDE_DIRECTORIES "${NVSHMEM_INCLUDE_DIR}")
  foreach(nvshmem_ARCHIVE nvshmem_device nvshmem)
    add_library(nvshmem::${nvshmem_ARCHIVE} STATIC IMPORTED)
    set_target_properties(nvshmem::${nvshmem_ARCHIVE} PROPERTIES
      IMPORTED_LOCATION "${nvshmem_PREFIX}/lib/lib${nvshmem_ARCHIVE}.a"
      INTERFACE_LINK_LIBRARIES nvshmem::nvshmem_host
      INTERFACE_INCLUDE_DIRECTORIES "${NVSHMEM_INCLUDE_DIR}")
  endforeach()
endif()
