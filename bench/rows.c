/* Writes an .npy file of any number of rows for measurements: rows N DIMENSIONS f4|f8 FILE. Inputs are uniform on (-2,
 * 2), the last column is a smooth function of some of them with noise. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 128 };

static uint64_t state = 88172645463325252ULL;

static double uniform(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) * 0x1p-53;
}

static void write_header(FILE *file, size_t n, size_t columns, const char *type) {
  char text[HEADER - 9];
  const int length =
      snprintf(text, sizeof text, "{'descr': '<%s', 'fortran_order': False, 'shape': (%zu, %zu), }", type, n, columns);
  memset(text + length, ' ', sizeof text - (size_t)length);
  fwrite("\x93NUMPY\x01\x00", 1, 8, file);
  fputc(HEADER - 10, file);
  fputc(0, file);
  text[HEADER - 11] = '\n';
  fwrite(text, 1, HEADER - 10, file);
}

static void fill(double *row, size_t d) {
  for (size_t j = 0; j < d; j++) {
    row[j] = 4 * uniform() - 2;
  }
  row[d] = sin(2 * row[0]) + 0.5 * row[1 % d] + cos(row[2 % d] * row[3 % d]) +
           0.3 * (uniform() + uniform() + uniform() - 1.5);
}

int main(int count, char **argument) {
  if (count != 5) {
    fprintf(stderr, "usage: rows N DIMENSIONS f4|f8 FILE\n");
    return 2;
  }
  const size_t n = strtoull(argument[1], NULL, 10), d = strtoull(argument[2], NULL, 10), columns = d + 1;
  FILE *file = fopen(argument[4], "wb");
  double *row = malloc(columns * sizeof *row);
  float *narrow = malloc(columns * sizeof *narrow);
  if (file == NULL || row == NULL || narrow == NULL || d == 0) {
    return 1;
  }
  write_header(file, n, columns, argument[3]);
  for (size_t i = 0; i < n; i++) {
    fill(row, d);
    for (size_t j = 0; j < columns; j++) {
      narrow[j] = (float)row[j];
    }
    if (strcmp(argument[3], "f4") == 0) {
      fwrite(narrow, sizeof *narrow, columns, file);
    } else {
      fwrite(row, sizeof *row, columns, file);
    }
  }
  free(row);
  free(narrow);
  return fclose(file) == 0 ? 0 : 1;
}
