// Cannot load the library. Prints its word.
#include <unistd.h>

int main(int count, char** words) {
  return count > 1 && write(1, words[1], 1) != 1;
}
