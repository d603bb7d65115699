#include "testbenches/scenarios/key_rights.h"

#include "models/driver/verbs/x_verbs.h"
#include "testbenches/kit/windows.h"

namespace hcasim::kit {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr int given = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
constexpr int taken = IBV_ACCESS_LOCAL_WRITE;

// ibv_rereg_mr changes the access rights.
class by_reregister final : public key_rights {
 public:
  using key_rights::key_rights;
  bool open() override {
    mr_ = ibv_reg_mr(p_.c, p_.pd, page_, page_bytes, taken);
    return mr_ != nullptr;
  }
  bool grant() override { return change(given); }
  bool revoke() override { return change(taken); }
  bool close() override { return ibv_dereg_mr(p_.c, mr_) == 0; }
  [[nodiscard]] std::uint32_t key() const override { return mr_->rkey; }

 private:
  bool change(int access) { return ibv_rereg_mr(p_.c, mr_, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0, access) == 0; }
  ibv_mr* mr_ = nullptr;
};

// The page leaves an address space of two pages, and comes back to the same VA under the same R_Key.
class by_kept_key final : public key_rights {
 public:
  by_kept_key(process_context& p, ibv_qp* qp) : key_rights(p, qp), first_(p.memory.allocate(page_bytes)) {}
  bool open() override {
    const x_buffer whole{first_, page_bytes};
    return x_register(p_.c, p_.pd, nullptr, {&whole, 1}, given, X_EXTEND, &r_) == 0;
  }
  bool grant() override {
    const x_buffer b{page_, page_bytes};
    if (x_reregister_add(p_.c, p_.context, r_.key, {&b, 1}, &r_, va_ == 0 ? x_any_va : va_) != 0) return false;
    va_ = r_.added;
    handle_ = r_.handle;
    return true;
  }
  bool revoke() override { return x_deregister_part(p_.c, p_.context, r_.key, handle_, &r_) == 0; }
  bool close() override { return x_teardown(p_.c, p_.context, r_.key) == 0; }
  [[nodiscard]] std::uint64_t va() const override { return va_; }
  [[nodiscard]] std::uint32_t key() const override { return r_.key; }

 private:
  std::uint64_t first_;
  std::uint64_t va_ = 0;
  std::uint32_t handle_ = 0;
  x_result r_;
};

class by_window : public key_rights {
 public:
  by_window(process_context& p, ibv_qp* qp, ibv_mw_type type) : key_rights(p, qp), type_(type) {}
  bool open() override {
    mr_ = ibv_reg_mr(p_.c, p_.pd, page_, page_bytes, given | IBV_ACCESS_MW_BIND);
    mw_ = ibv_alloc_mw(p_.c, p_.pd, type_);
    return mr_ && mw_;
  }
  bool close() override { return ibv_dealloc_mw(p_.c, mw_) == 0 && ibv_dereg_mr(p_.c, mr_) == 0; }
  [[nodiscard]] std::uint32_t key() const override { return mw_->rkey; }

 protected:
  [[nodiscard]] ibv_mw_bind_info whole() const { return {mr_, page_, page_bytes, IBV_ACCESS_REMOTE_WRITE}; }
  ibv_mw_type type_;
  ibv_mr* mr_ = nullptr;
  ibv_mw* mw_ = nullptr;
};

// Bind; bind to nothing.
class by_type_1 final : public by_window {
 public:
  by_type_1(process_context& p, ibv_qp* qp) : by_window(p, qp, IBV_MW_TYPE_1) {}
  bool grant() override { return bind_type_1(p_.c, qp_, mw_, whole()).status == IBV_WC_SUCCESS; }
  bool revoke() override { return bind_type_1(p_.c, qp_, mw_, {mr_, 0, 0, 0}).status == IBV_WC_SUCCESS; }
};

// BIND_MW; LOCAL_INV.
class by_type_2 final : public by_window {
 public:
  by_type_2(process_context& p, ibv_qp* qp) : by_window(p, qp, IBV_MW_TYPE_2) {}
  bool grant() override { return bind(p_.c, qp_, mw_, ibv_inc_rkey(mw_->rkey), whole()).status == IBV_WC_SUCCESS; }
  bool revoke() override { return local_inv(p_.c, qp_, mw_->rkey).status == IBV_WC_SUCCESS; }
};

// REG_MR; LOCAL_INV.
class by_fast_register final : public key_rights {
 public:
  using key_rights::key_rights;
  bool open() override {
    mr_ = hcax_alloc_fast_mr(p_.c, p_.pd, 1);
    return mr_ && hcax_map_mr(p_.c, mr_, page_, page_bytes) == 0;
  }
  bool grant() override { return reg_mr(p_.c, qp_, mr_, ibv_inc_rkey(mr_->rkey), given).status == IBV_WC_SUCCESS; }
  bool revoke() override { return local_inv(p_.c, qp_, mr_->rkey).status == IBV_WC_SUCCESS; }
  bool close() override { return ibv_dereg_mr(p_.c, mr_) == 0; }
  [[nodiscard]] std::uint32_t key() const override { return mr_->rkey; }

 private:
  ibv_mr* mr_ = nullptr;
};

// ibv_reg_mr; ibv_dereg_mr.
class by_register_anew final : public key_rights {
 public:
  using key_rights::key_rights;
  bool grant() override {
    mr_ = ibv_reg_mr(p_.c, p_.pd, page_, page_bytes, given);
    if (mr_) key_ = mr_->rkey;
    return mr_ != nullptr;
  }
  bool revoke() override { return ibv_dereg_mr(p_.c, mr_) == 0; }
  [[nodiscard]] std::uint32_t key() const override { return key_; }

 private:
  ibv_mr* mr_ = nullptr;
  std::uint32_t key_ = 0;
};

}  // namespace

std::string_view name_of(rights_way w) {
  static constexpr std::array<std::string_view, rights_ways> names = {
      "re-register", "R_Key kept", "type 1 rebind", "type 2 invalidate + bind", "fast-register", "de-register + register"};
  return names[static_cast<std::size_t>(w)];
}

key_rights::key_rights(process_context& p, ibv_qp* qp) : p_(p), qp_(qp), page_(p.memory.allocate(page_bytes)) {}

std::unique_ptr<key_rights> key_rights::make(rights_way w, process_context& p, ibv_qp* qp) {
  switch (w) {
    case rights_way::reregister:
      return std::make_unique<by_reregister>(p, qp);
    case rights_way::kept_key:
      return std::make_unique<by_kept_key>(p, qp);
    case rights_way::type_1:
      return std::make_unique<by_type_1>(p, qp);
    case rights_way::type_2:
      return std::make_unique<by_type_2>(p, qp);
    case rights_way::fast_register:
      return std::make_unique<by_fast_register>(p, qp);
    default:
      return std::make_unique<by_register_anew>(p, qp);
  }
}

}  // namespace hcasim::kit
