// Where the FST library keeps what it writes and unpacks beside the file: in memory, as it is bounded by a block, and no folder
// for temporary files may be there, or have room.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

// As tmpfile: null and an errno when there can be none.
extern "C" std::FILE* hcasim_tmpfile() {
  const int file = ::memfd_create("fst", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  std::FILE* const stream = ::fdopen(file, "w+b");
  if (!stream) ::close(file);
  return stream;
}
