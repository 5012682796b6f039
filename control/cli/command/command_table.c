#include "control/cli/command/commands.h"

#include <stddef.h>

/* ---- commands without verbs: their help, at most 24 lines of 80 columns ---- */

static const char call_help[] =
	"Usage: offhook call URI [OPTION]...\n"
	"\n"
	"Places one call, measures it and judges it. URI is sip:USER@HOST[:PORT], or a\n"
	"user or number with --target.\n"
	"\n"
	"  --user NAME           our user name; the password: OFFHOOK_PASSWORD\n"
	"  --target HOST[:PORT]  proxy or registrar (default: the host of URI)\n"
	"  --transport udp|tcp|tls  (default: udp, or transport= of URI)\n"
	"  --register            register first, unregister at the end\n"
	"  --duration S          seconds (default: 10)\n"
	"  --codec NAME          preferred first, may be repeated (default: PCMU, PCMA)\n"
	"  --encryption MODE     none (default), sdes, sdes-mandatory, dtls\n"
	"  --actions JSON        [[\"assert_established\",\"\"],[\"hold\",\"500\"],...]\n"
	"  --record FOLDER       WAV files there, CALL-in.wav and CALL-out.wav\n"
	"  --rtp-capture FOLDER  RTP and RTCP packets there, as rtp.pcap\n"
	"  --json                one JSON object at the end, nothing else\n"
	"  --verbose, --trace    states of the call; SIP messages too\n"
	"\n"
	"All other options: offhook help account | media | nat | audio\n"
	"\n"
	"Exit status: 0 the call was established, ended as asked, and audio flowed both\n"
	"ways; 1 it was not; 2 wrong usage; 3 the fault is on our side.\n";

static const char answer_help[] =
	"Usage: offhook answer [OPTION]...\n"
	"\n"
	"Takes calls and measures them.\n"
	"\n"
	"  --bind ADDRESS        local address, without a registrar\n"
	"  --registrar HOST[:PORT]  register there, and take calls from it\n"
	"  --user NAME           our user name; the password: OFFHOOK_PASSWORD\n"
	"  --transport udp|tcp|tls  (default: udp)\n"
	"  --sip-port PORT       local SIP port (default: 5060, with TLS 5061; any free\n"
	"                        one with --registrar)\n"
	"  --calls N             end after N calls (default: 1)\n"
	"  --duration S          of a call (default: until the peer ends it)\n"
	"  --codec NAME          preferred first, may be repeated (default: PCMU, PCMA)\n"
	"  --actions JSON        [[\"assert_established\",\"\"],[\"hold\",\"500\"],...]\n"
	"  --json                one JSON object at the end, nothing else\n"
	"  --verbose, --trace    states of the calls; SIP messages too\n"
	"\n"
	"All other options: offhook help account | media | nat | audio\n"
	"\n"
	"Exit status: 0 calls were established, ended as asked, and audio flowed both\n"
	"ways; 1 it was not so; 2 wrong usage; 3 the fault is on our side.\n";

static const char register_help[] =
	"Usage: offhook register --registrar HOST[:PORT] --user NAME [OPTION]...\n"
	"\n"
	"Registers an account, prints how long that took, and removes the binding.\n"
	"\n"
	"  --registrar HOST[:PORT]  also --target\n"
	"  --user NAME           our user name; the password: OFFHOOK_PASSWORD\n"
	"  --auth-user NAME      user name for authentication, if another\n"
	"  --domain NAME         domain of our address (default: the registrar)\n"
	"  --transport udp|tcp|tls  (default: udp)\n"
	"  --expires S           of the registration (default: 3600)\n"
	"  --json                one JSON object at the end, nothing else\n"
	"  --verbose, --trace    states of the account; SIP messages too\n"
	"\n"
	"All other options: offhook help account\n"
	"\n"
	"Exit status: 0 the registrar took it, 1 it did not, 2 wrong usage, 3 the fault\n"
	"is on our side.\n";

static const char analyze_help[] =
	"Usage: offhook analyze FILE [OPTION]...\n"
	"\n"
	"Measures every RTP stream of a pcap or pcapng file; FILE - is standard input.\n"
	"\n"
	"  --json               all figures of all streams as JSON\n"
	"  --interval S         length of an interval in seconds (default: 1);\n"
	"                       the table then shows the intervals, too\n"
	"  --jitter-buffer M    buffer models: fixed:MS or adaptive, or both with\n"
	"                       a comma (default: fixed:60,adaptive); the table\n"
	"                       uses the first\n"
	"  --codec NAME=V       score RTP encoding NAME with V: a codec of\n"
	"                       \"offhook emodel --list\", or IE,BPL,SCALE (nb, wb, fb)\n"
	"                       of your own, as opus=12,10,fb; may be repeated\n"
	"  --sdp-only           only media that an SDP in the capture announced\n"
	"  --max-streams N      measure at most N streams (default: 10000)\n"
	"\n"
	"Exit status: 0 streams were found, 1 none or the file is damaged (what\n"
	"could be read is shown), 2 wrong usage.\n";

static const char import_help[] =
	"Usage: offhook import FILE [OPTION]...\n"
	"\n"
	"Makes a test of a captured call (pcap or pcapng; FILE - is standard input): YAML\n"
	"that `offhook apply` takes, in which Offhook plays the caller at the same times.\n"
	"What cannot be carried over is said on standard error and in the file\n"
	"(docs/reference/import.md).\n"
	"\n"
	"  --call N|all       which call, if there are several; without it they are\n"
	"                     listed\n"
	"  -o FILE|DIR        write there (default: standard output)\n"
	"  --target URI       call this system (default: the one of the capture)\n"
	"  --anonymise        replace numbers, names, hosts and addresses, the same ones\n"
	"                     always alike\n"
	"  --expect-failure   of a call that failed: pass if it fails with the same code\n"
	"  --name NAME        of the test (default: made from both users)\n"
	"  --agent-pool NAME  agents that run it (default: lab)\n"
	"\n"
	"Exit status: 0 the test was written, 1 there is no such call or a file cannot be\n"
	"read or written, 2 wrong usage, or --call is missing.\n";

static const char tap_help[] =
	"Usage: offhook tap --interface IF [OPTION]...\n"
	"\n"
	"Measures the RTP that passes a network interface, live. Needs the\n"
	"capability CAP_NET_RAW.\n"
	"\n"
	"  --interface IF     the network interface\n"
	"  --filter F         what to look at, as of tcpdump, addresses and ports as\n"
	"                     numbers: \"udp and host 192.0.2.1 and portrange 10000-20000\"\n"
	"  --interval S       seconds between figures (default: 1)\n"
	"  --duration S       end after so many seconds (default: when interrupted)\n"
	"  --json             a line of JSON for each stream and interval\n"
	"  --sdp-only         only media that an SDP seen here announced\n"
	"  --max-streams N    measure at most N streams at a time (default: 10000)\n"
	"  --codec NAME=V     as of \"offhook analyze\"\n"
	"  --promiscuous      frames for other hosts, too (a mirror port)\n"
	"\n"
	"Exit status: 0 streams were seen, 1 none, or it could not be tapped,\n"
	"2 wrong usage.\n";

static const char emodel_help[] =
	"Usage: offhook emodel --codec NAME [--loss PERCENT] [--burst-ratio R]\n"
	"                      [--delay MS] [--ie X] [--bpl X] [--json]\n"
	"       offhook emodel --ie X [--bpl X] [--model M] [OPTION]...\n"
	"       offhook emodel --json < CASES\n"
	"       offhook emodel --list\n"
	"\n"
	"  --codec NAME       a name of --list (G.711-PLC) or of RTP (PCMU)\n"
	"  --loss PERCENT     packets lost, buffer discards included (default: 0)\n"
	"  --burst-ratio R    1 for random loss, more for bursts (default: 1)\n"
	"  --delay MS         one way, mouth to ear; with an echo path of the same\n"
	"                     length (default: 0)\n"
	"  --ie X, --bpl X    declare Ie and Bpl, of a codec without or for its own\n"
	"  --model M          their scale: NB (G.107, default), WB (G.107.1), FB\n"
	"  --json             print all terms; without --codec answer\n"
	"                     {\"cases\": [...]} of standard input with\n"
	"                     {\"results\": [...]} in the same order\n"
	"  --list             the codecs with Ie, Bpl and their source\n"
	"\n"
	"Exit status: 0; 1 there is no score, or the input cannot be read; 2 usage.\n";

static const char calibrate_help[] =
	"Usage: offhook calibrate [SECONDS] [OPTION]...\n"
	"\n"
	"Run the host against itself, for about SECONDS (default: 60, 2 to 3600):\n"
	"how many calls leave in time (99 % of the packets less than 2 ms late),\n"
	"what the clocks do, and the error bounds of jitter, round trip and loss.\n"
	"The result is kept in state_dir/calibration.json; the agent reports it\n"
	"when it starts. Run it as the agent's user while the agent is idle.\n"
	"\n"
	"  -c, --config FILE  configuration of the agent\n"
	"                     (default: /etc/offhook/offhook-agent.conf)\n"
	"      --json         print the result as JSON\n"
	"\n"
	"Exit status: 0; 1 it failed, or not even two calls leave in time; 2 usage.\n";

static const char rescore_help[] =
	"Usage: offhook rescore RUN|FILE [OPTION]...\n"
	"\n"
	"Prints what MOS the same packets give behind other de-jitter buffers and with\n"
	"another codec, and the least buffer that reaches a MOS. RUN is a number or a\n"
	"session id of a run with rtp_capture; FILE is pcap or pcapng.\n"
	"\n"
	"  --jitter-buffer M   fixed:MS, adaptive, adaptive:MIN-MAX; several with commas\n"
	"  --codec NAME        of \"offhook emodel --list\", or of RTP (default: each\n"
	"                      stream's own)\n"
	"  --least MOS         to be reached (default: 4)\n"
	"  --network-delay MS  one way (default: half the round trip of RTCP)\n"
	"  --sdp-only, --max-streams N  as of \"offhook analyze\"\n"
	"\n"
	"Exit status: 0 streams were found, 1 none or the file is damaged, 2 wrong usage,\n"
	"3 the controller refused or did not answer.\n";

static const char capacity_help[] =
	"Usage: offhook capacity TEST --rate MIN-MAX|--calls MIN-MAX [OPTION]...\n"
	"\n"
	"Finds the highest load at which a test passes, by runs of it, and what limits.\n"
	"\n"
	"  --rate MIN-MAX   new calls a second that may be tried\n"
	"  --calls MIN-MAX  calls at a time that may be tried\n"
	"  --trial S        seconds of a trial at its full load (default: 10)\n"
	"  --warm-up S, --cool-down S  for the load to rise, and after it (default: 2)\n"
	"  --width PERCENT  of the result, relative to its lower end (default: 10)\n"
	"  --repeats N, --max-trials N  at least about each end (default: 2); in all (60)\n"
	"  --least LOAD     exit status 1 if the result begins below it\n"
	"  --action S.A     `call` action that gets the load, if there are several\n"
	"  --set PATH=VALUE override for the runs, as of offhook test run\n"
	"  --plot FILE, --junit FILE  the curve as SVG, the result as JUnit XML\n"
	"  --state FILE     keep each trial there, and go on from what is there\n"
	"  --retry-for S    how long the controller may be away (default: 60)\n"
	"\n"
	"Exit status: 0 found, 1 below --least or the lowest load fails, 2 wrong usage,\n"
	"3 not found, refused or interrupted.\n";

static const char apply_help[] =
	"Usage: offhook apply -f DIR|FILE... [--dry-run] [--prune] [--yes]\n"
	"\n"
	"Prints how the controller's records differ from those in YAML files, then\n"
	"changes them: projects, targets, pools, callback templates, appimages, tests,\n"
	"schedules (docs/reference/yaml.md).\n"
	"\n"
	"  -f DIR|FILE    may be repeated; of a folder, its .yaml and .yml files\n"
	"  --dry-run      print the differences only; exit status 1 if there are some\n"
	"  --prune        delete tests and schedules of the projects in the files that\n"
	"                 are not in the files; nothing else\n"
	"  --yes          do not ask before deleting\n"
	"  --set-secrets  send passwords again that the controller has\n"
	"\n"
	"Exit status: 0 done or nothing to do, 1 differences (--dry-run), 2 wrong file or\n"
	"usage, 3 refused or no answer. Options of the controller: offhook help\n"
	"controller\n";

static const char local_help[] =
	"Usage: offhook local FILE.yaml|DIR... [OPTION]...\n"
	"\n"
	"Runs the tests of YAML files (offhook apply) on a controller and agents of its\n"
	"own, which end with the command, and prints the verdicts.\n"
	"\n"
	"  --test NAME         only this test; may be repeated (default: all)\n"
	"  --set PATH=VALUE    override a value of one test, as offhook test run\n"
	"  --junit FILE, --html FILE, --markdown FILE  the reports of the runs\n"
	"  --bind ADDRESS      of this host, for SIP and RTP (default: 127.0.0.1)\n"
	"  --rtp-ports MIN-MAX  for RTP (default: 20000-29999)\n"
	"  --agents N          agents in each pool (default: 1)\n"
	"  --keep              keep the folder with database and logs, print its path\n"
	"  --json              print one JSON object\n"
	"\n"
	"Schedules and callbacks of the files are left out.\n"
	"\n"
	"Exit status: 0 all passed, 1 one failed, 2 wrong file or usage, 3 one errored\n"
	"and none failed, or interrupted.\n";

static const char export_help[] =
	"Usage: offhook export [--to DIR] [KIND [NAME]]\n"
	"\n"
	"Writes records as YAML that `offhook apply` takes. Secrets are not written: each\n"
	"is replaced by the name of a variable of the environment.\n"
	"\n"
	"  --to DIR   one file a kind, and the content of appimages; else standard output\n"
	"  KIND       projects, targets, credential-pools, agent-pools,\n"
	"             callback-templates, appimages, tests or schedules\n"
	"\n"
	"Options of the controller: offhook help controller\n";

static const char help_help[] =
	"Usage: offhook help [COMMAND [VERB]]\n"
	"\n"
	"Prints the overview of all commands, or explains one. `offhook COMMAND --help`\n"
	"and `offhook COMMAND -h` do the same. Further pages: account, media, nat, audio\n"
	"(options of calls), controller (options of commands that use one), exit (the\n"
	"exit status).\n";

static const char names_help[] =
	"Usage: offhook names COMMAND\n"
	"\n"
	"Prints the names of the records of a command, one a line, for completion.\n";

static const char login_help[] =
	"Usage: offhook login [URL] [--profile NAME] [--key-file FILE]\n"
	"                     [--ca-file FILE] [--fingerprint F]\n"
	"\n"
	"Verifies URL and API key with the controller and keeps them for later\n"
	"commands, in ~/.config/offhook/profiles.json ($XDG_CONFIG_HOME), mode 0600.\n"
	"Asks for what is not given; the key is not echoed. Without a terminal it is\n"
	"read from standard input: a line with the URL, unless given, and one with\n"
	"the key as PUBLIC:SECRET. The profile becomes the current one.\n"
	"\n"
	"If no authority has signed the controller's certificate, its fingerprint is\n"
	"shown, and on a terminal you are asked whether `offhook-controller\n"
	"fingerprint` prints the same. Then it is kept, too.\n";

static const char logout_help[] =
	"Usage: offhook logout [--profile NAME]\n"
	"\n"
	"Removes a profile with its key (default: the current one). The key stays\n"
	"valid: delete it at the controller.\n";

/* ---- further pages of help ---- */

static const char account_help[] =
	"Accounts and addresses of offhook call, answer and register\n"
	"\n"
	"  --user NAME           our user name\n"
	"  --auth-user NAME      user name for authentication, if another\n"
	"  --password TEXT       password (better: environment OFFHOOK_PASSWORD)\n"
	"  --caller-id TEXT      display name in From\n"
	"  --domain NAME         domain of our address (default: the target)\n"
	"  --target HOST[:PORT]  proxy or registrar (also --registrar)\n"
	"  --transport udp|tcp|tls  (default: udp, or transport= of URI)\n"
	"  --tls-verify yes|no   the peer's certificate (default: yes)\n"
	"  --tls-ca FILE         who must have signed it (default: the system's)\n"
	"  --tls-name NAME       which it must be of (default: the host's)\n"
	"  --tls-cert FILE       our own certificate, with its chain\n"
	"  --tls-key FILE        its key (default: in the same file)\n"
	"  --register            register first, unregister at the end\n"
	"  --expires S           of the registration (default: 3600)\n"
	"  --bind ADDRESS        local address (default: as the kernel routes)\n"
	"  --sip-port PORT       local SIP port (default: any; answer without a target:\n"
	"                        5060, with TLS 5061)\n"
	"  --rtp-ports MIN-MAX   local RTP ports (default: 20000-29999)\n"
	"  --version             of offhook, instead of a command\n";

static const char media_help[] =
	"Calls and media of offhook call and answer\n"
	"\n"
	"  --duration S          seconds (default: 10), or uniform:a,b\n"
	"                        exponential:mean normal:mean,sd\n"
	"  --calls N             answer: end after N calls (default: 1)\n"
	"  --100rel none|supported|required  PRACK (RFC 3262; default: none)\n"
	"  --session-timer S     Session-Expires, 2 to 86400 (RFC 4028; default: none)\n"
	"  --session-refresher any|uac|uas  who refreshes the session (default: any)\n"
	"  --codec NAME          PCMU, PCMA, G722, opus, GSM, L16/8000, L16/16000,\n"
	"                        L16/44100; may be repeated\n"
	"  --ptime MS            packet time, 10 to 120 (default: 20)\n"
	"  --dtmf-mode MODE      rtpevent (default), info, info-dtmf, inband\n"
	"  --actions JSON        [[\"assert_established\",\"\"],[\"hold\",\"\"],...]\n"
	"  --encryption MODE     none (default), sdes, sdes-mandatory, dtls\n"
	"  --srtp-suite NAME     as in a=crypto; may be repeated (default: all)\n"
	"  --srtp-library builtin|libsrtp2  what encrypts RTP (default: builtin)\n"
	"  --rtcp-mux            offer RTCP on the port of RTP (default: with dtls)\n"
	"  --no-rtcp-mux         neither offer nor take it\n"
	"  --media-path call|shared  ports of each call, or of all (default: call)\n"
	"  --json, --verbose, --trace\n";

static const char nat_help[] =
	"NATs: options of offhook call and answer\n"
	"\n"
	"  --nat none|stun|turn|ice\n"
	"                        how media gets through NATs (default: none)\n"
	"  --stun-server HOST[:PORT]\n"
	"  --turn-server HOST[:PORT]\n"
	"  --turn-transport udp|tcp|tls (default: udp)\n"
	"  --turn-insecure       take any certificate of the TURN server\n"
	"  --turn-user NAME\n"
	"  --turn-password TEXT  better: environment OFFHOOK_TURN_PASSWORD\n"
	"  --ice-lite            with --nat ice: as a lite agent\n";

static const char audio_help[] =
	"Audio of offhook call and answer\n"
	"\n"
	"  --prompt FILE         WAV, FLAC, Ogg to play (default: a tone sequence)\n"
	"  --expect-prompt FILE  audio file that must be heard; as --audio-checks\n"
	"  --audio-checks        decode what is heard and sent, measure it, and\n"
	"                        fail if the peer is silent all along\n"
	"  --audio-marker        play marker tones, measure how late those heard come\n"
	"  --record FOLDER       WAV files there, CALL-in.wav and CALL-out.wav\n"
	"  --rtp-capture FOLDER  RTP and RTCP packets there, as rtp.pcap\n"
	"  --opus-fmtp TEXT      what is announced of Opus, as in SDP (default:\n"
	"                        useinbandfec=1)\n"
	"  --silence-suppression send no silence to who takes that\n";

static const char controller_help[] =
	"Options of all commands that use a controller, anywhere in the line\n"
	"\n"
	"  --url URL        of the controller; else OFFHOOK_URL, else the profile's, else\n"
	"                   http://127.0.0.1:8080\n"
	"  --key-file FILE  with an API key as PUBLIC:SECRET; else OFFHOOK_KEY, else the\n"
	"                   profile's\n"
	"  --ca-file FILE   authorities in PEM; else OFFHOOK_CA, else the profile's, else\n"
	"                   the system's\n"
	"  --fingerprint F  of the controller's certificate, as `offhook-controller\n"
	"                   fingerprint` prints it; it needs no authority then. Else\n"
	"                   OFFHOOK_FINGERPRINT, else the profile's\n"
	"  --profile NAME   use this profile, whatever the environment says\n"
	"  --json           print what the controller answers\n"
	"\n"
	"A profile's key is sent to the profile's own URL only. No key is sent over\n"
	"http:// to another host, unless OFFHOOK_PLAIN_HTTP is 1.\n"
	"VALUE of FIELD=VALUE is text; arrays and objects are JSON. @FILE is the content\n"
	"of a file, of a password its first line. FIELD= empties the field.\n"
	"NAME of a record is its name or id; an ambiguous name is refused.\n";

static const char exit_help[] =
	"Exit status\n"
	"\n"
	"  0  done; a run or a call: passed\n"
	"  1  a verdict: the run or the call failed\n"
	"  2  the command line is wrong\n"
	"  3  no verdict: the controller refused or did not answer, the run errored or\n"
	"     was stopped; call, answer, register: the fault is on our side\n"
	"\n"
	"analyze, tap, emodel, rescore: 1 if there was nothing to measure or score, or\n"
	"the input is damaged.\n";

static const char completion_help[] =
	"They are installed where the shells look for them. For one shell only:\n"
	"  source <(offhook completion bash)    in ~/.bashrc, or zsh in ~/.zshrc\n"
	"  offhook completion fish | source     in ~/.config/fish/config.fish\n"
	"Names of records are asked of the controller.\n";

/* ---- verbs ---- */

static const char fields_help[] =
	"VALUE is text, or @FILE: `offhook help controller`. Fields are those of the\n"
	"record in docs/reference/openapi.yaml.\n";

static const char file_help[] =
	"  --file FILE  the records as YAML, as `export` writes them; - is standard input\n"
	"\n"
	"VALUE is text, or @FILE: `offhook help controller`. Fields are those of the\n"
	"record in docs/reference/openapi.yaml.\n";

static const char edit_help[] =
	"The record is YAML, as `offhook export` writes it. It is checked and sent when\n"
	"the editor ends. A text that is wrong or refused is kept, and its file named.\n"
	"Secrets stay as they are. Refused if somebody else changed it in the meantime.\n";

static const char keep_help[] = "  --off  leave them to retention again\n";

static const char delete_help[] =
	"  --yes  do not ask; without it, in a pipe, nothing is deleted\n";

#define LIST                                                     \
	{                                                        \
		"list", "", "Print all of them as a table", NULL \
	}
#define SHOW                                    \
	{                                       \
		"show", "ID", "Print one", NULL \
	}
#define CREATE                                                        \
	{                                                             \
		"create", "FIELD=VALUE...", "Create one", fields_help \
	}
#define UPDATE                                                                \
	{                                                                     \
		"update", "NAME FIELD=VALUE...", "Change fields", fields_help \
	}
#define CREATE_OR_FILE                                                    \
	{                                                                 \
		"create", "FIELD=VALUE...", "Create one, or --file FILE", \
			file_help                                         \
	}
#define EDIT                                                                  \
	{                                                                     \
		"edit", "NAME", "Change one in $VISUAL or $EDITOR", edit_help \
	}
#define DELETE                                            \
	{                                                 \
		"delete", "ID", "Delete one", delete_help \
	}
#define END                            \
	{                              \
		NULL, NULL, NULL, NULL \
	}

static const char run_help[] =
	"  --wait           wait for the end, show how far it is; ^C asks whether to stop\n"
	"  --junit FILE, --markdown FILE, --html FILE  write the report there\n"
	"  --retry-for S    how long the controller may be away (60); it starts one run\n";

static const char run_set_help[] =
	"  --set PATH=VALUE override for this run: step.STEP.ACTION.PARAMETER, counted\n"
	"                   from 0; condition.ROLE.TYPE; report.mode, callback_url, ...\n"
	"  --wait           wait for the end, show how far it is; ^C asks whether to stop\n"
	"  --junit FILE, --markdown FILE, --html FILE  write the report there\n"
	"  --retry-for S    how long the controller may be away (60); it starts one run\n"
	"\n"
	"With --wait: 0 passed, 1 failed, 3 errored, stopped, or the end is not known.\n";

static const char project_run_help[] =
	"  --tag TAG        only tests with one of these tags; may be repeated\n"
	"  --set NAME=VALUE report.mode, test_ids, callback_url, ...\n"
	"  --wait           wait for the end, show how far it is; ^C asks whether to stop\n"
	"  --junit FILE, --markdown FILE, --html FILE  write the report there\n"
	"  --retry-for S    how long the controller may be away (60); it starts one run\n"
	"\n"
	"With --wait: 0 passed, 1 failed, 3 stopped, or the end is not known.\n";

static const struct command_verb test_verbs[] = {
	LIST,
	SHOW,
	CREATE_OR_FILE,
	EDIT,
	DELETE,
	{"export", "[NAME] [--to FOLDER]", "Write tests as YAML",
	 "  --to FOLDER  tests.yaml there (default: standard output)\n"},
	{"run", "NAME [--set PATH=VALUE]... [--wait]", "Run a test",
	 run_set_help},
	END,
};

static const struct command_verb project_verbs[] = {
	LIST,
	SHOW,
	CREATE_OR_FILE,
	UPDATE,
	EDIT,
	DELETE,
	{"run", "NAME [--tag TAG]... [--wait]",
	 "Run its tests one after another", project_run_help},
	END,
};

static const struct command_verb scenario_verbs[] = {
	LIST,
	{"show", "NAME", "Print its parameters", NULL},
	{"run", "NAME [PARAMETER=VALUE]... [--wait]",
	 "Run a scenario without saving a test", run_help},
	END,
};

static const struct command_verb schedule_verbs[] = {
	LIST,
	SHOW,
	CREATE_OR_FILE,
	UPDATE,
	EDIT,
	{"enable", "NAME", "Start runs again", NULL},
	{"disable", "NAME", "Start no further runs", NULL},
	DELETE,
	END,
};

static const char search_create_help[] =
	"  test_id=N min=N max=N  the lowest and the highest load\n"
	"  unit=concurrent_calls | calls_per_second (default: concurrent_calls)\n"
	"  width_percent, repeats, max_trials, trial_s, warm_up_s, cool_down_s, action\n"
	"  overrides=JSON         parameters of the test, as of a run: {\"step.0.1.X\": V}\n"
	"\n"
	"docs/reference/capacity.md says what they mean.\n";

static const char search_watch_help[] =
	"  --retry-for S    how long the controller may be away (60)\n"
	"\n"
	"An interrupt ends the command, not the search. 0 the capacity was found, 1 the\n"
	"lowest load fails, 3 not found: stopped, errored, or not as narrow as asked.\n";

static const struct command_verb search_verbs[] = {
	LIST,
	{"show", "ID", "Print one, with its trials", NULL},
	{"create", "FIELD=VALUE...", "Start one", search_create_help},
	{"watch", "ID", "Show its trials, then its result", search_watch_help},
	{"stop", "ID", "Stop one, and the run of its trial", NULL},
	DELETE,
	END,
};

static const char run_list_help[] =
	"  --status S       running, passed, failed, errored or stopped\n"
	"  --test NAME, --project NAME, --pool NAME, --tag TAG\n"
	"  --since T, --until T  started then: 2026-01-31, \"2026-01-31 23:59\" (UTC),\n"
	"                   or so long ago: 90m, 12h, 7d\n"
	"  --filter C=V     V in a column of GET /runs, may be repeated\n"
	"  --count N        at most so many, the newest (default: 50)\n"
	"\n"
	"On a terminal texts are cut to its width, in a pipe they are whole.\n";

static const char run_watch_help[] =
	"  --retry-for S    how long the controller may be away (60)\n"
	"\n"
	"An interrupt ends the command, not the run. 0 passed, 1 failed, 3 errored,\n"
	"stopped, or the end is not known.\n";

static const char run_stats_help[] =
	"  --role ROLE      of this role only\n"
	"  --dir in|out     received or sent\n"
	"\n"
	"Without MEASURE: calls of each role, and each measure over the whole run. With\n"
	"one, such as rtp_mos or sip_pdd: its intervals.\n";

static const char run_ladder_help[] =
	"One ladder for each dialog, with a column for each address; our side is called\n"
	"by its role. Dialogs with the same messages are folded into one.\n";

static const char run_download_help[] =
	"  --force          replace files that exist\n"
	"\n"
	"Saves recordings and captures as ROLE-NAME, and sip.txt, sip.pcap,\n"
	"packets.pcapng (SIP with captured RTP), stats.csv, junit.xml, report.markdown\n"
	"and report.html. FOLDER: run-NUMBER, unless given.\n";

static const char run_compare_help[] =
	"Prints what changed from the first run to the second in at most five sentences,\n"
	"which conditions have another result, the figures of each role side by side, and\n"
	"how the SIP messages differ. Exit status: 0 the verdict and the outcome of each\n"
	"condition are the same, 1 they differ, 3 a run is in progress.\n";

static const struct command_verb run_verbs[] = {
	{"list", "[OPTION]...", "List runs, the newest first", run_list_help},
	{"show", "RUN", "Print its verdict and conditions", NULL},
	{"watch", "RUN", "Show how far it is, then its verdict",
	 run_watch_help},
	{"stop", "RUN", "Stop a run, and further attempts of it", NULL},
	{"stats", "RUN [MEASURE]", "Print what was measured", run_stats_help},
	{"ladder", "RUN", "Print its SIP messages as ladders", run_ladder_help},
	{"download", "RUN [FOLDER]", "Save its files and reports",
	 run_download_help},
	{"compare", "RUN RUN", "Print how two runs differ", run_compare_help},
	{"keep", "RUN... [--off]", "Keep runs, whatever retention says",
	 keep_help},
	{"delete", "RUN...", "Delete runs with all their data", delete_help},
	END,
};

static const struct command_verb key_verbs[] = {
	LIST,
	{"create", "name=NAME rights=RIGHT",
	 "Make a key, print its secret once",
	 "RIGHT is read, run, write or admin. expires_at=\"2026-01-31 23:59:59\" (UTC)\n"
	 "ends it then.\n"},
	DELETE,
	END,
};

static const struct command_verb callback_verbs[] = {
	LIST, {"show", "ID", "Print one, with every attempt", NULL}, END};
static const struct command_verb record_verbs[] = {LIST,   SHOW,   CREATE,
						   UPDATE, DELETE, END};
/* Kinds that YAML files hold. */
static const struct command_verb yaml_verbs[] = {
	LIST, SHOW, CREATE_OR_FILE, UPDATE, EDIT, DELETE, END};
/* Their update would have to repeat secrets, which are not read back. */
static const struct command_verb kept_verbs[] = {LIST, SHOW,   CREATE_OR_FILE,
						 EDIT, DELETE, END};
static const struct command_verb agent_verbs[] = {LIST, SHOW, UPDATE, DELETE,
						  END};

static const struct command_verb profile_verbs[] = {
	{"list", "", "List profiles; * is the current one", NULL},
	{"use", "NAME", "Make a profile the current one", NULL},
	END,
};

static const struct command_verb artifact_verbs[] = {
	{"list", "RUN", "List recordings and captures of a run", NULL},
	{"save", "RUN [FOLDER]", "Download them; no file is overwritten", NULL},
	END,
};

static const struct command_verb completion_verbs[] = {
	{"bash", "", "Print the script for bash", NULL},
	{"zsh", "", "Print the script for zsh", NULL},
	{"fish", "", "Print the script for fish", NULL},
	END,
};

/* ---- all commands ---- */

#define HERE(name, group, summary, help)                      \
	{                                                     \
		name, group, NULL, summary, NULL, help, false \
	}
#define REMOTE(name, group, summary, verbs, names)                        \
	{                                                                 \
		name, group, COMMANDS_REMOTE, summary, verbs, NULL, names \
	}

const struct command command_table[] = {
	HERE("call", COMMAND_CALLS, "Place one call, measure it, judge it",
	     call_help),
	HERE("answer", COMMAND_CALLS, "Take calls, measure them", answer_help),
	HERE("register", COMMAND_CALLS, "Register, and unregister again",
	     register_help),
	{"local", COMMAND_CALLS, COMMANDS_REMOTE, "Run the tests of YAML files",
	 NULL, local_help, false},
	HERE("analyze", COMMAND_MEASURE, "Measure the RTP of a capture",
	     analyze_help),
	HERE("import", COMMAND_MEASURE, "Make a test of a captured call",
	     import_help),
	HERE("tap", COMMAND_MEASURE, "Measure the RTP of an interface, live",
	     tap_help),
	HERE("emodel", COMMAND_MEASURE, "R and MOS of codec, loss and delay",
	     emodel_help),
	HERE("calibrate", COMMAND_MEASURE, "How exact this host measures",
	     calibrate_help),
	{"rescore", COMMAND_MEASURE, COMMANDS_REMOTE,
	 "Score packets behind other buffers", NULL, rescore_help, false},
	REMOTE("test", COMMAND_RUNS, "Tests: list, edit, run", test_verbs,
	       true),
	REMOTE("project", COMMAND_RUNS, "Groups of tests", project_verbs, true),
	REMOTE("scenario", COMMAND_RUNS, "Ready-made tests: list, run",
	       scenario_verbs, true),
	REMOTE("run", COMMAND_RUNS, "Runs: what they measured, their files",
	       run_verbs, false),
	{"capacity", COMMAND_RUNS, COMMANDS_REMOTE,
	 "Highest load at which a test passes", NULL, capacity_help, false},
	REMOTE("artifact", COMMAND_RUNS, "Recordings and captures of runs",
	       artifact_verbs, false),
	{"apply", COMMAND_RESOURCES, COMMANDS_REMOTE,
	 "Make records as YAML files say", NULL, apply_help, false},
	{"export", COMMAND_RESOURCES, COMMANDS_REMOTE,
	 "Write records as YAML files", NULL, export_help, false},
	REMOTE("agent", COMMAND_RESOURCES, "Agents that carry out runs",
	       agent_verbs, true),
	REMOTE("pool", COMMAND_RESOURCES, "Pools of agents", yaml_verbs, true),
	REMOTE("target", COMMAND_RESOURCES, "Systems under test", kept_verbs,
	       true),
	REMOTE("credentials", COMMAND_RESOURCES, "Pools of SIP accounts",
	       kept_verbs, true),
	REMOTE("capacity-search", COMMAND_RESOURCES,
	       "Searches for a capacity that the controller drives",
	       search_verbs, false),
	{"login", COMMAND_CONTROLLER, COMMANDS_REMOTE,
	 "Keep a controller and a key", NULL, login_help, false},
	{"logout", COMMAND_CONTROLLER, COMMANDS_REMOTE, "Forget a profile",
	 NULL, logout_help, false},
	REMOTE("profile", COMMAND_CONTROLLER, "Controllers that are kept",
	       profile_verbs, false),
	REMOTE("key", COMMAND_CONTROLLER, "API keys", key_verbs, true),
	REMOTE("user", COMMAND_CONTROLLER, "Users of the pages", record_verbs,
	       true),
	REMOTE("schedule", COMMAND_CONTROLLER, "Runs that start at a time",
	       schedule_verbs, true),
	REMOTE("callback", COMMAND_CONTROLLER, "Notifications that were sent",
	       callback_verbs, false),
	REMOTE("callback-template", COMMAND_CONTROLLER,
	       "Bodies of notifications", yaml_verbs, true),
	HERE("help", COMMAND_OTHER, "Explain a command", help_help),
	{"completion", COMMAND_OTHER, NULL, "Complete command lines in a shell",
	 completion_verbs, completion_help, false},
	HERE("account", COMMAND_TOPIC, "Options of accounts and addresses",
	     account_help),
	HERE("media", COMMAND_TOPIC, "Options of calls and media", media_help),
	HERE("nat", COMMAND_TOPIC, "Options of NAT traversal", nat_help),
	HERE("audio", COMMAND_TOPIC, "Options of audio", audio_help),
	HERE("controller", COMMAND_TOPIC, "Options of remote commands",
	     controller_help),
	HERE("exit", COMMAND_TOPIC, "Exit status", exit_help),
	{"names", COMMAND_HIDDEN, COMMANDS_REMOTE, "Names of records", NULL,
	 names_help, false},
	{NULL, COMMAND_HIDDEN, NULL, NULL, NULL, NULL, false},
};
