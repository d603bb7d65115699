// The system calls of the FST library. It checks no result, so the program ends in order when memory is used up.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

namespace {

// Returns the memory, or ends the program as an uncaught exception does: none may pass through C.
void* given(void* memory, std::size_t bytes) {
  if (memory || bytes == 0) return memory;
  try {
    throw std::bad_alloc();
  } catch (...) {
    std::terminate();
  }
}

}  // namespace

extern "C" {

// Replaces tmpfile: the content is bounded by a block and stays in memory, as folders for temporary files may be full.
std::FILE* hcasim_tmpfile() {
  const int file = ::memfd_create("fst", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  std::FILE* const stream = ::fdopen(file, "w+b");
  if (!stream) ::close(file);
  return stream;
}

void* hcasim_malloc(std::size_t bytes) {
  return given(std::malloc(bytes), bytes);
}
void* hcasim_calloc(std::size_t n, std::size_t bytes) {
  return given(std::calloc(n, bytes), n * bytes);
}
void* hcasim_realloc(void* memory, std::size_t bytes) {
  return given(std::realloc(memory, bytes), bytes);
}
void* hcasim_mmap(void* where, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  void* const memory = ::mmap(where, bytes, protection, flags, file, offset);
  return given(memory == MAP_FAILED ? nullptr : memory, bytes);
}

}  // extern "C"
