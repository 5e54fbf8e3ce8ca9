/* sha256.h - SHA-256 of short texts, for names made from others. Files are the image program's business. */
#ifndef LIMA_SHA256_H
#define LIMA_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32, SHA256_HEX = 2 * SHA256_SIZE };
void sha256(const void *data, size_t len, uint8_t digest[SHA256_SIZE]);
void sha256_hex(const void *data, size_t len, char hex[SHA256_HEX + 1]); /* as a text, lower case */

#endif
