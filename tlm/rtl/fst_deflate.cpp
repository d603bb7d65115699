// How the FST writer compresses: it asks zlib for it (compress2), and libdeflate does the same in half the time.
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

// Compresses as compress2: Z_OK when it fits into `*room` bytes, which says afterwards how many it came to. The level that the
// writer asks for is that of another compressor.
extern "C" int hcasim_compress2(Bytef* to, uLongf* room, const Bytef* from, uLong bytes, int /*level*/) {
  if (!compressor()) return Z_MEM_ERROR;
  const std::size_t n = libdeflate_zlib_compress(compressor(), from, bytes, to, *room);
  if (n == 0) return Z_BUF_ERROR;
  *room = n;
  return Z_OK;
}
