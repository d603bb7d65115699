// Callbacks by member pointer, as sockets have them. Each is a plain function that calls the member, and allocates nothing.
//
//   queue_.at(t, call<&my_unit::wake>(this));                         // void my_unit::wake()
//   queue_.at(t, call_holder<&packet::holder, &my_unit::arrive>(p));  // void my_unit::arrive(packet&), of the unit p.holder
//   call_on_response<&my_unit::on_taken>(r, this);                         // void my_unit::on_taken([report&][, ps])
//   call_on_response<&job::self, &my_unit::on_read>(r, j);                 // void my_unit::on_read(job&[, ps]), of the unit
//   j.self
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
template <auto Pointer>
using owner_of_member = typename member<decltype(Pointer)>::owner;

template <auto Method, class Owner, class Item>
void call_member(Owner& owner, Item& item, ps t) {
  if constexpr (std::is_invocable_v<decltype(Method), Owner&, Item&, ps>) {
    (owner.*Method)(item, t);
  } else if constexpr (std::is_invocable_v<decltype(Method), Owner&, ps>) {
    (owner.*Method)(t);
  } else {
    (owner.*Method)(item);
  }
}

}  // namespace detail

template <auto Method, class Owner>
action call(Owner* owner) {
  return {[](void* o) { (static_cast<Owner*>(o)->*Method)(); }, owner};
}

// Calls the method of an item's holder with the item; for callbacks that have more arguments, too.
template <auto Holder, auto Method, class... More>
void to_holder(void* item, More...) {
  auto& held = *static_cast<detail::owner_of_member<Holder>*>(item);
  (static_cast<detail::owner_of_member<Method>*>(held.*Holder)->*Method)(held);
}

// Returns the action that calls a method of the item's holder, which a field of the item names.
template <auto Holder, auto Method, class Item>
action call_holder(Item& item) {
  return {[](void* i) {
            auto& held = *static_cast<Item*>(i);
            detail::call_member<Method>(*static_cast<detail::owner_of_member<Method>*>(held.*Holder), held, now());
          },
          &item};
}

// Has the method called with the payload, and with the time if it takes one, when the payload is answered.
template <auto Method, class Payload, class Owner>
void call_on_response(Payload& p, Owner* owner) {
  p.context = owner;
  p.on_response = [](void* o, auto& answered, ps t) {
    detail::call_member<Method>(*static_cast<Owner*>(o), static_cast<Payload&>(answered), t);
  };
}

// Has the method of the item's holder called with the item when the payload is answered.
template <auto Holder, auto Method, class Payload, class Item>
void call_on_response(Payload& p, Item& item) {
  p.context = &item;
  p.on_response = [](void* i, auto&, ps t) {
    auto& held = *static_cast<Item*>(i);
    detail::call_member<Method>(*static_cast<detail::owner_of_member<Method>*>(held.*Holder), held, t);
  };
}

}  // namespace hcasim
