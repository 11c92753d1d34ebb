/* The CPU: rows in blocks that stay in cache, BLAS inside a block, lanes for threads (util/lanes.h).
 *
 * A block is rows x K with the row index fastest, so that V = Kfu L^-T is the right-side solve. Memory: lanes x ((3 K +
 * about 150) x block + K^2) doubles, and 2 N x K for V and the kernel's slopes if the budget allows. */
#include "device/cpu/cpu.h"

const oat_device_table oat_device_cpu = {
    .name = "cpu",
    .open = oat_cpu_open,
    .load = oat_cpu_load,
    .close = oat_cpu_close,
    .find_neighbours = oat_cpu_find_neighbours,
    .sums = oat_cpu_sums,
    .gradient_sums = oat_cpu_gradient_sums,
    .sites_begin = oat_cpu_sites_begin,
    .sites_look = oat_cpu_sites_look,
    .exact_sites_look = oat_cpu_exact_sites_look,
    .sites_move = oat_cpu_sites_move,
    .gains = oat_cpu_gains,
    .predictions = oat_cpu_predictions,
    .points_from_rows = oat_cpu_points_from_rows,
    .near_trouble = oat_cpu_near_trouble,
    .joint_from_rows = oat_cpu_joint_from_rows,
    .means = oat_cpu_means,
    .left_out = oat_cpu_left_out,
    .averages = oat_cpu_averages,
    .joint = oat_cpu_joint,
    .exact_sums = oat_cpu_exact_sums,
    .exact_quadratic = oat_cpu_exact_quadratic,
    .exact_gradient = oat_cpu_exact_gradient,
    .exact_left_out = oat_cpu_exact_left_out,
    .factor = oat_cpu_factor,
    .exact_rows = oat_cpu_exact_rows,
    .system_open = oat_cpu_system_open,
    .system_product = oat_cpu_system_product,
    .system_step = oat_cpu_system_step,
    .system_traces = oat_cpu_system_traces,
    .system_cost = oat_cpu_system_cost,
    .pivots_begin = oat_cpu_pivots_begin,
    .pivots_next = oat_cpu_pivots_next,
    .pivots_end = oat_cpu_pivots_end,
    .nearest = oat_cpu_nearest,
    .centres = oat_cpu_centres,
};
