// Each run has addresses of its own on the machine's loopback: what a program calls 127.0.0.n is 127.x.y.n. So runs do not
// meet, and programs bind the ports that they like.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

namespace hcasim::preload {

// The address that is meant when a program names one.
class own_address {
 public:
  own_address(const sockaddr* a, socklen_t length);

  [[nodiscard]] const sockaddr* get() const { return shown_; }
  [[nodiscard]] socklen_t length() const { return length_; }

 private:
  sockaddr_storage changed_;
  const sockaddr* shown_;
  socklen_t length_;
};

// A socket that has no address yet gets one of its node, and a port that is the same in every run.
void bind_before_connecting(int fd, const sockaddr* to, socklen_t length);

// The other way round, in place.
void show_address(sockaddr* a, socklen_t length);

}  // namespace hcasim::preload
