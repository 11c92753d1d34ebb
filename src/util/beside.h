/* Shared objects that belong to the library and are opened only when they are needed. */
#ifndef OAT_BESIDE_H
#define OAT_BESIDE_H

/* Opens the object of this file name: beside the library or the program that holds this code, in the folder above it
 * (tests), in the folder `oatgp` of the installed libraries, or where the system looks. Returns NULL if it is not
 * found; dlerror() then gives the reason. `flags` are those of dlopen. */
void *oat_open_beside(const char *name, int flags);

#endif
