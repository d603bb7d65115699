// Coroutines for the flow of one transaction through a unit. The code reads in the order of events: a hit runs straight
// through, a miss suspends until its response comes.
//
//   process  starts at once, has no waiter, frees itself at its end
//   task<T>  a step of a process: `co_await` it for its result
//
// Frames come from a per-size free list, so that a steady state allocates nothing.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <utility>

namespace hcasim {

namespace detail {

struct free_frame {
  free_frame* next;
};
constexpr std::size_t frame_granule = 64;
constexpr std::size_t frame_classes = 64;  // frames up to 4 KiB are recycled
inline free_frame* free_frames[frame_classes];

// Inline: a coroutine knows the size of its frame, so that allocation and release take a few instructions.
struct pooled_frame {
  static void* operator new(std::size_t size) {
    const std::size_t c = (size + frame_granule - 1) / frame_granule;
    if (c >= frame_classes) return ::operator new(size);
    free_frame* const f = free_frames[c];
    if (!f) [[unlikely]] {
      return ::operator new(c* frame_granule);
    }
    free_frames[c] = f->next;
    return f;
  }
  static void operator delete(void* frame, std::size_t size) {
    const std::size_t c = (size + frame_granule - 1) / frame_granule;
    if (c >= frame_classes) return ::operator delete(frame);
    free_frames[c] = ::new (frame) free_frame{free_frames[c]};
  }
};

}  // namespace detail

struct process {
  struct promise_type : detail::pooled_frame {
    process get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
};

namespace detail {

struct task_promise_base : pooled_frame {
  std::coroutine_handle<> continuation;
  std::exception_ptr error;

  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const noexcept {
      return h.promise().continuation;
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() noexcept { return {}; }
  final_awaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() { error = std::current_exception(); }
};

template <class T>
struct task_promise : task_promise_base {
  T value{};
  void return_value(T v) { value = std::move(v); }
  T take() { return std::move(value); }
};

template <>
struct task_promise<void> : task_promise_base {
  void return_void() {}
  void take() {}
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] task {
 public:
  struct promise_type : detail::task_promise<T> {
    task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
  };

  task(task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  task& operator=(task&&) = delete;
  ~task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
    handle_.promise().continuation = caller;
    return handle_;
  }
  T await_resume() {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return handle_.promise().take();
  }

 private:
  explicit task(std::coroutine_handle<promise_type> h) : handle_(h) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace hcasim
