// A folder that is one process's own while this lives: a lock on the folder, which goes with the process however it ends.
#pragma once

#include <filesystem>

namespace hcasim {

class folder_claim {
 public:
  // Makes the last folder of the path if it is not there. Throws std::system_error; a folder that another process has is
  // EWOULDBLOCK. Where the file system knows no locks the folder is taken without one.
  explicit folder_claim(const std::filesystem::path& folder);
  ~folder_claim();
  folder_claim(const folder_claim&) = delete;
  folder_claim& operator=(const folder_claim&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace hcasim
