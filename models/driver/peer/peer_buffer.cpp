#include "models/driver/peer/peer_buffer.h"

#include <algorithm>
#include <cerrno>

namespace hcasim::driver::peer {
namespace {

constexpr std::uint64_t host_page = 4096;

}  // namespace

peer_buffer::peer_buffer(memory_owner& owner, host& machine, std::uint64_t va, std::uint64_t bytes)
    : dma_buf(bytes), owner_(owner), machine_(machine), va_(va) {}

int peer_buffer::move(cpu& c, bool to_host) {
  reservation().lock(c);
  int error = 0;
  std::shared_ptr<dma_fence> fence;
  std::uint32_t copy = 0;
  if (to_host != on_host_) {
    if (host_ == 0) host_ = machine_.reserve_physical(align_up(size(), host_page), host_page);
    error = pins_ != 0 ? EBUSY : host_ == 0 ? ENOMEM : move_notify(c);
    if (error == 0) {
      fence = std::make_shared<dma_fence>();
      add_fence(fence);
      copy = owner_.start_copy(c, to_host, va_, host_, size());
      on_host_ = to_host;
    }
  }
  reservation().unlock();
  if (!fence) return error;
  if (copy == 0 || !owner_.wait_copy(c, copy)) error = EIO;
  c.sync();
  fence->signal();
  return error;
}

int peer_buffer::take_back(cpu& c) {
  reservation().lock(c);
  const int error = revoke(c);
  reservation().unlock();
  return error;
}

int peer_buffer::map(cpu&, sg_table& sg) {
  sg.clear();
  if (on_host_) {
    sg.push_back({host_, align_up(size(), host_page)});
  } else {
    for (std::uint64_t done = 0; done < size();) {
      const auto piece = owner_.place(va_ + done);
      if (!piece) return EFAULT;
      const std::uint64_t n = std::min(piece->bytes, align_up(size() - done, host_page));
      sg.push_back({owner_.bar() + piece->offset, n});
      done += n;
    }
  }
  ++maps_;
  return 0;
}

void peer_buffer::unmap(cpu&, sg_table& sg) {
  sg.clear();
  --maps_;
}

int peer_buffer::pin(cpu&) {
  ++pins_;
  return 0;
}

void peer_buffer::unpin(cpu&) {
  --pins_;
}

}  // namespace hcasim::driver::peer
