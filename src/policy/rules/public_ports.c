#include "policy/rules/public_ports.h"

/*
 * Services that are offered on the internet. Not 25 (mail between servers,
 * which is how spam is sent), and not 3000, 5000 and 8000, at which programs
 * like to serve within their own loopback.
 */
const uint16_t public_ports[PUBLIC_PORTS] = {
	22,   80,   443,  8080, 8443, 9418,	   /* shell, web, git */
	110,  143,  465,  587,	993,  995,	   /* mail of people */
	853,  1883, 8883, 4222, 5671, 5672,  9092, /* names, queues */
	1433, 3306, 5432, 6379, 9200, 27017,	   /* databases */
};
