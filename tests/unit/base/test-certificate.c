#include "base/certificate.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* openssl req -x509; the fingerprint is that of openssl pkey and openssl dgst */
static const char self_signed[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBYTCCAQagAwIBAgIBATAKBggqhkjOPQQDAjAPMQ0wCwYDVQQDDAR0ZXN0MB4X\n"
	"DTI2MTEyODA3NTgxOVoXDTM2MTEyNTA3NTgxOVowDzENMAsGA1UEAwwEdGVzdDBZ\n"
	"MBMGByqGSM49AgEGCCqGSM49AwEHA0IABKBaf0G8ubRMd2tE5GiFK5RqWLTMV1Hm\n"
	"1q/PtFvmuRppqk1GNWA57VdEuSQCnWvbt4QN7CkCF/iNQslhthccrwCjUzBRMB0G\n"
	"A1UdDgQWBBR9EpEwIYX8giN5tLXGu05sAcxm3zAfBgNVHSMEGDAWgBR9EpEwIYX8\n"
	"giN5tLXGu05sAcxm3zAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYC\n"
	"IQDP0y1zKJrMWl44609m1Ss2DYQyOIMSfXsJ+0ON+nRdLQIhAKZTgBu6zHHxdbBS\n"
	"hdYPHoEW8gjfq+6zzdV86S9gEKiz\n"
	"-----END CERTIFICATE-----\n";
#define PIN       "sha256//m3Ot8uW/q0y0SJOozWyWuT4irkdhWKTAzN1tAaV5RBo="
#define EXPIRES_S INT64_C(2111212699)

/* openssl x509 -req -CA of it */
static const char signed_by_it[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBBTCBrAIBAjAKBggqhkjOPQQDAjAPMQ0wCwYDVQQDDAR0ZXN0MB4XDTI2MTEy\n"
	"ODA3NTgyMFoXDTM2MTEyNTA3NTgyMFowDzENMAsGA1UEAwwEbGVhZjBZMBMGByqG\n"
	"SM49AgEGCCqGSM49AwEHA0IABB56drtqbTvdwcSrVqm5EZtL9a1bNHGBdLXljhQ/\n"
	"fw8RZRyiUxKp/tTIuBFwbhTRTIrirQ9aOxMy5ySH3t0w9IEwCgYIKoZIzj0EAwID\n"
	"SAAwRQIgfHEQkAYMfeOGqBVARq7CeSqTruc3KVNP7yxw+B2K1uYCIQCLOVbCMBlk\n"
	"CWeTYP4JeBXCcICL/qQJR2dth/Y9akPBbA==\n"
	"-----END CERTIFICATE-----\n";

static void test_self_signed(void **state)
{
	struct certificate_facts facts;

	(void)state;
	assert_int_equal(certificate_facts(&facts, self_signed), 0);
	assert_string_equal(facts.key_pin, PIN);
	assert_true(facts.self_signed);
	assert_int_equal(facts.expires_s, EXPIRES_S);
}

static void test_first_of_a_chain(void **state)
{
	struct certificate_facts facts;
	char chain[sizeof(signed_by_it) + sizeof(self_signed)];

	(void)state;
	strcpy(chain, signed_by_it);
	strcat(chain, self_signed);
	assert_int_equal(certificate_facts(&facts, chain), 0);
	assert_false(facts.self_signed);
	assert_true(key_pin_valid(facts.key_pin));
	assert_string_not_equal(facts.key_pin, PIN);
}

static void test_no_certificate(void **state)
{
	struct certificate_facts facts = {.expires_s = 7};
	char cut[sizeof(self_signed)];

	(void)state;
	assert_int_equal(certificate_facts(&facts, ""), -EINVAL);
	assert_int_equal(certificate_facts(&facts, "text"), -EINVAL);
	memcpy(cut, self_signed, sizeof(cut));
	cut[200] = '\0';
	assert_int_equal(certificate_facts(&facts, cut), -EINVAL);
	memcpy(cut, self_signed, sizeof(cut));
	cut[60] ^= 3;
	assert_int_equal(certificate_facts(&facts, cut), -EINVAL);
	assert_int_equal(facts.expires_s, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self_signed),
		cmocka_unit_test(test_first_of_a_chain),
		cmocka_unit_test(test_no_certificate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
