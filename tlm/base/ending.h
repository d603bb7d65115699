// The end of a process in the middle of its work. Code loaded by a simulation (RTL, shared objects) may call exit(), or raise a
// signal that ends the process. The process then reports where the simulation was, and its status is never 0.
#pragma once

#include <cstddef>

namespace hcasim::ending {

// Watches exit() and the signals that end a process, from the first call on. A signal with a handler keeps the handler.
void watch();

// Makes exit() the regular end from here on, also where an exception has left the kernel in the middle of its run.
void done();

// Work that exit() must not cut short. The kernel's run is such work by itself.
class unfinished {
 public:
  // Begins messages with `what`, which must live as long as this object.
  explicit unfinished(const char* what);
  ~unfinished();
  unfinished(const unfinished&) = delete;
  unfinished& operator=(const unfinished&) = delete;

 private:
  const char* const before_;
};

// Writes the place where the simulation is into `text`, in a signal handler too; returns the number of characters, 0 = at none.
using locator = std::size_t (*)(char* text, std::size_t size);
void locate_by(locator where);

// Messages go to this file descriptor; standard error unless told.
void tell(int descriptor);

// A text without memory of its own: characters beyond its size are left out.
class fixed_text {
 public:
  fixed_text(char* at, std::size_t size) : at_(at), left_(size), size_(size) {}
  fixed_text& add(const char* s) {
    for (; *s && left_ > 0; ++s, --left_) *at_++ = *s;
    return *this;
  }
  fixed_text& add(unsigned long long v) {
    char digits[20];
    std::size_t n = 0;
    do digits[n++] = static_cast<char>('0' + v % 10);
    while ((v /= 10) > 0);
    for (; n > 0 && left_ > 0; --left_) *at_++ = digits[--n];
    return *this;
  }
  // Adds nanoseconds of a time in picoseconds, with as many decimals as needed.
  fixed_text& add_ns(unsigned long long picoseconds) {
    add(picoseconds / 1000);
    unsigned long long rest = picoseconds % 1000;
    if (rest > 0) add(".");
    for (unsigned long long digit = 100; rest > 0; digit /= 10) {
      add(rest / digit);
      rest %= digit;
    }
    return add(" ns");
  }
  [[nodiscard]] std::size_t size() const { return size_ - left_; }

 private:
  char* at_;
  std::size_t left_;
  const std::size_t size_;
};

}  // namespace hcasim::ending
