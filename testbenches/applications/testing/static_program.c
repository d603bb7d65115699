/* Nothing can be loaded in front of it. */
int main(void) {
  return 0;
}
