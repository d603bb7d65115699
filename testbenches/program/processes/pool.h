// Runs pieces of work in processes of their own, some at once: a piece that crashes, hangs or eats all memory harms no other. A
// child is a fork of this process in its state at the pool's begin or its last refresh. The child dies with this process.
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
  std::string message;  // result of the work; empty = it did not come to its end
  std::string output;   // the end of its printed text
  int status = 0;       // from waitpid
  bool timed_out = false;
  double seconds = 0;
  double cpu_seconds = 0;        // CPU time of its process, from beginning to end
  std::uint64_t peak_bytes = 0;  // the most that its process held in memory
};

class process_pool {
 public:
  struct options {
    unsigned jobs = 1;
    std::optional<std::chrono::milliseconds> time_limit{};  // for one piece
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
  // Called with each outcome, in the order of the ends. May throw: the children are then ended.
  std::function<void(piece_outcome)> done;
  std::function<void()> idle;

  void time_limit(std::chrono::milliseconds t) { options_.time_limit = t; }
  // Makes the children forks of this process as it is now, whatever happens before run().
  void prepare();
  // Tells the next children of a change of their input.
  void refresh() { spawner_.reset(); }

  // Runs all pieces. True = all done; false = stopped by `stop_fd`, and the children are gone. May be called again with more
  // pieces.
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
  std::optional<spawner> spawner_;  // knows the slots as of its begin
  bool stopped_ = false;
};

}  // namespace hcasim
