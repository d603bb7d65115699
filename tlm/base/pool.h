// A free list of reusable objects. `get` allocates only when the pool is empty; objects keep their address for life.
// Contract: the caller returns every object exactly once, and resets members as needed after `get`.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace hcasim {

template <class T>
class pool {
 public:
  pool() = default;
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  T& get() {
    if (free_.empty()) return storage_.emplace_back();
    T* object = free_.back();
    free_.pop_back();
    return *object;
  }
  void put(T& object) { free_.push_back(&object); }

  // Calls f(object) for each object in use; for monitors and faults, since it sorts the free list.
  template <class F>
  void each_in_use(F f) const {
    each_in_use_of(*this, f);
  }
  template <class F>
  void each_in_use(F f) {
    each_in_use_of(*this, f);
  }

  [[nodiscard]] std::size_t allocated() const { return storage_.size(); }
  [[nodiscard]] std::size_t in_use() const { return storage_.size() - free_.size(); }

 private:
  template <class Self, class F>
  static void each_in_use_of(Self& self, F& f) {
    std::vector<const T*> here(self.free_.begin(), self.free_.end());
    std::sort(here.begin(), here.end(), std::less<>());
    for (auto& object : self.storage_) {
      if (!std::binary_search(here.begin(), here.end(), &object, std::less<>())) f(object);
    }
  }

  std::deque<T> storage_;
  std::vector<T*> free_;
};

// Scoped loan from a pool.
template <class T>
class pooled {
 public:
  pooled() = default;
  explicit pooled(pool<T>& from) : pool_(&from), object_(&from.get()) {}
  pooled(pooled&& other) noexcept : pool_(other.pool_), object_(std::exchange(other.object_, nullptr)) {}
  pooled& operator=(pooled&& other) noexcept {
    reset();
    pool_ = other.pool_;
    object_ = std::exchange(other.object_, nullptr);
    return *this;
  }
  ~pooled() { reset(); }

  void reset() {
    if (object_) pool_->put(*std::exchange(object_, nullptr));
  }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  pool<T>* pool_ = nullptr;
  T* object_ = nullptr;
};

}  // namespace hcasim
