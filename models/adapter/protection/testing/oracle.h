// The answers of the protection model, written once more in another way: objects in a map, plain conditions, no contexts, no
// order of checks. Independent of the rules under test; it shares only the vocabulary of requests with them.
#pragma once

#include <cstdint>
#include <map>

namespace hcasim::testing {

class oracle {
  __extension__ using wide = unsigned __int128;

 public:
  // special: memory that cannot have windows (device memory and the like). space: pieces that come and go.
  enum class kind : std::uint8_t { region, special, fast, window_1, window_2, space };
  struct connection {
    std::uint32_t qpn = 0;
    std::uint32_t generation = 0;
    std::uint32_t pd = 0;
    std::uint16_t function = 0;
    bool privileged = false;
  };
  struct rights {
    bool local_write = false;
    bool remote_write = false;
    bool remote_read = false;
    bool remote_atomic = false;
    bool bind = false;
    bool zero_based = false;
  };

  explicit oracle(bool type_2a, bool regions_may_be_invalidated = false)
      : type_2a_(type_2a), regions_may_be_invalidated_(regions_may_be_invalidated) {}

  void add(std::uint32_t index, kind k, std::uint8_t byte, std::uint32_t pd, std::uint16_t function) {
    object o;
    o.what = k;
    o.byte = byte;
    o.pd = pd;
    o.function = function;
    o.usable = k != kind::fast && k != kind::window_2;
    objects_[index] = o;
  }
  void map(std::uint32_t index, std::uint64_t start, std::uint64_t length, const rights& r) {
    object& o = objects_.at(index);
    o.start = start;
    o.length = length;
    o.may = r;
  }
  void add_piece(std::uint32_t index, std::uint64_t start, std::uint64_t length) { objects_.at(index).pieces[start] = length; }
  void remove_piece(std::uint32_t index, std::uint64_t start) { objects_.at(index).pieces.erase(start); }
  // The adapter chose another key byte.
  void rename(std::uint32_t index, std::uint8_t byte) { objects_.at(index).byte = byte; }

  // False = it must not go (windows are bound to it).
  bool remove(std::uint32_t index) {
    if (windows_of(index) != 0) return false;
    objects_.erase(index);
    return true;
  }

  enum class use : std::uint8_t { local_read, local_write, read, write, atomic };
  [[nodiscard]] bool allowed(std::uint32_t key, use u, const connection& by, std::uint64_t va, std::uint64_t length) const {
    const object* o = find(key);
    if (!o || !o->usable || o->function != by.function) return false;
    const bool window = o->what == kind::window_1 || o->what == kind::window_2;
    if (o->what == kind::window_2) {
      if (o->owner_qpn != by.qpn || o->owner_generation != by.generation) return false;
      if (!type_2a_ && o->pd != by.pd) return false;
    } else if (o->pd != by.pd) {
      return false;
    }
    switch (u) {
      case use::local_read:
        if (window) return false;
        break;
      case use::local_write:
        if (window || !o->may.local_write) return false;
        break;
      case use::read:
        if (!o->may.remote_read) return false;
        break;
      case use::write:
        if (!o->may.remote_write) return false;
        break;
      case use::atomic:
        if (!o->may.remote_atomic) return false;
        break;
    }
    if (o->what == kind::space) return covered(*o, va, length);
    const std::uint64_t first = window && o->may.zero_based ? 0 : o->start;
    const auto inside = [&](wide at) {
      return at >= first && at < static_cast<wide>(first) + o->length + (length == 0 ? 1 : 0);
    };
    return inside(va) && inside(static_cast<wide>(va) + (length == 0 ? 0 : length - 1));
  }

  struct bind_order {
    int type = 2;
    std::uint32_t window_key = 0;
    std::uint8_t new_byte = 0;
    std::uint32_t region_key = 0;
    std::uint64_t va = 0;
    std::uint64_t length = 0;
    rights may;
    bool unknown_right = false;
  };
  bool bind(const bind_order& b, const connection& by) {
    object* w = find(b.window_key);
    if (!w || w->function != by.function || w->pd != by.pd) return false;
    if (w->what != (b.type == 1 ? kind::window_1 : kind::window_2)) return false;
    if (b.type == 2 && w->usable) return false;
    if (b.unknown_right) return false;
    if (b.type == 1 && b.may.zero_based) return false;
    if (b.length == 0) {
      if (b.type == 2) return false;
      w->byte = b.new_byte;
      w->parent = 0;
      w->length = 0;
      w->may = {};
      return true;
    }
    object* r = find(b.region_key);
    if (!r || !r->usable || r->function != by.function || r->pd != by.pd) return false;
    if (r->what != kind::region && r->what != kind::fast) return false;
    if (!r->may.bind || r->may.zero_based) return false;
    if ((b.may.remote_write || b.may.remote_atomic) && !r->may.local_write) return false;
    const auto end = static_cast<wide>(b.va) + b.length;
    if (b.va < r->start || end > static_cast<wide>(r->start) + r->length) return false;
    w->byte = b.new_byte;
    w->parent = b.region_key >> 8;
    w->start = b.va;
    w->length = b.length;
    w->may = {false, b.may.remote_write, b.may.remote_read, b.may.remote_atomic, false, b.may.zero_based};
    w->usable = true;
    if (b.type == 2) {
      w->owner_qpn = by.qpn;
      w->owner_generation = by.generation;
    }
    return true;
  }

  bool invalidate(std::uint32_t key, bool remote, const connection& by) {
    object* o = find(key);
    if (!o || o->function != by.function) return false;
    const bool plain = o->what == kind::region && regions_may_be_invalidated_ && !remote;
    if (o->what != kind::window_2 && o->what != kind::fast && !plain) return false;
    if (!o->usable) return true;
    if (o->what == kind::window_2) {
      if (o->owner_qpn != by.qpn || o->owner_generation != by.generation) return false;
      if (!type_2a_ && o->pd != by.pd) return false;
      o->parent = 0;
    } else {
      if (o->pd != by.pd || windows_of(key >> 8) != 0) return false;
    }
    o->usable = false;
    return true;
  }

  bool fast_register(std::uint32_t key, std::uint64_t va, std::uint64_t length, std::uint64_t most, const rights& may,
                     const connection& by) {
    const auto it = objects_.find(key >> 8);
    if (it == objects_.end() || it->second.what != kind::fast) return false;
    object& o = it->second;
    if (!by.privileged || o.usable || o.pd != by.pd || o.function != by.function || may.zero_based) return false;
    if ((may.remote_write || may.remote_atomic) && !may.local_write) return false;
    if (static_cast<wide>(va) + length > ~std::uint64_t{0}) return false;
    if ((va & 4095) + length > most) return false;
    o.byte = static_cast<std::uint8_t>(key);
    o.start = va;
    o.length = length;
    o.may = may;
    o.usable = true;
    return true;
  }

  [[nodiscard]] std::uint32_t windows_of(std::uint32_t index) const {
    std::uint32_t n = 0;
    for (const auto& [number, o] : objects_) n += o.parent == index && index != 0;
    return n;
  }

 private:
  struct object {
    kind what = kind::region;
    bool usable = false;
    std::uint8_t byte = 0;
    std::uint32_t pd = 0;
    std::uint16_t function = 0;
    std::uint64_t start = 0;
    std::uint64_t length = 0;
    rights may;
    std::map<std::uint64_t, std::uint64_t> pieces;  // of a space
    std::uint32_t parent = 0;                       // index of the region of a bound window
    std::uint32_t owner_qpn = 0;
    std::uint32_t owner_generation = 0;
  };
  static bool covered(const object& o, std::uint64_t va, std::uint64_t length) {
    auto at = static_cast<wide>(va);
    for (const auto& [start, bytes] : o.pieces) {
      if (at >= start && at < static_cast<wide>(start) + bytes) at = static_cast<wide>(start) + bytes;
      if (at > va && at >= static_cast<wide>(va) + length) return true;
    }
    return false;
  }
  [[nodiscard]] const object* find(std::uint32_t key) const {
    const auto it = objects_.find(key >> 8);
    return it != objects_.end() && it->second.byte == (key & 0xff) ? &it->second : nullptr;
  }
  object* find(std::uint32_t key) { return const_cast<object*>(static_cast<const oracle*>(this)->find(key)); }

  bool type_2a_;
  bool regions_may_be_invalidated_;
  std::map<std::uint32_t, object> objects_;
};

}  // namespace hcasim::testing
