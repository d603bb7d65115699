#include "models/machine/pcie/pcie_completions.h"

#include <algorithm>

#include "models/machine/pcie/pcie_requests.h"

namespace hcasim {

void pcie_completions::come_back(pcie_burst& b) {
  if (b.read) return send_completion(b);
  if (b.from) end_write(b);
  bursts_.respond(b);
}

void pcie_completions::end_write(pcie_burst& b) {
  pcie_device& d = *b.from;
  d.writes_in_flight.add(-1, now());
  d.write_time.add(now() - b.begun);
  if (b.place != pcie_place::memory || b.relaxed) return;
  d.pushed.end([&](pcie_burst& answer) { take_step<&pcie_bursts::respond>(queue_, &bursts_, answer, now()); });
}

void pcie_completions::answer_software(pcie_burst& b) {
  if (!b.to->pushed.hold(b)) bursts_.respond(b);
}

// Completions of different requests pass each other: the link carries them in the order of their data.
void pcie_completions::send_completion(pcie_burst& b) {
  if (b.fate != pcie_fate::ordinary && spoil(b)) [[unlikely]] {
    return;
  }
  const pcie_config& config = timing_.config;
  const std::uint64_t header = config.completion_header;
  // An unsupported request is answered without data.
  const tlp_shape shape =
      b.payload().get_response_status() == tlm::TLM_OK_RESPONSE
          ? split_completions(b.address, b.bytes, b.from ? config.mrrs : combining_line, config.rcb, timing_.completion_payload)
          : tlp_shape{1, 0, 0};
  if (!b.from) return send_to_software(b, shape);
  pcie_device& to = *b.from;
  ps end;
  if (b.place == pcie_place::device) {
    end = tree_.to_peer(to, b.to->up.book(std::max(now(), b.to->posted_end), shape, header), shape, header);
  } else {
    const pcie_tree::stream first = tree_.first_down(to).book(std::max(now(), to.down_posted_end), shape, header);
    end = tree_.from_root(to, first, shape, header).end + config.link_latency;
  }
  take_step<&pcie_completions::complete>(queue_, this, b, end);
}

void pcie_completions::send_to_software(pcie_burst& b, const tlp_shape& shape) {
  const pcie_config& config = timing_.config;
  const std::uint64_t header = config.completion_header;
  pcie_device& from = *b.to;
  const ps at_root = tree_.to_root(from.up.book(std::max(now(), from.posted_end), shape, header), shape, header).end;
  b.behind = from.pushed.begun();
  const ps at_core = at_root + config.link_latency + config.root_mmio_latency;
  take_step<&pcie_completions::answer_software>(queue_, this, b, std::max(at_core, from.landed));
}

void pcie_completions::complete(pcie_burst& b) {
  pcie_device& d = *b.from;
  d.window.end(b);
  d.read_time.add(now() - b.begun);
  requests_.send_waiting_reads(d);
  bursts_.respond(b);
}

// Applies a fault to a completion; true = no completion leaves.
bool pcie_completions::spoil(pcie_burst& b) {
  if (!b.from) return false;
  if (b.fate == pcie_fate::completion_timeout || b.fate == pcie_fate::malformed) {
    const ps t = std::max(now(), b.begun + timing_.config.completion_timeout);
    take_step<&pcie_completions::on_timeout>(queue_, this, b, t);
    return true;
  }
  if (b.fate == pcie_fate::poisoned_read) b.fail(tlm::TLM_GENERIC_ERROR_RESPONSE);
  return false;
}

void pcie_completions::on_timeout(pcie_burst& b) {
  b.fail(tlm::TLM_GENERIC_ERROR_RESPONSE);
  b.from->function.note(PCI_ERROR_COMPLETION_TIMEOUT, b);
  complete(b);
}

}  // namespace hcasim
