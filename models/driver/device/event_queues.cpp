#include "models/driver/device/event_queues.h"

#include "models/driver/device/access.h"
#include "tlm/pcie.h"

namespace hcasim::driver {

int event_queues::open(cpu& c, handlers h) {
  handlers_ = std::move(h);
  for (unsigned i = 0; i <= config_.completion_vectors; ++i) {
    if (i == queues_.size()) {
      queues_.push_back(std::make_unique<queue>());
      queues_.back()->vector = config_.first_vector + i;
    }
    queue& q = *queues_[i];
    const std::uint64_t entry = bar_ + HCA_BAR_MSIX + i * sizeof(hca_msix_entry);
    write_register(c, entry, std::uint64_t{msi_window});
    write_register(c, entry + 8, std::uint64_t{q.vector});  // data, not masked
    if (const int error = create(c, q)) return error;
  }
  for (auto& q : queues_) {
    if (std::exchange(q->has_thread, true)) {
      arm(c, *q);
      continue;
    }
    machine_.run("eq" + std::to_string(q->number), [this, q = q.get()](cpu& thread) { run(thread, *q); });
  }
  return 0;
}

int event_queues::create(cpu& c, queue& q) {
  const std::uint64_t bytes = std::uint64_t{HCA_EQE_BYTES} << config_.log_eq_entries;
  ++q.life;
  q.ci = 0;
  if (q.buffer == 0) {
    q.buffer = dma_.allocate(bytes, 4096);
    if (q.buffer == 0) return ENOMEM;
  } else {  // no entry of an earlier life may look new
    const std::vector<std::byte> zeros(bytes);
    c.store(q.buffer, zeros);
  }
  hca_eqc eqc{};
  eqc.buffer.pages = dma_.address(q.buffer);
  eqc.buffer.log_bytes = HCA_U8(5 + config_.log_eq_entries);
  eqc.vector = q.vector - config_.first_vector;
  const command_result r = commands_.execute(c, {.code = HCA_CMD_CREATE_EQ, .in = in_bytes(eqc)});
  q.number = r.value;
  return r.error;
}

void event_queues::run(cpu& c, queue& q) {
  arm(c, q);
  for (;;) {
    c.wait_interrupt(q.vector);
    c.sync();  // a thread that it wakes runs after the handler
    ++stats_.interrupts;
    // An event that arrives between the last look and the arming is seen by the second look.
    while (drain(c, q) > 0) arm(c, q);
  }
}

void event_queues::arm(cpu& c, const queue& q) {
  ring(c, bar_ + HCA_BAR_UAR, HCA_UAR_EQ, q.number | HCA_ARM_NEXT << 24, q.ci);
}

hca_eqe event_queues::next(cpu& c, const queue& q) const {
  const std::uint32_t slot = q.ci & ((1U << config_.log_eq_entries) - 1);
  return load<hca_eqe>(c, q.buffer + std::uint64_t{slot} * HCA_EQE_BYTES);
}

void event_queues::look(cpu& c) {
  for (const auto& q : queues_) {
    const hca_eqe e = next(c, *q);
    if (!is_new(*q, e)) {
      q->seen = 0;
    } else if (std::exchange(q->seen, q->ci + 1) == q->ci + 1) {
      ++stats_.lost_interrupts;
      machine_.raise(q->vector);
    }
  }
}

unsigned event_queues::drain(cpu& c, queue& q) {
  unsigned n = 0;
  for (;; ++n) {
    const std::uint32_t life = q.life;
    const hca_eqe e = next(c, q);
    if (q.life != life) return n;
    if (!is_new(q, e)) return n;
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
