/*
 * bench_beside: what a warm run costs while another run of the same keeper does
 * nothing but make calls that are refused, against the same alone.
 */
#ifndef REMIT_BENCH_BESIDE_H
#define REMIT_BENCH_BESIDE_H

#include "bench.h"

int bench_beside_measure(struct bench *b, struct remit_error *err) must_check;

#endif
