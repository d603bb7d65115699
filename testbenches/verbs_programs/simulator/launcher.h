// Starts programs: the environment that the preload library needs, a process group, and output into a file.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "testbenches/verbs_programs/simulator/waiting.h"

namespace hcasim::applications {

// The place where programs connect, and the addresses of this run alone: a program's 127.0.0.n is 127.x.y.n on the machine.
class meeting_place {
 public:
  meeting_place();
  // `loopback`: "127.192.0" to "127.253.255", which a run without a word of it never takes. Several runs may have one when
  // their `first` hosts differ. Throws std::runtime_error: it is taken, or none of these.
  meeting_place(const std::string& loopback, std::uint32_t first);

  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& loopback() const { return loopback_; }

 private:
  void listen();

  descriptor socket_;
  descriptor claim_;
  std::string name_;
  std::string loopback_;
};

struct launch {
  std::vector<std::string> words;
  std::string path;
  std::string library;
  std::string output;  // file
  std::vector<std::pair<std::string, std::string>> environment;
};

struct launched {
  pid_t process = 0;
  descriptor ended;  // readable when it has
};

// Throws std::system_error with the cause that the system gives.
launched start(const launch& what);

// The preload library beside the running program, or where it was installed. Throws std::runtime_error: it was not built.
std::string find_library();

}  // namespace hcasim::applications
