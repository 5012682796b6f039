/** What a page may load: scripts, styles and data from this server only. */
#ifndef OFFHOOK_SERVER_REPORT_PAGE_POLICY_H
#define OFFHOOK_SERVER_REPORT_PAGE_POLICY_H

#define PAGE_POLICY                                                    \
	"default-src 'none'; script-src 'self'; style-src 'self'; "    \
	"connect-src 'self'; img-src 'self' data:; media-src 'self' "  \
	"data:; base-uri 'none'; form-action 'none'; frame-ancestors " \
	"'none'"

#endif
