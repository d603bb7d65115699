#include "testbenches/scenarios/sample_client.h"

#include <cstring>

namespace hcasim::kit {

using driver::peer::sg_table;

sample_client::sample_client(virtual_memory& memory, std::uint64_t va, std::uint64_t bytes)
    : memory_(memory), va_(va), length_(align_up(bytes, page)), pages_(memory.allocate(length_)) {
  std::strcpy(client_.name, "sample");
  std::strcpy(client_.version, "1");
  const auto context = [](void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  client_.acquire = [this](cpu&, const virtual_memory&, std::uint64_t addr, std::uint64_t size, void** out) {
    if (addr < va_ || size > length_ || addr - va_ > length_ - size) return 0;
    lent_[next_] = {addr, size};
    *out = reinterpret_cast<void*>(static_cast<std::uintptr_t>(next_++));  // NOLINT(performance-no-int-to-ptr): a number
    return 1;
  };
  client_.get_pages = [this, context](cpu&, std::uint64_t, std::uint64_t, bool, bool, sg_table&, void* p,
                                      std::uint64_t ticket) {
    lent_.at(context(p)).ticket = ticket;
    ++pins_;
    return 0;
  };
  client_.dma_map = [this, context](cpu&, sg_table& sg, void* p, const driver::device&, int, int* nmap) {
    const range& r = lent_.at(context(p));
    sg.clear();
    for (std::uint64_t at = align_down(r.addr, page); at < r.addr + r.size; at += page) {
      sg.push_back({memory_.translate(pages_ + (at - va_)), page});
    }
    *nmap = static_cast<int>(sg.size());
    ++maps_;
    return 0;
  };
  client_.dma_unmap = [this](cpu&, sg_table& sg, void*, const driver::device&) {
    sg.clear();
    --maps_;
    return 0;
  };
  client_.put_pages = [this](cpu&, sg_table&, void*) { --pins_; };
  client_.get_page_size = [](cpu&, void*) { return page; };
  client_.release = [this, context](cpu&, void* p) { lent_.erase(context(p)); };
}

bool sample_client::join(driver::peer::peer_core& core) {
  core_ = &core;
  handle_ = core.ib_register_peer_memory_client(&client_, &invalidate_);
  return handle_ != nullptr;
}

void sample_client::leave(cpu& c) {
  core_->ib_unregister_peer_memory_client(c, handle_);
}

int sample_client::take_back(cpu& c) {
  int status = 0;
  for (const auto& [number, r] : lent_) {
    if (const int error = invalidate_(c, handle_, r.ticket)) status = error;
  }
  return status;
}

std::vector<std::uint8_t> sample_client::bytes(std::uint64_t at, std::uint64_t n) const {
  std::vector<std::uint8_t> v(n);
  memory_.read(pages_ + (at - va_), std::as_writable_bytes(std::span(v)));
  return v;
}

}  // namespace hcasim::kit
