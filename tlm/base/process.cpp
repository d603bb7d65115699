#include "tlm/base/process.h"

#include <array>
#include <new>

namespace hcasim::detail {
namespace {

constexpr std::size_t granule = 64;
constexpr std::size_t classes = 64;  // frames up to 4 KiB are recycled

struct free_frame {
  free_frame* next;
};
std::array<free_frame*, classes> free_frames{};

}  // namespace

void* frame_allocate(std::size_t size) {
  const std::size_t c = (size + granule - 1) / granule;
  if (c >= classes) return ::operator new(size);
  if (free_frame* f = free_frames[c]) {
    free_frames[c] = f->next;
    return f;
  }
  return ::operator new(c* granule);
}

void frame_free(void* frame, std::size_t size) noexcept {
  const std::size_t c = (size + granule - 1) / granule;
  if (c >= classes) return ::operator delete(frame);
  auto* f = static_cast<free_frame*>(frame);
  f->next = free_frames[c];
  free_frames[c] = f;
}

}  // namespace hcasim::detail
