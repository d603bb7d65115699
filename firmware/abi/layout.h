/* Common ground of the hardware/software contract. Everything is little-endian and naturally aligned; a layout is a plain
 * struct whose size is asserted. `docs/programming_interface.md` describes every field. */
#pragma once

#ifdef __cplusplus
#include <cstdint>
#define HCA_LAYOUT(type, size) static_assert(sizeof(type) == (size), #type " has a fixed size")
#define HCA_U8(x) static_cast<std::uint8_t>((x)&0xffU)
#else
#include <assert.h>
#include <stdint.h>
#define HCA_LAYOUT(type, size) static_assert(sizeof(type) == (size), #type " has a fixed size")
#define HCA_U8(x) ((uint8_t)((x)&0xffU))
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the layouts are used in place: a little-endian machine is needed"
#endif
