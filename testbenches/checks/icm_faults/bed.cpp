#include "testbenches/checks/icm_faults/bed.h"

#include "models/driver/objects/objects.h"
#include "testbenches/kit/counters.h"

namespace hcasim::icm {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t middle = 3 * page;  // of a buffer of 9 pages: what is registered
constexpr std::uint64_t middle_bytes = 3 * page;
constexpr std::uint64_t whole_bytes = 9 * page;
constexpr std::uint32_t step = 1500;  // bytes of a message: two packets

std::byte guard_byte(std::uint64_t at) {
  return static_cast<std::byte>(0xa5 ^ (at * 11) ^ (at >> 8));
}

}  // namespace

system_config config(icm_check check) {
  system_config c = world::one_node();
  hca_config& h = c.nodes[0].hca;
  h.icm.check = check;
  h.doorbell.blueflame_max = 0;
  h.qpc_cache.sets = h.cqc_cache.sets = h.mrc_cache.sets = h.extent_cache.sets = 1;
  h.qpc_cache.ways = 2;
  h.cqc_cache.ways = h.mrc_cache.ways = h.extent_cache.ways = 1;
  h.page_walker.leaf_sets = h.page_walker.leaf_ways = 1;
  h.page_walker.upper_entries = 0;
  c.stall_limit = never;
  c.stall_events = 0;
  return c;
}

bed::bed(cpu& c, node& n) : p(c, n) {}

pair bed::make_pair(bool shared, bool with_space, std::uint32_t psn) {
  pair v;
  v.cq = ibv_create_cq(p.c, p.context, 256, nullptr, nullptr, 0);
  if (!v.cq) return v;
  qp_options o{.send_depth = 128, .receive_depth = 256, .timeout = 7, .retry = 2, .rnr_retry = 2, .read_depth = 4, .psn = psn};
  ibv_srq_init_attr init{};
  init.attr = {256, 4, 0};
  if (shared) v.srq = ibv_create_srq(p.c, p.pd, &init);
  qp_options receiving = o;
  receiving.srq = v.srq;
  v.a = p.create_qp(o, nullptr, v.cq);
  v.b = p.create_qp(receiving, nullptr, v.cq);
  if (p.connect(v.a, p.address_of(v.b, o), o) != 0 || p.connect(v.b, p.address_of(v.a, o), o) != 0) return v;
  v.guard = p.memory.allocate(whole_bytes, page_policy::scattered);
  std::vector<std::byte> pattern(whole_bytes);
  for (std::uint64_t i = 0; i < whole_bytes; ++i) pattern[i] = guard_byte(i);
  p.memory.write(v.guard, pattern);
  v.to = {v.guard + middle, middle_bytes, ibv_reg_mr(p.c, p.pd, v.guard + middle, middle_bytes, all_rights)};
  v.from = p.allocate(2 * page);
  p.fill(v.from.addr, v.from.length, 5);
  if (with_space) {
    v.space_buffers = p.memory.allocate(4 * page, page_policy::scattered);
    const x_buffer first{v.space_buffers, page};
    const x_buffer second{v.space_buffers + 2 * page, page};
    x_register(p.c, p.pd, nullptr, {&first, 1}, all_rights, 0, &v.space, v.space_buffers);
    x_reregister_add(p.c, p.context, v.space.key, {&second, 1}, &v.space, v.space_buffers + 2 * page);
  }
  return v;
}

place bed::of_buffer(const hca_buffer& b) const {
  if (b.page_shift == 0) return {};
  return {b.pages, (std::uint64_t{1} << (b.log_bytes - b.page_shift)) * sizeof(hca_pte)};
}

place bed::find(const pair& v, table t) {
  const hca_init& a = p.n.device().areas();
  const auto qpc = [&](std::uint32_t n) { return place{a.qpc_base + n * sizeof(hca_qpc), sizeof(hca_qpc)}; };
  const auto mrc = [&](std::uint32_t key) { return place{a.mrc_base + (key >> 8) * sizeof(hca_mrc), sizeof(hca_mrc)}; };
  switch (t) {
    case table::qpc:
      return qpc(v.a->qp_num);
    case table::responder_qpc:
      return qpc(v.b->qp_num);
    case table::srqc:
      return v.srq ? qpc(static_cast<const driver::shared_queue*>(v.srq)->number) : place{};
    case table::cqc:
      return {a.cqc_base + static_cast<const driver::completion_queue*>(v.cq)->number * sizeof(hca_cqc), sizeof(hca_cqc)};
    case table::mrc:
      return mrc(v.to.mr->rkey);
    case table::space_mrc:
      return v.space.key ? mrc(v.space.key) : place{};
    case table::extents:
      return v.space.key ? place{a.extent_base + entry<hca_mrc>(mrc(v.space.key).address).extent * sizeof(hca_extent), 64}
                         : place{};
    case table::pte:
      return {entry<hca_mrc>(mrc(v.to.mr->rkey).address).table, 3 * sizeof(hca_pte)};
    case table::space_pte: {
      if (v.space.key == 0) return {};
      const auto m = entry<hca_mrc>(mrc(v.space.key).address);
      return {m.table + ((v.space_buffers - m.table_va) / page) * sizeof(hca_pte), 3 * sizeof(hca_pte)};
    }
    case table::queue_pte:
      return of_buffer(entry<hca_qpc>(qpc(v.a->qp_num).address).sq);
    case table::send_wqe:
      return {0, 128};
    case table::receive_wqe:
      return {0, 64};
  }
  return {};
}

void bed::flip(std::uint64_t address, std::uint64_t bit) {
  physical_memory& m = p.n.host.memory_bytes();
  const std::uint64_t at = address + bit / 8;
  m.put(at, static_cast<std::uint8_t>(m.get<std::uint8_t>(at) ^ (1U << bit % 8)));
}

bool bed::post_flipped(pair& v, const request& r) {
  auto& qp = static_cast<driver::queue_pair&>(*v.a);
  const std::uint64_t slot = qp.sq.physical(std::uint64_t{qp.ring.tail() & (qp.ring.size() - 1)} * HCA_WQE_BLOCK);
  const bool posted = post(p.c, v.a, r) == 0;
  for (const std::uint64_t bit : in_send_wqe) flip(slot, bit);
  in_send_wqe.clear();
  return posted;
}

bool bed::receive_flipped(pair& v, std::uint64_t id) {
  const std::vector<ibv_sge> sges{{v.to.addr, 700, v.to.mr->lkey}, {v.to.addr + 4000, 1200, v.to.mr->lkey}};
  auto& qp = static_cast<driver::queue_pair&>(*v.b);
  std::uint64_t slot = 0;
  bool posted = false;
  if (v.srq) {
    auto& srq = static_cast<driver::shared_queue&>(*v.srq);
    slot = srq.buffer.physical(std::uint64_t{srq.head} << srq.stride_shift);
    posted = post_receive(p.c, v.srq, id, sges) == 0;
  } else {
    slot = qp.rq.physical(std::uint64_t{qp.rq_tail & qp.rq_mask} << qp.rq_stride_shift);
    posted = post_receive(p.c, v.b, id, sges) == 0;
  }
  p.c.sync();
  for (const std::uint64_t bit : in_receive_wqe) flip(slot, bit);
  in_receive_wqe.clear();
  return posted;
}

bool bed::ends_well(pair& v, const request& r, bool receives, ps patience) {
  if (receives && !receive_flipped(v, r.id)) return false;
  if (!post_flipped(v, r)) return false;
  bool sent = false;
  bool received = !receives;
  const ps end = p.c.time() + patience;
  while (!(sent && received) && p.c.time() < end) {
    const auto wc = next_completion(p.c, v.cq, end - p.c.time());
    if (!wc) return false;
    if (wc->qp_num != v.a->qp_num && wc->qp_num != v.b->qp_num) continue;  // a damaged number of a CQ led it here
    if (wc->status != IBV_WC_SUCCESS) return false;
    if (wc->wr_id != r.id) continue;
    (wc->opcode & IBV_WC_RECV ? received : sent) = true;
  }
  return sent && received;
}

unsigned bed::work(pair& v, unsigned rounds, ps patience) {
  unsigned well = 0;
  const auto same = [&](std::uint64_t at, std::uint64_t other, std::uint64_t n) { return p.bytes(at, n) == p.bytes(other, n); };
  for (unsigned i = 0; i < rounds; ++i) {
    const auto seed = static_cast<std::uint8_t>(++ids_ * 37);
    p.fill(v.from.addr, page, seed);
    const ibv_sge half{v.from.addr, step, v.from.mr->lkey};
    const std::uint64_t far = v.to.addr + 2 * page + 100;  // in the last page
    well += ends_well(v, {.id = ++ids_, .sges = {half}, .remote = far, .rkey = v.to.mr->rkey}, false, patience) &&
            same(far, v.from.addr, step);
    well += ends_well(v, {.opcode = IBV_WR_SEND, .id = ++ids_, .sges = {half}}, true, patience) &&
            same(v.to.addr, v.from.addr, 700) && same(v.to.addr + 4000, v.from.addr + 700, 800);
    const std::uint64_t back = v.from.addr + page;
    well += ends_well(v,
                      {.opcode = IBV_WR_RDMA_READ,
                       .id = ++ids_,
                       .sges = {{back, step, v.from.mr->lkey}},
                       .remote = far,
                       .rkey = v.to.mr->rkey},
                      false, patience) &&
            same(back, v.from.addr, step);
    const std::uint64_t word = v.to.addr + page + 64;
    p.store64(word, ids_);
    well += ends_well(v,
                      {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                       .id = ids_ + 1,
                       .sges = {{back + 2048, 8, v.from.mr->lkey}},
                       .remote = word,
                       .rkey = v.to.mr->rkey,
                       .compare_add = 7},
                      false, patience) &&
            p.load64(word) == ids_ + 7;
    ++ids_;
    well +=
        ends_well(v, {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .id = ++ids_, .sges = {half}, .remote = far, .rkey = v.to.mr->rkey},
                  true, patience);
    if (v.space.key == 0) continue;
    const std::uint64_t second = v.space_buffers + 2 * page;
    well += ends_well(v, {.id = ++ids_, .sges = {half}, .remote = second + 64, .rkey = v.space.key}, false, patience) &&
            same(second + 64, v.from.addr, step);
  }
  return well;
}

bool bed::guards_intact(const pair& v) {
  const auto now = p.bytes(v.guard, whole_bytes);
  for (std::uint64_t i = 0; i < whole_bytes; ++i) {
    const bool registered = i >= middle && i < middle + middle_bytes;
    if (!registered && static_cast<std::byte>(now[i]) != guard_byte(i)) return false;
  }
  return true;
}

std::vector<ibv_async_event> bed::events() {
  std::vector<ibv_async_event> found;
  while (!driver::of(p.context).async_events.empty()) {
    ibv_async_event e{};
    if (ibv_get_async_event(p.c, p.context, &e) != 0) break;
    ibv_ack_async_event(&e);
    found.push_back(e);
  }
  return found;
}

double bed::counted(const char* name) const {
  return statistic_of(p.n.hca.dma_engine, name);
}

}  // namespace hcasim::icm
