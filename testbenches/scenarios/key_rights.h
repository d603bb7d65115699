// Six ways in which the owner of a page takes it away from a peer, and gives it back.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "testbenches/kit/endpoint.h"

namespace hcasim::kit {

enum class rights_way : std::uint8_t { reregister, kept_key, type_1, type_2, fast_register, register_anew };
inline constexpr std::size_t rights_ways = 6;
std::string_view name_of(rights_way w);

// One page of a process. Both changes return when they have taken effect: after revoke() no access of the peer happens any
// more.
class key_rights {
 public:
  // `qp`: connected to the peer, privileged; its completions are taken from its send CQ, which holds no others.
  static std::unique_ptr<key_rights> make(rights_way w, process_context& p, ibv_qp* qp);
  key_rights(process_context& p, ibv_qp* qp);
  virtual ~key_rights() = default;

  virtual bool open() { return true; }  // what is done once; the peer has no rights afterwards
  virtual bool grant() = 0;
  virtual bool revoke() = 0;
  virtual bool close() { return true; }

  // The address and key with which the peer writes while it has the right.
  [[nodiscard]] virtual std::uint64_t va() const { return page_; }
  [[nodiscard]] virtual std::uint32_t key() const = 0;
  [[nodiscard]] std::uint64_t page() const { return page_; }

 protected:
  process_context& p_;
  ibv_qp* qp_;
  std::uint64_t page_;
};

}  // namespace hcasim::kit
