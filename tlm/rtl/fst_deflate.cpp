// The FST writer calls zlib's compress2; here libdeflate does the same in half the time.
#include <libdeflate.h>
#include <zlib.h>

#include <memory>

namespace {

constexpr int effort = 1;  // more costs time and saves little

libdeflate_compressor* compressor() {
  thread_local const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> mine(
      libdeflate_alloc_compressor(effort), &libdeflate_free_compressor);
  return mine.get();
}

}  // namespace

// Compresses like compress2: Z_OK when the result fits into `*room` bytes; `*room` becomes its size. The writer's level is
// ignored, since it is meant for zlib.
extern "C" int hcasim_compress2(Bytef* to, uLongf* room, const Bytef* from, uLong bytes, int /*level*/) {
  if (!compressor()) return Z_MEM_ERROR;
  const std::size_t n = libdeflate_zlib_compress(compressor(), from, bytes, to, *room);
  if (n == 0) return Z_BUF_ERROR;
  *room = n;
  return Z_OK;
}
