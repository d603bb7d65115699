// The sockets by which an adapter knows its key_check, model or RTL (tlm/rtl/replaceable.h).
#pragma once

#include <functional>
#include <memory>

#include "tlm/base/unit.h"
#include "tlm/context.h"
#include "tlm/protection.h"

namespace hcasim {

struct key_check_boundary {
  std::unique_ptr<unit> made;
  target_socket<key_request>& local;
  target_socket<key_request>& remote;
  target_socket<key_request>& control;
  target_socket<key_request>& windows;
  initiator_socket<context_request>& mrc;
  initiator_socket<context_request>& extent;
  std::function<std::uint64_t()> references;

  // Returns the boundary of a unit with members of these names.
  template <class Unit>
  static key_check_boundary of(std::unique_ptr<Unit> u) {
    Unit& its = *u;
    return {std::move(u), its.local, its.remote, its.control,
            its.windows,  its.mrc,   its.extent, [&its] { return its.references(); }};
  }
};

}  // namespace hcasim
