/**
 * A host and the transport to it.
 */
#ifndef OFFHOOK_SIP_HOST_H
#define OFFHOOK_SIP_HOST_H

#include <stdbool.h>
#include <stdint.h>

/* Size of a text that says why something was refused. */
#define SIP_REASON_BYTES 192

enum sip_transport {
	SIP_TRANSPORT_UDP,
	SIP_TRANSPORT_TCP,
	SIP_TRANSPORT_TLS,
};

struct sip_host {
	const char *host; /* name or literal */
	uint16_t port;    /* 0: default of the transport */
	enum sip_transport transport;
};

/** Settings of TLS. Files are PEM and read once; texts are copied. */
struct sip_tls {
	bool verify;             /* check the peer's certificate and name */
	const char *ca;          /* PEM text; NULL: those of the system */
	const char *cert_file;   /* ours, with its chain; NULL: none */
	const char *key_file;    /* NULL: it is in cert_file */
	const char *server_name; /* SNI and name to verify; NULL: the host */
};

#endif
