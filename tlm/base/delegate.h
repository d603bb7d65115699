// Callbacks by member pointer, as sockets have them. Each is a plain function that calls the member, and allocates nothing.
//
//   queue_.at(t, call<&my_unit::wake>(this));                         // void my_unit::wake()
//   queue_.at(t, call_holder<&packet::holder, &my_unit::arrive>(p));  // void my_unit::arrive(packet&), of the unit p.holder
//   on_response<&my_unit::on_taken>(r, this);                         // void my_unit::on_taken(report&[, ps])
#pragma once

#include <type_traits>

#include "tlm/base/event_queue.h"

namespace hcasim {

namespace detail {

template <class Pointer>
struct member;
template <class Owner, class Type>
struct member<Type Owner::*> {
  using owner = Owner;
};

}  // namespace detail

template <auto Method, class Owner>
action call(Owner* owner) {
  return {[](void* o) { (static_cast<Owner*>(o)->*Method)(); }, owner};
}

// Calls the method of an item's holder with the item; for callbacks that have more arguments, too.
template <auto Holder, auto Method, class... More>
void to_holder(void* item, More...) {
  auto& held = *static_cast<typename detail::member<decltype(Holder)>::owner*>(item);
  (static_cast<typename detail::member<decltype(Method)>::owner*>(held.*Holder)->*Method)(held);
}

// Returns the action that calls a method of the item's holder, which a field of the item names.
template <auto Holder, auto Method, class Item>
action call_holder(Item& item) {
  return {&to_holder<Holder, Method>, &item};
}

// Has the method called with the payload, and with the time if it takes one, when the payload is answered.
template <auto Method, class Payload, class Owner>
void on_response(Payload& p, Owner* owner) {
  p.context = owner;
  p.on_response = [](void* o, auto& answered, ps t) {
    auto& self = *static_cast<Owner*>(o);
    auto& payload = static_cast<Payload&>(answered);
    if constexpr (std::is_invocable_v<decltype(Method), Owner&, Payload&, ps>) {
      (self.*Method)(payload, t);
    } else {
      (self.*Method)(payload);
    }
  };
}

}  // namespace hcasim
