#include "models/driver/event_queues.h"

#include "models/driver/access.h"
#include "tlm/pcie.h"

namespace hcasim::driver {

int event_queues::open(cpu& c, handlers h) {
  handlers_ = std::move(h);
  for (unsigned i = 0; i <= config_.completion_vectors; ++i) {
    auto q = std::make_unique<queue>();
    q->vector = config_.first_vector + i;
    const std::uint64_t entry = bar_ + HCA_BAR_MSIX + i * sizeof(hca_msix_entry);
    write_register(c, entry, std::uint64_t{msi_window});
    write_register(c, entry + 8, std::uint64_t{q->vector});  // data, not masked

    const std::uint64_t bytes = std::uint64_t{HCA_EQE_BYTES} << config_.log_eq_entries;
    q->buffer = dma_.allocate(bytes, 4096);
    hca_eqc eqc{};
    eqc.buffer.pages = dma_.address(q->buffer);
    eqc.buffer.log_bytes = HCA_U8(5 + config_.log_eq_entries);
    eqc.vector = i;
    const command_result r = commands_.execute(c, {.code = HCA_CMD_CREATE_EQ, .in = in_bytes(eqc)});
    if (r.error) return r.error;
    q->number = r.value;
    queues_.push_back(std::move(q));
  }
  for (auto& q : queues_) {
    machine_.run("eq" + std::to_string(q->number), [this, q = q.get()](cpu& thread) { run(thread, *q); });
  }
  return 0;
}

void event_queues::run(cpu& c, queue& q) {
  arm(c, q);
  for (;;) {
    c.wait_interrupt(q.vector);
    c.sync();  // whom it wakes runs after the handler
    ++stats_.interrupts;
    // What arrives between the last look and the arming is seen by the second look.
    while (drain(c, q) > 0) arm(c, q);
  }
}

void event_queues::arm(cpu& c, const queue& q) {
  ring(c, bar_ + HCA_BAR_UAR, HCA_UAR_EQ, q.number | HCA_ARM_NEXT << 24, q.ci);
}

unsigned event_queues::drain(cpu& c, queue& q) {
  unsigned n = 0;
  for (;; ++n) {
    const std::uint32_t slot = q.ci & ((1U << config_.log_eq_entries) - 1);
    const auto e = load<hca_eqe>(c, q.buffer + std::uint64_t{slot} * HCA_EQE_BYTES);
    const std::uint8_t owner = ((q.ci >> config_.log_eq_entries) & 1) ? 0 : 1;
    if ((e.owner & 1) != owner) return n;
    ++q.ci;
    if (e.type == HCA_EVENT_COMPLETION) {
      ++stats_.completion_events;
      handlers_.completion(e.number);
    } else if (e.type == HCA_EVENT_PAGE_FAULT) {
      handlers_.page_fault(e);
    } else if (e.type != HCA_EVENT_COMMAND) {
      ++stats_.async_events;
      handlers_.async(e.type, e.number);
    }
  }
}

}  // namespace hcasim::driver
