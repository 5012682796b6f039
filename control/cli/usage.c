#include "control/cli/options.h"

#include "base/codec_names.h"

#include <stdio.h>
#include <string.h>

static void commands_and_account_print(void)
{
	fputs("Usage: offhook COMMAND [ARGUMENT...] [OPTION...]\n"
	      "\n"
	      "Calls, without a controller; their options are below\n"
	      "  call URI              place one call, measure it, judge it\n"
	      "  answer                take calls, measure them\n"
	      "  register              register, and unregister again\n"
	      "Measurement without calls\n"
	      "  analyze FILE          the RTP of a capture\n"
	      "  tap --interface IF    the RTP of an interface, live\n"
	      "  emodel                R and MOS of codec, loss and delay\n"
	      "What a controller has\n"
	      "  scenario, schedule, callback, callback-template, user, agent,\n"
	      "  artifact\n"
	      "offhook COMMAND --help says more of the commands without calls.\n"
	      "\n"
	      "URI is sip:USER@HOST[:PORT], or a user or number with --target.\n"
	      "\n"
	      "Who we are\n"
	      "  --user NAME           our user name\n"
	      "  --auth-user NAME      user name for authentication, if another\n"
	      "  --password TEXT       password (better: environment OFFHOOK_PASSWORD)\n"
	      "  --caller-id TEXT      display name in From\n"
	      "  --domain NAME         domain of our address (default: the target)\n"
	      "Where requests go\n"
	      "  --target HOST[:PORT]  proxy or registrar (also --registrar;\n"
	      "                        default: the host of URI)\n"
	      "  --transport udp|tcp|tls  (default: udp, or transport= of URI)\n"
	      "  --tls-verify yes|no   the peer's certificate (default: yes)\n"
	      "  --tls-ca FILE         who must have signed it (default: the system's)\n"
	      "  --tls-name NAME       which it must be of (default: the host's)\n"
	      "  --tls-cert FILE       our own certificate, with its chain\n"
	      "  --tls-key FILE        its key (default: in the same file)\n"
	      "  --register            register first, unregister at the end\n"
	      "  --expires S           of the registration (default: 3600)\n"
	      "  --bind ADDRESS        local address (default: as the kernel routes)\n"
	      "  --sip-port PORT       local SIP port (default: any; of answer without a\n"
	      "                        target 5060, with TLS 5061)\n"
	      "  --rtp-ports MIN-MAX   local RTP ports (default: 20000-29999)\n",
	      stdout);
}

/* Print the names of all codecs within 72 columns. */
static void codecs_print(void)
{
	const unsigned indent = 24, width = 72;
	unsigned column = indent;
	const struct codec_name *codec;

	for (size_t i = 0; (codec = codec_name_at(i)) && !codec->is_alias;
	     i++) {
		unsigned bytes = (unsigned)strlen(codec->name);

		if (i > 0 && column + 2 + bytes + 1 > width) {
			printf(",\n%*s", (int)indent, "");
			column = indent;
		} else if (i > 0) {
			fputs(", ", stdout);
			column += 2;
		}
		fputs(codec->name, stdout);
		column += bytes;
	}
}

static void call_options_print(void)
{
	fputs("The call\n"
	      "  --duration S          seconds (default: 10), or uniform:a,b\n"
	      "                        exponential:mean normal:mean,sd; answer:\n"
	      "                        default until the peer ends the call\n"
	      "  --100rel none|supported|required\n"
	      "                        reliable provisional responses, PRACK\n"
	      "                        (RFC 3262; default: none)\n"
	      "  --session-timer S     Session-Expires, 2 to 86400 (RFC 4028;\n"
	      "                        default: no session timer)\n"
	      "  --session-refresher any|uac|uas\n"
	      "                        who refreshes the session (default: any)\n"
	      "  --codec NAME          ",
	      stdout);
	codecs_print();
	fputs("; may be repeated\n"
	      "  --encryption MODE     none (default), sdes, sdes-mandatory,\n"
	      "                        dtls\n"
	      "  --srtp-suite NAME     as in a=crypto; may be repeated (default: all)\n"
	      "  --srtp-library builtin|libsrtp2\n"
	      "                        what encrypts RTP (default: builtin)\n"
	      "  --nat none|stun|turn|ice\n"
	      "                        how media gets through NATs (default: none)\n"
	      "  --stun-server HOST[:PORT], --turn-server HOST[:PORT]\n"
	      "  --turn-transport udp|tcp|tls (default: udp)\n"
	      "  --turn-insecure       take any certificate of the TURN server\n"
	      "  --turn-user NAME, --turn-password TEXT (better: environment\n"
	      "                        OFFHOOK_TURN_PASSWORD)\n"
	      "  --ice-lite            with --nat ice: as a lite agent\n"
	      "  --rtcp-mux            offer RTCP on the port of RTP (default: with dtls)\n"
	      "  --no-rtcp-mux         neither offer nor take it\n"
	      "  --prompt FILE         WAV, FLAC, Ogg to play (default: a tone sequence)\n"
	      "  --actions JSON        [[\"assert_established\",\"\"],[\"hold\",\"\"],...]\n"
	      "  --dtmf-mode MODE      rtpevent (default), info, info-dtmf, inband\n"
	      "  --ptime MS            packet time, 10 to 120 (default: 20)\n"
	      "  --audio-checks        decode what is heard and sent, measure it, and\n"
	      "                        fail if the peer is silent all along\n"
	      "  --audio-marker        play marker tones, measure how late those heard come\n"
	      "  --opus-fmtp TEXT      what is announced of Opus, as in SDP (default:\n"
	      "                        useinbandfec=1)\n"
	      "  --silence-suppression send no silence to who takes that\n"
	      "  --expect-prompt FILE  audio file that must be heard; as --audio-checks\n"
	      "  --record FOLDER       WAV files there, CALL-in.wav and CALL-out.wav\n"
	      "  --calls N             answer: end after N calls (default: 1)\n",
	      stdout);
}

void cli_usage(void)
{
	commands_and_account_print();
	call_options_print();
	fputs("Output\n"
	      "  --json                one JSON object at the end, nothing else\n"
	      "  --verbose             states of calls and accounts, the engine's log\n"
	      "  --trace               SIP messages too\n"
	      "  --help, --version\n"
	      "\n"
	      "Exit status: 0 the call was established, ended as asked, and audio flowed\n"
	      "both ways (register: it was taken), 1 it was not, 2 wrong usage, 3 the\n"
	      "fault is on our side, and nothing is known of the peer.\n",
	      stdout);
}
