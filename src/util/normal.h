/* The normal distribution. */
#ifndef OAT_NORMAL_H
#define OAT_NORMAL_H

/* The standard normal quantile to about 1e-15 relative; NaN outside (0, 1). */
double oat_normal_quantile(double p);

#endif
