#include "testbenches/scenarios/reuse_mapping.h"

namespace hcasim::kit {
namespace {

constexpr int host_rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

// One R_Key; buffers leave at the front and come in at the end.
class kept_mapping : public reuse_mapping {
 public:
  kept_mapping(process_context& p, const std::vector<ibv_qp*>& qps, const reuse_options& o, std::uint64_t total, bool remap)
      : reuse_mapping(p, qps, o, total), remap_(remap), handles_(ceil_div(total, std::uint64_t{o.batch})) {}

  bool open(std::vector<grant>& tell) override {
    x_result r;
    ibv_qp* const only_peer = qps_.size() == 1 ? qps_.front() : nullptr;
    for (std::uint64_t b = 0; b < mapped_at_first(); b += o_.batch) {
      const x_buffer buffer = batch_at(b);
      const int status =
          b == 0 ? x_register(p_.c, p_.pd, only_peer, {&buffer, 1}, host_rights, remap_ ? X_REMAP : X_EXTEND, &r)
                 : x_reregister_add(p_.c, p_.context, r.key, {&buffer, 1}, &r, x_any_va, remap_ ? X_REMAP : X_EXTEND);
      if (status != 0) return false;
      handles_[b / o_.batch] = r.handle;
    }
    key_ = r.key;
    tell.push_back(remap_ ? grant_of(0, batch_size(0), r.start, key_) : grant_of(0, mapped_at_first(), r.start, key_));
    return true;
  }

  bool swap(std::uint64_t b, std::vector<grant>& tell) override {
    if (!all_filled(b)) return true;
    x_result r;
    const unsigned flags = remap_ ? X_REMAP : X_EXTEND;
    const std::uint64_t first = batch_of(b);
    const std::uint32_t leaving = handles_[first / o_.batch];
    const std::uint64_t next = first + o_.buffers;
    if (has(next)) {
      if (!exchange(leaving, next, flags, r)) return false;
      handles_[next / o_.batch] = r.handle;
      if (!remap_) tell.push_back(grant_of(next, batch_size(next), r.added, key_));
    } else {
      if (x_deregister_part(p_.c, p_.context, key_, leaving, &r, flags) != 0 || r.key != key_) return false;
      retired_ = r.length == 0;
    }
    // After a remap everything lies elsewhere; the target is told where those buffers lie that it may fill next.
    const std::uint64_t after = first + o_.batch;
    if (remap_ && has(after)) tell.push_back(grant_of(after, batch_size(after), r.start, key_));
    return true;
  }

  bool close() override { return retired_ || x_teardown(p_.c, p_.context, key_) == 0; }
  [[nodiscard]] std::uint32_t at_once() const override { return o_.batch; }
  [[nodiscard]] bool shares_its_key() const override { return true; }

 private:
  // The buffers of a batch lie side by side.
  [[nodiscard]] x_buffer batch_at(std::uint64_t first) const { return {host_address(first), batch_size(first) * o_.buffer}; }
  // One command, or with --two-steps the two that add and remove.
  bool exchange(std::uint32_t leaving, std::uint64_t next, unsigned flags, x_result& r) {
    const x_buffer buffer = batch_at(next);
    if (!o_.two_steps) {
      return x_exchange(p_.c, p_.context, key_, leaving, {&buffer, 1}, &r, x_any_va, flags) == 0 && r.key == key_;
    }
    return x_deregister_part(p_.c, p_.context, key_, leaving, &r, flags) == 0 && r.key == key_ &&
           x_reregister_add(p_.c, p_.context, key_, {&buffer, 1}, &r, x_any_va, flags) == 0 && r.key == key_;
  }

  bool remap_;
  bool retired_ = false;
  std::uint32_t key_ = 0;
  std::vector<std::uint32_t> handles_;
};

// A region per slot whose translation is changed, or that is registered anew; the two halves of its memory take turns.
class region_mapping : public reuse_mapping {
 public:
  region_mapping(process_context& p, const std::vector<ibv_qp*>& qps, const reuse_options& o, std::uint64_t total, bool anew)
      : reuse_mapping(p, qps, o, total), anew_(anew) {}

  bool open(std::vector<grant>& tell) override {
    for (std::uint64_t b = 0; b < mapped_at_first(); ++b) {
      ibv_mr* mr = ibv_reg_mr(p_.c, p_.pd, host_address(b), o_.buffer, host_rights);
      if (!mr) return false;
      regions_.push_back(mr);
      tell.push_back(grant_of(b, 1, host_address(b), mr->rkey));
    }
    return true;
  }

  bool swap(std::uint64_t b, std::vector<grant>& tell) override {
    const std::uint64_t next = b + o_.buffers;
    ibv_mr*& mr = regions_[b % o_.buffers];
    if (!has(next)) return true;
    if (anew_) {
      if (ibv_dereg_mr(p_.c, mr) != 0) return false;
      mr = ibv_reg_mr(p_.c, p_.pd, host_address(next), o_.buffer, host_rights);
      if (!mr) return false;
    } else if (ibv_rereg_mr(p_.c, mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, host_address(next), o_.buffer, 0) != 0) {
      return false;
    }
    tell.push_back(grant_of(next, 1, host_address(next), mr->rkey));
    return true;
  }

  bool close() override {
    bool ok = true;
    for (ibv_mr* mr : regions_) ok = ibv_dereg_mr(p_.c, mr) == 0 && ok;
    return ok;
  }

 private:
  bool anew_;
  std::vector<ibv_mr*> regions_;
};

// One region over the buffers that are mapped, re-registered as a whole when one of them changes: what the patent starts from.
// Its old range is not to be used meanwhile, so a target is told of one buffer at a time.
class whole_mapping : public reuse_mapping {
 public:
  whole_mapping(process_context& p, const std::vector<ibv_qp*>& qps, const reuse_options& o, std::uint64_t total)
      : reuse_mapping(p, qps, o, total), all_(p.memory.allocate(total * o.buffer)) {}

  bool open(std::vector<grant>& tell) override {
    mr_ = ibv_reg_mr(p_.c, p_.pd, all_, mapped_at_first() * o_.buffer, host_rights);
    if (!mr_) return false;
    tell.push_back(grant_of(0, batch_size(0), all_, mr_->rkey));
    return true;
  }
  bool swap(std::uint64_t b, std::vector<grant>& tell) override {
    const std::uint64_t after = batch_of(b) + o_.batch;
    if (!all_filled(b) || !has(after)) return true;
    const std::uint64_t mapped = std::min<std::uint64_t>(o_.buffers, total_ - after);
    if (ibv_rereg_mr(p_.c, mr_, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, host_address(after), mapped * o_.buffer, 0) != 0) {
      return false;
    }
    tell.push_back(grant_of(after, batch_size(after), host_address(after), mr_->rkey));
    return true;
  }
  bool close() override { return ibv_dereg_mr(p_.c, mr_) == 0; }
  [[nodiscard]] std::uint32_t at_once() const override { return o_.batch; }
  [[nodiscard]] bool shares_its_key() const override { return true; }
  [[nodiscard]] std::uint64_t host_address(std::uint64_t b) const override { return all_ + b * o_.buffer; }

 private:
  std::uint64_t all_;
  ibv_mr* mr_ = nullptr;
};

// One region as large as the stream: the bound, and what the others save in pinned memory.
class fixed_mapping : public reuse_mapping {
 public:
  fixed_mapping(process_context& p, const std::vector<ibv_qp*>& qps, const reuse_options& o, std::uint64_t total)
      : reuse_mapping(p, qps, o, total), all_(p.memory.allocate(total_ * o.buffer)) {}

  bool open(std::vector<grant>& tell) override {
    mr_ = ibv_reg_mr(p_.c, p_.pd, all_, total_ * o_.buffer, host_rights);
    if (!mr_) return false;
    tell.push_back(grant_of(0, total_, all_, mr_->rkey));
    return true;
  }
  bool swap(std::uint64_t, std::vector<grant>&) override { return true; }
  bool close() override { return ibv_dereg_mr(p_.c, mr_) == 0; }
  [[nodiscard]] bool shares_its_key() const override { return true; }
  [[nodiscard]] std::uint64_t host_address(std::uint64_t b) const override { return all_ + b * o_.buffer; }

 private:
  std::uint64_t all_;
  ibv_mr* mr_ = nullptr;
};

// One region over all buffers, and a window for each slot that is rebound (type 1): a request on the send queue instead of a
// command. The host does not wait for it, since the message that tells the target stands behind it on the same queue.
class window_mapping : public reuse_mapping {
 public:
  using reuse_mapping::reuse_mapping;

  bool open(std::vector<grant>& tell) override {
    all_ =
        ibv_reg_mr(p_.c, p_.pd, host_address(0), 2 * std::uint64_t{o_.buffers} * o_.buffer, host_rights | IBV_ACCESS_MW_BIND);
    if (!all_) return false;
    for (std::uint64_t b = 0; b < mapped_at_first(); ++b) {
      windows_.push_back(ibv_alloc_mw(p_.c, p_.pd, IBV_MW_TYPE_1));
      if (!windows_.back() || !bind(b, tell)) return false;
    }
    return true;
  }
  bool swap(std::uint64_t b, std::vector<grant>& tell) override { return !has(b + o_.buffers) || bind(b + o_.buffers, tell); }
  bool close() override {
    bool ok = true;
    for (ibv_mw* w : windows_) ok = ibv_dealloc_mw(p_.c, w) == 0 && ok;
    return ibv_dereg_mr(p_.c, all_) == 0 && ok;
  }

 private:
  bool bind(std::uint64_t b, std::vector<grant>& tell) {
    ibv_mw* const w = windows_[b % o_.buffers];
    ibv_mw_bind request{.wr_id = 1001,
                        .send_flags = IBV_SEND_SIGNALED,
                        .bind_info = {all_, host_address(b), o_.buffer, IBV_ACCESS_REMOTE_WRITE}};
    if (ibv_bind_mw(p_.c, qps_[b % qps_.size()], w, &request) != 0) return false;
    tell.push_back(grant_of(b, 1, host_address(b), w->rkey));
    return true;
  }

  ibv_mr* all_ = nullptr;
  std::vector<ibv_mw*> windows_;
};

}  // namespace

reuse_mapping::reuse_mapping(process_context& p, const std::vector<ibv_qp*>& qps, const reuse_options& o, std::uint64_t total)
    : p_(p),
      qps_(qps),
      o_(o),
      total_(total),
      memory_(p.memory.allocate(2 * std::uint64_t{o.buffers} * o.buffer)),
      filled_(ceil_div(total, std::uint64_t{o.batch})) {}

std::uint64_t reuse_mapping::host_address(std::uint64_t b) const {
  return memory_ + b % (2 * o_.buffers) * o_.buffer;
}

grant reuse_mapping::grant_of(std::uint64_t b, std::uint64_t count, std::uint64_t va, std::uint32_t key) const {
  return {.from = b * o_.buffer, .to = (b + count) * o_.buffer, .va = va, .key = key};
}

std::unique_ptr<reuse_mapping> reuse_mapping::make(reuse_mode m, process_context& p, const std::vector<ibv_qp*>& qps,
                                                   const reuse_options& o, std::uint64_t total) {
  switch (m) {
    case reuse_mode::kept_extend:
      return std::make_unique<kept_mapping>(p, qps, o, total, false);
    case reuse_mode::kept_remap:
      return std::make_unique<kept_mapping>(p, qps, o, total, true);
    case reuse_mode::whole:
      return std::make_unique<whole_mapping>(p, qps, o, total);
    case reuse_mode::reregister:
      return std::make_unique<region_mapping>(p, qps, o, total, false);
    case reuse_mode::deregister:
      return std::make_unique<region_mapping>(p, qps, o, total, true);
    case reuse_mode::rebind:
      return std::make_unique<window_mapping>(p, qps, o, total);
    default:
      return std::make_unique<fixed_mapping>(p, qps, o, total);
  }
}

}  // namespace hcasim::kit
