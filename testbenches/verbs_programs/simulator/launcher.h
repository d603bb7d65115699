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
  // Takes the addresses `loopback`: "127.192.0" to "127.253.255", which a run never takes by itself. Several runs may share one
  // `loopback` if their `first` hosts differ. Throws std::runtime_error: the addresses are taken or out of range.
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
  descriptor ended;  // readable when the process has ended
};

// Starts a program. Throws std::system_error with the system's cause.
launched start(const launch& what);

// Returns the path of the preload library, beside the running program or installed. Throws std::runtime_error: there is none.
std::string find_library();

}  // namespace hcasim::applications
