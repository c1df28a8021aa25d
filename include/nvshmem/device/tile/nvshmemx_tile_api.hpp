/*
 * device/tile/nvshmemx_tile_api.hpp: a name that programs include; its contents are in
 * nvshmemx_tile_api_defines.cuh.
 */
#ifndef NVSHMEM_DEVICE_TILE_NVSHMEMX_TILE_API_HPP
#define NVSHMEM_DEVICE_TILE_NVSHMEMX_TILE_API_HPP

#include "nvshmemx_tile_api_defines.cuh"

#endif
