#include "tlm/rtl/axi/axi_monitor.h"

#include <algorithm>
#include <string>

namespace hcasim::rtl {

axi_monitor::axi_monitor(const sc_core::sc_module_name& name, unsigned masters) : sc_module(name) {
  for (unsigned i = 0; i < masters; ++i) {
    auto& socket = in.emplace_back(("in_" + std::to_string(i)).c_str());
    socket.register_nb_transport_fw(this, &axi_monitor::request, static_cast<int>(i));
  }
  out.register_nb_transport_bw(this, &axi_monitor::response);
}

bool axi_monitor::decide(int master, tlm::tlm_generic_payload& p) {
  auto* const asks = p.get_extension<axi_extension>();
  const bool exclusive = asks && asks->exclusive;
  const std::uint64_t first = p.get_address();
  const std::uint64_t last = first + std::max(1U, p.get_data_length()) - 1;
  const auto own = [&](const watch& w) { return w.master == master && exclusive && w.id == asks->id; };
  if (p.is_read()) {
    if (!exclusive) return true;
    std::erase_if(watches_, own);
    watches_.push_back({master, asks->id, first, last});
    asks->exclusive_done = true;
    return true;
  }
  if (exclusive) {
    const auto mine = std::find_if(watches_.begin(), watches_.end(), own);
    asks->exclusive_done = mine != watches_.end() && mine->first == first && mine->last == last;
    ++(asks->exclusive_done ? granted_ : refused_);
    if (!asks->exclusive_done) return false;
  }
  std::erase_if(watches_, [&](const watch& w) { return w.first <= last && first <= w.last; });
  return true;
}

tlm::tlm_sync_enum axi_monitor::request(int master, tlm::tlm_generic_payload& p, tlm::tlm_phase& phase,
                                        sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_REQ) return out->nb_transport_fw(p, phase, delay);
  if (!decide(master, p)) {
    p.set_response_status(tlm::TLM_OK_RESPONSE);
    return tlm::TLM_COMPLETED;
  }
  passing_.push_back({&p, master});
  const tlm::tlm_sync_enum status = out->nb_transport_fw(p, phase, delay);
  if (status == tlm::TLM_COMPLETED || (status == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP)) leaves(p);
  return status;
}

int axi_monitor::leaves(const tlm::tlm_generic_payload& p) {
  const auto at = std::find_if(passing_.begin(), passing_.end(), [&](const passing& x) { return x.payload == &p; });
  const int master = at->master;
  *at = passing_.back();
  passing_.pop_back();
  return master;
}

tlm::tlm_sync_enum axi_monitor::response(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  return in[static_cast<std::size_t>(leaves(p))]->nb_transport_bw(p, phase, delay);
}

}  // namespace hcasim::rtl
