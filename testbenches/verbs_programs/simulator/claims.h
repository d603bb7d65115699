// Objects of a program that its requests use in the driver, and the order of requests for the same ones.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/machine/host/cpu.h"
#include "testbenches/verbs_programs/channel/requests.h"
#include "tlm/base/kernel.h"

namespace hcasim::applications {

enum class object_kind : std::uint8_t { none, context, pd, mr, mw, dm, channel, cq, qp, srq, ah, xrcd };

// An object that a request uses. `alone`: the request destroys or rebuilds the object.
struct claim {
  static constexpr channel::handle every = channel::no_object;

  object_kind kind = object_kind::none;
  channel::handle name = 0;
  bool alone = false;

  [[nodiscard]] bool conflicts(const claim& other) const {
    return kind == other.kind && (alone || other.alone) && (name == other.name || name == every || other.name == every);
  }
};

class claims {
 public:
  void add(const claim& c) { all_.at(size_++) = c; }
  [[nodiscard]] bool conflict(const claims& other) const {
    const auto mine = std::span(all_).first(size_);
    const auto others = std::span(other.all_).first(other.size_);
    return std::any_of(mine.begin(), mine.end(), [&](const claim& c) {
      return std::any_of(others.begin(), others.end(), [&](const claim& o) { return c.conflicts(o); });
    });
  }

 private:
  std::array<claim, 8> all_;
  std::size_t size_ = 0;
};

// The kind of the object that a request destroys or rebuilds.
template <class Request>
inline constexpr object_kind destroyed = object_kind::none;
template <>
inline constexpr object_kind destroyed<channel::close_device> = object_kind::context;
template <>
inline constexpr object_kind destroyed<channel::dealloc_pd> = object_kind::pd;
template <>
inline constexpr object_kind destroyed<channel::rereg_mr> = object_kind::mr;
template <>
inline constexpr object_kind destroyed<channel::dereg_mr> = object_kind::mr;
template <>
inline constexpr object_kind destroyed<channel::dealloc_mw> = object_kind::mw;
template <>
inline constexpr object_kind destroyed<channel::free_dm> = object_kind::dm;
template <>
inline constexpr object_kind destroyed<channel::destroy_channel> = object_kind::channel;
template <>
inline constexpr object_kind destroyed<channel::destroy_cq> = object_kind::cq;
template <>
inline constexpr object_kind destroyed<channel::resize_cq> = object_kind::cq;
template <>
inline constexpr object_kind destroyed<channel::destroy_qp> = object_kind::qp;
template <>
inline constexpr object_kind destroyed<channel::destroy_srq> = object_kind::srq;
template <>
inline constexpr object_kind destroyed<channel::destroy_ah> = object_kind::ah;
template <>
inline constexpr object_kind destroyed<channel::close_xrcd> = object_kind::xrcd;

template <class Request>
claims claims_of(const Request& in) {
  claims out;
  // Each request uses the contexts of its process. Closing one ends all objects there.
  out.add({object_kind::context, claim::every, destroyed<Request> == object_kind::context});
  const auto named = [&](object_kind kind, channel::handle name) {
    if (name != 0 && name != channel::no_object) out.add({kind, name, destroyed<Request> == kind});
  };
  if constexpr (requires {
                  { in.pd } -> std::same_as<const channel::handle&>;
                })
    named(object_kind::pd, in.pd);
  if constexpr (requires {
                  { in.mr } -> std::same_as<const channel::handle&>;
                })
    named(object_kind::mr, in.mr);
  if constexpr (requires {
                  { in.bind.mr } -> std::same_as<const channel::handle&>;
                })
    named(object_kind::mr, in.bind.mr);
  if constexpr (requires {
                  { in.mw } -> std::same_as<const channel::handle&>;
                })
    named(object_kind::mw, in.mw);
  if constexpr (requires {
                  { in.dm } -> std::same_as<const channel::handle&>;
                })
    named(object_kind::dm, in.dm);
  if constexpr (requires { in.channel; }) named(object_kind::channel, in.channel);
  if constexpr (requires { in.cq; }) named(object_kind::cq, in.cq);
  if constexpr (requires { in.send_cq; }) named(object_kind::cq, in.send_cq);
  if constexpr (requires { in.recv_cq; }) named(object_kind::cq, in.recv_cq);
  if constexpr (requires { in.qp; }) named(object_kind::qp, in.qp);
  if constexpr (requires { in.srq; }) named(object_kind::srq, in.srq);
  if constexpr (requires { in.ah; }) named(object_kind::ah, in.ah);
  if constexpr (requires { in.xrcd; }) named(object_kind::xrcd, in.xrcd);
  return out;
}

// Regions that the driver finds by key or address: null regions of a PD, and regions on demand.
template <class Request>
requires std::same_as<Request, channel::dealloc_pd> || std::same_as<Request, channel::advise_mr> ||
    std::same_as<Request, channel::lose_memory> || std::same_as<Request, channel::protect_memory>
        claims all_claims_of(const Request& in) {
  claims out = claims_of(in);
  out.add({object_kind::mr, claim::every, false});
  return out;
}
// The queues of a QP, from which the driver takes its completions.
template <class Request>
requires std::same_as<Request, channel::modify_qp> || std::same_as<Request, channel::destroy_qp> ||
    std::same_as<Request, channel::take_cq_event>
        claims all_claims_of(const Request& in) {
  claims out = claims_of(in);
  out.add({object_kind::cq, claim::every, false});
  return out;
}
inline claims all_claims_of(const channel::take_async_event& in) {
  claims out = claims_of(in);
  for (const object_kind k : {object_kind::cq, object_kind::qp, object_kind::srq}) out.add({k, claim::every, false});
  return out;
}
template <class Request>
claims all_claims_of(const Request& in) {
  return claims_of(in);
}

// The requests of a process in the driver, in their order of arrival. A thread may sleep in the driver, and another thread of
// its program may destroy an object that the first one uses. So a request waits for the earlier ones with which its claims
// conflict. No request claims more later, and the earliest waits for none: requests cannot wait for each other in a circle.
class arrivals {
 public:
  class present {
   public:
    present(arrivals& in, cpu& c, const claims& wanted) : in_(in), wanted_(wanted) {
      in_.present_.push_back(&wanted_);
      if (!waits()) return;
      c.sync();
      ++in_.queueing_;
      while (waits()) sc_core::wait(in_.left_);
      --in_.queueing_;
    }
    ~present() {
      std::erase(in_.present_, &wanted_);
      if (in_.queueing_ > 0) wake(in_.left_);
    }
    present(const present&) = delete;
    present& operator=(const present&) = delete;

   private:
    [[nodiscard]] bool waits() const {
      const auto self = std::find(in_.present_.begin(), in_.present_.end(), &wanted_);
      return std::any_of(in_.present_.begin(), self, [&](const claims* earlier) { return wanted_.conflict(*earlier); });
    }

    arrivals& in_;
    const claims wanted_;
  };

 private:
  std::vector<const claims*> present_;
  int queueing_ = 0;
  sc_core::sc_event left_;
};

}  // namespace hcasim::applications
