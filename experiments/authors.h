/* The authors' R package compared with oatgp. */
#ifndef EXPERIMENTS_AUTHORS_H
#define EXPERIMENTS_AUTHORS_H

#include "document.h"
#include "paper.h"

void write_authors(document *d, const results *r);

#endif
