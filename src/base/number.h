/*
 * number: numbers in text, and arithmetic that does not wrap.
 */
#ifndef REMIT_NUMBER_H
#define REMIT_NUMBER_H

#include <stdint.h>

#include "base/own.h"

/* Digits only, all of the text, no overflow; else -1. */
int number_parse(uint64_t *out, const char *text) must_check;
/* Sums and products of quantities that somebody else has chosen: where the
   exact result does not fit, the largest number. */
uint64_t number_add(uint64_t a, uint64_t b);
uint64_t number_mul(uint64_t a, uint64_t b);
/* A number without its fraction: 0 for negative ones and NaN, and the largest
   number for those that do not fit. */
uint64_t number_whole(double d);
/* What a hexadecimal digit is worth, -1 if it is none. */
int number_hex_digit(char c);

#endif
