// The firmware over the fake HAL, and its commands as calls.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "firmware/abi/command.h"
#include "firmware/control/fake_hal.h"

namespace hcasim::testing {

// Steps of a random history: the sanitizers take tens of times as long for each.
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HCASIM_SANITIZED
#endif
#endif
constexpr unsigned steps(unsigned n) {
#if defined HCASIM_SANITIZED || defined __SANITIZE_ADDRESS__
  return n / 8;
#else
  return n;
#endif
}

inline constexpr std::uint64_t KiB = 1024;
inline constexpr std::uint64_t MiB = 1024 * KiB;
inline constexpr std::uint64_t GiB = 1024 * MiB;
inline constexpr std::uint64_t page = 4096;

// Returns pages of which no two adjoin.
inline std::vector<hca_chunk> scattered(std::uint64_t pages, std::uint64_t base = 0x100000000, std::uint64_t bytes = page) {
  std::vector<hca_chunk> chunks;
  for (std::uint64_t i = 0; i < pages; i++) chunks.push_back({base + 2 * i * bytes, bytes});
  return chunks;
}

inline fw_limits small_limits() {
  fw_limits l{};
  l.log_qps = 6;
  l.log_cqs = 6;
  l.log_mrs = 8;
  l.max_levels = 4;
  l.mtu_shift = 12;
  l.queue_levels = 2;
  l.page_shifts = 1U << 12 | 1U << 16 | 1U << 21 | 1U << 30;
  l.max_read_depth = 16;
  l.max_inline = 512;
  l.max_sge = 16;
  l.blueflame_bytes = 1024;
  l.lid = 7;
  l.function = 3;
  l.functions = 2;
  l.max_eqs = 4;
  l.max_spaces = 8;
  l.max_segments = 64;
  l.max_extent_lines = 32;
  l.max_table_bytes = 4 * MiB;
  return l;
}

class firmware_bench {
 public:
  static constexpr std::uint64_t in = 0x0000'0000'1000'0000, out = 0x0000'0000'2000'0000;  // mailboxes
  static constexpr std::uint64_t icm = 0x0000'0040'0000'0000;

  explicit firmware_bench(const fw_limits& l = small_limits(), bool initialise = true)
      : limits(l), state_(fw_size() / 8 + 1), arena_(fw_memory_needed(&l) / 8 + 1) {
    reset();
    if (initialise) init();
  }

  void reset() { fw_reset(fw(), &h, &limits, arena_.data()); }
  [[nodiscard]] firmware* fw() { return reinterpret_cast<firmware*>(state_.data()); }
  [[nodiscard]] fw_usage usage() {
    fw_usage u;
    fw_query_usage(fw(), &u);
    return u;
  }

  [[nodiscard]] hca_init areas() const {
    hca_init a{};
    a.qpc_base = icm;
    a.cqc_base = icm + 0x1'0000'0000;
    a.mrc_base = icm + 0x2'0000'0000;
    a.table_base = icm + 0x10'0000'0000;
    a.table_bytes = limits.max_table_bytes;
    a.extent_base = icm + 0x8'0000'0000;
    a.extent_lines = limits.max_extent_lines;
    a.log_qps = limits.log_qps;
    a.log_cqs = limits.log_cqs;
    a.log_mrs = limits.log_mrs;
    return a;
  }
  int init() { return run(HCA_CMD_INIT, 0, 0, areas()); }

  // A command whose mailbox is `head` followed by `list`.
  template <class T, class E = std::uint64_t>
  int run(std::uint16_t opcode, std::uint32_t object, std::uint32_t modifier, const T& head, const std::vector<E>& list = {},
          std::uint32_t out_bytes = 0) {
    h.put(in, head);
    if (!list.empty()) h.write(in + sizeof head, list.data(), list.size() * sizeof(E));
    return raw(opcode, object, modifier, static_cast<std::uint32_t>(sizeof head + list.size() * sizeof(E)), out_bytes);
  }
  int run(std::uint16_t opcode, std::uint32_t object = 0, std::uint32_t modifier = 0) {
    return raw(opcode, object, modifier, 0, 0);
  }
  int query(std::uint16_t opcode, std::uint32_t object, std::size_t out_bytes) {
    return raw(opcode, object, 0, 0, static_cast<std::uint32_t>(out_bytes));
  }
  int raw(std::uint16_t opcode, std::uint32_t object, std::uint32_t modifier, std::uint32_t in_bytes, std::uint32_t out_bytes) {
    command = {};
    command.opcode = opcode;
    command.token = 0x1234;
    command.object = object;
    command.modifier = modifier;
    command.in_address = in;
    command.in_bytes = in_bytes;
    command.out_address = out;
    command.out_bytes = out_bytes;
    fw_execute(fw(), &command);
    fw_tidy(fw());
    return command.status;
  }

  int register_region(const hca_region& r, const std::vector<hca_chunk>& chunks) {
    return run(HCA_CMD_REGISTER, 0, 0, described(r, chunks), chunks);
  }
  int reregister(std::uint32_t key, std::uint32_t flags, const hca_region& r, const std::vector<hca_chunk>& chunks = {}) {
    return run(HCA_CMD_REREGISTER, key, flags, described(r, chunks), chunks);
  }
  int restore(std::uint32_t key, const hca_region& r, const std::vector<hca_chunk>& chunks) {
    return run(HCA_CMD_RESTORE, key, 0, described(r, chunks), chunks);
  }
  int deregister(std::uint32_t key) { return run(HCA_CMD_DEREGISTER, key); }
  int x_register(const hca_region& r, const std::vector<hca_chunk>& chunks, std::uint32_t flags = 0) {
    return space_result(run(HCA_CMD_X_REGISTER, 0, flags, described(r, chunks), chunks, sizeof(hca_space)));
  }
  int x_reregister(std::uint32_t key, const hca_region& r, const std::vector<hca_chunk>& chunks, std::uint32_t flags = 0) {
    return space_result(run(HCA_CMD_X_REREGISTER, key, flags, described(r, chunks), chunks, sizeof(hca_space)));
  }
  int x_remove(std::uint32_t key, std::uint32_t handle, std::uint64_t va = 0, std::uint64_t length = 0,
               std::uint32_t flags = 0) {
    hca_x_remove x{};
    x.handle = handle;
    x.va = va;
    x.length = length;
    return space_result(run(HCA_CMD_X_DEREGISTER, key, flags, x, std::vector<std::uint64_t>{}, sizeof(hca_space)));
  }
  int x_teardown(std::uint32_t key) { return run(HCA_CMD_X_TEARDOWN, key); }

  std::uint32_t create_eq() {
    hca_eqc e{};
    e.buffer.pages = 0x100000;
    e.buffer.log_bytes = 12;
    return run(HCA_CMD_CREATE_EQ, 0, 0, e) == HCA_OK ? command.result[0] : ~0U;
  }
  std::uint32_t create_cq(std::uint8_t eqn = 0) {
    hca_create_cq p{};
    p.log_entries = 7;
    p.page_shift = 12;
    p.eqn = eqn;
    p.pages = 2;
    return run(HCA_CMD_CREATE_CQ, 0, 0, p, std::vector<std::uint64_t>{0x7000, 0x5000}) == HCA_OK ? command.result[0] : ~0U;
  }
  [[nodiscard]] static hca_create_qp qp_parameters(std::uint32_t cqn, std::uint8_t transport = HCA_TRANSPORT_RC) {
    hca_create_qp p{};
    p.uar = 5;
    p.transport = transport;
    p.log_sq_bytes = 14;
    p.log_rq_bytes = 12;
    p.rq_stride_shift = 6;
    p.page_shift = 12;
    p.pd = 5;
    p.send_cqn = cqn;
    p.recv_cqn = cqn;
    p.sq_pages = 4;
    p.rq_pages = 1;
    p.record = 0x9000;
    return p;
  }
  std::uint32_t create_qp(std::uint32_t cqn, std::uint8_t transport = HCA_TRANSPORT_RC) {
    const std::vector<std::uint64_t> pages{0x10000, 0x30000, 0x20000, 0x50000, 0x40000};
    return run(HCA_CMD_CREATE_QP, 0, 0, qp_parameters(cqn, transport), pages) == HCA_OK ? command.result[0] : ~0U;
  }

  [[nodiscard]] std::uint64_t mrc_address(std::uint32_t key) const { return areas().mrc_base + hca_key_index(key) * 64ULL; }
  [[nodiscard]] hca_mrc mrc(std::uint32_t key) const { return h.get<hca_mrc>(mrc_address(key)); }
  [[nodiscard]] hca_qpc qpc(std::uint32_t qpn) const { return h.get<hca_qpc>(areas().qpc_base + qpn * 256ULL); }
  [[nodiscard]] hca_cqc cqc(std::uint32_t cqn) const { return h.get<hca_cqc>(areas().cqc_base + cqn * 64ULL); }

  template <class T>
  [[nodiscard]] T line_at(std::uint32_t line) const {
    return h.get<T>(areas().extent_base + line * 64ULL);
  }
  // Returns where an access to `va` lands, as the hardware would find it: bounds, extents, table. Nothing = refused.
  [[nodiscard]] std::optional<std::uint64_t> translate(const hca_mrc& m, std::uint64_t va) const {
    if (m.state != HCA_MRC_VALID || va - m.start >= m.length) return {};
    if (m.extent_count != 0 && !in_extents(m, va)) return {};
    const std::uint64_t number = (va - m.table_va) >> m.page_shift;
    std::uint64_t node = m.table;
    hca_pte entry = 0;
    for (unsigned level = m.levels; level-- > 0;) {
      const std::uint64_t slot = level + 1 == m.levels ? number >> (9 * level) : number >> (9 * level) & 511;
      if (slot > 511) return {};
      entry = h.get<hca_pte>(node + slot * 8);
      if ((entry & HCA_PTE_PRESENT) == 0) return {};
      node = hca_pte_address(entry);
    }
    return node + ((va - m.table_va) & ((1ULL << m.page_shift) - 1));
  }
  [[nodiscard]] std::optional<std::uint64_t> translate(std::uint32_t key, std::uint64_t va) const {
    const hca_mrc m = mrc(key);
    if (m.key_byte != hca_key_byte(key)) return {};
    return translate(m, va);
  }

  hal h;
  fw_limits limits;
  hca_command command{};
  hca_space space{};  // answer of the last x-verb that succeeded

 private:
  static hca_region described(hca_region r, const std::vector<hca_chunk>& chunks) {
    r.chunks = static_cast<std::uint32_t>(chunks.size());
    return r;
  }
  int space_result(int status) {
    if (status == HCA_OK) space = h.get<hca_space>(out);
    return status;
  }
  [[nodiscard]] bool in_extents(const hca_mrc& m, std::uint64_t va) const {
    const std::uint64_t offset = va - m.table_va;
    std::uint32_t line = m.extent / HCA_EXTENTS_PER_LINE;
    for (std::uint32_t level = m.extent_count; level > 1; level--) {
      const auto n = line_at<hca_extent_node>(line);
      line = n.child[std::upper_bound(n.start, std::end(n.start), offset) - n.start];
    }
    const auto extents = line_at<std::array<hca_extent, HCA_EXTENTS_PER_LINE>>(line);
    return std::any_of(extents.begin(), extents.end(), [offset](const hca_extent& e) { return offset - e.start < e.length; });
  }

  std::vector<std::uint64_t> state_;
  std::vector<std::uint64_t> arena_;
};

inline hca_region region(std::uint64_t va, std::uint64_t length, std::uint32_t access = HCA_ACCESS_LOCAL_WRITE) {
  hca_region r{};
  r.va = va;
  r.length = length;
  r.access = access;
  r.pd = 5;
  r.qpn = HCA_QPN_ANY;
  r.first_offset = va % 4096;
  return r;
}

}  // namespace hcasim::testing
