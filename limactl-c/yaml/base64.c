#include "limactl-c/yaml/base64.h"

#include <stdint.h>
#include <string.h>

static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char c)
{
	const char *p = c ? strchr(digit, c) : NULL;

	return p ? (int)(p - digit) : -1;
}

long base64_decode(const char *text, size_t len, char *out)
{
	uint32_t bits = 0;
	size_t digits = 0, padding = 0;
	long n = 0;

	for (size_t i = 0; i < len; i++) {
		int v = value_of(text[i]);

		if (text[i] && strchr(" \t\r\n", text[i]))
			continue;
		if (text[i] == '=') {
			padding++;
			continue;
		}
		if (v < 0 || padding)
			return -1;
		bits = bits << 6 | (uint32_t)v;
		if (digits++ % 4)
			out[n++] = (char)(bits >> (6 - 2 * ((digits - 1) % 4)));
	}
	/* A last group has two or three digits, and is filled up when it is filled at all. */
	if (digits % 4 == 1 || (padding && (digits % 4 == 0 || padding != 4 - digits % 4)))
		return -1;
	return n;
}

void base64_quad(const char *bytes, size_t n, char out[4])
{
	uint32_t bits = 0;

	for (size_t i = 0; i < 3; i++)
		bits = bits << 8 | (i < n ? (unsigned char)bytes[i] : 0);
	for (size_t i = 0; i < 4; i++)
		out[i] = i <= n ? digit[bits >> (18 - 6 * i) & 63] : '=';
}
