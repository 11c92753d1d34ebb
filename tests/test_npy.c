/* The .npy format: every type, both byte orders and both layouts; refusals; damaged files; and writing. */
#include "data_files.h"

#include <float.h>
#include <math.h>

typedef struct npy_file {
  char bytes[4096];
  size_t size, values; /* values: where they begin */
} npy_file;

/* Magic bytes, version, length and the text of the header, ended by a line end. */
static npy_file begin_npy(int version, const char *header) {
  npy_file file = {{0}, 0, 0};
  const size_t length = strlen(header) + 1;
  memcpy(file.bytes, "\x93NUMPY", 6);
  file.bytes[6] = (char)version;
  file.bytes[8] = (char)(length & 0xFF);
  file.bytes[9] = (char)(length >> 8);
  file.size = version == 1 ? 10 : 12;
  memcpy(file.bytes + file.size, header, length - 1);
  file.bytes[file.size + length - 1] = '\n';
  file.size += length;
  file.values = file.size;
  return file;
}

static void add_bytes(npy_file *file, uint64_t bits, size_t size, bool big_endian) {
  for (size_t i = 0; i < size; i++) {
    file->bytes[file->size++] = (char)(bits >> 8 * (big_endian ? size - 1 - i : i) & 0xFF);
  }
}

/* The bits of a value as the type has it. */
static uint64_t bits_of(double value, char kind, size_t size) {
  uint64_t bits = 0;
  if (kind == 'f' && size == 4) {
    const float narrow = (float)value;
    uint32_t low;
    memcpy(&low, &narrow, sizeof low);
    bits = low;
  } else if (kind == 'f') {
    memcpy(&bits, &value, sizeof bits);
  } else {
    bits = value < 0 ? ~(uint64_t)(-value) + 1 : (uint64_t)value;
  }
  return bits;
}

static npy_file make_npy(const char *type, const char *order, const char *shape, const double *values, size_t count) {
  char header[256];
  snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", type, order, shape);
  npy_file file = begin_npy(1, header);
  const size_t size = (size_t)(type[2] - '0');
  for (size_t i = 0; i < count; i++) {
    add_bytes(&file, bits_of(values[i], type[1], size), size, type[0] == '>');
  }
  return file;
}

/* ---- what is read ---------------------------------------------------------------------------------------------- */

static void reads_every_type(void **state) {
  scratch *s = *state;
  static const char *const types[] = {"<f8", ">f8", "<f4", ">f4", "|i1", "<i1", "<i2", ">i2", "<i4", ">i4",
                                      "<i8", ">i8", "|u1", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8", "|b1"};
  static const double real[] = {0.5, -2.25, 0x1p40, 1}, integer[] = {0, -128, 127, -1}, natural[] = {0, 255, 7, 128},
                      truth[] = {0, 1, 1, 0};
  for (size_t k = 0; k < LENGTH(types); k++) {
    const char kind = types[k][1];
    const double *values = kind == 'f' ? real : kind == 'i' ? integer : kind == 'u' ? natural : truth;
    const npy_file file = make_npy(types[k], "False", "(2, 2)", values, 4);
    write_bytes(s, file.bytes, file.size);
    oatgp_data *data = must_read(s);
    expect_inputs(data, 2, 2, values);
    expect_names(data, "V1,V2");
    assert_int_equal(data->columns, 2);
    assert_false(data->header);
    oatgp_data_free(data);
  }
}

static void reads_the_ends_of_types(void **state) {
  scratch *s = *state;
  const struct {
    const char *type;
    uint64_t bits;
    double value;
  } cases[] = {{"<i8", UINT64_C(1) << 63, -0x1p63},
               {"<i8", UINT64_MAX >> 1, 0x1p63},
               {"<i4", UINT64_C(0x80000000), -0x1p31},
               {"<i2", 0x7FFF, 32767},
               {"<u8", UINT64_MAX, 0x1p64},
               {"<u4", UINT32_MAX, 4294967295.0},
               {"<f8", 1, 0x1p-1074},
               {"<f8", UINT64_C(0x7FEFFFFFFFFFFFFF), DBL_MAX},
               {"<f4", 0x7F7FFFFF, (double)FLT_MAX},
               {"<b1", 2, 1}};
  for (size_t k = 0; k < LENGTH(cases); k++) {
    npy_file file = make_npy(cases[k].type, "False", "(1,)", NULL, 0);
    add_bytes(&file, cases[k].bits, (size_t)(cases[k].type[2] - '0'), false);
    write_bytes(s, file.bytes, file.size);
    oatgp_data *data = must_read(s);
    expect_inputs(data, 1, 1, &cases[k].value);
    oatgp_data_free(data);
  }
}

static void reads_both_layouts(void **state) {
  scratch *s = *state;
  const double rows[] = {1, 2, 3, 4, 5, 6}, columns[] = {1, 4, 2, 5, 3, 6};
  const struct {
    const char *order;
    const double *values;
  } cases[] = {{"False", rows}, {"True", columns}};
  s->settings.target = "2";
  for (size_t k = 0; k < LENGTH(cases); k++) {
    const npy_file file = make_npy("<f8", cases[k].order, "(2, 3)", cases[k].values, 6);
    write_bytes(s, file.bytes, file.size);
    oatgp_data *data = must_read(s);
    expect_inputs(data, 2, 2, (const double[]){1, 3, 4, 6});
    expect_column(data->y, 2, (const double[]){2, 5});
    expect_names(data, "V1,V3");
    assert_string_equal(data->target, "V2");
    assert_int_equal(data->positions[1], 3);
    oatgp_data_free(data);
    write_gzip(s, file.bytes, file.size);
    data = must_read(s);
    expect_inputs(data, 2, 2, (const double[]){1, 3, 4, 6});
    oatgp_data_free(data);
  }
}

static void reads_headers_of_all_kinds(void **state) {
  scratch *s = *state;
  const struct {
    int version;
    const char *header;
  } cases[] = {{1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }      "},
               {2, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"},
               {3, "{'shape': (2, 1), 'fortran_order': True, 'descr': '<f8'}"},
               {1, "{'descr':'<f8','fortran_order':False,'shape':(2L,)}"},
               {1, " { 'shape' : ( 2 , 1 ) , 'fortran_order': False,'descr': '<f8' , } "}};
  for (size_t k = 0; k < LENGTH(cases); k++) {
    npy_file file = begin_npy(cases[k].version, cases[k].header);
    add_bytes(&file, bits_of(0.25, 'f', 8), 8, false);
    add_bytes(&file, bits_of(-7, 'f', 8), 8, false);
    write_bytes(s, file.bytes, file.size);
    oatgp_data *data = must_read(s);
    expect_inputs(data, 2, 1, (const double[]){0.25, -7});
    oatgp_data_free(data);
  }
}

static void nan_is_missing(void **state) {
  scratch *s = *state;
  const double values[] = {1, 2, NAN, 4, 5, 6};
  const npy_file file = make_npy("<f8", "False", "(3, 2)", values, 6);
  write_bytes(s, file.bytes, file.size);
  must_refuse(s, OATGP_DATA,
              "/file, row 2, column 'V1': the value is missing; fill it in, or drop such rows with --missing drop");
  s->settings.missing = "drop";
  oatgp_data *data = must_read(s);
  expect_inputs(data, 2, 2, (const double[]){1, 2, 5, 6});
  assert_int_equal(oatgp_data_dropped_rows(data), 1);
  assert_non_null(strstr(s->said, "dropped 1 of 3 rows"));
  oatgp_data_free(data);
}

/* Longer than the window, so that values are cut at its end. */
static void reads_large_files(void **state) {
  scratch *s = *state;
  const size_t rows = 100001, columns = 3;
  double *values = malloc(rows * columns * sizeof *values);
  assert_non_null(values);
  for (size_t i = 0; i < rows * columns; i++) {
    values[i] = sqrt((double)i);
  }
  assert_int_equal(oatgp_write_npy(s->ctx, s->path, rows, columns, values), OATGP_OK);
  oatgp_data *data = must_read(s);
  expect_inputs(data, rows, columns, values);
  oatgp_data_free(data);
  free(values);
}

static void reads_like_npy(void **state) {
  scratch *s = *state;
  oatgp_data *other = NULL;
  const double values[] = {1, 2, 3};
  npy_file file = make_npy("<f8", "False", "(1, 3)", values, 3);
  write_bytes(s, file.bytes, file.size);
  s->settings.target = "1";
  oatgp_data *like = must_read(s);
  file = make_npy("<f8", "False", "(1, 2)", values, 2);
  write_bytes(s, file.bytes, file.size);
  assert_int_equal(oatgp_data_read_like(s->ctx, s->path, like, &s->settings, &other), OATGP_OK);
  expect_inputs(other, 1, 2, (const double[]){1, 2});
  oatgp_data_free(other);
  other = NULL;
  write_text(s, "7,8,9\n");
  assert_int_equal(oatgp_data_read_like(s->ctx, s->path, like, &s->settings, &other), OATGP_OK);
  expect_inputs(other, 1, 2, (const double[]){8, 9});
  oatgp_data_free(other);
  other = NULL;
  file = make_npy("<f8", "False", "(3,)", values, 3);
  write_bytes(s, file.bytes, file.size);
  expect_sentence(s, OATGP_DATA, oatgp_data_read_like(s->ctx, s->path, like, &s->settings, &other),
                  "no header and 1 columns");
  oatgp_data_free(like);
}

/* ---- what is refused ------------------------------------------------------------------------------------------- */

static void refuses_headers(void **state) {
  scratch *s = *state;
  const struct {
    int version;
    const char *header;
    oatgp_status status;
    const char *piece;
  } cases[] = {
      {4, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", OATGP_DATA,
       "version 4 of the .npy format; versions 1 to 3"},
      {0, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", OATGP_DATA, "version 0"},
      {1, "{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", OATGP_DATA,
       "the type '<c16'; real numbers (f4, f8), integers and bool"},
      {1, "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", OATGP_DATA, "the type '|O'"},
      {1, "{'descr': '<U5', 'fortran_order': False, 'shape': (1,), }", OATGP_DATA, "the type '<U5'"},
      {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }", OATGP_DATA, "the type '<f2'"},
      {1, "{'descr': '|f8', 'fortran_order': False, 'shape': (1,), }", OATGP_DATA, "the type '|f8'"},
      {1, "{'descr': '', 'fortran_order': False, 'shape': (1,), }", OATGP_DATA, "the type ''"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", OATGP_DATA, "an array of 0 dimensions"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1), }", OATGP_DATA, "an array of 3 dimensions"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }", OATGP_DATA, "is empty: its array is 0 x 3"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0), }", OATGP_DATA, "is empty: its array is 3 x 0"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1048577), }", OATGP_DATA, "has 1048577 columns"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 2), }", OATGP_READ,
       "too large for any memory"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }", OATGP_READ,
       "header is not that of a plain array"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 2), }", OATGP_READ,
       "announces 1000000000000 x 2 values"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", OATGP_READ, "is damaged: its header is not"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)", OATGP_READ, "is damaged: its header is not"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': 1, }", OATGP_READ, "is damaged: its header is not"},
      {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1 1), }", OATGP_READ, "is damaged: its header is not"},
      {1, "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1,), }", OATGP_READ, "is damaged: its header is not"},
      {1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", OATGP_DATA,
       "holds a structured array, whose columns have names and types; write a plain matrix of numbers"},
      {1, "{'descr': '<f8aaaaaaaaaaaaaaaaaaaaaa', 'fortran_order': False, 'shape': (1,), }", OATGP_READ,
       "is damaged: its header is not"},
      {1, "{'descr': '<f8, }", OATGP_READ, "is damaged: its header is not"},
      {1, "{'descr': '<f8', 'shape': (1,), }", OATGP_READ, "is damaged: its header is not"},
      {1, "{'fortran_order': False, 'shape': (1,)}", OATGP_READ, "is damaged: its header is not"},
      {1, "{'other': '<f8'}", OATGP_READ, "is damaged: its header is not"},
      {1, "", OATGP_READ, "is damaged: its header is not"},
      {2, "x", OATGP_READ, "is damaged: its header is not"},
  };
  for (size_t k = 0; k < LENGTH(cases); k++) {
    npy_file file = begin_npy(cases[k].version, cases[k].header);
    add_bytes(&file, bits_of(1, 'f', 8), 8, false);
    write_bytes(s, file.bytes, file.size);
    must_refuse(s, cases[k].status, cases[k].piece);
  }
}

static void refuses_wrong_lengths(void **state) {
  scratch *s = *state;
  const double values[] = {1, 2, 3, 4, 5, 6};
  npy_file file = make_npy("<f8", "False", "(2, 3)", values, 6);
  for (size_t size = 6; size < file.size; size++) {
    write_bytes(s, file.bytes, size);
    must_refuse(s, OATGP_READ,
                size < file.values ? "it ends within its header" : "is truncated: its header announces 2 x 3 values");
  }
  write_bytes(s, file.bytes, file.size + 1);
  must_refuse(s, OATGP_READ, "it has more bytes than its header announces");
  file.bytes[6] = 2;
  memcpy(file.bytes + 8, "\xFF\xFF\xFF\xFF", 4);
  write_bytes(s, file.bytes, file.size);
  must_refuse(s, OATGP_READ, "its header is longer than 65536 bytes");
}

static void refuses_values(void **state) {
  scratch *s = *state;
  const double values[] = {1, 2, 3, -INFINITY};
  npy_file file = make_npy("<f8", "False", "(2, 2)", values, 4);
  write_bytes(s, file.bytes, file.size);
  must_refuse(s, OATGP_DATA, "row 2, column 'V2': '-inf' is infinite or too large");
  file = make_npy("<f8", "True", "(2, 2)", values, 4);
  write_bytes(s, file.bytes, file.size);
  must_refuse(s, OATGP_DATA, "row 2, column 'V2': '-inf'");
  const double small[] = {1, 0, 3, -4};
  file = make_npy("<f8", "False", "(2, 2)", small, 4);
  write_bytes(s, file.bytes, file.size);
  s->settings.weights = "last";
  must_refuse(s, OATGP_DATA, "row 1, column 'V2': '0' is not a weight");
  s->settings.weights = "";
  s->settings.noise_variance = "last";
  must_refuse(s, OATGP_DATA, "row 2, column 'V2': '-4' is not a noise variance");
}

static void survives_mutation(void **state) {
  scratch *s = *state;
  oat_rng rng;
  oat_rng_seed(&rng, 17);
  const double values[] = {1, 2, 3, 4, 5, 6};
  const npy_file seeds[] = {make_npy("<f8", "False", "(2, 3)", values, 6),
                            make_npy(">i2", "True", "(3, 2)", values, 6)};
  static char bytes[2 * sizeof seeds[0].bytes];
  size_t read = 0;
  for (int k = 0; k < 4000; k++) {
    const npy_file *seed = &seeds[oat_rng_below(&rng, LENGTH(seeds))];
    memcpy(bytes, seed->bytes, seed->size);
    s->settings.missing = k % 2 == 0 ? "drop" : "error";
    s->settings.target = k % 3 == 0 ? "last" : "";
    write_bytes(s, bytes, mutate(&rng, "<>|fiub1248'(),:{} 0TrueFalse", bytes, seed->size));
    read += read_anything(s);
  }
  assert_in_range(read, 20, 3980);
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static void writes_what_numpy_writes(void **state) {
  scratch *s = *state;
  const double values[] = {0.5, -1, 1e300, 0, 3, NAN};
  assert_int_equal(oatgp_write_npy(s->ctx, s->path, 2, 3, values), OATGP_OK);
  size_t size = 0;
  char *bytes = read_bytes_back(s, &size);
  assert_int_equal(size, 128 + sizeof values);
  assert_memory_equal(
      bytes, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }      ", 10 + 65);
  assert_int_equal(bytes[127], '\n');
  for (size_t i = 0; i < LENGTH(values); i++) {
    npy_file little = {{0}, 0, 0};
    add_bytes(&little, bits_of(values[i], 'f', 8), 8, false);
    assert_memory_equal(bytes + 128 + 8 * i, little.bytes, 8);
  }
  free(bytes);
}

static void refuses_to_write(void **state) {
  scratch *s = *state;
  const double values[] = {1};
  assert_int_equal(oatgp_write_npy(NULL, s->path, 1, 1, values), OATGP_ARGUMENT);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_write_npy(s->ctx, NULL, 1, 1, values), "path");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_write_npy(s->ctx, s->path, 1, 0, values), "1 x 0 values");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_write_npy(s->ctx, s->path, 1, 1, NULL), "NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_write_npy(s->ctx, s->path, SIZE_MAX, 2, values), "cannot be written");
  char path[160];
  snprintf(path, sizeof path, "%s/none/out.npy", s->folder);
  expect_sentence(s, OATGP_WRITE, oatgp_write_npy(s->ctx, path, 1, 1, values), "No such file or directory");
  if (access("/dev/full", W_OK) == 0) {
    expect_sentence(s, OATGP_WRITE, oatgp_write_npy(s->ctx, "/dev/full", 1, 1, values), "No space left on device");
  }
  assert_int_equal(access(s->path, F_OK), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(reads_every_type, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_the_ends_of_types, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_both_layouts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_headers_of_all_kinds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(nan_is_missing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_large_files, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_like_npy, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_headers, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_wrong_lengths, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_values, set_up, tear_down),
      cmocka_unit_test_setup_teardown(survives_mutation, set_up, tear_down),
      cmocka_unit_test_setup_teardown(writes_what_numpy_writes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_to_write, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
