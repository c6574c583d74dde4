/*
 * number: numbers in text, as plain as can be.
 */
#ifndef REMIT_NUMBER_H
#define REMIT_NUMBER_H

#include <stdint.h>

#include "own.h"

/* Digits only, all of the text, no overflow; else -1. */
int number_parse(uint64_t *out, const char *text) must_check;
/* What a hexadecimal digit is worth, -1 if it is none. */
int number_hex_digit(char c);

#endif
