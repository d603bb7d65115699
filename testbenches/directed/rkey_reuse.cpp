#include "testbenches/directed/rkey_reuse.h"

#include <cstring>
#include <deque>
#include <memory>
#include <optional>

#include "testbenches/directed/reuse_mapping.h"
#include "testbenches/kit/counters.h"
#include "testbenches/kit/world.h"

namespace hcasim::kit {
namespace {

struct node_counts {
  explicit node_counts(node& n)
      : commands(statistic_of(n.hca.command_unit, "commands")),
        pcie(statistics_ending_in(n.pcie, "header_bytes") + statistics_ending_in(n.pcie, "payload_bytes")),
        mrc(statistic_of(n.hca.mrc_cache, "misses")) {
    for (unsigned level = 0; level < 4; ++level) {
      walks += statistic_of(n.hca.page_walker, "reads_level_" + std::to_string(level));
    }
  }
  double commands, pcie, mrc;
  double walks = 0;
};

struct reuse_state {
  reuse_state(const reuse_options& options_in, const std::vector<std::uint8_t>& stream_in, std::vector<reuse_mode> modes_in,
              std::vector<reuse_outcome>& outcomes_in)
      : o(options_in), stream(stream_in), modes(std::move(modes_in)), outcomes(&outcomes_in) {}

  reuse_options o;
  const std::vector<std::uint8_t>& stream;
  std::vector<reuse_mode> modes;
  std::vector<reuse_outcome>* outcomes;
  out_of_band<address> to_host;
  out_of_band<address> to_target;
  out_of_band<ps> ready;
  out_of_band<ps> finished;
  node* host = nullptr;
  std::optional<node_counts> after;  // of the host, when the target has finished
};

qp_options reuse_qp(const reuse_options& o) {
  qp_options q;
  q.mtu = o.mtu;
  q.send_depth = std::max(2 * o.outstanding, 4 * o.buffers);
  q.receive_depth = 4 * o.buffers;
  q.sge = 1;
  return q;
}

// The host: waits for fill notices, takes the bytes, swaps the buffer, tells the target.
void host_stream(reuse_state& s, cpu& c, node& n, reuse_mode mode, reuse_outcome& out, std::vector<std::uint8_t>& received) {
  process_context p(c, n);
  const qp_options q = reuse_qp(s.o);
  ibv_qp* qp = p.create_qp(q);
  s.to_target.send(c, p.address_of(qp, q));
  bool ok = p.connect(qp, s.to_host.receive(c), q) == 0;
  const region notes = p.allocate(std::uint64_t{q.send_depth} * sizeof(grant), IBV_ACCESS_LOCAL_WRITE);
  const auto mapping = reuse_mapping::make(mode, p, qp, s.o, s.stream.size());
  for (std::uint32_t i = 0; i < q.receive_depth; ++i) ok = ok && post_receive(c, qp, i, {}) == 0;

  std::uint32_t note = 0;
  const auto send_grants = [&](std::vector<grant>& grants) {
    for (const grant& g : grants) {
      const std::uint64_t at = notes.addr + note++ % q.send_depth * sizeof(grant);
      p.memory.write(at, std::as_bytes(std::span(&g, 1)));
      ok = ok && post(c, qp, {.opcode = IBV_WR_SEND, .id = 1000, .sges = {{at, sizeof(grant), notes.mr->lkey}}}) == 0;
      out.key_updates += g.new_key;
      ++out.table_updates;
    }
    grants.clear();
  };
  std::vector<grant> grants;
  ok = ok && mapping->open(grants);
  s.ready.receive(c);
  s.o.parts.begin(c, std::string(name_of(mode)));
  const node_counts before(n);
  s.host = &n;
  out.begin = c.time();
  send_grants(grants);

  const std::uint64_t total = ceil_div(s.stream.size(), s.o.buffer);
  std::uint64_t filled = 0;
  while (ok && filled < total) {
    const auto wc = next_completion(c, p.cq);
    ok = wc && wc->status == IBV_WC_SUCCESS;
    if (!ok || wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM) continue;
    const ps noticed = c.time();
    const std::uint64_t at = filled * s.o.buffer;
    const std::uint64_t bytes = std::min<std::uint64_t>(s.o.buffer, s.stream.size() - at);
    p.memory.read(mapping->host_address(filled), std::as_writable_bytes(std::span(received).subspan(at, bytes)));
    ok = wc->imm_data == static_cast<std::uint32_t>(filled) && mapping->swap(filled, grants);
    if (!grants.empty()) ++out.swaps;
    const bool changed = !grants.empty();
    send_grants(grants);
    if (changed) out.swap_latency.add(c.time() - noticed);
    ok = ok && post_receive(c, qp, 0, {}) == 0;
    ++filled;
  }
  out.end = s.finished.receive(c);
  const node_counts& after = *s.after;
  ok = mapping->close() && ok;
  out.bytes = s.stream.size();
  out.commands = static_cast<std::uint64_t>(after.commands - before.commands);
  out.pcie_bytes = static_cast<std::uint64_t>(after.pcie - before.pcie);
  out.mrc_misses = static_cast<std::uint64_t>(after.mrc - before.mrc);
  out.walk_reads = static_cast<std::uint64_t>(after.walks - before.walks);
  out.problem = !ok ? "a verb or a completion failed" : received != s.stream ? "the bytes differ" : "";
  out.ok = out.problem.empty();
}

// The target: writes the stream wherever its grants lead, and says with the last write of a buffer that it is full.
void target_stream(reuse_state& s, cpu& c, node& n) {
  process_context p(c, n);
  const qp_options q = reuse_qp(s.o);
  ibv_qp* qp = p.create_qp(q);
  s.to_host.send(c, p.address_of(qp, q));
  bool ok = p.connect(qp, s.to_target.receive(c), q) == 0;
  const region source = p.allocate(s.stream.size(), IBV_ACCESS_LOCAL_WRITE);
  p.memory.write(source.addr, std::as_bytes(std::span(s.stream)));
  const region notes = p.allocate(std::uint64_t{q.receive_depth} * sizeof(grant), IBV_ACCESS_LOCAL_WRITE);
  const auto post_note = [&](std::uint64_t slot) {
    return post_receive(c, qp, slot, {{notes.addr + slot * sizeof(grant), sizeof(grant), notes.mr->lkey}}) == 0;
  };
  for (std::uint64_t i = 0; i < q.receive_depth; ++i) ok = ok && post_note(i);
  s.ready.send(c, c.time());

  std::deque<grant> grants;
  std::uint64_t position = 0;
  std::uint32_t outstanding = 0;
  const std::uint64_t size = s.stream.size();
  while (ok && (position < size || outstanding != 0)) {
    while (position < size && outstanding < s.o.outstanding && !grants.empty()) {
      const grant& g = grants.front();
      const std::uint64_t buffer_end = std::min((position / s.o.buffer + 1) * s.o.buffer, size);
      const std::uint64_t n_bytes = std::min(s.o.message, buffer_end - position);
      const bool last = position + n_bytes == buffer_end;
      ok = post(c, qp,
                {.opcode = last ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
                 .id = position,
                 .sges = {{source.addr + position, static_cast<std::uint32_t>(n_bytes), source.mr->lkey}},
                 .remote = g.va + (position - g.from),
                 .rkey = g.key,
                 .immediate = static_cast<std::uint32_t>(position / s.o.buffer)}) == 0;
      if (!ok) break;
      ++outstanding;
      position += n_bytes;
      if (position >= g.to) grants.pop_front();
    }
    const auto wc = next_completion(c, p.cq);
    ok = ok && wc && wc->status == IBV_WC_SUCCESS;
    if (!ok) break;
    if (wc->opcode == IBV_WC_RECV) {
      grant g{};
      p.memory.read(notes.addr + wc->wr_id * sizeof(grant), std::as_writable_bytes(std::span(&g, 1)));
      grants.push_back(g);
      ok = post_note(wc->wr_id);
    } else {
      --outstanding;
    }
  }
  s.o.parts.end(c);
  s.after.emplace(*s.host);
  s.finished.send(c, c.time());
}

}  // namespace

std::string_view name_of(reuse_mode m) {
  static constexpr std::string_view names[reuse_modes] = {"R_Key kept, extend",     "R_Key kept, remap",
                                                          "re-register, keys sent", "de-register + register",
                                                          "one static region",      "window rebound"};
  return names[static_cast<std::size_t>(m)];
}

void start_reuse(hcasim::system& s, const reuse_options& o, const std::vector<std::uint8_t>& stream,
                 const std::vector<reuse_mode>& modes, std::vector<reuse_outcome>& outcomes) {
  outcomes.assign(modes.size(), {});
  auto state = std::make_shared<reuse_state>(o, stream, modes, outcomes);
  start_program(s, 0, "host", [state](cpu& c, node& n) {
    for (std::size_t i = 0; i < state->modes.size(); ++i) {
      std::vector<std::uint8_t> received(state->stream.size());
      host_stream(*state, c, n, state->modes[i], (*state->outcomes)[i], received);
    }
  });
  start_program(s, 1, "target", [state](cpu& c, node& n) {
    for (std::size_t i = 0; i < state->modes.size(); ++i) target_stream(*state, c, n);
  });
}

}  // namespace hcasim::kit
