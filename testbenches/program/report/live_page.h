// The page of a study, served on the loopback while its points arrive. A process beside the sweep serves; the page looks every
// second whether there are more points, and keeps its choice when it is made anew.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace hcasim {

class live_page {
 public:
  // Begins to serve the results of `folder`, which may not be there yet. Call it before there are threads. Throws input_error:
  // no socket.
  explicit live_page(std::filesystem::path folder);
  // Ends when a browser that looks has seen the last points, at most 3 s later.
  ~live_page();
  live_page(const live_page&) = delete;
  live_page& operator=(const live_page&) = delete;

  [[nodiscard]] std::string address() const;

 private:
  int socket_;
  int port_ = 0;
  pid_t server_ = -1;
};

}  // namespace hcasim
