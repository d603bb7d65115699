// A CQ gets another buffer while completions come in.
#include "models/driver/device/access.h"
#include "models/driver/device/device.h"

namespace hcasim::verbs {

using namespace driver;

namespace {

// The places of the new buffer.
struct places {
  places(physical_memory& of_host, const queue_buffer& b, std::uint32_t log) : memory(of_host), buffer(b), log_entries(log) {}

  [[nodiscard]] std::uint64_t at(std::uint32_t index) const {
    return buffer.physical(std::uint64_t{index & ((1U << log_entries) - 1)} * HCA_CQE_BYTES);
  }
  [[nodiscard]] bool untouched(std::uint32_t index) const { return memory.get<hca_cqe>(at(index)).qpn == no_qpn; }
  // Makes the entry look as if the adapter had not written there in the pass of `index`.
  void clear(std::uint32_t index) const {
    hca_cqe e{};
    e.qpn = no_qpn;
    e.owner = owner_in_pass(log_entries, index) ^ 1;
    memory.put(at(index), e);
  }
  void put(std::uint32_t index, hca_cqe e) const {
    e.owner = owner_in_pass(log_entries, index);
    memory.put(at(index), e);
  }

  static constexpr std::uint32_t no_qpn = ~0U;
  physical_memory& memory;
  const queue_buffer& buffer;
  std::uint32_t log_entries;
};

command_result resize_on_adapter(cpu& c, const completion_queue& cq, const queue_buffer& buffer, std::uint32_t log_entries) {
  const unsigned shift = uniform_shift(buffer.runs(), cq.context->device->info().page_shifts);
  const std::vector<std::uint64_t> pages = buffer.pages(shift);
  hca_resize_cq resize{};
  resize.log_entries = HCA_U8(log_entries);
  resize.page_shift = HCA_U8(shift);
  resize.pages = static_cast<std::uint32_t>(pages.size());
  resize.ci = cq.ci;
  return run(c, cq.context,
             {.code = HCA_CMD_RESIZE_CQ, .object = cq.number, .in = in_bytes(resize), .list = std::as_bytes(std::span(pages))});
}

}  // namespace

// From `first` on no place of the new buffer may look written. The adapter goes on there at `r.value`; earlier CQEs not yet
// consumed are copied over. Others may poll the old buffer meanwhile; in places that they have consumed, the adapter may be a
// pass further.
int ibv_resize_cq(cpu& c, ibv_cq* handle, int cqe) {
  completion_queue& cq = of(handle);
  process& p = of(cq.context);
  device& d = *cq.context->device;
  d.enter_kernel(c);
  if (cqe < 1 || cqe > 1 << 22) return EINVAL;
  if (p.lost) return EIO;
  if (cq.resizing) return EBUSY;
  std::uint32_t log_entries = 0;
  while (1 << log_entries < cqe) ++log_entries;
  queue_buffer fresh;
  const std::uint64_t bytes = std::uint64_t{HCA_CQE_BYTES} << log_entries;
  if (fresh.allocate(c, p, bytes, d.config().queue_memory)) return ENOMEM;
  const std::uint32_t entries = 1U << log_entries;
  const places to(p.bytes, fresh, log_entries);
  c.copy(bytes);
  c.sync();
  const std::uint32_t first = cq.ci;
  for (std::uint32_t i = first; i != first + entries; ++i) to.clear(i);

  cq.resizing = true;
  const command_result r = resize_on_adapter(c, cq, fresh, log_entries);
  cq.resizing = false;
  if (r.error) {
    (void)d.may_let_go(c, p);
    return r.error;
  }
  for (std::uint32_t i = first; i != cq.ci; ++i) {
    if (to.untouched(i)) to.clear(i + entries);
  }
  for (std::uint32_t i = cq.ci; i != r.value; ++i) to.put(i, p.bytes.get<hca_cqe>(cq.slot(i)));
  c.copy(std::uint64_t{r.value - cq.ci} * HCA_CQE_BYTES);
  cq.buffer.swap(fresh);
  cq.log_entries = log_entries;
  cq.cqe = static_cast<int>(entries);
  fresh.release(c);
  c.machine().rouse();
  return 0;
}

}  // namespace hcasim::verbs
