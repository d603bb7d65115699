#include "tlm/rtl/stream.h"

#include <algorithm>
#include <utility>

#include "tlm/rtl/text.h"

namespace hcasim::rtl {

payload& stream::add(ps t, std::uint64_t cookie, std::uint64_t what) {
  ++pushed_;
  if (!free_) free_ = &storage_.emplace_back();
  item& i = *std::exchange(free_, free_->next);
  i.t = t;
  i.cookie = cookie;
  i.what = what;
  // Searches from the end: a new item is nearly always later than all waiting ones. An offered item stays in front.
  item* before = first_ ? last_ : nullptr;
  while (before && before->t > t && (!offered_ || before != first_)) before = before == first_ ? nullptr : before->before;
  item*& place = before ? before->next : first_;
  i.before = before;
  i.next = place;
  if (!i.next) {
    last_ = &i;
  } else {
    i.next->before = &i;
  }
  place = &i;
  return i.data;
}

bool stream::stall_by(std::function<std::uint64_t(const payload&)> what) {
  if (!plain_ || !bundle_.ready || stalls_.open()) return false;
  what_ = std::move(what);
  delay_ = 0;
  return true;
}

void stream::put_on_pins(const payload& p) const {
  if (data_) [[likely]] {
    p.put(data_, data_bytes_);
    return;
  }
  unsigned at = 0;
  for (const pin* d : bundle_.data) {
    for (unsigned i = 0; i < d->bits; i += 32) {
      const unsigned n = std::min(32U, d->bits - i);
      d->set_part(i, n, static_cast<std::uint32_t>(p.get(at + i, n)));
    }
    at += d->bits;
  }
}

void stream::take_from_pins(payload& p) const {
  if (data_) [[likely]] {
    p.take(data_, data_bytes_);
    return;
  }
  unsigned at = 0;
  for (const pin* d : bundle_.data) {
    for (unsigned i = 0; i < d->bits; i += 32) {
      const unsigned n = std::min(32U, d->bits - i);
      p.set(at + i, n, d->part(i, n));
    }
    at += d->bits;
  }
}

// Credits go back one a cycle, each stalled by its stall source.
bool stream::return_credits() {
  const bool one = owed_ > 0 && delay_ == 0;
  turn(*bundle_.credit, one);
  if (one) {
    --owed_;
    ++credits_;
    delay_ = stalls_.draw();
  } else if (owed_ > 0) {
    --delay_;
    ++stalled_;
    return true;
  }
  return one;
}

bool stream::take_credit() {
  if (!bundle_.credit->get()) return true;
  if (credits_ == bundle_.credits) {
    wrong_ = bundle_.credit->name + " gives back a credit, and none is out";
    return false;
  }
  ++credits_;
  return true;
}

bool stream::drive_pins(ps t) {
  if (!bundle_.into && bundle_.credit) {
    ready_ = true;
    return return_credits();
  }
  if (!bundle_.into) {
    ready_ = delay_ == 0 || !bundle_.ready;
    if (bundle_.ready) turn(*bundle_.ready, (ready_ && !bundle_.fifo) != bundle_.busy);
    return false;
  }
  const bool due = !offered_ && first_ && first_->t <= t;
  if (due && !std::exchange(drawn_, true)) delay_ = stalls_.draw(first_->what);
  if (due && delay_ == 0 && bundle_.credit && credits_ == 0) {
    set_valid(false);
    ++waiting_;
    ++stalled_;
  } else if (due && delay_ == 0) {
    if (bundle_.credit) --credits_;
    put_on_pins(first_->data);
    turned_ = true;
    offered_ = true;
    waiting_ = 0;
    set_valid(!bundle_.fifo);
  } else {
    if (!offered_) set_valid(false);
    if (due) {
      --delay_;
      ++stalled_;
    }
  }
  return due;
}

bool stream::follow() {
  if (bundle_.into) {
    set_valid(offered_ && other_is_ready());
    return offered_;
  }
  if (what_) {
    if (drawn_ || !is_valid()) return false;
    drawn_ = true;
    take_from_pins(sampled_);
    delay_ = stalls_.draw(what_(sampled_));
    ready_ = delay_ == 0;
    return bundle_.ready->turn(ready_ != bundle_.busy);
  }
  const bool takes = ready_ && is_valid();
  bundle_.ready->set(takes != bundle_.busy);
  return takes;
}

std::string stream::difference(const payload& was, const payload& is) const {
  std::string text;
  unsigned at = 0;
  for (const pin* d : bundle_.data) {
    for (unsigned i = 0; i < d->bits; i += 64) {
      const unsigned n = std::min(64U, d->bits - i);
      const std::uint64_t before = was.get(at + i, n), after = is.get(at + i, n);
      if (before == after) continue;
      if (!text.empty()) text += ", ";
      text += d->name;
      if (d->bits > 64) text.append("[").append(std::to_string(i + n - 1)).append(":").append(std::to_string(i)).append("]");
      text.append(" changed from ").append(hexadecimal(before)).append(" to ").append(hexadecimal(after));
    }
    at += d->bits;
  }
  return text;
}

bool stream::look() {
  fired_ = false;
  if (bundle_.into) {
    fired_ = offered_ && other_is_ready();
    if (offered_ && !fired_) {
      ++waiting_;
      ++stalled_;
    }
    return !bundle_.credit || take_credit();
  }
  const bool valid = is_valid();
  if (bundle_.late) {
    fired_ = std::exchange(data_due_, valid && ready_);
    if (fired_) take_from_pins(sampled_);
    if (valid && !ready_) {
      ++stalled_;
      --delay_;
    }
    return true;
  }
  bool right = true;
  if (valid && !offered_) {
    take_from_pins(sampled_);
  } else if (valid) {
    payload now_there;
    take_from_pins(now_there);
    if (now_there != sampled_) {
      wrong_ = difference(sampled_, now_there) + " while " + bundle_.valid->name + " waited for ready";
      right = false;
    }
    sampled_ = std::move(now_there);
  } else if (offered_) {
    wrong_ = bundle_.valid->name + " fell before it was taken";
    right = false;
  }
  fired_ = valid && ready_;
  if (valid && bundle_.credit) {
    if (credits_ == 0) {
      wrong_ = bundle_.valid->name + " sends without a credit";
      return false;
    }
    --credits_;
    ++owed_;
  }
  if (valid && !ready_) {
    ++stalled_;
    --delay_;
  }
  offered_ = valid && !ready_;
  return right;
}

void stream::deliver(ps t) {
  fired_ = false;
  ++transfers_;
  drawn_ = false;
  if (!bundle_.into) {
    if (!bundle_.credit) delay_ = what_ ? 0 : stalls_.draw();
    if (on_transfer) on_transfer(sampled_, 0, t);
    return;
  }
  offered_ = false;
  in_vain_ = 0;
  item& moved = *first_;
  first_ = moved.next;
  if (on_transfer) on_transfer(moved.data, moved.cookie, t);
  give_back(moved);
}

std::uint64_t stream::reset() {
  std::uint64_t dropped = 0;
  for (; first_; ++dropped) give_back(*std::exchange(first_, first_->next));
  credits_ = bundle_.credits;
  owed_ = 0;
  shown_ = offered_ = data_due_ = ready_ = fired_ = false;
  if (into_ || what_) delay_ = 0;
  drawn_ = false;
  waiting_ = in_vain_ = 0;
  return dropped;
}

}  // namespace hcasim::rtl
