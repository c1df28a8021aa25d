# find_package(shmem) gives the target shmem::shmem, for C and C++, and the variable shmem_LAUNCHER,
# the program that starts PEs. All paths are relative to this file, so that an installation may be
# moved.
get_filename_component(shmem_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
set(shmem_LAUNCHER "${shmem_PREFIX}/bin/shmemrun")

if(NOT TARGET shmem::shmem)
  add_library(shmem::shmem SHARED IMPORTED)
  set_target_properties(shmem::shmem PROPERTIES
    IMPORTED_LOCATION "${shmem_PREFIX}/lib/libshmem.so"
    IMPORTED_SONAME libshmem.so
    INTERFACE_INCLUDE_DIRECTORIES "${shmem_PREFIX}/include")
endif()
