// Runs pieces of work in processes of their own, some at once: a piece that crashes, hangs or eats all memory takes nothing
// with it. A child is a fork of this process, as it was when the pool began or was last told that it has changed, and dies with
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "testbenches/program/processes/spawner.h"

namespace hcasim {

struct piece_outcome {
  std::uint64_t id = 0;
  std::string message;  // what the work returned; empty when it did not come to its end
  std::string output;   // the end of what it printed
  int status = 0;       // of waitpid
  bool timed_out = false;
  double seconds = 0;
  double cpu_seconds = 0;  // of its process, from beginning to end
};

class process_pool {
 public:
  struct options {
    unsigned jobs = 1;
    std::optional<std::chrono::milliseconds> time_limit{};  // of one piece
    int stop_fd = -1;                                       // readable: end
    std::chrono::milliseconds tick{200};                    // how often `idle` is called
  };
  // `work` runs in the child.
  process_pool(options o, std::function<std::string(std::uint64_t)> work) : options_(o), work_(std::move(work)) {}
  ~process_pool();
  process_pool(const process_pool&) = delete;
  process_pool& operator=(const process_pool&) = delete;

  // The next piece, nothing when there are no more; called when a child may start.
  std::function<std::optional<std::uint64_t>()> next;
  // In the order they end. May throw: the children are then ended.
  std::function<void(piece_outcome)> done;
  std::function<void()> idle;

  void time_limit(std::chrono::milliseconds t) { options_.time_limit = t; }
  // The children are forks of this process as it is now, whatever it does before run().
  void prepare();
  // Tells the next children of a change of their input.
  void refresh() { spawner_.reset(); }

  // True = all done; false = stopped by `stop_fd`, and the children are gone. May be called again for more pieces.
  bool run();

 private:
  // The output of a child, in files without a name: one child after the other has them.
  struct slot {
    int message;
    int output;
  };
  struct child {
    std::uint64_t id;
    int pid;
    int ended;  // a pidfd
    std::size_t slot;
    std::chrono::steady_clock::time_point begin;
    bool timed_out = false;
  };

  [[noreturn]] void in_child(const spawner::order& o);
  std::size_t free_slot();
  void make_slot();
  void start(std::uint64_t id);
  void wait_for_news();
  void finish(std::size_t index);
  void end_all() noexcept;

  options options_;
  std::function<std::string(std::uint64_t)> work_;
  std::vector<slot> slots_;
  std::vector<child> children_;
  std::optional<spawner> spawner_;  // has the slots that there were when it began
  bool stopped_ = false;
};

}  // namespace hcasim
