/* The available cores: limits of containers and of the environment, and the automatic number of threads. */
#define _XOPEN_SOURCE 700 /* nftw */

#include <ftw.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"
#include "util/machine.h"
#include "util/threads.h"

/* ---- files as a system has them -------------------------------------------------------------------------------- */

static char root[64];

static int make_root(void **state) {
  (void)state;
  strcpy(root, "/tmp/test_machine.XXXXXX");
  return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)about, (void)kind, (void)where;
  return remove(path);
}

static int remove_root(void **state) {
  (void)state;
  return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file under the root, with the folders that it is in. */
static void put(const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s%s", root, name);
  for (char *at = strchr(path + strlen(root) + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
    *at = '\0';
    mkdir(path, 0700);
    *at = '/';
  }
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void no_container(void **state) {
  (void)state;
  assert_int_equal(oat_machine_share(root), INT_MAX); /* no file at all */
  put("/proc/self/cgroup", "0::/user.slice\n");
  assert_int_equal(oat_machine_share(root), INT_MAX);
  put("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  assert_int_equal(oat_machine_share(root), INT_MAX);
  put("/proc/self/cgroup", "nothing that we know\n");
  assert_int_equal(oat_machine_share(root), INT_MAX);
}

/* The smallest on the way up counts, and a part of a core is one. */
static void groups_of_version_2(void **state) {
  (void)state;
  put("/proc/self/cgroup", "0::/a/b/c\n");
  put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
  put("/sys/fs/cgroup/a/b/cpu.max", "250000 100000\n");
  assert_int_equal(oat_machine_share(root), 3);
  put("/sys/fs/cgroup/a/cpu.max", "800000 100000\n");
  assert_int_equal(oat_machine_share(root), 3);
  put("/sys/fs/cgroup/a/b/c/cpu.max", "10000 100000\n");
  assert_int_equal(oat_machine_share(root), 1);
}

/* In a container the root is its own group, whose path is that of the host or "/". */
static void the_root_counts(void **state) {
  (void)state;
  put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  put("/proc/self/cgroup", "0::/\n");
  assert_int_equal(oat_machine_share(root), 4);
  put("/proc/self/cgroup", "0::/docker/0123456789abcdef\n");
  assert_int_equal(oat_machine_share(root), 4);
}

static void groups_of_version_1(void **state) {
  (void)state;
  put("/proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job/step\n3:cpuset:/\n0::/\n");
  assert_int_equal(oat_machine_share(root), INT_MAX);
  put("/sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_period_us", "100000\n");
  assert_int_equal(oat_machine_share(root), INT_MAX);
  put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "50000\n");
  assert_int_equal(oat_machine_share(root), 3);
  put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100001\n"); /* mounted under its first name */
  put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  assert_int_equal(oat_machine_share(root), 2);
}

/* "cpuset" is another controller. */
static void only_the_controller_of_time(void **state) {
  (void)state;
  put("/proc/self/cgroup", "4:cpuset:/\n");
  put("/sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "100000\n");
  put("/sys/fs/cgroup/cpuset/cpu.cfs_period_us", "100000\n");
  assert_int_equal(oat_machine_share(root), INT_MAX);
}

/* ---- the environment ------------------------------------------------------------------------------------------- */

/* The cores with these in the environment, NULL: without. */
static int cores_with(const char *wanted, const char *limit) {
  if (wanted != NULL) {
    setenv("OMP_NUM_THREADS", wanted, 1);
  } else {
    unsetenv("OMP_NUM_THREADS");
  }
  if (limit != NULL) {
    setenv("OMP_THREAD_LIMIT", limit, 1);
  } else {
    unsetenv("OMP_THREAD_LIMIT");
  }
  return oatgp_cores();
}

static void the_environment_is_respected(void **state) {
  (void)state;
  const int own = cores_with(NULL, NULL);
  assert_true(own >= 1 && own <= sysconf(_SC_NPROCESSORS_ONLN));
  assert_int_equal(cores_with("7", NULL), 7);
  assert_int_equal(cores_with("5,2", NULL), 5);
  assert_int_equal(cores_with("7", "3"), 3);
  assert_int_equal(cores_with(NULL, "1"), 1);
  assert_int_equal(cores_with("many", NULL), own);
  assert_int_equal(cores_with("0", "-2"), own);
}

static void threads_are_the_cores_unless_said(void **state) {
  (void)state;
  assert_int_equal(cores_with("6", NULL), 6);
  assert_int_equal(oat_lane_threads(0), 6);
  assert_int_equal(oat_lane_threads(3), 3);
  oatgp_set_cores(4);
  assert_int_equal(oat_lane_threads(0), 4);
  assert_int_equal(oat_lane_threads(9), 9);
  oatgp_set_cores(0);
  assert_int_equal(oat_lane_threads(0), 6);
}

/* Each thread takes 128 MiB of the address space where that is limited. */
static void the_address_space_has_room_for_them(void **state) {
  (void)state;
  struct rlimit before, limit;
  assert_int_equal(cores_with("64", NULL), 64);
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  limit = before;
  limit.rlim_cur = (rlim_t)5 * 128 << 20;
  assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
  const int within = oatgp_cores();
  limit.rlim_cur = (rlim_t)1 << 20;
  assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
  const int within_little = oatgp_cores();
  assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
  assert_int_equal(within, 5);
  assert_int_equal(within_little, 1);
}

/* Little work takes one thread; so does work that is worth waking threads, until there was enough to be worth making
 * them. */
static void small_work_takes_one_thread(void **state) {
  (void)state;
  int calls = 0;
  assert_int_equal(oat_threads_for(2, 1), 1);
  assert_int_equal(oat_threads_for(2, 1e5), 1);
  while (oat_threads_for(2, 1e7 * 2) == 1) {
    assert_true(++calls < 100);
  }
  assert_int_equal(oat_threads_for(2, 1e7 * 2), 2);
  assert_int_equal(oat_threads_for(2, 1e5), 1);
  assert_int_equal(oat_threads_for(1, 1e12), 1);
  assert_int_equal(oat_threads_for(2, 0), 2);
  /* many more than there are cores must have more to do, each of them */
  const int many = 100 * oat_machine_processors();
  assert_int_equal(oat_threads_for(many, 1e6 * many), 1);
  assert_int_equal(oat_threads_for(many, 1e9 * many), many);
  oat_threads_always();
  assert_int_equal(oat_threads_for(2, 1), 2);
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_ROOT(no_container),
      WITH_ROOT(groups_of_version_2),
      WITH_ROOT(the_root_counts),
      WITH_ROOT(groups_of_version_1),
      WITH_ROOT(only_the_controller_of_time),
      cmocka_unit_test(the_environment_is_respected),
      cmocka_unit_test(threads_are_the_cores_unless_said),
      cmocka_unit_test(the_address_space_has_room_for_them),
      cmocka_unit_test(small_work_takes_one_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
