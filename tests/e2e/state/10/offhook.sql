BEGIN TRANSACTION;
CREATE TABLE agent (
  id INTEGER PRIMARY KEY,
  pool_id INTEGER NOT NULL REFERENCES agent_pool(id),
  name TEXT NOT NULL,
  secret_hash BLOB NOT NULL,
  version TEXT NOT NULL,
  protocol INTEGER NOT NULL,
  features_json TEXT NOT NULL DEFAULT '[]',
  capacity INTEGER NOT NULL,           -- jobs at once
  draining INTEGER NOT NULL DEFAULT 0, -- it says so itself
  held INTEGER NOT NULL DEFAULT 0,     -- its operator wants it to drain
  last_seen INTEGER,                   -- online: seen within the lease time
  polled_at INTEGER,                   -- its latest poll came in
  disconnected INTEGER NOT NULL DEFAULT 0,
  clock_offset_us INTEGER,             -- agent minus controller, estimate
  address TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (pool_id, name)
);
INSERT INTO "agent" VALUES(1,1,'agent0',X'53253347CFD677D4258C8038DCA1E657AF99932FA45B3287371A98EFA8AEB906','0.1.0',1,'["sip","rtp"]',4,0,0,1795366315722,1795366311207,0,-1002,'127.0.0.1',1795366309998);
INSERT INTO "agent" VALUES(2,2,'agent-5fbdaf29-1b1f-4095-909c-4e64a0ea28f9',X'E970920A15DC9AD397A15CF8F1101723934439CFFF7AB8504D95D2E89A5CEB6D','0.0',1,'[]',1,0,0,1795366331124,1795366326108,1,-1795366326108000,'127.0.0.1',1795366315788);
INSERT INTO "agent" VALUES(3,3,'rack 1',X'CFB5FCE4A7DDBB902CEE662035A1F2B1E625100D1224F352B3E58232F9CAEDB6','0.0',1,'[]',4,0,0,1795366339265,1795366339265,0,NULL,'127.0.0.1',1795366331147);
INSERT INTO "agent" VALUES(4,2,'agent-3f225f8d-30cc-4329-9b7e-02ca134c744b',X'09E2438A531EFE52F13A3C5B77AB0DAEE11B3D348C375465061F51C3CC0ADE50','0.0',1,'[]',1,0,0,1795366339229,1795366334226,1,-1795366334226000,'127.0.0.1',1795366331258);
CREATE TABLE agent_pool (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  description TEXT,
  capabilities_json TEXT NOT NULL DEFAULT '[]',
  join_token_hash BLOB NOT NULL,       -- keyed BLAKE2b
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
INSERT INTO "agent_pool" VALUES(1,'real',NULL,'[]',X'9559B217509F2AD108A540D6F37C4905181D97100019832680CF6EFFAAF0DB07',1795366309962,1795366315744);
INSERT INTO "agent_pool" VALUES(2,'pool',NULL,'[]',X'3B9A985D60A264B2AC3C6826B7022E716D2A0F243557063BE7A7F022D25FE1A3',1795366315746,1795366315746);
INSERT INTO "agent_pool" VALUES(3,'laboratory','two racks','[]',X'A4E04E400DD65DA6574EC87DD5474DADA28DB22AE18FD61C1289B89AA8119686',1795366331138,1795366331138);
INSERT INTO "agent_pool" VALUES(4,'nobody there',NULL,'[]',X'759A8F1E1AF5A3D8315C3C01F0D63A1CDA42D5DAFB7310771606DC8B451E7BEE',1795366339283,1795366339283);
CREATE TABLE api_key (
  id INTEGER PRIMARY KEY,
  public_key TEXT NOT NULL UNIQUE,
  secret_hash BLOB NOT NULL,           -- keyed BLAKE2b of the secret
  name TEXT NOT NULL,
  rights TEXT NOT NULL,                -- read | run | write | admin
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  expires_at INTEGER
);
INSERT INTO "api_key" VALUES(1,'ok_139a50e3799bed209ed0',X'865D82AC53340CC8C46F4F3E02779B9D308D07D7D77A8DAB096CB6BCF2345A45','test','admin',1795366309897,1795366309957,NULL);
INSERT INTO "api_key" VALUES(2,'ok_7b7d3cb41fe34590d759',X'D289D625F99E22B88EF99754FE1ECD97E60BF502D9EF69901ABCF001430642C3','until 2099','read',1795366310883,NULL,4070908800000);
CREATE TABLE appimage (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  version TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL,                  -- application | prompt
  filename TEXT NOT NULL,              -- as the client called it
  media_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,                -- hex
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (name, version)
);
INSERT INTO "appimage" VALUES(1,'application','1.2','application','application.wav','application/octet-stream',8,'0f372e54a8d50ca142ffb1936ce836b2ca0e65a76c4f66fb3dd6866b8b42de84',1795366315755,1795366315755);
INSERT INTO "appimage" VALUES(2,'prompt','1.2','prompt','prompt.wav','application/octet-stream',8,'0f372e54a8d50ca142ffb1936ce836b2ca0e65a76c4f66fb3dd6866b8b42de84',1795366315757,1795366315757);
CREATE TABLE artifact (
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  name TEXT NOT NULL,
  media_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,                -- hex
  file TEXT NOT NULL,                  -- in the folder of the run's session
  created_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, role, name)
) WITHOUT ROWID;
INSERT INTO "artifact" VALUES(14,'callee','notes.txt','text/plain',9,'fc2b6954361d05822fe2e4ca260f18f91610ab236b17205e3660ce535b93a86f','7a20cc80-8550-4802-954a-2db8c945b798',1795366331179);
INSERT INTO "artifact" VALUES(14,'caller','notes.txt','text/plain',9,'a579b6af6b970e184f158e30bc2681376c171bc35e780fa49de6f10d1330366c','d2e5f4c2-f5c2-4365-aa5b-37d01bef5b7d',1795366331179);
CREATE TABLE callback (
  id INTEGER PRIMARY KEY,
  run_id INTEGER REFERENCES run(id) ON DELETE CASCADE,
  project_run_id INTEGER REFERENCES project_run(id) ON DELETE CASCADE,
  url TEXT NOT NULL,
  method TEXT NOT NULL,
  state TEXT NOT NULL,                 -- waiting sending delivered failed
  tries INTEGER NOT NULL DEFAULT 0,    -- begun
  next_at INTEGER,                     -- of the next try; NULL: there is none;
                                       -- sending: then its sender is gone
  request_box BLOB NOT NULL,           -- content type, body, secret; encrypted
  created_at INTEGER NOT NULL,
  ended_at INTEGER
);
INSERT INTO "callback" VALUES(1,6,NULL,'http://127.0.0.1:40045/hook','POST','failed',5,NULL,X'CB13FDC5FC31949BB6B50F008CAF685DDD1B899A6D47CFF3AC06B73595E8DBE1C5C4A0F74C357A8F82328BBEFF2C1DD1C70195A97E90D83FA91409A1F9D698572C3273D3BC3BD9218B6353F3C7CB04072D6BCE2BF6D32D31849A69C3150F7304EAF11733A9DD01ABD5A91C805F33B4D4C99693386F6A92A9C3A7FA49A43BBAE690ED70A155E02E55257134D78651FB92E23D32477E8D9E3DF6A1F36D8A9B7FD64D287299C645DB23B783F3CC9F5EF8ABC0D8F9D87BF016D601859047B0450A5C15F4BA408D2D9DD34A124CB41C98F7C3D70E54542FC1D95E8FD32FCC49675AFE06FE4C6D7AAD64B84284CC753786DFEA3B88D13B206B138C40503E2737B00895923D34EB1352A0B16534A2BB0E4AE4C933CE93D7FB638ACC2BE4559BF35C950294E34397E8C055A23CD75076C0B319D93A018C2F8D23AE752C73B78666013D79525262835A416F19DC9E6B3359ACB008241E4E9D23EEA2189E98AF2803798769E053648B3732322CE89ADAB71588804CBDE4DF2FCC64A6A6704B9579E0ADEDFF62498F87070418D2DC3DD6D270854AF65C12B5A9468220B510999AD3E3C80729CFE5A5DBFA753890C7DFE24EDCB89E8EB337002CB5085ABE3379A7297230F67C87541B1EEBC6F18EA26A07BF38C6221FBE132CE77A8DD1D5E092D7674D34CA8AEA757EA0C3D7DE331B043799F011A1FCA341338BA8E55A521C67AAA23418D57CCD9630DA50AAF41CA02D86EBABFFAA57C4158F56545FC26D46F9D72470CCF71818B443AB31CCEE66A23016CD5642B9ACEEEE155E23CC52BB76F3265244E4E96298AD523443CF9633361279C0773076DE197E20F80973020F99F7B6C685642C6D4B947F3E41CE9D31319BBD188AE175BC03D2FFFA83D5FD8337C7FD742CF8E32073F8A9BC93FDAB2A2E06616E238EC401D5D6AF9B7848A14E1E653E1364E62276F338C7E20456681FDB89002045C995B944ED07B9F080FF014602C7DA6C71CE61DDD4780D03DFAA0B6EC3C804119CA41499C2257EA036C14509FF20BA1F043DC08854DD32475FE2507F4E3D4D1EC95F01CE87F57666590542BCC4B2C5C6842D98E61892E55832D8872069233C7B84468DE4370ED9E02AD2D622297B23DDEED376B4A0FE2B53BE328E21751764F1C79E570E8579C5A058EC87BD8FED80C898E888733C792596439BD2DB11ABFD4BD6D7A43A2F1EF7BB0972B65123A7C22E41B703763A5ED7E9C70ABB6AB27821DCAE60364EC24F8D241881D6C6315B3EEDE4CB0739459A3638009E6474D6BAECAA81F6A36CBAC50674BDE8DAB6A0591788BAA7C8CB3DFD5CE41A0AE4C8972DCE9007E3FE2F0A94D14FBD3BABDD376E7FBBCA4F453773D6482E1FF8E80EAE3356137D5A78171D8C4FE36B1359AF5A146E3FF0E9494738C2047B31A7540223A61C5AC4D3F1D70989CD0A784C8AB0E2B8876DDD2C0D8EC9A8C67F90FEA54B09B04447197719550CFBFA93623373217FABF4113232CD5B88A996BB38C213A672A252BE4FAB4354DB597F251A389741B62FDB7CF0F4041A88D2340CC4BA16DCAFEC23',1795366315826,1795366325942);
INSERT INTO "callback" VALUES(2,8,NULL,'http://127.0.0.1:41399/hook','PUT','delivered',2,NULL,X'AAD36F853A6572618C98532EF80DCBCE806AA91B3ECBEA2298103CB2ACE5881E68F83C6DDA755E3C140D36AAF53FCC4898BC4F22E1B017C148F82BBF55F1A284E69F55349043BDDA0CB2D9616C9328FC906B0F980987C89B637DB3D0948841DC19A501F1A8911CC40C559B68FB76951EDEEB35C33E3D32899FD045DC5AF31E9497',1795366316887,1795366317405);
CREATE TABLE callback_template (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  method TEXT NOT NULL,                -- POST PUT PATCH
  content_type TEXT NOT NULL,
  body TEXT NOT NULL,                  -- with {{placeholders}}
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
INSERT INTO "callback_template" VALUES(1,'template','PUT','text/plain','{{test_name}} is {{status}}',1795366315753,1795366315753);
CREATE TABLE callback_try (
  callback_id INTEGER NOT NULL REFERENCES callback(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,             -- from 1
  started_at INTEGER NOT NULL,
  duration_ms INTEGER,                 -- NULL: it has not ended
  address TEXT,                        -- connected to
  http_status INTEGER,
  error TEXT,                          -- NULL: it was delivered
  response TEXT,                       -- beginning of the answer's body
  PRIMARY KEY (callback_id, number)
) WITHOUT ROWID;
INSERT INTO "callback_try" VALUES(1,1,1795366315827,0,'127.0.0.1',404,'was answered 404','thanks');
INSERT INTO "callback_try" VALUES(1,2,1795366316831,4,'127.0.0.1',404,'was answered 404','thanks');
INSERT INTO "callback_try" VALUES(1,3,1795366317403,2,'127.0.0.1',404,'was answered 404','thanks');
INSERT INTO "callback_try" VALUES(1,4,1795366320415,8,'127.0.0.1',404,'was answered 404','thanks');
INSERT INTO "callback_try" VALUES(1,5,1795366325938,1,'127.0.0.1',404,'was answered 404','thanks');
INSERT INTO "callback_try" VALUES(2,1,1795366316888,1,'127.0.0.1',500,'was answered 500','thanks');
INSERT INTO "callback_try" VALUES(2,2,1795366317402,1,'127.0.0.1',200,NULL,'thanks');
CREATE TABLE credential (
  id INTEGER PRIMARY KEY,
  pool_id INTEGER NOT NULL REFERENCES credential_pool(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,           -- 0-based order within the pool
  username TEXT NOT NULL,
  auth_username TEXT,
  password_box BLOB,                   -- XChaCha20-Poly1305: nonce, cipher
  domain TEXT,
  display_name TEXT,
  extension TEXT,
  UNIQUE (pool_id, position)
);
INSERT INTO "credential" VALUES(1,1,0,'1002',NULL,X'5BBA4BC484614D6E2CC4DE68A0C96ED66D470C22B73F9E08404B1575F72A28F487E529A5816149B24486477CA338E4045D018B',NULL,NULL,NULL);
INSERT INTO "credential" VALUES(2,2,0,'1001',NULL,X'5FA8706A56089B92DC9C4DBE8FFD609C93A1FAA95240BD32B5A73C88E8EFCF4C605F3E199140BCDEF520CAF80E7AE21097F15D',NULL,NULL,NULL);
INSERT INTO "credential" VALUES(3,3,0,'1001','auth1001',X'FF1A1A6A1B4B3F770E91EDA2784808F01EF7B91463905F704B7B3BB79C1A7EBDE0BB5173B5A686BF2ACD849D154A67B4F2A10570A582C1F4AF','example.org','Grün','77');
INSERT INTO "credential" VALUES(4,3,1,'1002',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "credential" VALUES(5,4,0,'passed',NULL,X'A70E891A1B2542A6A26ECB40B12F639F6CBAD753B71C97A8D478EFE6E9C0B3BB906881F0EAA4059142',NULL,NULL,NULL);
INSERT INTO "credential" VALUES(6,5,0,'failed',NULL,X'CA66467117E455EE552F0952F1D95A62B64F470555ACFE9B4675F5997E3B09929AE7307AD8E975E535',NULL,NULL,NULL);
INSERT INTO "credential" VALUES(7,6,0,'error',NULL,X'3C735FC19E87B4565C3504458B076A0790AF4277614B795CC7346DF1C82D81DAF15D9EE4632A8A9E17',NULL,NULL,NULL);
INSERT INTO "credential" VALUES(8,7,0,'hold',NULL,X'D0A5F02D7E1878D5FEC7618C841F09EBD4FDFA7CF5C8574EC5534A38A48A4B0351D860086B505393CC',NULL,NULL,NULL);
CREATE TABLE credential_pool (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
INSERT INTO "credential_pool" VALUES(1,'callees 2',1795366310144,1795366310144);
INSERT INTO "credential_pool" VALUES(2,'callers 3',1795366310210,1795366310210);
INSERT INTO "credential_pool" VALUES(3,'with all members',1795366315752,1795366315752);
INSERT INTO "credential_pool" VALUES(4,'passed',1795366315760,1795366315760);
INSERT INTO "credential_pool" VALUES(5,'failed',1795366315764,1795366315764);
INSERT INTO "credential_pool" VALUES(6,'error',1795366315768,1795366315768);
INSERT INTO "credential_pool" VALUES(7,'hold',1795366315778,1795366315778);
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  lease_id TEXT NOT NULL,
  role TEXT NOT NULL,
  t_us INTEGER NOT NULL,
  kind TEXT NOT NULL,
  event_json TEXT NOT NULL
);
INSERT INTO "event" VALUES(1,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311334151,'state','{"t":1795366311334151,"mono":1937452498182,"kind":"state","state":"REGISTERING","account":"1002"}');
INSERT INTO "event" VALUES(2,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311335234,'state','{"t":1795366311335234,"mono":1937453580438,"kind":"state","state":"REGISTER_OK","account":"1002","text":"200 OK"}');
INSERT INTO "event" VALUES(3,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311335234,'register','{"t":1795366311335234,"mono":1937453580438,"kind":"register","account":"1002","ok":true,"code":200,"reason":"OK","ms":1.0091920000000001,"expires_s":3600}');
INSERT INTO "event" VALUES(4,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311659356,'state','{"t":1795366311659356,"mono":1937777702929,"kind":"state","state":"CALL_INCOMING","account":"1002","call":"callee-1"}');
INSERT INTO "event" VALUES(5,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311659356,'state','{"t":1795366311659356,"mono":1937777702929,"kind":"state","state":"CALL_REMOTE_SDP","account":"1002","call":"callee-1"}');
INSERT INTO "event" VALUES(6,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311659615,'state','{"t":1795366311659615,"mono":1937777961494,"kind":"state","state":"CALL_RINGING","account":"1002","call":"callee-1","text":"180 Ringing"}');
INSERT INTO "event" VALUES(7,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311660102,'state','{"t":1795366311660102,"mono":1937778448624,"kind":"state","state":"CALL_LOCAL_SDP","account":"1002","call":"callee-1"}');
INSERT INTO "event" VALUES(8,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311660102,'state','{"t":1795366311660102,"mono":1937778448624,"kind":"state","state":"CALL_ANSWERED","account":"1002","call":"callee-1","text":"200 OK"}');
INSERT INTO "event" VALUES(9,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311660465,'state','{"t":1795366311660465,"mono":1937778812053,"kind":"state","state":"CALL_ESTABLISHED","account":"1002","call":"callee-1"}');
INSERT INTO "event" VALUES(10,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311660713,'state','{"t":1795366311660713,"mono":1937779059858,"kind":"state","state":"CALL_RTPESTAB","account":"1002","call":"callee-1"}');
INSERT INTO "event" VALUES(11,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311652347,'state','{"t":1795366311652347,"mono":1937770693514,"kind":"state","state":"REGISTERING","account":"1001"}');
INSERT INTO "event" VALUES(12,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311658105,'state','{"t":1795366311658105,"mono":1937776452311,"kind":"state","state":"REGISTER_OK","account":"1001","text":"200 OK"}');
INSERT INTO "event" VALUES(13,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311658105,'register','{"t":1795366311658105,"mono":1937776452311,"kind":"register","account":"1001","ok":true,"code":200,"reason":"OK","ms":5.7254230000000002,"expires_s":3600}');
INSERT INTO "event" VALUES(14,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311658586,'state','{"t":1795366311658586,"mono":1937776933199,"kind":"state","state":"CALL_OUTGOING","account":"1001","call":"caller-1"}');
INSERT INTO "event" VALUES(15,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311658586,'state','{"t":1795366311658586,"mono":1937776933199,"kind":"state","state":"CALL_LOCAL_SDP","account":"1001","call":"caller-1"}');
INSERT INTO "event" VALUES(16,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311659649,'state','{"t":1795366311659649,"mono":1937777995459,"kind":"state","state":"CALL_RINGING","account":"1001","call":"caller-1","text":"180 Ringing"}');
INSERT INTO "event" VALUES(17,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311660197,'state','{"t":1795366311660197,"mono":1937778543427,"kind":"state","state":"CALL_REMOTE_SDP","account":"1001","call":"caller-1"}');
INSERT INTO "event" VALUES(18,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311660197,'state','{"t":1795366311660197,"mono":1937778543427,"kind":"state","state":"CALL_ANSWERED","account":"1001","call":"caller-1","text":"200 OK"}');
INSERT INTO "event" VALUES(19,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311660197,'state','{"t":1795366311660197,"mono":1937778543427,"kind":"state","state":"CALL_ESTABLISHED","account":"1001","call":"caller-1"}');
INSERT INTO "event" VALUES(20,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311660769,'state','{"t":1795366311660769,"mono":1937779116097,"kind":"state","state":"CALL_RTPESTAB","account":"1001","call":"caller-1"}');
INSERT INTO "event" VALUES(21,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366312936469,'state','{"t":1795366312936469,"mono":1939054815911,"kind":"state","state":"CALL_RTCP","account":"1002","call":"callee-1"}');
INSERT INTO "event" VALUES(22,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366312793747,'state','{"t":1795366312793747,"mono":1938912094276,"kind":"state","state":"CALL_RTCP","account":"1001","call":"caller-1"}');
INSERT INTO "event" VALUES(23,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366314661189,'state','{"t":1795366314661189,"mono":1940779535971,"kind":"state","state":"CALL_ENDED_LOCAL","account":"1001","call":"caller-1","text":"hung up by us"}');
INSERT INTO "event" VALUES(24,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366314661189,'state','{"t":1795366314661189,"mono":1940779535971,"kind":"state","state":"CALL_CLOSED","account":"1001","call":"caller-1"}');
INSERT INTO "event" VALUES(25,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366314870805,'call','{"t":1795366314870805,"mono":1940989151676,"kind":"call","call":"caller-1","account":"1001","direction":"out","peer":"sip:1002@127.0.0.1","call_id":"fba9942992c1fb388e33b82464b5e7fd","established":true,"pdd_ms":1.06226,"setup_ms":1.610228,"duration_ms":3000.9925440000002,"end":"local","reason":"hung up by us","streams":[{"dir":"in","ssrc":"feb58c42","codec":"PCMU","packets":151,"bytes":25972,"reordered":0,"duplicates":0,"stray":0,"clock_hz":8000,"ptime_ms":20.0,"received":151,"expected":151,"lost":0,"loss_pct":0.0,"burst_ratio":1.0,"jitter_ms":{"n":150,"min":0.00076525000000016163,"max":0.08412657771131446,"avg":0.019178494327212494,"median":0.012799999999999999,"p75":0.020991999999999997,"p90":0.03973119999999998,"p95":0.054886399999999967,"stddev":0.01582764791075409},"mos":{"n":4,"min":4.4094059543872692,"max":4.4094059543872692,"avg":4.4094059543872692,"median":4.4094059543872692,"p75":4.4094059543872692,"p90":4.4094059543872692,"p95":4.4094059543872692,"stddev":0.0},"r_factor":93.20620772327571,"mos_total":4.4094059543872692,"mos_scale":"nb","mos_wb_total":3.7008033550796755,"out_of_order":0,"gap_max_ms":20.434252999999998,"fixed_buffer":{"discarded":0,"delay_ms":60.0,"burst_lost":0,"burst_density_pct":0.0,"gap_density_pct":0.0,"burst_duration_ms":0.0,"gap_duration_ms":3020.0,"burst_ratio":1.0,"ta_ms":80.25,"r_factor":91.076580346657408,"mos":4.3644750345695602},"adaptive_buffer":{"discarded":0,"delay_ms":20.0,"burst_lost":0,"burst_density_pct":0.0,"gap_density_pct":0.0,"burst_duration_ms":0.0,"gap_duration_ms":3020.0,"burst_ratio":1.0,"ta_ms":40.25,"r_factor":91.992207065993824,"mos":4.3846976806507429}},{"dir":"out","ssrc":"fe86ffd1","codec":"PCMU","packets":150,"bytes":25800,"reordered":0,"duplicates":0,"stray":0,"clock_hz":8000,"ptime_ms":20.0,"received":54,"expected":54,"lost":0,"loss_pct":0.0,"burst_ratio":1.0,"jitter_ms":{"n":1,"min":0.0,"max":0.0,"avg":0.0,"median":0.0,"p75":0.0,"p90":0.0,"p95":0.0,"stddev":0.0},"mos":{"n":1,"min":4.4094059543872692,"max":4.4094059543872692,"avg":4.4094059543872692,"median":4.4094059543872692,"p75":4.4094059543872692,"p90":4.4094059543872692,"p95":4.4094059543872692,"stddev":0.0},"r_factor":93.20620772327571,"mos_total":4.4094059543872692,"mos_scale":"nb","mos_wb_total":3.7008033550796755,"lateness_max_ms":2.331,"xr_voip":{"loss_pct":0.0,"discard_pct":0.0,"burst_density_pct":0.0,"gap_density_pct":0.0,"burst_duration_ms":0.0,"gap_duration_ms":1080.0,"delay_ms":80.0,"buffer_ms":60.0,"r_factor":91.0,"mos_lq":4.4000000000000004,"mos_cq":4.4000000000000004},"xr_summary":{"lost":0,"duplicates":0,"jitter_min_ms":0.0,"jitter_max_ms":0.0,"jitter_mean_ms":0.0,"jitter_dev_ms":0.0}}]}');
INSERT INTO "event" VALUES(26,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366315135807,'state','{"t":1795366315135807,"mono":1941254154238,"kind":"state","state":"UNREGISTERING","account":"1001"}');
INSERT INTO "event" VALUES(27,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366315138384,'evidence','{"t":1795366315138384,"mono":1941256730551,"kind":"evidence","packets_sent":150,"packets_received":151,"send_errors":0,"receive_queue_drops":0,"ring_drops":0,"invalid_packets":0,"foreign_packets":0,"ssrc_collisions":0,"srtp_refused":0,"srtp_replayed":0,"srtp_unkeyed":0,"dtls_dropped":0,"dtls_refused":0,"packets_unsent":0,"stun_dropped":0,"send_lateness_ms":{"n":150,"min":0.030582000000000002,"max":2.3318449999999999,"avg":0.10043964666666667,"median":0.0616955,"p75":0.073215500000000003,"p90":0.083455500000000002,"p95":0.090623499999999996,"stddev":0.24407117223730806,"p99":1.6957435000000001},"send_scheduling":"realtime","receive_scheduling":"realtime"}');
INSERT INTO "event" VALUES(28,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366314661630,'state','{"t":1795366314661630,"mono":1940779977349,"kind":"state","state":"CALL_ENDED_REMOTE","account":"1002","call":"callee-1","text":"hung up by the peer"}');
INSERT INTO "event" VALUES(29,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366314661630,'state','{"t":1795366314661630,"mono":1940779977349,"kind":"state","state":"CALL_CLOSED","account":"1002","call":"callee-1"}');
INSERT INTO "event" VALUES(30,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366314870677,'call','{"t":1795366314870677,"mono":1940989023909,"kind":"call","call":"callee-1","account":"1002","direction":"in","peer":"sip:1001@127.0.0.1","call_id":"fba9942992c1fb388e33b82464b5e7fd","established":true,"setup_ms":0.745695,"duration_ms":3001.1652960000001,"end":"remote","reason":"hung up by the peer","streams":[{"dir":"in","ssrc":"fe86ffd1","codec":"PCMU","packets":150,"bytes":25800,"reordered":0,"duplicates":0,"stray":0,"clock_hz":8000,"ptime_ms":20.0,"received":150,"expected":150,"lost":0,"loss_pct":0.0,"burst_ratio":1.0,"jitter_ms":{"n":149,"min":0.00041537499999999561,"max":0.36690204902493789,"avg":0.052785651035336778,"median":0.015871999999999997,"p75":0.051711999999999994,"p90":0.17489920000000006,"p95":0.25436159999999997,"stddev":0.080613873989910892},"rtt_ms":{"n":2,"min":0.076293,"max":0.076293,"avg":0.076293,"median":0.076293,"p75":0.076293,"p90":0.076293,"p95":0.076293,"stddev":0.0},"mos":{"n":3,"min":4.4094059543872692,"max":4.4094059543872692,"avg":4.4094059543872692,"median":4.4094059543872692,"p75":4.4094059543872692,"p90":4.4094059543872692,"p95":4.4094059543872692,"stddev":0.0},"r_factor":93.20620772327571,"mos_total":4.4094059543872692,"mos_scale":"nb","mos_wb_total":3.7008033550796755,"out_of_order":0,"gap_max_ms":21.920234000000001,"fixed_buffer":{"discarded":0,"delay_ms":60.0,"burst_lost":0,"burst_density_pct":0.0,"gap_density_pct":0.0,"burst_duration_ms":0.0,"gap_duration_ms":3000.0,"burst_ratio":1.0,"ta_ms":80.288146500000011,"network_ms":0.0381465,"r_factor":91.075762275283296,"mos":4.3644563675100532},"adaptive_buffer":{"discarded":0,"delay_ms":20.0,"burst_lost":0,"burst_density_pct":0.0,"gap_density_pct":0.0,"burst_duration_ms":0.0,"gap_duration_ms":3000.0,"burst_ratio":1.0,"ta_ms":40.288146499999996,"network_ms":0.0381465,"r_factor":91.991261334165443,"mos":4.3846774898226286}},{"dir":"out","ssrc":"feb58c42","codec":"PCMU","packets":151,"bytes":25972,"reordered":0,"duplicates":0,"stray":0,"clock_hz":8000,"ptime_ms":20.0,"received":61,"expected":61,"lost":0,"loss_pct":0.0,"burst_ratio":1.0,"jitter_ms":{"n":1,"min":0.0,"max":0.0,"avg":0.0,"median":0.0,"p75":0.0,"p90":0.0,"p95":0.0,"stddev":0.0},"rtt_ms":{"n":2,"min":0.076293,"max":0.076293,"avg":0.076293,"median":0.076293,"p75":0.076293,"p90":0.076293,"p95":0.076293,"stddev":0.0},"mos":{"n":1,"min":4.4094059543872692,"max":4.4094059543872692,"avg":4.4094059543872692,"median":4.4094059543872692,"p75":4.4094059543872692,"p90":4.4094059543872692,"p95":4.4094059543872692,"stddev":0.0},"r_factor":93.20620772327571,"mos_total":4.4094059543872692,"mos_scale":"nb","mos_wb_total":3.7008033550796755,"lateness_max_ms":0.67600000000000005,"xr_voip":{"loss_pct":0.0,"discard_pct":0.0,"burst_density_pct":0.0,"gap_density_pct":0.0,"burst_duration_ms":0.0,"gap_duration_ms":1220.0,"delay_ms":80.0,"buffer_ms":60.0,"r_factor":91.0,"mos_lq":4.4000000000000004,"mos_cq":4.4000000000000004},"xr_summary":{"lost":0,"duplicates":0,"jitter_min_ms":0.0,"jitter_max_ms":0.0,"jitter_mean_ms":0.0,"jitter_dev_ms":0.0}}]}');
INSERT INTO "event" VALUES(31,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366315135988,'state','{"t":1795366315135988,"mono":1941254335271,"kind":"state","state":"UNREGISTERING","account":"1002"}');
INSERT INTO "event" VALUES(32,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366315140676,'evidence','{"t":1795366315140676,"mono":1941259022945,"kind":"evidence","packets_sent":151,"packets_received":150,"send_errors":0,"receive_queue_drops":0,"ring_drops":0,"invalid_packets":0,"foreign_packets":0,"ssrc_collisions":0,"srtp_refused":0,"srtp_replayed":0,"srtp_unkeyed":0,"dtls_dropped":0,"dtls_refused":0,"packets_unsent":0,"stun_dropped":0,"send_lateness_ms":{"n":151,"min":0.035525000000000001,"max":0.67651499999999998,"avg":0.073855205298013246,"median":0.061183500000000002,"p75":0.0691195,"p90":0.073215500000000003,"p95":0.077311500000000005,"stddev":0.084387407419102542,"p99":0.66764749999999995},"send_scheduling":"realtime","receive_scheduling":"realtime"}');
INSERT INTO "event" VALUES(33,2,'2f02525f-0185-4168-978f-5e43a26a5889','caller',1795366309565630,'state','{"t":1795366309565630,"mono":1,"kind":"state","state":"REGISTER_OK","account":"passed"}');
INSERT INTO "event" VALUES(34,2,'2f02525f-0185-4168-978f-5e43a26a5889','caller',1795366309565630,'register','{"t":1795366309565630,"mono":1,"kind":"register","account":"passed","ok":true,"code":200,"reason":"OK","ms":3.5,"expires_s":60}');
INSERT INTO "event" VALUES(35,2,'2f02525f-0185-4168-978f-5e43a26a5889','caller',1795366309565630,'evidence','{"t":1795366309565630,"mono":99,"kind":"evidence","packets_sent":500,"packets_received":500,"send_errors":0,"receive_queue_drops":0,"ring_drops":0,"invalid_packets":0}');
INSERT INTO "event" VALUES(36,9,'b04545e9-2d37-4b94-aad2-e91dd4735196','caller',1795366309565630,'state','{"t":1795366309565630,"mono":1,"kind":"state","state":"REGISTER_OK","account":"passed"}');
INSERT INTO "event" VALUES(37,9,'b04545e9-2d37-4b94-aad2-e91dd4735196','caller',1795366309565630,'register','{"t":1795366309565630,"mono":1,"kind":"register","account":"passed","ok":true,"code":200,"reason":"OK","ms":3.5,"expires_s":60}');
INSERT INTO "event" VALUES(38,9,'b04545e9-2d37-4b94-aad2-e91dd4735196','caller',1795366309565630,'evidence','{"t":1795366309565630,"mono":99,"kind":"evidence","packets_sent":500,"packets_received":500,"send_errors":0,"receive_queue_drops":0,"ring_drops":0,"invalid_packets":0}');
INSERT INTO "event" VALUES(39,10,'2f1afc6e-4e8f-4eea-ae71-f9e90a2fd1c3','caller',1795366309565630,'state','{"t":1795366309565630,"mono":1,"kind":"state","state":"REGISTER_OK","account":"passed"}');
INSERT INTO "event" VALUES(40,10,'2f1afc6e-4e8f-4eea-ae71-f9e90a2fd1c3','caller',1795366309565630,'register','{"t":1795366309565630,"mono":1,"kind":"register","account":"passed","ok":true,"code":200,"reason":"OK","ms":3.5,"expires_s":60}');
INSERT INTO "event" VALUES(41,10,'2f1afc6e-4e8f-4eea-ae71-f9e90a2fd1c3','caller',1795366309565630,'evidence','{"t":1795366309565630,"mono":99,"kind":"evidence","packets_sent":500,"packets_received":500,"send_errors":0,"receive_queue_drops":0,"ring_drops":0,"invalid_packets":0}');
INSERT INTO "event" VALUES(42,12,'6c6fa7fe-950c-4269-8b65-948814d6bceb','caller',1795366309565630,'state','{"t":1795366309565630,"mono":1,"kind":"state","state":"REGISTER_OK","account":"passed"}');
INSERT INTO "event" VALUES(43,12,'6c6fa7fe-950c-4269-8b65-948814d6bceb','caller',1795366309565630,'register','{"t":1795366309565630,"mono":1,"kind":"register","account":"passed","ok":true,"code":200,"reason":"OK","ms":3.5,"expires_s":60}');
INSERT INTO "event" VALUES(44,12,'6c6fa7fe-950c-4269-8b65-948814d6bceb','caller',1795366309565630,'evidence','{"t":1795366309565630,"mono":99,"kind":"evidence","packets_sent":500,"packets_received":500,"send_errors":0,"receive_queue_drops":0,"ring_drops":0,"invalid_packets":0}');
INSERT INTO "event" VALUES(45,14,'1b7f45c6-040e-412d-a9b5-350fa4d45cce','callee',1795366309565630,'state','{"t":1795366309565630,"mono":1,"kind":"state","state":"REGISTER_OK","account":"1002"}');
INSERT INTO "event" VALUES(46,14,'1b7f45c6-040e-412d-a9b5-350fa4d45cce','callee',1795366309565630,'register','{"t":1795366309565630,"mono":1,"kind":"register","account":"1002","ok":true,"code":200,"reason":"OK","ms":3.5,"expires_s":60}');
INSERT INTO "event" VALUES(47,14,'2f86e696-26ee-4110-bffc-e1eae4ec2a40','caller',1795366309565630,'state','{"t":1795366309565630,"mono":1,"kind":"state","state":"REGISTER_OK","account":"1001"}');
INSERT INTO "event" VALUES(48,14,'2f86e696-26ee-4110-bffc-e1eae4ec2a40','caller',1795366309565630,'register','{"t":1795366309565630,"mono":1,"kind":"register","account":"1001","ok":true,"code":200,"reason":"OK","ms":3.5,"expires_s":60}');
INSERT INTO "event" VALUES(49,14,'2f86e696-26ee-4110-bffc-e1eae4ec2a40','caller',1795366309565630,'state','{"t":1795366309565630,"mono":2,"kind":"state","state":"CALL_OUTGOING","account":"1001","call":"caller-1"}');
INSERT INTO "event" VALUES(50,14,'2f86e696-26ee-4110-bffc-e1eae4ec2a40','caller',1795366309565630,'state','{"t":1795366309565630,"mono":4,"kind":"state","state":"CALL_ESTABLISHED","account":"1001","call":"caller-1"}');
INSERT INTO "event" VALUES(51,14,'2f86e696-26ee-4110-bffc-e1eae4ec2a40','caller',1795366309565630,'state','{"t":1795366309565630,"mono":9,"kind":"state","state":"CALL_CLOSED","account":"1001","call":"caller-1"}');
INSERT INTO "event" VALUES(52,14,'2f86e696-26ee-4110-bffc-e1eae4ec2a40','caller',1795366309565630,'call','{"t":1795366309565630,"mono":9,"kind":"call","call":"caller-1","account":"1001","direction":"out","peer":"sip:1002@x","call_id":"c1","established":true,"pdd_ms":120.5,"setup_ms":300,"duration_ms":10000,"end":"local","code":200,"reason":"OK","streams":[{"dir":"in","ssrc":"0000000a","codec":"PCMU","packets":500,"bytes":86000,"received":500,"expected":500,"lost":0,"loss_pct":0,"mos_total":4.4092859999999998,"r_factor":93.200000000000003}]}');
INSERT INTO "event" VALUES(53,14,'1b7f45c6-040e-412d-a9b5-350fa4d45cce','callee',1795366309565630,'state','{"t":1795366309565630,"mono":2,"kind":"state","state":"CALL_INCOMING","account":"1002","call":"callee-1"}');
INSERT INTO "event" VALUES(54,14,'1b7f45c6-040e-412d-a9b5-350fa4d45cce','callee',1795366309565630,'state','{"t":1795366309565630,"mono":4,"kind":"state","state":"CALL_ESTABLISHED","account":"1002","call":"callee-1"}');
INSERT INTO "event" VALUES(55,14,'1b7f45c6-040e-412d-a9b5-350fa4d45cce','callee',1795366309565630,'state','{"t":1795366309565630,"mono":9,"kind":"state","state":"CALL_CLOSED","account":"1002","call":"callee-1"}');
INSERT INTO "event" VALUES(56,14,'1b7f45c6-040e-412d-a9b5-350fa4d45cce','callee',1795366309565630,'call','{"t":1795366309565630,"mono":9,"kind":"call","call":"callee-1","account":"1002","direction":"in","peer":"sip:1001@x","call_id":"c1","established":true,"pdd_ms":120.5,"setup_ms":300,"duration_ms":10000,"end":"remote","code":200,"reason":"OK","streams":[{"dir":"in","ssrc":"0000000a","codec":"PCMU","packets":500,"bytes":86000,"received":500,"expected":500,"lost":0,"loss_pct":0,"mos_total":4.4092859999999998,"r_factor":93.200000000000003}]}');
INSERT INTO "event" VALUES(57,14,'2f86e696-26ee-4110-bffc-e1eae4ec2a40','caller',1795366309565630,'evidence','{"t":1795366309565630,"mono":99,"kind":"evidence","packets_sent":500,"packets_received":500,"send_errors":0,"receive_queue_drops":0,"ring_drops":0,"invalid_packets":0}');
INSERT INTO "event" VALUES(58,14,'1b7f45c6-040e-412d-a9b5-350fa4d45cce','callee',1795366309565630,'evidence','{"t":1795366309565630,"mono":99,"kind":"evidence","packets_sent":500,"packets_received":500,"send_errors":0,"receive_queue_drops":0,"ring_drops":0,"invalid_packets":0}');
INSERT INTO "event" VALUES(59,15,'8fbafcbd-743e-4ca2-9fdc-9e02bec169fe','caller',1795366309565630,'state','{"t":1795366309565630,"mono":1,"kind":"state","state":"REGISTER_OK","account":"passed"}');
INSERT INTO "event" VALUES(60,15,'8fbafcbd-743e-4ca2-9fdc-9e02bec169fe','caller',1795366309565630,'register','{"t":1795366309565630,"mono":1,"kind":"register","account":"passed","ok":true,"code":200,"reason":"OK","ms":3.5,"expires_s":60}');
INSERT INTO "event" VALUES(61,15,'8fbafcbd-743e-4ca2-9fdc-9e02bec169fe','caller',1795366309565630,'evidence','{"t":1795366309565630,"mono":99,"kind":"evidence","packets_sent":500,"packets_received":500,"send_errors":0,"receive_queue_drops":0,"ring_drops":0,"invalid_packets":0}');
CREATE TABLE idempotency (
  key_id INTEGER NOT NULL,             -- of api_key
  name TEXT NOT NULL,                  -- the header's value
  request_hash BLOB NOT NULL,          -- method, address and body
  status INTEGER,                      -- of the answer; NULL: in progress
  started TEXT,                        -- session or UUID of what it started
  response_json TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (key_id, name)
);
INSERT INTO "idempotency" VALUES(1,'once',X'95089C369270A10FAEFE6240C4E770353DED4E5A645C2240E7F6CDD3DAB3BAFD',200,'d077540b-327c-44d4-b49b-381291a34d4a','{"data":{"report_url":"http://offhook.test/run/details/d077540b-327c-44d4-b49b-381291a34d4a","session_id":"d077540b-327c-44d4-b49b-381291a34d4a","status_url":"http://offhook.test/api/v2/runs/d077540b-327c-44d4-b49b-381291a34d4a/status"},"status":200}',1795366316815);
CREATE TABLE lease (
  id TEXT PRIMARY KEY,                 -- UUID
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  spec_json TEXT NOT NULL,             -- passwords removed; see secret_box
  secret_box BLOB,                     -- the full spec, encrypted; dropped
                                       -- when the lease ends
  agent_id INTEGER,                    -- NULL while waiting
  state TEXT NOT NULL,    -- waiting offered started finished lost cancelled
  offered_at INTEGER,                  -- NULL: its agent has not asked yet
  started_at INTEGER,
  expires_at INTEGER,                  -- offer or lease time; renewed
  ended_at INTEGER,
  outcome TEXT,                        -- completed failed error stopped
  reason TEXT,
  ready_step INTEGER NOT NULL DEFAULT -1, -- highest step reported ready
  progress REAL NOT NULL DEFAULT 0,
  next_seq INTEGER NOT NULL DEFAULT 1, -- lowest upload not seen
  last_seq INTEGER,                    -- announced by finish
  UNIQUE (run_id, role)
);
INSERT INTO "lease" VALUES('474aeaed-2d9e-476a-bdc1-27bac11672ed',1,'callee','{"session_id":"35dd156d-01c4-42a9-90c0-728145d6f811","role":"callee","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{"caller":["1001"]},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":12200,"transport":"udp","priority":0,"weight":0}],"domain":"127.0.0.1","outbound_proxy":null,"tls":{}},"credentials":[{"username":"1002","auth_username":null,"domain":null,"display_name":null,"extension":null}]},{"type":"answer","index":1}],[]]}',NULL,1,'finished',1795366311179,1795366311206,1795366345220,1795366315442,'completed','',1,1.0,7,6);
INSERT INTO "lease" VALUES('57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,'caller','{"session_id":"35dd156d-01c4-42a9-90c0-728145d6f811","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{"callee":["1002"]},"steps":[[],[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":12200,"transport":"udp","priority":0,"weight":0}],"domain":"127.0.0.1","outbound_proxy":null,"tls":{}},"credentials":[{"username":"1001","auth_username":null,"domain":null,"display_name":null,"extension":null}]},{"type":"call","index":1,"max_total_calls":1,"dial_destination":"1002","call_duration":3}]]}',NULL,1,'finished',1795366311179,1795366311207,1795366345228,1795366315443,'completed','',1,1.0,7,6);
INSERT INTO "lease" VALUES('2f02525f-0185-4168-978f-5e43a26a5889',2,'caller','{"session_id":"3a604314-2ef2-414a-9556-4d561ae87baf","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"passed","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,2,'finished',1795366315796,1795366315798,1795366345798,1795366315805,'completed','',0,1.0,3,2);
INSERT INTO "lease" VALUES('fb58f1ce-3dbb-4918-929b-57089cc937ce',3,'caller','{"session_id":"dc99ac5a-b66a-4e5b-acf4-6700a748ce96","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"failed","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,2,'finished',1795366315806,1795366315809,1795366345809,1795366315811,'failed','no',-1,1.0,1,0);
INSERT INTO "lease" VALUES('42b3ad96-ee47-49d7-8528-29ff2d44a1ad',4,'caller','{"session_id":"fed1ed63-e047-44d3-946e-48fc44e9099f","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"error","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,2,'finished',1795366315812,1795366315814,1795366345814,1795366315815,'error','broken',-1,1.0,1,0);
INSERT INTO "lease" VALUES('1e2ca561-c157-49cb-ba93-95e88b92ddaf',5,'caller','{"session_id":"6ceff4e0-3119-4d42-8566-ce0092cf6cf5","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"failed","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,2,'finished',1795366315817,1795366315818,1795366345818,1795366315820,'failed','no',-1,1.0,1,0);
INSERT INTO "lease" VALUES('61885d6f-ee66-4117-8b28-84ec6d32e2bf',6,'caller','{"session_id":"7fcbb9e9-812a-4a94-96e6-dbaa104ed976","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"failed","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,2,'finished',1795366315821,1795366315823,1795366345823,1795366315824,'failed','no',-1,1.0,1,0);
INSERT INTO "lease" VALUES('7ab0b2fe-88b2-41fb-8e8f-628ada88dfa5',7,'caller','{"session_id":"641d200a-c5ca-44fb-9c25-606a876a5d1a","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"hold","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,2,'finished',1795366315826,1795366315828,1795366346864,1795366316869,'stopped','',-1,1.0,1,0);
INSERT INTO "lease" VALUES('41a378c8-b0e6-4374-a635-f4af56a0436e',8,'caller','{"session_id":"1a98f030-a4ff-46f9-9e75-af1a9423b4ff","role":"caller","attempt":2,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"failed","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,2,'finished',1795366316876,1795366316880,1795366346880,1795366316883,'failed','no',-1,1.0,1,0);
INSERT INTO "lease" VALUES('b04545e9-2d37-4b94-aad2-e91dd4735196',9,'caller','{"session_id":"d077540b-327c-44d4-b49b-381291a34d4a","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"passed","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,2,'finished',1795366316886,1795366316888,1795366346888,1795366316905,'completed','',0,1.0,3,2);
INSERT INTO "lease" VALUES('2f1afc6e-4e8f-4eea-ae71-f9e90a2fd1c3',10,'caller','{"session_id":"11ac894b-2e9d-411a-9028-361ae7216c68","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"passed","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,2,'finished',1795366316907,1795366316910,1795366346910,1795366316918,'completed','',0,1.0,3,2);
INSERT INTO "lease" VALUES('c2a62808-4bee-4117-816b-799f1210e63b',11,'caller','{"session_id":"b160c864-2111-4fb4-b8fd-37b192f2e1ce","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"failed","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,2,'finished',1795366316921,1795366316922,1795366346922,1795366316926,'failed','no',-1,1.0,1,0);
INSERT INTO "lease" VALUES('6c6fa7fe-950c-4269-8b65-948814d6bceb',12,'caller','{"session_id":"8e76d740-077b-4349-92fd-1320c0e2d91e","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"passed","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,2,'finished',1795366316941,1795366316946,1795366346946,1795366316962,'completed','',0,1.0,3,2);
INSERT INTO "lease" VALUES('9182a839-79b5-4114-ab54-1496326e6cbc',13,'caller','{"session_id":"7bd0f00b-c0e6-4eb0-b371-f957138d35d6","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"hold","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,2,'finished',1795366325969,1795366325972,1795366356091,1795366326096,'stopped','',-1,1.0,1,0);
INSERT INTO "lease" VALUES('1b7f45c6-040e-412d-a9b5-350fa4d45cce',14,'callee','{"session_id":"a079b23d-8673-4fb5-ae49-0bca13aad545","role":"callee","attempt":1,"interval_s":1,"max_duration_s":150,"record":"media","peers":{"caller":["1001","1002"]},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"1001","auth_username":"auth1001","domain":"example.org","display_name":"Grün","extension":"77"},{"username":"1002","auth_username":null,"domain":null,"display_name":null,"extension":null}]},{"type":"answer","index":1}],[]]}',NULL,3,'finished',1795366331158,1795366331163,1795366361163,1795366331193,'completed','',1,1.0,5,4);
INSERT INTO "lease" VALUES('2f86e696-26ee-4110-bffc-e1eae4ec2a40',14,'caller','{"session_id":"a079b23d-8673-4fb5-ae49-0bca13aad545","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"media","peers":{"callee":["1001","1002"]},"steps":[[],[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"1001","auth_username":"auth1001","domain":"example.org","display_name":"Grün","extension":"77"},{"username":"1002","auth_username":null,"domain":null,"display_name":null,"extension":null}]},{"type":"call","index":1,"max_total_calls":1,"dial_destination":"{{callee.username}}"}]]}',NULL,3,'finished',1795366331158,1795366331163,1795366361163,1795366331189,'completed','',1,1.0,5,4);
INSERT INTO "lease" VALUES('8fbafcbd-743e-4ca2-9fdc-9e02bec169fe',15,'caller','{"session_id":"211ec3a4-2511-4803-92a3-10fb0470b81c","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"passed","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',NULL,4,'finished',1795366334205,1795366334208,1795366364208,1795366334224,'completed','',0,1.0,3,2);
INSERT INTO "lease" VALUES('fcf88d34-b495-4770-bee4-53ac0f8410d2',16,'callee','{"session_id":"825a5698-12f9-4501-a64e-e2f341157ff1","role":"callee","attempt":1,"interval_s":1,"max_duration_s":150,"record":"media","peers":{"caller":["1001","1002"]},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"1001","auth_username":"auth1001","domain":"example.org","display_name":"Grün","extension":"77"},{"username":"1002","auth_username":null,"domain":null,"display_name":null,"extension":null}]},{"type":"answer","index":1}],[]]}',X'65A2399C888CF3F210A22A98219787014E2EC95C435DA5196BCF6613FCE97DE16329C4D61565F33770B79854F9908C3700C75755464D6EFEBBA02C810445F02E04327E19DDDB3465A08C3890CB0104790FA018F304A76FF2AEBD34521A5B829A4C4FBEC2AF7F1C563A4F627234F06E6174AE478F8F53C192B1550F686845F3A29338B7EE5613DFD8A598269F89FDC11C6EE874B59142BA9971BB0127B59B128EDAA0E5560DC2D0447920A414385EEADC3546E6B09B52B99AD6FCBB72ABAE10844397EAC510F8D6B6EDBBB5FBDF8A902ADBDC1DC35C18D9F0E1A2AE7BAF59BC1396A9A6A9C32F5CB6A9CC535E6C91AD5A6F0E53D5E8EDD27CC50EB372247D64B44066A894EA33577D86D057B353BBFC421359FB097E6568C6C69D1E3470C0D80F45987D29324822AF6FF4E525A88B54DE2076FA1F0C5D81A2C8AA4EA75CFDAD318A5C9454441B6CF3A8F0147CF3ECAE8C6AD91626F5298B2B9329BD6BD859863A5FFF74BBF3DE838D76303003B0BF9CD2B454A2FD7B43525B3442084AAD34B562E1EBD966EE4C18154129B7B89948364E9CBA5CF4A3A36DE490695F616EACB39C9EE9A12CD8FD94243B4F658354DA00C8EF9659614EE367C24AACFCCA5CB7042491D089A55C589252F2E31DA8BA21E8971C7064E0EEE7D42BE3673DFD5E9237CF3BABCD3BD74EDE78DDE50E4060B2C2B32420B7825D18298289CD6204C05B3AFD450887287F6943A447DDECA7962EC1F702B4DCAF6E2FC3336FB939510F8DA33EB35BE799741758136DD9A5C10FD19212F3CEE01D74B4F92838E90089F47C250B5F1E75C275407D336348F0BA057624D1A50BDB7DD2192CF9457AB8E6CF0D2601C4922A5640F589075B8C74990E8AE52DE6690783A3D278DDAFE118EABADEB37D18852810AF245765C88BDD028B893FB46F0F76BB1931765D1D6D6F3E02',3,'started',1795366339265,1795366339275,1795366369275,NULL,NULL,NULL,-1,0.0,1,NULL);
INSERT INTO "lease" VALUES('70358534-46b7-4cc4-93bf-d8938b6a904d',16,'caller','{"session_id":"825a5698-12f9-4501-a64e-e2f341157ff1","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"media","peers":{"callee":["1001","1002"]},"steps":[[],[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"1001","auth_username":"auth1001","domain":"example.org","display_name":"Grün","extension":"77"},{"username":"1002","auth_username":null,"domain":null,"display_name":null,"extension":null}]},{"type":"call","index":1,"max_total_calls":1,"dial_destination":"{{callee.username}}"}]]}',X'F445EFC19808375F032D459F672C30C9723D6080BFF2ECA017DB39121CD724EE6F0CBB4276D6809097E1015256498EED69182A4D4661C4A649C394418CC6F3DBF0055A1ABCF9C3BC4D41B91B7242A31A36B058267F34A5D6973481AD72C40D06C848ED2FE6E5A58F10E459B92AE30D9CC1EF466F355E402B8867AA61D8F594172B0464572B62ACB758F721832281F2EB70D8CA27C3356D9772C083FDDB41A2F3261ED26FAEAFA9AA8EF57DFC081711FBD55EB155A09D754F7CA6501E10F00F5B9A32709F030B0824B685C54E4617FF476FBEE5242A268EE9DF844003B9B05F865A10AC991ECD7D085DCA93944B18773D13B0B1A0FB7612F695B65FBCFB2FFA685AE017C620B71109C2E231C716E3CEBF9239C64213E5448D961898ABDB971C2B3CB621B0A55C39A7F5932028EE81F8DE7CB62421B7ABB87EB66F647DBC4CCDDBB2D7E444C161153BFC876D358B240A06F5AAF076B80FFC3F8622602849FF5DA137E33EEACD6925AE51527A8F093435353CD879BF18D6319A2EDBE366BB4553558C3B2B8DC2B7FC09AD90F1A1DCDA5C7D39482ADC087E19C61CD8D6380C0C3D927DA1C34387B860B3BE8A382AD3D42E373C0CC9BA30BA9A50C5AC217CDED4FE0152DF1E9DC6497B4192932C5AE407B2E2A4C5541E8CB6076DCA26B7C1310B05C34AD6F9DCDF4301A03AF88F8541DE76F185950CE6330B4E82584C39DC1238CE68207AE738D0C9F6103497D52CB81E851EA15097EACC52799FE81EC96A5D6BC36247C6B4FE2330462819D46B1D9FFED7A830C8D388CA605B7B2AA11BF511B52ED7854DD073EECD28D8F62AB829A930A018E6848059A22FB807FEC3F6FF7D86AD4B533BE3236872B3AAAA5E15C4058B50B54DBFCE174667EA540B8C1F86C6B74660BF98CFC44A96C83F2E5F85AB950658AA5D1AE7892A8B2FF6A5930CC02905507CE08993ABDF56B892D9AAD2E32FEE95232BB6BBD9E3B63C1CB736BCF3DB27B0D6ACA7FE272E7C7205EAC6604EE949F86B2FCC62DEDD50621A',3,'started',1795366339265,1795366339278,1795366369278,NULL,NULL,NULL,-1,0.0,1,NULL);
INSERT INTO "lease" VALUES('81add829-0836-40c7-9e33-f5afd641db65',17,'caller','{"session_id":"5f7b8efd-223e-45e0-a11b-f1c611804bfb","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"1001","auth_username":"auth1001","domain":"example.org","display_name":"Grün","extension":"77"},{"username":"1002","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',X'1BDF682B1B88C100C8433C3625F50422EACF0327C844B060B80F671CA3C0DE77B838B3FBF4405A755A754F43B69FD5A98746F1C9B5409FB260907EF94BA7D73530A991D560F490661773EA1847FB17BC524CDB67E4EC18F6D029E573F623BA8F1BA854394658981A0AC2AE96F23A176610F2E9B3C1FCB51495D1AF74C3F2B9FDA2B104933581351B9C2EE6D613082ECC4F8BE0A54D5C732EFF4A1CD09B1CBA808DB0A212B4F9B8B7B0BA786F892699787B3FFA9883490FD6D20BA5975A3410604712D8B36EF8E34C15F53D012212133E2947632EF4B2373A689ABECBA6B78230CCF91C991D25B3CC0531402AA39D6EB7FF4BE3B1CF40B00C1D40512CFE5AB8092A579A062AB58EEE797BED7DAF3E688AE156F4637BF09D61669A0D8977DB91804448C27F41497B2BF1AF680FBB47408DB526D1BEC66FFB9FD99BBCB968C9E6452EF8CA57BCC802E4EAC3119FFC81D6DA10CCFB87F5C1E7D7A5C1A3637F5115D9F8CDF5B10912B8A1CF98A4C5CBDFCFD0088C65900A58506AC6D98537CAD221D36684D956B42616B8C147A5F38941EE629B112236A7D664D90136A7F40D0C8ED845FD3911C435ABB302BE0F96EE36DD03596769783AD6A019D40DC1F9E9E320826FC2B3C4DBF8CFD57F9B3413F01FA9BE3C95184281A147385C432BC66E2544AB12BE3C537BF0A3FFCF7FF8F1B2CE0D0A36F2DA657F945D067E654B5804C601419DEA4A27B0ABB3B90EE6D4926B524756BA9EC91707CE48C78DEED37DE6D3AEAA03F7C0318F3BAC2D9179A3FC12FB7DA636BE3DB728401F23AF476F5F9085B71F98605295639A38F0FA51776EA9315C1E5292C18298F600A8E2D168801AE4CF3C8A3CEAF8',NULL,'waiting',NULL,NULL,NULL,NULL,NULL,NULL,-1,0.0,1,NULL);
INSERT INTO "lease" VALUES('39c27070-ceef-41eb-a0c7-bcb9b8a5de78',18,'caller','{"session_id":"0cbc7f1d-4b38-4168-aa83-303d59ac8411","role":"caller","attempt":1,"interval_s":1,"max_duration_s":150,"record":"sip","peers":{},"steps":[[{"type":"register","index":0,"target":{"hosts":[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}],"domain":null,"outbound_proxy":null,"tls":{}},"credentials":[{"username":"1001","auth_username":"auth1001","domain":"example.org","display_name":"Grün","extension":"77"},{"username":"1002","auth_username":null,"domain":null,"display_name":null,"extension":null}]}]]}',X'685375BBCA7CD1AD257EA248BAD7EFA746E0D6C3F608B0808639EC0197BCA4DC888CE3F16F1B6AFE30D25125005F9F96823CB5DCD97C16613B32EA2D6C252E3D6FE1C1CD62B7B2BD1F19F9D5382EDD63C349A3BBF66660CCBDF346FDE138621DE46DA332452A6D73FA85E013FB68FFF3FEEE9804F015637D9ABECFACB18685D88246188F69B28F4A948E87E42604802A1E5EC6840BAC0A29349745E609E5E142B9A6A8D75433DE8CCE67801A340780B4228BDC14542DA54CBA4E3F0A0C44B6EB1CA60A8185385C5F38F38D4E13F3B9F4E48F57B459E86B7648C0179453C04F7C48938A3314B4F44A3A6FC4EE0D994AA9F9E9FE31635E19FFC4F87C0FEA3A1CF76B7D440E3D0A2FD79AA5B35891D1E8B731346F5C8D5D851D3DE88F167986B1FBF94086DC5E9B1C2DC543963D5CE6FC734E0150A04E2962D62D2844B78C1C942B73969AF286C7AC68F8CF345BE1C0B52E846939C47CEC6A39C80355DAE562C721FB9C08EF527050197F0A2083051B382C43DB8BB5549B2577333A5AE20415451058054E09890A8F77ED7EE5DB230874F7FCD2E7BB79FA94EF94C6F3DDAAD788DA4BB025975203F5F219414259C8897EEFBEFCFF04CC970D665C510B44CA104C87DAB7A15ACD7D99F460EF938DD50401EA276630C5521B29E199C0A369F1077BB23E964818E2D0784C60089B13FFDF6365A366E2D2DD41F794111AE52C1BBF76852FAC95E92BE68F17056979114DCC58068065FD93BD12BC228F3AC3C61C90AA0F47A151F4A6B84EF8B56BF1041322A396C1AB9782A8BDF69B173DFC79FAD7D4B1633DCB6905942B6390683DA9C52484C3EC1C196D90F28636E5A4D56720B71BA5EEB99A1E',NULL,'waiting',NULL,NULL,NULL,NULL,NULL,NULL,-1,0.0,1,NULL);
CREATE TABLE point (
  series_id INTEGER NOT NULL REFERENCES series(id) ON DELETE CASCADE,
  t INTEGER NOT NULL,                  -- interval start, s since 1970
  lease_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  min REAL NOT NULL,
  max REAL NOT NULL,
  avg REAL NOT NULL,
  median REAL NOT NULL,
  p75 REAL NOT NULL,
  p90 REAL NOT NULL,
  p95 REAL NOT NULL,
  stddev REAL NOT NULL,
  sketch_json TEXT,
  PRIMARY KEY (series_id, t, lease_id)
) WITHOUT ROWID;
INSERT INTO "point" VALUES(1,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,0.0,'{"a":0.01,"z":0,"p":[[453,1]],"n":[]}');
INSERT INTO "point" VALUES(1,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,0.0,'{"a":0.01,"z":0,"p":[[453,1]],"n":[]}');
INSERT INTO "point" VALUES(1,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,0.0,'{"a":0.01,"z":0,"p":[[453,1]],"n":[]}');
INSERT INTO "point" VALUES(2,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,1.05182479166079419913e-02,1.05182479166079419913e-02,1.05182479166079419913e-02,1.05182479166079419913e-02,1.05182479166079419913e-02,1.05182479166079419913e-02,1.05182479166079419913e-02,0.0,'{"a":0.01,"z":0,"p":[[-227,1]],"n":[]}');
INSERT INTO "point" VALUES(2,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,1.9740587613671273931e-02,1.9740587613671273931e-02,1.9740587613671273931e-02,1.9740587613671273931e-02,1.9740587613671273931e-02,1.9740587613671273931e-02,1.9740587613671273931e-02,0.0,'{"a":0.01,"z":0,"p":[[-196,1]],"n":[]}');
INSERT INTO "point" VALUES(2,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,1.45237182875114518437e-02,1.45237182875114518437e-02,1.45237182875114518437e-02,1.45237182875114518437e-02,1.45237182875114518437e-02,1.45237182875114518437e-02,1.45237182875114518437e-02,0.0,'{"a":0.01,"z":0,"p":[[-211,1]],"n":[]}');
INSERT INTO "point" VALUES(2,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,1.4420923394542088658e-02,1.4420923394542088658e-02,1.4420923394542088658e-02,1.4420923394542088658e-02,1.4420923394542088658e-02,1.4420923394542088658e-02,1.4420923394542088658e-02,0.0,'{"a":0.01,"z":0,"p":[[-211,1]],"n":[]}');
INSERT INTO "point" VALUES(3,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(3,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(3,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(3,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(4,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(4,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(4,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(5,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(5,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(5,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(5,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(6,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,50.0,50.0,50.0,50.0,50.0,50.0,50.0,0.0,'{"a":0.01,"z":0,"p":[[196,1]],"n":[]}');
INSERT INTO "point" VALUES(6,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,50.0,50.0,50.0,50.0,50.0,50.0,50.0,0.0,'{"a":0.01,"z":0,"p":[[196,1]],"n":[]}');
INSERT INTO "point" VALUES(6,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,50.0,50.0,50.0,50.0,50.0,50.0,50.0,0.0,'{"a":0.01,"z":0,"p":[[196,1]],"n":[]}');
INSERT INTO "point" VALUES(7,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(7,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(7,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(7,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(8,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(8,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(8,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(8,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(9,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(9,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(9,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(9,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(10,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(10,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(10,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(10,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(11,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(11,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(11,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(11,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(12,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(12,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(12,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(12,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(13,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,0.0,'{"a":0.01,"z":0,"p":[[227,1]],"n":[]}');
INSERT INTO "point" VALUES(13,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,0.0,'{"a":0.01,"z":0,"p":[[227,1]],"n":[]}');
INSERT INTO "point" VALUES(13,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,0.0,'{"a":0.01,"z":0,"p":[[227,1]],"n":[]}');
INSERT INTO "point" VALUES(13,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,0.0,'{"a":0.01,"z":0,"p":[[227,1]],"n":[]}');
INSERT INTO "point" VALUES(14,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,0.0,'{"a":0.01,"z":0,"p":[[66,1]],"n":[]}');
INSERT INTO "point" VALUES(14,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,0.0,'{"a":0.01,"z":0,"p":[[66,1]],"n":[]}');
INSERT INTO "point" VALUES(14,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,0.0,'{"a":0.01,"z":0,"p":[[66,1]],"n":[]}');
INSERT INTO "point" VALUES(14,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,0.0,'{"a":0.01,"z":0,"p":[[66,1]],"n":[]}');
INSERT INTO "point" VALUES(15,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,20.033201,20.033201,20.033201,20.033201,20.033201,20.033201,20.033201,0.0,'{"a":0.01,"z":0,"p":[[150,1]],"n":[]}');
INSERT INTO "point" VALUES(15,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,20.434253,20.434253,20.434253,20.434253,20.434253,20.434253,20.434253,0.0,'{"a":0.01,"z":0,"p":[[151,1]],"n":[]}');
INSERT INTO "point" VALUES(15,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,2.00335219999999978321e+01,2.00335219999999978321e+01,2.00335219999999978321e+01,2.00335219999999978321e+01,2.00335219999999978321e+01,2.00335219999999978321e+01,2.00335219999999978321e+01,0.0,'{"a":0.01,"z":0,"p":[[150,1]],"n":[]}');
INSERT INTO "point" VALUES(15,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,19.987121,19.987121,19.987121,19.987121,19.987121,19.987121,19.987121,0.0,'{"a":0.01,"z":0,"p":[[150,1]],"n":[]}');
INSERT INTO "point" VALUES(16,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,0.0,'{"a":0.01,"z":0,"p":[[453,1]],"n":[]}');
INSERT INTO "point" VALUES(16,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,0.0,'{"a":0.01,"z":0,"p":[[453,1]],"n":[]}');
INSERT INTO "point" VALUES(16,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,0.0,'{"a":0.01,"z":0,"p":[[453,1]],"n":[]}');
INSERT INTO "point" VALUES(17,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,50.0,50.0,50.0,50.0,50.0,50.0,50.0,0.0,'{"a":0.01,"z":0,"p":[[196,1]],"n":[]}');
INSERT INTO "point" VALUES(17,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,50.0,50.0,50.0,50.0,50.0,50.0,50.0,0.0,'{"a":0.01,"z":0,"p":[[196,1]],"n":[]}');
INSERT INTO "point" VALUES(17,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,50.0,50.0,50.0,50.0,50.0,50.0,50.0,0.0,'{"a":0.01,"z":0,"p":[[196,1]],"n":[]}');
INSERT INTO "point" VALUES(18,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.088,0.088,0.088,0.088,0.088,0.088,0.088,0.0,'{"a":0.01,"z":0,"p":[[-121,1]],"n":[]}');
INSERT INTO "point" VALUES(18,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,2.331,2.331,2.331,2.331,2.331,2.331,2.331,0.0,'{"a":0.01,"z":0,"p":[[43,1]],"n":[]}');
INSERT INTO "point" VALUES(18,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.094,0.094,0.094,0.094,0.094,0.094,0.094,0.0,'{"a":0.01,"z":0,"p":[[-118,1]],"n":[]}');
INSERT INTO "point" VALUES(19,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,1.06226,1.06226,1.06226,1.06226,1.06226,1.06226,1.06226,0.0,'{"a":0.01,"z":0,"p":[[4,1]],"n":[]}');
INSERT INTO "point" VALUES(20,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,5.725423,5.725423,5.725423,5.725423,5.725423,5.725423,5.725423,0.0,'{"a":0.01,"z":0,"p":[[88,1]],"n":[]}');
INSERT INTO "point" VALUES(21,1795366311,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,1.610228,1.610228,1.610228,1.610228,1.610228,1.610228,1.610228,0.0,'{"a":0.01,"z":0,"p":[[24,1]],"n":[]}');
INSERT INTO "point" VALUES(22,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(23,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(24,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(25,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(26,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(27,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,0.0,'{"a":0.01,"z":0,"p":[[227,1]],"n":[]}');
INSERT INTO "point" VALUES(28,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,0.0,'{"a":0.01,"z":0,"p":[[66,1]],"n":[]}');
INSERT INTO "point" VALUES(29,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(30,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(31,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(32,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(33,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(34,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,1080.0,1080.0,1080.0,1080.0,1080.0,1080.0,1080.0,0.0,'{"a":0.01,"z":0,"p":[[350,1]],"n":[]}');
INSERT INTO "point" VALUES(35,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,80.0,80.0,80.0,80.0,80.0,80.0,80.0,0.0,'{"a":0.01,"z":0,"p":[[220,1]],"n":[]}');
INSERT INTO "point" VALUES(36,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,60.0,60.0,60.0,60.0,60.0,60.0,60.0,0.0,'{"a":0.01,"z":0,"p":[[205,1]],"n":[]}');
INSERT INTO "point" VALUES(37,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,91.0,91.0,91.0,91.0,91.0,91.0,91.0,0.0,'{"a":0.01,"z":0,"p":[[226,1]],"n":[]}');
INSERT INTO "point" VALUES(38,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,4.4,4.4,4.4,4.4,4.4,4.4,4.4,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(39,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,4.4,4.4,4.4,4.4,4.4,4.4,4.4,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(40,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(41,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(42,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(43,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(44,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,1.0,1.0,1.0,1.0,1.0,1.0,1.0,0.0,'{"a":0.01,"z":0,"p":[[0,1]],"n":[]}');
INSERT INTO "point" VALUES(44,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,1.0,1.0,1.0,1.0,1.0,1.0,1.0,0.0,'{"a":0.01,"z":0,"p":[[0,1]],"n":[]}');
INSERT INTO "point" VALUES(44,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,1.0,1.0,1.0,1.0,1.0,1.0,1.0,0.0,'{"a":0.01,"z":0,"p":[[0,1]],"n":[]}');
INSERT INTO "point" VALUES(45,1795366312,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,9.95231735280778906371e-01,9.95231735280778906371e-01,9.95231735280778906371e-01,9.95231735280778906371e-01,9.95231735280778906371e-01,9.95231735280778906371e-01,9.95231735280778906371e-01,0.0,'{"a":0.01,"z":0,"p":[[0,1]],"n":[]}');
INSERT INTO "point" VALUES(45,1795366313,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(45,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(46,1795366314,'57cb240a-1dea-41b6-a67c-e5b588f9e66f',1,0.822495,0.822495,0.822495,0.822495,0.822495,0.822495,0.822495,0.0,'{"a":0.01,"z":0,"p":[[-9,1]],"n":[]}');
INSERT INTO "point" VALUES(47,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,0.0,'{"a":0.01,"z":0,"p":[[453,1]],"n":[]}');
INSERT INTO "point" VALUES(47,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,0.0,'{"a":0.01,"z":0,"p":[[453,1]],"n":[]}');
INSERT INTO "point" VALUES(47,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,0.0,'{"a":0.01,"z":0,"p":[[453,1]],"n":[]}');
INSERT INTO "point" VALUES(48,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.00977414879046445,0.00977414879046445,0.00977414879046445,0.00977414879046445,0.00977414879046445,0.00977414879046445,0.00977414879046445,0.0,'{"a":0.01,"z":0,"p":[[-231,1]],"n":[]}');
INSERT INTO "point" VALUES(48,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,5.13621169384453624129e-02,5.13621169384453624129e-02,5.13621169384453624129e-02,5.13621169384453624129e-02,5.13621169384453624129e-02,5.13621169384453624129e-02,5.13621169384453624129e-02,0.0,'{"a":0.01,"z":0,"p":[[-148,1]],"n":[]}');
INSERT INTO "point" VALUES(48,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,1.4845999715654801393e-02,1.4845999715654801393e-02,1.4845999715654801393e-02,1.4845999715654801393e-02,1.4845999715654801393e-02,1.4845999715654801393e-02,1.4845999715654801393e-02,0.0,'{"a":0.01,"z":0,"p":[[-210,1]],"n":[]}');
INSERT INTO "point" VALUES(49,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(49,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(49,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(50,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(50,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(50,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(51,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(51,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(51,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(52,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,50.0,50.0,50.0,50.0,50.0,50.0,50.0,0.0,'{"a":0.01,"z":0,"p":[[196,1]],"n":[]}');
INSERT INTO "point" VALUES(52,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,50.0,50.0,50.0,50.0,50.0,50.0,50.0,0.0,'{"a":0.01,"z":0,"p":[[196,1]],"n":[]}');
INSERT INTO "point" VALUES(52,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,50.0,50.0,50.0,50.0,50.0,50.0,50.0,0.0,'{"a":0.01,"z":0,"p":[[196,1]],"n":[]}');
INSERT INTO "point" VALUES(53,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(53,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(53,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(54,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(54,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(54,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(55,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(55,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(55,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(55,1795366314,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(56,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(56,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(56,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(56,1795366314,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(57,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(57,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(57,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(58,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(58,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(58,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(59,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,0.0,'{"a":0.01,"z":0,"p":[[227,1]],"n":[]}');
INSERT INTO "point" VALUES(59,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,0.0,'{"a":0.01,"z":0,"p":[[227,1]],"n":[]}');
INSERT INTO "point" VALUES(59,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,0.0,'{"a":0.01,"z":0,"p":[[227,1]],"n":[]}');
INSERT INTO "point" VALUES(60,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,0.0,'{"a":0.01,"z":0,"p":[[66,1]],"n":[]}');
INSERT INTO "point" VALUES(60,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,0.0,'{"a":0.01,"z":0,"p":[[66,1]],"n":[]}');
INSERT INTO "point" VALUES(60,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,0.0,'{"a":0.01,"z":0,"p":[[66,1]],"n":[]}');
INSERT INTO "point" VALUES(61,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,2.00247159999999979618e+01,2.00247159999999979618e+01,2.00247159999999979618e+01,2.00247159999999979618e+01,2.00247159999999979618e+01,2.00247159999999979618e+01,2.00247159999999979618e+01,0.0,'{"a":0.01,"z":0,"p":[[150,1]],"n":[]}');
INSERT INTO "point" VALUES(61,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,21.920234,21.920234,21.920234,21.920234,21.920234,21.920234,21.920234,0.0,'{"a":0.01,"z":0,"p":[[155,1]],"n":[]}');
INSERT INTO "point" VALUES(61,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,20.037478,20.037478,20.037478,20.037478,20.037478,20.037478,20.037478,0.0,'{"a":0.01,"z":0,"p":[[150,1]],"n":[]}');
INSERT INTO "point" VALUES(62,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,0.0,'{"a":0.01,"z":0,"p":[[453,1]],"n":[]}');
INSERT INTO "point" VALUES(62,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,0.0,'{"a":0.01,"z":0,"p":[[453,1]],"n":[]}');
INSERT INTO "point" VALUES(62,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,8600.0,0.0,'{"a":0.01,"z":0,"p":[[453,1]],"n":[]}');
INSERT INTO "point" VALUES(63,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,50.0,50.0,50.0,50.0,50.0,50.0,50.0,0.0,'{"a":0.01,"z":0,"p":[[196,1]],"n":[]}');
INSERT INTO "point" VALUES(63,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,50.0,50.0,50.0,50.0,50.0,50.0,50.0,0.0,'{"a":0.01,"z":0,"p":[[196,1]],"n":[]}');
INSERT INTO "point" VALUES(63,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,50.0,50.0,50.0,50.0,50.0,50.0,50.0,0.0,'{"a":0.01,"z":0,"p":[[196,1]],"n":[]}');
INSERT INTO "point" VALUES(64,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.114,0.114,0.114,0.114,0.114,0.114,0.114,0.0,'{"a":0.01,"z":0,"p":[[-108,1]],"n":[]}');
INSERT INTO "point" VALUES(64,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.676,0.676,0.676,0.676,0.676,0.676,0.676,0.0,'{"a":0.01,"z":0,"p":[[-19,1]],"n":[]}');
INSERT INTO "point" VALUES(64,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.076,0.076,0.076,0.076,0.076,0.076,0.076,0.0,'{"a":0.01,"z":0,"p":[[-128,1]],"n":[]}');
INSERT INTO "point" VALUES(64,1795366314,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.058,0.058,0.058,0.058,0.058,0.058,0.058,0.0,'{"a":0.01,"z":0,"p":[[-142,1]],"n":[]}');
INSERT INTO "point" VALUES(65,1795366311,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,1.009192,1.009192,1.009192,1.009192,1.009192,1.009192,1.009192,0.0,'{"a":0.01,"z":0,"p":[[1,1]],"n":[]}');
INSERT INTO "point" VALUES(66,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.076293,0.076293,0.076293,0.076293,0.076293,0.076293,0.076293,0.0,'{"a":0.01,"z":0,"p":[[-128,1]],"n":[]}');
INSERT INTO "point" VALUES(67,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,1.0,1.0,1.0,1.0,1.0,1.0,1.0,0.0,'{"a":0.01,"z":0,"p":[[0,1]],"n":[]}');
INSERT INTO "point" VALUES(67,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,1.0,1.0,1.0,1.0,1.0,1.0,1.0,0.0,'{"a":0.01,"z":0,"p":[[0,1]],"n":[]}');
INSERT INTO "point" VALUES(67,1795366314,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,1.0,1.0,1.0,1.0,1.0,1.0,1.0,0.0,'{"a":0.01,"z":0,"p":[[0,1]],"n":[]}');
INSERT INTO "point" VALUES(68,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,9.98450512637042764119e-01,9.98450512637042764119e-01,9.98450512637042764119e-01,9.98450512637042764119e-01,9.98450512637042764119e-01,9.98450512637042764119e-01,9.98450512637042764119e-01,0.0,'{"a":0.01,"z":0,"p":[[0,1]],"n":[]}');
INSERT INTO "point" VALUES(68,1795366313,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(68,1795366314,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(69,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(70,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(71,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(72,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,4.40940595438726923305e+00,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(73,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.076293,0.076293,0.076293,0.076293,0.076293,0.076293,0.076293,0.0,'{"a":0.01,"z":0,"p":[[-128,1]],"n":[]}');
INSERT INTO "point" VALUES(74,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(75,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,9.32062077232757104673e+01,0.0,'{"a":0.01,"z":0,"p":[[227,1]],"n":[]}');
INSERT INTO "point" VALUES(76,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,3.70080335507967550512e+00,0.0,'{"a":0.01,"z":0,"p":[[66,1]],"n":[]}');
INSERT INTO "point" VALUES(77,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(78,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(79,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(80,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(81,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(82,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,1220.0,1220.0,1220.0,1220.0,1220.0,1220.0,1220.0,0.0,'{"a":0.01,"z":0,"p":[[356,1]],"n":[]}');
INSERT INTO "point" VALUES(83,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,80.0,80.0,80.0,80.0,80.0,80.0,80.0,0.0,'{"a":0.01,"z":0,"p":[[220,1]],"n":[]}');
INSERT INTO "point" VALUES(84,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,60.0,60.0,60.0,60.0,60.0,60.0,60.0,0.0,'{"a":0.01,"z":0,"p":[[205,1]],"n":[]}');
INSERT INTO "point" VALUES(85,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,91.0,91.0,91.0,91.0,91.0,91.0,91.0,0.0,'{"a":0.01,"z":0,"p":[[226,1]],"n":[]}');
INSERT INTO "point" VALUES(86,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,4.4,4.4,4.4,4.4,4.4,4.4,4.4,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(87,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,4.4,4.4,4.4,4.4,4.4,4.4,4.4,0.0,'{"a":0.01,"z":0,"p":[[75,1]],"n":[]}');
INSERT INTO "point" VALUES(88,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(89,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(90,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(91,1795366312,'474aeaed-2d9e-476a-bdc1-27bac11672ed',1,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,'{"a":0.01,"z":1,"p":[],"n":[]}');
INSERT INTO "point" VALUES(92,1795366331,'2f86e696-26ee-4110-bffc-e1eae4ec2a40',10,1.5,1.5,1.5,1.5,1.5,1.5,1.5,0.0,NULL);
INSERT INTO "point" VALUES(92,1795366332,'2f86e696-26ee-4110-bffc-e1eae4ec2a40',10,1.83333333333333325931e+00,1.83333333333333325931e+00,1.83333333333333325931e+00,1.83333333333333325931e+00,1.83333333333333325931e+00,1.83333333333333325931e+00,1.83333333333333325931e+00,0.0,NULL);
INSERT INTO "point" VALUES(92,1795366333,'2f86e696-26ee-4110-bffc-e1eae4ec2a40',10,2.16666666666666651863e+00,2.16666666666666651863e+00,2.16666666666666651863e+00,2.16666666666666651863e+00,2.16666666666666651863e+00,2.16666666666666651863e+00,2.16666666666666651863e+00,0.0,NULL);
INSERT INTO "point" VALUES(93,1795366331,'1b7f45c6-040e-412d-a9b5-350fa4d45cce',10,1.5,1.5,1.5,1.5,1.5,1.5,1.5,0.0,NULL);
INSERT INTO "point" VALUES(93,1795366332,'1b7f45c6-040e-412d-a9b5-350fa4d45cce',10,1.83333333333333325931e+00,1.83333333333333325931e+00,1.83333333333333325931e+00,1.83333333333333325931e+00,1.83333333333333325931e+00,1.83333333333333325931e+00,1.83333333333333325931e+00,0.0,NULL);
INSERT INTO "point" VALUES(93,1795366333,'1b7f45c6-040e-412d-a9b5-350fa4d45cce',10,2.16666666666666651863e+00,2.16666666666666651863e+00,2.16666666666666651863e+00,2.16666666666666651863e+00,2.16666666666666651863e+00,2.16666666666666651863e+00,2.16666666666666651863e+00,0.0,NULL);
CREATE TABLE project (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  description TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
INSERT INTO "project" VALUES(1,'project',NULL,1795366310104,1795366310104);
INSERT INTO "project" VALUES(2,'<b>grün & ''blue''</b>','A description
of two lines',1795366315749,1795366315749);
INSERT INTO "project" VALUES(3,'project <1>',NULL,1795366315759,1795366315759);
CREATE TABLE project_run (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  project_id INTEGER NOT NULL,
  project_name TEXT NOT NULL,
  report_mode TEXT NOT NULL,
  kiosk_id TEXT,
  status TEXT NOT NULL,                -- running passed failed stopped
  stop_requested INTEGER NOT NULL DEFAULT 0,
  callback_state TEXT NOT NULL DEFAULT 'none', -- as of run
  callback_box BLOB,
  created_at INTEGER NOT NULL,
  stopped_at INTEGER
);
INSERT INTO "project_run" VALUES(1,'ddc8018f-77a9-45b3-aa02-b9a4565cb3d3',3,'project <1>','kiosk','3c8ace54-0cd6-49a5-b9fc-c5d7361ddaeb','failed',0,'none',NULL,1795366316819,1795366316929);
INSERT INTO "project_run" VALUES(2,'bdfba2b0-5819-4fa5-ba54-1a09403d8b51',3,'project <1>','full',NULL,'passed',0,'none',NULL,1795366316940,1795366316965);
INSERT INTO "project_run" VALUES(3,'c59f9fac-f99e-48a9-8bb9-e1baa4da8070',3,'project <1>','full',NULL,'stopped',1,'none',NULL,1795366325955,1795366326120);
INSERT INTO "project_run" VALUES(4,'f44b8936-8e64-45df-b311-4e3aed695927',3,'project <1>','full',NULL,'running',0,'none',NULL,1795366339298,NULL);
CREATE TABLE project_run_test (
  project_run_id INTEGER NOT NULL REFERENCES project_run(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,           -- 0-based order
  test_id INTEGER NOT NULL,
  test_name TEXT NOT NULL,
  state TEXT NOT NULL,                 -- waiting started ended cancelled
  status TEXT,                         -- of its last run, when ended
  PRIMARY KEY (project_run_id, position)
) WITHOUT ROWID;
INSERT INTO "project_run_test" VALUES(1,0,2,'test 1-0','ended','passed');
INSERT INTO "project_run_test" VALUES(1,1,3,'test 1-1','ended','failed');
INSERT INTO "project_run_test" VALUES(2,0,2,'test 1-0','ended','passed');
INSERT INTO "project_run_test" VALUES(3,0,7,'test held','ended','stopped');
INSERT INTO "project_run_test" VALUES(3,1,8,'test after','cancelled',NULL);
INSERT INTO "project_run_test" VALUES(4,0,10,'waits','started',NULL);
CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
  session_id TEXT NOT NULL UNIQUE,
  test_id INTEGER,
  test_name TEXT NOT NULL,
  testcase_name TEXT NOT NULL,
  project_id INTEGER,
  project_name TEXT NOT NULL,
  agentpool_id INTEGER NOT NULL,
  agentpool_name TEXT NOT NULL,
  tags_json TEXT NOT NULL DEFAULT '[]',
  phase TEXT NOT NULL,    -- queued dispatching running stopping judging done
  status TEXT NOT NULL,   -- running passed failed errored stopped
  stop_reason TEXT,       -- why it entered `stopping`: user, failed, error
  result_description TEXT NOT NULL DEFAULT '',
  conditions_json TEXT NOT NULL,       -- overrides applied
  verdicts_json TEXT,                  -- one entry a condition, when judged
  record TEXT NOT NULL,
  report_mode TEXT NOT NULL DEFAULT 'full',
  kiosk_id TEXT,                       -- second half of the public link
  interval_s INTEGER NOT NULL,
  max_duration_s INTEGER NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 1,
  retry_of TEXT,                       -- session of the attempt before
  retries_left INTEGER NOT NULL DEFAULT 0,
  retry_state TEXT NOT NULL DEFAULT 'none', -- none due started refused
  retry_box BLOB,                      -- the test as this run had it, encrypted;
                                       -- kept while it may start again
  callback_state TEXT NOT NULL DEFAULT 'none', -- none wanted due: the last
                                       -- attempt has failed; made: a row of
                                       -- callback says the rest
  callback_box BLOB,                   -- where to and how, encrypted, until
                                       -- then
  project_run_id INTEGER,              -- of project_run, and the place in it
  project_position INTEGER,
  progress REAL NOT NULL DEFAULT 0,
  go_step INTEGER NOT NULL DEFAULT -1, -- highest step all roles are done with
  go_at INTEGER,                       -- when the next one starts
  created_at INTEGER NOT NULL,
  started_at INTEGER,                  -- first lease confirmed
  stopping_at INTEGER,                 -- entered `stopping`
  stopped_at INTEGER
);
INSERT INTO "run" VALUES(1,'35dd156d-01c4-42a9-90c0-728145d6f811',1,'test 4','single-call',1,'project',1,'pool','[]','done','passed',NULL,'','[{"role":"caller","condition_type":"caller-sipclient-state-conditions","conditions":[{"type":"has","state":"REGISTER_OK"},{"type":"has","state":"CALL_ESTABLISHED"}],"options":[]},{"role":"callee","condition_type":"callee-sipclient-state-conditions","conditions":[{"type":"has","state":"REGISTER_OK"},{"type":"has","state":"CALL_ESTABLISHED"}],"options":[]}]','[{"role":"caller","condition_type":"built-in","text":"caller: all calls are placed","passed":true,"built_in":true,"expected":"1","actual":"1"},{"role":"caller","condition_type":"caller-sipclient-state-conditions","text":"caller: every account reaches REGISTER_OK","passed":true,"built_in":false,"expected":"REGISTER_OK","actual":"REGISTER_OK"},{"role":"caller","condition_type":"caller-sipclient-state-conditions","text":"caller: every call reaches CALL_ESTABLISHED","passed":true,"built_in":false,"expected":"CALL_ESTABLISHED","actual":"CALL_ESTABLISHED"},{"role":"callee","condition_type":"callee-sipclient-state-conditions","text":"callee: every account reaches REGISTER_OK","passed":true,"built_in":false,"expected":"REGISTER_OK","actual":"REGISTER_OK"},{"role":"callee","condition_type":"callee-sipclient-state-conditions","text":"callee: every call reaches CALL_ESTABLISHED","passed":true,"built_in":false,"expected":"CALL_ESTABLISHED","actual":"CALL_ESTABLISHED"}]','sip','kiosk','cb931b3c-779f-4ad7-8585-e72b89f09def',1,150,1,NULL,0,'none',NULL,'none',NULL,NULL,NULL,1.0,1,1795366315121,1795366311178,1795366311206,NULL,1795366315445);
INSERT INTO "run" VALUES(2,'3a604314-2ef2-414a-9556-4d561ae87baf',2,'test 1-0','custom',3,'project <1>',2,'pool','["passed","all"]','done','passed',NULL,'','[]','[{"role":"caller","condition_type":"built-in","text":"caller: every registration succeeds","passed":true,"built_in":true,"expected":"1","actual":"1"}]','sip','full',NULL,1,150,1,NULL,0,'none',NULL,'none',NULL,NULL,NULL,1.0,0,1795366316049,1795366315795,1795366315798,NULL,1795366315806);
INSERT INTO "run" VALUES(3,'dc99ac5a-b66a-4e5b-acf4-6700a748ce96',3,'test 1-1','custom',3,'project <1>',2,'pool','["failed","all"]','done','failed','failed','caller: no','[]','[{"role":"caller","condition_type":"built-in","text":"caller: every registration succeeds","passed":false,"built_in":true,"expected":"1","actual":"0","sentence":"caller: account failed was never registered"}]','sip','full',NULL,1,150,1,NULL,0,'none',NULL,'none',NULL,NULL,NULL,1.0,-1,NULL,1795366315798,1795366315809,1795366315811,1795366315811);
INSERT INTO "run" VALUES(4,'fed1ed63-e047-44d3-946e-48fc44e9099f',4,'test 1-2','custom',3,'project <1>',2,'pool','["error","all"]','done','errored','error','caller: the agent could not carry on: broken','[]',NULL,'sip','full',NULL,1,150,1,NULL,0,'none',NULL,'none',NULL,NULL,NULL,1.0,-1,NULL,1795366315800,1795366315814,1795366315815,1795366315816);
INSERT INTO "run" VALUES(5,'6ceff4e0-3119-4d42-8566-ce0092cf6cf5',5,'test retried','custom',3,'project <1>',2,'pool','["failed","all"]','done','failed','failed','caller: no','[]','[{"role":"caller","condition_type":"built-in","text":"caller: every registration succeeds","passed":false,"built_in":true,"expected":"1","actual":"0","sentence":"caller: account failed was never registered"}]','sip','full',NULL,1,150,1,NULL,1,'started',NULL,'wanted',X'C084764D6A401641F581FDFC081F62F1C8AC13DFD9459B06E1CA6F42F2AF4D595EF79C0C9AD787BBA6DC6C568FEC7780FCE56D1594DE92F253C881FB839809BC358D3E415D80FAE50FD0FC82E9E038857080C1C40A2173D62A5C16F9F9638C55FE5165435E48CC913A7F9F4C85F57A96DA4EFC614490A60CE29EC89744872C2AD07C2A6AE60BCA2866445DD8044B51B29557232CC68E154C5AAD566BB07F006EA81AC2A839EBBA0EC58259163A0F91800E5F3013BE2D30334C',NULL,NULL,1.0,-1,NULL,1795366315803,1795366315818,1795366315820,1795366315820);
INSERT INTO "run" VALUES(6,'7fcbb9e9-812a-4a94-96e6-dbaa104ed976',6,'test refused','custom',3,'project <1>',2,'pool','["failed","all"]','done','failed','failed','caller: no','[]','[{"role":"caller","condition_type":"built-in","text":"caller: every registration succeeds","passed":false,"built_in":true,"expected":"1","actual":"0","sentence":"caller: account failed was never registered"}]','sip','full',NULL,1,150,1,NULL,0,'none',NULL,'made',NULL,NULL,NULL,1.0,-1,NULL,1795366315805,1795366315823,1795366315824,1795366315825);
INSERT INTO "run" VALUES(7,'641d200a-c5ca-44fb-9c25-606a876a5d1a',7,'test held','custom',3,'project <1>',2,'pool','["hold","all"]','done','stopped','user','stopped by a user','[]',NULL,'sip','full',NULL,1,150,1,NULL,0,'none',NULL,'none',NULL,NULL,NULL,1.0,-1,NULL,1795366315807,1795366315828,1795366316810,1795366316873);
INSERT INTO "run" VALUES(8,'1a98f030-a4ff-46f9-9e75-af1a9423b4ff',5,'test retried','custom',3,'project <1>',2,'pool','["failed","all"]','done','failed','failed','caller: no','[]','[{"role":"caller","condition_type":"built-in","text":"caller: every registration succeeds","passed":false,"built_in":true,"expected":"1","actual":"0","sentence":"caller: account failed was never registered"}]','sip','full',NULL,1,150,2,'6ceff4e0-3119-4d42-8566-ce0092cf6cf5',0,'none',NULL,'made',NULL,NULL,NULL,1.0,-1,NULL,1795366315821,1795366316880,1795366316883,1795366316883);
INSERT INTO "run" VALUES(9,'d077540b-327c-44d4-b49b-381291a34d4a',2,'test 1-0','custom',3,'project <1>',2,'pool','["passed","all"]','done','passed',NULL,'','[]','[{"role":"caller","condition_type":"built-in","text":"caller: every registration succeeds","passed":true,"built_in":true,"expected":"1","actual":"1"}]','sip','full',NULL,1,150,1,NULL,0,'none',NULL,'none',NULL,NULL,NULL,1.0,0,1795366317143,1795366316816,1795366316888,NULL,1795366316905);
INSERT INTO "run" VALUES(10,'11ac894b-2e9d-411a-9028-361ae7216c68',2,'test 1-0','custom',3,'project <1>',2,'pool','["passed","all"]','done','passed',NULL,'','[]','[{"role":"caller","condition_type":"built-in","text":"caller: every registration succeeds","passed":true,"built_in":true,"expected":"1","actual":"1"}]','sip','kiosk','43df389b-43c7-42d1-8f13-ff369b54a41e',1,150,1,NULL,0,'none',NULL,'none',NULL,1,0,1.0,0,1795366317161,1795366316822,1795366316910,NULL,1795366316919);
INSERT INTO "run" VALUES(11,'b160c864-2111-4fb4-b8fd-37b192f2e1ce',3,'test 1-1','custom',3,'project <1>',2,'pool','["failed","all"]','done','failed','failed','caller: no','[]','[{"role":"caller","condition_type":"built-in","text":"caller: every registration succeeds","passed":false,"built_in":true,"expected":"1","actual":"0","sentence":"caller: account failed was never registered"}]','sip','kiosk','bfea7144-88a7-44a4-9f73-9165e52746e8',1,150,1,NULL,0,'none',NULL,'none',NULL,1,1,1.0,-1,NULL,1795366316920,1795366316922,1795366316926,1795366316927);
INSERT INTO "run" VALUES(12,'8e76d740-077b-4349-92fd-1320c0e2d91e',2,'test 1-0','custom',3,'project <1>',2,'pool','["passed","all"]','done','passed',NULL,'','[]','[{"role":"caller","condition_type":"built-in","text":"caller: every registration succeeds","passed":true,"built_in":true,"expected":"1","actual":"1"}]','sip','full',NULL,1,150,1,NULL,0,'none',NULL,'none',NULL,2,0,1.0,0,1795366317200,1795366316940,1795366316946,NULL,1795366316964);
INSERT INTO "run" VALUES(13,'7bd0f00b-c0e6-4eb0-b371-f957138d35d6',7,'test held','custom',3,'project <1>',2,'pool','["hold","all"]','done','stopped','user','stopped by a user, with its project run','[]',NULL,'sip','full',NULL,1,150,1,NULL,0,'none',NULL,'none',NULL,3,0,1.0,-1,NULL,1795366325965,1795366325972,1795366326027,1795366326107);
INSERT INTO "run" VALUES(14,'a079b23d-8673-4fb5-ae49-0bca13aad545',9,'judged <b>grün & ''blue''</b>','single-call',3,'project <1>',3,'laboratory','["nightly","Grün"]','done','failed',NULL,'callee: account 1001 was never registered; caller: account 1002 was never registered; callee: call callee-1 did not reach CALL_FAILED','[{"role":"caller","condition_type":"caller-sipclient-state-conditions","conditions":[{"type":"has","state":"CALL_ESTABLISHED"}],"options":[]},{"role":"callee","condition_type":"callee-sipclient-state-conditions","conditions":[{"type":"has","state":"CALL_FAILED"}],"options":[]}]','[{"role":"callee","condition_type":"built-in","text":"callee: every registration succeeds","passed":false,"built_in":true,"expected":"2","actual":"1","sentence":"callee: account 1001 was never registered"},{"role":"caller","condition_type":"built-in","text":"caller: every registration succeeds","passed":false,"built_in":true,"expected":"2","actual":"1","sentence":"caller: account 1002 was never registered"},{"role":"caller","condition_type":"built-in","text":"caller: all calls are placed","passed":true,"built_in":true,"expected":"1","actual":"1"},{"role":"caller","condition_type":"caller-sipclient-state-conditions","text":"caller: every call reaches CALL_ESTABLISHED","passed":true,"built_in":false,"expected":"CALL_ESTABLISHED","actual":"CALL_ESTABLISHED"},{"role":"callee","condition_type":"callee-sipclient-state-conditions","text":"callee: every call reaches CALL_FAILED","passed":false,"built_in":false,"expected":"CALL_FAILED","actual":"not reached","call":"callee-1","sentence":"callee: call callee-1 did not reach CALL_FAILED"}]','media','kiosk','eee52c8b-f884-4a01-a563-2178a7482e78',1,150,1,NULL,0,'none',NULL,'none',NULL,NULL,NULL,1.0,1,1795366331417,1795366331153,1795366331163,NULL,1795366331197);
INSERT INTO "run" VALUES(15,'211ec3a4-2511-4803-92a3-10fb0470b81c',2,'test 1-0','custom',3,'project <1>',2,'pool','["passed","all"]','done','passed',NULL,'','[]','[{"role":"caller","condition_type":"built-in","text":"caller: every registration succeeds","passed":true,"built_in":true,"expected":"1","actual":"1"}]','sip','full',NULL,1,150,1,NULL,0,'none',NULL,'none',NULL,NULL,NULL,1.0,0,1795366334461,1795366334204,1795366334208,NULL,1795366334225);
INSERT INTO "run" VALUES(16,'825a5698-12f9-4501-a64e-e2f341157ff1',9,'judged <b>grün & ''blue''</b>','single-call',3,'project <1>',3,'laboratory','["nightly","Grün"]','running','running',NULL,'','[{"role":"caller","condition_type":"caller-sipclient-state-conditions","conditions":[{"type":"has","state":"CALL_ESTABLISHED"}],"options":[]},{"role":"callee","condition_type":"callee-sipclient-state-conditions","conditions":[{"type":"has","state":"CALL_FAILED"}],"options":[]}]',NULL,'media','full',NULL,1,150,1,NULL,0,'none',NULL,'none',NULL,NULL,NULL,0.0,-1,NULL,1795366339255,1795366339275,NULL,NULL);
INSERT INTO "run" VALUES(17,'5f7b8efd-223e-45e0-a11b-f1c611804bfb',10,'waits','custom',3,'project <1>',4,'nobody there','[]','queued','running',NULL,'','[]',NULL,'sip','full',NULL,1,150,1,NULL,1,'none',X'98829BA3BB4675E41C52CBBD8520EB1CAE87D557BD88D50E98B6C3B1AA417014D18A8790B551CDCA366BCAD4BB068A38CCA1D02DAE589C7DC8435D20996D5455C7B76E943044EC0795E99E4D5908795265B68D2AD417DFA0F418AC0BBB3034D9A4ECC4CFFA2C1BCC23132F1EF08076105F9632B6AE0FAD7E8EEDAB4EE9D655CF44DB818BCB41F2ECBBDADE9FCEEFC116795D046A448C87D27D308C662D75E1305E698D19FD82437CF210D775AD2E6B2F81BE5C5C0BF50AEEE43F4191BDA3DBCC471B5F62955999360429397EFE5F5C16A0B51B664AA3CFD37555B43F2F7AA626C5B14CC6F96E8CB2071D9F79F20F5BEB903254D97F04D247237B3FE41BC158B471407141843B3291726B17967BE3A5C4C4E40985BEA8C93770C240BD045854798CD21E8D5E4F2C99485E25072BC3A5007D07D53A7D2207EFA6C14E2926C570ECE8223F93100960968197A2A92780964EF83BBA233D5AA35E329CC9EC93F28C698DC7B03664E83BA7357E79705407AF1DEF7FE7E77CDBEAEF31861F6C0D748F64213117767D9CFB6FD259BDB1E32D129225A5C5AC54C286DB6022E8EF18AA664956C3456C05D44CAAC23AFA822D18F5','none',NULL,NULL,NULL,0.0,-1,NULL,1795366339294,NULL,NULL,NULL);
INSERT INTO "run" VALUES(18,'0cbc7f1d-4b38-4168-aa83-303d59ac8411',10,'waits','custom',3,'project <1>',4,'nobody there','[]','queued','running',NULL,'','[]',NULL,'sip','full',NULL,1,150,1,NULL,1,'none',X'E5A79AF19FF711A2AB9A999BAA6B30FBF476A791DAE05A93CE20D201B53A0900FAB5D1E43A356782BC95CE62104FCE5DD73F4813957EE28DD980083CA56519DBAD17630288520514E893B29ECCBBCBBFA9EE56DADF9F8AB9A58FDE8B28794A7D572D795588FD2E6EFCEBFAB06B3DDB57581983B91165776D3D3262017EBF49373F21628CF52EE330C7FF868BBF8AB86A46C45492F90C368A01D3C2741B1554AC345094ABC889374D6B530138B236C6AF67C24C3BCB2F33CBBCF8C0ECAAB68D3C14644741D30644BA4FD4DB7399EBF41660C6E78DB14E4D5EFB77FACC7BCA1055C46DBC3468DA2E13C065E96F6D1760C92B03984F4C8E4207602A906789FD8AE6AEED75D03C16E8C4B5E9CAE9A1737014F0E3283C797F9C037D3512B0515E7C56456320B5106496748C774E3482E97FE592CA31D482DED6F9BD335BE5F135AC69BE93BDDB6C4346A2BEE17DC6A67D26E3C5E486CE46C3FAD05D187AB670DC28743ABC6C811C4486A3727EE2F6B38E391A700E2C7D0727905A5517863E2B5FEFC92FC7FB992965EAC4ACB68173D8E5CE7465B80507361EFBAFDFE360270C3A44DE37BBE50E55F3BCD48D21DA04243A82','none',NULL,4,0,0.0,-1,NULL,1795366339305,NULL,NULL,NULL);
CREATE TABLE schedule (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  test_id INTEGER REFERENCES test(id),       -- or
  project_id INTEGER REFERENCES project(id), -- with
  test_ids_json TEXT NOT NULL DEFAULT 'null',
  tags_json TEXT NOT NULL DEFAULT 'null',
  report_mode TEXT NOT NULL,
  cron TEXT,                           -- or
  run_at INTEGER,                      -- once
  timezone TEXT NOT NULL,
  overlap TEXT NOT NULL,               -- skip wait parallel
  missed TEXT NOT NULL,                -- skip run
  enabled INTEGER NOT NULL,
  next_at INTEGER,                     -- NULL: there is none
  waiting_for INTEGER,                 -- the time that waits for the run before
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
INSERT INTO "schedule" VALUES(1,'once',2,NULL,'null','null','full',NULL,1795366334000,'UTC','skip','skip',1,NULL,NULL,1795366331256,1795366331256);
INSERT INTO "schedule" VALUES(2,'yearly',NULL,3,'[2,3,4]','["all"]','kiosk','0 3 29 2 *',NULL,'Europe/Berlin','wait','skip',1,1835402400000,NULL,1795366339233,1795366339233);
INSERT INTO "schedule" VALUES(3,'disabled',3,NULL,'null','null','full','*/5 * * * *',NULL,'UTC','parallel','skip',0,NULL,NULL,1795366339242,1795366339242);
INSERT INTO "schedule" VALUES(4,'far',3,NULL,'null','null','full',NULL,4070908800000,'UTC','skip','skip',1,4070908800000,NULL,1795366339250,1795366339250);
CREATE TABLE schedule_event (
  id INTEGER PRIMARY KEY,
  schedule_id INTEGER NOT NULL REFERENCES schedule(id) ON DELETE CASCADE,
  due_at INTEGER NOT NULL,
  at INTEGER NOT NULL,
  outcome TEXT NOT NULL,         -- started skipped waiting missed refused
  detail TEXT,
  session_id TEXT,
  project_run_uuid TEXT
);
INSERT INTO "schedule_event" VALUES(1,1,1795366334000,1795366334204,'started',NULL,'211ec3a4-2511-4803-92a3-10fb0470b81c',NULL);
CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  dir TEXT NOT NULL,
  measure TEXT NOT NULL,
  UNIQUE (run_id, role, dir, measure)
);
INSERT INTO "series" VALUES(1,1,'caller','in','rtp_byte_per_sec');
INSERT INTO "series" VALUES(2,1,'caller','in','rtp_jitter');
INSERT INTO "series" VALUES(3,1,'caller','in','rtp_lost');
INSERT INTO "series" VALUES(4,1,'caller','in','rtp_lost_per_sec');
INSERT INTO "series" VALUES(5,1,'caller','in','rtp_mos');
INSERT INTO "series" VALUES(6,1,'caller','in','rtp_pkt_per_sec');
INSERT INTO "series" VALUES(7,1,'caller','in','rtp_lost_pct');
INSERT INTO "series" VALUES(8,1,'caller','in','rtp_burst_lost');
INSERT INTO "series" VALUES(9,1,'caller','in','rtp_reordered');
INSERT INTO "series" VALUES(10,1,'caller','in','rtp_duplicates');
INSERT INTO "series" VALUES(11,1,'caller','in','rtp_discarded');
INSERT INTO "series" VALUES(12,1,'caller','in','rtp_ooo');
INSERT INTO "series" VALUES(13,1,'caller','in','rtp_r_factor');
INSERT INTO "series" VALUES(14,1,'caller','in','rtp_mos_wb');
INSERT INTO "series" VALUES(15,1,'caller','in','rtp_gap');
INSERT INTO "series" VALUES(16,1,'caller','out','rtp_byte_per_sec');
INSERT INTO "series" VALUES(17,1,'caller','out','rtp_pkt_per_sec');
INSERT INTO "series" VALUES(18,1,'caller','out','rtp_send_lateness');
INSERT INTO "series" VALUES(19,1,'caller','out','sip_pdd');
INSERT INTO "series" VALUES(20,1,'caller','out','sip_register_time');
INSERT INTO "series" VALUES(21,1,'caller','out','sip_invite_200_time');
INSERT INTO "series" VALUES(22,1,'caller','out','rtp_jitter');
INSERT INTO "series" VALUES(23,1,'caller','out','rtp_lost');
INSERT INTO "series" VALUES(24,1,'caller','out','rtp_lost_per_sec');
INSERT INTO "series" VALUES(25,1,'caller','out','rtp_mos');
INSERT INTO "series" VALUES(26,1,'caller','out','rtp_lost_pct');
INSERT INTO "series" VALUES(27,1,'caller','out','rtp_r_factor');
INSERT INTO "series" VALUES(28,1,'caller','out','rtp_mos_wb');
INSERT INTO "series" VALUES(29,1,'caller','out','rtp_xr_loss');
INSERT INTO "series" VALUES(30,1,'caller','out','rtp_xr_discard');
INSERT INTO "series" VALUES(31,1,'caller','out','rtp_xr_burst_density');
INSERT INTO "series" VALUES(32,1,'caller','out','rtp_xr_gap_density');
INSERT INTO "series" VALUES(33,1,'caller','out','rtp_xr_burst_duration');
INSERT INTO "series" VALUES(34,1,'caller','out','rtp_xr_gap_duration');
INSERT INTO "series" VALUES(35,1,'caller','out','rtp_xr_delay');
INSERT INTO "series" VALUES(36,1,'caller','out','rtp_xr_buffer');
INSERT INTO "series" VALUES(37,1,'caller','out','rtp_xr_r_factor');
INSERT INTO "series" VALUES(38,1,'caller','out','rtp_xr_mos_lq');
INSERT INTO "series" VALUES(39,1,'caller','out','rtp_xr_mos_cq');
INSERT INTO "series" VALUES(40,1,'caller','out','rtp_xr_lost');
INSERT INTO "series" VALUES(41,1,'caller','out','rtp_xr_duplicates');
INSERT INTO "series" VALUES(42,1,'caller','out','rtp_xr_jitter_mean');
INSERT INTO "series" VALUES(43,1,'caller','out','rtp_xr_jitter_max');
INSERT INTO "series" VALUES(44,1,'caller','out','calls_active');
INSERT INTO "series" VALUES(45,1,'caller','out','calls_per_sec');
INSERT INTO "series" VALUES(46,1,'caller','out','sip_bye_200_time');
INSERT INTO "series" VALUES(47,1,'callee','in','rtp_byte_per_sec');
INSERT INTO "series" VALUES(48,1,'callee','in','rtp_jitter');
INSERT INTO "series" VALUES(49,1,'callee','in','rtp_lost');
INSERT INTO "series" VALUES(50,1,'callee','in','rtp_lost_per_sec');
INSERT INTO "series" VALUES(51,1,'callee','in','rtp_mos');
INSERT INTO "series" VALUES(52,1,'callee','in','rtp_pkt_per_sec');
INSERT INTO "series" VALUES(53,1,'callee','in','rtp_lost_pct');
INSERT INTO "series" VALUES(54,1,'callee','in','rtp_burst_lost');
INSERT INTO "series" VALUES(55,1,'callee','in','rtp_reordered');
INSERT INTO "series" VALUES(56,1,'callee','in','rtp_duplicates');
INSERT INTO "series" VALUES(57,1,'callee','in','rtp_discarded');
INSERT INTO "series" VALUES(58,1,'callee','in','rtp_ooo');
INSERT INTO "series" VALUES(59,1,'callee','in','rtp_r_factor');
INSERT INTO "series" VALUES(60,1,'callee','in','rtp_mos_wb');
INSERT INTO "series" VALUES(61,1,'callee','in','rtp_gap');
INSERT INTO "series" VALUES(62,1,'callee','out','rtp_byte_per_sec');
INSERT INTO "series" VALUES(63,1,'callee','out','rtp_pkt_per_sec');
INSERT INTO "series" VALUES(64,1,'callee','out','rtp_send_lateness');
INSERT INTO "series" VALUES(65,1,'callee','out','sip_register_time');
INSERT INTO "series" VALUES(66,1,'callee','in','rtp_rtt');
INSERT INTO "series" VALUES(67,1,'callee','in','calls_active');
INSERT INTO "series" VALUES(68,1,'callee','in','calls_per_sec');
INSERT INTO "series" VALUES(69,1,'callee','out','rtp_jitter');
INSERT INTO "series" VALUES(70,1,'callee','out','rtp_lost');
INSERT INTO "series" VALUES(71,1,'callee','out','rtp_lost_per_sec');
INSERT INTO "series" VALUES(72,1,'callee','out','rtp_mos');
INSERT INTO "series" VALUES(73,1,'callee','out','rtp_rtt');
INSERT INTO "series" VALUES(74,1,'callee','out','rtp_lost_pct');
INSERT INTO "series" VALUES(75,1,'callee','out','rtp_r_factor');
INSERT INTO "series" VALUES(76,1,'callee','out','rtp_mos_wb');
INSERT INTO "series" VALUES(77,1,'callee','out','rtp_xr_loss');
INSERT INTO "series" VALUES(78,1,'callee','out','rtp_xr_discard');
INSERT INTO "series" VALUES(79,1,'callee','out','rtp_xr_burst_density');
INSERT INTO "series" VALUES(80,1,'callee','out','rtp_xr_gap_density');
INSERT INTO "series" VALUES(81,1,'callee','out','rtp_xr_burst_duration');
INSERT INTO "series" VALUES(82,1,'callee','out','rtp_xr_gap_duration');
INSERT INTO "series" VALUES(83,1,'callee','out','rtp_xr_delay');
INSERT INTO "series" VALUES(84,1,'callee','out','rtp_xr_buffer');
INSERT INTO "series" VALUES(85,1,'callee','out','rtp_xr_r_factor');
INSERT INTO "series" VALUES(86,1,'callee','out','rtp_xr_mos_lq');
INSERT INTO "series" VALUES(87,1,'callee','out','rtp_xr_mos_cq');
INSERT INTO "series" VALUES(88,1,'callee','out','rtp_xr_lost');
INSERT INTO "series" VALUES(89,1,'callee','out','rtp_xr_duplicates');
INSERT INTO "series" VALUES(90,1,'callee','out','rtp_xr_jitter_mean');
INSERT INTO "series" VALUES(91,1,'callee','out','rtp_xr_jitter_max');
INSERT INTO "series" VALUES(92,14,'caller','in','rtp_jitter');
INSERT INTO "series" VALUES(93,14,'callee','in','rtp_jitter');
CREATE TABLE setting (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
INSERT INTO "setting" VALUES('schema_version','10');
INSERT INTO "setting" VALUES('schema_print','7928ce927d74258b');
CREATE TABLE sip_message (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  lease_id TEXT NOT NULL,
  role TEXT NOT NULL,
  t_us INTEGER NOT NULL,
  message_json TEXT NOT NULL
);
INSERT INTO "sip_message" VALUES(1,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311334224,'{"t":1795366311334224,"mono":1937452571246,"dir":"sent","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"REGISTER sip:127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:50925;branch=z9hG4bK6c86c69c3a8ace5d;rport\r\nContact: <sip:1002-c3a024740@127.0.0.1:50925>;+sip.instance=\"<urn:uuid:715c5c4e-9d24-4f77-8a09-96e6c9578fbd>\";reg-id=1\r\nMax-Forwards: 70\r\nFrom: <sip:1002@127.0.0.1>;tag=5085ccc84e5c7b5e\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1002@127.0.0.1>\r\nCall-ID: 012fd510108b4285c317c0ca550a4aa3\r\nCSeq: 26180 REGISTER\r\nExpires: 3600\r\nSupported: path, outbound\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(2,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311334771,'{"t":1795366311334771,"mono":1937453117857,"dir":"received","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"SIP/2.0 401 Unauthorized\r\nVia: SIP/2.0/UDP 127.0.0.1:50925;branch=z9hG4bK6c86c69c3a8ace5d;rport=50925;received=127.0.0.1\r\nFrom: <sip:1002@127.0.0.1>;tag=5085ccc84e5c7b5e\r\nTo: <sip:1002@127.0.0.1>;tag=cb3645cd2442c21eb066ab9f0a250115.8ce6cedf\r\nCall-ID: 012fd510108b4285c317c0ca550a4aa3\r\nCSeq: 26180 REGISTER\r\nWWW-Authenticate: Digest realm=\"offhook\", nonce=\"awMe02sDHaexU5ZBILYXABUHZFB528nf\", qop=\"auth\"\r\nServer: kamailio (5.6.3 (x86_64/linux))\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(3,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311334905,'{"t":1795366311334905,"mono":1937453252105,"dir":"sent","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"REGISTER sip:127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:50925;branch=z9hG4bK94873c2bccb39d49;rport\r\nContact: <sip:1002-c3a024740@127.0.0.1:50925>;+sip.instance=\"<urn:uuid:715c5c4e-9d24-4f77-8a09-96e6c9578fbd>\";reg-id=1\r\nMax-Forwards: 70\r\nFrom: <sip:1002@127.0.0.1>;tag=5085ccc84e5c7b5e\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1002@127.0.0.1>\r\nCall-ID: 012fd510108b4285c317c0ca550a4aa3\r\nCSeq: 26181 REGISTER\r\nAuthorization: Digest username=\"1002\", realm=\"offhook\", nonce=\"awMe02sDHaexU5ZBILYXABUHZFB528nf\", uri=\"sip:127.0.0.1\", response=\"d51e0224136f5bae0c0ef5bb77bc700b\", algorithm=MD5, qop=auth, nc=00000001, cnonce=\"564ed64b6c2eec05\"\r\nExpires: 3600\r\nSupported: path, outbound\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(4,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311335234,'{"t":1795366311335234,"mono":1937453580438,"dir":"received","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 127.0.0.1:50925;branch=z9hG4bK94873c2bccb39d49;rport=50925;received=127.0.0.1\r\nFrom: <sip:1002@127.0.0.1>;tag=5085ccc84e5c7b5e\r\nTo: <sip:1002@127.0.0.1>;tag=cb3645cd2442c21eb066ab9f0a250115.9952cedf\r\nCall-ID: 012fd510108b4285c317c0ca550a4aa3\r\nCSeq: 26181 REGISTER\r\nContact: <sip:1002-c3a024740@127.0.0.1:50925>;expires=3600;+sip.instance=\"<urn:uuid:715c5c4e-9d24-4f77-8a09-96e6c9578fbd>\";reg-id=1\r\nServer: kamailio (5.6.3 (x86_64/linux))\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(5,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311659356,'{"t":1795366311659356,"mono":1937777702929,"dir":"received","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"INVITE sip:1002-c3a024740@127.0.0.1:50925 SIP/2.0\r\nRecord-Route: <sip:127.0.0.1:12200;lr=on;ftag=70aad9dac615914a>\r\nVia: SIP/2.0/UDP 127.0.0.1:12200;branch=z9hG4bK477.ae7db17d5fca65252b32ca5f42190cb6.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;received=127.0.0.1;branch=z9hG4bK20999a0297c509b9;rport=45836\r\nContact: <sip:1001-b54457d40@127.0.0.1:45836>\r\nMax-Forwards: 69\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1002@127.0.0.1>\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59929 INVITE\r\nAllow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, MESSAGE, REFER, NOTIFY, PRACK, UPDATE\r\nSupported: replaces, norefersub\r\nContent-Type: application/sdp\r\nContent-Length: 318\r\n\r\nv=0\r\no=- 1070315370 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 12288 RTP/AVP 0 8 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na=rtcp:12289 IN IP4 127.0.0.1\r\na=sendrecv\r\na=rtcp-xr:rcvr-rtt=all stat-summary=loss,dup,jitt voip-metrics\r\n"}');
INSERT INTO "sip_message" VALUES(6,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311659538,'{"t":1795366311659538,"mono":1937777884499,"dir":"sent","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"SIP/2.0 100 Trying\r\nVia: SIP/2.0/UDP 127.0.0.1:12200;branch=z9hG4bK477.ae7db17d5fca65252b32ca5f42190cb6.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;received=127.0.0.1;branch=z9hG4bK20999a0297c509b9;rport=45836\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nTo: <sip:1002@127.0.0.1>\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59929 INVITE\r\nServer: offhook/0.1.0\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(7,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311659615,'{"t":1795366311659615,"mono":1937777961494,"dir":"sent","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"SIP/2.0 180 Ringing\r\nRecord-Route: <sip:127.0.0.1:12200;lr=on;ftag=70aad9dac615914a>\r\nVia: SIP/2.0/UDP 127.0.0.1:12200;branch=z9hG4bK477.ae7db17d5fca65252b32ca5f42190cb6.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;received=127.0.0.1;branch=z9hG4bK20999a0297c509b9;rport=45836\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nTo: <sip:1002@127.0.0.1>;tag=485aede79432febb\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59929 INVITE\r\nServer: offhook/0.1.0\r\nContact: <sip:1002-c3a024740@127.0.0.1:50925>\r\nAllow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, MESSAGE, REFER, NOTIFY, PRACK, UPDATE\r\nSupported: replaces, norefersub\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(8,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311660102,'{"t":1795366311660102,"mono":1937778448624,"dir":"sent","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"SIP/2.0 200 OK\r\nRecord-Route: <sip:127.0.0.1:12200;lr=on;ftag=70aad9dac615914a>\r\nVia: SIP/2.0/UDP 127.0.0.1:12200;branch=z9hG4bK477.ae7db17d5fca65252b32ca5f42190cb6.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;received=127.0.0.1;branch=z9hG4bK20999a0297c509b9;rport=45836\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nTo: <sip:1002@127.0.0.1>;tag=485aede79432febb\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59929 INVITE\r\nServer: offhook/0.1.0\r\nContact: <sip:1002-c3a024740@127.0.0.1:50925>\r\nAllow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, MESSAGE, REFER, NOTIFY, PRACK, UPDATE\r\nSupported: replaces, norefersub\r\nContent-Type: application/sdp\r\nContent-Length: 318\r\n\r\nv=0\r\no=- 1074771354 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 12296 RTP/AVP 0 8 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na=rtcp:12297 IN IP4 127.0.0.1\r\na=sendrecv\r\na=rtcp-xr:rcvr-rtt=all stat-summary=loss,dup,jitt voip-metrics\r\n"}');
INSERT INTO "sip_message" VALUES(9,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366311660465,'{"t":1795366311660465,"mono":1937778812053,"dir":"received","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"ACK sip:1002-c3a024740@127.0.0.1:50925 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:12200;branch=z9hG4bK477.67b4698bdebd7bfa7fe9686009b12674.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;received=127.0.0.1;branch=z9hG4bK0f5b5ccbd034c777;rport=45836\r\nMax-Forwards: 69\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1002@127.0.0.1>;tag=485aede79432febb\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59929 ACK\r\nProxy-Authorization: Digest username=\"1001\", realm=\"offhook\", nonce=\"awMe02sDHaexU5ZBILYXABUHZFB528nf\", uri=\"sip:1002-c3a024740@127.0.0.1:50925\", response=\"4c0610e5c866a2ed68daac10639b0988\", algorithm=MD5, qop=auth, nc=00000002, cnonce=\"6f5e884b44233afb\"\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(10,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311652380,'{"t":1795366311652380,"mono":1937770726888,"dir":"sent","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"REGISTER sip:127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bK8f12370faebf92fa;rport\r\nContact: <sip:1001-b54457d40@127.0.0.1:45836>;+sip.instance=\"<urn:uuid:cc047bf1-f643-401a-aac9-3f80345a6f6e>\";reg-id=1\r\nMax-Forwards: 70\r\nFrom: <sip:1001@127.0.0.1>;tag=e1b6b10da6baf53a\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1001@127.0.0.1>\r\nCall-ID: 38c729a2b889f81af42c524c1c10f173\r\nCSeq: 63284 REGISTER\r\nExpires: 3600\r\nSupported: path, outbound\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(11,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311652629,'{"t":1795366311652629,"mono":1937770976104,"dir":"received","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"SIP/2.0 401 Unauthorized\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bK8f12370faebf92fa;rport=45836;received=127.0.0.1\r\nFrom: <sip:1001@127.0.0.1>;tag=e1b6b10da6baf53a\r\nTo: <sip:1001@127.0.0.1>;tag=cb3645cd2442c21eb066ab9f0a250115.1079e6c3\r\nCall-ID: 38c729a2b889f81af42c524c1c10f173\r\nCSeq: 63284 REGISTER\r\nWWW-Authenticate: Digest realm=\"offhook\", nonce=\"awMe02sDHaexU5ZBILYXABUHZFB528nf\", qop=\"auth\"\r\nServer: kamailio (5.6.3 (x86_64/linux))\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(12,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311657852,'{"t":1795366311657852,"mono":1937776198565,"dir":"sent","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"REGISTER sip:127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bK19d4eed5ef06d663;rport\r\nContact: <sip:1001-b54457d40@127.0.0.1:45836>;+sip.instance=\"<urn:uuid:cc047bf1-f643-401a-aac9-3f80345a6f6e>\";reg-id=1\r\nMax-Forwards: 70\r\nFrom: <sip:1001@127.0.0.1>;tag=e1b6b10da6baf53a\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1001@127.0.0.1>\r\nCall-ID: 38c729a2b889f81af42c524c1c10f173\r\nCSeq: 63285 REGISTER\r\nAuthorization: Digest username=\"1001\", realm=\"offhook\", nonce=\"awMe02sDHaexU5ZBILYXABUHZFB528nf\", uri=\"sip:127.0.0.1\", response=\"4edeefc64595f9faf92a2a8024694e9a\", algorithm=MD5, qop=auth, nc=00000001, cnonce=\"66326f52a50ba714\"\r\nExpires: 3600\r\nSupported: path, outbound\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(13,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311658105,'{"t":1795366311658105,"mono":1937776452311,"dir":"received","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bK19d4eed5ef06d663;rport=45836;received=127.0.0.1\r\nFrom: <sip:1001@127.0.0.1>;tag=e1b6b10da6baf53a\r\nTo: <sip:1001@127.0.0.1>;tag=cb3645cd2442c21eb066ab9f0a250115.c166e6c3\r\nCall-ID: 38c729a2b889f81af42c524c1c10f173\r\nCSeq: 63285 REGISTER\r\nContact: <sip:1001-b54457d40@127.0.0.1:45836>;expires=3600;+sip.instance=\"<urn:uuid:cc047bf1-f643-401a-aac9-3f80345a6f6e>\";reg-id=1\r\nServer: kamailio (5.6.3 (x86_64/linux))\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(14,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311658586,'{"t":1795366311658586,"mono":1937776933199,"dir":"sent","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"INVITE sip:1002@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bK1f6f6547e5760365;rport\r\nContact: <sip:1001-b54457d40@127.0.0.1:45836>\r\nMax-Forwards: 70\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1002@127.0.0.1>\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59928 INVITE\r\nAllow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, MESSAGE, REFER, NOTIFY, PRACK, UPDATE\r\nSupported: replaces, norefersub\r\nContent-Type: application/sdp\r\nContent-Length: 318\r\n\r\nv=0\r\no=- 1070315370 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 12288 RTP/AVP 0 8 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na=rtcp:12289 IN IP4 127.0.0.1\r\na=sendrecv\r\na=rtcp-xr:rcvr-rtt=all stat-summary=loss,dup,jitt voip-metrics\r\n"}');
INSERT INTO "sip_message" VALUES(15,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311658772,'{"t":1795366311658772,"mono":1937777118604,"dir":"received","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"SIP/2.0 407 Proxy Authentication Required\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bK1f6f6547e5760365;rport=45836;received=127.0.0.1\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nTo: <sip:1002@127.0.0.1>;tag=cb3645cd2442c21eb066ab9f0a250115.c88f7f05\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59928 INVITE\r\nProxy-Authenticate: Digest realm=\"offhook\", nonce=\"awMe02sDHaexU5ZBILYXABUHZFB528nf\", qop=\"auth\"\r\nServer: kamailio (5.6.3 (x86_64/linux))\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(16,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311658838,'{"t":1795366311658838,"mono":1937777184912,"dir":"sent","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"ACK sip:1002@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bK1f6f6547e5760365;rport\r\nMax-Forwards: 70\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nTo: <sip:1002@127.0.0.1>;tag=cb3645cd2442c21eb066ab9f0a250115.c88f7f05\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59928 ACK\r\nUser-Agent: offhook/0.1.0\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(17,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311658899,'{"t":1795366311658899,"mono":1937777246175,"dir":"sent","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"INVITE sip:1002@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bK20999a0297c509b9;rport\r\nContact: <sip:1001-b54457d40@127.0.0.1:45836>\r\nMax-Forwards: 70\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1002@127.0.0.1>\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59929 INVITE\r\nProxy-Authorization: Digest username=\"1001\", realm=\"offhook\", nonce=\"awMe02sDHaexU5ZBILYXABUHZFB528nf\", uri=\"sip:1002@127.0.0.1\", response=\"0220b51eca7d2179f20a979b5b725d19\", algorithm=MD5, qop=auth, nc=00000001, cnonce=\"6f5e884b44233afb\"\r\nAllow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, MESSAGE, REFER, NOTIFY, PRACK, UPDATE\r\nSupported: replaces, norefersub\r\nContent-Type: application/sdp\r\nContent-Length: 318\r\n\r\nv=0\r\no=- 1070315370 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 12288 RTP/AVP 0 8 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na=rtcp:12289 IN IP4 127.0.0.1\r\na=sendrecv\r\na=rtcp-xr:rcvr-rtt=all stat-summary=loss,dup,jitt voip-metrics\r\n"}');
INSERT INTO "sip_message" VALUES(18,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311659242,'{"t":1795366311659242,"mono":1937777589260,"dir":"received","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"SIP/2.0 100 trying -- your call is important to us\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bK20999a0297c509b9;rport=45836;received=127.0.0.1\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nTo: <sip:1002@127.0.0.1>\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59929 INVITE\r\nServer: kamailio (5.6.3 (x86_64/linux))\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(19,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311659649,'{"t":1795366311659649,"mono":1937777995459,"dir":"received","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"SIP/2.0 180 Ringing\r\nRecord-Route: <sip:127.0.0.1:12200;lr=on;ftag=70aad9dac615914a>\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;received=127.0.0.1;branch=z9hG4bK20999a0297c509b9;rport=45836\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nTo: <sip:1002@127.0.0.1>;tag=485aede79432febb\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59929 INVITE\r\nServer: offhook/0.1.0\r\nContact: <sip:1002-c3a024740@127.0.0.1:50925>\r\nAllow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, MESSAGE, REFER, NOTIFY, PRACK, UPDATE\r\nSupported: replaces, norefersub\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(20,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311660197,'{"t":1795366311660197,"mono":1937778543427,"dir":"received","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"SIP/2.0 200 OK\r\nRecord-Route: <sip:127.0.0.1:12200;lr=on;ftag=70aad9dac615914a>\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;received=127.0.0.1;branch=z9hG4bK20999a0297c509b9;rport=45836\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nTo: <sip:1002@127.0.0.1>;tag=485aede79432febb\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59929 INVITE\r\nServer: offhook/0.1.0\r\nContact: <sip:1002-c3a024740@127.0.0.1:50925>\r\nAllow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, MESSAGE, REFER, NOTIFY, PRACK, UPDATE\r\nSupported: replaces, norefersub\r\nContent-Type: application/sdp\r\nContent-Length: 318\r\n\r\nv=0\r\no=- 1074771354 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 12296 RTP/AVP 0 8 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na=rtcp:12297 IN IP4 127.0.0.1\r\na=sendrecv\r\na=rtcp-xr:rcvr-rtt=all stat-summary=loss,dup,jitt voip-metrics\r\n"}');
INSERT INTO "sip_message" VALUES(21,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366311660351,'{"t":1795366311660351,"mono":1937778698015,"dir":"sent","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"ACK sip:1002-c3a024740@127.0.0.1:50925 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bK0f5b5ccbd034c777;rport\r\nMax-Forwards: 70\r\nRoute: <sip:127.0.0.1:12200;lr=on;ftag=70aad9dac615914a>\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1002@127.0.0.1>;tag=485aede79432febb\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59929 ACK\r\nProxy-Authorization: Digest username=\"1001\", realm=\"offhook\", nonce=\"awMe02sDHaexU5ZBILYXABUHZFB528nf\", uri=\"sip:1002-c3a024740@127.0.0.1:50925\", response=\"4c0610e5c866a2ed68daac10639b0988\", algorithm=MD5, qop=auth, nc=00000002, cnonce=\"6f5e884b44233afb\"\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(22,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366314661299,'{"t":1795366314661299,"mono":1940779645462,"dir":"sent","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"BYE sip:1002-c3a024740@127.0.0.1:50925 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bKfd4d9627efa6a58b;rport\r\nMax-Forwards: 70\r\nRoute: <sip:127.0.0.1:12200;lr=on;ftag=70aad9dac615914a>\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1002@127.0.0.1>;tag=485aede79432febb\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59930 BYE\r\nProxy-Authorization: Digest username=\"1001\", realm=\"offhook\", nonce=\"awMe02sDHaexU5ZBILYXABUHZFB528nf\", uri=\"sip:1002-c3a024740@127.0.0.1:50925\", response=\"feb3a663225b5d53c84dfa8ca2c22efd\", algorithm=MD5, qop=auth, nc=00000003, cnonce=\"6f5e884b44233afb\"\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(23,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366314662012,'{"t":1795366314662012,"mono":1940780358466,"dir":"received","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;received=127.0.0.1;branch=z9hG4bKfd4d9627efa6a58b;rport=45836\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nTo: <sip:1002@127.0.0.1>;tag=485aede79432febb\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59930 BYE\r\nServer: offhook/0.1.0\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(24,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366315135907,'{"t":1795366315135907,"mono":1941254254204,"dir":"sent","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"REGISTER sip:127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bK02d3d26a6fc73da3;rport\r\nContact: <sip:1001-b54457d40@127.0.0.1:45836>;+sip.instance=\"<urn:uuid:cc047bf1-f643-401a-aac9-3f80345a6f6e>\";reg-id=1\r\nMax-Forwards: 70\r\nFrom: <sip:1001@127.0.0.1>;tag=e1b6b10da6baf53a\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1001@127.0.0.1>\r\nCall-ID: 38c729a2b889f81af42c524c1c10f173\r\nCSeq: 63286 REGISTER\r\nAuthorization: Digest username=\"1001\", realm=\"offhook\", nonce=\"awMe02sDHaexU5ZBILYXABUHZFB528nf\", uri=\"sip:127.0.0.1\", response=\"e2904b8efafe7fb1e0e785479fc0a62f\", algorithm=MD5, qop=auth, nc=00000002, cnonce=\"66326f52a50ba714\"\r\nExpires: 0\r\nSupported: path, outbound\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(25,1,'57cb240a-1dea-41b6-a67c-e5b588f9e66f','caller',1795366315136213,'{"t":1795366315136213,"mono":1941254560232,"dir":"received","transport":"udp","local":"127.0.0.1:45836","peer":"127.0.0.1:12200","data":"SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;branch=z9hG4bK02d3d26a6fc73da3;rport=45836;received=127.0.0.1\r\nFrom: <sip:1001@127.0.0.1>;tag=e1b6b10da6baf53a\r\nTo: <sip:1001@127.0.0.1>;tag=cb3645cd2442c21eb066ab9f0a250115.754ce6c3\r\nCall-ID: 38c729a2b889f81af42c524c1c10f173\r\nCSeq: 63286 REGISTER\r\nServer: kamailio (5.6.3 (x86_64/linux))\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(26,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366314661630,'{"t":1795366314661630,"mono":1940779977349,"dir":"received","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"BYE sip:1002-c3a024740@127.0.0.1:50925 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:12200;branch=z9hG4bKd67.977b4754227b1671a2c51fc94aea7640.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;received=127.0.0.1;branch=z9hG4bKfd4d9627efa6a58b;rport=45836\r\nMax-Forwards: 69\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1002@127.0.0.1>;tag=485aede79432febb\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59930 BYE\r\nProxy-Authorization: Digest username=\"1001\", realm=\"offhook\", nonce=\"awMe02sDHaexU5ZBILYXABUHZFB528nf\", uri=\"sip:1002-c3a024740@127.0.0.1:50925\", response=\"feb3a663225b5d53c84dfa8ca2c22efd\", algorithm=MD5, qop=auth, nc=00000003, cnonce=\"6f5e884b44233afb\"\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(27,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366314661835,'{"t":1795366314661835,"mono":1940780181997,"dir":"sent","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 127.0.0.1:12200;branch=z9hG4bKd67.977b4754227b1671a2c51fc94aea7640.0\r\nVia: SIP/2.0/UDP 127.0.0.1:45836;received=127.0.0.1;branch=z9hG4bKfd4d9627efa6a58b;rport=45836\r\nFrom: <sip:1001@127.0.0.1>;tag=70aad9dac615914a\r\nTo: <sip:1002@127.0.0.1>;tag=485aede79432febb\r\nCall-ID: fba9942992c1fb388e33b82464b5e7fd\r\nCSeq: 59930 BYE\r\nServer: offhook/0.1.0\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(28,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366315136046,'{"t":1795366315136046,"mono":1941254392548,"dir":"sent","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"REGISTER sip:127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:50925;branch=z9hG4bK06f0a2c507bd2f63;rport\r\nContact: <sip:1002-c3a024740@127.0.0.1:50925>;+sip.instance=\"<urn:uuid:715c5c4e-9d24-4f77-8a09-96e6c9578fbd>\";reg-id=1\r\nMax-Forwards: 70\r\nFrom: <sip:1002@127.0.0.1>;tag=5085ccc84e5c7b5e\r\nUser-Agent: offhook/0.1.0\r\nTo: <sip:1002@127.0.0.1>\r\nCall-ID: 012fd510108b4285c317c0ca550a4aa3\r\nCSeq: 26182 REGISTER\r\nAuthorization: Digest username=\"1002\", realm=\"offhook\", nonce=\"awMe02sDHaexU5ZBILYXABUHZFB528nf\", uri=\"sip:127.0.0.1\", response=\"c9b4deb35e2b3ebacc2f224f1403e554\", algorithm=MD5, qop=auth, nc=00000002, cnonce=\"564ed64b6c2eec05\"\r\nExpires: 0\r\nSupported: path, outbound\r\nContent-Length: 0\r\n\r\n"}');
INSERT INTO "sip_message" VALUES(29,1,'474aeaed-2d9e-476a-bdc1-27bac11672ed','callee',1795366315136285,'{"t":1795366315136285,"mono":1941254631989,"dir":"received","transport":"udp","local":"127.0.0.1:50925","peer":"127.0.0.1:12200","data":"SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 127.0.0.1:50925;branch=z9hG4bK06f0a2c507bd2f63;rport=50925;received=127.0.0.1\r\nFrom: <sip:1002@127.0.0.1>;tag=5085ccc84e5c7b5e\r\nTo: <sip:1002@127.0.0.1>;tag=cb3645cd2442c21eb066ab9f0a250115.c34fcedf\r\nCall-ID: 012fd510108b4285c317c0ca550a4aa3\r\nCSeq: 26182 REGISTER\r\nServer: kamailio (5.6.3 (x86_64/linux))\r\nContent-Length: 0\r\n\r\n"}');
CREATE TABLE target (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  hosts_json TEXT NOT NULL,
  domain TEXT,
  outbound_proxy TEXT,
  tls_json TEXT NOT NULL DEFAULT '{}',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
INSERT INTO "target" VALUES(1,'target 1','[{"host":"127.0.0.1","port":12200,"transport":"udp","priority":0,"weight":0}]','127.0.0.1',NULL,'{}',1795366310123,1795366310123);
INSERT INTO "target" VALUES(2,'t','[{"host":"127.0.0.1","port":0,"transport":"udp","priority":0,"weight":0}]',NULL,NULL,'{}',1795366315748,1795366315748);
INSERT INTO "target" VALUES(3,'tls','[{"host":"127.0.0.1","port":5061,"transport":"tls","priority":0,"weight":0},{"host":"::1","port":5060,"transport":"tcp","priority":0,"weight":0}]','example.org','sip:127.0.0.2:5070;lr','{}',1795366315750,1795366315750);
CREATE TABLE test (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project(id),
  name TEXT NOT NULL UNIQUE,
  description TEXT,
  tags_json TEXT NOT NULL DEFAULT '[]',
  scenario TEXT NOT NULL,
  agentpool_id INTEGER NOT NULL REFERENCES agent_pool(id),
  steps_json TEXT NOT NULL,
  conditions_json TEXT NOT NULL DEFAULT '[]',
  record TEXT NOT NULL DEFAULT 'sip',  -- none | sip | media
  callback_on_failure INTEGER NOT NULL DEFAULT 0,
  callback_template_id INTEGER REFERENCES callback_template(id),
  callback_url TEXT NOT NULL DEFAULT '',
  callback_secret_box BLOB,            -- encrypted; signs the bodies
  retries_on_failure INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
INSERT INTO "test" VALUES(1,1,'test 4',NULL,'[]','single-call',1,'[[{"type":"register","role":"callee","target_pool":1,"credential_pool":1},{"type":"answer","role":"callee"}],[{"type":"register","role":"caller","target_pool":1,"credential_pool":2},{"type":"call","role":"caller","max_total_calls":1,"dial_destination":"1002","call_duration":3}]]','[{"role":"caller","condition_type":"caller-sipclient-state-conditions","conditions":[{"type":"has","state":"REGISTER_OK"},{"type":"has","state":"CALL_ESTABLISHED"}],"options":[]},{"role":"callee","condition_type":"callee-sipclient-state-conditions","conditions":[{"type":"has","state":"REGISTER_OK"},{"type":"has","state":"CALL_ESTABLISHED"}],"options":[]}]','sip',0,NULL,'',NULL,0,1795366311172,1795366311172);
INSERT INTO "test" VALUES(2,3,'test 1-0',NULL,'["passed","all"]','custom',2,'[[{"type":"register","role":"caller","target_pool":2,"credential_pool":4}]]','[]','sip',0,NULL,'',NULL,0,1795366315762,1795366315762);
INSERT INTO "test" VALUES(3,3,'test 1-1',NULL,'["failed","all"]','custom',2,'[[{"type":"register","role":"caller","target_pool":2,"credential_pool":5}]]','[]','sip',0,NULL,'',NULL,0,1795366315765,1795366315765);
INSERT INTO "test" VALUES(4,3,'test 1-2',NULL,'["error","all"]','custom',2,'[[{"type":"register","role":"caller","target_pool":2,"credential_pool":6}]]','[]','sip',0,NULL,'',NULL,0,1795366315771,1795366315771);
INSERT INTO "test" VALUES(5,3,'test retried',NULL,'["failed","all"]','custom',2,'[[{"type":"register","role":"caller","target_pool":2,"credential_pool":5}]]','[]','sip',1,1,'http://127.0.0.1:41399/hook',X'4144192673DAA1C6AA3C6075744E226524FF94F7EDE617C9ED3654770BB25A3E351DC36871243A78900B18E68CA83DE270F8912C2DBE5609',1,1795366315773,1795366315773);
INSERT INTO "test" VALUES(6,3,'test refused',NULL,'["failed","all"]','custom',2,'[[{"type":"register","role":"caller","target_pool":2,"credential_pool":5}]]','[]','sip',1,NULL,'http://127.0.0.1:40045/hook',X'A5D8055274C9EED642B6A2BD4B8981C8EBA7D8749AA201A8FA9F1EBCE09E5BF1B5FAEDC1C670BC6F2EF1AA977CA80B87F3A969217E0D8928',0,1795366315775,1795366315775);
INSERT INTO "test" VALUES(7,3,'test held',NULL,'["hold","all"]','custom',2,'[[{"type":"register","role":"caller","target_pool":2,"credential_pool":7}]]','[]','sip',0,NULL,'',NULL,0,1795366315782,1795366315782);
INSERT INTO "test" VALUES(8,3,'test after',NULL,'["passed","all"]','custom',2,'[[{"type":"register","role":"caller","target_pool":2,"credential_pool":4}]]','[]','sip',0,NULL,'',NULL,0,1795366315786,1795366315786);
INSERT INTO "test" VALUES(9,3,'judged <b>grün & ''blue''</b>','both verdicts','["nightly","Grün"]','single-call',3,'[[{"type":"register","role":"callee","target_pool":2,"credential_pool":3},{"type":"answer","role":"callee"}],[{"type":"register","role":"caller","target_pool":2,"credential_pool":3},{"type":"call","role":"caller","max_total_calls":1}]]','[{"role":"caller","condition_type":"caller-sipclient-state-conditions","conditions":[{"type":"has","state":"CALL_ESTABLISHED"}],"options":[]},{"role":"callee","condition_type":"callee-sipclient-state-conditions","conditions":[{"type":"has","state":"CALL_FAILED"}],"options":[]}]','media',0,NULL,'',NULL,0,1795366331149,1795366331149);
INSERT INTO "test" VALUES(10,3,'waits',NULL,'[]','custom',4,'[[{"type":"register","role":"caller","target_pool":2,"credential_pool":3}]]','[]','sip',0,NULL,'',NULL,1,1795366339287,1795366339287);
CREATE TABLE upload (
  lease_id TEXT NOT NULL REFERENCES lease(id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  PRIMARY KEY (lease_id, seq)
) WITHOUT ROWID;
INSERT INTO "upload" VALUES('1b7f45c6-040e-412d-a9b5-350fa4d45cce',1);
INSERT INTO "upload" VALUES('1b7f45c6-040e-412d-a9b5-350fa4d45cce',2);
INSERT INTO "upload" VALUES('1b7f45c6-040e-412d-a9b5-350fa4d45cce',3);
INSERT INTO "upload" VALUES('1b7f45c6-040e-412d-a9b5-350fa4d45cce',4);
INSERT INTO "upload" VALUES('2f02525f-0185-4168-978f-5e43a26a5889',1);
INSERT INTO "upload" VALUES('2f02525f-0185-4168-978f-5e43a26a5889',2);
INSERT INTO "upload" VALUES('2f1afc6e-4e8f-4eea-ae71-f9e90a2fd1c3',1);
INSERT INTO "upload" VALUES('2f1afc6e-4e8f-4eea-ae71-f9e90a2fd1c3',2);
INSERT INTO "upload" VALUES('2f86e696-26ee-4110-bffc-e1eae4ec2a40',1);
INSERT INTO "upload" VALUES('2f86e696-26ee-4110-bffc-e1eae4ec2a40',2);
INSERT INTO "upload" VALUES('2f86e696-26ee-4110-bffc-e1eae4ec2a40',3);
INSERT INTO "upload" VALUES('2f86e696-26ee-4110-bffc-e1eae4ec2a40',4);
INSERT INTO "upload" VALUES('474aeaed-2d9e-476a-bdc1-27bac11672ed',1);
INSERT INTO "upload" VALUES('474aeaed-2d9e-476a-bdc1-27bac11672ed',2);
INSERT INTO "upload" VALUES('474aeaed-2d9e-476a-bdc1-27bac11672ed',3);
INSERT INTO "upload" VALUES('474aeaed-2d9e-476a-bdc1-27bac11672ed',4);
INSERT INTO "upload" VALUES('474aeaed-2d9e-476a-bdc1-27bac11672ed',5);
INSERT INTO "upload" VALUES('474aeaed-2d9e-476a-bdc1-27bac11672ed',6);
INSERT INTO "upload" VALUES('57cb240a-1dea-41b6-a67c-e5b588f9e66f',1);
INSERT INTO "upload" VALUES('57cb240a-1dea-41b6-a67c-e5b588f9e66f',2);
INSERT INTO "upload" VALUES('57cb240a-1dea-41b6-a67c-e5b588f9e66f',3);
INSERT INTO "upload" VALUES('57cb240a-1dea-41b6-a67c-e5b588f9e66f',4);
INSERT INTO "upload" VALUES('57cb240a-1dea-41b6-a67c-e5b588f9e66f',5);
INSERT INTO "upload" VALUES('57cb240a-1dea-41b6-a67c-e5b588f9e66f',6);
INSERT INTO "upload" VALUES('6c6fa7fe-950c-4269-8b65-948814d6bceb',1);
INSERT INTO "upload" VALUES('6c6fa7fe-950c-4269-8b65-948814d6bceb',2);
INSERT INTO "upload" VALUES('8fbafcbd-743e-4ca2-9fdc-9e02bec169fe',1);
INSERT INTO "upload" VALUES('8fbafcbd-743e-4ca2-9fdc-9e02bec169fe',2);
INSERT INTO "upload" VALUES('b04545e9-2d37-4b94-aad2-e91dd4735196',1);
INSERT INTO "upload" VALUES('b04545e9-2d37-4b94-aad2-e91dd4735196',2);
CREATE TABLE web_session (
  token_hash BLOB PRIMARY KEY,         -- keyed BLAKE2b of the cookie
  user_id INTEGER NOT NULL REFERENCES web_user(id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
);
INSERT INTO "web_session" VALUES(X'D5E68233220C369F88E4302565B9E25EAAEB1F23DA8B7B80EB105DE8C6586E69',1,1795366311038,1795366311038);
INSERT INTO "web_session" VALUES(X'B2D04350749FD884AC091DCEC47C7A2F825CCB0F9EC4DFE8F5524BA51624FDEB',4,1795366311157,1795366311157);
CREATE TABLE web_user (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  password_hash TEXT NOT NULL,         -- argon2id
  rights TEXT NOT NULL,                -- as of api_key
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
INSERT INTO "web_user" VALUES(1,'user admin','$argon2id$v=19$m=65536,t=2,p=1$9FLuDNn7a3JZWm6JV0jVFQ$oKl666uPd+o1BESd9oDtUKsR0Z4oVW+wIGbBXJYOsPc','admin',1795366310311,1795366310311);
INSERT INTO "web_user" VALUES(2,'user write','$argon2id$v=19$m=65536,t=2,p=1$DBezug+17TP1UKXP9IDO4Q$klnwb1DVpZah9064Nj4fG6oC2e2wVjnQAQI9HYw2lu0','write',1795366310552,1795366310552);
INSERT INTO "web_user" VALUES(3,'user run','$argon2id$v=19$m=65536,t=2,p=1$1d6w7EYMAaDGAQdVO8A9/w$E0AzQbLt2dJnkExZh7TgcgDbJyzdi0owoYnyt/JpViw','run',1795366310715,1795366310715);
INSERT INTO "web_user" VALUES(4,'user read','$argon2id$v=19$m=65536,t=2,p=1$wLOtUQipR0PYw3Z4iKULYw$QcYMFRPqZ3lgTcMl8LuXYNB+E+30PIQNi7BSalu6MjI','read',1795366310869,1795366310869);
CREATE INDEX web_session_by_user ON web_session (user_id);
CREATE INDEX run_by_test ON run (test_id, id);
CREATE INDEX run_by_start ON run (started_at, id);
CREATE INDEX run_by_project ON run (project_id, id);
CREATE INDEX run_active ON run (phase) WHERE phase <> 'done';
CREATE INDEX run_by_status ON run (status) WHERE phase = 'done';
CREATE INDEX run_retry_due ON run (id) WHERE retry_state = 'due';
CREATE INDEX run_callback_due ON run (id)
  WHERE callback_state = 'due';
CREATE INDEX run_by_retry ON run (retry_of)
  WHERE retry_of IS NOT NULL;
CREATE INDEX run_by_project_run
  ON run (project_run_id, project_position) WHERE project_run_id IS NOT NULL;
CREATE INDEX project_run_active ON project_run (id)
  WHERE status = 'running';
CREATE INDEX project_run_callback_due ON project_run (id)
  WHERE callback_state = 'due';
CREATE INDEX schedule_due ON schedule (next_at)
  WHERE next_at IS NOT NULL;
CREATE INDEX schedule_event_by_schedule
  ON schedule_event (schedule_id, id);
CREATE INDEX callback_by_run ON callback (run_id);
CREATE INDEX callback_due ON callback (next_at)
  WHERE state IN ('waiting', 'sending');
CREATE INDEX lease_by_state ON lease (state);
CREATE INDEX lease_by_end ON lease (agent_id, ended_at)
  WHERE ended_at IS NOT NULL;
CREATE INDEX event_by_run ON event (run_id, id);
CREATE INDEX sip_message_by_run ON sip_message (run_id, id);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('run',18);
COMMIT;
