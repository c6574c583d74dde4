/*
 * public_ports: where hosts are reached if all public ones may be: each port
 * needs a listener in the jail, so not all 65535 can be open.
 */
#ifndef REMIT_PUBLIC_PORTS_H
#define REMIT_PUBLIC_PORTS_H

#include <stddef.h>
#include <stdint.h>

#define PUBLIC_PORTS 25

extern const uint16_t public_ports[PUBLIC_PORTS];

#endif
