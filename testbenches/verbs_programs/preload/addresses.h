// Addresses of a run on the machine's loopback: a program's 127.0.0.n is 127.x.y.n there, with x and y of this run alone. So
// runs do not meet, and programs may bind any port.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

namespace hcasim::preload {

// The machine's address for a program's address.
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

// Binds a socket without an address to its node's address and a port, which is the same in every run.
void bind_before_connecting(int fd, const sockaddr* to, socklen_t length);

// Turns the machine's address into the program's, in place.
void show_address(sockaddr* a, socklen_t length);

}  // namespace hcasim::preload
