/**
 * Events and specs of runs for the tests of the judge. JSON is written with '
 * for ".
 */
#ifndef OFFHOOK_TESTS_JUDGE_CASE_H
#define OFFHOOK_TESTS_JUDGE_CASE_H

#include "control/server/judge/judge.h"
#include "control/server/judge/judge_conditions.h"
#include "control/server/judge/judge_input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/** Parse JSON text. A syntax error fails the test. */
json_t *load(const char *text);

#define EVIDENCE "{'kind':'evidence','receive_queue_drops':0,'ring_drops':0}"
#define ENGINE(k, n)                                                 \
	"{'kind':'evidence','receive_queue_drops':0,'ring_drops':0," \
	"'engine':" #k ",'engines':" #n "}"
#define SHARD(k, rest)                                               \
	"{'kind':'evidence','receive_queue_drops':0,'ring_drops':0," \
	"'shard':" #k ",'shards':2" rest "}"
#define REGISTERED                                                          \
	"{'kind':'state','state':'REGISTER_OK','account':'1001','mono':1}," \
	"{'kind':'register','account':'1001','ok':true,'code':200,'ms':12.5}"
#define CALL(name, rest)                                                       \
	"{'kind':'call','call':'" name "','account':'1001','direction':'out'," \
	"'peer':'sip:1002@x','call_id':'id-" name "'," rest "}"
#define GOOD(name, pdd)                                                          \
	"{'kind':'state','state':'CALL_OUTGOING','account':'1001','call':'" name \
	"','mono':2},{'kind':'state','state':'CALL_RINGING','account':'1001',"   \
	"'call':'" name "','mono':3},{'kind':'state','state':"                   \
	"'CALL_ESTABLISHED','account':'1001','call':'" name                      \
	"','mono':4}," CALL(                                                     \
		name,                                                            \
		"'established':true,'pdd_ms':" pdd ",'code':200,'end':"          \
		"'local','streams':[{'dir':'in','mos_total':4.409286,"           \
		"'loss_pct':0.5,'jitter_ms':{'n':9,'min':0,'max':3,'avg':1,"     \
		"'median':1,'p75':2,'p90':2.5,'p95':2.8,'stddev':1}},{'dir':"    \
		"'out','no_score':'no report of the peer'}]")

#define CALLER(calls)                                                      \
	"{'role':'caller','steps':[[{'type':'register','credentials':["    \
	"{'username':'1001'}]}],[{'type':'call','max_total_calls':" #calls \
	"}]]}"

#define SHARED(calls)                                                       \
	"{'role':'caller','share':{'index':0,'of':2},'steps':[[{'type':'"   \
	"register','credentials':[{'username':'1001'}]}],[{'type':'call','" \
	"max_total_calls':" #calls "}]]}"

#define ONE "[" REGISTERED "," GOOD("caller-1", "120") "," EVIDENCE "]"

#endif
