// The programs of a run, their processes and threads. At most one of their threads runs at a time, and simulated time stands
// still meanwhile. Each thread has a software thread of the simulation, which answers a request and waits in wall-clock time
// for the next.
#pragma once

#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "models/system/system.h"
#include "testbenches/verbs_programs/channel/handoff.h"
#include "testbenches/verbs_programs/simulator/client.h"
#include "testbenches/verbs_programs/simulator/guardian.h"
#include "testbenches/verbs_programs/simulator/launcher.h"
#include "testbenches/verbs_programs/simulator/network.h"
#include "testbenches/verbs_programs/simulator/process_memory.h"
#include "testbenches/verbs_programs/simulator/progress.h"
#include "testbenches/verbs_programs/simulator/serve.h"
#include "testbenches/verbs_programs/simulator/start_order.h"
#include "tlm/base/unit.h"

namespace hcasim::applications {

struct program_config {
  std::string run;  // words, as for a shell
  std::uint32_t node = 0;
  bool by_rank = false;     // the program is a launcher: its processes run on nodes by their rank
  std::optional<ps> start;  // none = when the program before it is idle for the first time, or with its group
  std::uint32_t expect = 0;
};

struct programs_config {
  std::vector<program_config> programs;
  common_start clients = common_start::paired;  // which clients start together
  time_config time;
  cm::manager_config connections;
  std::string device = "hcasim0";  // the adapter's name in programs
  bool echo = false;
  ps progress{10'000'000'000'000};  // of the wall clock, between reports of progress; 0 = none
  const gid_map* gids = nullptr;    // with a gateway; outlives the programs
  std::string network;              // with a gateway: node 0's address, "192.168.77.1"; programs reach only its network
  std::uint32_t first_host = 1;     // last byte of the first host's address
  std::string loopback;             // the network of programs' addresses, "127.192.0"; empty = any free one
  std::filesystem::path folder;
  std::uint64_t seed = 1;
};

class programs final : public unit {
 public:
  // Prepares the programs. Throws std::runtime_error: a program cannot be run, or there is no library.
  programs(const sc_core::sc_module_name& name, system& s, programs_config config);
  ~programs() override;

  void start();
  [[nodiscard]] bool all_ended() const;
  // Waits for the outside world, because the simulation has nothing left to do. False = no thread will ever go on.
  bool wait_outside();
  // Lets threads go on after an event outside the simulation, while the simulation runs.
  void look_outside() { waiting_.checkpoint(now() + config_.time.out_of_band); }
  // Ends the run with a failure.
  void stop(std::string why);
  // Stops when the descriptor is readable.
  void stop_by(int fd);
  [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }
  // Returns the limit of the machine (descriptors, memory, processes) that ended the programs; none = no limit did.
  [[nodiscard]] const std::optional<std::system_error>& used_up() const { return used_up_; }
  // Returns the status of a program, after its end; -1 = the program has not ended.
  [[nodiscard]] int status(std::size_t program) const { return families_.at(program)->status; }
  [[nodiscard]] const client_statistics& counters() const { return statistics_; }
  // Returns how many programs are clients of others.
  [[nodiscard]] std::size_t clients() const;
  // Returns the share of the clients' active time in which all were active; none = fewer than two sent anything.
  [[nodiscard]] std::optional<double> overlap() const;
  [[nodiscard]] std::uint64_t signals() const { return signals_; }
  // Sleeps of programs in calls that the library does not know: count by program and call.
  using unknown_calls = std::map<std::pair<std::size_t, std::string>, std::uint64_t>;
  [[nodiscard]] const unknown_calls& calls_unknown() const { return unknown_calls_; }

 private:
  struct process;
  // A program and all its processes.
  struct family {
    std::size_t number = 0;
    program_config config;
    launch what;
    bool client = false;
    bool in_group = false;  // starts together with others
    pid_t main = 0;
    std::unique_ptr<guardian> guard;
    descriptor ended;
    bool connected = false;
    bool over = false;
    int status = -1;
    std::size_t threads = 0;  // threads alive
    std::size_t running = 0;  // threads that do not sleep
    bool was_idle = false;
    sc_core::sc_event idle;
    std::size_t echoed = 0;
    std::vector<std::unique_ptr<process>> processes;
  };
  struct thread {
    process* of = nullptr;
    pid_t id = 0;
    std::string name;
    descriptor socket;
    channel::page* page = nullptr;
    std::uint32_t seen = 0;
    channel::impatience waits;
    ps last_call{0};
    bool in_vain = false;   // polls, and has found nothing for as long as a poll may sleep
    unsigned unproven = 0;  // times in a row that the thread was taken to wait, without a proof
    waiting::sleeper bed;

    ~thread();
  };
  struct process {
    process(family& f, programs& p, std::uint32_t number, std::uint64_t seed);
    family& of;
    node& where;
    pid_t id = 0;
    pid_t parent = 0;
    descriptor ended;
    activity changes;
    process_memory bytes;
    client verbs;
    std::list<thread> threads;
    std::size_t alive = 0;
    bool unprovable = false;  // a loop of the process was taken to wait, without a proof
    bool over = false;
    bool unreached = false;  // the run has failed because DMA did not reach a page
  };
  struct look;  // the looks at a thread that makes no request for long

  void order_starts();
  void await_turn(cpu& c, const family& f);
  void launch_program(cpu& c, family& f);
  void accept_threads();
  void greet(descriptor connection);
  void admit_newcomers();
  process* process_of(const channel::hello& h, family& f);
  void run_thread(cpu& c, thread& t);
  bool take_request(cpu& c, thread& t);
  static void look_for_known_loop(thread& t, look& l);
  void suspect_spin(thread& t, look& l);
  bool look_at(cpu& c, thread& t, look& l);
  void serve_one(cpu& c, thread& t, caller& k);
  static bool has_ended(const process& p);
  void tell_of_slice(const family& of);
  void fail_unreached(process& p);
  void take_time(cpu& c, thread& t, caller& k);
  static void use(process& p, caller& k, ps time);
  [[nodiscard]] ps horizon(const thread& t) const;
  void begin_sleep(family& f);
  static void note_poll(thread& t, std::uint32_t what, bool in_vain);
  void end_process(process& p);
  void end_family(family& f);
  bool await_looks();
  void echo(family& f, bool all);
  void end_used_up(const std::system_error& why);
  [[nodiscard]] bool is_interrupted() const;
  void interrupt();
  [[nodiscard]] std::string who_sleeps() const;
  void tell_progress(const thread* computes);
  void fail(std::string message) { failures_.push_back(std::move(message)); }
  [[nodiscard]] node& node_of(const family& f) { return system_.at(f.config.node); }

  system& system_;
  programs_config config_;
  meeting_place place_;
  hcasim::applications::waiting waiting_;
  system_network network_;
  cm::manager connections_;
  client_statistics statistics_;
  level running_;
  std::uint64_t signals_ = 0;
  std::uint64_t looked_at_ = UINT64_MAX;  // number of requests when drivers were last awaited to look at their devices
  std::uint64_t made_processes_ = 0;
  std::vector<std::unique_ptr<family>> families_;
  thread* last_answered_ = nullptr;
  std::vector<ps> used_;            // processor time, by node
  std::vector<thread*> newcomers_;  // connected threads that do not run yet
  std::vector<std::string> failures_;
  std::optional<std::system_error> used_up_;
  unknown_calls unknown_calls_;
  progress progress_;
  int interrupt_ = -1;  // readable when the run is to end
  bool interrupted_ = false;
};

}  // namespace hcasim::applications
