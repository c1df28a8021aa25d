# find_package(shmem) gives the target shmem::shmem, for C and C++, and the variable shmem_LAUNCHER,
# the program that starts PEs. All paths are relative to this file, so that an installation may be
# moved.
get_filename_component(shmem_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
set(shmem_LAUNCHER "${shmem_PREFIX}/bin/shmemrun")

# A kernel of relocatable device code needs as many registers as the largest function that its calls
# lead to, and a thread of a block of 1,024 has 64. Without separable compilation the assembler
# warns that it ignores this flag.
set(shmem_RDC_FLAGS
  "$<$<AND:$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>,$<BOOL:$<TARGET_PROPERTY:CUDA_SEPARABLE_COMPILATION>>>:SHELL:-Xptxas -func-maxrregcount=64>")

if(NOT TARGET shmem::shmem)
  add_library(shmem::shmem SHARED IMPORTED)
  set_target_properties(shmem::shmem PROPERTIES
    IMPORTED_LOCATION "${shmem_PREFIX}/lib/libshmem.so"
    IMPORTED_SONAME libshmem.so
    INTERFACE_COMPILE_OPTIONS "${shmem_RDC_FLAGS}"
    INTERFACE_INCLUDE_DIRECTORIES "${shmem_PREFIX}/include")
endif()
