// Translates a refused command for the caller of a verb.
#pragma once

#include <cerrno>

#include "firmware/abi/command.h"

namespace hcasim::driver {

constexpr int to_errno(std::uint8_t status) {
  switch (status) {
    case HCA_OK:
      return 0;
    case HCA_BAD_PARAMETER:
      return EINVAL;
    case HCA_BAD_OBJECT:
      return ENOENT;
    case HCA_BAD_STATE:
      return EINVAL;
    case HCA_NO_RESOURCES:
      return ENOMEM;
    case HCA_BUSY:
      return EBUSY;
    case HCA_BAD_LENGTH:
      return EINVAL;
    case HCA_MEMORY_FAULT:
      return EFAULT;
    case HCA_BAD_OPCODE:
    case HCA_UNSUPPORTED:
      return EOPNOTSUPP;
    default:
      return EIO;
  }
}

}  // namespace hcasim::driver
