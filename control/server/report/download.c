#include "control/server/report/download.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/packet_file.h"
#include "conf/controller_conf.h"
#include "control/server/report/packet_merge.h"
#include "control/server/report/pcapng.h"
#include "control/server/store/artifact_files.h"
#include "control/server/store/store_artifact.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_run.h"
#include "control/wire/measure.h"
#include "control/wire/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Write the download to an unnamed file: a run may have recorded more than fits
 * into memory. The file is gone when the answer is sent. */
struct download {
	struct store *store;
	const struct controller_conf *conf;
	int64_t run_id;
	const char *session_id;
	FILE *file;
	/* NULL: SIP alone, in a pcap file */
	struct pcapng *pcapng;
	struct packet_merge *merge;
};

typedef int(writer)(struct download *d);

static int open_file(const struct request *req, FILE **ret)
{
	int fd = open(request_conf(req)->state_dir,
		      O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	*ret = fdopen(fd, "w");
	if (*ret)
		return 0;
	close(fd);
	return -ENOMEM;
}

/* Duplicate the descriptor of the stream, then close the stream. */
static int take_fd(FILE *file, struct reply *rep, const char *type)
{
	int err = fflush(file) ? -errno : 0;
	off_t len = ftello(file);
	int fd = err ? -1 : fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);

	if (!err && (fd < 0 || len < 0))
		err = -errno;
	if (err && fd >= 0)
		close(fd);
	if (err)
		return err;
	reply_fd(rep, fd, (uint64_t)len, type);
	return 0;
}

static void answer(struct request *req, struct reply *rep, writer *write,
		   const char *type, const char *suffix)
{
	struct download d = {
		.store = request_store(req),
		.conf = request_conf(req),
	};
	json_t *run;
	int err = store_run_get(d.store, request_param(req, 0), &run);

	if (err == -ENOENT) {
		reply_problem(rep, 404, "there is no run of this id");
		return;
	}
	if (!err)
		err = open_file(req, &d.file);
	if (!err) {
		d.run_id = json_integer_value(json_object_get(run, "id"));
		d.session_id = text_of(run, "session_id");
		err = write(&d);
		if (!err && ferror(d.file))
			err = -EIO;
		if (!err)
			err = take_fd(d.file, rep, type);
		fclose(d.file);
	}
	if (err == -EBADMSG) {
		reply_store_error(rep, err, "run");
	} else if (err) {
		log_error("a download was not made: %s", strerror(-err));
		reply_unavailable(rep, REPLY_RETRY_S,
				  "the file could not be made");
	} else {
		reply_header(rep, "Content-Disposition",
			     "attachment; filename=\"run-%s-%s\"", d.session_id,
			     suffix);
	}
	json_decref(run);
}

/* ---- SIP ---- */

struct message {
	int64_t t_us;
	bool sent;
	const char *transport;
	const char *local;
	const char *peer;
	const char *data;
	size_t len;
	unsigned char *decoded; /* owned; or NULL */
};

/* Uploads are checked when they arrive, but optional members may be absent. */
static int read_message(struct message *m, const json_t *object)
{
	const json_t *data = json_object_get(object, "data");

	*m = (struct message){
		.t_us = json_integer_value(json_object_get(object, "t")),
		.sent = strcmp(text_of(object, "dir"), "sent") == 0,
		.transport = text_of(object, "transport"),
		.local = text_of(object, "local"),
		.peer = text_of(object, "peer"),
		.data = text_of(object, "data"),
		.len = json_string_length(data),
	};
	if (strcmp(text_of(object, "encoding"), "base64") != 0)
		return 0;
	m->decoded = malloc(m->len + 1);
	if (!m->decoded)
		return -ENOMEM;
	if (sodium_base642bin(m->decoded, m->len, m->data, m->len, NULL,
			      &m->len, NULL,
			      sodium_base64_VARIANT_ORIGINAL) == 0)
		m->data = (const char *)m->decoded;
	return 0;
}

static int put_text(const char *role, json_t *object, void *arg)
{
	char time[CLOCK_TEXT_BYTES];
	struct message m;
	FILE *file = arg;
	int err = read_message(&m, object);

	if (err)
		return err;
	clock_format(time, m.t_us * NS_PER_US);
	fprintf(file, "%s.%06lld %s %s %s %s -> %s, %zu bytes\n\n", time,
		(long long)(m.t_us % 1000000), role,
		m.sent ? "sent" : "received", m.transport,
		m.sent ? m.local : m.peer, m.sent ? m.peer : m.local, m.len);
	fwrite(m.data, 1, m.len, file);
	fputs("\n\n", file);
	free(m.decoded);
	return ferror(file) ? -EIO : 0;
}

static int write_text(struct download *d)
{
	return store_run_messages_by_time(d->store, d->run_id, INGEST_ALL,
					  put_text, d->file);
}

/* Wireshark gives up an SDP whose keys are no Base64, and does not find its RTP
 * then: write zeros, as Base64, where agents have put asterisks.
 * @return 0; -ENOMEM */
static int make_keys_base64(struct message *m)
{
	static const char key[] = "inline:*";
	const size_t skip = sizeof(key) - 2; /* the asterisk stays */
	char *at, *end;

	if (!memmem(m->data, m->len, key, sizeof(key) - 1))
		return 0;
	if (!m->decoded) {
		m->decoded = malloc(m->len);
		if (!m->decoded)
			return -ENOMEM;
		memcpy(m->decoded, m->data, m->len);
		m->data = (const char *)m->decoded;
	}
	end = (char *)m->decoded + m->len;
	for (at = (char *)m->decoded;
	     (at = memmem(at, (size_t)(end - at), key, sizeof(key) - 1));) {
		for (at += skip; at < end && *at == '*'; at++)
			*at = 'A';
	}
	return 0;
}

/* Write a SIP message as packet of a pcap file. */
static int write_record(FILE *file, const struct packet_file_record *r,
			const struct pcapng_part parts[2])
{
	uint8_t record[PACKET_FILE_RECORD_BYTES];

	packet_file_record_write(record, r);
	fwrite(record, 1, sizeof(record), file);
	fwrite(parts[0].data, 1, parts[0].bytes, file);
	fwrite(parts[1].data, 1, parts[1].bytes, file);
	return ferror(file) ? -EIO : 0;
}

static int put_captured(const char *role, const struct packet_file_record *r,
			const void *data, void *arg)
{
	const struct pcapng_part part = {data, r->captured};
	const struct download *d = arg;

	return pcapng_packet(d->pcapng, role, r, &part, 1);
}

/* Write a message, after the captured packets that are older. */
static int write_message(struct download *d, const char *role,
			 const struct message *m,
			 const union sockaddr_ip *local,
			 const union sockaddr_ip *peer)
{
	uint8_t header[PACKET_FILE_UDP_BYTES];
	const size_t header_len = packet_file_udp(
		header, m->sent ? local : peer, m->sent ? peer : local, m->data,
		m->len, m->len);
	const struct pcapng_part parts[] = {{header, header_len},
					    {m->data, m->len}};
	const struct packet_file_record r = {
		.unix_ns = m->t_us * NS_PER_US,
		.captured = (uint32_t)(header_len + m->len),
		.bytes = (uint32_t)(header_len + m->len),
	};
	int err;

	if (!d->pcapng)
		return write_record(d->file, &r, parts);
	err = packet_merge_until(d->merge, r.unix_ns, put_captured, d);
	return err ? err : pcapng_packet(d->pcapng, role, &r, parts, 2);
}

static int put_packet(const char *role, json_t *object, void *arg)
{
	union sockaddr_ip local, peer;
	struct message m;
	int err = read_message(&m, object);

	if (err)
		return err;
	if (m.len <= PACKET_FILE_DATA_BYTES &&
	    !packet_file_address(&local, m.local) &&
	    !packet_file_address(&peer, m.peer)) {
		err = make_keys_base64(&m);
		if (!err)
			err = write_message(arg, role, &m, &local, &peer);
	}
	free(m.decoded);
	return err;
}

static int write_pcap(struct download *d)
{
	uint8_t header[PACKET_FILE_HEADER_BYTES];

	packet_file_header(header);
	fwrite(header, 1, sizeof(header), d->file);
	return store_run_messages_by_time(d->store, d->run_id, INGEST_ALL,
					  put_packet, d);
}

/* ---- SIP, RTP and RTCP ---- */

static int add_captured(const char *role, const char *name, void *arg)
{
	const struct download *d = arg;
	char path[CONF_PATH_BYTES];
	int err = artifact_file_path(path, d->conf, d->session_id, name);

	if (!err)
		err = packet_merge_add(d->merge, role, path);
	if (err)
		log_error("%s: the packets of role %s: %s", d->session_id, role,
			  strerror(-err));
	return err;
}

static int write_packets(struct download *d)
{
	int err = packet_merge_new(&d->merge);

	if (!err)
		err = pcapng_new(&d->pcapng, d->file);
	if (!err)
		err = store_artifact_each(d->store, d->run_id,
					  PACKET_MERGE_NAME, add_captured, d);
	if (!err)
		err = store_run_messages_by_time(d->store, d->run_id,
						 INGEST_ALL, put_packet, d);
	if (!err)
		err = packet_merge_until(d->merge, INT64_MAX, put_captured, d);
	d->merge = packet_merge_free(d->merge);
	d->pcapng = pcapng_free(d->pcapng);
	return err;
}

void download_sip_text(struct request *req, struct reply *rep)
{
	answer(req, rep, write_text, "text/plain; charset=utf-8", "sip.txt");
}

void download_sip_pcap(struct request *req, struct reply *rep)
{
	answer(req, rep, write_pcap, "application/vnd.tcpdump.pcap",
	       "sip.pcap");
}

void download_packets(struct request *req, struct reply *rep)
{
	answer(req, rep, write_packets, "application/x-pcapng",
	       "packets.pcapng");
}

int download_packets_file(struct request *req, const json_t *run, FILE **ret)
{
	struct download d = {
		.store = request_store(req),
		.conf = request_conf(req),
		.run_id = json_integer_value(json_object_get(run, "id")),
		.session_id = text_of(run, "session_id"),
	};
	int err = open_file(req, &d.file);

	if (err)
		return err;
	err = write_packets(&d);
	if (!err && ferror(d.file))
		err = -EIO;
	if (err)
		fclose(d.file);
	else
		*ret = d.file;
	return err;
}

/* ---- metrics ---- */

static int put_point(const struct wire_point *p, void *arg)
{
	char time[CLOCK_TEXT_BYTES];
	FILE *file = arg;

	clock_format(time, p->t_s * NS_PER_S);
	fprintf(file, "%s,%s,%s,%s,%llu", time, p->role,
		p->outgoing ? "out" : "in", measure_name(p->measure),
		(unsigned long long)p->d.n);
	fprintf(file, ",%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g\r\n", p->d.avg,
		p->d.min, p->d.max, p->d.median, p->d.p75, p->d.p90, p->d.p95,
		p->d.stddev);
	return ferror(file) ? -EIO : 0;
}

/* Source: RFC 4180; no value needs quotes. */
static int write_csv(struct download *d)
{
	fputs("time,role,dir,measure,n,avg,min,max,median,p75,p90,p95,stddev"
	      "\r\n",
	      d->file);
	return store_run_points(d->store, d->run_id, put_point, d->file);
}

void download_stats_csv(struct request *req, struct reply *rep)
{
	answer(req, rep, write_csv, "text/csv; charset=utf-8", "stats.csv");
}
