/* Seconds on a clock that only goes forward. */
#ifndef OAT_CLOCK_H
#define OAT_CLOCK_H

double oat_seconds(void);

#endif
