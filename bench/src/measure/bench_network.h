/*
 * bench_network: what the proxy costs, against the host's own network: the
 * first connection and one stream, to a server at loopback; and what a waiting
 * child with a named host costs against one without.
 */
#ifndef REMIT_BENCH_NETWORK_H
#define REMIT_BENCH_NETWORK_H

#include "bench.h"

int bench_network_measure(struct bench *b, struct remit_error *err) must_check;

#endif
