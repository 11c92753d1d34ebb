/* The BLAS and LAPACK calls that the files of this folder share, on views. Triangles are lower. */
#ifndef OAT_CALLS_H
#define OAT_CALLS_H

#include "linalg/linalg.h"

/* Lower triangle of C = alpha A A^T + beta C, or of alpha A^T A + beta C if transposed */
void oat_syrk_of(oat_op op, double alpha, oat_const_view a, double beta, oat_view c);
/* x <- op(L)^-1 x */
void oat_trsv(oat_const_view l, oat_op op, double *x);
/* B <- factor op(T) B, or factor B op(T) on the right */
void oat_trmm(oat_side side, double factor, oat_const_view t, oat_op op, oat_view b);
/* The Cholesky factor in place; returns 0 or the number of the pivot that was not positive. A NaN may pass. */
size_t oat_potrf(oat_view a);
/* The inverse of a triangle, in place: of both halves, then -L22^-1 L21 L11^-1. LAPACK's is slow for such orders. */
void oat_trtri(oat_view l);
/* Lower triangle of L^T L, in place */
void oat_lauum(oat_view l);

#endif
