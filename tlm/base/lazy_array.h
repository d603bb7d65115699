// An array of zero bytes. The operating system provides a page at its first touch: a table of a million entries costs only the
// memory of its used pages. Large ones are mapped apart from the heap, whose huge pages a touch would fill with 2 MiB of zeros.
// An access behind a large one faults.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace hcasim {

template <class T>
class lazy_array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  lazy_array() = default;
  explicit lazy_array(std::size_t n) : data_(make(n), {n * sizeof(T)}), size_(n) {
    if (!data_) throw std::bad_alloc();
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  static constexpr std::size_t large = 64 << 10;  // bytes

  // Returns the bytes with the page behind them that faults.
  static std::size_t mapped(std::size_t bytes) {
    static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page + page;
  }
  static T* make(std::size_t n) {
    if (n > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = n * sizeof(T);
    if (bytes < large) return static_cast<T*>(std::calloc(n ? n : 1, sizeof(T)));
    void* const p = ::mmap(nullptr, mapped(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    ::madvise(p, bytes, MADV_NOHUGEPAGE);
    if (::mprotect(p, bytes, PROT_READ | PROT_WRITE) == 0) return static_cast<T*>(p);
    ::munmap(p, mapped(bytes));
    return nullptr;
  }
  struct release {
    std::size_t bytes = 0;

    void operator()(T* p) const {
      if (bytes < large) {
        std::free(p);
      } else {
        ::munmap(p, mapped(bytes));
      }
    }
  };
  std::unique_ptr<T, release> data_;
  std::size_t size_ = 0;
};

}  // namespace hcasim
