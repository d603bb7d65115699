#include "testbenches/scenarios/message_rate.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "testbenches/kit/world.h"
#include "testbenches/scenarios/steady_state.h"
#include "tlm/base/random.h"

namespace hcasim::kit {
namespace {

struct target_regions {
  std::vector<address> qps;
  std::vector<ibv_sge> regions;  // address, length, R_Key
};

// The state that the two programs share beside the fabric; lives as long as either.
struct stream_state {
  stream_state(const stream_options& o, stream_result& r) : options(o), result(&r) {}

  stream_options options;
  stream_result* result;
  out_of_band<std::vector<address>> to_target;
  out_of_band<target_regions> to_writer;
  out_of_band<int> done;
};

qp_options qp_settings(const stream_options& o) {
  qp_options q;
  q.send_depth = std::max({o.window, o.outstanding, 4U});
  q.receive_depth = 1;
  q.sge = 1;
  q.mtu = o.mtu;
  if (o.send_inline) q.inline_bytes = static_cast<std::uint32_t>(o.size);
  return q;
}

// A region of `bytes` in pages of o.page, aligned to their size in both address spaces and in no order in memory.
region in_pages(process_context& p, std::uint64_t bytes, std::uint64_t va, const stream_options& o) {
  const std::uint64_t pages = ceil_div(bytes, o.page);
  std::vector<virtual_memory::frame_run> frames;
  for (std::uint64_t i = 0; i < pages; ++i) frames.push_back({p.n.host.memory_bytes().reserve(o.page, o.page), o.page});
  random_stream shuffle(o.seed, "message_rate.scatter");
  for (std::uint64_t i = pages; i > 1; --i) std::swap(frames[i - 1], frames[shuffle.below(i)]);
  if (!p.memory.map(va, frames)) throw std::runtime_error("the host has no room for the target's pages");
  region r{va, bytes, ibv_reg_mr(p.c, p.pd, va, bytes, all_rights)};
  if (!r.mr) throw std::runtime_error("cannot register the target's pages");
  return r;
}

void target(stream_state& s, cpu& c, node& n) {
  process_context p(c, n);
  const qp_options q = qp_settings(s.options);
  const std::vector<address> writers = s.to_target.receive(c);
  target_regions mine;
  for (const address& w : writers) {
    ibv_qp* qp = p.create_qp(q);
    p.must_connect(qp, w, q);
    mine.qps.push_back(p.address_of(qp, q));
  }
  const std::uint64_t bytes = std::max(s.options.region_bytes, s.options.size);
  constexpr std::uint64_t first_va = std::uint64_t{1} << 45;
  for (std::uint32_t i = 0; i < s.options.regions; ++i) {
    const region r =
        s.options.page ? in_pages(p, bytes, first_va + i * align_up(bytes, s.options.page), s.options) : p.allocate(bytes);
    mine.regions.push_back({r.addr, 0, r.mr->rkey});
  }
  s.to_writer.send(c, std::move(mine));
  s.done.receive(c);
}

void writer(stream_state& s, cpu& c, node& n) {
  const stream_options& o = s.options;
  process_context p(c, n);
  const qp_options q = qp_settings(o);
  // The adapter reads software's consumer index by DMA whenever it believes the CQ full. Room for just the messages under way
  // costs such a read for every second completion. With this much more room it is less than one in a thousand.
  constexpr std::uint32_t room = 1023;
  const std::uint32_t most = o.outstanding != 0 ? o.outstanding : o.window * o.qps;
  ibv_cq* cq = made(ibv_create_cq(c, p.context, static_cast<int>(most + room), nullptr, nullptr, 0));
  std::vector<ibv_qp*> qps;
  std::vector<address> mine;
  for (std::uint32_t i = 0; i < o.qps; ++i) {
    qps.push_back(p.create_qp(q, nullptr, cq));
    mine.push_back(p.address_of(qps.back(), q));
  }
  s.to_target.send(c, std::move(mine));
  const target_regions to = s.to_writer.receive(c);
  if (to.qps.size() != qps.size()) return;
  for (std::size_t i = 0; i < qps.size(); ++i) {
    p.must_connect(qps[i], to.qps[i], q);
  }
  const region from = p.allocate(std::max<std::uint64_t>(o.size, 4096));
  p.fill(from.addr, from.length, 1);

  ibv_sge sge{from.addr, static_cast<std::uint32_t>(o.size), from.mr->lkey};
  std::vector<ibv_send_wr> batch(o.window);
  random_stream random(o.seed, "message_rate.order");
  const std::uint64_t slots = std::max(o.region_bytes, o.size) / o.size;
  std::uint64_t posted = 0;
  std::uint64_t limit = 0;
  const auto post = [&](std::size_t qp, std::uint32_t count) {
    count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, limit - posted));
    for (std::uint32_t i = 0; i < count; ++i) {
      ibv_send_wr& wr = batch[i];
      wr = {};
      wr.wr_id = qp;
      wr.next = i + 1 < count ? &batch[i + 1] : nullptr;
      wr.sg_list = &sge;
      wr.num_sge = 1;
      wr.opcode = o.read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
      wr.send_flags = o.send_inline ? IBV_SEND_SIGNALED | IBV_SEND_INLINE : IBV_SEND_SIGNALED;
      const bool anywhere = o.order == stream_order::random;
      const ibv_sge& r = to.regions[anywhere ? random.below(to.regions.size()) : posted % to.regions.size()];
      wr.wr.rdma = {r.addr + (anywhere ? random.below(slots) * o.size : 0), r.lkey};
      ++posted;
    }
    ibv_send_wr* bad = nullptr;
    return count == 0 || ibv_post_send(c, qps[qp], batch.data(), &bad) == 0;
  };

  std::vector<ibv_wc> wc(std::max<std::size_t>(o.window, 16));
  std::vector<std::uint32_t> freed(qps.size());
  // Posts requests into free slots of the QP: all at once, or in batches of one size until the end is near.
  const auto post_freed = [&](std::size_t qp) {
    if (o.batch == 0) return post(qp, std::exchange(freed[qp], 0));
    bool ok = true;
    while (ok && posted < limit && freed[qp] >= std::min<std::uint64_t>(o.batch, limit - posted)) {
      const auto n_posted = static_cast<std::uint32_t>(std::min<std::uint64_t>(o.batch, limit - posted));
      freed[qp] -= n_posted;
      ok = post(qp, n_posted);
    }
    return ok;
  };
  const auto post_windows = [&] {
    bool ok = true;
    for (std::size_t i = 0; i < qps.size() && ok; ++i) {
      freed[i] = o.window;
      ok = post_freed(i);
    }
    return ok;
  };
  const auto post_after = [&](std::span<const ibv_wc> completions) {
    for (const ibv_wc& w : completions) ++freed[w.wr_id];
    return std::all_of(completions.begin(), completions.end(),
                       [&](const ibv_wc& w) { return freed[w.wr_id] == 0 || post_freed(w.wr_id); });
  };
  // Each on the next QP.
  std::size_t turn = 0;
  const auto post_in_turn = [&](std::uint64_t count) {
    bool ok = true;
    for (; ok && count != 0; --count) {
      ok = post(turn, 1);
      turn = (turn + 1) % qps.size();
    }
    return ok;
  };
  // Runs so many messages, from the first window to the last completion.
  const auto run = [&](std::uint64_t messages) {
    limit += messages;
    bool ok = o.outstanding != 0 ? post_in_turn(o.outstanding) : post_windows();
    std::uint64_t& completed = s.result->completed;
    const std::uint64_t end = completed + messages;
    while (ok && completed < end) {
      const int got = ibv_poll_cq(c, cq, static_cast<int>(wc.size()), wc.data());
      if (got <= 0) {
        const ps asleep = c.time();
        ok = got == 0 && wait_cq(c, cq, 1000_ms);
        s.result->waited += c.time() - asleep;
        continue;
      }
      completed += static_cast<std::uint64_t>(got);
      const std::span<const ibv_wc> news(wc.data(), static_cast<std::size_t>(got));
      ok = std::all_of(news.begin(), news.end(), [](const ibv_wc& w) { return w.status == IBV_WC_SUCCESS; });
      ok = ok && (o.outstanding != 0 ? post_in_turn(news.size()) : post_after(news));
    }
    return ok;
  };

  const auto measure = [&](std::uint64_t messages) {
    stream_result& r = *s.result;
    const ps begin = c.time();
    const bool ok = run(messages);
    const ps took = c.time() - begin;
    const double rate = static_cast<double>(messages) / to_seconds(took);
    r.slowest = r.measured == ps(0) ? rate : std::min(r.slowest, rate);
    r.fastest = std::max(r.fastest, rate);
    r.measured += took;
    return ok;
  };
  const auto warm_up = [&](std::uint64_t messages) {
    const stream_result before = *s.result;
    const bool ok = messages == 0 || run(messages);
    s.result->completed = before.completed;
    s.result->waited = before.waited;
    s.result->warm_up += messages;
    return ok;
  };
  // A stretch begins and ends with an idle machine, so it is long beside the messages under way.
  const auto warm_up_until_steady = [&] {
    const std::uint64_t stretch = std::max<std::uint64_t>(2000, std::uint64_t{16} * most);
    const std::uint64_t pages = o.regions * ceil_div(std::max(o.region_bytes, o.size), o.page != 0 ? o.page : 4096);
    const std::uint64_t longest = s.result->warm_up + 1'000'000 + 10 * pages;
    steady_state judge;
    for (bool ok = true; !s.result->steady && s.result->warm_up < longest;) {
      const ps begin = c.time();
      ok = warm_up(stretch);
      if (!ok) return false;
      c.sync();
      s.result->steady = judge.reached(static_cast<double>(stretch) / to_seconds(c.time() - begin));
    }
    return true;
  };

  bool ok = warm_up(o.warm_up) && (!o.until_steady || warm_up_until_steady());
  o.parts.begin(c);
  for (std::uint64_t part = 0; ok && part < o.starts; ++part)
    ok = warm_up(part) && measure(o.messages * (part + 1) / o.starts - o.messages * part / o.starts);
  o.parts.end(c);
  s.result->ok = ok;
  s.done.send(c, 1);
}

}  // namespace

void start_stream(hcasim::system& s, const stream_options& o, stream_result& result) {
  auto state = std::make_shared<stream_state>(o, result);
  start_program(s, 0, "writer", [state](cpu& c, node& n) { writer(*state, c, n); });
  start_program(s, 1, "target", [state](cpu& c, node& n) { target(*state, c, n); });
}

}  // namespace hcasim::kit
