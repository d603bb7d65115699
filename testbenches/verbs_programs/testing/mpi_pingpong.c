/* Two ranks, messages of several sizes back and forth; rank 0 prints half a round trip, and both check what they have received.
   The first turns set up what UCX puts off. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { largest = 1 << 16, unmeasured = 20, turns = 50 };

static unsigned char pattern(int size, int turn, int from, int at) {
  return (unsigned char)(size * 7 + turn * 13 + from * 101 + at);
}

static void send_to(int peer, int rank, unsigned char* bytes, int size, int turn) {
  for (int i = 0; i < size; ++i) bytes[i] = pattern(size, turn, rank, i);
  MPI_Send(bytes, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
}

static void receive_from(int peer, unsigned char* bytes, int size, int turn) {
  MPI_Recv(bytes, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; ++i) {
    if (bytes[i] == pattern(size, turn, peer, i)) continue;
    printf("rank %d: byte %d of %d is wrong in turn %d\n", 1 - peer, i, size, turn);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  unsigned char* bytes = malloc(largest);
  for (int size = 8; size <= largest; size *= 16) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = 0;
    for (int turn = -unmeasured; turn < turns; ++turn) {
      if (turn == 0) begin = MPI_Wtime();
      if (rank == 0) send_to(1, 0, bytes, size, turn);
      receive_from(1 - rank, bytes, size, turn);
      if (rank == 1) send_to(0, 1, bytes, size, turn);
    }
    if (rank == 0) printf("%d bytes: %.2f us\n", size, (MPI_Wtime() - begin) / turns / 2 * 1e6);
  }
  free(bytes);
  MPI_Finalize();
  return 0;
}
