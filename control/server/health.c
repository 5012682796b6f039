#include "control/server/health.h"

#include "base/str.h"
#include "conf/controller_conf.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_S 5

/* The controller's own address; with one for all interfaces, the loopback's. */
static void own_url(char *dst, size_t size, const struct controller_conf *conf)
{
	const char *host = conf->listen;

	if (strcmp(host, "0.0.0.0") == 0)
		host = "127.0.0.1";
	else if (strcmp(host, "::") == 0)
		host = "::1";
	str_print(dst, size,
		  strchr(host, ':') ? "%s://[%s]:%u/healthz"
				    : "%s://%s:%u/healthz",
		  controller_conf_tls(conf) ? "https" : "http", host,
		  (unsigned)conf->port);
}

static size_t discard(char *data, size_t size, size_t count, void *arg)
{
	(void)data;
	(void)arg;
	return size * count;
}

static CURLcode get(const char *url, long *ret_status)
{
	CURL *curl = curl_easy_init();
	CURLcode code;

	if (!curl)
		return CURLE_OUT_OF_MEMORY;
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, discard);
	/* Our own address, which the certificate need not name. Nothing secret is
	 * sent. */
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
	code = curl_easy_perform(curl);
	if (code == CURLE_OK)
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, ret_status);
	curl_easy_cleanup(curl);
	return code;
}

int health_check(const struct controller_conf *conf)
{
	char url[CONF_TEXT_BYTES + 32];
	long status = 0;
	CURLcode code;

	if (conf->port == 0) {
		puts("port is 0: the address of the controller is not known");
		return -EINVAL;
	}
	own_url(url, sizeof(url), conf);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	code = get(url, &status);
	curl_global_cleanup();
	if (code == CURLE_OK)
		printf("%s: %ld\n", url, status);
	else
		printf("%s: %s\n", url, curl_easy_strerror(code));
	return code == CURLE_OK && status == 200 ? 0 : -EIO;
}
