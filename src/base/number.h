/*
 * number: numbers in text, and arithmetic that does not wrap.
 */
#ifndef REMIT_NUMBER_H
#define REMIT_NUMBER_H

#include <stdint.h>

#include "base/own.h"

/* Parses a decimal number. Returns -1 unless the whole text is digits and the
   number fits. */
int number_parse(uint64_t *out, const char *text) must_check;
/* Sums and products of untrusted quantities. If the exact result does not fit,
   they return the largest number. */
uint64_t number_add(uint64_t a, uint64_t b);
uint64_t number_mul(uint64_t a, uint64_t b);
/* Drops the fraction of a number. Returns 0 for negative numbers and NaN, and
   the largest number for those that do not fit. */
uint64_t number_whole(double d);
/* Returns the value of a hexadecimal digit, or -1. */
int number_hex_digit(char c);

#endif
