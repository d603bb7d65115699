// Typed access to host memory and device registers by a software thread.
#pragma once

#include "firmware/abi/registers.h"
#include "models/machine/host/cpu.h"

namespace hcasim::driver {

template <class T>
T load(cpu& c, std::uint64_t physical) {
  T v;
  c.load(physical, std::as_writable_bytes(std::span(&v, 1)));
  return v;
}

template <class T>
void store(cpu& c, std::uint64_t physical, const T& v) {
  c.store(physical, std::as_bytes(std::span(&v, 1)));
}

template <class T>
T read_register(cpu& c, std::uint64_t address) {
  T v{};
  c.mmio_read(address, std::as_writable_bytes(std::span(&v, 1)));
  return v;
}

template <class T>
void write_register(cpu& c, std::uint64_t address, const T& v, std::uint64_t operation = 0) {
  c.mmio_write(address, std::as_bytes(std::span(&v, 1)), operation);
}

// `operation`: the last that was posted, of an SQ doorbell.
inline void ring(cpu& c, std::uint64_t uar, std::uint32_t offset, std::uint32_t number, std::uint32_t value,
                 std::uint64_t operation = 0) {
  write_register(c, uar + offset, hca_doorbell{number, value}, operation);
}

}  // namespace hcasim::driver
