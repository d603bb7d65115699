#include "testbenches/verbs_programs/simulator/descriptor.h"

#include <unistd.h>

namespace hcasim::applications {

descriptor& descriptor::operator=(descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

descriptor::~descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace hcasim::applications
