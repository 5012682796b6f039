#include "control/server/report/download.h"

#include "base/clock.h"
#include "base/log.h"
#include "conf/controller_conf.h"
#include "control/server/report/packet.h"
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
typedef int(writer)(struct store *s, int64_t run_id, FILE *file);

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
	json_t *run;
	FILE *file = NULL;
	int err =
		store_run_get(request_store(req), request_param(req, 0), &run);

	if (err == -ENOENT) {
		reply_problem(rep, 404, "there is no run of this id");
		return;
	}
	if (!err)
		err = open_file(req, &file);
	if (!err) {
		err = write(request_store(req),
			    json_integer_value(json_object_get(run, "id")),
			    file);
		if (!err && ferror(file))
			err = -EIO;
		if (!err)
			err = take_fd(file, rep, type);
		fclose(file);
	}
	if (err) {
		log_error("a download was not made: %s", strerror(-err));
		reply_problem(rep, 503, "the file could not be made");
		reply_header(rep, "Retry-After", "5");
	} else {
		reply_header(
			rep, "Content-Disposition",
			"attachment; filename=\"run-%s-%s\"",
			json_string_value(json_object_get(run, "session_id")),
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

static int write_text(struct store *s, int64_t run_id, FILE *file)
{
	return store_run_messages_by_time(s, run_id, INGEST_ALL, put_text,
					  file);
}

static int put_packet(const char *role, json_t *object, void *arg)
{
	uint8_t record[PACKET_RECORD_HEADER_BYTES], header[PACKET_HEADER_BYTES];
	union sockaddr_ip local, peer;
	struct message m;
	FILE *file = arg;
	size_t header_len;
	int err = read_message(&m, object);

	(void)role;
	if (err)
		return err;
	if (m.len <= PACKET_DATA_BYTES && !packet_address(&local, m.local) &&
	    !packet_address(&peer, m.peer)) {
		header_len =
			packet_header(header, m.sent ? &local : &peer,
				      m.sent ? &peer : &local, m.data, m.len);
		packet_record_header(record, m.t_us, header_len + m.len);
		fwrite(record, 1, sizeof(record), file);
		fwrite(header, 1, header_len, file);
		fwrite(m.data, 1, m.len, file);
	}
	free(m.decoded);
	return ferror(file) ? -EIO : 0;
}

static int write_pcap(struct store *s, int64_t run_id, FILE *file)
{
	uint8_t header[PACKET_FILE_HEADER_BYTES];

	packet_file_header(header);
	fwrite(header, 1, sizeof(header), file);
	return store_run_messages_by_time(s, run_id, INGEST_ALL, put_packet,
					  file);
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
static int write_csv(struct store *s, int64_t run_id, FILE *file)
{
	fputs("time,role,dir,measure,n,avg,min,max,median,p75,p90,p95,stddev"
	      "\r\n",
	      file);
	return store_run_points(s, run_id, put_point, file);
}

void download_stats_csv(struct request *req, struct reply *rep)
{
	answer(req, rep, write_csv, "text/csv; charset=utf-8", "stats.csv");
}
