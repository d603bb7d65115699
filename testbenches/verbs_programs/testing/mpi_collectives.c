/* All ranks exchange blocks and add numbers, some times; each checks what it has received. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { block = 4096, numbers = block / sizeof(double), turns = 10 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  unsigned char* const sent = malloc((size_t)ranks * block);
  unsigned char* const received = malloc((size_t)ranks * block);
  double own[numbers];
  double sum[numbers];
  int wrong = 0;
  for (int turn = 0; turn < turns; ++turn) {
    for (int i = 0; i < ranks * block; ++i) sent[i] = (unsigned char)(rank + i / block + turn);
    MPI_Alltoall(sent, block, MPI_CHAR, received, block, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < ranks * block; ++i) wrong += received[i] != (unsigned char)(i / block + rank + turn);
    for (int i = 0; i < numbers; ++i) own[i] = rank + turn;
    MPI_Allreduce(own, sum, numbers, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < numbers; ++i) wrong += sum[i] != ranks * (ranks - 1) / 2 + ranks * turn;
  }
  printf("rank %d of %d: %d wrong\n", rank, ranks, wrong);
  free(sent);
  free(received);
  MPI_Finalize();
  return wrong != 0;
}
