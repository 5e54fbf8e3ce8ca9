/* lima_cache.h - what Lima itself has downloaded: read, never written.
 *
 * Its cache is keyed by URL (by-url-sha256/SHA256-OF-URL/data, and beside it what its digest was found to be), ours by content.
 * Its files are taken over into ours, by shared blocks where the file system can, when they have the wanted digest; what is
 * noted there about them is not believed. Writing there too would keep every image twice, and under Lima's locks.
 */
#ifndef LIMA_IMAGE_LIMA_CACHE_H
#define LIMA_IMAGE_LIMA_CACHE_H

/* Descriptor of what Lima got from the URL whose SHA-256 is key, in hexadecimal; -1: it has nothing. */
int lima_cache_open(const char *key);

#endif
