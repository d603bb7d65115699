#include "models/adapter/memory_port/memory_port_rtl.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "tlm/base/delegate.h"

namespace hcasim {

memory_port_rtl::memory_port_rtl(const sc_core::sc_module_name& name, const clock_domain& clock, rtl::design_factory make,
                                 const rtl::shell_options& options)
    : shell(name, clock, make, options),
      req_(into("req", tag_bits + 584)),
      mem_rsp_(into("mem_rsp", tag_bits + 513)),
      mem_(out_of("mem", tag_bits + 584)),
      rsp_(out_of("rsp", tag_bits + 513)) {
  for (unsigned i = 0; i < tags; ++i) {
    free_tags_.push_back(static_cast<std::uint8_t>(i));
    access& a = accesses_[i];
    a.self = this;
    a.tag = i;
    a.data = a.buffer.data();
    call_on_response<&access::self, &memory_port_rtl::on_response>(a, a);
  }
  in.on<&memory_port_rtl::handle>(this);
  req_.on_transfer = [this](const rtl::payload&, std::uint64_t, ps) { owe(1); };
  mem_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) { hand_on(p, t); };
  mem_rsp_.on_transfer = [this](const rtl::payload&, std::uint64_t, ps) { await(-1); };
  rsp_.on_transfer = [this](const rtl::payload& p, std::uint64_t, ps t) { answer(p, t); };
  stats_.add("writes", "1", "writes that it handed on", writes_);
  stats_.add("reads", "1", "reads that it handed on", reads_);
  stats_.total("rtl_cycles", "1", "clock edges that the RTL was given", [this](ps) { return static_cast<double>(cycles()); });
}

tlm::tlm_sync_enum memory_port_rtl::handle(dma_request& r, tlm::tlm_phase phase, ps& t) {
  if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
  ++asked_;
  if (free_tags_.empty()) {
    behind_.push_back({&r, t});
  } else {
    enter(r, t);
  }
  return tlm::TLM_ACCEPTED;
}

void memory_port_rtl::enter(dma_request& r, ps t) {
  access& a = accesses_[free_tags_.front()];
  free_tags_.pop_front();
  a.asked = &r;
  std::array<std::byte, line_bytes> line{};
  if (r.op == dma_op::write) std::memcpy(line.data(), r.data, r.bytes);
  rtl::payload p;
  rtl::writer(p)
      .bytes(line.data(), line_bytes)
      .put(r.address, 64)
      .put(r.bytes, 7)
      .put(r.op == dma_op::write, 1)
      .put(a.tag, tag_bits);
  push(req_, p, t);
}

void memory_port_rtl::hand_on(const rtl::payload& p, ps t) {
  std::array<std::byte, line_bytes> line{};
  rtl::reader bits(p);
  bits.bytes(line.data(), line_bytes);
  const std::uint64_t address = bits.get(64);
  const auto bytes = bits.get32(7);
  const bool write = bits.get(1) != 0;
  access& a = accesses_[bits.get(tag_bits)];
  if (!a.asked) return violation("stream mem has tag " + std::to_string(a.tag) + ", which is not in use");
  if (bytes > line_bytes) return violation("stream mem has " + std::to_string(bytes) + " bytes, a line has 64");
  ++(write ? writes_ : reads_);
  ++handed_on_;
  a.buffer = line;
  a.operation = a.asked->operation;
  a.source = a.asked->source;
  a.op = write ? dma_op::write : dma_op::read;
  a.address = address;
  a.bytes = bytes;
  a.failed = false;
  await(1);
  if (dma.send(a, t) == tlm::TLM_COMPLETED) on_response(a, t);
  while (!waiters_.empty() && waiters_.front().after <= handed_on_) {
    const action then = waiters_.front().then;
    waiters_.pop_front();
    then();
  }
}

void memory_port_rtl::on_response(access& a, ps t) {
  rtl::payload p;
  rtl::writer(p).bytes(a.buffer.data(), line_bytes).put(a.failed, 1).put(a.tag, tag_bits);
  push(mem_rsp_, p, t);
}

void memory_port_rtl::answer(const rtl::payload& p, ps t) {
  owe(-1);
  access& a = accesses_[p.get(513, tag_bits)];
  dma_request* const r = std::exchange(a.asked, nullptr);
  if (!r) return violation("stream rsp answers tag " + std::to_string(a.tag) + ", which is not in use");
  r->failed = p.get(512, 1) != 0;
  if (r->op == dma_op::read) {
    std::array<std::byte, line_bytes> line{};
    rtl::reader(p).bytes(line.data(), line_bytes);
    std::memcpy(r->data, line.data(), r->bytes);
  }
  free_tags_.push_back(static_cast<std::uint8_t>(a.tag));
  if (!behind_.empty()) {
    const waiting_request w = behind_.front();
    behind_.pop_front();
    enter(*w.request, std::max(w.t, t));
  }
  target_socket<dma_request>::respond(*r, t);
}

void memory_port_rtl::when_handed_on(action then) {
  if (all_handed_on()) return then();
  waiters_.push_back({asked_, then});
}

}  // namespace hcasim
